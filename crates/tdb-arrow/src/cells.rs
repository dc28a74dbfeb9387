//! An Arrow array as the cells of a field: values that need no conversion are not copied.

use core::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    BinaryType, BinaryViewType, ByteArrayType, ByteViewType, LargeBinaryType, LargeUtf8Type, StringViewType,
    Utf8Type,
};
use arrow_array::{
    Array, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, GenericByteArray, GenericByteViewArray,
    GenericListArray, OffsetSizeTrait,
};
use arrow_buffer::{Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use tdb_array::WriteColumn;
use tdb_array::schema::{CellValNum, Datatype, Field};

use crate::error::{Error, Result};
use crate::options::Options;
use crate::types::{self, Passage, describe};

/// The field that the cells belong to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) name: &'a str,
    pub(crate) datatype: Datatype,
    pub(crate) cell_val_num: CellValNum,
    pub(crate) nullable: bool,
}

impl<'a> Target<'a> {
    pub(crate) const fn of(field: &Field<'a>) -> Self {
        let Field { name, datatype, cell_val_num, nullable, .. } = *field;
        Self { name, datatype, cell_val_num, nullable }
    }
}

impl Target<'_> {
    pub(crate) fn null(&self, row: usize) -> Error {
        Error::Null { column: self.name.to_owned(), row }
    }

    /// The error of a column that has another type.
    pub(crate) fn wrong_type(&self, given: &DataType) -> Error {
        if let Err(advice) = types::infer(given) {
            return Error::Refused { column: self.name.to_owned(), arrow: given.to_string(), advice };
        }
        Error::WrongType {
            column: self.name.to_owned(),
            given: given.to_string(),
            field: describe(self.datatype, self.cell_val_num),
            expected: types::data_type(self.datatype, self.cell_val_num, &Options::new()).to_string(),
        }
    }
}

/// The cells of a field, in the layout of the array.
#[derive(Clone, Debug)]
pub(crate) struct FieldCells {
    pub(crate) values: Buffer,
    /// Offsets in bytes; one more than cells.
    pub(crate) offsets: Option<ScalarBuffer<u64>>,
    pub(crate) validity: Option<Vec<u8>>,
    pub(crate) cells: usize,
    /// Bytes of a cell, if cells have a fixed size.
    pub(crate) size: Option<usize>,
}

impl FieldCells {
    pub(crate) fn new(array: &dyn Array, target: &Target<'_>) -> Result<Self> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            let nulls = array.logical_nulls();
            let validity = target.validity(nulls.as_ref(), array.len())?;
            let values = Self::new(dictionary.values().as_ref(), &Target { nullable: true, ..*target })?;
            let keys = if values.cells == 0 { vec![0; array.len()] } else { dictionary.normalized_keys() };
            return Ok(Self { validity, ..values.gather(&keys, nulls.as_ref()) });
        }
        // A column of another type is rejected for its type, even if it has nulls.
        let (values, offsets) = layout(array, target)?;
        let validity = target.validity(array.logical_nulls().as_ref(), array.len())?;
        let size = match target.cell_val_num {
            CellValNum::Fixed(count) => {
                usize::try_from(count.get()).ok().and_then(|count| count.checked_mul(target.datatype.size()))
            }
            CellValNum::Var => None,
        };
        Ok(Self { values, offsets, validity, cells: array.len(), size })
    }

    pub(crate) const fn len(&self) -> usize {
        self.cells
    }

    /// The bytes of a cell.
    pub(crate) fn cell(&self, index: usize) -> Option<&[u8]> {
        let next = index.checked_add(1)?;
        let (start, end) = match (&self.offsets, self.size) {
            (Some(offsets), _) => {
                let end = |at: usize| usize::try_from(*offsets.get(at)?).ok();
                (end(index)?, end(next)?)
            }
            (None, Some(size)) => (index.checked_mul(size)?, next.checked_mul(size)?),
            (None, None) => return None,
        };
        self.values.as_slice().get(start..end)
    }

    /// Copies these cells, one after the other. Null ones are empty, or zero.
    fn gather(&self, cells: &[usize], nulls: Option<&NullBuffer>) -> Self {
        let zero = vec![0; self.size.unwrap_or(0)];
        let mut values = Vec::with_capacity(cells.len().saturating_mul(zero.len()));
        let mut offsets = vec![0u64];
        for (row, cell) in cells.iter().enumerate() {
            let is_null = nulls.is_some_and(|nulls| nulls.is_null(row));
            values.extend_from_slice(self.cell(*cell).filter(|_| !is_null).unwrap_or(&zero));
            offsets.push(u64::try_from(values.len()).unwrap_or(u64::MAX));
        }
        let offsets = self.offsets.is_some().then(|| ScalarBuffer::from(offsets));
        Self {
            values: Buffer::from_vec(values),
            offsets,
            validity: None,
            cells: cells.len(),
            size: self.size,
        }
    }

    /// The cells as a column of a write.
    pub(crate) fn column<'a>(&'a self, name: &'a str) -> WriteColumn<'a> {
        let column = match &self.offsets {
            Some(offsets) => WriteColumn::var(name, self.values.as_slice(), offsets),
            None => WriteColumn::bytes(name, self.values.as_slice()),
        };
        match &self.validity {
            Some(validity) => column.nullable(validity),
            None => column,
        }
    }
}

impl Target<'_> {
    /// A byte per cell for nullable fields; others must have no nulls.
    fn validity(&self, nulls: Option<&NullBuffer>, cells: usize) -> Result<Option<Vec<u8>>> {
        if self.nullable {
            return Ok(Some(validity(nulls, cells)));
        }
        match nulls.and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row))) {
            Some(row) => Err(self.null(row)),
            None => Ok(None),
        }
    }
}

/// A byte per cell: 0 is null.
pub(crate) fn validity(nulls: Option<&NullBuffer>, cells: usize) -> Vec<u8> {
    match nulls {
        Some(nulls) => nulls.iter().map(u8::from).collect(),
        None => vec![1; cells],
    }
}

type Layout = (Buffer, Option<ScalarBuffer<u64>>);

/// Values and offsets of an array that is not a dictionary.
fn layout(array: &dyn Array, target: &Target<'_>) -> Result<Layout> {
    use DataType as A;
    let wrong = || target.wrong_type(array.data_type());
    if !types::fits(array.data_type(), target.datatype, target.cell_val_num) {
        return Err(wrong());
    }
    let found = match array.data_type() {
        A::Utf8 => text::<Utf8Type>(array),
        A::LargeUtf8 => text::<LargeUtf8Type>(array),
        A::Binary => text::<BinaryType>(array),
        A::LargeBinary => text::<LargeBinaryType>(array),
        A::Utf8View => view::<StringViewType>(array),
        A::BinaryView => view::<BinaryViewType>(array),
        A::FixedSizeBinary(size) => {
            let binary = array.as_any().downcast_ref::<FixedSizeBinaryArray>().ok_or_else(wrong)?;
            let len = usize::try_from(*size).ok().and_then(|size| size.checked_mul(binary.len()));
            let len = len.filter(|len| *len <= binary.values().len()).ok_or_else(wrong)?;
            // Bytes after the last cell belong to no cell.
            Some((binary.values().slice_with_length(0, len), None))
        }
        A::FixedSizeList(_, size) => {
            let list = array.as_any().downcast_ref::<FixedSizeListArray>().ok_or_else(wrong)?;
            let size = usize::try_from(*size).ok().ok_or_else(wrong)?;
            let len = size.checked_mul(list.len()).filter(|len| *len <= list.values().len());
            let items = list.values().slice(0, len.ok_or_else(wrong)?);
            no_null_items(&items, list.nulls(), target, |item| item.checked_div(size))?;
            Some((flat(&items, target)?, None))
        }
        A::List(_) => Some(list::<i32>(array, target)?),
        A::LargeList(_) => Some(list::<i64>(array, target)?),
        _ => Some((flat(array, target)?, None)),
    };
    found.ok_or_else(wrong)
}

fn text<T: ByteArrayType>(array: &dyn Array) -> Option<Layout> {
    let array = array.as_any().downcast_ref::<GenericByteArray<T>>()?;
    let (offsets, cells) = byte_offsets(array.offsets(), 1);
    let values = array.values().slice_with_length(cells.start, cells.len());
    Some((values, Some(offsets)))
}

fn view<T: ByteViewType>(array: &dyn Array) -> Option<Layout> {
    let array = array.as_any().downcast_ref::<GenericByteViewArray<T>>()?;
    let (mut values, mut offsets) = (Vec::new(), vec![0u64]);
    for cell in array.iter() {
        values.extend_from_slice(cell.map(AsRef::as_ref).unwrap_or_default());
        offsets.push(u64::try_from(values.len()).unwrap_or(u64::MAX));
    }
    Some((Buffer::from_vec(values), Some(ScalarBuffer::from(offsets))))
}

fn list<O: OffsetSizeTrait>(array: &dyn Array, target: &Target<'_>) -> Result<Layout> {
    let list = array.as_any().downcast_ref::<GenericListArray<O>>();
    let list = list.ok_or_else(|| target.wrong_type(array.data_type()))?;
    // Values that belong to no cell may be null.
    no_null_items(list.values(), list.nulls(), target, |item| {
        let after = list.offsets().partition_point(|start| start.as_usize() <= item);
        after.checked_sub(1).filter(|row| *row < list.len())
    })?;
    let (offsets, cells) = byte_offsets(list.offsets(), target.datatype.size());
    let items = cells.start.checked_div(target.datatype.size()).unwrap_or(0);
    let values = list.values().slice(items, list.values().len().saturating_sub(items));
    Ok((flat(&values, target)?, Some(offsets)))
}

/// Byte offsets that begin at 0, and the bytes that they refer to. 64-bit offsets that begin at 0
/// and already count bytes are not copied. Offsets of a slice are copied, so that the values around
/// it are not taken for its own.
fn byte_offsets<O: OffsetSizeTrait>(
    offsets: &OffsetBuffer<O>,
    size: usize,
) -> (ScalarBuffer<u64>, Range<usize>) {
    let bytes = |offset: &O| offset.as_usize().saturating_mul(size);
    let (first, end) = (offsets.first().map_or(0, bytes), offsets.last().map_or(0, bytes));
    let rebased = if O::IS_LARGE && size == 1 && first == 0 {
        // Arrow's offsets are never negative, so the same bits have the same meaning.
        ScalarBuffer::from(offsets.inner().inner().clone())
    } else {
        let rebased = |offset| u64::try_from(bytes(offset).saturating_sub(first)).unwrap_or(u64::MAX);
        offsets.iter().map(rebased).collect()
    };
    (rebased, first..end)
}

/// Rejects a null among the values of a cell that is not null.
fn no_null_items(
    items: &dyn Array,
    rows: Option<&NullBuffer>,
    target: &Target<'_>,
    row_of: impl Fn(usize) -> Option<usize>,
) -> Result<()> {
    let Some(nulls) = items.logical_nulls().filter(|nulls| nulls.null_count() > 0) else { return Ok(()) };
    let valid = |row: &usize| rows.is_none_or(|rows| rows.is_valid(*row));
    let row =
        (0..nulls.len()).filter(|item| nulls.is_null(*item)).find_map(|item| row_of(item).filter(valid));
    match row {
        Some(row) => Err(Error::NullItem { column: target.name.to_owned(), row }),
        None => Ok(()),
    }
}

/// The values of an array of numbers, back to back.
fn flat(array: &dyn Array, target: &Target<'_>) -> Result<Buffer> {
    let wrong = || target.wrong_type(array.data_type());
    let data = array.to_data();
    let buffer = data.buffers().first().ok_or_else(wrong)?;
    match types::passage(array.data_type(), target.datatype).ok_or_else(wrong)? {
        Passage::Same => {
            let size = target.datatype.size();
            let (start, len) = (data.offset().checked_mul(size), data.len().checked_mul(size));
            let (start, len) = start.zip(len).ok_or_else(wrong)?;
            if start.checked_add(len).is_none_or(|end| end > buffer.len()) {
                return Err(wrong());
            }
            Ok(buffer.slice_with_length(start, len))
        }
        Passage::Widened => {
            let bytes =
                data.offset().checked_add(data.len()).and_then(|end| end.checked_mul(size_of::<i32>()));
            if bytes.is_none_or(|bytes| bytes > buffer.len()) {
                return Err(wrong());
            }
            let values = ScalarBuffer::<i32>::new(buffer.clone(), data.offset(), data.len());
            Ok(values.iter().map(|value| i64::from(*value)).collect::<Vec<_>>().into())
        }
        Passage::Unpacked => {
            let bits = array.as_any().downcast_ref::<BooleanArray>().ok_or_else(wrong)?.values();
            Ok(bits.iter().map(u8::from).collect::<Vec<_>>().into())
        }
    }
}
