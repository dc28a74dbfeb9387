//! How arrays are shown, and what is asked of them.

use bytes::Bytes;
use tdb_array::MemoryBudget;

use crate::thresholds::ROWS;

/// The versions of Zarr whose documents a hierarchy has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formats {
    /// Version 2: `.zgroup`, `.zarray`, `.zattrs`, `.zmetadata`.
    V2,
    /// Version 3: `zarr.json`.
    V3,
    /// Both, for readers of either kind. The chunks are the same, under the keys of both.
    #[default]
    Both,
}

impl Formats {
    pub(crate) const fn v2(self) -> bool {
        matches!(self, Self::V2 | Self::Both)
    }

    pub(crate) const fn v3(self) -> bool {
        matches!(self, Self::V3 | Self::Both)
    }
}

/// How arrays are shown.
#[derive(Clone, Debug)]
#[must_use = "options do nothing until a hierarchy is made with them"]
pub struct Options {
    pub(crate) formats: Formats,
    pub(crate) rows: u64,
    pub(crate) layer: Option<String>,
    pub(crate) for_anndata: bool,
    pub(crate) memory: Option<MemoryBudget>,
}

impl Default for Options {
    fn default() -> Self {
        Self { formats: Formats::default(), rows: ROWS, layer: None, for_anndata: false, memory: None }
    }
}

impl Options {
    /// Documents of both versions, and chunks of 262,144 cells for sparse arrays, or of fewer if
    /// those of the widest field have more than 256 MiB.
    pub fn new() -> Self {
        Self::default()
    }

    /// The versions of Zarr whose documents there are.
    pub const fn formats(mut self, formats: Formats) -> Self {
        self.formats = formats;
        self
    }

    /// The layer of an experiment that is `X`. Without it, that is `data`, or the first one.
    pub fn layer(mut self, name: impl Into<String>) -> Self {
        self.layer = Some(name.into());
        self
    }

    /// Shows an experiment for AnnData itself, which loads all of it, and not for viewers: sparse
    /// matrices are sparse (`csr_matrix`), those of pairs of observations or variables are there,
    /// too, and columns without missing values have no masks. To know these, the columns are read.
    pub const fn for_anndata(mut self) -> Self {
        self.for_anndata = true;
        self
    }

    /// The memory of each read of a sparse array, of which every thread that asks for a chunk has
    /// one. Cells that need more are errors that say how much. Without it, a chunk of a sparse
    /// matrix that is shown as a dense one has 1 GiB, and others what they need.
    pub const fn memory(mut self, budget: MemoryBudget) -> Self {
        self.memory = Some(budget);
        self
    }

    /// The most cells in a chunk of a sparse array; 0 counts as 1. There are fewer if those of the
    /// widest field have more than 256 MiB.
    pub const fn rows(mut self, rows: u64) -> Self {
        self.rows = if rows == 0 { 1 } else { rows };
        self
    }
}

/// The bytes of a key that are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Span {
    /// All.
    All,
    /// From an offset up to another.
    Between(u64, u64),
    /// From an offset on.
    From(u64),
    /// This many at the end.
    Last(u64),
}

impl Span {
    /// These bytes of all; as many of them as there are.
    pub(crate) fn of(self, bytes: &Bytes) -> Bytes {
        let len = bytes.len();
        let at = |offset: u64| usize::try_from(offset).map_or(len, |offset| offset.min(len));
        let (start, end) = match self {
            Self::All => (0, len),
            Self::Between(start, end) => (at(start), at(end)),
            Self::From(start) => (at(start), len),
            Self::Last(count) => (len - at(count), len),
        };
        bytes.slice(start..end.max(start))
    }
}

/// Something that cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// The path that it would have; empty for the root.
    pub path: String,
    /// The reason.
    pub reason: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_what_there_is_of_it() {
        let bytes = Bytes::from_static(b"0123456789");
        let of = |span: Span| String::from_utf8(span.of(&bytes).to_vec()).unwrap();
        assert_eq!((of(Span::All), of(Span::Between(2, 5))), ("0123456789".to_owned(), "234".to_owned()));
        assert_eq!((of(Span::From(8)), of(Span::Last(3))), ("89".to_owned(), "789".to_owned()));
        assert_eq!(
            (of(Span::Between(8, 99)), of(Span::Last(99))),
            ("89".to_owned(), "0123456789".to_owned())
        );
        for empty in
            [Span::Between(5, 5), Span::Between(7, 2), Span::From(10), Span::From(u64::MAX), Span::Last(0)]
        {
            assert_eq!(of(empty), "", "{empty:?}");
        }
    }
}
