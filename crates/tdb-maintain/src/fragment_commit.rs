//! Commits new fragments in place of those that they replace.

use std::collections::BTreeSet;

use tdb_codec::{ArrayType, Gate};
use tdb_fragment::{
    CommitKind, CommitRecord, TimestampedName, vacuum_line, write_consolidated_commits, write_path_lines,
};

use crate::commits::times_of;
use crate::directory::{Directory, FragmentEntry};
use crate::eligibility::{self, ends_of};
use crate::exclusive_list::ExclusiveCommitList;
use crate::job::open;
use crate::paths::{COMMITS, FRAGMENTS};
use crate::plan::FragmentWork;
use crate::storage::join;
use crate::verify::verify_fragment;
use crate::write::{Transaction, fresh_uuid};
use crate::{ArrayWriter, Error, OrInternal, Result, Snapshot, TimeWindow};

const WHAT: &str = "consolidation";

/// Returns an error if another consolidation has replaced the inputs since the plan was made,
/// because their cells would exist twice; or if a fragment that was committed since then does not
/// let them be replaced: a write has the time at which it began, which may lie among theirs.
/// `before` is the array as it was when the step began, `made` are the folders of the new
/// fragments.
pub(crate) fn still_fits(
    writer: &ArrayWriter,
    before: &Snapshot,
    work: &FragmentWork,
    made: &[String],
) -> Result<()> {
    let directory = Directory::load(&*writer.context().storage)?;
    let visible = directory.visible(TimeWindow::ALL, writer.schema().array_type == ArrayType::Dense);
    let folders: BTreeSet<&str> = visible.iter().map(|entry| &*entry.folder).collect();
    for folder in &work.inputs {
        if !folders.contains(folder.as_str()) {
            let why = format!("{folder} was replaced by another consolidation in the meantime");
            return Err(Error::refused(WHAT, why));
        }
    }
    let known: BTreeSet<&str> = before.fragments().iter().map(|fragment| fragment.folder()).collect();
    let is_new = !folders.is_subset(&known);
    let opened = if is_new { Some(open(writer)?) } else { None };
    let now = opened.as_ref().unwrap_or(before);
    let inputs: BTreeSet<&str> = work.inputs.iter().map(String::as_str).collect();
    let fragments = now.fragments().iter().enumerate();
    let chosen: Vec<usize> = fragments
        .filter(|(_, fragment)| inputs.contains(fragment.folder()))
        .map(|(index, _)| index)
        .collect();
    if chosen.len() != inputs.len() {
        let why = "a fragment that it replaces was replaced by another consolidation in the meantime";
        return Err(Error::refused(WHAT, why));
    }
    let ends = ends_of(&chosen)?;
    let among = |index: usize| chosen.binary_search(&index).is_ok();
    // The ratio of cells of the common box and of the inputs was checked by the plan.
    if let Some(why) = eligibility::blocked(now, ends, &among, f64::INFINITY, work.settings.purge) {
        return Err(Error::refused(WHAT, format!("{why}; it was written in the meantime")));
    }
    for folder in made {
        let (first, _) = times_of(folder).or_internal("a new fragment without times in its name")?;
        if !eligibility::is_in_place(now, &inputs, first, folder) {
            let why = format!("a fragment of time {first} that was written in the meantime would be hidden");
            return Err(Error::refused(WHAT, why));
        }
    }
    Ok(())
}

/// Whether a fragment is committed now.
pub(super) fn is_committed(writer: &ArrayWriter, folder: &str) -> Result<bool> {
    let directory = Directory::load(&*writer.context().storage)?;
    Ok(directory.fragments.iter().any(|entry| *entry.folder == *folder))
}

/// Reads a new fragment back and verifies it, down to its last chunk.
pub(super) fn verify(writer: &ArrayWriter, folder: &str, schema_key: &str) -> Result<()> {
    let context = writer.options().context(writer.storage().clone());
    let entry = FragmentEntry::new(&*context.storage, folder.to_owned())?;
    match verify_fragment(context, entry, schema_key).into_iter().next() {
        None => Ok(()),
        Some(problem) => {
            let offset = problem.offset.unwrap_or(0);
            Err(Error::inconsistent(problem.path, "the consolidated fragment", offset, problem.what))
        }
    }
}

/// Commits new fragments, then hides the fragments that they replace.
pub(crate) fn commit(
    writer: &ArrayWriter,
    transaction: &Transaction<'_>,
    folders: &[String],
    inputs: &[String],
) -> Result<()> {
    let version = writer.schema().version;
    let first = folders.first().or_internal("a consolidation without a new fragment")?;
    let parent = if version.has(Gate::FragmentFolders) { COMMITS } else { "" };
    if !parent.is_empty() {
        transaction.ensure_folder(parent)?;
    }
    let markers: Vec<String> = folders.iter().map(|folder| marker_of(folder)).collect();
    if writer.schema().allows_duplicates {
        // Cells must not exist twice, not even for a moment.
        let replaced: Vec<String> = inputs.iter().map(|folder| marker_of(folder)).collect();
        ExclusiveCommitList::new(writer, transaction, &replaced)?.swap(markers)?;
    } else if let [only] = markers.as_slice() {
        transaction.put(only, &[])?;
    } else {
        // All at once.
        let records: Vec<CommitRecord<'_>> =
            markers.into_iter().map(|path| CommitRecord { path, delete: None }).collect();
        let bytes = write_consolidated_commits(&records, version)
            .map_err(|error| Error::refused(WHAT, error.to_string()))?;
        let name =
            TimestampedName::parse(stem(first)).map_err(|error| Error::refused(WHAT, error.to_string()))?;
        let name = TimestampedName { uuid: fresh_uuid()?, ..name };
        let key = join(parent, &format!("{name}{}", CommitKind::Consolidated.suffix()));
        transaction.put(&key, &bytes)?;
    }
    let uri = transaction.uri();
    let lines: Vec<String> = inputs.iter().map(|folder| vacuum_line(folder, &uri, version)).collect();
    let bytes = write_path_lines(&lines).map_err(|error| Error::refused(WHAT, error.to_string()))?;
    let key = join(parent, &format!("{}{}", stem(first), CommitKind::Vacuum.suffix()));
    transaction.put(&key, &bytes)
}

fn stem(folder: &str) -> &str {
    folder.rsplit('/').next().unwrap_or_default()
}

/// The commit file of the fragment in a folder.
pub(super) fn marker_of(folder: &str) -> String {
    if folder.starts_with(FRAGMENTS) {
        join(COMMITS, &format!("{}{}", stem(folder), CommitKind::Write.suffix()))
    } else {
        format!("{}{}", stem(folder), CommitKind::Ok.suffix())
    }
}
