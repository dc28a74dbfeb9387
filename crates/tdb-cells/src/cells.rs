//! Results of queries: columns of cells.

use tdb_codec::{Buffer, CellValNum, Datatype, Layout, Native, to_usize};

use crate::{QueryError, Result};

/// The cells of a query result, column by column. Row `i` of every column belongs to the same cell.
#[derive(Clone, Debug)]
pub struct Cells {
    #[doc(hidden)]
    pub len: usize,
    #[doc(hidden)]
    pub shape: Option<Vec<usize>>,
    #[doc(hidden)]
    pub order: Layout,
    #[doc(hidden)]
    pub columns: Vec<Column>,
    #[doc(hidden)]
    pub selected: Option<Vec<u8>>,
}

/// One field of a result: values, with offsets and validity if the field has them.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name of the field.
    pub name: String,
    /// Type of the values.
    pub datatype: Datatype,
    /// Number of values per cell.
    pub cell_val_num: CellValNum,
    #[doc(hidden)]
    pub data: Buffer,
    #[doc(hidden)]
    pub offsets: Option<Vec<u64>>,
    #[doc(hidden)]
    pub validity: Option<Vec<u8>>,
    #[doc(hidden)]
    pub codes: Option<Vec<u32>>,
}

impl Cells {
    /// Number of cells.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no cells.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// For dense results in row- or column-major order, the number of cells along each dimension.
    #[must_use]
    pub fn shape(&self) -> Option<&[usize]> {
        self.shape.as_deref()
    }

    /// The order the cells are in.
    #[must_use]
    pub const fn order(&self) -> Layout {
        self.order
    }

    /// The columns, in the order in which the fields were requested.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Returns the columns without copying.
    #[must_use]
    pub fn into_columns(self) -> Vec<Column> {
        self.columns
    }

    /// For a dense read that [asked for
    /// it](https://docs.rs/tdb-array/latest/tdb_array/struct.Read.html#method.selection), a byte
    /// per cell: 1 if the cell was written and satisfies the condition, 0 if it has the fill value
    /// for want of that. `None` for other reads, all of whose cells are selected.
    #[must_use]
    pub fn selected(&self) -> Option<&[u8]> {
        self.selected.as_deref()
    }

    /// The column of a field.
    ///
    /// # Errors
    /// [`QueryError::NotInResult`] if the field was not requested.
    pub fn field(&self, name: &str) -> Result<&Column> {
        let column = self.columns.iter().find(|column| column.name == name);
        Ok(column.ok_or_else(|| QueryError::NotInResult(name.to_owned()))?)
    }
}

impl Column {
    /// The values of all cells back to back, typed. `T` is the datatype's machine type: `i64` for
    /// dates, `u8` for strings, and so on.
    ///
    /// # Errors
    /// [`QueryError::ValueType`] if `T` is another type.
    pub fn values<T: Native>(&self) -> Result<&[T]> {
        let wrong = || QueryError::ValueType {
            field: self.name.clone(),
            datatype: self.datatype.name(),
            requested: core::any::type_name::<T>(),
        };
        if T::PHYSICAL != self.datatype.physical() {
            return Err(wrong().into());
        }
        Ok(self.data.values().ok_or_else(wrong)?)
    }

    /// The values of all cells back to back, as little-endian bytes.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.data.as_slice()
    }

    /// For var-length fields, the byte offset of each cell in [`Self::bytes`], and one more at the
    /// end: cell `i` is `offsets[i]..offsets[i + 1]`.
    #[must_use]
    pub fn offsets(&self) -> Option<&[u64]> {
        self.offsets.as_deref()
    }

    /// For nullable fields, a byte per cell: 0 is null.
    #[must_use]
    pub fn validity(&self) -> Option<&[u8]> {
        self.validity.as_deref()
    }

    /// Whether cell `index` is null.
    #[must_use]
    pub fn is_null(&self, index: usize) -> bool {
        self.validity.as_ref().is_some_and(|validity| validity.get(index) == Some(&0))
    }

    /// If the read asked for
    /// [codes](https://docs.rs/tdb-array/latest/tdb_array/struct.Read.html#method.codes), and the
    /// field's strings are stored once each or once a run: for each cell the number of its string.
    /// [`Self::offsets`] and [`Self::bytes`] are then those of the strings, of which several may be
    /// equal.
    #[must_use]
    pub fn codes(&self) -> Option<&[u32]> {
        self.codes.as_deref()
    }

    /// The bytes of cell `index`, null or not; `None` past the last cell.
    #[must_use]
    pub fn cell(&self, index: usize) -> Option<&[u8]> {
        let index = match &self.codes {
            Some(codes) => usize::try_from(*codes.get(index)?).ok()?,
            None => index,
        };
        match &self.offsets {
            Some(offsets) => {
                let start = to_usize(*offsets.get(index)?)?;
                let end = to_usize(*offsets.get(index.checked_add(1)?)?)?;
                self.data.as_slice().get(start..end)
            }
            None => {
                let size = self.cell_size()?;
                let start = index.checked_mul(size)?;
                self.data.as_slice().get(start..start.checked_add(size)?)
            }
        }
    }

    /// Bytes of a cell; `None` for var-length fields.
    #[must_use]
    pub fn cell_size(&self) -> Option<usize> {
        let CellValNum::Fixed(count) = self.cell_val_num else { return None };
        usize::try_from(count.get()).ok()?.checked_mul(self.datatype.size())
    }

    #[doc(hidden)]
    pub const fn take_codes(&mut self) -> Option<Vec<u32>> {
        self.codes.take()
    }

    /// Returns values, offsets (one more than cells) and validity without copying.
    /// [Codes](Self::codes) are not among them.
    #[must_use]
    pub fn into_parts(self) -> (Buffer, Option<Vec<u64>>, Option<Vec<u8>>) {
        (self.data, self.offsets, self.validity)
    }
}
