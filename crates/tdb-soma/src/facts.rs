//! What is known of an array without its cells: shapes, columns, how many cells there are.

use tdb_array::Array;
use tdb_array::query::{Aggregate, AggregateValue};
use tdb_array::schema::{CellValNum, Datatype, Dimension, FieldKind};
use tdb_array::stored::StoredCells;

use crate::{Kind, Object, Result};

/// The name of the ids of a table.
pub const JOINID: &str = "soma_joinid";
/// The name of the values of a matrix.
pub const DATA: &str = "soma_data";

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableColumn {
    /// Its name.
    pub name: String,
    /// The type of its values; of an enumerated column, of the values of the enumeration.
    pub datatype: Datatype,
    /// How many values a cell has.
    pub cell_val_num: CellValNum,
    /// Whether cells may be null.
    pub nullable: bool,
    /// Whether it is a dimension, by which rows are found.
    pub is_index: bool,
    /// The name of its enumeration.
    pub enumeration: Option<String>,
    /// The values of the enumeration, and whether their order has a meaning.
    pub values: Option<(Vec<Vec<u8>>, bool)>,
}

/// The number of positions on each axis: of a matrix, its shape; of a table whose index is ids, the
/// number of ids that there can be. `None` where an axis is not of whole numbers from 0 on.
///
/// It is that of the current domain. Arrays of tiledbsoma before 1.15 have none, and are as large
/// as they can become.
#[must_use]
pub fn shape(array: &Array) -> Vec<Option<u64>> {
    let schema = array.schema();
    let size = |(at, dimension): (usize, &Dimension)| {
        let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(at));
        let (low, high) = match current {
            Some(range) => (&range.low, &range.high),
            None => dimension.domain.as_ref().map(|(low, high)| (low, high))?,
        };
        let (low, high) = (whole(dimension.datatype, low)?, whole(dimension.datatype, high)?);
        if low != 0 {
            return None;
        }
        u64::try_from(high).ok()?.checked_add(1)
    };
    schema.domain.dimensions.iter().enumerate().map(size).collect()
}

/// The number of positions that each axis can have when it is resized.
#[must_use]
pub fn largest_shape(array: &Array) -> Vec<Option<u64>> {
    let size = |dimension: &Dimension| {
        let (_, high) = dimension.domain.as_ref()?;
        u64::try_from(whole(dimension.datatype, high)?).ok()?.checked_add(1)
    };
    array.schema().domain.dimensions.iter().map(size).collect()
}

/// The lowest and the highest coordinate of the cells of a dimension of whole numbers, as the
/// fragments say it.
#[must_use]
pub fn written(array: &Array, dimension: usize) -> Option<(i128, i128)> {
    let datatype = array.schema().domain.dimensions.get(dimension)?.datatype;
    let bounds = array.non_empty_domain()?;
    let range = bounds.get(dimension)?;
    Some((whole(datatype, &range.low)?, whole(datatype, &range.high)?))
}

/// The bytes of the files of the fragments.
#[must_use]
pub fn bytes(array: &Array) -> u64 {
    array.fragments().iter().fold(0, |sum, fragment| sum.saturating_add(fragment.size()))
}

/// The number of rows of a table, exactly: where the fragments do not say it, the rows are counted.
///
/// # Errors
/// Any error of reading.
pub fn rows(array: &Array) -> Result<u64> {
    match array.stored_cells() {
        Some(StoredCells { cells, is_exact: true }) => Ok(cells),
        _ => count(array),
    }
}

/// Counts the cells of an array.
pub(crate) fn count(array: &Array) -> Result<u64> {
    let counted = array.read().aggregate([Aggregate::count()])?;
    let count = counted.first().and_then(AggregateValue::as_u64);
    Ok(count.ok_or_else(|| tdb_array::Error::internal("a count is no number"))?)
}

/// The columns of a table, the index first.
///
/// # Errors
/// A damaged enumeration.
pub fn columns(array: &Array) -> Result<Vec<TableColumn>> {
    let schema = array.schema();
    let mut found = Vec::new();
    for field in schema.fields() {
        let enumeration = match field.kind {
            FieldKind::Attribute(at) => schema.attributes.get(at).and_then(|own| own.enumeration.clone()),
            _ => None,
        };
        let mut column = TableColumn {
            name: field.name.to_owned(),
            datatype: field.datatype,
            cell_val_num: field.cell_val_num,
            nullable: field.nullable,
            is_index: matches!(field.kind, FieldKind::Dimension(_)),
            enumeration,
            values: None,
        };
        if let Some(name) = &column.enumeration
            && let Some(own) = array.enumeration(name)?
        {
            (column.datatype, column.cell_val_num) = (own.datatype, own.cell_val_num);
            let values = (0..own.len()).filter_map(|at| own.value(at).map(<[u8]>::to_vec)).collect();
            column.values = Some((values, own.ordered));
        }
        found.push(column);
    }
    found.sort_by_key(|column| !column.is_index);
    Ok(found)
}

impl Object {
    /// The observations of an experiment, or the variables of a measurement: a table of this name.
    #[must_use]
    pub fn table(&self, name: &str) -> Option<&Self> {
        self.member(name).filter(|member| member.kind == Some(Kind::DataFrame))
    }

    /// The measurements of an experiment.
    pub fn measurements(&self) -> impl Iterator<Item = &Self> {
        let ms = self.member("ms").map_or(&[][..], Self::members);
        ms.iter().filter(|member| member.kind == Some(Kind::Measurement))
    }
}

/// A whole number of any type, from its bytes; `None` for other types, and another number of bytes.
#[must_use]
pub fn whole(datatype: Datatype, bytes: &[u8]) -> Option<i128> {
    fn of<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
        bytes.try_into().ok()
    }
    Some(match datatype {
        Datatype::Int8 => i8::from_le_bytes(of(bytes)?).into(),
        Datatype::Int16 => i16::from_le_bytes(of(bytes)?).into(),
        Datatype::Int32 => i32::from_le_bytes(of(bytes)?).into(),
        Datatype::Int64 => i64::from_le_bytes(of(bytes)?).into(),
        Datatype::Uint8 => u8::from_le_bytes(of(bytes)?).into(),
        Datatype::Uint16 => u16::from_le_bytes(of(bytes)?).into(),
        Datatype::Uint32 => u32::from_le_bytes(of(bytes)?).into(),
        Datatype::Uint64 => u64::from_le_bytes(of(bytes)?).into(),
        _ => return None,
    })
}
