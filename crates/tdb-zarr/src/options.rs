//! How arrays are shown, and what is asked of them.

use bytes::Bytes;

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
}

impl Default for Options {
    fn default() -> Self {
        Self { formats: Formats::default(), rows: ROWS }
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
