//! Rows of chunks put together, as the cells of a box in row-major order.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::thread;

use tdb_array::WriteColumn;
use tdb_array::write::WriteBatch;

use crate::boxes::{Ends, advance};
use crate::chain::Cells;
use crate::chunks::Chunks;
use crate::error::{Problem, Result};
use crate::runs::{Side, for_each_run};

/// The shape of an array and of its tiles, of which each is a chunk, or the part of one that is
/// inside of the array.
#[derive(Clone, Debug)]
pub(crate) struct Tiles {
    /// The lengths of the array: at least one.
    pub(crate) lengths: Vec<u64>,
    /// The lengths of a tile.
    pub(crate) extents: Vec<u64>,
    /// The lengths of a chunk, which may be longer than the array.
    pub(crate) chunk: Vec<u64>,
    /// Whether the array has no axes in Zarr.
    pub(crate) is_scalar: bool,
    /// Bytes of a cell, if all have as many.
    pub(crate) size: Option<usize>,
    /// The bytes of a cell that was never written.
    pub(crate) fill: Vec<u8>,
    /// Bytes that a row of tiles may have.
    pub(crate) room: u64,
}

/// The cells of a box.
#[derive(Debug)]
pub(crate) struct Slab {
    name: String,
    data: Vec<u8>,
    offsets: Option<Vec<u64>>,
    cells: u64,
}

impl WriteBatch for Slab {
    fn columns(&self) -> Vec<WriteColumn<'_>> {
        vec![match &self.offsets {
            Some(offsets) => WriteColumn::var(&self.name, &self.data, offsets),
            None => WriteColumn::bytes(&self.name, &self.data),
        }]
    }
}

impl Slab {
    /// The number of cells.
    pub(crate) const fn cells(&self) -> u64 {
        self.cells
    }
}

fn too_large() -> Problem {
    Problem::unsupported("a row of chunks has more cells than memory has bytes")
}

fn narrow(number: u64) -> Option<usize> {
    usize::try_from(number).ok()
}

impl Tiles {
    /// The positions of tiles along an axis: the first, and the number behind the last.
    pub(crate) fn span(&self, axis: usize, (low, high): (u64, u64)) -> Option<(u64, u64)> {
        let (length, extent) = (self.lengths.get(axis)?, self.extents.get(axis)?);
        let start = low.checked_mul(*extent).filter(|start| start < length)?;
        Some((start, high.checked_add(1)?.checked_mul(*extent).map_or(*length, |end| end.min(*length))))
    }

    /// The spans of a box of tiles.
    pub(crate) fn spans(&self, ends: &[(u64, u64)]) -> Option<Vec<(u64, u64)>> {
        ends.iter().enumerate().map(|(axis, ends)| self.span(axis, *ends)).collect()
    }

    /// How many threads may decode chunks at once: each has one as it is stored, on its way,
    /// decoded, and waiting to be taken.
    fn decoders(&self) -> usize {
        let size = u64::try_from(self.size.unwrap_or(8)).unwrap_or(u64::MAX);
        let chunk = self.chunk.iter().fold(size, |bytes, length| bytes.saturating_mul(*length));
        let most = self.room.checked_div(chunk.saturating_mul(4)).unwrap_or(1);
        usize::try_from(most).unwrap_or(usize::MAX)
    }

    /// Bytes of the cells of a box of tiles; texts count as eight each.
    pub(crate) fn bytes(&self, ends: &[(u64, u64)]) -> Option<u64> {
        let size = u64::try_from(self.size.unwrap_or(8)).ok()?;
        self.spans(ends)?.iter().try_fold(size, |bytes, (start, end)| bytes.checked_mul(end - start))
    }
}

/// All places of a box, in row-major order.
fn places(ends: &Ends) -> Vec<Vec<u64>> {
    let mut places = vec![ends.iter().map(|(low, _)| *low).collect::<Vec<u64>>()];
    loop {
        let mut next = places.last().cloned().unwrap_or_default();
        if !advance(&mut next, ends) {
            return places;
        }
        places.push(next);
    }
}

/// What threads do together: the places of chunks, and who takes which.
struct Work<'a> {
    chunks: &'a Chunks<'a>,
    places: Vec<Vec<u64>>,
    next: AtomicUsize,
    is_over: AtomicBool,
}

/// The cells of a box of tiles, of which at most `threads` decode the chunks.
pub(crate) fn slab(
    chunks: &Chunks<'_>,
    tiles: &Tiles,
    ends: &Ends,
    name: &str,
    threads: usize,
) -> Result<Slab> {
    let failed = |problem: Problem| chunks.error(problem);
    let spans = tiles.spans(ends).ok_or_else(|| failed(too_large()))?;
    let shape: Option<Vec<usize>> = spans.iter().map(|(start, end)| narrow(end - start)).collect();
    let shape = shape.ok_or_else(|| failed(too_large()))?;
    let cells = shape.iter().try_fold(1usize, |cells, length| cells.checked_mul(*length));
    let cells = cells.ok_or_else(|| failed(too_large()))?;
    let mut target = Target::new(tiles, shape, spans, cells).ok_or_else(|| failed(too_large()))?;
    let work =
        Work { chunks, places: places(ends), next: AtomicUsize::new(0), is_over: AtomicBool::new(false) };
    let mut texts = 0u64;
    let mut take = |number: usize, decoded: Option<Cells>| -> Result<()> {
        // Nobody knows before how long texts are.
        if let Some(Cells::Var(values, _)) = &decoded {
            texts = texts.saturating_add(u64::try_from(values.len()).unwrap_or(u64::MAX));
            if texts > tiles.room {
                let what = "the texts of a row of chunks";
                return Err(failed(Problem::TooLarge { what, bytes: texts, memory: tiles.room }));
            }
        }
        let place = work.places.get(number).map(Vec::as_slice).unwrap_or_default();
        target
            .put(place, decoded)
            .ok_or_else(|| failed(Problem::damaged("a chunk has other cells than its array")))
    };
    let of = |number: usize| -> Option<Result<Option<Cells>>> {
        let place = work.places.get(number)?;
        Some(work.chunks.cells(if tiles.is_scalar { &[] } else { place }))
    };
    let threads = threads.min(tiles.decoders());
    if threads < 2 || work.places.len() < 2 {
        let mut number = 0;
        while let Some(decoded) = of(number) {
            take(number, decoded?)?;
            number += 1;
        }
    } else {
        let failure = Mutex::new(None);
        thread::scope(|scope| {
            let (sender, receiver) = sync_channel(threads);
            for _ in 0..threads.min(work.places.len()) {
                let (sender, of, work) = (sender.clone(), &of, &work);
                scope.spawn(move || {
                    loop {
                        let number = work.next.fetch_add(1, Ordering::Relaxed);
                        let Some(decoded) = of(number).filter(|_| !work.is_over.load(Ordering::Relaxed))
                        else {
                            break;
                        };
                        // Nobody listens any more after a failure.
                        if sender.send((number, decoded)).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(sender);
            for (number, decoded) in receiver {
                if let Err(error) = decoded.and_then(|decoded| take(number, decoded)) {
                    work.is_over.store(true, Ordering::Relaxed);
                    failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
                    break;
                }
            }
        });
        if let Some(error) = failure.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
            return Err(error);
        }
    }
    target.finish(name).ok_or_else(|| failed(too_large()))
}

/// A slab that is being filled.
struct Target<'a> {
    tiles: &'a Tiles,
    shape: Vec<usize>,
    spans: Vec<(u64, u64)>,
    cells: usize,
    /// Cells of a fixed size.
    data: Vec<u8>,
    /// Texts of chunks, and for each run its first cell in the slab, the number of its chunk, its
    /// first cell in that and its cells.
    texts: Vec<(Vec<u8>, Vec<usize>)>,
    runs: Vec<(usize, usize, usize, usize)>,
}

impl<'a> Target<'a> {
    fn new(tiles: &'a Tiles, shape: Vec<usize>, spans: Vec<(u64, u64)>, cells: usize) -> Option<Self> {
        let data = match tiles.size {
            Some(size) => vec![0; cells.checked_mul(size)?],
            None => Vec::new(),
        };
        Some(Self { tiles, shape, spans, cells, data, texts: Vec::new(), runs: Vec::new() })
    }

    /// Puts the cells of a tile to their place, or fill values if there is no chunk.
    fn put(&mut self, place: &[u64], decoded: Option<Cells>) -> Option<()> {
        let mut sides = Vec::with_capacity(place.len());
        for (axis, (place, (start, _))) in place.iter().zip(&self.spans).enumerate() {
            let (first, end) = self.tiles.span(axis, (*place, *place))?;
            sides.push(Side { source: 0, target: narrow(first - start)?, length: narrow(end - first)? });
        }
        let chunk: Vec<usize> =
            self.tiles.chunk.iter().map(|length| narrow(*length)).collect::<Option<_>>()?;
        match (decoded, self.tiles.size) {
            (Some(Cells::Fixed(cells)), Some(size)) => {
                let data = &mut self.data;
                for_each_run(&sides, &chunk, &self.shape, |from, to, count| {
                    let source = cells.get(from * size..(from + count) * size)?;
                    data.get_mut(to * size..(to + count) * size)?.copy_from_slice(source);
                    Some(())
                })
            }
            (None, Some(size))
                if self.tiles.fill.iter().all(|byte| *byte == 0) && size == self.tiles.fill.len() =>
            {
                Some(())
            }
            (None, Some(size)) => {
                let (data, fill) = (&mut self.data, &self.tiles.fill);
                for_each_run(&sides, &chunk, &self.shape, |_, to, count| {
                    for cell in data.get_mut(to * size..(to + count) * size)?.chunks_exact_mut(size) {
                        cell.copy_from_slice(fill);
                    }
                    Some(())
                })
            }
            (Some(Cells::Var(values, offsets)), None) => {
                self.texts.push((values, offsets));
                let (number, runs) = (self.texts.len() - 1, &mut self.runs);
                for_each_run(&sides, &chunk, &self.shape, |from, to, count| {
                    runs.push((to, number, from, count));
                    Some(())
                })
            }
            (None, None) => {
                let runs = &mut self.runs;
                for_each_run(&sides, &chunk, &self.shape, |_, to, count| {
                    runs.push((to, usize::MAX, 0, count));
                    Some(())
                })
            }
            _ => None,
        }
    }

    fn finish(mut self, name: &str) -> Option<Slab> {
        let cells = u64::try_from(self.cells).ok()?;
        if self.tiles.size.is_some() {
            return Some(Slab { name: name.to_owned(), data: self.data, offsets: None, cells });
        }
        self.runs.sort_unstable();
        let mut data = Vec::new();
        let mut offsets = Vec::with_capacity(self.cells.checked_add(1)?);
        offsets.push(0);
        for (_, number, from, count) in self.runs {
            if number == usize::MAX {
                for _ in 0..count {
                    data.extend_from_slice(&self.tiles.fill);
                    offsets.push(u64::try_from(data.len()).ok()?);
                }
                continue;
            }
            let (values, ends) = self.texts.get(number)?;
            let ends = ends.get(from..from.checked_add(count)?.checked_add(1)?)?;
            let (first, last) = (*ends.first()?, *ends.last()?);
            let before = data.len();
            data.extend_from_slice(values.get(first..last)?);
            for end in ends.iter().skip(1) {
                offsets.push(u64::try_from(before + (end - first)).ok()?);
            }
        }
        Some(Slab { name: name.to_owned(), data, offsets: Some(offsets), cells })
    }
}
