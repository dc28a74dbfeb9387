//! System fields of fragments that replace others: the time at which each cell was written, and the
//! time and the condition by which it was deleted.
//!
//! Their files come after those of the dimensions wherever fields are numbered
//! (`tdb_fragment::Slots`), so inside the writer they are dimensions after the schema's last one.

use tdb_codec::{CellValNum, Datatype};
use tdb_filters::Key;
use tdb_fragment::{DataFile, TimestampedName};
use tdb_schema::{ArraySchema, Field, FieldKind};

use crate::facts::Rule;
use crate::tile::FieldEncoder;
use crate::{OrInternal, Result};

/// The name of a new fragment, and which of these files it has.
#[derive(Debug)]
pub struct Merged {
    /// Its name.
    pub name: TimestampedName,
    /// Its files of times and deletes.
    pub marks: Marks,
}

/// The system fields that a fragment has.
#[derive(Clone, Debug, Default)]
pub struct Marks {
    /// Whether it stores the time at which each cell was written.
    pub times: bool,
    /// Whether it stores the time and the condition by which each cell was deleted; only together
    /// with `times`.
    pub deletes: bool,
    /// Array-relative paths of the deletes that need not be applied any more.
    pub processed: Vec<String>,
}

impl Merged {
    /// A fragment without any of these files.
    pub const fn new(name: TimestampedName) -> Self {
        Self { name, marks: Marks { times: false, deletes: false, processed: Vec::new() } }
    }

    /// The fields of these files, in order.
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

/// The file of a field after the dimensions; `None` for fields of the schema.
pub(super) fn data_file(schema: &ArraySchema, kind: FieldKind) -> Option<DataFile> {
    row(schema, kind).map(|(file, _)| *file)
}

/// The encoder of a system field: the filters are those of coordinates, the statistics those of an
/// attribute.
pub(super) fn encoder(schema: &ArraySchema, kind: FieldKind, key: Option<&Key>) -> Result<FieldEncoder> {
    let (_, name) = row(schema, kind).or_internal("a file of a field that the schema does not have")?;
    let field = Field {
        kind,
        name,
        datatype: Datatype::Uint64,
        cell_val_num: CellValNum::ONE,
        nullable: false,
        filters: &schema.coords_filters,
    };
    let mut encoder = FieldEncoder::new(schema, &field, key)?;
    encoder.rule = Rule::attribute(Datatype::Uint64, CellValNum::ONE, false);
    Ok(encoder)
}
