//! The steps of a history, run by tdb.

use core::ops::ControlFlow;
use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::error::WriteError;
use tdb_array::group::{GroupMember, ObjectType};
use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{ArrayWriter, Key, Layout, TimeWindow, WriteColumn, WriteOptions};

use super::cases::{Case, Kind, START, Step, greater};
use super::cells::{Added, Cells};

/// Runs a case's steps with tdb, and verifies the array after each; returns the number of
/// verifications.
pub(super) fn make(case: &Case, out: &Path) -> Result<u64, String> {
    let path: PathBuf = out.join(&case.name);
    let _ = fs::remove_dir_all(&path);
    let mut verified = 0;
    for step in &case.steps {
        take(case, step, &path).map_err(|error| format!("{step:?}: {error}"))?;
        case.verify(&path).map_err(|error| format!("after {step:?}: {error}"))?;
        verified += 1;
    }
    if case.kind != Kind::Group {
        let array = case.options(Some(TimeWindow::ALL)).open(&path).map_err(|error| error.to_string())?;
        case.check(&array)?;
    }
    Ok(verified)
}

/// The key of an encrypted case.
pub(super) fn key(case: &Case) -> Option<Key> {
    let bytes: Option<[u8; 32]> = case.kind.key()?.as_bytes().try_into().ok();
    bytes.map(Key::new)
}

/// Runs one step.
pub(super) fn take(case: &Case, step: &Step, path: &Path) -> Result<(), tdb_array::Error> {
    let go = &mut |_: &_| ControlFlow::Continue(());
    let at = |time: u64| {
        let options = WriteOptions::new().threads(1).timestamp(time);
        match key(case) {
            Some(key) => options.key(key),
            None => options,
        }
    };
    if case.kind == Kind::Group {
        return take_group(step, path, &at);
    }
    match step {
        // Only groups have members.
        Step::Member { .. } => Ok(()),
        Step::Purge => {
            let writer = at(0).open(path)?;
            let all = Consolidation::new(Stored::Fragments).purge(true);
            match all.plan(&writer)?.run(&writer, go) {
                // If no cells would be left, libtiledb writes an empty fragment.
                Err(tdb_array::Error::Write(WriteError::Refused { .. })) => Ok(()),
                done => done,
            }
        }
        Step::Create => at(START).create(path, &case.kind.schema()),
        Step::Write { time, cells } => write(case, &at(*time).open(path)?, cells),
        Step::Delete { time, max } => at(*time).open(path)?.delete(&greater(*max)).map(drop),
        Step::Consolidate(what) => {
            let writer = at(0).open(path)?;
            Consolidation::new(*what).amplification(1e9).plan(&writer)?.run(&writer, go)
        }
        Step::Vacuum(what) => {
            let writer = at(0).open(path)?;
            Vacuum::new(*what).drop_history(true).plan(&writer)?.run(&writer, go)
        }
        Step::Metadata { time, key, value } => {
            let changes = MetadataChanges::new();
            let changes = match value {
                Some(value) => {
                    changes.put_values(key.as_str(), tdb_array::schema::Datatype::Int32, &[*value])
                }
                None => changes.remove(key.as_str()),
            };
            at(*time).open(path)?.write_metadata(&changes).map(drop)
        }
        Step::Evolve { time, added } => {
            let evolution = SchemaEvolution::new();
            let evolution = match added {
                Some(added) => evolution.add_attribute(added.attribute()),
                None => evolution.drop_attribute("b"),
            };
            at(*time).evolve(path, &evolution).map(drop)
        }
    }
}

fn write(case: &Case, writer: &ArrayWriter, cells: &Cells) -> Result<(), tdb_array::Error> {
    let columns = cells.columns(case.kind);
    let mut write = writer.write();
    if case.kind.is_dense() {
        let (x, y) = cells.bounds();
        write = write.range("x", x.0..=x.1).range("y", i64::from(y.0)..=i64::from(y.1));
    } else {
        let (x, y) = match case.kind {
            Kind::Words => {
                let x = WriteColumn::var("x", &columns.words, &columns.word_offsets);
                (x, WriteColumn::fixed("y", &columns.y))
            }
            Kind::Reals => {
                (WriteColumn::fixed("x", &columns.reals.0), WriteColumn::fixed("y", &columns.reals.1))
            }
            _ => (WriteColumn::fixed("x", &columns.x), WriteColumn::fixed("y", &columns.y)),
        };
        // Words have no space tiles, and for reals, the position on the curve is tested.
        let sorted = !matches!(case.kind, Kind::Words | Kind::Reals);
        let order = if sorted { Layout::GlobalOrder } else { Layout::Unordered };
        write = write.order(order).column(x).column(y);
    }
    write = write.column(WriteColumn::fixed("a", &columns.a));
    write = write.column(WriteColumn::var("s", &columns.s, &columns.offsets).nullable(&columns.valid));
    write = match cells.b {
        Some(Added::Text) => write.column(WriteColumn::var("b", &columns.b, &columns.b_offsets)),
        Some(_) => write.column(WriteColumn::bytes("b", &columns.b)),
        None => write,
    };
    write.commit().map(drop)
}

fn take_group(step: &Step, path: &Path, at: &dyn Fn(u64) -> WriteOptions) -> Result<(), tdb_array::Error> {
    let go = &mut |_: &_| ControlFlow::Continue(());
    match step {
        Step::Create => at(START).create_group(path),
        Step::Metadata { time, key, value } => {
            let mut group = at(*time).open_group(path)?;
            let changes = MetadataChanges::new();
            group.metadata(match value {
                Some(value) => {
                    changes.put_values(key.as_str(), tdb_array::schema::Datatype::Int32, &[*value])
                }
                None => changes.remove(key.as_str()),
            });
            group.commit()
        }
        Step::Member { time, name, added } => {
            let mut group = at(*time).open_group(path)?;
            if *added {
                let member = GroupMember::new(ObjectType::Array, name.as_str());
                group.add(member.with_name(name.clone()).with_relative_uri())?;
            } else {
                group.remove(name)?;
            }
            group.commit()
        }
        Step::Vacuum(what) => {
            let group = at(0).open_group(path)?;
            Vacuum::new(*what).drop_history(true).plan(&group)?.run(&group, go)
        }
        _ => {
            let group = at(0).open_group(path)?;
            Consolidation::new(Stored::Metadata).plan(&group)?.run(&group, go)
        }
    }
}
