//! Byte buffers that can be viewed as slices of any machine type without a copy.

use core::fmt;

use bytemuck::Pod;

use crate::num::to_u64;

/// Memory that was not allocated by this crate, for example pages obtained from the operating
/// system. Its bytes never move, and their number never changes.
pub trait Memory: Send + Sync {
    /// The bytes.
    fn bytes(&self) -> &[u8];

    /// The bytes, writable.
    fn bytes_mut(&mut self) -> &mut [u8];
}

/// A growable byte buffer whose first byte is aligned for every [`Native`](crate::Native) type.
///
/// It holds decoded cells, and callers see them as `&[i32]`, `&[f64]`, … without a copy:
///
/// ```
/// use tdb_codec::Buffer;
///
/// let mut buffer = Buffer::zeroed(8);
/// buffer.as_mut_slice().copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
/// assert_eq!(buffer.values::<i32>(), Some(&[1, 2][..]));
/// assert_eq!(buffer.values::<u64>().map(<[u64]>::len), Some(1));
/// ```
#[derive(Default)]
pub struct Buffer {
    /// Long enough for `len` bytes, unless `brought` is used.
    words: Vec<u64>,
    /// Memory supplied by the caller, long enough for `len` bytes. `words` is then empty.
    brought: Option<Box<dyn Memory>>,
    len: usize,
}

impl Buffer {
    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new(), brought: None, len: 0 }
    }

    /// `len` zero bytes. The system returns fresh memory zeroed, so no pass over it is needed.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(8)], brought: None, len }
    }

    /// `len` zero bytes, or `None` if the system does not have that much memory. For sizes that
    /// come from a file or a query.
    #[must_use]
    pub fn try_zeroed(len: usize) -> Option<Self> {
        // Reserving first and allocating zeroed memory afterwards leaves the pages untouched until
        // they are used.
        Vec::<u64>::new().try_reserve_exact(len.div_ceil(8)).ok()?;
        Some(Self::zeroed(len))
    }

    /// An empty buffer with capacity for `len` bytes.
    #[must_use]
    pub fn with_capacity(len: usize) -> Self {
        Self { words: Vec::with_capacity(len.div_ceil(8)), brought: None, len: 0 }
    }

    /// The bytes of `memory`, all of them. `None` if their start is not aligned to eight bytes.
    #[must_use]
    pub fn from_memory(memory: Box<dyn Memory>) -> Option<Self> {
        let bytes = memory.bytes();
        if bytes.as_ptr().align_offset(8) != 0 {
            return None;
        }
        let len = bytes.len();
        Some(Self { words: Vec::new(), brought: Some(memory), len })
    }

    /// Number of bytes.
    #[inline]
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes held by the allocation.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match &self.brought {
            Some(memory) => memory.bytes().len(),
            None => self.words.capacity().saturating_mul(8),
        }
    }

    /// Makes the buffer `len` bytes long; new bytes are zero.
    pub fn resize(&mut self, len: usize) {
        let old = self.len;
        self.grow(len);
        self.len = len;
        if let Some(new) = self.as_mut_slice().get_mut(old..) {
            new.fill(0);
        }
    }

    /// Makes the buffer `len` bytes long with unspecified contents: for reused memory that is about
    /// to be overwritten. Costs nothing if the buffer was ever that long.
    pub fn reset(&mut self, len: usize) {
        if self.room() < len {
            // The old contents are not kept, so fresh zeroed memory is cheaper than growing.
            *self = Self::zeroed(len);
        }
        self.len = len;
    }

    /// Appends bytes.
    #[inline]
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let old = self.len;
        let new = old.saturating_add(bytes.len());
        self.grow(new);
        self.len = new;
        if let Some(slot) = self.as_mut_slice().get_mut(old..) {
            slot.copy_from_slice(bytes);
        }
    }

    /// The number of bytes available without growing.
    fn room(&self) -> usize {
        match &self.brought {
            Some(memory) => memory.bytes().len(),
            None => self.words.len().saturating_mul(8),
        }
    }

    fn grow(&mut self, len: usize) {
        let words = len.div_ceil(8);
        if let Some(memory) = &self.brought {
            if memory.bytes().len() >= len {
                return;
            }
            // This memory cannot grow, so its contents move to memory that can.
            let mut grown = Self::with_capacity(len.max(self.len.saturating_mul(2)));
            grown.extend_from_slice(self.as_slice());
            *self = grown;
        }
        if words > self.words.len() {
            if words > self.words.capacity() {
                let target = words.max(self.words.capacity().saturating_mul(2));
                self.words.reserve_exact(target.saturating_sub(self.words.len()));
            }
            self.words.resize(words, 0);
        }
    }

    /// The bytes.
    #[inline]
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        let bytes = match &self.brought {
            Some(memory) => memory.bytes(),
            None => bytemuck::cast_slice::<u64, u8>(&self.words),
        };
        bytes.get(..self.len).unwrap_or_default()
    }

    /// The bytes, writable.
    #[inline]
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let bytes = match &mut self.brought {
            Some(memory) => memory.bytes_mut(),
            None => bytemuck::cast_slice_mut::<u64, u8>(&mut self.words),
        };
        bytes.get_mut(..self.len).unwrap_or_default()
    }

    /// The bytes as values of `T`, in this machine's byte order; `None` if the length is not a
    /// multiple of the size of `T`.
    #[inline]
    #[must_use]
    pub fn values<T: Pod>(&self) -> Option<&[T]> {
        bytemuck::try_cast_slice(self.as_slice()).ok()
    }

    /// The bytes as writable values of `T`; `None` if the length is not a multiple of the size of
    /// `T`.
    #[must_use]
    pub fn values_mut<T: Pod>(&mut self) -> Option<&mut [T]> {
        bytemuck::try_cast_slice_mut(self.as_mut_slice()).ok()
    }

    /// A copy of the bytes.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.as_slice().to_vec()
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::from(self.as_slice())
    }
}

impl AsRef<[u8]> for Buffer {
    fn as_ref(&self) -> &[u8] {
        self.as_slice()
    }
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Self {
        let mut buffer = Self::with_capacity(bytes.len());
        buffer.extend_from_slice(bytes);
        buffer
    }
}

impl From<Vec<u64>> for Buffer {
    fn from(words: Vec<u64>) -> Self {
        let len = words.len().saturating_mul(8);
        Self { words, brought: None, len }
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for Buffer {}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", to_u64(self.len))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Eight-byte words, or the same memory from its second byte on.
    struct Words(Vec<u64>, usize);

    impl Memory for Words {
        fn bytes(&self) -> &[u8] {
            &bytemuck::cast_slice(&self.0)[self.1..]
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut bytemuck::cast_slice_mut(&mut self.0)[self.1..]
        }
    }

    #[test]
    fn memory_that_was_brought_along_is_used_where_it_lies_until_it_is_too_small() {
        let mut buffer = Buffer::from_memory(Box::new(Words(vec![7; 4], 0))).unwrap();
        let start = buffer.as_slice().as_ptr();
        assert_eq!(buffer.values::<u64>().unwrap(), [7; 4]);
        buffer.reset(9);
        buffer.extend_from_slice(&[1; 23]);
        assert_eq!((buffer.len(), buffer.as_slice().as_ptr()), (32, start));
        let before = buffer.clone();
        assert_eq!(before, buffer);
        buffer.extend_from_slice(&[2]);
        assert_ne!(buffer.as_slice().as_ptr(), start);
        assert_eq!(buffer.as_slice().split_last(), Some((&2, before.as_slice())));
        assert!(Buffer::from_memory(Box::new(Words(vec![7; 4], 1))).is_none());
    }

    #[test]
    fn memory_that_was_brought_along_is_given_up_for_what_it_cannot_hold() {
        let mut buffer = Buffer::from_memory(Box::new(Words(vec![7; 4], 0))).unwrap();
        buffer.reset(33);
        assert_eq!(buffer.as_slice(), [0; 33]);
    }

    #[test]
    fn a_buffer_grows_by_halves_keeps_its_bytes_and_says_what_it_holds() {
        let mut buffer = Buffer::with_capacity(9);
        assert_eq!((buffer.len(), buffer.is_empty(), buffer.capacity()), (0, true, 16));
        buffer.extend_from_slice(&[1, 2, 3]);
        assert_eq!((buffer.len(), buffer.is_empty(), buffer.capacity()), (3, false, 16));
        buffer.extend_from_slice(&[4; 20]);
        assert_eq!((buffer.len(), buffer.capacity()), (23, 32), "twice the memory");
        assert_eq!(buffer.to_vec(), [&[1, 2, 3][..], &[4; 20]].concat());
        assert_eq!(format!("{buffer:?}"), "Buffer(23 bytes)");
        let copy = buffer.clone();
        assert_eq!(copy.as_ref(), buffer.as_slice());
        buffer.as_mut_slice()[0] = 9;
        assert_ne!(copy, buffer);
        let mut full = Buffer::with_capacity(16);
        full.extend_from_slice(&[1; 16]);
        assert_eq!(full.capacity(), 16, "there was room for the last byte");
    }

    #[test]
    fn a_buffer_that_was_long_enough_is_not_allocated_again() {
        let mut buffer = Buffer::zeroed(24);
        let start = buffer.as_slice().as_ptr();
        buffer.reset(7);
        buffer.reset(24);
        assert_eq!((buffer.as_slice().as_ptr(), buffer.len()), (start, 24));
        buffer.reset(25);
        assert_eq!((buffer.as_slice(), buffer.capacity()), (&[0; 25][..], 32));
        assert_eq!(Buffer::try_zeroed(5).unwrap().as_slice(), [0; 5]);
        assert!(Buffer::try_zeroed(usize::MAX).is_none());
    }

    #[test]
    fn bytes_are_values_of_a_type_whose_size_divides_their_number() {
        let mut buffer = Buffer::from(vec![1u64.to_le(), 2u64.to_le()]);
        assert_eq!((buffer.len(), buffer.values::<u64>()), (16, Some(&[1u64.to_le(), 2u64.to_le()][..])));
        buffer.values_mut::<u64>().unwrap()[1] = 0;
        buffer.resize(12);
        assert_eq!(buffer.values::<u64>(), None);
        assert_eq!(buffer.values::<u32>(), Some(&[1u32.to_le(), 0, 0][..]));
        assert!(buffer.values_mut::<u64>().is_none());
    }

    proptest! {
        #[test]
        fn behaves_like_a_vec(parts in proptest::collection::vec(
            (proptest::collection::vec(1u8.., 0..20), 0usize..60), 0..8)) {
            let mut buffer = Buffer::new();
            let mut model = Vec::new();
            for (part, len) in parts {
                buffer.extend_from_slice(&part);
                model.extend_from_slice(&part);
                prop_assert_eq!(buffer.as_slice(), &model[..]);
                buffer.resize(len);
                model.resize(len, 0);
                prop_assert_eq!(buffer.as_slice(), &model[..]);
            }
        }
    }
}
