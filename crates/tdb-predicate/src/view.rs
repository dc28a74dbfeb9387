//! Views of decoded columns: some cells of a field.

use std::borrow::Cow;

use bytemuck::Pod;
use tdb_codec::to_usize;

use crate::buffers::index_of;
use crate::{OrInternal, Result};

/// Some cells of a field.
#[derive(Clone, Copy, Debug)]
pub struct ColumnView<'a> {
    /// The values back to back.
    pub values: &'a [u8],
    /// For var-length fields, one more offset than cells, or with `codes` than strings.
    pub offsets: Option<&'a [u64]>,
    /// For strings that are stored once each, or once a run: which string each cell has.
    pub codes: Option<&'a [u32]>,
    /// For nullable fields, a byte per cell: 0 is null.
    pub validity: Option<&'a [u8]>,
    /// If only some cells have the field at all, a byte per cell: a cell with 0 does not have the
    /// field, and fails every test.
    pub present: Option<&'a [u8]>,
}

/// The numbers `chosen`, or those of all `cells`.
pub fn numbered(cells: usize, chosen: Option<&[u32]>) -> Cow<'_, [u32]> {
    chosen.map_or_else(|| (0u32..).take(cells).collect::<Vec<_>>().into(), Cow::from)
}

/// The values with some numbers.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if one of them has none.
pub fn picked<T: Clone>(all: &[T], numbers: &[u32]) -> Result<Vec<T>> {
    let mut some = Vec::with_capacity(numbers.len());
    for number in numbers {
        some.push(all.get(index_of(*number)).or_internal("there is no value with this number")?.clone());
    }
    Ok(some)
}

impl<'a> ColumnView<'a> {
    /// Whether a cell is null. Columns without validity have no null cells.
    #[inline]
    pub fn is_null(&self, cell: u32) -> bool {
        self.validity.is_some_and(|validity| validity.get(index_of(cell)) == Some(&0))
    }

    /// The numbers of the cells that are not null, of the cells `chosen` or of all `cells`.
    /// `None` if none of them is null.
    pub fn valid(&self, cells: usize, chosen: Option<&[u32]>) -> Option<Vec<u32>> {
        let validity = self.validity?;
        let any = match chosen {
            Some(chosen) => chosen.iter().any(|cell| self.is_null(*cell)),
            None => validity.iter().take(cells).any(|valid| *valid == 0),
        };
        let valid = || numbered(cells, chosen).iter().copied().filter(|cell| !self.is_null(*cell)).collect();
        any.then(valid)
    }

    /// The values of the cells `chosen`, or of all `cells`, if they are single numbers.
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) if there are not so many cells.
    pub fn numbers<T: Pod>(&self, cells: usize, chosen: Option<&[u32]>) -> Result<Cow<'a, [T]>> {
        let all: &[T] = typed(self.values)?;
        let Some(chosen) = chosen else {
            return Ok(all.get(..cells).or_internal("a column has fewer cells than its tile")?.into());
        };
        Ok(picked(all, chosen)?.into())
    }

    /// The column, if it has all of `cells`, so that whoever looks at them need not ask again.
    /// `size` is as in [`Self::place`].
    ///
    /// # Errors
    /// [`Error::Internal`](crate::Error::Internal) otherwise: what decodes tiles has checked this.
    pub fn complete(self, cells: usize, size: Option<usize>) -> Result<Self> {
        let values = match (self.codes, self.offsets, size) {
            (Some(codes), Some(_), _) => codes.len() >= cells,
            (None, Some(offsets), _) => offsets.len() > cells,
            (None, None, Some(size)) => {
                cells.checked_mul(size).is_some_and(|bytes| bytes <= self.values.len())
            }
            (Some(_), None, _) | (None, None, None) => false,
        };
        let flags = [self.validity, self.present].into_iter().flatten().all(|flags| flags.len() >= cells);
        (values && flags).then_some(self).or_internal("a column has fewer cells than its tile")
    }

    /// The place of a cell's bytes, or with `codes` that of a string's. `size` is that of each
    /// cell, if all have the same.
    #[inline]
    pub fn place(&self, at: usize, size: Option<usize>) -> Option<(usize, usize)> {
        let next = at.checked_add(1)?;
        match (self.offsets, size) {
            (Some(offsets), _) => Some((to_usize(*offsets.get(at)?)?, to_usize(*offsets.get(next)?)?)),
            (None, size) => Some((at.checked_mul(size?)?, next.checked_mul(size?)?)),
        }
    }

    /// The bytes of a cell; `size` as in [`Self::place`].
    #[inline]
    pub fn cell(&self, cell: usize, size: Option<usize>) -> Option<&'a [u8]> {
        let at = match self.codes {
            Some(codes) => index_of(*codes.get(cell)?),
            None => cell,
        };
        let (start, end) = self.place(at, size)?;
        self.values.get(start..end)
    }
}

/// Bytes of a [`tdb_codec::Buffer`], or a part of one that begins at a cell, as values.
///
/// # Errors
/// [`Error::Internal`](crate::Error::Internal) if they are no whole values.
pub fn typed<T: Pod>(bytes: &[u8]) -> Result<&[T]> {
    bytemuck::try_cast_slice(bytes).ok().or_internal("a column does not consist of whole values")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

    const NONE: ColumnView<'_> =
        ColumnView { values: &[], offsets: None, codes: None, validity: None, present: None };

    #[test]
    fn a_column_is_complete_if_each_cell_has_all_that_the_column_has() {
        let (bytes, offsets, codes, flags) = ([0u8; 12], [0u64, 4, 8, 12], [2u32, 0, 1], [1u8, 0, 1]);
        let whole = [
            (ColumnView { values: &bytes, ..NONE }, Some(4)),
            (ColumnView { values: &bytes, validity: Some(&flags), present: Some(&flags), ..NONE }, Some(4)),
            (ColumnView { values: &bytes, offsets: Some(&offsets), ..NONE }, None),
            (ColumnView { values: &bytes, offsets: Some(&offsets[..2]), codes: Some(&codes), ..NONE }, None),
        ];
        for (view, size) in whole {
            assert!(view.complete(3, size).is_ok(), "{view:?}");
            assert!(view.complete(0, size).is_ok(), "{view:?}");
            let fewer = view.complete(4, size);
            assert!(matches!(fewer, Err(Error::Internal(_))), "{view:?}");
        }
        for flags in [&flags[..2], &[]] {
            let short = ColumnView { values: &bytes, validity: Some(flags), ..NONE };
            assert!(short.complete(3, Some(4)).is_err(), "validity of {} cells", flags.len());
            let short = ColumnView { values: &bytes, present: Some(flags), ..NONE };
            assert!(short.complete(3, Some(4)).is_err(), "presence of {} cells", flags.len());
        }
        // Strings without offsets.
        assert!(ColumnView { values: &bytes, ..NONE }.complete(3, None).is_err());
    }

    #[test]
    fn values_that_are_missing_are_no_values_that_are_left_out() {
        let numbers = tdb_codec::Buffer::from(bytemuck::bytes_of(&[1i32, 2, 3]));
        let view = ColumnView { values: numbers.as_slice(), ..NONE };
        assert_eq!(*view.numbers::<i32>(3, None).unwrap(), [1, 2, 3]);
        assert_eq!(*view.numbers::<i32>(3, Some(&[2, 0])).unwrap(), [3, 1]);
        assert!(view.numbers::<i32>(4, None).is_err());
        assert!(view.numbers::<i32>(3, Some(&[0, 3])).is_err());
        assert!(view.numbers::<i64>(1, None).is_err(), "12 bytes are no whole numbers of 8");
    }
}
