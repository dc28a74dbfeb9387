//! Consolidation of fragment metadata: all footers in one file.

use std::sync::Arc;

use tdb_codec::{Gate, Reader, to_u64};
use tdb_fragment::{CommitKind, TimestampedName, parse_consolidated_footers, write_consolidated_footers};

use crate::fragment::Fragment;
use crate::job::open;
use crate::paths::FRAGMENT_META;
use crate::plan::{MaintenancePlan, MaintenanceStep, PlannedFile, Work};
use crate::storage::join;
use crate::write::{Nonces, ensure_folder, fresh_uuid, generic_tile, put};
use crate::{ArrayWriter, Error, Result, Snapshot};

const WHAT: &str = "consolidation of fragment metadata";

/// The folder of these files in an array of this version.
pub(super) fn folder(writer: &ArrayWriter) -> &'static str {
    if writer.schema().version.has(Gate::FragmentFolders) { FRAGMENT_META } else { "" }
}

/// Keys of the existing files.
pub(super) fn existing(writer: &ArrayWriter) -> Result<Vec<String>> {
    let context = writer.context();
    let mut keys = Vec::new();
    for folder in ["", FRAGMENT_META] {
        let listed = match context.storage.list(folder) {
            Ok(listed) => listed,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => return Err(Error::io(context.describe(folder), error)),
        };
        let metadata =
            |name: &str| matches!(CommitKind::of(name), Some((CommitKind::ConsolidatedMetadata, _)));
        keys.extend(
            listed.iter().filter(|e| !e.is_folder && metadata(&e.name)).map(|e| join(folder, &e.name)),
        );
    }
    keys.sort();
    Ok(keys)
}

/// Fragments that have a footer.
fn with_footers(array: &Snapshot) -> Vec<&Fragment> {
    let fragments = array.fragments().iter().map(Arc::as_ref);
    fragments.filter(|fragment| fragment.version().has(Gate::FragmentFooter)).collect()
}

pub(super) fn plan(writer: &ArrayWriter) -> Result<MaintenancePlan> {
    let nothing = |why: &str| Ok(MaintenancePlan::new(Vec::new(), vec![why.to_owned()]));
    if !writer.schema().version.has(Gate::RelativeConsolidatedNames) {
        return nothing(
            "arrays of this version list fragments by absolute URIs there, which become invalid when the array is moved",
        );
    }
    let array = open(writer)?;
    let fragments = with_footers(&array);
    if fragments.len() < 2 {
        return nothing("there are fewer than two fragments with footers");
    }
    for key in existing(writer)? {
        let payload = writer.context().generic_file(&key)?;
        let footers = parse_consolidated_footers(Reader::new(&payload))
            .map_err(|error| Error::corrupt(writer.context().describe(&key), error))?;
        let held = |fragment: &&Fragment| footers.iter().any(|footer| footer.name == fragment.name());
        if fragments.iter().all(held) {
            return nothing(&format!("{key} already contains all footers"));
        }
    }
    // Sizes are shown to users: a footer that cannot be written is found when the plan runs.
    let file = |fragment: &&Fragment| PlannedFile {
        key: fragment.metadata_key().to_owned(),
        bytes: to_u64(fragment.footer().to_bytes(fragment.schema()).map_or(0, |bytes| bytes.len())),
    };
    let inputs: Vec<PlannedFile> = fragments.iter().map(file).collect();
    let bytes = inputs.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes).saturating_add(80));
    let output = Some(PlannedFile { key: join(folder(writer), "….meta"), bytes });
    let step = MaintenanceStep { what: "consolidate fragment metadata", inputs, output, work: Work::Footers };
    Ok(MaintenancePlan::new(vec![step], Vec::new()))
}

pub(super) fn run(writer: &ArrayWriter) -> Result<()> {
    let array = open(writer)?;
    let version = writer.schema().version;
    let fragments = with_footers(&array);
    let mut footers = Vec::with_capacity(fragments.len());
    for fragment in &fragments {
        let bytes = fragment.footer().to_bytes(fragment.schema());
        footers.push(bytes.map_err(|error| Error::corrupt(array.describe(fragment.metadata_key()), error))?);
    }
    let named: Vec<(&str, &[u8])> =
        fragments.iter().map(|fragment| fragment.name()).zip(footers.iter().map(Vec::as_slice)).collect();
    let payload = write_consolidated_footers(&named, version)
        .map_err(|error| Error::refused(WHAT, error.to_string()))?;
    let bytes = generic_tile(&payload, writer.context().key.as_ref(), &mut Nonces::new()?.scratch())?;
    let first = fragments.iter().map(|fragment| fragment.timestamps().0).min();
    let last = fragments.iter().map(|fragment| fragment.timestamps().1).max();
    let Some(times) = first.zip(last) else {
        let why = "there are no fragments with footers: the array changed since the plan was made";
        return Err(Error::refused(WHAT, why));
    };
    let name = TimestampedName::new(times, fresh_uuid()?, Some(version));
    let folder = folder(writer);
    let durability = writer.options().durability;
    if !folder.is_empty() {
        ensure_folder(&**writer.storage(), folder, durability)?;
    }
    let key = join(folder, &format!("{name}{}", CommitKind::ConsolidatedMetadata.suffix()));
    put(&**writer.storage(), &key, &bytes, durability)
}
