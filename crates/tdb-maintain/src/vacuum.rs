//! Plans a vacuum: the removal of files that consolidated ones replace, and of those that crashes
//! left behind.
//!
//! A vacuum may stop at any point: the file that commits something is removed first, durably,
//! before the thing itself; the list of replaced files is removed last.

use std::collections::{HashMap, HashSet};
use std::io;

use tdb_codec::{ArrayType, Gate};
use tdb_fragment::{CommitKind, TimestampedName};

use crate::commits::{CommitFiles, times_of};
use crate::directory::{Directory, FragmentEntry, fragment_folders};
use crate::fragment::Fragment;
use crate::leaving::{Leaving, file, folder_bytes};
use crate::options::{MaintainedObject, Stored, Vacuum};
use crate::paths::{FRAGMENTS, METADATA, PARTIAL};
use crate::plan::{MaintenancePlan, MaintenanceStep, PlannedFile, Planner, Removal, RemovedPath, Work};
use crate::schemas::Schemas;
use crate::storage::{TEMPORARY, join};
use crate::thresholds::MAX_WRITE_TIME;
use crate::{ArrayWriter, Error, Result, clock, footers, metadata};

/// Whether readers see data of this time now: if not, they need what it replaces.
fn is_past(last: u64) -> bool {
    clock::present().is_none_or(|present| last <= present)
}

impl Vacuum {
    /// Plans what would be removed.
    ///
    /// # Errors
    /// A damaged array, or something that this build does not support.
    pub fn plan<'a>(&self, object: impl Into<MaintainedObject<'a>>) -> Result<MaintenancePlan> {
        let object = object.into();
        match self.what {
            Some(Stored::Fragments) => self.fragments(object.array("vacuum of fragments")?),
            Some(Stored::FragmentMetadata) => metadata_files(self, object.array("vacuum of footers")?),
            Some(Stored::Commits) => commits(self, object.array("vacuum of commits")?),
            Some(Stored::Metadata) => self.metadata(object),
            None => self.leftovers(object),
        }
    }

    fn fragments(&self, writer: &ArrayWriter) -> Result<MaintenancePlan> {
        let context = writer.context();
        let directory = Directory::load(&*context.storage)?;
        let files = CommitFiles::load(context)?;
        let committed: HashMap<&str, &FragmentEntry> =
            directory.fragments.iter().map(|entry| (&*entry.folder, entry)).collect();
        let loader = Schemas::new(context);
        let mut notes = Vec::new();
        let mut steps = Vec::new();
        for (key, name, inputs) in in_order(&directory.vacuums) {
            let output = output_of(key, name);
            let Some(entry) = committed.get(output.as_str()) else {
                // The output was replaced itself, and what replaced it has the same cells.
                let replaced = directory.vacuums.iter().any(|(_, _, others)| others.contains(&output));
                if !replaced && inputs.iter().any(|input| committed.contains_key(input.as_str())) {
                    notes.push(format!(
                        "{key} lists fragments, but {output} is not committed: none of them is removed"
                    ));
                    continue;
                }
                let all = Leaving { key: Some(key), folders: inputs, goes: &|_| true, is_seen: &|_| false };
                steps.extend(all.step(context, &files, &committed, self.removes(key))?);
                continue;
            };
            let fragment = Fragment::open(context, (*entry).clone(), &|name| loader.named(name))?;
            let exact = |input: &str| exact(writer, &fragment, input);
            let kept: Vec<&str> = inputs
                .iter()
                .map(String::as_str)
                .filter(|input| committed.contains_key(input) && !exact(input))
                .collect();
            let times = entry.parsed.timestamps;
            let dropped = self.drop_history && is_past(times.1);
            if !kept.is_empty() && !dropped {
                notes.push(format!(
                    "{} fragments replaced by {output} are kept: reads at times from {} to {} see them",
                    kept.len(),
                    times.0,
                    times.1
                ));
            }
            let schema_key = match &fragment.footer().schema_name {
                Some(name) if name != crate::paths::OLD_SCHEMA => join(crate::paths::SCHEMA_FOLDER, name),
                _ => crate::paths::OLD_SCHEMA.to_owned(),
            };
            let goes = |input: &str| dropped || exact(input);
            let verify = self.verify.then(|| (output.clone(), schema_key)).into_iter().collect();
            let listed = writer.schema().version.has(Gate::FragmentFolders);
            let is_seen = |input: &str| listed && committed.contains_key(input) && !exact(input);
            let leaving = Leaving { key: Some(key), folders: inputs, goes: &goes, is_seen: &is_seen };
            let removal = Removal { verify, ..self.removes(key) };
            steps.extend(leaving.step(context, &files, &committed, removal)?);
        }
        Ok(MaintenancePlan::new(steps, notes))
    }

    fn removes(&self, key: &str) -> Removal {
        Removal::new(Planner::Vacuum(self.clone()), key)
    }

    fn metadata(&self, object: MaintainedObject<'_>) -> Result<MaintenancePlan> {
        let context = object.context();
        let files = metadata::load(object)?;
        let (mut steps, mut notes) = (Vec::new(), Vec::new());
        for (key, name, inputs) in &files.vacuums {
            let output = key.strip_suffix(CommitKind::Vacuum.suffix()).unwrap_or(key);
            let there = |wanted: &str| files.files.iter().any(|(file, _)| file == wanted);
            let replaced =
                files.vacuums.iter().any(|(_, _, others)| others.iter().any(|other| other == output));
            let present: Vec<&String> = inputs.iter().filter(|input| there(input)).collect();
            if !there(output) && !replaced && !present.is_empty() {
                notes
                    .push(format!("{key} lists files, but {output} does not exist: none of them is removed"));
                continue;
            }
            let same = |input: &str| times_of(input) == Some(name.timestamps);
            let dropped = self.drop_history && is_past(name.timestamps.1);
            let goes = |input: &str| dropped || same(input);
            let kept = present.iter().filter(|input| !goes(input)).count();
            if kept > 0 {
                let (first, last) = name.timestamps;
                notes.push(format!(
                    "{kept} metadata files replaced by {output} are kept: reads at times from {first} to {last} see them"
                ));
            }
            let gone: Vec<&&String> = present.iter().filter(|input| goes(input)).collect();
            let mut stages =
                vec![gone.iter().map(|input| RemovedPath::File((**input).clone())).collect::<Vec<_>>()];
            let mut listed = Vec::new();
            for input in gone {
                listed.push(file(context, input)?);
            }
            if kept == 0 {
                listed.push(file(context, key)?);
                stages.push(vec![RemovedPath::File(key.clone())]);
            }
            if listed.is_empty() {
                continue;
            }
            let work = Work::Remove(Removal { stages, ..self.removes(key) });
            let what = "remove consolidated metadata";
            steps.push(MaintenanceStep { what, inputs: listed, output: None, work });
        }
        Ok(MaintenancePlan::new(steps, notes))
    }

    fn leftovers(&self, object: MaintainedObject<'_>) -> Result<MaintenancePlan> {
        let context = object.context();
        let list = |folder: &str| match context.storage.list(folder) {
            Ok(entries) => Ok(entries),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(Error::io(context.describe(folder), error)),
        };
        let root = list("")?;
        let before =
            self.before.unwrap_or_else(|| clock::present().unwrap_or(0).saturating_sub(MAX_WRITE_TIME));
        let old = |name: &str| times_of(name).is_none_or(|(_, last)| last < before);
        let mut listed = Vec::new();
        let mut gone = Vec::new();
        let mut notes = Vec::new();
        // Names of locks and leases also begin like this, and may be in use.
        let temporary = |name: &str| name.starts_with(TEMPORARY) && name.ends_with(PARTIAL);
        for entry in root.iter().filter(|entry| !entry.is_folder && temporary(&entry.name)) {
            let name = entry.name.strip_prefix(TEMPORARY).unwrap_or_default();
            if old(name) {
                listed.push(file(context, &entry.name)?);
                gone.push(RemovedPath::File(entry.name.clone()));
            }
        }
        let metadata = list(METADATA)?;
        for entry in metadata.iter().filter(|entry| !entry.is_folder && entry.name.ends_with(PARTIAL)) {
            let key = join(METADATA, &entry.name);
            if old(&entry.name) {
                listed.push(file(context, &key)?);
                gone.push(RemovedPath::File(key));
            }
        }
        if let MaintainedObject::Array(_) = object {
            let directory = Directory::load(&*context.storage)?;
            let committed: HashSet<&str> = directory.fragments.iter().map(|entry| &*entry.folder).collect();
            for folder in fragment_folders(&root, &list(FRAGMENTS)?) {
                if committed.contains(folder.as_str()) {
                    continue;
                }
                if old(&folder) {
                    let bytes = folder_bytes(context, &folder)?.unwrap_or(0);
                    listed.push(PlannedFile { key: folder.clone(), bytes });
                    gone.push(RemovedPath::Folder(folder));
                } else {
                    notes.push(format!(
                        "{folder} is not committed, but too recent to be certainly a leftover"
                    ));
                }
            }
        }
        let steps = if gone.is_empty() {
            Vec::new()
        } else {
            let work = Work::Remove(Removal { stages: vec![gone], ..self.removes("") });
            vec![MaintenanceStep { what: "remove leftovers", inputs: listed, output: None, work }]
        };
        Ok(MaintenancePlan::new(steps, notes))
    }
}

/// A vacuum file: its key, its name, and the folders it lists.
type VacuumFile = (String, TimestampedName, Vec<String>);

/// Vacuum files in such an order that those for inputs of another one come before it.
fn in_order(vacuums: &[VacuumFile]) -> Vec<(&str, &TimestampedName, &[String])> {
    let mut left: Vec<&VacuumFile> = vacuums.iter().collect();
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let inner = left.iter().position(|(_, _, inputs)| {
            !left.iter().any(|(key, name, _)| inputs.contains(&output_of(key, name)))
        });
        // Files that list each other in a circle come in any order.
        let (key, name, inputs) = left.remove(inner.unwrap_or(0));
        ordered.push((key.as_str(), name, inputs.as_slice()));
    }
    ordered
}

/// The folder of the fragment to which a vacuum file belongs.
fn output_of(key: &str, name: &TimestampedName) -> String {
    let folders = name.version.is_some_and(|version| version.has(Gate::FragmentFolders));
    let stem = key.rsplit('/').next().unwrap_or_default();
    let stem = stem.strip_suffix(CommitKind::Vacuum.suffix()).unwrap_or(stem);
    join(if folders { FRAGMENTS } else { "" }, stem)
}

/// Whether every read that would see a fragment also sees its replacement, with the same cells.
fn exact(writer: &ArrayWriter, output: &Fragment, input: &str) -> bool {
    let dense = writer.schema().array_type == ArrayType::Dense;
    let by_cell =
        !dense && output.footer().has_timestamps && output.version().has(Gate::OverlappingTimeWindows);
    by_cell || times_of(input) == Some(output.timestamps())
}

/// Removes commit files whose contents are in a consolidated one, then consolidated ones that
/// another one contains, then ignore files that are no longer needed.
fn commits(vacuum: &Vacuum, writer: &ArrayWriter) -> Result<MaintenancePlan> {
    let files = CommitFiles::load(writer.context())?;
    let mut listed = Vec::new();
    let held = |path: &String| {
        let mut all = files.consolidated.values();
        all.any(|(_, records)| files.effective(records).any(|(held, _)| held == path))
    };
    let mut single = Vec::new();
    for (path, bytes) in files.single.iter().filter(|(path, _)| held(path)) {
        listed.push(PlannedFile { key: path.clone(), bytes: *bytes });
        single.push(RemovedPath::File(path.clone()));
    }
    let mut left: Vec<&String> = files.consolidated.keys().collect();
    let mut old = Vec::new();
    // The newest stay: starting with the oldest, each is removed if a remaining one contains all of
    // it.
    for (key, (bytes, records)) in &files.consolidated {
        let whole = |other: &&&String| {
            **other != key
                && files.consolidated.get(**other).is_some_and(|(_, others)| {
                    files
                        .effective(records)
                        .all(|(path, _)| files.effective(others).any(|(held, _)| held == path))
                })
        };
        if left.iter().any(|other| whole(&other)) {
            left.retain(|other| *other != key);
            listed.push(PlannedFile { key: key.clone(), bytes: *bytes });
            old.push(RemovedPath::File(key.clone()));
        }
    }
    let named = |path: &String| {
        let mut records = left.iter().filter_map(|key| files.consolidated.get(*key));
        records.any(|(_, records)| records.iter().any(|(held, _)| held == path))
    };
    let mut ignored = Vec::new();
    for (key, (bytes, paths)) in &files.ignored {
        if !paths.iter().any(named) {
            listed.push(PlannedFile { key: key.clone(), bytes: *bytes });
            ignored.push(RemovedPath::File(key.clone()));
        }
    }
    if listed.is_empty() {
        return Ok(MaintenancePlan::default());
    }
    let work = Work::Remove(Removal { stages: vec![single, old, ignored], ..vacuum.removes("") });
    let step = MaintenanceStep { what: "remove consolidated commits", inputs: listed, output: None, work };
    Ok(MaintenancePlan::new(vec![step], Vec::new()))
}

/// Files of footers that are older than the newest one.
fn metadata_files(vacuum: &Vacuum, writer: &ArrayWriter) -> Result<MaintenancePlan> {
    let keys = footers::existing(writer)?;
    let newest = keys.iter().filter_map(|key| times_of(key)).map(|(_, last)| last).max();
    let old = keys.iter().filter(|key| times_of(key).map(|(_, last)| last) < newest);
    let (mut listed, mut gone) = (Vec::new(), Vec::new());
    for key in old {
        listed.push(file(writer.context(), key)?);
        gone.push(RemovedPath::File(key.clone()));
    }
    if gone.is_empty() {
        return Ok(MaintenancePlan::default());
    }
    let work = Work::Remove(Removal { stages: vec![gone], ..vacuum.removes("") });
    let what = "remove consolidated fragment metadata";
    Ok(MaintenancePlan::new(vec![MaintenanceStep { what, inputs: listed, output: None, work }], Vec::new()))
}
