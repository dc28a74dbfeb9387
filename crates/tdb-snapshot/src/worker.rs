//! The buffers that a thread keeps between tiles.

use core::ops::{Deref, DerefMut};
use std::sync::Mutex;

use tdb_codec::Buffer;
use tdb_filters::{CodedStrings, Scratch};

use crate::Result;
use crate::buffers::{VarTile, unfilled};

/// Buffers and codecs that a thread keeps between tiles, so that page faults for their memory occur
/// only once.
#[derive(Debug, Default)]
pub struct Tools {
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

/// What decoding the chunks of a tile takes.
pub(crate) struct Hands<'t> {
    pub(crate) scratch: &'t mut Scratch,
    /// A buffer for the stored bytes.
    pub(crate) raw: &'t mut Buffer,
    /// How many threads may decode them, this one included; 0 as 1.
    pub(crate) threads: usize,
}

impl Tools {
    /// A buffer of `len` bytes with arbitrary contents.
    pub fn room(&mut self, len: usize) -> Result<Buffer> {
        let large = self.spare.iter().position(|buffer| buffer.capacity() >= len);
        let Some(at) = large else { return unfilled(len) };
        let mut buffer = self.spare.swap_remove(at);
        buffer.reset(len);
        Ok(buffer)
    }

    /// Takes back a buffer that is no longer needed.
    pub fn give_back(&mut self, buffer: Buffer) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(buffer);
        }
    }
}

/// The most spare buffers of a thread: enough for the columns of a tile that are used together.
const MOST_SPARE: usize = 8;

/// The tools of a thread. Creating them costs more than everything else in a small query: they are
/// lent out of a few that the process keeps.
#[derive(Debug)]
pub struct Worker(Tools);

/// Tools that are not in use.
static IDLE: Mutex<Vec<Tools>> = Mutex::new(Vec::new());
/// The most tools that are kept.
const MOST: usize = 4;
/// The largest buffer that is kept, in bytes: enough for the chunks of a small query.
const LARGEST: usize = 256 << 10;

impl Worker {
    /// Makes the workers of threads that share some jobs: where there are fewer jobs than threads,
    /// each may start others for the chunks of a tile.
    pub fn sharing(threads: usize, jobs: usize) -> impl Fn() -> Self + Sync {
        let each = threads.checked_div(jobs).unwrap_or(1);
        move || {
            let mut worker = Self::default();
            worker.threads = each;
            worker
        }
    }
}

impl Default for Worker {
    fn default() -> Self {
        // Never wait: if the lock is held (by another thread, or since before a fork), new tools
        // are created instead.
        let idle = IDLE.try_lock().ok().and_then(|mut idle| idle.pop());
        Self(idle.unwrap_or_default())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut tools = core::mem::take(&mut self.0);
        tools.threads = 1;
        let own = [&mut tools.raw, &mut tools.tile, &mut tools.cells, &mut tools.strings.values];
        for buffer in own {
            if buffer.capacity() > LARGEST {
                *buffer = Buffer::new();
            }
        }
        if tools.strings.offsets.capacity() > LARGEST / 8 {
            tools.strings.offsets = Vec::new();
        }
        let coded = &tools.coded;
        let entries = coded.starts.capacity().saturating_mul(2).saturating_add(coded.codes.capacity());
        if coded.values.capacity() > LARGEST || entries > LARGEST / 4 {
            tools.coded = CodedStrings::default();
        }
        if tools.text.capacity() > LARGEST {
            tools.text = Vec::new();
        }
        tools.spare.retain(|buffer| buffer.capacity() <= LARGEST);
        tools.spare.truncate(2);
        if tools.scratch.capacity() > LARGEST {
            tools.scratch.clear();
        }
        if let Ok(mut idle) = IDLE.try_lock()
            && idle.len() < MOST
        {
            idle.push(tools);
        }
    }
}

impl Deref for Worker {
    type Target = Tools;

    fn deref(&self) -> &Tools {
        &self.0
    }
}

impl DerefMut for Worker {
    fn deref_mut(&mut self) -> &mut Tools {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_not_kept() {
        for _ in 0..2 * MOST {
            let mut worker = Worker::default();
            assert!(worker.tile.capacity() <= LARGEST && worker.raw.capacity() <= LARGEST);
            assert!(worker.coded.codes.capacity() <= LARGEST / 4);
            worker.tile.reset(LARGEST + 8);
            worker.coded.codes.reserve(LARGEST);
            worker.raw.reset(LARGEST);
        }
    }

    #[test]
    fn room_that_was_given_back_is_lent_again_if_it_is_large_enough() {
        let mut tools = Tools::default();
        let buffer = tools.room(1000).unwrap();
        let start = buffer.as_slice().as_ptr();
        tools.give_back(buffer);
        assert_ne!(tools.room(2000).unwrap().as_slice().as_ptr(), start);
        let again = tools.room(500).unwrap();
        assert_eq!((again.len(), again.as_slice().as_ptr()), (500, start));
    }
}
