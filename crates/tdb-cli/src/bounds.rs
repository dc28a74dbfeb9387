//! The two ends of a range of coordinates.

/// An inclusive range of a dimension as little-endian bytes; `None` means that an end is open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) low: Option<Vec<u8>>,
    pub(crate) high: Option<Vec<u8>>,
}
