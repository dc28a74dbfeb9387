//! Carrying out the plan of a vacuum, or of a removal of fragments.

use std::collections::HashSet;
use std::io;

use tdb_codec::FormatVersion;
use tdb_fragment::{CommitKind, write_path_lines};

use crate::commits::times_of;
use crate::exclusive_list::ExclusiveCommitList;
use crate::fragment_commit;
use crate::options::MaintainedObject;
use crate::paths::COMMITS;
use crate::plan::{Removal, RemovedPath, ReportProgress, Work};
use crate::storage::join;
use crate::write::Transaction;
use crate::{Error, Result};

pub(super) fn run(
    object: MaintainedObject<'_>,
    removal: &Removal,
    tell: &mut ReportProgress<'_>,
) -> Result<()> {
    let storage = &**object.storage();
    for (folder, schema_key) in &removal.verify {
        let writer = object.array("vacuum")?;
        if let Err(error) = fragment_commit::verify(writer, folder, schema_key) {
            // The array is not locked while the fragment is read, so it may have been replaced and
            // removed.
            return Err(if fragment_commit::is_committed(writer, folder)? {
                error
            } else {
                let why = format!("{folder} was replaced and removed by another maintenance in the meantime");
                Error::refused("vacuum", why)
            });
        }
    }
    let transaction = Transaction::begin(storage, object.options())?;
    // Parts of the plan may be done already, or no longer be valid: commits may be in a list by
    // now.
    let planned: HashSet<&RemovedPath> = removal.stages.iter().flatten().collect();
    let again = removal.planner.plan_again(object)?;
    let again = again.steps().iter().find_map(|step| match &step.work {
        Work::Remove(again) if again.key == removal.key => Some(again),
        _ => None,
    });
    // Another vacuum has done it.
    let Some(again) = again else { return Ok(()) };
    let removal = Removal {
        stages: again
            .stages
            .iter()
            .map(|stage| stage.iter().filter(|gone| planned.contains(gone)).cloned().collect())
            .collect(),
        ..again.clone()
    };
    if !removal.claimed.is_empty() {
        ExclusiveCommitList::new(object.array("vacuum")?, &transaction, &removal.claimed)?.swap(Vec::new())?;
    }
    if !removal.ignore.is_empty() {
        let times = removal.ignore.iter().filter_map(|path| times_of(path));
        let (first, last) = times.fold((u64::MAX, 0), |(low, high), (a, b)| (low.min(a), high.max(b)));
        // The folder and the version are the current ones, whatever the array's version.
        let name = transaction.name((first.min(last), last), Some(FormatVersion::CURRENT))?;
        let bytes =
            write_path_lines(&removal.ignore).map_err(|error| Error::refused("vacuum", error.to_string()))?;
        transaction.ensure_folder(COMMITS)?;
        transaction.put(&join(COMMITS, &format!("{name}{}", CommitKind::Ignore.suffix())), &bytes)?;
    }
    // The published state must not list what is about to be removed.
    let gone: Vec<&str> = removal.stages.iter().flatten().map(RemovedPath::key).collect();
    object.renew_manifest(&gone)?;
    remove_stages(&removal.stages, &transaction, tell)
}

/// Removes files and folders, stage by stage: each is durably gone before the next begins.
fn remove_stages(
    stages: &[Vec<RemovedPath>],
    transaction: &Transaction<'_>,
    tell: &mut ReportProgress<'_>,
) -> Result<()> {
    let storage = transaction.storage();
    let total = stages.iter().map(|stage| tdb_codec::to_u64(stage.len())).sum::<u64>().max(1);
    let mut done = 0u64;
    for stage in stages {
        let mut touched: Vec<&str> = Vec::new();
        for gone in stage {
            let (key, result) = match gone {
                RemovedPath::File(key) => (key, storage.remove_file(key)),
                RemovedPath::Folder(key) => (key, storage.remove_folder(key)),
            };
            match result {
                Ok(()) => {}
                // An earlier, interrupted run removed it.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(storage.describe(key), error)),
            }
            let parent = key.rsplit_once('/').map_or("", |(parent, _)| parent);
            if !touched.contains(&parent) {
                touched.push(parent);
            }
            done = done.saturating_add(1);
            if done < total {
                tell(done, total)?;
            }
        }
        for folder in touched {
            transaction.sync_folder(folder)?;
        }
    }
    Ok(())
}
