//! A cursor over a byte slice that knows its absolute position.

use crate::{Datatype, Error, ErrorKind, Result, Trace, to_u64, to_usize};

/// A cursor over bytes: every read is bounds-checked, named and located.
///
/// The name passed to each read is the field's name in the specification; it ends up in the error.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: u64,
    trace: Option<&'a Trace>,
}

impl<'a> Reader<'a> {
    /// A reader whose first byte is at offset 0.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self::with_offset(bytes, 0)
    }

    /// A reader whose first byte is at absolute offset `offset`.
    #[must_use]
    pub const fn with_offset(bytes: &'a [u8], offset: u64) -> Self {
        Self { rest: bytes, offset, trace: None }
    }

    /// The same reader, which also records in `trace` every field it reads.
    #[must_use]
    pub const fn traced(self, trace: &'a Trace) -> Self {
        Self { trace: Some(trace), ..self }
    }

    /// The same reader without its trace, for bytes that are already recorded.
    #[must_use]
    pub const fn untraced(self) -> Self {
        Self { trace: None, ..self }
    }

    /// Absolute offset of the next byte.
    #[inline]
    #[must_use]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Number of bytes left.
    #[inline]
    #[must_use]
    pub const fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Whether all bytes have been read.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The bytes not yet read.
    #[inline]
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error about the field `what` at the current offset.
    #[must_use]
    pub const fn error(&self, what: &'static str, kind: ErrorKind) -> Error {
        Error::new(what, self.offset, kind)
    }

    #[inline]
    fn note(&self, len: usize, what: &'static str) {
        if let Some(trace) = self.trace {
            trace.note(self.offset, len, what);
        }
    }

    /// Takes the next `len` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer are left.
    #[inline]
    pub fn take(&mut self, len: usize, what: &'static str) -> Result<&'a [u8]> {
        match self.rest.split_at_checked(len) {
            Some((head, tail)) => {
                self.note(len, what);
                self.rest = tail;
                self.offset = self.offset.saturating_add(to_u64(len));
                Ok(head)
            }
            None => {
                let missing = to_u64(len.saturating_sub(self.rest.len()));
                Err(self.error(what, ErrorKind::UnexpectedEnd { missing }))
            }
        }
    }

    /// Takes the next `len` bytes, where `len` came from the wire.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer are left.
    #[inline]
    pub fn take_u64(&mut self, len: u64, what: &'static str) -> Result<&'a [u8]> {
        match to_usize(len) {
            Some(len) => self.take(len, what),
            None => {
                let missing = len.saturating_sub(to_u64(self.rest.len()));
                Err(self.error(what, ErrorKind::UnexpectedEnd { missing }))
            }
        }
    }

    /// Takes `N` bytes as an array.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer are left.
    #[inline]
    pub fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N]> {
        match self.rest.split_first_chunk::<N>() {
            Some((head, tail)) => {
                self.note(N, what);
                self.rest = tail;
                self.offset = self.offset.saturating_add(to_u64(N));
                Ok(*head)
            }
            None => {
                let missing = to_u64(N.saturating_sub(self.rest.len()));
                Err(self.error(what, ErrorKind::UnexpectedEnd { missing }))
            }
        }
    }

    /// Reads one byte.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] at the end.
    #[inline]
    pub fn u8(&mut self, what: &'static str) -> Result<u8> {
        Ok(u8::from_le_bytes(self.array(what)?))
    }

    /// Reads a `bool`: one byte, 0 or 1.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for any other byte.
    pub fn bool(&mut self, what: &'static str) -> Result<bool> {
        let start = *self;
        match self.u8(what)? {
            0 => Ok(false),
            1 => Ok(true),
            other => Err(start.error(what, ErrorKind::InvalidValue { value: u64::from(other) })),
        }
    }

    /// Reads a little-endian `u16`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer than 2 bytes are left.
    #[inline]
    pub fn u16(&mut self, what: &'static str) -> Result<u16> {
        Ok(u16::from_le_bytes(self.array(what)?))
    }

    /// Reads a little-endian `u32`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer than 4 bytes are left.
    #[inline]
    pub fn u32(&mut self, what: &'static str) -> Result<u32> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    /// Reads a little-endian `i32`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer than 4 bytes are left.
    #[inline]
    pub fn i32(&mut self, what: &'static str) -> Result<i32> {
        Ok(i32::from_le_bytes(self.array(what)?))
    }

    /// Reads a little-endian `u64`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer than 8 bytes are left.
    #[inline]
    pub fn u64(&mut self, what: &'static str) -> Result<u64> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// Reads a little-endian `f32`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer than 4 bytes are left.
    #[inline]
    pub fn f32(&mut self, what: &'static str) -> Result<f32> {
        Ok(f32::from_le_bytes(self.array(what)?))
    }

    /// Reads a little-endian `f64`.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer than 8 bytes are left.
    #[inline]
    pub fn f64(&mut self, what: &'static str) -> Result<f64> {
        Ok(f64::from_le_bytes(self.array(what)?))
    }

    /// Reads a datatype code (`u8`).
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] for a code the format does not define.
    pub fn datatype(&mut self, what: &'static str) -> Result<Datatype> {
        let start = *self;
        let code = self.u8(what)?;
        Datatype::from_code(code)
            .ok_or_else(|| start.error(what, ErrorKind::InvalidValue { value: u64::from(code) }))
    }

    /// Reads a one-byte code and looks it up with `decode`.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidValue`] if `decode` does not know the code.
    pub fn code<T>(&mut self, what: &'static str, decode: impl FnOnce(u8) -> Option<T>) -> Result<T> {
        let start = *self;
        let code = self.u8(what)?;
        decode(code).ok_or_else(|| start.error(what, ErrorKind::InvalidValue { value: u64::from(code) }))
    }

    /// Reads a `u32` count of items that take at least `min_item_size` bytes each. The bytes that
    /// are left bound the result, so it is safe to use as a capacity.
    ///
    /// # Errors
    /// [`ErrorKind::CountTooLarge`] if the remaining bytes cannot hold that many items.
    pub fn count_u32(&mut self, min_item_size: usize, what: &'static str) -> Result<usize> {
        let start = *self;
        let count = u64::from(self.u32(what)?);
        self.bounded(start, count, min_item_size, what)
    }

    /// Reads a `u64` count of items that take at least `min_item_size` bytes each; see
    /// [`Self::count_u32`].
    ///
    /// # Errors
    /// [`ErrorKind::CountTooLarge`] if the remaining bytes cannot hold that many items.
    pub fn count_u64(&mut self, min_item_size: usize, what: &'static str) -> Result<usize> {
        let start = *self;
        let count = self.u64(what)?;
        self.bounded(start, count, min_item_size, what)
    }

    fn bounded(&self, start: Self, count: u64, min_item_size: usize, what: &'static str) -> Result<usize> {
        let max = self.remaining().checked_div(min_item_size).unwrap_or(usize::MAX);
        match to_usize(count) {
            Some(count) if count <= max => Ok(count),
            _ => Err(start.error(what, ErrorKind::CountTooLarge { count })),
        }
    }

    /// Reads a `u32` length and that many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer bytes are left.
    pub fn bytes_u32(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let len = self.u32(what)?;
        self.take_u64(u64::from(len), what)
    }

    /// Reads a `u64` length and that many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer bytes are left.
    pub fn bytes_u64(&mut self, what: &'static str) -> Result<&'a [u8]> {
        let len = self.u64(what)?;
        self.take_u64(len, what)
    }

    /// Reads a `u32` length and a name of that many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`], or [`ErrorKind::InvalidUtf8`].
    pub fn string_u32(&mut self, what: &'static str) -> Result<String> {
        let bytes = self.bytes_u32(what)?;
        self.utf8(bytes, what)
    }

    /// Reads a `u64` length and a name of that many bytes.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`], or [`ErrorKind::InvalidUtf8`].
    pub fn string_u64(&mut self, what: &'static str) -> Result<String> {
        let bytes = self.bytes_u64(what)?;
        self.utf8(bytes, what)
    }

    fn utf8(&self, bytes: &[u8], what: &'static str) -> Result<String> {
        core::str::from_utf8(bytes).map(str::to_owned).map_err(|error| {
            let offset = self.offset.saturating_sub(to_u64(bytes.len()));
            let valid_up_to = to_u64(error.valid_up_to());
            Error::new(what, offset, ErrorKind::InvalidUtf8 { valid_up_to })
        })
    }

    /// Reads `count` little-endian `u64`s; `count` is compared with the bytes that are left before
    /// any memory is allocated.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] or [`ErrorKind::Overflow`].
    pub fn u64s(&mut self, count: usize, what: &'static str) -> Result<Vec<u64>> {
        let len = count
            .checked_mul(8)
            .ok_or_else(|| self.error(what, ErrorKind::Overflow { value: to_u64(count) }))?;
        let bytes = self.take(len, what)?;
        Ok(bytes.as_chunks::<8>().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect())
    }

    /// A reader over the next `len` bytes, which this reader skips. The sub-reader cannot see past
    /// them.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEnd`] if fewer are left.
    pub fn sub(&mut self, len: u64, what: &'static str) -> Result<Self> {
        let offset = self.offset;
        // The trace records the fields inside the region, not the region as a whole.
        let trace = self.trace.take();
        let bytes = self.take_u64(len, what);
        self.trace = trace;
        Ok(Self { rest: bytes?, offset, trace })
    }

    /// Checks that a structure ends here.
    ///
    /// # Errors
    /// [`ErrorKind::TrailingBytes`] if bytes are left.
    pub const fn finish(&self, what: &'static str) -> Result<()> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(self.error(what, ErrorKind::TrailingBytes { count: to_u64(self.rest.len()) }))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn offsets_are_absolute_in_sub_readers() {
        let bytes = [0u8; 16];
        let mut reader = Reader::with_offset(&bytes, 100);
        reader.u32("skip").unwrap();
        let mut sub = reader.sub(8, "region").unwrap();
        sub.u64("inside").unwrap();
        let error = sub.u8("past the region").unwrap_err();
        assert_eq!((error.offset, error.kind), (112, ErrorKind::UnexpectedEnd { missing: 1 }));
        assert_eq!(reader.offset(), 112);
        assert_eq!(reader.remaining(), 4);
    }

    #[test]
    fn hostile_counts_are_refused_before_they_become_capacities() {
        let bytes = u64::MAX.to_le_bytes();
        let error = Reader::new(&bytes).count_u64(1, "tiles").unwrap_err();
        assert_eq!(error.kind, ErrorKind::CountTooLarge { count: u64::MAX });
        assert_eq!(error.offset, 0);
        let error = Reader::new(&bytes).bytes_u64("name").unwrap_err();
        assert_eq!(error.kind, ErrorKind::UnexpectedEnd { missing: u64::MAX });
        assert!(Reader::new(&bytes).u64s(usize::MAX, "offsets").is_err());
    }

    #[test]
    fn trailing_bytes_are_refused() {
        let mut reader = Reader::new(&[1, 2, 3]);
        reader.u8("x").unwrap();
        let error = reader.finish("structure").unwrap_err();
        assert_eq!((error.offset, error.kind), (1, ErrorKind::TrailingBytes { count: 2 }));
    }

    #[test]
    fn booleans_and_datatypes_other_than_the_defined_ones_are_refused() {
        let error = Reader::with_offset(&[7], 5).bool("nullable").unwrap_err();
        assert_eq!((error.offset, error.kind), (5, ErrorKind::InvalidValue { value: 7 }));
        let error = Reader::new(&[200]).datatype("type").unwrap_err();
        assert_eq!((error.offset, error.kind), (0, ErrorKind::InvalidValue { value: 200 }));
    }

    #[test]
    fn names_must_be_utf8_and_say_where_they_are_not() {
        let bytes = [3, 0, 0, 0, b'a', 0xff, b'c'];
        let error = Reader::new(&bytes).string_u32("name").unwrap_err();
        assert_eq!((error.offset, error.kind), (4, ErrorKind::InvalidUtf8 { valid_up_to: 1 }));
    }

    proptest! {
        #[test]
        fn reads_never_panic_and_never_go_past_the_end(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            let mut reader = Reader::new(&bytes);
            while reader.u32("x").is_ok() {
                let _ = reader.bytes_u32("s");
            }
            prop_assert!(reader.offset() <= bytes.len() as u64);
        }
    }

    #[test]
    fn a_reader_knows_where_it_is_and_what_is_left() {
        let mut reader = Reader::with_offset(&[1, 2, 3], 50);
        assert_eq!(reader.take(2, "pair").unwrap(), [1, 2]);
        assert_eq!((reader.offset(), reader.remaining(), reader.rest()), (52, 1, &[3][..]));
        assert!(!reader.is_empty());
        assert_eq!(reader.take(3, "three").unwrap_err().kind, ErrorKind::UnexpectedEnd { missing: 2 });
        assert_eq!(reader.u32("number").unwrap_err().kind, ErrorKind::UnexpectedEnd { missing: 3 });
        assert_eq!((reader.u8("last"), reader.offset(), reader.is_empty()), (Ok(3), 53, true));
        assert_eq!(reader.finish("structure"), Ok(()));
    }

    #[test]
    fn booleans_and_codes_are_read_as_what_they_mean() {
        let mut reader = Reader::new(&[0, 1, 4, 9]);
        assert_eq!((reader.bool("no"), reader.bool("yes")), (Ok(false), Ok(true)));
        assert_eq!(reader.datatype("type"), Ok(Datatype::Char));
        let error = reader.code("code", |code| (code < 9).then_some(code)).unwrap_err();
        assert_eq!((error.offset, error.kind), (3, ErrorKind::InvalidValue { value: 9 }));
        assert_eq!(Reader::new(&[8]).code("code", |code| (code < 9).then_some(code)), Ok(8));
    }

    #[test]
    fn a_count_may_be_as_large_as_the_bytes_that_are_left_allow() {
        let bytes = [2, 0, 0, 0, 1, 1, 2, 2];
        assert_eq!(Reader::new(&bytes).count_u32(2, "pairs"), Ok(2));
        let error = Reader::with_offset(&bytes, 7).count_u32(3, "triples").unwrap_err();
        assert_eq!((error.offset, error.kind), (7, ErrorKind::CountTooLarge { count: 2 }));
        let words = [1u64, 5].map(u64::to_le_bytes).concat();
        assert_eq!(Reader::new(&words).count_u64(8, "words"), Ok(1));
        assert!(Reader::new(&words).count_u64(9, "words").is_err());
    }

    #[test]
    fn strings_and_words_have_their_length_before_them() {
        let mut reader = Reader::new(b"\x02\0\0\0ab\x01\0\0\0\0\0\0\0c\x07\0\0\0\0\0\0\0");
        assert_eq!(reader.string_u32("name").unwrap(), "ab");
        assert_eq!(reader.string_u64("path").unwrap(), "c");
        assert_eq!(reader.u64s(1, "words").unwrap(), [7]);
        assert_eq!(reader.u64s(1, "words").unwrap_err().kind, ErrorKind::UnexpectedEnd { missing: 8 });
        let error = Reader::new(&[]).u64s(usize::MAX, "words").unwrap_err();
        assert_eq!(error.kind, ErrorKind::Overflow { value: u64::MAX });
    }

    #[test]
    fn a_trace_has_every_field_that_was_read_and_no_other() {
        let trace = Trace::new();
        let bytes = [0; 12];
        let mut reader = Reader::with_offset(&bytes, 10).traced(&trace);
        reader.u16("a").unwrap();
        let mut sub = reader.sub(4, "region").unwrap();
        sub.take(3, "b").unwrap();
        reader.untraced().u8("unseen").unwrap();
        reader.u8("c").unwrap();
        assert!(reader.u64("too long").is_err());
        let fields: Vec<(u64, u64, &str)> =
            trace.fields().iter().map(|field| (field.offset, field.len, field.what)).collect();
        assert_eq!(fields, [(10, 2, "a"), (12, 3, "b"), (16, 1, "c")]);
    }
}
