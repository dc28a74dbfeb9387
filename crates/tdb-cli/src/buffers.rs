//! The cells of a field in the form in which they are written.

use tdb_array::WriteColumn;
use tdb_codec::{to_u64, to_usize};

/// The buffers of a field's cells.
#[derive(Debug)]
pub(crate) struct Buffers {
    pub(crate) name: String,
    pub(crate) data: Vec<u8>,
    /// One more than the number of cells, for cells of variable length.
    pub(crate) offsets: Option<Vec<u64>>,
    pub(crate) validity: Option<Vec<u8>>,
}

impl Buffers {
    /// The bytes of each of so many cells.
    pub(crate) fn cells(&self, count: usize) -> impl Iterator<Item = &[u8]> {
        let size = self.data.len().checked_div(count).unwrap_or(0);
        (0..count).map(move |cell| {
            let start = cell.saturating_mul(size);
            let place = match &self.offsets {
                None => Some((start, start.saturating_add(size))),
                Some(offsets) => {
                    let end = |at: usize| offsets.get(at).copied().and_then(to_usize);
                    end(cell).zip(end(cell.saturating_add(1)))
                }
            };
            place.and_then(|(start, end)| self.data.get(start..end)).unwrap_or_default()
        })
    }

    /// The cells for which there is `true`.
    pub(crate) fn only(&self, kept: &[bool]) -> Self {
        let mut only = Self { name: self.name.clone(), data: Vec::new(), offsets: None, validity: None };
        let mut offsets = vec![0];
        for (cell, _) in self.cells(kept.len()).zip(kept).filter(|(_, kept)| **kept) {
            only.data.extend_from_slice(cell);
            offsets.push(to_u64(only.data.len()));
        }
        let validity = |validity: &Vec<u8>| {
            validity.iter().zip(kept).filter(|(_, kept)| **kept).map(|(valid, _)| *valid).collect()
        };
        only.offsets = self.offsets.is_some().then_some(offsets);
        only.validity = self.validity.as_ref().map(validity);
        only
    }

    pub(crate) fn column(&self) -> WriteColumn<'_> {
        let column = match &self.offsets {
            Some(offsets) => WriteColumn::var(&self.name, &self.data, offsets),
            None => WriteColumn::bytes(&self.name, &self.data),
        };
        match &self.validity {
            Some(validity) => column.nullable(validity),
            None => column,
        }
    }
}
