//! Finds the footer in a metadata file.

use core::ops::Range;

use tdb_codec::{Error, ErrorKind, FormatVersion, Gate, Reader, Result, to_u64, to_usize};
use tdb_schema::ArraySchema;

use crate::Slots;

/// How to find the footer of a metadata file.
///
/// From version 10 on, and before that if a dimension is of variable length, the file's last 8
/// bytes are the footer's length. Otherwise, the length follows from the schema and the version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FooterLocation {
    /// The footer is this many bytes long and ends with the file.
    Length(u64),
    /// The last 8 bytes of the file are the footer's length.
    LengthAtEnd,
}

impl FooterLocation {
    /// How to find the footer of a fragment of `version`, which is the version in its name.
    /// `schema` is the array's `__array_schema.tdb`, which versions before 10 always use.
    ///
    /// # Errors
    /// [`ErrorKind::UnsupportedVersion`] for versions 1 and 2, which have no footer, and if the
    /// schema is needed but is `None`.
    pub fn of(version: FormatVersion, schema: Option<&ArraySchema>) -> Result<Self> {
        if version.has(Gate::SchemaFolder) {
            return Ok(Self::LengthAtEnd);
        }
        let unsupported = || {
            let kind = ErrorKind::UnsupportedVersion { version: version.number() };
            Error::new("fragment metadata footer", 0, kind)
        };
        let schema = schema.filter(|_| version.has(Gate::FragmentFooter)).ok_or_else(unsupported)?;
        let dimensions = &schema.domain.dimensions;
        if dimensions.iter().any(tdb_schema::Dimension::is_var) {
            return Ok(Self::LengthAtEnd);
        }
        let slots = Slots::new(schema, version, false, false);
        let words = |count: usize| to_u64(count).saturating_mul(8);
        let domain: usize =
            dimensions.iter().map(|dimension| dimension.datatype.size().saturating_mul(2)).sum();
        let per_field = if version.has(Gate::Nullable) { 4 } else { 2 };
        let head = 4 + 1 + 1 + 16 + 8;
        let length = to_u64(domain)
            .saturating_add(head)
            .saturating_add(words(slots.len().saturating_mul(per_field)))
            .saturating_add(words(slots.var_len(version).saturating_mul(3)));
        Ok(Self::Length(length))
    }

    /// The end of the file: the footer, followed by its length if that is stored.
    ///
    /// # Errors
    /// If the footer does not have the length at which a reader would look for it.
    pub fn end(self, mut footer: Vec<u8>) -> Result<Vec<u8>> {
        let length = to_u64(footer.len());
        match self {
            Self::LengthAtEnd => footer.extend(length.to_le_bytes()),
            Self::Length(expected) if expected != length => {
                return Err(Error::new("footer length", 0, ErrorKind::WrongLength { value: length }));
            }
            Self::Length(_) => {}
        }
        Ok(footer)
    }

    /// The footer's byte range in a file of `file_size` bytes, of which `tail` are the last ones.
    ///
    /// # Errors
    /// If the file is shorter than its footer, or `tail` has fewer than 8 bytes.
    pub fn range(self, file_size: u64, tail: &[u8]) -> Result<Range<u64>> {
        let short = |length| {
            let kind = ErrorKind::WrongLength { value: length };
            Error::new("fragment metadata footer length", file_size.saturating_sub(8), kind)
        };
        match self {
            Self::Length(length) => {
                let start = file_size.checked_sub(length).ok_or_else(|| short(length))?;
                Ok(start..file_size)
            }
            Self::LengthAtEnd => {
                let at = tail.len().checked_sub(8).ok_or_else(|| short(file_size))?;
                let (_, last) = tail.split_at_checked(at).ok_or_else(|| short(file_size))?;
                let length = Reader::with_offset(last, file_size.saturating_sub(8)).u64("footer length")?;
                let end = file_size.checked_sub(8).ok_or_else(|| short(length))?;
                let start = end.checked_sub(length).ok_or_else(|| short(length))?;
                Ok(start..end)
            }
        }
    }

    /// The footer's range, and its bytes if `tail` (the last bytes of the file) contains all of
    /// them; otherwise `None`, and the range must be read.
    ///
    /// # Errors
    /// As [`Self::range`].
    pub fn slice(self, file_size: u64, tail: &[u8]) -> Result<(Range<u64>, Option<&[u8]>)> {
        let range = self.range(file_size, tail)?;
        let tail_start = file_size.saturating_sub(to_u64(tail.len()));
        let bytes = range.start.checked_sub(tail_start).and_then(|start| {
            let end = range.end.checked_sub(tail_start)?;
            tail.get(to_usize(start)?..to_usize(end)?)
        });
        Ok((range, bytes))
    }
}
