//! Rows of chunks put together, as the cells of a box in row-major order.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::boxes::{Ends, count, place};
use crate::chain::Cells;
use crate::chunks::Chunks;
use crate::error::{Error, Result};
use crate::room::{Room, Share};
use crate::target::{Slab, Target};
use crate::tiles::Tiles;

/// The chunks that threads decode, and the memory that they share.
struct Decoding<'a> {
    chunks: &'a Chunks<'a>,
    tiles: &'a Tiles,
    room: Room,
    /// Bytes that a chunk needs, as far as that is known.
    need: AtomicU64,
}

impl Decoding<'_> {
    /// The cells of a tile, and the memory that they are in.
    fn decoded(&self, place: &[u64]) -> Result<(Option<Cells>, Share<'_>)> {
        loop {
            let share = self.room.share(self.need.load(Ordering::Relaxed));
            let found = self.chunks.cells(if self.tiles.is_scalar { &[] } else { place }, share.limit);
            match (found, self.room.more(share.limit)) {
                // Those behind it will be as large.
                (Err(Error::Zarr { problem, .. }), Some(more)) if problem.is_about_memory() => {
                    self.need.fetch_max(more, Ordering::Relaxed);
                }
                (found, _) => return found.map(|cells| (cells, share)),
            }
        }
    }
}

/// The cells of a box of tiles, of which at most `threads` decode the chunks: fewer if the memory
/// is not enough for a chunk each.
pub(crate) fn slab(
    chunks: &Chunks<'_>,
    tiles: &Tiles,
    ends: &Ends,
    name: &str,
    threads: usize,
) -> Result<Slab> {
    let failed = |problem| chunks.error(problem);
    let target = Target::new(tiles, ends).map_err(failed)?;
    let all = usize::try_from(count(ends)).unwrap_or(usize::MAX);
    // What does not become smaller when it is stored becomes a little larger.
    let need = tiles.chunk_bytes();
    let need = need.saturating_add(need / 8).saturating_add(1 << 12);
    let room = Room::new(tiles.room);
    let threads = threads.min(room.threads(need)).min(all);
    let need = AtomicU64::new(if threads > 1 { need } else { tiles.room });
    let decoding = Decoding { chunks, tiles, room, need };
    let (next, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    // The first chunk in their order that failed is the one that is named.
    let state = Mutex::new((target, None::<(usize, Error)>));
    let lock = || state.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        while !is_over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let at = u64::try_from(number).ok().and_then(|number| place(ends, number));
            let Some(place) = at else { break };
            let done = decoding
                .decoded(&place)
                .and_then(|(decoded, _share)| lock().0.put(number, &place, decoded).map_err(failed));
            if let Err(error) = done {
                is_over.store(true, Ordering::Relaxed);
                let failure = &mut lock().1;
                if failure.as_ref().is_none_or(|(first, _)| number < *first) {
                    *failure = Some((number, error));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let (target, failure) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    failure.map_or(Ok(()), |(_, error)| Err(error))?;
    target.finish(name).map_err(failed)
}
