//! Consolidation of fragments: the choice, and the parts common to dense and sparse ones.

use std::collections::BTreeSet;
use std::sync::Arc;

use tdb_codec::{ArrayType, Gate, to_u64};
use tdb_fragment::{
    CommitKind, CommitRecord, TimestampedName, vacuum_line, write_consolidated_commits, write_path_lines,
};
use tdb_schema::ArraySchema;

use super::choose::{self, AllSchemas};
use super::claim::Claim;
use super::commits::times_of;
use super::plan::{MaintenancePlan, MaintenanceStep, PlannedFile, Work};
use super::{Consolidation, Settings, Tell, dense, sparse};
use crate::directory::{Directory, FragmentEntry};
use crate::fragment::Fragment;
use crate::paths::{COMMITS, FRAGMENTS};
use crate::schemas::Schemas;
use crate::storage::join;
use crate::verify::verify_fragment;
use crate::write::{Transaction, fresh_uuid};
use crate::{ArrayWriter, Error, OrInternal, Result, Snapshot, SnapshotOptions, TimeWindow, clock};

const WHAT: &str = "consolidation";

/// The inputs and settings of one step.
#[derive(Clone, Debug)]
pub(super) struct FragmentWork {
    /// Folders, oldest first.
    pub(super) inputs: Vec<String>,
    /// Key of the new fragments' schema.
    pub(super) schema_key: String,
    pub(super) settings: Settings,
}

/// The array with everything that was ever written to it, for reading the inputs.
pub(super) fn open(writer: &ArrayWriter) -> Result<Snapshot> {
    let context = writer.context();
    let mut options =
        SnapshotOptions::new().window(TimeWindow::ALL).threads(context.threads).limits(context.limits);
    if let Some(key) = &context.key {
        options = options.key(key.clone());
    }
    options.open_storage(writer.storage().clone())
}

pub(super) fn plan(writer: &ArrayWriter, options: &Consolidation) -> Result<MaintenancePlan> {
    let array = open(writer)?;
    let context = array.context();
    let loader = Schemas::new(context);
    let load = |key: &String| Ok((key.clone(), loader.at(key)?));
    let schemas = array.schema_keys().iter().map(load).collect::<Result<AllSchemas>>()?;
    let present = clock::present().unwrap_or(u64::MAX);
    let chooser = Chooser { array: &array, schemas: &schemas, options, present };
    let mut notes = Vec::new();
    let windows = match &options.chosen {
        Some(names) => vec![chooser.named(names)?],
        None => chooser.windows(&mut notes)?,
    };
    let mut steps = Vec::new();
    for (chosen, schema_key) in windows {
        let fragments = chooser.fragments(&chosen)?;
        let inputs: Vec<PlannedFile> = fragments
            .iter()
            .map(|fragment| PlannedFile { key: fragment.folder().to_owned(), bytes: fragment.size() })
            .collect();
        let bytes = inputs.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
        // In addition to the bytes of the inputs: eight bytes per cell for its time.
        let cells = fragments.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.cell_count()));
        let times = if array.schema().array_type == ArrayType::Sparse { cells.saturating_mul(8) } else { 0 };
        let first = fragments.iter().map(|fragment| fragment.timestamps().0).min().unwrap_or(0);
        let last = fragments.iter().map(|fragment| fragment.timestamps().1).max().unwrap_or(0);
        let output = PlannedFile {
            key: format!("a fragment with times {first} to {last}"),
            bytes: bytes.saturating_add(times),
        };
        let folders = inputs.iter().map(|file| file.key.clone()).collect();
        let work = FragmentWork { inputs: folders, schema_key, settings: options.settings };
        steps.push(MaintenanceStep {
            what: "consolidate fragments",
            inputs,
            output: Some(output),
            work: Work::Fragments(work),
        });
    }
    Ok(MaintenancePlan::new(steps, notes))
}

/// Fragments by index, and the schema to write them with.
type Window = (Vec<usize>, String);

struct Chooser<'a> {
    array: &'a Snapshot,
    schemas: &'a AllSchemas,
    options: &'a Consolidation,
    /// The present time: readers do not see later fragments yet.
    present: u64,
}

impl Chooser<'_> {
    fn sparse(&self) -> bool {
        self.array.schema().array_type == ArrayType::Sparse
    }

    /// The schema for these fragments, or the reason why they cannot be consolidated.
    fn check(&self, chosen: &[usize]) -> Result<Result<String, String>> {
        let fragments = self.fragments(chosen)?;
        for fragment in &fragments {
            if let Some(why) = choose::ineligible(fragment, self.sparse()) {
                return Ok(Err(format!("fragment {} is not consolidated: {why}", fragment.name())));
            }
        }
        let ends = ends_of(chosen)?;
        let among = |index: usize| chosen.binary_search(&index).is_ok();
        let amplification = self.options.settings.amplification;
        let purge = self.options.settings.purge;
        if let Some(why) = choose::blocked(self.array, ends, &among, amplification, purge) {
            return Ok(Err(why));
        }
        let (key, schema) = match choose::target(self.array, self.schemas, &fragments, purge) {
            Ok(target) => target,
            Err(why) => return Ok(Err(why)),
        };
        let placed = match choose::name(self.array, &fragments, &schema, &|| Ok("8".repeat(32)))? {
            Some(name) => Some(name),
            // A real name may work where the sample does not.
            None => choose::name(self.array, &fragments, &schema, &fresh_uuid)?,
        };
        let why = "no name for the new fragment sorts correctly among other fragments of the same time";
        Ok(placed.map(|_| key).ok_or_else(|| why.to_owned()))
    }

    /// The fragments with these numbers.
    fn fragments(&self, chosen: &[usize]) -> Result<Vec<&Fragment>> {
        let fragment = |index: &usize| self.array.fragments().get(*index).map(Arc::as_ref);
        let fragments: Option<Vec<&Fragment>> = chosen.iter().map(fragment).collect();
        fragments.or_internal("a number without a fragment")
    }

    fn named(&self, names: &[String]) -> Result<Window> {
        let mut chosen = Vec::with_capacity(names.len());
        for name in names {
            let short = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let found = self.array.fragments().iter().position(|fragment| fragment.name() == short);
            let missing = || Error::refused(WHAT, format!("there is no visible fragment \"{name}\""));
            chosen.push(found.ok_or_else(missing)?);
        }
        chosen.sort_unstable();
        chosen.dedup();
        if chosen.len() < 2 {
            return Err(Error::refused(WHAT, "at least two fragments are needed"));
        }
        let key = self.check(&chosen)?.map_err(|why| Error::refused(WHAT, why))?;
        Ok((chosen, key))
    }

    /// Runs of neighbours: in each free stretch the longest run that fits, and of equally long runs
    /// the smallest.
    fn windows(&self, notes: &mut Vec<String>) -> Result<Vec<Window>> {
        let fragments = self.array.fragments();
        let mut free: Vec<(usize, usize)> = Vec::new();
        let mut start = 0usize;
        for (index, fragment) in fragments.iter().enumerate() {
            let next = index.saturating_add(1);
            if let Some(why) = choose::ineligible(fragment, self.sparse()).or_else(|| self.to_come(fragment))
            {
                notes.push(format!("fragment {} is not consolidated: {why}", fragment.name()));
                free.push((start, index));
                start = next;
            } else if next < fragments.len() && !self.alike(index) {
                free.push((start, next));
                start = next;
            }
        }
        free.push((start, fragments.len()));
        let mut found: Vec<Window> = Vec::new();
        while found.len() < self.options.steps {
            let mut why = None;
            let Some((window, at)) = self.best(&free, &mut why)? else {
                if found.is_empty() {
                    notes.extend(why);
                }
                break;
            };
            let (first, last) = ends_of(&window.0)?;
            // The two parts beside it are free now.
            let (low, high) = free.get_mut(at).or_internal("a window that is not free")?;
            let after = (last.saturating_add(1), *high);
            (*low, *high) = (*low, first);
            free.push(after);
            found.push(window);
        }
        found.sort();
        Ok(found)
    }

    /// The reason why a fragment of the future is not chosen, if it is one: in a dense array, the
    /// result would only be visible when that fragment is.
    fn to_come(&self, fragment: &Fragment) -> Option<String> {
        let (_, last) = fragment.timestamps();
        (last > self.present).then(|| format!("its time, {last}, is in the future"))
    }

    /// Whether a fragment and the next one have sizes within the given ratio.
    #[expect(clippy::cast_precision_loss, reason = "a ratio chosen by users need not be exact")]
    fn alike(&self, index: usize) -> bool {
        let size = |index: usize| self.array.fragments().get(index).map_or(0, |fragment| fragment.size());
        let (a, b) = (size(index), size(index.saturating_add(1)));
        a.min(b) as f64 >= self.options.ratio * a.max(b) as f64
    }

    fn best(&self, free: &[(usize, usize)], why: &mut Option<String>) -> Result<Option<(Window, usize)>> {
        let longest = free.iter().map(|(low, high)| high.saturating_sub(*low)).max().unwrap_or(0);
        let bytes = |low: usize, len: usize| -> Result<u64> {
            let window = self.array.fragments().get(low..low.saturating_add(len));
            let window = window.or_internal("a window without its fragments")?;
            Ok(window.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.size())))
        };
        for len in (self.options.fewest..=longest.min(self.options.max)).rev() {
            let mut windows: Vec<(u64, usize, usize)> = Vec::new();
            for (at, (low, high)) in free.iter().enumerate() {
                let starts = *low..high.saturating_sub(len).saturating_add(1).max(*low);
                let starts = starts.filter(|start| start.saturating_add(len) <= *high);
                for start in starts {
                    windows.push((bytes(start, len)?, start, at));
                }
            }
            windows.retain(|(bytes, ..)| *bytes <= self.options.input_bytes);
            windows.sort_unstable();
            for (_, start, at) in windows {
                let chosen: Vec<usize> = (start..start.saturating_add(len)).collect();
                match self.check(&chosen)? {
                    Ok(key) => return Ok(Some(((chosen, key), at))),
                    Err(problem) => *why = why.take().or(Some(problem)),
                }
            }
        }
        Ok(None)
    }
}

/// The inputs and settings of a running step.
pub(super) struct Job<'a> {
    pub(super) array: &'a Snapshot,
    /// Writes with the schema of the new fragments.
    pub(super) writer: &'a ArrayWriter,
    /// Oldest first.
    pub(super) inputs: Vec<&'a Fragment>,
    pub(super) name: TimestampedName,
    pub(super) settings: Settings,
}

impl Job<'_> {
    /// The name of the `index`-th new fragment: with the same times, in the order in which they are
    /// made.
    pub(super) fn part(&self, index: usize) -> Result<TimestampedName> {
        if index == 0 {
            return Ok(self.name.clone());
        }
        let uuid = self.name.unique_behind(to_u64(index)).map_or_else(fresh_uuid, Ok)?;
        Ok(TimestampedName { uuid, ..self.name.clone() })
    }
}

pub(super) fn run(writer: &ArrayWriter, work: &FragmentWork, tell: &mut Tell<'_>) -> Result<()> {
    let array = open(writer)?;
    let schema: Arc<ArraySchema> = Schemas::new(array.context()).at(&work.schema_key)?;
    let target = writer.with_schema((*schema).clone(), work.schema_key.clone());
    let mut inputs = Vec::with_capacity(work.inputs.len());
    for folder in &work.inputs {
        let found = array.fragments().iter().find(|fragment| fragment.folder() == folder);
        let gone = || {
            Error::refused(
                WHAT,
                format!("{folder} is no longer visible: the array changed since the plan was made"),
            )
        };
        inputs.push(found.map(Arc::as_ref).ok_or_else(gone)?);
    }
    let Some(name) = choose::name(&array, &inputs, &schema, &fresh_uuid)? else {
        return Err(Error::refused(
            WHAT,
            "no name for the new fragment sorts correctly among other fragments of the same time",
        ));
    };
    let job = Job { array: &array, writer: &target, inputs, name, settings: work.settings };
    let mut written = Written { writer: &target, folders: Vec::new(), keep: false };
    match schema.array_type {
        ArrayType::Sparse => sparse::run(&job, &mut written.folders, tell)?,
        ArrayType::Dense => dense::run(&job, &mut written.folders, tell)?,
    }
    if work.settings.verify {
        for folder in &written.folders {
            verify(&target, folder, &work.schema_key)?;
        }
    }
    tell(1, 1)?;
    let transaction = Transaction::begin(&**writer.storage(), writer.options())?;
    still_fits(writer, &array, work, &written.folders)?;
    // From here on the new fragments may be committed even if a step fails.
    written.keep = true;
    let done = commit(&target, &transaction, &written.folders, &work.inputs);
    if let Err(error) = &done {
        let marker = written.folders.first().map(|folder| marker_of(folder)).unwrap_or_default();
        let absent = transaction.never_put(&marker, error);
        let mut counted = written.folders.iter().map(|folder| is_committed(writer, folder).unwrap_or(true));
        written.keep = !absent || counted.any(|counts| counts);
    }
    done
}

/// Returns an error if another consolidation has replaced the inputs since the plan was made,
/// because their cells would exist twice; or if a fragment that was committed since then does not
/// let them be replaced: a write has the time at which it began, which may lie among theirs.
/// `before` is the array as it was when the step began, `made` are the folders of the new
/// fragments.
fn still_fits(writer: &ArrayWriter, before: &Snapshot, work: &FragmentWork, made: &[String]) -> Result<()> {
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
    // How much more the result has than its inputs was known before.
    if let Some(why) = choose::blocked(now, ends, &among, f64::INFINITY, work.settings.purge) {
        return Err(Error::refused(WHAT, format!("{why}; it was written in the meantime")));
    }
    for folder in made {
        let (first, _) = times_of(folder).or_internal("a new fragment without times in its name")?;
        if !choose::is_in_place(now, &inputs, first, folder) {
            let why = format!("a fragment of time {first} that was written in the meantime would be hidden");
            return Err(Error::refused(WHAT, why));
        }
    }
    Ok(())
}

/// The first and the last of some numbers.
fn ends_of(chosen: &[usize]) -> Result<(usize, usize)> {
    let ends = chosen.first().copied().zip(chosen.last().copied());
    ends.or_internal("a choice without a fragment")
}

/// Whether a fragment is committed now.
pub(super) fn is_committed(writer: &ArrayWriter, folder: &str) -> Result<bool> {
    let directory = Directory::load(&*writer.context().storage)?;
    Ok(directory.fragments.iter().any(|entry| *entry.folder == *folder))
}

/// New fragments, which are removed again unless they are kept.
struct Written<'a> {
    writer: &'a ArrayWriter,
    folders: Vec<String>,
    keep: bool,
}

impl Drop for Written<'_> {
    fn drop(&mut self) {
        if !self.keep {
            for folder in &self.folders {
                // What cannot be removed is not committed, and a vacuum of orphans finds it.
                let _ = self.writer.storage().remove_folder(folder);
            }
        }
    }
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
fn commit(
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
        Claim::new(writer, transaction, &replaced)?.swap(markers)?;
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
