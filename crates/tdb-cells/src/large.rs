//! Memory for large results. The system provides fresh memory page by page, when each page is first touched: with
//! pages of 4 KiB this takes as long as copying the bytes. With pages of 2 MiB, where they are available, it takes a
//! third of that.

use tdb_codec::Buffer;

/// `len` zero bytes, or `None` if the system does not have that much memory.
pub(crate) fn zeroed(len: usize) -> Option<Buffer> {
    pages::zeroed(len).or_else(|| Buffer::try_zeroed(len))
}

#[cfg(all(target_os = "linux", feature = "large-pages"))]
mod pages {
    use memmap2::{Advice, MmapMut};
    use tdb_codec::{Buffer, Memory};

    /// Smaller buffers come from the allocator: they contain few large pages, and are often reused.
    const LEAST: usize = 4 << 20;

    struct Pages(MmapMut);

    impl Memory for Pages {
        fn bytes(&self) -> &[u8] {
            &self.0
        }

        fn bytes_mut(&mut self) -> &mut [u8] {
            &mut self.0
        }
    }

    pub(super) fn zeroed(len: usize) -> Option<Buffer> {
        if len < LEAST {
            return None;
        }
        let pages = MmapMut::map_anon(len).ok()?;
        // Only a hint: systems without large pages continue with small ones.
        let _ = pages.advise(Advice::HugePage);
        Buffer::from_memory(Box::new(Pages(pages)))
    }
}

#[cfg(not(all(target_os = "linux", feature = "large-pages")))]
mod pages {
    use tdb_codec::Buffer;

    pub(super) fn zeroed(_: usize) -> Option<Buffer> {
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
        }
        assert!(zeroed(isize::MAX as usize).is_none());
    }
}
