//! Counts the chunks of tiles, as writers cut them.

use tdb_schema::{ArraySchema, FieldKind};

use crate::fragment::Fragment;

/// The size of chunks in a field's files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Chunks {
    pub(super) fixed: Option<u32>,
    pub(super) values: Option<u32>,
    pub(super) validity: Option<u32>,
}

impl Chunks {
    /// The chunk sizes of a field of the schema that a fragment was written with.
    pub(super) fn of(fragment: &Fragment, kind: FieldKind) -> Self {
        let schema: &ArraySchema = fragment.schema();
        let field = schema.field_of(kind);
        let is_var = field.is_some_and(|field| field.is_var());
        let own = field.map(|field| {
            let strings = is_var && field.datatype.is_string();
            schema.filters_in(&field, fragment.version()).usual_chunk(strings)
        });
        let own = own.flatten();
        let fixed = if is_var { schema.offsets_filters.usual_chunk(false) } else { own };
        Self { fixed, values: own, validity: schema.validity_filters.usual_chunk(false) }
    }

    /// The chunk sizes of system fields such as the cells' timestamps.
    pub(super) fn of_system(fragment: &Fragment) -> Self {
        let size = fragment.schema().coords_filters.usual_chunk(false);
        Self { fixed: size, values: size, validity: size }
    }

    /// The number of chunks of these bytes for this many values, if no value is split; without
    /// bytes, all values are one chunk.
    pub(super) fn count(values: u64, size: u64, chunk: Option<u32>) -> u64 {
        let Some(chunk) = chunk else { return u64::from(values > 0) };
        let each = u64::from(chunk).checked_div(size).unwrap_or(0).max(1);
        values.div_ceil(each)
    }
}
