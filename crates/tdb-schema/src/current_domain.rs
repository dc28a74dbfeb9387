//! The current domain: the part of the domain that may be written (version 22 on).

use tdb_codec::{ErrorKind, FieldRow, Gate, Reader, Result, Structure, Wire, Writer};

use crate::{Domain, Range};

/// The table of a current domain.
pub(crate) static TABLE: Structure = Structure::new(
    "current domain",
    &[
        FieldRow::new("current domain version", Wire::U32).note("of this structure: 0"),
        FieldRow::new("current domain is empty", Wire::U8).note("**1: there is none, nothing follows**"),
        FieldRow::new("current domain type", Wire::U8)
            .when("not empty")
            .note("0: one range for each dimension"),
        FieldRow::new("current domain range", Wire::Ranges)
            .when("not empty")
            .note("one for each dimension, no count"),
    ],
)
.since(Gate::CurrentDomain);

/// The format version of this structure itself; only 0 exists.
const STRUCTURE_VERSION: u32 = 0;
/// The only current-domain type: one interval for each dimension.
const ND_RECTANGLE: u8 = 0;

/// One interval for each dimension, in schema order.
///
/// The table of its fields is "current domain" in [`STRUCTURES`](crate::STRUCTURES).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CurrentDomain {
    /// The intervals.
    pub ranges: Vec<Range>,
}

impl CurrentDomain {
    /// A current domain of these intervals, one for each dimension.
    #[must_use]
    pub const fn new(ranges: Vec<Range>) -> Self {
        Self { ranges }
    }

    /// Reads the structure; `None` if the array has no current domain.
    ///
    /// ```
    /// use tdb_codec::Reader;
    /// use tdb_schema::{CurrentDomain, Dimension, Domain, Range};
    ///
    /// let domain = Domain::new(vec![Dimension::new("x", 0u8..=99)]);
    /// // structure version 0, not empty, a rectangle: 2 to 50
    /// let mut reader = Reader::new(&[0, 0, 0, 0, 0, 0, 2, 50]);
    /// let current = CurrentDomain::parse(&mut reader, &domain)?.unwrap();
    /// assert_eq!(current.ranges, [Range::new([2], [50])]);
    /// # Ok::<(), tdb_codec::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this build does not know the structure version or type, or if ranges are truncated.
    pub fn parse(reader: &mut Reader<'_>, domain: &Domain) -> Result<Option<Self>> {
        let start = *reader;
        let version = reader.u32("current domain version")?;
        if version != STRUCTURE_VERSION {
            return Err(start.error("current domain version", ErrorKind::UnsupportedVersion { version }));
        }
        if reader.bool("current domain is empty")? {
            return Ok(None);
        }
        reader.code("current domain type", |code| (code == ND_RECTANGLE).then_some(()))?;
        let ranges = domain
            .dimensions
            .iter()
            .map(|dimension| Range::parse(reader, dimension, "current domain range"))
            .collect::<Result<_>>()?;
        Ok(Some(Self { ranges }))
    }

    /// Writes what [`Self::parse`] reads.
    pub fn write(this: Option<&Self>, writer: &mut Writer, domain: &Domain) {
        writer.u32(STRUCTURE_VERSION);
        writer.bool(this.is_none());
        if let Some(this) = this {
            writer.u8(ND_RECTANGLE);
            for (range, dimension) in this.ranges.iter().zip(&domain.dimensions) {
                range.write(writer, dimension);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;

    use super::*;
    use crate::Dimension;

    #[test]
    fn the_bytes_libtiledb_writes_read_back() {
        // INT32 2 to 50 and ASCII "aa" to "zzz", as written by libtiledb 2.30.
        let bytes = b"\0\0\0\0\0\0\x02\0\0\0\x32\0\0\0\x05\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0aazzz";
        let low = 0i32.to_le_bytes();
        let domain = Domain::new(vec![
            Dimension::fixed("x", Datatype::Int32, low, 99i32.to_le_bytes()),
            Dimension::string("s"),
        ]);
        let mut reader = Reader::new(bytes);
        let current = CurrentDomain::parse(&mut reader, &domain).unwrap().unwrap();
        reader.finish("current domain").unwrap();
        assert_eq!(current.ranges[1], Range::new(*b"aa", *b"zzz"));
        let mut writer = Writer::new();
        CurrentDomain::write(Some(&current), &mut writer, &domain);
        assert_eq!(writer.as_slice(), bytes);
        for len in 0..bytes.len() {
            assert!(CurrentDomain::parse(&mut Reader::new(&bytes[..len]), &domain).is_err());
        }
    }
}
