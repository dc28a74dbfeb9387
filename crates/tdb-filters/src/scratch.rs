//! Working memory that a worker reuses for each chunk.

use core::cell::Cell;

use tdb_codec::{Budget, Writer, to_u64};

use crate::error::{ErrorKind, Kind};
use crate::kernels::Planes;

/// Buffers and codec contexts, reused for each chunk. Each worker owns one. It is [`Send`], and it
/// is not tied to a decoder, tile or field.
///
/// ```
/// fn is_send<T: Send>() {}
/// is_send::<tdb_filters::Scratch>();
/// ```
#[derive(Default)]
pub struct Scratch {
    pub(crate) data: [Vec<u8>; 2],
    pub(crate) metadata: [Vec<u8>; 2],
    pub(crate) blocks: Blocks,
    pub(crate) codecs: Codecs,
}

impl Scratch {
    /// Empty working memory; it grows with use.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Gives an encoder its source of nonces, for pipelines that encrypt. `nonces` must never
    /// return the same value twice under one key, in any process: use 12 random bytes of the
    /// operating system.
    #[must_use]
    pub fn with_nonces(mut self, nonces: impl FnMut() -> [u8; 12] + Send + 'static) -> Self {
        self.codecs.nonces = Some(Box::new(nonces));
        self
    }

    /// Bytes held by the buffers (codec contexts not counted).
    #[must_use]
    pub fn capacity(&self) -> usize {
        let blocks = self.blocks.parts.iter().chain(&self.blocks.spare);
        self.data.iter().chain(&self.metadata).chain(blocks).map(Vec::capacity).sum()
    }

    /// Frees the buffers' memory.
    pub fn clear(&mut self) {
        self.data = Default::default();
        self.metadata = Default::default();
        self.blocks = Blocks::default();
    }
}

impl core::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Scratch").field("capacity", &self.capacity()).finish_non_exhaustive()
    }
}

/// The metadata of a chunk that is being encoded, and the buffers of earlier ones.
#[derive(Default)]
pub(crate) struct Blocks {
    /// One for each filter, oldest first.
    parts: Vec<Vec<u8>>,
    spare: Vec<Vec<u8>>,
}

impl Blocks {
    /// A block for the next filter.
    pub(crate) fn begin(&mut self) -> Writer {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.clear();
        Writer::from(bytes)
    }

    /// Adds what the filter has written.
    pub(crate) fn push(&mut self, block: Writer) {
        self.parts.push(block.into_vec());
    }

    /// Drops the current blocks: they have become data, or belong to another chunk.
    pub(crate) fn clear(&mut self) {
        self.spare.append(&mut self.parts);
    }

    /// Whether there are blocks.
    pub(crate) fn any(&self) -> bool {
        !self.parts.is_empty()
    }

    /// The blocks in their order on disk: the most recent first.
    pub(crate) fn latest_first(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.parts.iter().rev().map(Vec::as_slice)
    }
}

/// Creates a nonce for each part: 12 random bytes, which must never repeat under one key.
pub(crate) type Nonces = Box<dyn FnMut() -> [u8; NONCE] + Send>;

/// Bytes of a nonce.
pub(crate) const NONCE: usize = 12;

/// Codec contexts, which are expensive to create; each is created on first use.
#[derive(Default)]
pub(crate) struct Codecs {
    pub(crate) nonces: Option<Nonces>,
    planes: Option<Box<Planes>>,
    #[cfg(feature = "gzip")]
    pub(crate) inflate: Option<flate2::Decompress>,
    #[cfg(feature = "gzip")]
    pub(crate) deflate: Option<(u32, flate2::Compress)>,
    #[cfg(feature = "lz4")]
    pub(crate) lz4: Option<Box<crate::lz4_block::Window>>,
    #[cfg(any(feature = "zstd", feature = "zstd-rust"))]
    pub(crate) zstd: crate::zstd_library::Contexts,
}

impl Codecs {
    /// The buffer of a bit shuffle. It is zeroed once, not for each chunk.
    pub(crate) fn planes(&mut self) -> &mut Planes {
        self.planes.get_or_insert_default()
    }
}

/// The `len` bytes of `buffer` from `at` on. The buffer grows only if it is too short: its contents
/// are about to be overwritten, and zeroing it for each chunk would take as long as some filters.
pub(crate) fn room(buffer: &mut Vec<u8>, at: usize, len: usize) -> &mut [u8] {
    let end = at.saturating_add(len);
    if buffer.len() < end {
        buffer.resize(end, 0);
    }
    buffer.get_mut(at..end).unwrap_or_default()
}

/// The bytes that one chunk has charged to the budget. They are released at the end of the chunk.
pub(crate) struct Charge<'b> {
    budget: &'b Budget,
    taken: Cell<u64>,
}

impl<'b> Charge<'b> {
    pub(crate) const fn new(budget: &'b Budget) -> Self {
        Self { budget, taken: Cell::new(0) }
    }

    /// Charges `len` bytes for the time of the chunk.
    pub(crate) fn charge(&self, len: usize) -> Kind<()> {
        let size = to_u64(len);
        self.budget.charge(size).map_err(|_| ErrorKind::OverBudget { size })?;
        self.taken.set(self.taken.get().saturating_add(size));
        Ok(())
    }

    /// Makes `buffer` at least `len` bytes long, after charging `len`, and returns exactly `len`
    /// bytes.
    pub(crate) fn grow<'v>(&self, buffer: &'v mut Vec<u8>, len: usize) -> Kind<&'v mut [u8]> {
        self.charge(len)?;
        Ok(room(buffer, 0, len))
    }
}

impl Drop for Charge<'_> {
    fn drop(&mut self) {
        self.budget.release(self.taken.get());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capacity_is_what_all_buffers_hold_and_is_shown() {
        let mut scratch = Scratch::new();
        assert_eq!(scratch.capacity(), 0);
        scratch.data = [Vec::with_capacity(100), Vec::with_capacity(20)];
        scratch.metadata = [Vec::new(), Vec::with_capacity(3)];
        scratch.blocks.push(Vec::with_capacity(4000).into());
        scratch.blocks.clear();
        scratch.blocks.push(Vec::with_capacity(50_000).into());
        assert_eq!(scratch.capacity(), 54_123);
        assert_eq!(format!("{scratch:?}"), "Scratch { capacity: 54123, .. }");
        scratch.clear();
        assert_eq!(scratch.capacity(), 0);
    }

    #[test]
    fn the_buffer_of_a_bit_shuffle_is_made_once() {
        let mut codecs = Codecs::default();
        let first: *const Planes = codecs.planes();
        assert!(core::ptr::eq(first, codecs.planes()));
    }
}
