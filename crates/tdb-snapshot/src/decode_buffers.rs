//! Buffers and codecs for decoding tiles: those of a thread, and a pool of those that are not in
//! use.

use core::ops::{Deref, DerefMut};
use std::sync::Mutex;

use tdb_codec::Buffer;
use tdb_filters::{CodedStrings, Scratch};

use crate::Result;
use crate::buffers::{VarTile, unfilled};
use crate::thresholds::{MAX_POOLED, MAX_POOLED_BYTES, MAX_SPARE_BUFFERS};

/// Buffers and codecs that a thread keeps between tiles, so that page faults for their memory occur
/// only once.
#[derive(Debug, Default)]
pub struct DecodeBuffers {
    /// Buffers and codec states for filters.
    pub scratch: Scratch,
    pub(crate) raw: Buffer,
    /// A buffer for a decoded tile.
    pub tile: Buffer,
    /// A buffer for a decoded tile from which cells are picked.
    pub cells: Buffer,
    /// A buffer for a decoded tile of strings.
    pub strings: VarTile,
    /// A buffer for strings that are stored as codes.
    pub coded: CodedStrings,
    /// A buffer for strings that are stored with their lengths.
    pub text: Vec<u8>,
    /// Buffers for decoded tiles of several columns.
    spare: Vec<Buffer>,
    /// How many threads may decode the chunks of a tile, this one included; 0 as 1.
    pub(crate) threads: usize,
}

/// The buffers and threads for decoding the chunks of a tile.
pub(crate) struct DecodeResources<'t> {
    pub(crate) scratch: &'t mut Scratch,
    /// A buffer for the stored bytes.
    pub(crate) raw: &'t mut Buffer,
    /// How many threads may decode them, this one included; 0 as 1.
    pub(crate) threads: usize,
}

/// The buffers for decoding the chunks of a tile one after another, where each is passed on.
pub(crate) struct ChunkBuffers<'t> {
    pub(crate) scratch: &'t mut Scratch,
    /// A buffer for the stored bytes.
    pub(crate) raw: &'t mut Buffer,
    /// A buffer for a decoded chunk.
    pub(crate) chunk: &'t mut Buffer,
}

impl DecodeBuffers {
    /// The buffers and threads for decoding a tile.
    pub(crate) const fn resources(&mut self) -> DecodeResources<'_> {
        DecodeResources { scratch: &mut self.scratch, raw: &mut self.raw, threads: self.threads }
    }

    /// The buffers for decoding single chunks of a tile.
    pub(crate) const fn for_chunks(&mut self) -> ChunkBuffers<'_> {
        ChunkBuffers { scratch: &mut self.scratch, raw: &mut self.raw, chunk: &mut self.tile }
    }

    /// A buffer of `len` bytes with arbitrary contents.
    pub fn take_buffer(&mut self, len: usize) -> Result<Buffer> {
        let large = self.spare.iter().position(|buffer| buffer.capacity() >= len);
        let Some(at) = large else { return unfilled(len) };
        let mut buffer = self.spare.swap_remove(at);
        buffer.reset(len);
        Ok(buffer)
    }

    /// Takes back a buffer that is no longer needed.
    pub fn give_back(&mut self, buffer: Buffer) {
        if self.spare.len() < MAX_SPARE_BUFFERS {
            self.spare.push(buffer);
        }
    }
}

/// The buffers of a thread, from the pool of the process: creating them costs more than everything
/// else in a small query.
#[derive(Debug)]
pub struct PooledBuffers(DecodeBuffers);

/// The pool: buffers that are not in use.
static IDLE: Mutex<Vec<DecodeBuffers>> = Mutex::new(Vec::new());

impl PooledBuffers {
    /// Returns a function that makes the buffers of each thread that works on some jobs. If there
    /// are fewer jobs than threads, each may start other threads for the chunks of a tile.
    pub fn sharing(threads: usize, jobs: usize) -> impl Fn() -> Self + Sync {
        let each = threads.checked_div(jobs).unwrap_or(1);
        move || {
            let mut buffers = Self::default();
            buffers.threads = each;
            buffers
        }
    }
}

impl Default for PooledBuffers {
    fn default() -> Self {
        // Never wait: if the lock is held (by another thread, or since before a fork), new buffers
        // are created instead.
        let idle = IDLE.try_lock().ok().and_then(|mut idle| idle.pop());
        Self(idle.unwrap_or_default())
    }
}

impl Drop for PooledBuffers {
    fn drop(&mut self) {
        let mut buffers = core::mem::take(&mut self.0);
        buffers.threads = 1;
        let own = [&mut buffers.raw, &mut buffers.tile, &mut buffers.cells, &mut buffers.strings.values];
        for buffer in own {
            if buffer.capacity() > MAX_POOLED_BYTES {
                *buffer = Buffer::new();
            }
        }
        if buffers.strings.offsets.capacity() > MAX_POOLED_BYTES / 8 {
            buffers.strings.offsets = Vec::new();
        }
        let coded = &buffers.coded;
        let entries = coded.starts.capacity().saturating_mul(2).saturating_add(coded.codes.capacity());
        if coded.values.capacity() > MAX_POOLED_BYTES || entries > MAX_POOLED_BYTES / 4 {
            buffers.coded = CodedStrings::default();
        }
        if buffers.text.capacity() > MAX_POOLED_BYTES {
            buffers.text = Vec::new();
        }
        buffers.spare.retain(|buffer| buffer.capacity() <= MAX_POOLED_BYTES);
        buffers.spare.truncate(2);
        if buffers.scratch.capacity() > MAX_POOLED_BYTES {
            buffers.scratch.clear();
        }
        if let Ok(mut idle) = IDLE.try_lock()
            && idle.len() < MAX_POOLED
        {
            idle.push(buffers);
        }
    }
}

impl Deref for PooledBuffers {
    type Target = DecodeBuffers;

    fn deref(&self) -> &DecodeBuffers {
        &self.0
    }
}

impl DerefMut for PooledBuffers {
    fn deref_mut(&mut self) -> &mut DecodeBuffers {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_not_kept() {
        for _ in 0..2 * MAX_POOLED {
            let mut buffers = PooledBuffers::default();
            assert!(
                buffers.tile.capacity() <= MAX_POOLED_BYTES && buffers.raw.capacity() <= MAX_POOLED_BYTES
            );
            assert!(buffers.coded.codes.capacity() <= MAX_POOLED_BYTES / 4);
            buffers.tile.reset(MAX_POOLED_BYTES + 8);
            buffers.coded.codes.reserve(MAX_POOLED_BYTES);
            buffers.raw.reset(MAX_POOLED_BYTES);
        }
    }

    #[test]
    fn buffers_that_are_not_in_use_are_lent_again() {
        // Tests on other threads take and give back some of the few that are kept.
        let lent_again = (0..10_000).any(|_| {
            let mut buffers = PooledBuffers::default();
            let is_used = buffers.tile.capacity() >= 1000;
            buffers.tile.reset(1000);
            is_used
        });
        assert!(lent_again);
    }

    #[test]
    fn room_that_was_given_back_is_lent_again_if_it_is_large_enough() {
        let mut buffers = DecodeBuffers::default();
        let buffer = buffers.take_buffer(1000).unwrap();
        let start = buffer.as_slice().as_ptr();
        buffers.give_back(buffer);
        assert_ne!(buffers.take_buffer(2000).unwrap().as_slice().as_ptr(), start);
        let again = buffers.take_buffer(500).unwrap();
        assert_eq!((again.len(), again.as_slice().as_ptr()), (500, start));
    }
}
