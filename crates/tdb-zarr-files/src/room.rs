//! Memory that threads share.

use std::sync::{Condvar, Mutex, PoisonError};

use crate::thresholds::CHUNK_COPIES;

/// The memory in which threads decode chunks.
#[derive(Debug)]
pub(crate) struct Room {
    all: u64,
    /// Bytes that nobody has.
    free: Mutex<u64>,
    freed: Condvar,
}

/// The memory that a thread has for a chunk, until this is dropped.
#[derive(Debug)]
pub(crate) struct Share<'r> {
    room: &'r Room,
    bytes: u64,
    /// Bytes that the chunk may have, as it is stored and as it is decoded.
    pub(crate) limit: u64,
}

impl Room {
    /// So many bytes.
    pub(crate) const fn new(bytes: u64) -> Self {
        Self { all: bytes, free: Mutex::new(bytes), freed: Condvar::new() }
    }

    /// How many threads may have a chunk of so many bytes at once: one at least.
    pub(crate) fn threads(&self, bytes: u64) -> usize {
        let most = self.all.checked_div(bytes.saturating_mul(CHUNK_COPIES)).unwrap_or(u64::MAX);
        usize::try_from(most).unwrap_or(usize::MAX).max(1)
    }

    /// Waits for the memory of a chunk of so many bytes. A chunk that needs all of it is alone, and
    /// may have as many bytes as there are.
    pub(crate) fn share(&self, limit: u64) -> Share<'_> {
        let bytes = limit.saturating_mul(CHUNK_COPIES).min(self.all);
        let mut free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        while *free < bytes {
            free = self.freed.wait(free).unwrap_or_else(PoisonError::into_inner);
        }
        *free -= bytes;
        Share { room: self, bytes, limit: if bytes == self.all { self.all } else { limit } }
    }

    /// A larger limit than that of a share in which a chunk had no room; `None` if that was all.
    pub(crate) fn more(&self, limit: u64) -> Option<u64> {
        (limit < self.all).then(|| limit.saturating_mul(4).max(1))
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        *self.room.free.lock().unwrap_or_else(PoisonError::into_inner) += self.bytes;
        self.room.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU64, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn threads_never_have_more_than_there_is_and_one_that_needs_all_gets_it() {
        let room = Room::new(1000);
        let (held, most) = (AtomicU64::new(0), AtomicU64::new(0));
        thread::scope(|scope| {
            for number in 0..8u64 {
                let (room, held, most) = (&room, &held, &most);
                scope.spawn(move || {
                    for turn in 0..200 {
                        let share = room.share((number * 37 + turn) % 400 + 1);
                        assert!(share.limit == 1000 || share.limit * CHUNK_COPIES <= 1000);
                        most.fetch_max(
                            held.fetch_add(share.bytes, Ordering::SeqCst) + share.bytes,
                            Ordering::SeqCst,
                        );
                        held.fetch_sub(share.bytes, Ordering::SeqCst);
                    }
                });
            }
        });
        assert_eq!(most.into_inner(), 1000);
        assert_eq!(*room.free.lock().unwrap(), 1000);
    }

    #[test]
    fn fewer_threads_have_larger_chunks() {
        let room = Room::new(3000);
        assert_eq!(
            (room.threads(10), room.threads(500), room.threads(3000), room.threads(u64::MAX)),
            (100, 2, 1, 1)
        );
        assert_eq!((room.more(500), room.more(2999), room.more(3000)), (Some(2000), Some(11_996), None));
        assert_eq!(room.share(2000).limit, 3000);
    }
}
