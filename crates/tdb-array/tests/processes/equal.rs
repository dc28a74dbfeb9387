//! Several processes write with the same time: the last one wins. Of writes that overlap in real
//! time either may win, but none that ended before another one began.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tdb_array::group::{Group, GroupMember, ObjectType};
use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::write::{MetadataChanges, SchemaEvolution};
use tdb_array::{Array, OpenOptions as Open, TimeWindow, WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::{Scratch, number, start};

/// The time of everything that is written here.
const TIME: u64 = 1000;

/// What is written, each into a place of its own.
const KINDS: [&str; 5] = ["sparse", "dense", "root", "metadata", "group"];

fn schema(kind: &str) -> ArraySchema {
    let schema = if kind == "dense" { ArraySchema::dense() } else { ArraySchema::sparse() };
    let schema = schema.dimension(Dimension::new("x", 0i32..=9).with_tile(2i32));
    let schema = schema.attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE));
    // Fragments of older versions are in the folder of the array.
    let version = tdb_codec::FormatVersion::parse(if kind == "root" { 9 } else { 22 }).unwrap();
    schema.version(version).build().unwrap()
}

fn create(folder: &Path, kind: &str) -> PathBuf {
    let place = folder.join(kind);
    if kind == "group" {
        WriteOptions::new().create_group(&place).unwrap();
    } else {
        WriteOptions::new().timestamp(TIME).create(&place, &schema(kind)).unwrap();
    }
    place
}

fn at() -> WriteOptions {
    WriteOptions::new().threads(1).timestamp(TIME)
}

/// Writes a number: as a cell, as the value of a key, or as the place of a member.
fn write(place: &Path, kind: &str, value: i64) -> tdb_array::Result<()> {
    match kind {
        "group" => {
            let mut group = at().open_group(place)?;
            if !group.members().is_empty() {
                group.remove("m")?;
            }
            let member = GroupMember::new(ObjectType::Array, format!("file:///{value}"));
            group.add(member.with_name("m"))?;
            group.commit()
        }
        "metadata" => {
            let changes = MetadataChanges::new().put_values("k", Datatype::Int64, &[value]);
            at().open(place)?.write_metadata(&changes).map(drop)
        }
        "dense" => {
            let array = at().open(place)?;
            array.write().range("x", 0..=1).column(WriteColumn::fixed("a", &[value; 2])).commit().map(drop)
        }
        _ => {
            let array = at().open(place)?;
            let write = array.write().column(WriteColumn::fixed("x", &[0i32]));
            write.column(WriteColumn::fixed("a", &[value])).commit().map(drop)
        }
    }
}

/// The number that is read, if there is any.
fn read(place: &Path, kind: &str) -> Option<i64> {
    if kind == "group" {
        let group = Group::open(place).unwrap();
        let uri = group.members().next()?.uri.clone();
        return Some(uri.strip_prefix("file:///").unwrap().parse().unwrap());
    }
    let array = Open::new().threads(1).window(TimeWindow::until(TIME)).open(place).unwrap();
    if kind == "metadata" {
        let metadata = array.metadata().unwrap();
        let value = metadata.get(b"k")?;
        return Some(i64::from_le_bytes(value.data.as_slice().try_into().unwrap()));
    }
    let cells = array.read().range("x", 0..=0).collect().unwrap();
    let found = cells.field("a").unwrap().values::<i64>().unwrap().first().copied();
    found.filter(|value| *value != i64::MIN)
}

fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}

/// A process that writes numbers of its own, and reads what is there after each. It notes when each
/// of these began and ended.
#[test]
fn writer() {
    let Ok(folder) = env::var("TDB_EQUAL_FOLDER") else { return };
    let (folder, kind) = (PathBuf::from(folder), env::var("TDB_EQUAL_KIND").unwrap());
    let (own, count) = (number("TDB_EQUAL_NUMBER", 0), number("TDB_EQUAL_COUNT", 1));
    let mut journal = OpenOptions::new().create(true).append(true).open(folder.join("journal")).unwrap();
    let mut say = |what: &str, began: Duration, value: i64| {
        let line = format!("{kind} {what} {} {} {value}\n", began.as_nanos(), now().as_nanos());
        journal.write_all(line.as_bytes()).unwrap();
    };
    let place = folder.join(&kind);
    for index in 0..count {
        let value = i64::try_from(own * 1000 + index).unwrap();
        let began = now();
        write(&place, &kind, value).unwrap();
        say("wrote", began, value);
        let began = now();
        let found = read(&place, &kind).unwrap();
        say("read", began, found);
    }
}

fn begin(folder: &Path, kind: &str, own: u64, count: u64) -> std::process::Child {
    let words = [
        ("TDB_EQUAL_FOLDER", folder.display().to_string()),
        ("TDB_EQUAL_KIND", kind.to_owned()),
        ("TDB_EQUAL_NUMBER", own.to_string()),
        ("TDB_EQUAL_COUNT", count.to_string()),
    ];
    start("equal::writer", &words)
}

/// A line of the journal: when it began and when it ended, and the number.
type Noted = (u128, u128, i64);

fn noted(folder: &Path, kind: &str, what: &str) -> Vec<Noted> {
    let text = fs::read_to_string(folder.join("journal")).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix(&format!("{kind} {what} ")));
    let parse = |line: &str| -> Option<Noted> {
        let mut words = line.split(' ');
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    lines.map(|line| parse(line).unwrap()).collect()
}

#[test]
fn of_processes_that_write_one_after_the_other_with_one_time_the_last_one_wins() {
    let scratch = Scratch::new("equal");
    for kind in KINDS {
        let place = create(&scratch.0, kind);
        for own in 0..8 {
            let mut child = begin(&scratch.0, kind, own, 1);
            assert!(child.wait().unwrap().success(), "{kind} {own}");
            assert_eq!(read(&place, kind), Some(i64::try_from(own * 1000).unwrap()), "{kind}");
            // What was consolidated stays in its place.
            let stored = if kind == "metadata" { Stored::Metadata } else { Stored::Fragments };
            if own % 3 == 2 && kind != "group" && kind != "root" {
                let writer = WriteOptions::new().open(&place).unwrap();
                let plan = Consolidation::new(stored).plan(&writer).unwrap();
                plan.run(&writer, &mut |_| core::ops::ControlFlow::Continue(())).unwrap();
                assert_eq!(read(&place, kind), Some(i64::try_from(own * 1000).unwrap()), "{kind}");
            }
        }
    }
}

#[test]
fn nothing_that_ended_before_another_write_of_its_time_began_is_read_after_that() {
    let scratch = Scratch::new("racing");
    for kind in KINDS {
        create(&scratch.0, kind);
        let children: Vec<_> = (0..4).map(|own| begin(&scratch.0, kind, own, 10)).collect();
        for mut child in children {
            assert!(child.wait().unwrap().success(), "{kind}");
        }
        let (written, reads) = (noted(&scratch.0, kind, "wrote"), noted(&scratch.0, kind, "read"));
        assert_eq!((written.len(), reads.len()), (40, 40), "{kind}");
        for (began, _, value) in reads {
            let (_, ended, _) = written.iter().find(|(.., other)| *other == value).unwrap();
            let older = written.iter().find(|(start, end, _)| start > ended && *end < began);
            assert_eq!(older, None, "{kind}: {value} was read at {began}, which ended at {ended}");
        }
    }
}

#[test]
fn evolutions_of_one_time_by_several_processes_are_all_kept() {
    let scratch = Scratch::new("evolved");
    if let Ok(place) = env::var("TDB_EVOLVED_PLACE") {
        let name = format!("b{}", number("TDB_EVOLVED_NUMBER", 0));
        let added = Attribute::new(name, Datatype::Int32, CellValNum::ONE);
        at().evolve(place, &SchemaEvolution::new().add_attribute(added)).unwrap();
        return;
    }
    let place = create(&scratch.0, "sparse");
    let test = "equal::evolutions_of_one_time_by_several_processes_are_all_kept";
    let children: Vec<_> = (0..6)
        .map(|own: u64| {
            let place = place.display().to_string();
            start(test, &[("TDB_EVOLVED_PLACE", place), ("TDB_EVOLVED_NUMBER", own.to_string())])
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let array = Array::open_at(&place, TimeWindow::until(TIME)).unwrap();
    assert_eq!(array.schema().attributes.len(), 1 + 6);
    assert_eq!(array.schema_keys().len(), 1 + 6);
}
