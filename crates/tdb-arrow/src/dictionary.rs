//! Enumerations as dictionaries, and dictionaries as enumerations.

use std::collections::{HashMap, HashSet};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{Buffer, NullBuffer};
use tdb_array::Column;
use tdb_array::schema::Enumeration;

use crate::cells::{FieldCells, Target, validity};
use crate::columns::Parts;
use crate::error::{Error, Result};
use crate::keys::inside;
use crate::options::Options;
use crate::types;

/// The values of an enumeration as an array.
pub(crate) fn values(enumeration: &Enumeration, options: &Options) -> Result<ArrayRef> {
    let mut offsets = enumeration.offsets.clone();
    if let Some(offsets) = &mut offsets {
        offsets.push(u64::try_from(enumeration.data.len()).unwrap_or(u64::MAX));
    }
    let column = Column {
        name: enumeration.name.clone(),
        datatype: enumeration.datatype,
        cell_val_num: enumeration.cell_val_num,
        data: enumeration.data.as_slice().into(),
        offsets,
        validity: None,
        codes: None,
    };
    let data_type = types::data_type(enumeration.datatype, enumeration.cell_val_num, options);
    Parts::new(column, enumeration.len()).into_array(&data_type)
}

/// The cells of an enumerated attribute, from a dictionary or from plain values.
pub(crate) fn enumerated(
    array: &dyn Array,
    target: &Target<'_>,
    enumeration: &Enumeration,
) -> Result<FieldCells> {
    let of_value = Target {
        datatype: enumeration.datatype,
        cell_val_num: enumeration.cell_val_num,
        nullable: true,
        ..*target
    };
    let Some(dictionary) = array.as_any_dictionary_opt() else {
        let cells = FieldCells::new(array, &of_value)?;
        let numbers = Numbers::new(&cells, enumeration, target)?;
        return numbers.cells(array.logical_nulls().as_ref(), (0..array.len()).map(Some));
    };
    let cells = FieldCells::new(dictionary.values().as_ref(), &of_value)?;
    let numbers = Numbers::new(&cells, enumeration, target)?;
    let nulls = array.logical_nulls();
    let keys = dictionary.keys();
    if numbers.same && types::passage(keys.data_type(), target.datatype).is_some() {
        return as_they_are(keys, nulls.as_ref(), cells.len(), target);
    }
    if cells.len() == 0 {
        return numbers.cells(nulls.as_ref(), (0..array.len()).map(|_| None));
    }
    numbers.cells(nulls.as_ref(), dictionary.normalized_keys().into_iter().map(Some))
}

/// The values of a column that an enumeration does not have, each once, in the order of the cells.
pub(crate) fn missing(
    array: &dyn Array,
    target: &Target<'_>,
    enumeration: &Enumeration,
) -> Result<Vec<Vec<u8>>> {
    let of_value = Target {
        datatype: enumeration.datatype,
        cell_val_num: enumeration.cell_val_num,
        nullable: true,
        ..*target
    };
    let (cells, keys) = match array.as_any_dictionary_opt() {
        Some(dictionary) => {
            let cells = FieldCells::new(dictionary.values().as_ref(), &of_value)?;
            let keys = if cells.len() == 0 { Vec::new() } else { dictionary.normalized_keys() };
            (cells, keys)
        }
        None => (FieldCells::new(array, &of_value)?, (0..array.len()).collect()),
    };
    let nulls = array.logical_nulls();
    let mut known: HashSet<&[u8]> = (0..enumeration.len()).filter_map(|at| enumeration.value(at)).collect();
    let is_null = |row: usize| nulls.as_ref().is_some_and(|nulls| nulls.is_null(row));
    let used = keys.into_iter().enumerate().filter(|(row, _)| !is_null(*row));
    let values = used.filter_map(|(_, key)| cells.cell(key));
    Ok(values.filter(|value| known.insert(value)).map(<[u8]>::to_vec).collect())
}

/// The keys of a dictionary whose values are those of the enumeration, in its order.
///
/// If the attribute is not nullable, a number outside the enumeration was read as null, with the
/// number as the key below it: it is written as that number. Any other null is rejected.
fn as_they_are(
    keys: &dyn Array,
    nulls: Option<&NullBuffer>,
    count: usize,
    target: &Target<'_>,
) -> Result<FieldCells> {
    // The keys' own nulls are handled here.
    let cells = FieldCells::new(keys, &Target { nullable: true, ..*target })?;
    if target.nullable {
        return Ok(FieldCells { validity: Some(validity(nulls, keys.len())), ..cells });
    }
    if let Some(nulls) = nulls.filter(|nulls| nulls.null_count() > 0) {
        let inside = inside(keys.data_type(), &cells.values, count);
        let wrong = |row: &usize| {
            nulls.is_null(*row)
                && inside.as_ref().is_none_or(|inside| *row >= inside.len() || inside.value(*row))
        };
        if let Some(row) = (0..keys.len()).find(wrong) {
            return Err(target.null(row));
        }
    }
    Ok(FieldCells { validity: None, ..cells })
}

/// The index of some values in the enumeration.
struct Numbers<'a> {
    numbers: Vec<Option<u64>>,
    /// Whether the values are exactly those of the enumeration, in its order.
    same: bool,
    enumeration: &'a Enumeration,
    target: &'a Target<'a>,
}

impl<'a> Numbers<'a> {
    fn new(values: &FieldCells, enumeration: &'a Enumeration, target: &'a Target<'a>) -> Result<Self> {
        let valid = |index| values.validity.as_ref().is_none_or(|valid| valid.get(index) != Some(&0));
        let value = |index| values.cell(index).filter(|_| valid(index));
        let count = values.len();
        // The dictionaries of batches that came from the array are its enumeration: nothing must be
        // looked up.
        let same = count == enumeration.len()
            && (0..count).all(|index| valid(index) && values.cell(index) == enumeration.value(index));
        let numbers = if same {
            (0u64..).take(count).map(Some).collect()
        } else {
            let entries = (0..enumeration.len()).filter_map(|index| enumeration.value(index));
            // The first one of equal values is used.
            let known: HashMap<&[u8], u64> =
                entries.zip(0u64..).collect::<Vec<_>>().into_iter().rev().collect();
            (0..count).map(|index| known.get(value(index)?).copied()).collect()
        };
        Ok(Self { numbers, same, enumeration, target })
    }

    /// The cells with these values, given by index.
    fn cells(
        &self,
        nulls: Option<&NullBuffer>,
        indexes: impl ExactSizeIterator<Item = Option<usize>>,
    ) -> Result<FieldCells> {
        let Target { datatype, nullable, name, .. } = *self.target;
        let size = datatype.size();
        let rows = indexes.len();
        let bits = u32::try_from(size.saturating_mul(8)).unwrap_or(64);
        let max =
            u64::MAX >> 64u32.saturating_sub(bits) >> u32::from(datatype.physical().is_signed_integer());
        let mut values = Vec::with_capacity(rows.saturating_mul(size));
        for (row, index) in indexes.enumerate() {
            let number = if nulls.is_some_and(|nulls| nulls.is_null(row)) {
                if !nullable {
                    return Err(self.target.null(row));
                }
                0
            } else {
                let number = index.and_then(|index| self.numbers.get(index).copied().flatten());
                number.filter(|number| *number <= max).ok_or_else(|| Error::NotInEnumeration {
                    column: name.to_owned(),
                    row,
                    enumeration: self.enumeration.name.clone(),
                })?
            };
            values.extend(number.to_le_bytes().into_iter().take(size));
        }
        let validity = nullable.then(|| validity(nulls, rows));
        Ok(FieldCells {
            values: Buffer::from_vec(values),
            offsets: None,
            validity,
            cells: rows,
            size: Some(size),
        })
    }
}
