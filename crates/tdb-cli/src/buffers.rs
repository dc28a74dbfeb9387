//! The cells of a field in the form in which they are written.

use tdb_array::WriteColumn;

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
