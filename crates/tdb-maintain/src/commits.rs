//! Consolidation of commit files.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use tdb_codec::{Gate, to_u64};
use tdb_fragment::{
    CommitKind, CommitRecord, TimestampedName, parse_consolidated_commits, parse_path_lines,
    write_consolidated_commits,
};

use crate::context::Context;
use crate::paths::COMMITS;
use crate::plan::{MaintenancePlan, MaintenanceStep, PlannedFile, Work};
use crate::storage::join;
use crate::write::Transaction;
use crate::{ArrayWriter, Error, Result};

const WHAT: &str = "consolidation of commits";

/// A path and, for a delete, the file that it replaces.
pub(super) type Record = (String, Option<Bytes>);

/// The records of a list.
pub(super) fn parse_records(bytes: &Bytes) -> core::result::Result<Vec<Record>, tdb_codec::Error> {
    let own = |record: CommitRecord<'_>| (record.path, record.delete.map(|(_, file)| bytes.slice_ref(file)));
    Ok(parse_consolidated_commits(bytes)?.into_iter().map(own).collect())
}

/// The current commit files of an array.
#[derive(Debug, Default)]
pub(super) struct CommitFiles {
    /// `.ok`, `.wrt` and `.del` files by path, with their sizes.
    pub(super) single: BTreeMap<String, u64>,
    /// `.con` files by key: sizes, and records with the deletes in them.
    pub(super) consolidated: BTreeMap<String, (u64, Vec<Record>)>,
    /// `.ign` files by key, with their sizes and paths.
    pub(super) ignored: BTreeMap<String, (u64, Vec<String>)>,
}

impl CommitFiles {
    pub(super) fn load(context: &Context) -> Result<Self> {
        let list = |folder: &str| {
            let listed = context.storage.list(folder);
            listed.map_err(|error| Error::io(context.describe(folder), error))
        };
        let root = list("")?;
        let folders: BTreeSet<&str> =
            root.iter().filter(|entry| entry.is_folder).map(|entry| entry.name.as_str()).collect();
        let mut keys: Vec<String> =
            root.iter().filter(|entry| !entry.is_folder).map(|entry| entry.name.clone()).collect();
        if folders.contains(COMMITS) {
            let entries = list(COMMITS)?;
            keys.extend(
                entries.iter().filter(|entry| !entry.is_folder).map(|entry| join(COMMITS, &entry.name)),
            );
        }
        let mut files = Self::default();
        for key in keys {
            let name = key.rsplit('/').next().unwrap_or_default();
            let corrupt = |error: tdb_codec::Error| Error::corrupt(context.describe(&key), error);
            let size =
                || context.storage.size(&key).map_err(|error| Error::io(context.describe(&key), error));
            match CommitKind::of(name) {
                // An `.ok` file without its folder commits nothing.
                Some((CommitKind::Ok, stem)) if !folders.contains(stem) => {}
                Some((CommitKind::Ok | CommitKind::Write | CommitKind::Delete, _)) => {
                    let size = size()?;
                    files.single.insert(key, size);
                }
                Some((CommitKind::Consolidated, _)) => {
                    let bytes = context.read_all(&key)?;
                    let records = parse_records(&bytes).map_err(corrupt)?;
                    files.consolidated.insert(key, (to_u64(bytes.len()), records));
                }
                Some((CommitKind::Ignore, _)) => {
                    let bytes = context.read_all(&key)?;
                    let lines = parse_path_lines(&bytes).map_err(corrupt)?;
                    files.ignored.insert(key, (to_u64(bytes.len()), lines));
                }
                // Other files commit nothing that a list could contain.
                _ => {}
            }
        }
        Ok(files)
    }

    pub(super) fn is_ignored(&self, path: &str) -> bool {
        self.ignored.values().any(|(_, paths)| paths.iter().any(|ignored| ignored == path))
    }

    /// The effective records of a consolidated file: deletes always, others unless they are
    /// ignored.
    pub(super) fn effective<'f>(&'f self, records: &'f [Record]) -> impl Iterator<Item = &'f Record> {
        records.iter().filter(|(path, delete)| delete.is_some() || !self.is_ignored(path))
    }

    /// All committed paths, with the deletes that only exist in consolidated files.
    fn all(&self) -> BTreeMap<String, Option<Bytes>> {
        let records = self.consolidated.values().flat_map(|(_, records)| self.effective(records));
        let mut all: BTreeMap<String, Option<Bytes>> = records.cloned().collect();
        for path in self.single.keys() {
            all.entry(path.clone()).or_default();
        }
        all
    }
}

pub(super) fn plan(writer: &ArrayWriter) -> Result<MaintenancePlan> {
    let version = writer.schema().version;
    if !version.has(Gate::FragmentFolders) {
        let why = format!(
            "arrays of version {version} do not support consolidated commits; upgrade the array first"
        );
        return Ok(MaintenancePlan::new(Vec::new(), vec![why]));
    }
    let files = CommitFiles::load(writer.context())?;
    let all = files.all();
    let held =
        |records: &[Record]| all.keys().all(|path| files.effective(records).any(|(held, _)| held == path));
    if let Some((key, _)) = files.consolidated.iter().find(|(_, (_, records))| held(records)) {
        return Ok(MaintenancePlan::new(Vec::new(), vec![format!("{key} already contains all commits")]));
    }
    if all.len() < 2 {
        return Ok(MaintenancePlan::new(Vec::new(), vec!["there are fewer than two commits".to_owned()]));
    }
    let single = files.single.iter().map(|(key, bytes)| PlannedFile { key: key.clone(), bytes: *bytes });
    let old =
        files.consolidated.iter().map(|(key, (bytes, _))| PlannedFile { key: key.clone(), bytes: *bytes });
    let inputs: Vec<PlannedFile> = single.chain(old).collect();
    let bytes = inputs.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
    let names = all.keys().fold(0u64, |sum, path| sum.saturating_add(to_u64(path.len())).saturating_add(9));
    let output = Some(PlannedFile { key: format!("{COMMITS}/….con"), bytes: bytes.saturating_add(names) });
    let step = MaintenanceStep { what: "consolidate commits", inputs, output, work: Work::Commits };
    Ok(MaintenancePlan::new(vec![step], Vec::new()))
}

/// Writes one file with everything that is committed now. The other files stay: what is in several
/// places counts once.
pub(super) fn run(writer: &ArrayWriter) -> Result<()> {
    let context = writer.context();
    // If a vacuum removed something in the meantime, it would be committed again.
    let transaction = Transaction::begin(&**writer.storage(), writer.options())?;
    let files = CommitFiles::load(context)?;
    let mut all = files.all();
    for (path, delete) in &mut all {
        if path.ends_with(CommitKind::Delete.suffix()) && delete.is_none() {
            *delete = Some(context.read_all(path)?);
        }
    }
    let records: Vec<CommitRecord<'_>> = all
        .iter()
        .map(|(path, delete)| CommitRecord {
            path: path.clone(),
            delete: delete.as_ref().map(|d| (0, &d[..])),
        })
        .collect();
    let version = writer.schema().version;
    let bytes = write_consolidated_commits(&records, version)
        .map_err(|error| Error::refused(WHAT, error.to_string()))?;
    let times = all.keys().filter_map(|path| times_of(path));
    let (first, last) = times.fold((u64::MAX, 0), |(low, high), (a, b)| (low.min(a), high.max(b)));
    let name = transaction.name((first.min(last), last), Some(version))?;
    let key = join(COMMITS, &format!("{name}{}", CommitKind::Consolidated.suffix()));
    // Arrays that were upgraded from before version 12 need not have it.
    transaction.ensure_folder(COMMITS)?;
    transaction.put(&key, &bytes)
}

/// The name at the end of a path.
pub(super) fn name_of(path: &str) -> Option<TimestampedName> {
    TimestampedName::parse(path.rsplit('/').next().unwrap_or_default()).ok()
}

/// The time range in the name at the end of a path.
pub(super) fn times_of(path: &str) -> Option<(u64, u64)> {
    name_of(path).map(|name| name.timestamps)
}
