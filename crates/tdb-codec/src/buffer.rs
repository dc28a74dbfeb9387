//! Byte buffers that can be viewed as slices of any machine type without a copy.

use core::fmt;

use bytemuck::Pod;

use crate::num::to_u64;

/// A growable byte buffer whose first byte is aligned for every [`Native`](crate::Native) type.
///
/// Decoded cells land here, and callers see them as `&[i32]`, `&[f64]`, … without a copy:
///
/// ```
/// use tdb_codec::Buffer;
///
/// let mut buffer = Buffer::zeroed(8);
/// buffer.as_mut_slice().copy_from_slice(&[1, 0, 0, 0, 2, 0, 0, 0]);
/// assert_eq!(buffer.values::<i32>(), Some(&[1, 2][..]));
/// assert_eq!(buffer.values::<u64>().map(<[u64]>::len), Some(1));
/// ```
#[derive(Clone, Default)]
pub struct Buffer {
    /// At least as long as `len` needs.
    words: Vec<u64>,
    len: usize,
}

impl Buffer {
    /// An empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self { words: Vec::new(), len: 0 }
    }

    /// `len` zero bytes. Fresh memory comes zeroed from the system, so this costs no pass over it.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        Self { words: vec![0; len.div_ceil(8)], len }
    }

    /// `len` zero bytes, or `None` where the system does not have that much: for sizes that a file or a query
    /// asks for.
    #[must_use]
    pub fn try_zeroed(len: usize) -> Option<Self> {
        // Asking first and allocating zeroed memory afterwards keeps the pages untouched until they are used.
        Vec::<u64>::new().try_reserve_exact(len.div_ceil(8)).ok()?;
        Some(Self::zeroed(len))
    }

    /// Room for `len` bytes.
    #[must_use]
    pub fn with_capacity(len: usize) -> Self {
        Self { words: Vec::with_capacity(len.div_ceil(8)), len: 0 }
    }

    /// Number of bytes.
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
        self.words.capacity().saturating_mul(8)
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

    /// Makes the buffer `len` bytes long, with whatever bytes happen to be there: for memory that is reused and
    /// about to be overwritten. Costs nothing if the buffer was ever that long.
    pub fn reset(&mut self, len: usize) {
        if self.words.len() < len.div_ceil(8) {
            // Nothing is kept, so fresh zeroed memory is cheaper than growing.
            self.words = vec![0; len.div_ceil(8)];
        }
        self.len = len;
    }

    /// Appends bytes.
    pub fn extend_from_slice(&mut self, bytes: &[u8]) {
        let old = self.len;
        let new = old.saturating_add(bytes.len());
        self.grow(new);
        self.len = new;
        if let Some(slot) = self.as_mut_slice().get_mut(old..) {
            slot.copy_from_slice(bytes);
        }
    }

    fn grow(&mut self, len: usize) {
        let words = len.div_ceil(8);
        if words > self.words.len() {
            if words > self.words.capacity() {
                let target = words.max(self.words.capacity().saturating_mul(2));
                self.words.reserve_exact(target.saturating_sub(self.words.len()));
            }
            self.words.resize(words, 0);
        }
    }

    /// The bytes.
    #[must_use]
    pub fn as_slice(&self) -> &[u8] {
        bytemuck::cast_slice::<u64, u8>(&self.words).get(..self.len).unwrap_or_default()
    }

    /// The bytes, writable.
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        let len = self.len;
        bytemuck::cast_slice_mut::<u64, u8>(&mut self.words).get_mut(..len).unwrap_or_default()
    }

    /// The bytes as values of `T`, in this machine's byte order; `None` if the length is no multiple of
    /// the size of `T`.
    #[must_use]
    pub fn values<T: Pod>(&self) -> Option<&[T]> {
        bytemuck::try_cast_slice(self.as_slice()).ok()
    }

    /// The bytes as writable values of `T`; `None` if the length is no multiple of the size of `T`.
    #[must_use]
    pub fn values_mut<T: Pod>(&mut self) -> Option<&mut [T]> {
        bytemuck::try_cast_slice_mut(self.as_mut_slice()).ok()
    }

    /// The bytes as a `Vec`, copied.
    #[must_use]
    pub fn to_vec(&self) -> Vec<u8> {
        self.as_slice().to_vec()
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
        Self { words, len }
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
