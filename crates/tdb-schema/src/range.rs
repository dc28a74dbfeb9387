//! The interval of one dimension, as bytes. Current domains, non-empty domains and MBRs use it.

use core::cmp::Ordering;

use tdb_codec::{Datatype, ErrorKind, Native, PhysicalVisitor, Reader, Result, Writer, to_u64};

use crate::Dimension;

/// An inclusive interval of one dimension: little-endian bytes of both ends, or two byte strings.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Range {
    /// Lower end, inclusive.
    pub low: Vec<u8>,
    /// Upper end, inclusive.
    pub high: Vec<u8>,
}

impl Range {
    /// An interval from its two ends.
    pub fn new(low: impl Into<Vec<u8>>, high: impl Into<Vec<u8>>) -> Self {
        Self { low: low.into(), high: high.into() }
    }

    /// Reads the interval of a dimension: `low, high` for fixed-size types; for strings
    /// `u64 total length, u64 length of low, low, high` (specification, "MBR").
    ///
    /// # Errors
    /// If the input ends too early, or the length of a string's low end is more than the total
    /// length.
    pub fn parse(reader: &mut Reader<'_>, dimension: &Dimension, what: &'static str) -> Result<Self> {
        if dimension.is_var() {
            let start = *reader;
            let total = reader.u64(what)?;
            let low_len = reader.u64(what)?;
            let Some(high_len) = total.checked_sub(low_len) else {
                return Err(start.error(what, ErrorKind::WrongLength { value: low_len }));
            };
            let low = reader.take_u64(low_len, what)?;
            let high = reader.take_u64(high_len, what)?;
            return Ok(Self::new(low, high));
        }
        let size = dimension.datatype.size();
        let low = reader.take(size, what)?;
        let high = reader.take(size, what)?;
        Ok(Self::new(low, high))
    }

    /// Writes what [`Self::parse`] reads.
    pub fn write(&self, writer: &mut Writer, dimension: &Dimension) {
        if dimension.is_var() {
            writer.u64(to_u64(self.low.len()).saturating_add(to_u64(self.high.len())));
            writer.u64(to_u64(self.low.len()));
        }
        writer.bytes(&self.low);
        writer.bytes(&self.high);
    }

    /// Orders two coordinates of a dimension: numerically, or bytewise (unsigned, shorter prefix
    /// first) for strings. Values of a fixed-size type with different lengths compare equal.
    #[must_use]
    pub fn compare(datatype: Datatype, a: &[u8], b: &[u8]) -> Ordering {
        struct Compare<'a>(&'a [u8], &'a [u8]);
        impl PhysicalVisitor for Compare<'_> {
            type Output = Ordering;
            fn visit<T: Native>(self) -> Ordering {
                match (T::from_le(self.0), T::from_le(self.1)) {
                    (Some(a), Some(b)) => a.total_order(&b),
                    _ => Ordering::Equal,
                }
            }
        }
        if datatype.is_string() { a.cmp(b) } else { datatype.physical().visit(Compare(a, b)) }
    }

    /// Whether a coordinate is inside the interval.
    #[must_use]
    pub fn contains(&self, datatype: Datatype, value: &[u8]) -> bool {
        Self::compare(datatype, &self.low, value) != Ordering::Greater
            && Self::compare(datatype, value, &self.high) != Ordering::Greater
    }

    /// Whether another interval has a coordinate in common with this one.
    #[must_use]
    pub fn overlaps(&self, datatype: Datatype, other: &Self) -> bool {
        Self::compare(datatype, &self.low, &other.high) != Ordering::Greater
            && Self::compare(datatype, &other.low, &self.high) != Ordering::Greater
    }

    /// Whether another interval is completely inside this one.
    #[must_use]
    pub fn covers(&self, datatype: Datatype, other: &Self) -> bool {
        self.contains(datatype, &other.low) && self.contains(datatype, &other.high)
    }

    /// The intersection with another interval.
    #[must_use]
    pub fn intersection(&self, datatype: Datatype, other: &Self) -> Option<Self> {
        let is_less = |a: &[u8], b: &[u8]| Self::compare(datatype, a, b) == Ordering::Less;
        let low = if is_less(&self.low, &other.low) { &other.low } else { &self.low };
        let high = if is_less(&other.high, &self.high) { &other.high } else { &self.high };
        (!is_less(high, low)).then(|| Self { low: low.clone(), high: high.clone() })
    }

    /// Extends this interval so that it also covers another one.
    pub fn unite(&mut self, datatype: Datatype, other: &Self) {
        if Self::compare(datatype, &other.low, &self.low) == Ordering::Less {
            self.low.clone_from(&other.low);
        }
        if Self::compare(datatype, &other.high, &self.high) == Ordering::Greater {
            self.high.clone_from(&other.high);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn string_intervals_compare_as_unsigned_bytes() {
        let range = Range::new(*b"b", *b"d");
        assert!(range.contains(Datatype::StringAscii, b"c"));
        assert!(range.contains(Datatype::StringAscii, b"b"));
        assert!(!range.contains(Datatype::StringAscii, b"d0"));
        assert!(!range.contains(Datatype::StringAscii, &[0xff]));
        assert!(range.overlaps(Datatype::StringAscii, &Range::new(*b"", *b"b")));
    }

    #[test]
    fn an_intersection_is_what_both_intervals_contain() {
        let of = |low: i16, high: i16| Range::new(low.to_le_bytes(), high.to_le_bytes());
        let both =
            |a: Range, b: Range| (a.intersection(Datatype::Int16, &b), b.intersection(Datatype::Int16, &a));
        assert_eq!(both(of(-300, 5), of(-2, 9)), (Some(of(-2, 5)), Some(of(-2, 5))));
        assert_eq!(both(of(-300, 500), of(-2, 9)), (Some(of(-2, 9)), Some(of(-2, 9))));
        assert_eq!(both(of(1, 5), of(5, 9)), (Some(of(5, 5)), Some(of(5, 5))));
        assert_eq!(both(of(1, 4), of(5, 9)), (None, None));
        let words = Range::new(*b"b", *b"d").intersection(Datatype::StringAscii, &Range::new(*b"", *b"cz"));
        assert_eq!(words, Some(Range::new(*b"b", *b"cz")));
    }

    #[test]
    fn an_inner_length_over_the_total_is_refused() {
        let dimension = Dimension::string("s");
        let mut bytes = 2u64.to_le_bytes().to_vec();
        bytes.extend(3u64.to_le_bytes());
        bytes.extend(b"abc");
        let error = Range::parse(&mut Reader::new(&bytes), &dimension, "MBR").unwrap_err();
        assert_eq!(error.kind, ErrorKind::WrongLength { value: 3 });
    }

    fn of(low: i16, high: i16) -> Range {
        Range::new(low.to_le_bytes(), high.to_le_bytes())
    }

    #[test]
    fn an_interval_contains_its_ends_and_covers_what_ends_inside_of_it() {
        let datatype = Datatype::Int16;
        let contains = |value: i16| of(-300, 5).contains(datatype, &value.to_le_bytes());
        assert_eq!([-301, -300, 0, 5, 6].map(contains), [false, true, true, true, false]);
        let covers = |low, high| of(-300, 5).covers(datatype, &of(low, high));
        assert!(covers(-300, 5) && covers(0, 0) && !covers(-301, 5) && !covers(-300, 6));
        let overlaps = |low, high| of(-300, 5).overlaps(datatype, &of(low, high));
        assert!(overlaps(5, 9) && overlaps(-400, -300) && overlaps(-400, 9) && overlaps(0, 1));
        assert!(!overlaps(6, 9) && !overlaps(-400, -301));
    }

    #[test]
    fn a_union_begins_and_ends_with_the_outermost_ends() {
        for (other, union) in [
            (of(0, 9), of(-300, 9)),
            (of(-301, 0), of(-301, 5)),
            (of(0, 1), of(-300, 5)),
            (of(-400, 9), of(-400, 9)),
        ] {
            let mut range = of(-300, 5);
            range.unite(Datatype::Int16, &other);
            assert_eq!(range, union);
        }
    }

    #[test]
    fn intervals_read_back_as_written() {
        let number = Dimension::new("x", 0i16..=9);
        let string = Dimension::string("s");
        for (range, dimension, len) in [
            (of(2, 7), &number, 4),
            (Range::new(*b"ab", *b"b"), &string, 19),
            (Range::new([], []), &string, 16),
        ] {
            let mut writer = Writer::new();
            range.write(&mut writer, dimension);
            assert_eq!(writer.len(), len);
            let bytes = writer.into_vec();
            let mut reader = Reader::new(&bytes);
            assert_eq!(Range::parse(&mut reader, dimension, "range").unwrap(), range);
            assert!(reader.is_empty());
        }
    }
}
