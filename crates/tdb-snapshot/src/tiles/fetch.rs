//! Fetches the stored bytes of a tile, or of a part of it, into a buffer.

use core::ops::Range;

use tdb_codec::{Buffer, to_u64, to_usize};

use super::read_extent::{ReadExtent, USUAL_CHUNK};
use crate::context::Context;
use crate::fragment::TileLocation;
use crate::storage::StoredFile;
use crate::thresholds::MAX_TRUSTED_READ_BYTES;
use crate::{Error, Result};

/// Tells the file what is going to be read of it in small parts. `false` if that may take much
/// longer than one read of all, because the file does not read ahead.
pub(super) fn announce(extent: &ReadExtent, location: &TileLocation, file: &dyn StoredFile) -> bool {
    let ReadExtent::Pieces { ranges, else_whole } = extent else { return true };
    let (first, last) =
        (ranges.first().map_or(0, |range| range.start), ranges.last().map_or(0, |range| range.end));
    if *else_whole {
        // One range is read in order, which file systems notice.
        let end = if ranges.len() > 1 { location.range.end } else { location.range.start };
        return file.will_need(&(location.range.start..end));
    }
    if ranges.len() > 1 && last.saturating_sub(first) <= ranges.len().saturating_mul(USUAL_CHUNK) {
        // Headers move cells by little: what is announced need not be exact.
        let at = |cell: usize| location.range.start.saturating_add(to_u64(cell)).min(location.range.end);
        file.will_need(&(at(first)..at(last.saturating_add(USUAL_CHUNK))));
    }
    true
}

/// Reads a range of a tile into `raw`.
pub(super) fn read_piece(
    context: &Context,
    location: &TileLocation,
    file: &dyn StoredFile,
    range: &Range<u64>,
    raw: &mut Buffer,
) -> Result<()> {
    let len = to_usize(range.end.saturating_sub(range.start)).unwrap_or(usize::MAX);
    check_claim(context, location, len, range.end, raw)?;
    raw.reset(len);
    file.read_into(range.start, raw.as_mut_slice())
        .map_err(|error| Error::short_read(context.describe(&location.key), range, error))
}

/// Before memory is allocated for a long read that ends at `end`: whether the file is as long.
fn check_claim(context: &Context, location: &TileLocation, len: usize, end: u64, raw: &Buffer) -> Result<()> {
    if len > MAX_TRUSTED_READ_BYTES && len > raw.capacity() {
        let fail = |error| Error::io(context.describe(&location.key), error);
        let size = context.storage.size(&location.key).map_err(fail)?;
        crate::storage::range_len(&(location.range.start..end), size).map_err(fail)?;
    }
    Ok(())
}

/// Reads a tile's bytes into `raw`.
pub(super) fn fetch(context: &Context, location: &TileLocation, raw: &mut Buffer) -> Result<()> {
    let fail = |error| Error::io(context.describe(&location.key), error);
    let len = to_usize(location.stored_len()).ok_or_else(|| fail(std::io::ErrorKind::OutOfMemory.into()))?;
    check_claim(context, location, len, location.range.end, raw)?;
    raw.reset(len);
    context
        .storage
        .read_into(&location.key, location.range.start, raw.as_mut_slice())
        .map_err(|error| Error::short_read(context.describe(&location.key), &location.range, error))
}

#[cfg(test)]
#[expect(clippy::single_range_in_vec_init, reason = "lists of one range are meant")]
mod tests {
    use std::cell::RefCell;
    use std::io;

    use super::*;

    /// A file that reads ahead what it is told.
    #[derive(Debug, Default)]
    struct Told(RefCell<Vec<Range<u64>>>);

    impl StoredFile for Told {
        fn read_into(&self, _: u64, _: &mut [u8]) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn will_need(&self, range: &Range<u64>) -> bool {
            self.0.borrow_mut().push(range.clone());
            false
        }
    }

    /// What a file is told of some ranges of a tile that is at 1000..1_001_000 of it.
    fn told(ranges: &[Range<usize>], else_whole: bool) -> (bool, Vec<Range<u64>>) {
        let location = TileLocation { key: "a".into(), range: 1000..1_001_000 };
        let file = Told::default();
        let extent = ReadExtent::Pieces { ranges: ranges.to_vec(), else_whole };
        let is_fast = announce(&extent, &location, &file);
        (is_fast, file.0.into_inner())
    }

    #[test]
    fn ranges_that_are_near_to_each_other_are_announced_as_one() {
        assert_eq!(told(&[10..20, 100_000..100_010], false), (true, vec![1010..1000 + 100_010 + 65_536]));
        assert_eq!(told(&[10..20, 990_000..990_010], false), (true, vec![]), "they are far apart");
        assert_eq!(told(&[10..20], false), (true, vec![]), "one read needs no announcement");
        let end = 2 * USUAL_CHUNK + 800_000;
        assert_eq!(told(&[800_000..800_010, end - 1..end], false), (true, vec![801_000..997_608]));
        assert_eq!(told(&[800_000..800_010, end..end + 1], false), (true, vec![]));
    }

    #[test]
    fn a_tile_that_would_be_read_as_a_whole_is_announced_if_several_ranges_of_it_are_read() {
        assert_eq!(told(&[10..20, 990_000..990_010], true), (false, vec![1000..1_001_000]));
        assert_eq!(told(&[10..20], true), (false, vec![1000..1000]));
    }
}
