//! Some cells of a field, as they were decoded.

use std::borrow::Cow;

use bytemuck::Pod;
use tdb_codec::to_usize;

use crate::buffers::index_of;

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
    /// If only some cells have the field at all, a byte per cell: a cell with 0 does not have the field, and fails
    /// every test.
    pub present: Option<&'a [u8]>,
}

/// The numbers `chosen`, or those of all `cells`.
pub(crate) fn numbered(cells: usize, chosen: Option<&[u32]>) -> Cow<'_, [u32]> {
    chosen.map_or_else(|| (0u32..).take(cells).collect::<Vec<_>>().into(), Cow::from)
}

impl<'a> ColumnView<'a> {
    pub(crate) fn is_null(&self, cell: u32) -> bool {
        self.validity.is_some_and(|validity| validity.get(index_of(cell)) == Some(&0))
    }

    /// The numbers of the cells that are not null, of the cells `chosen` or of all `cells`. `None` if none of them is null.
    pub(crate) fn valid(&self, cells: usize, chosen: Option<&[u32]>) -> Option<Vec<u32>> {
        let validity = self.validity?;
        let any = match chosen {
            Some(chosen) => chosen.iter().any(|cell| self.is_null(*cell)),
            None => validity.iter().take(cells).any(|valid| *valid == 0),
        };
        let valid = || numbered(cells, chosen).iter().copied().filter(|cell| !self.is_null(*cell)).collect();
        any.then(valid)
    }

    /// The values of the cells `chosen`, or of all `cells`, if they are single numbers.
    pub(crate) fn numbers<T: Pod>(&self, cells: usize, chosen: Option<&[u32]>) -> Cow<'a, [T]> {
        let all: &[T] = typed(self.values);
        match chosen {
            Some(chosen) => {
                chosen.iter().filter_map(|cell| all.get(index_of(*cell)).copied()).collect::<Vec<_>>().into()
            }
            None => all.get(..cells).unwrap_or(all).into(),
        }
    }

    /// Where the bytes of a cell are, or with `codes` those of a string. `size` is that of each cell, if they have the same.
    pub(crate) fn place(&self, at: usize, size: Option<usize>) -> Option<(usize, usize)> {
        let next = at.checked_add(1)?;
        match (self.offsets, size) {
            (Some(offsets), _) => Some((to_usize(*offsets.get(at)?)?, to_usize(*offsets.get(next)?)?)),
            (None, size) => Some((at.checked_mul(size?)?, next.checked_mul(size?)?)),
        }
    }

    /// The bytes of a cell; `size` as in [`Self::place`].
    pub(crate) fn cell(&self, cell: usize, size: Option<usize>) -> Option<&'a [u8]> {
        let at = match self.codes {
            Some(codes) => index_of(*codes.get(cell)?),
            None => cell,
        };
        let (start, end) = self.place(at, size)?;
        self.values.get(start..end)
    }
}

/// Bytes of a [`tdb_codec::Buffer`], or a part of one that begins at a cell, as values.
pub fn typed<T: Pod>(bytes: &[u8]) -> &[T] {
    bytemuck::try_cast_slice(bytes).unwrap_or_default()
}
