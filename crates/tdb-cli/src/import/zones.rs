//! The zones of fields with times, which are stored as times of UTC: metadata of the array.

use tdb_array::schema::{TIMEZONE, field_key};
use tdb_array::write::MetadataChanges;

use super::survey::Zone;

/// The metadata that says the zones of fields, by the names that readers of xarray's convention
/// know.
pub(super) fn metadata(zones: &[Zone]) -> MetadataChanges {
    let put = |changes: MetadataChanges, zone: &Zone| {
        changes.put_text(field_key(&zone.field, zone.is_dimension, TIMEZONE), &zone.zone)
    };
    zones.iter().fold(MetadataChanges::new(), put)
}
