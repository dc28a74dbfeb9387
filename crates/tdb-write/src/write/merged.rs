//! What fragments that replace others say of each cell beside its fields: when it was written, and when and by what it was
//! deleted.
//!
//! Their files stand behind those of the dimensions wherever fields are counted (`tdb_fragment::Slots`), so inside the
//! writer they are the dimensions behind the schema's last one.

use tdb_codec::{CellValNum, Datatype};
use tdb_filters::Key;
use tdb_fragment::{DataFile, TimestampedName};
use tdb_schema::{ArraySchema, Field, FieldKind};

use super::tile::FieldEncoder;
use crate::Result;
use crate::facts::Rule;

/// What a new fragment is called, and which of these files it has.
#[derive(Debug)]
pub struct Merged {
    /// Its name.
    pub name: TimestampedName,
    /// Its files of times and deletes.
    pub marks: Marks,
}

/// What a fragment's metadata says of these files.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Whether cells say when they were written.
    pub times: bool,
    /// Whether cells say when and by what they were deleted; only beside `times`.
    pub deletes: bool,
    /// Array-relative paths of the deletes that need not be applied any more.
    pub processed: Vec<String>,
}

impl Merged {
    /// A fragment with none of them.
    pub const fn new(name: TimestampedName) -> Self {
        Self { name, marks: Marks { times: false, deletes: false, processed: Vec::new() } }
    }

    /// The fields of these files, in their order.
    pub fn kinds(&self, schema: &ArraySchema) -> Vec<FieldKind> {
        let count = if self.marks.deletes { FILES.len() } else { usize::from(self.marks.times) };
        let dimensions = schema.domain.dimensions.len();
        (0..count).map(|index| FieldKind::Dimension(dimensions.saturating_add(index))).collect()
    }
}

/// The files and the names of their fields.
const FILES: [(DataFile, &str); 3] = [
    (DataFile::Timestamps, "__timestamps"),
    (DataFile::DeleteTimestamps, "__delete_timestamps"),
    (DataFile::DeleteConditionIndex, "__delete_condition_index"),
];

fn row(schema: &ArraySchema, kind: FieldKind) -> Option<&'static (DataFile, &'static str)> {
    let FieldKind::Dimension(index) = kind else { return None };
    FILES.get(index.checked_sub(schema.domain.dimensions.len())?)
}

/// The file of a field behind the dimensions; `None` for fields of the schema.
pub(super) fn data_file(schema: &ArraySchema, kind: FieldKind) -> Option<DataFile> {
    row(schema, kind).map(|(file, _)| *file)
}

/// How the tiles of a field behind the dimensions are filtered: as coordinates, with the statistics of an attribute.
pub(super) fn encoder(schema: &ArraySchema, kind: FieldKind, key: Option<&Key>) -> Result<FieldEncoder> {
    let field = Field {
        kind,
        name: row(schema, kind).map_or("", |(_, name)| name),
        datatype: Datatype::Uint64,
        cell_val_num: CellValNum::ONE,
        nullable: false,
        filters: &schema.coords_filters,
    };
    let mut encoder = FieldEncoder::new(schema, &field, key)?;
    encoder.rule = Rule::attribute(Datatype::Uint64, CellValNum::ONE, false);
    Ok(encoder)
}
