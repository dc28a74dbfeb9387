//! Consolidation of key-value metadata.

use std::collections::BTreeSet;

use tdb_fragment::{CommitKind, TimestampedName, vacuum_line, write_path_lines};
use tdb_schema::{ArrayMetadata, MetadataEntry, ObjectType};

use crate::commits::{name_of, times_of};
use crate::object::list_root;
use crate::options::MaintainedObject;
use crate::paths::METADATA;
use crate::plan::{MaintenancePlan, MaintenanceStep, PlannedFile, Work};
use crate::storage::join;
use crate::timed::TimedFiles;
use crate::write::{Nonces, Transaction, generic_tile};
use crate::{Error, OrInternal, Result, TimeWindow, clock};

const WHAT: &str = "consolidation of metadata";

pub(super) fn load(object: MaintainedObject<'_>) -> Result<TimedFiles> {
    let storage = &*object.context().storage;
    let (root, _) = list_root(storage, &[ObjectType::Array, ObjectType::Group])?;
    TimedFiles::load(storage, &root, METADATA)
}

pub(super) fn plan(object: MaintainedObject<'_>) -> Result<MaintenancePlan> {
    let context = object.context();
    let files = load(object)?;
    let keys = present_keys(&files)?;
    if keys.len() < 2 {
        let why = "there are fewer than two metadata files".to_owned();
        return Ok(MaintenancePlan::new(Vec::new(), vec![why]));
    }
    let mut inputs = Vec::with_capacity(keys.len());
    for key in &keys {
        let size = context.storage.size(key).map_err(|error| Error::io(context.describe(key), error))?;
        inputs.push(PlannedFile { key: key.clone(), bytes: size });
    }
    let bytes = inputs.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
    let output = Some(PlannedFile { key: join(METADATA, "…"), bytes });
    let step = MaintenanceStep { what: "consolidate metadata", inputs, output, work: Work::Metadata(keys) };
    Ok(MaintenancePlan::new(vec![step], Vec::new()))
}

/// Keys of the files to combine, oldest first: those that come before all files that readers do not
/// see yet. Otherwise a file after one of these could end up before it.
fn present_keys(files: &TimedFiles) -> Result<Vec<String>> {
    // Without a clock, nothing is in the future.
    let present = clock::present().unwrap_or(u64::MAX);
    let timed = |key| Ok((key, times_in(key)?));
    let all = files.visible(TimeWindow::ALL).map(timed).collect::<Result<Vec<(&str, (u64, u64))>>>()?;
    let to_come = all.iter().filter(|(_, (_, last))| *last > present).map(|(_, (first, _))| *first).min();
    let before = all.iter().filter(|(_, (first, _))| to_come.is_none_or(|to_come| *first < to_come));
    Ok(before.map(|(key, _)| (*key).to_owned()).collect())
}

/// The times in the name of a metadata file that was listed, which has some.
fn times_in(key: &str) -> Result<(u64, u64)> {
    times_of(key).or_internal("a metadata file without times in its name")
}

/// Writes the remaining contents of the files as one file, then the list of those it replaces.
/// Between the two, both are read, with the same result: later files repeat what earlier ones
/// stated.
pub(super) fn run(object: MaintainedObject<'_>, keys: &[String]) -> Result<()> {
    let context = object.context();
    // Two consolidations at once would replace the same files twice, and the older result could
    // become effective last.
    let transaction = Transaction::begin(&**object.storage(), object.options())?;
    let files = load(object)?;
    let visible: Vec<&str> = files.visible(TimeWindow::ALL).collect();
    // No other file may come before them or among them now.
    let are_first =
        keys.len() <= visible.len() && visible.iter().zip(keys).all(|(now, key)| *now == key.as_str());
    if !are_first {
        return Err(Error::refused(WHAT, "the files changed since the plan was made"));
    }
    let mut metadata = ArrayMetadata::default();
    let mut named = BTreeSet::new();
    let (mut first, mut last) = (u64::MAX, 0);
    for key in keys {
        let payload = context.generic_file(key)?;
        let entries = MetadataEntry::parse_all(&payload)
            .map_err(|error| Error::corrupt(context.describe(key), error))?;
        named.extend(entries.iter().map(|entry| entry.key.clone()));
        metadata.apply(entries);
        let times = times_in(key)?;
        (first, last) = (first.min(times.0), last.max(times.1));
    }
    // Keys that were removed, too: an older value that is written later must not come back. And
    // libtiledb 2.0 to 2.7 read no file without entries.
    let entries = named.into_iter().map(|key| MetadataEntry { value: metadata.get(&key).cloned(), key });
    let entries: Vec<MetadataEntry> = entries.collect();
    let payload =
        MetadataEntry::write_all(&entries).map_err(|error| Error::refused(WHAT, error.to_string()))?;
    let bytes = generic_tile(&payload, context.key.as_ref(), &mut Nonces::new()?.scratch())?;
    let times = (first.min(last), last);
    // If all files have one time, the new one comes right behind the newest. A file that another
    // process writes at that time also sorts after the newest, and after the new file.
    let newest = keys.last().filter(|_| first == last).and_then(|key| name_of(key));
    let name = match newest.and_then(|name| name.unique_behind(1)) {
        Some(uuid) => TimestampedName::new(times, uuid, None),
        None => transaction.name(times, None)?,
    };
    let key = join(METADATA, &name.to_string());
    transaction.put(&key, &bytes)?;
    let uri = transaction.uri();
    let line = |key: &String| match object {
        MaintainedObject::Array(array) => vacuum_line(key, &uri, array.schema().version),
        MaintainedObject::Group(_) => format!("{}/{key}", uri.trim_end_matches('/')),
    };
    let lines: Vec<String> = keys.iter().map(line).collect();
    let bytes = write_path_lines(&lines).map_err(|error| Error::refused(WHAT, error.to_string()))?;
    transaction.put(&format!("{key}{}", CommitKind::Vacuum.suffix()), &bytes)
}
