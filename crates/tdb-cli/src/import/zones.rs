//! The zones of fields with times, which are stored as times of UTC: metadata of the array.

use tdb_array::write::MetadataChanges;

use super::survey::Zone;

/// The metadata that says the zones of fields, by the names that readers of xarray's convention
/// know.
pub(super) fn metadata(zones: &[Zone]) -> MetadataChanges {
    let put = |changes: MetadataChanges, zone: &Zone| {
        let prefix = if zone.is_dimension { "__tiledb_dim." } else { "__tiledb_attr." };
        changes.put_text(format!("{prefix}{}.timezone", zone.field), &zone.zone)
    };
    zones.iter().fold(MetadataChanges::new(), put)
}
