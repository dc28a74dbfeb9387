//! Memory for large results. The system provides fresh memory page by page, when each page is first
//! touched: with pages of 4 KiB this takes as long as copying the bytes. With pages of 2 MiB, where
//! they are available, it takes a third of that, and with pages that were used before, nothing: the
//! process keeps some ([`retain_buffers`]).

use tdb_codec::Buffer;

/// Sets how many bytes of large buffers the process keeps for its next queries after they are
/// dropped. What it keeps beyond that is released at once, so 0 releases everything. The default is
/// 256 MiB.
///
/// Only buffers of at least 4 MiB are kept, on systems where the feature `large-pages` uses pages
/// of 2 MiB.
///
/// ```
/// tdb_array::query::retain_buffers(64 << 20);
/// ```
pub fn retain_buffers(bytes: usize) {
    pages::keep(bytes);
}

/// `len` zero bytes, or `None` if the system does not have that much memory.
pub(crate) fn zeroed(len: usize) -> Option<Buffer> {
    pages::fresh(len).or_else(|| Buffer::try_zeroed(len))
}

/// Whether the system has `len` bytes of memory, none of which is touched.
pub(crate) fn is_there(len: usize) -> bool {
    let mut room = Vec::<u8>::new();
    let is_there = room.try_reserve_exact(len).is_ok();
    // Otherwise the compiler may leave out an allocation that is not used.
    core::hint::black_box(&room);
    is_there
}

/// `len` bytes with arbitrary contents, or `None` if the system does not have that much memory.
pub(crate) fn unfilled(len: usize) -> Option<Buffer> {
    let buffer = pages::used(len).or_else(|| zeroed(len));
    // Programs under test see at once that nothing may rely on the contents.
    #[cfg(debug_assertions)]
    let buffer = buffer.map(|mut buffer| {
        buffer.as_mut_slice().fill(0xA5);
        buffer
    });
    buffer
}

#[cfg(all(target_os = "linux", feature = "large-pages"))]
mod pages {
    use std::sync::{Mutex, PoisonError};

    use memmap2::{Advice, MmapMut};
    use tdb_codec::{Buffer, Memory};

    use crate::thresholds::MIN_PAGED_BYTES;

    /// Pages of dropped buffers, the oldest first.
    struct Kept {
        pages: Vec<MmapMut>,
        /// The sum of their lengths, all of which are mapped at once.
        bytes: usize,
        /// The most bytes that are kept.
        max: usize,
    }

    static KEPT: Mutex<Kept> = Mutex::new(Kept { pages: Vec::new(), bytes: 0, max: 256 << 20 });

    impl Kept {
        fn remove(&mut self, at: usize) -> MmapMut {
            let pages = self.pages.remove(at);
            self.bytes -= pages.len();
            pages
        }

        /// Takes out the oldest pages until at most `max` bytes are left. Dropping them gives them
        /// back to the system.
        fn shrink(&mut self, max: usize) -> Vec<MmapMut> {
            let mut out = Vec::new();
            while self.bytes > max && !self.pages.is_empty() {
                out.push(self.remove(0));
            }
            out
        }

        /// Keeps these pages; returns those that are too many now.
        fn give(&mut self, pages: MmapMut) -> Vec<MmapMut> {
            self.bytes += pages.len();
            self.pages.push(pages);
            self.shrink(self.max)
        }

        /// Pages for `len` bytes, if there are any that are at most a quarter larger. Otherwise
        /// others make room for new ones, so that keeping pages does not add to what a query needs.
        fn take(&mut self, len: usize) -> Result<MmapMut, Vec<MmapMut>> {
            let fits = |pages: &MmapMut| (len..=len.saturating_add(len / 4)).contains(&pages.len());
            match self.pages.iter().rposition(fits) {
                Some(at) => Ok(self.remove(at)),
                None => Err(self.shrink(self.bytes.saturating_sub(len))),
            }
        }
    }

    pub(super) fn keep(bytes: usize) {
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.max = bytes;
        let released = kept.shrink(bytes);
        drop(kept);
        drop(released);
    }

    /// Changes what is kept, unless another thread does so now: no thread waits, and a process that
    /// was forked while a thread held the lock goes on without kept pages.
    fn with_kept<R>(change: impl FnOnce(&mut Kept) -> R) -> Option<R> {
        KEPT.try_lock().ok().map(|mut kept| change(&mut kept))
    }

    struct Pages {
        /// At least `len` bytes; gone only while this is dropped.
        pages: Option<MmapMut>,
        len: usize,
    }

    impl Pages {
        fn buffer(pages: MmapMut, len: usize) -> Option<Buffer> {
            Buffer::from_memory(Box::new(Self { pages: Some(pages), len }))
        }
    }

    impl Memory for Pages {
        fn bytes(&self) -> &[u8] {
            self.pages.as_ref().and_then(|pages| pages.get(..self.len)).unwrap_or_default()
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            self.pages.as_mut().and_then(|pages| pages.get_mut(..self.len)).unwrap_or_default()
        }
    }

    impl Drop for Pages {
        fn drop(&mut self) {
            let _released = self.pages.take().and_then(|pages| with_kept(|kept| kept.give(pages)));
        }
    }

    /// Pages that were never used, all zero.
    pub(super) fn fresh(len: usize) -> Option<Buffer> {
        if len < MIN_PAGED_BYTES {
            return None;
        }
        let pages = MmapMut::map_anon(len).ok()?;
        // Only a hint: systems without large pages continue with small ones.
        let _ = pages.advise(Advice::HugePage);
        Pages::buffer(pages, len)
    }

    /// Pages that were used before.
    pub(super) fn used(len: usize) -> Option<Buffer> {
        if len < MIN_PAGED_BYTES {
            return None;
        }
        match with_kept(|kept| kept.take(len))? {
            Ok(pages) => Pages::buffer(pages, len),
            Err(_released) => None,
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn pages(len: usize) -> MmapMut {
            MmapMut::map_anon(len).unwrap()
        }

        #[test]
        fn pages_serve_again_for_buffers_of_about_their_size() {
            let mut kept = Kept { pages: Vec::new(), bytes: 0, max: 100 << 20 };
            assert!(kept.give(pages(10 << 20)).is_empty());
            let first = kept.pages[0].as_ptr();
            let released = kept.take(11 << 20).unwrap_err();
            assert_eq!(released[0].as_ptr(), first, "they are too small");
            assert!(kept.give(pages(10 << 20)).is_empty());
            let second = kept.pages.last().unwrap().as_ptr();
            assert_ne!(first, second);
            assert_eq!(kept.take((10 << 20) - 100).unwrap().as_ptr(), second);
            assert_eq!(kept.bytes, 0);
        }

        #[test]
        fn what_is_kept_is_bounded_and_makes_room_for_what_is_new() {
            let mut kept = Kept { pages: Vec::new(), bytes: 0, max: 25 << 20 };
            assert!(kept.give(pages(10 << 20)).is_empty());
            assert!(kept.give(pages(12 << 20)).is_empty());
            let released = kept.give(pages(5 << 20));
            assert_eq!(released.iter().map(|pages| pages.len()).collect::<Vec<_>>(), [10 << 20]);
            let released = kept.take(1 << 20).unwrap_err();
            assert_eq!(released.iter().map(|pages| pages.len()).collect::<Vec<_>>(), [12 << 20]);
            assert_eq!((kept.bytes, kept.pages.len()), (5 << 20, 1));
            assert_eq!(kept.shrink(0).len(), 1);
            assert_eq!(kept.bytes, 0);
        }
    }
}

#[cfg(not(all(target_os = "linux", feature = "large-pages")))]
mod pages {
    use tdb_codec::Buffer;

    pub(super) fn keep(_: usize) {}

    pub(super) fn fresh(_: usize) -> Option<Buffer> {
        None
    }

    pub(super) fn used(_: usize) -> Option<Buffer> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_and_large_buffers_are_zero_and_writable_and_impossible_ones_refused() {
        for len in [0, 1, 4095, 4 << 20, (9 << 20) + 5] {
            let mut buffer = zeroed(len).unwrap();
            assert_eq!(buffer.len(), len);
            assert!(buffer.as_slice().iter().all(|byte| *byte == 0));
            buffer.as_mut_slice().fill(1);
            assert!(buffer.as_slice().iter().all(|byte| *byte == 1));
            drop(buffer);
            assert_eq!(unfilled(len).unwrap().len(), len);
        }
        assert!(zeroed(isize::MAX as usize).is_none());
        assert!(unfilled(isize::MAX as usize).is_none());
    }
}
