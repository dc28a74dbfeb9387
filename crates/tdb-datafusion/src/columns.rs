//! The columns of a table: their types, and which conditions of tdb compare them as SQL does.

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use tdb_array::Array;
use tdb_array::schema::{ArrayType, CellValNum, Datatype, FieldKind};
use tdb_arrow::{Mapping, Options};

/// How the values of a column compare in SQL and in conditions of tdb.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparable {
    /// Integers, dates and times: the same everywhere.
    Integer,
    /// Booleans: equal or not.
    Boolean,
    /// Floating-point numbers. SQL orders NaN after all others (before them if its sign is set); no
    /// range of a condition contains NaN.
    Real,
    /// Text and bytes of variable length, compared as unsigned bytes.
    Bytes,
    /// Values of an enumeration, which tdb compares by their codes: equal or not.
    Enumerated,
    /// Values that cannot be compared.
    Not,
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
struct Column {
    name: String,
    kind: FieldKind,
    nullable: bool,
    comparable: Comparable,
}

/// The columns of an array in one of its states.
#[derive(Clone, Debug)]
pub(crate) struct TableColumns {
    pub(crate) mapping: Mapping,
    pub(crate) schema: SchemaRef,
    pub(crate) dense: bool,
    /// Whether conditions leave out exactly the rows that do not satisfy them. In a dense array
    /// they also leave out rows that were never written, whose fill values may satisfy them: so
    /// only if there are none of these.
    pub(crate) selects: bool,
    columns: Vec<Column>,
}

impl TableColumns {
    /// The columns of an open array. Reads its enumerations.
    pub(crate) fn of(array: &Array, options: Options) -> tdb_arrow::Result<Self> {
        let mapping = Mapping::of(array, options)?;
        let arrow = mapping.whole_arrow_schema()?;
        // The metadata of fields is for programs that create arrays from schemas; in plans it would
        // only have to be identical everywhere.
        let fields = arrow
            .fields()
            .iter()
            .map(|field| Field::new(field.name(), field.data_type().clone(), field.is_nullable()));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let columns = array.schema().fields().zip(schema.fields()).map(|(field, arrow)| Column {
            name: field.name.to_owned(),
            kind: field.kind,
            nullable: arrow.is_nullable(),
            comparable: comparable(array, field.name, field.kind, arrow.data_type()),
        });
        let columns = columns.collect();
        let dense = array.schema().array_type == ArrayType::Dense;
        Ok(Self { mapping, schema, dense, selects: !dense || is_written(array), columns })
    }

    /// Whether tables of two states of an array have the same columns and can push down the same
    /// filters.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.schema == other.schema && self.columns == other.columns && self.dense == other.dense
    }

    /// The index of a column.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// A column's name.
    pub(crate) fn name(&self, column: usize) -> &str {
        self.columns.get(column).map_or("", |column| &column.name)
    }

    /// A column's type; null if the column does not exist.
    pub(crate) fn data_type(&self, column: usize) -> &DataType {
        self.schema.fields().get(column).map_or(&DataType::Null, |field| field.data_type())
    }

    /// The type of the values of a dictionary column.
    pub(crate) fn dictionary_values(&self, column: usize) -> Option<&DataType> {
        match self.data_type(column) {
            DataType::Dictionary(_, values) => Some(values),
            _ => None,
        }
    }

    /// How a column compares.
    pub(crate) fn comparable(&self, column: usize) -> Comparable {
        self.columns.get(column).map_or(Comparable::Not, |column| column.comparable)
    }

    /// Whether two values of a column are equal in SQL where their bytes are, and nowhere else.
    /// False for floating-point numbers, which SQL compares otherwise, for booleans and for
    /// enumerations.
    pub(crate) fn is_equal_by_bytes(&self, name: &str) -> bool {
        let comparable = self.position(name).map(|position| self.comparable(position));
        matches!(comparable, Some(Comparable::Integer | Comparable::Bytes))
    }

    /// Whether a column may have nulls.
    pub(crate) fn may_be_null(&self, column: usize) -> bool {
        let nullable = self.columns.get(column).is_none_or(|column| column.nullable);
        nullable || self.dictionary_values(column).is_some()
    }

    /// The index of the dimension of a column.
    pub(crate) fn dimension(&self, column: usize) -> Option<usize> {
        match self.columns.get(column)?.kind {
            FieldKind::Dimension(index) => Some(index),
            FieldKind::Attribute(_) => None,
        }
    }
}

/// Whether one fragment of a dense array has all of its rows.
fn is_written(array: &Array) -> bool {
    let Some(bounds) = array.bounds() else { return true };
    let mut fragments = array.fragments().iter();
    fragments.any(|fragment| fragment.is_dense() && fragment.non_empty_domain() == Some(bounds.as_slice()))
}

/// How a field compares. If any fragment lacks the field, or has it with another type, its values
/// cannot be compared: its cells there contain fill values, which conditions do not see.
fn comparable(array: &Array, name: &str, kind: FieldKind, arrow: &DataType) -> Comparable {
    let schema = array.schema();
    let Some(field) = schema.field(name) else { return Comparable::Not };
    let everywhere = array.fragments().iter().all(|fragment| {
        let stored = fragment.schema().field(name);
        stored.is_some_and(|stored| {
            stored.datatype == field.datatype
                && stored.cell_val_num == field.cell_val_num
                && stored.nullable == field.nullable
        })
    });
    if !everywhere {
        return Comparable::Not;
    }
    let of_values = |datatype: Datatype, cells: CellValNum| match (datatype, cells) {
        (Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8, CellValNum::Var) => Comparable::Bytes,
        (Datatype::Bool, CellValNum::ONE) => Comparable::Boolean,
        (Datatype::Float32 | Datatype::Float64, CellValNum::ONE) => Comparable::Real,
        (_, CellValNum::ONE) if is_number(arrow) => Comparable::Integer,
        _ => Comparable::Not,
    };
    if let DataType::Dictionary(_, values) = arrow {
        let text = matches!(**values, DataType::Utf8 | DataType::LargeUtf8);
        return if text || is_number(values) { Comparable::Enumerated } else { Comparable::Not };
    }
    let enumerated = schema.attribute(name).is_some_and(|attribute| attribute.enumeration.is_some());
    match (enumerated, kind) {
        // The column is read as numbers, but conditions would use the values.
        (true, FieldKind::Attribute(_)) => Comparable::Not,
        _ => of_values(field.datatype, field.cell_val_num),
    }
}

/// Whether the type is an integer type.
fn is_number(arrow: &DataType) -> bool {
    let time = matches!(
        arrow,
        // With a zone, too, the numbers are those of UTC.
        DataType::Timestamp(..)
            | DataType::Duration(_)
            | DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
    );
    arrow.is_integer() || time
}
