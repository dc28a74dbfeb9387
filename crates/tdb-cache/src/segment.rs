//! A part of a file.

use core::ops::Range;

use bytes::Bytes;
use tdb_codec::{to_u64, to_usize};
use tdb_storage::{Reply, Request};

/// A cached part of a file: a range of its bytes, and its size, if the storage returned it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) range: Range<u64>,
    pub(crate) size: Option<u64>,
}

/// The part of a file that a request wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Its last bytes (at most this many), and its size.
    Tail(u64),
    /// These bytes.
    Range(Range<u64>),
}

impl Wanted {
    /// The bytes that a request asks for. `None` for listings, and for requests without bytes:
    /// those check whether a file exists, which only the storage knows.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        match request {
            Request::Tail(_, max) => (*max > 0).then_some(Self::Tail(*max)),
            Request::Range(own) => (!own.range.is_empty()).then(|| Self::Range(own.range.clone())),
            _ => None,
        }
    }
}

impl Segment {
    /// The part of a file contained in a reply, and its bytes. The reply must be one to the
    /// request.
    pub(crate) fn of(request: &Request, reply: &Reply) -> Option<(Self, Bytes)> {
        let (segment, bytes) = match (request, reply) {
            (Request::Tail(..), Reply::Tail(size, bytes)) => {
                let start = size.checked_sub(to_u64(bytes.len()))?;
                (Self { range: start..*size, size: Some(*size) }, bytes)
            }
            (Request::Range(own), Reply::Bytes(bytes)) => {
                (Self { range: own.range.clone(), size: None }, bytes)
            }
            _ => return None,
        };
        let whole = segment.len() == to_u64(bytes.len()) && !bytes.is_empty();
        whole.then(|| (segment, bytes.clone()))
    }

    pub(crate) const fn len(&self) -> u64 {
        self.range.end.saturating_sub(self.range.start)
    }

    /// The position of the wanted part in this segment, if it contains all of it.
    pub(crate) fn place(&self, wanted: &Wanted) -> Option<Range<usize>> {
        let range = match wanted {
            Wanted::Tail(max) => {
                let size = self.size.filter(|size| *size == self.range.end)?;
                size.saturating_sub(*max)..size
            }
            Wanted::Range(range) => range.clone(),
        };
        let from = to_usize(range.start.checked_sub(self.range.start)?)?;
        let to = to_usize(range.end.checked_sub(self.range.start)?)?;
        (range.end <= self.range.end && from <= to).then_some(from..to)
    }

    /// Whether this contains everything that `other` contains.
    pub(crate) fn covers(&self, other: &Self) -> bool {
        let within = self.range.start <= other.range.start && other.range.end <= self.range.end;
        within && (other.size.is_none() || self.size == other.size)
    }

    /// Whether both can belong to the same file.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        match (self.size, other.size) {
            (Some(own), Some(others)) => own == others,
            (Some(size), None) => other.range.end <= size,
            (None, Some(size)) => self.range.end <= size,
            (None, None) => true,
        }
    }

    /// The reply to a request, from the segment's bytes.
    pub(crate) fn reply(&self, wanted: &Wanted, bytes: &Bytes) -> Option<Reply> {
        let place = self.place(wanted)?;
        if place.end > bytes.len() {
            return None;
        }
        let part = bytes.slice(place);
        match wanted {
            Wanted::Tail(_) => Some(Reply::Tail(self.size?, part)),
            Wanted::Range(_) => Some(Reply::Bytes(part)),
        }
    }

    /// The name of its file in a folder.
    pub(crate) fn name(&self) -> String {
        let Range { start, end } = self.range;
        let size = self.size.map_or_else(|| "x".to_owned(), |size| format!("{size:x}"));
        format!("{start:x}-{end:x}-{size}")
    }

    /// The segment with this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.splitn(3, '-');
        let number = |part: &str| u64::from_str_radix(part, 16).ok();
        let (start, end) = (number(parts.next()?)?, number(parts.next()?)?);
        let size = match parts.next()? {
            "x" => None,
            size => Some(number(size)?),
        };
        let segment = Self { range: start..end, size };
        let possible = start < end && size.is_none_or(|size| end <= size);
        // A number can be written in several ways: only that of `name` is valid.
        (possible && segment.name() == name).then_some(segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(range: Range<u64>, size: Option<u64>) -> Segment {
        Segment { range, size }
    }

    #[test]
    fn names_read_back_and_others_are_refused() {
        for own in [segment(0..1, None), segment(16..0x1234, Some(0x1234)), segment(1..u64::MAX, None)] {
            assert_eq!(Segment::parse(&own.name()), Some(own));
        }
        for name in ["", "1", "1-2", "2-1-x", "1-1-x", "0-2-1", "01-2-x", "+1-2-x", "A-b-x", "1-2-x-", "1-2-"]
        {
            assert_eq!(Segment::parse(name), None, "{name}");
        }
    }

    #[test]
    fn a_segment_answers_what_lies_in_it_and_ends_only_if_the_size_is_known() {
        let own = segment(10..20, Some(20));
        assert_eq!(own.place(&Wanted::Range(12..20)), Some(2..10));
        assert_eq!(own.place(&Wanted::Tail(4)), Some(6..10));
        assert_eq!(own.place(&Wanted::Tail(10)), Some(0..10));
        for wanted in [Wanted::Range(9..12), Wanted::Range(12..21), Wanted::Tail(11), Wanted::Tail(u64::MAX)]
        {
            assert_eq!(own.place(&wanted), None, "{wanted:?}");
        }
        assert_eq!(segment(10..20, None).place(&Wanted::Tail(4)), None);
        assert_eq!(segment(10..20, Some(30)).place(&Wanted::Tail(4)), None);
        assert_eq!(segment(0..20, Some(20)).place(&Wanted::Tail(u64::MAX)), Some(0..20));
    }

    #[test]
    fn a_request_without_bytes_is_for_the_storage() {
        let requests = [Request::Tail("a".into(), 0), Request::range("a", 3..3), Request::List("a".into())];
        assert!(requests.iter().all(|request| Wanted::of(request).is_none()));
    }
}
