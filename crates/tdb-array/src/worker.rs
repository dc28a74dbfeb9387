//! What a thread keeps between tiles.

use core::ops::{Deref, DerefMut};
use std::sync::Mutex;

use tdb_codec::Buffer;
use tdb_filters::Scratch;

/// Buffers and codecs that a thread keeps between tiles, so that memory is faulted in once.
#[derive(Debug, Default)]
pub(crate) struct Tools {
    pub(crate) scratch: Scratch,
    pub(crate) raw: Buffer,
    /// Room for a decoded tile.
    pub(crate) tile: Buffer,
    /// Room for a decoded tile whose cells are picked from.
    pub(crate) cells: Buffer,
    /// Room for a decoded offsets tile.
    pub(crate) offsets: Buffer,
}

/// The tools of a thread. Making them costs more than a small query does otherwise: they are lent out of a few that the process
/// keeps.
#[derive(Debug)]
pub(crate) struct Worker(Tools);

/// Tools that nobody uses now.
static IDLE: Mutex<Vec<Tools>> = Mutex::new(Vec::new());
/// How many are kept.
const MOST: usize = 4;
/// The largest buffer that is kept, in bytes: enough for the chunks of a small query.
const LARGEST: usize = 256 << 10;

impl Default for Worker {
    fn default() -> Self {
        // No waiting: a lock that is held (by another thread, or by one that a fork left behind) only costs the saving.
        let idle = IDLE.try_lock().ok().and_then(|mut idle| idle.pop());
        Self(idle.unwrap_or_default())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut tools = core::mem::take(&mut self.0);
        for buffer in [&mut tools.raw, &mut tools.tile, &mut tools.cells, &mut tools.offsets] {
            if buffer.capacity() > LARGEST {
                *buffer = Buffer::new();
            }
        }
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
            worker.tile.reset(LARGEST + 8);
            worker.raw.reset(LARGEST);
        }
    }
}
