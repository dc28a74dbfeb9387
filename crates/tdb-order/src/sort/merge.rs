//! Merges runs that are already sorted, band by band: a thread holds only the keys of its current
//! band.

use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};

use tdb_codec::{to_u32, to_u64, to_usize};

use super::{JobResult, Key, KeySource, ResolveTies, Sorted, close_gaps, key_range, useful_threads};
use crate::bits::{bit_width, low_bits};
use crate::buffers::split_lengths;
use crate::thresholds::{
    BAND_CELLS, FILTER_BITS_PER_KEY, MAX_BAND_CELLS, MAX_CUTS, MIN_BAND_CELLS_PER_RUN, MIN_RUN_CELLS,
    SAMPLES_PER_BAND,
};
use crate::{Error, Result, parallel};

/// Cells that are likely to be in order, and the keys of some of them.
struct Run<K> {
    cells: Range<usize>,
    samples: Vec<K>,
}

/// All cells as runs.
struct Runs<K> {
    runs: Vec<Run<K>>,
    /// Cells from one sample to the next.
    step: usize,
}

/// Merges batches that are already sorted. `None` if they are too short to be worth it, or if they
/// are not sorted, which is checked during the merge.
pub(crate) fn merge<K: Key, S: KeySource<K>, F: ResolveTies>(
    threads: usize,
    source: &S,
    ties: &F,
    ordered: bool,
) -> Result<Option<Sorted>> {
    let cells = source.cells();
    let threads = useful_threads(threads, cells);
    let Some(runs) = runs(source) else { return Ok(None) };
    let band = match ordered {
        true => BAND_CELLS,
        false => runs.runs.len().saturating_mul(MIN_BAND_CELLS_PER_RUN).clamp(BAND_CELLS, MAX_BAND_CELLS),
    };
    let Some(bands) = bands(threads, source, runs, band)? else { return Ok(None) };
    let lengths: Vec<usize> = bands.iter().map(|band| band.pieces.iter().map(Range::len).sum()).collect();
    if lengths.iter().sum::<usize>() != cells {
        return Err(Error::internal("a cell that is in no band"));
    }
    let mut order = if ordered { vec![0u32; cells] } else { Vec::new() };
    let jobs = bands.into_iter().zip(split_lengths(&mut order, lengths)).collect();
    // Whether no band has shown that the runs are not sorted.
    let sorts = AtomicBool::new(true);
    let results =
        parallel::run(threads, jobs, MergeBuffers::default, |(band, slot): (Band<K>, _), buffers| {
            let result =
                if sorts.load(Ordering::Relaxed) { buffers.merge(source, &band, ties, slot) } else { None };
            let result = result.transpose()?;
            if result.is_none() {
                sorts.store(false, Ordering::Relaxed);
            }
            Ok(result)
        })?;
    let results = results.into_iter().collect::<Option<Vec<JobResult>>>();
    results.map(|results| close_gaps(order, results)).transpose()
}

/// The runs that the batches form: a batch that begins where the previous one ends continues its
/// run. `None` if they are too short, or certainly not sorted.
fn runs<K: Key, S: KeySource<K>>(source: &S) -> Option<Runs<K>> {
    let mut runs: Vec<Run<K>> = Vec::new();
    let (mut start, mut last) = (0usize, None);
    let mut probe = Vec::new();
    for end in source.batches() {
        probe.clear();
        source.keys(start..start.checked_add(1)?, &mut probe)?;
        source.keys(end.checked_sub(1)?..end, &mut probe)?;
        let (Some(first), Some(final_key)) = (probe.first().copied(), probe.last().copied()) else {
            return None;
        };
        match runs.last_mut() {
            Some(run) if last.is_some_and(|last| last <= first) => run.cells.end = end,
            _ => runs.push(Run { cells: start..end, samples: Vec::new() }),
        }
        (start, last) = (end, Some(final_key));
    }
    let enough = runs.len() <= 1 || runs.len().saturating_mul(MIN_RUN_CELLS) <= source.cells();
    if !enough {
        return None;
    }
    let average = source.cells().checked_div(runs.len())?;
    let step = (average / 4).clamp(16, BAND_CELLS / SAMPLES_PER_BAND);
    for run in &mut runs {
        for cell in run.cells.clone().skip(step).step_by(step) {
            source.keys(cell..cell.checked_add(1)?, &mut run.samples)?;
        }
        if !run.samples.is_sorted() {
            return None;
        }
    }
    Some(Runs { runs, step })
}

/// The cells whose keys are between two splitters.
struct Band<K> {
    /// The least key that belongs to the band; `None` for the first band.
    min: Option<K>,
    /// The least key after the band; `None` for the last one.
    end: Option<K>,
    pieces: Vec<Range<usize>>,
}

/// Splits runs at some of their samples, so that bands have about `cells` cells.
fn bands<K: Key, S: KeySource<K>>(
    threads: usize,
    source: &S,
    Runs { runs, step }: Runs<K>,
    cells: usize,
) -> Result<Option<Vec<Band<K>>>> {
    let mut samples: Vec<K> = runs.iter().flat_map(|run| &run.samples).copied().collect();
    samples.sort_unstable();
    let every = cells.checked_div(step).unwrap_or(1).max(1);
    let mut splitters: Vec<K> = samples.into_iter().skip(every - 1).step_by(every).collect();
    splitters.dedup();
    let mut from: Vec<usize> = runs.iter().map(|run| run.cells.start).collect();
    let mut bands = Vec::with_capacity(splitters.len() + 1);
    let mut min = None;
    let mut band = |end: Option<K>, ends: &mut dyn Iterator<Item = usize>| {
        let mut pieces = Vec::new();
        for (from, end) in from.iter_mut().zip(ends).filter(|(from, end)| end > *from) {
            pieces.push(*from..end);
            *from = end;
        }
        if !pieces.is_empty() {
            bands.push(Band { min, end, pieces });
        }
        min = end;
    };
    // Some splitters at a time: there may be many runs, and many bands.
    for splitters in splitters.chunks(MAX_CUTS.checked_div(runs.len()).unwrap_or(1).max(1)) {
        let cut = |run: &Run<K>, probe: &mut Vec<K>| Ok(run.cut(source, step, splitters, probe));
        let cuts = parallel::run(threads, runs.iter().collect(), Vec::new, cut)?;
        let Some(cuts) = cuts.into_iter().collect::<Option<Vec<_>>>() else { return Ok(None) };
        if cuts.iter().any(|cuts| cuts.len() != splitters.len()) {
            return Err(Error::internal("a run that is not cut at each splitter"));
        }
        let mut cuts: Vec<_> = cuts.into_iter().map(Vec::into_iter).collect();
        for splitter in splitters {
            band(Some(*splitter), &mut cuts.iter_mut().filter_map(Iterator::next));
        }
    }
    band(None, &mut runs.iter().map(|run| run.cells.end));
    Ok(Some(bands))
}

impl<K: Key> Band<K> {
    /// Replaces `keys` by those of its cells; `None` if one does not fit, otherwise whether equal
    /// keys mean equal coordinates.
    fn keys<S: KeySource<K>>(&self, source: &S, keys: &mut Vec<K>) -> Option<bool> {
        keys.clear();
        self.pieces.iter().try_fold(true, |exact, piece| Some(exact & source.keys(piece.clone(), keys)?))
    }

    /// Whether keys from `min` to `max` belong to it. Its cells were found by a binary search in
    /// runs that may not be sorted.
    fn contains(&self, min: K, max: K) -> bool {
        self.min.is_none_or(|start| start <= min) && self.end.is_none_or(|end| max < end)
    }
}

impl<K: Key> Run<K> {
    /// For each splitter the first cell whose key is not below it, if the run is sorted.
    fn cut<S: KeySource<K>>(
        &self,
        source: &S,
        step: usize,
        splitters: &[K],
        probe: &mut Vec<K>,
    ) -> Option<Vec<usize>> {
        let mut from = self.cells.start;
        let mut cuts = Vec::with_capacity(splitters.len());
        for splitter in splitters {
            // The position is between two samples.
            let sample = self.samples.partition_point(|key| key < splitter);
            let low = self.cells.start.checked_add(sample.checked_mul(step)?)?;
            let high = low.checked_add(step)?.min(self.cells.end);
            let (mut low, mut high) = (low.max(from), high.max(from));
            while low < high {
                let middle = low.midpoint(high);
                probe.clear();
                source.keys(middle..middle + 1, probe)?;
                if probe.first().is_some_and(|key| key < splitter) {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            from = low;
            cuts.push(low);
        }
        Some(cuts)
    }
}

/// Finds the keys that may occur more than once, without sorting: where only the dropped cells are
/// needed, the others do not matter. This is a Bloom filter with one hash.
#[derive(Default)]
struct RepeatFilter {
    /// A bit for each hash that a key has.
    once: Vec<u64>,
    /// A bit for each hash that several keys have.
    again: Vec<u64>,
}

impl RepeatFilter {
    /// Replaces what it knows by the keys of a band. Returns the least and the greatest of them.
    fn note<K: Key>(&mut self, keys: &[K]) -> (K, K) {
        let words = keys.len().saturating_mul(FILTER_BITS_PER_KEY).div_ceil(64);
        for bits in [&mut self.once, &mut self.again] {
            bits.clear();
            bits.resize(words, 0);
        }
        let (once, again) = (self.once.as_mut_slice(), self.again.as_mut_slice());
        let first = keys.first().copied().unwrap_or_default();
        let (mut min, mut max) = (first, first);
        for key in keys {
            (min, max) = (min.min(*key), max.max(*key));
            let (at, bit) = place(*key, words);
            // `place` returns the number of a word that is there; `pick` takes a key without one.
            let Some(once) = once.get_mut(at) else { continue };
            let known = *once & bit;
            *once |= bit;
            // Few bits are set twice: the second list is seldom looked at, and need not be in a
            // cache.
            if known != 0
                && let Some(again) = again.get_mut(at)
            {
                *again |= known;
            }
        }
        (min, max)
    }

    /// Writes those of the noted keys that may occur more than once, and their cells, to the front
    /// of `out`, which has a place for each of these keys. Returns their number.
    fn pick<K: Key>(&self, keys: &[K], cells: Range<u32>, out: &mut [(K, u32)]) -> usize {
        let (again, words) = (self.again.as_slice(), self.again.len());
        let mut found = 0usize;
        for (key, cell) in keys.iter().zip(cells) {
            // Each is written, and most are overwritten by the next one: skipping them would need a
            // branch that no processor can predict.
            if let Some(slot) = out.get_mut(found) {
                *slot = (*key, cell);
            }
            let (at, bit) = place(*key, words);
            let may_repeat = again.get(at).is_none_or(|again| again & bit != 0);
            found = found.wrapping_add(usize::from(may_repeat));
        }
        found
    }
}

/// The number of a key's word in a filter of `words` words (fewer than 2²⁶), and its bit in that
/// word. Fibonacci hashing: neighbouring keys, which are the rule here, get hashes that are far
/// apart, in their highest bits.
#[inline]
fn place<K: Key>(key: K, words: usize) -> (usize, u64) {
    let word = key.shifted(0) ^ key.shifted(u64::BITS).rotate_left(u64::BITS / 2);
    let hash = word.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let scaled = (hash >> 32).wrapping_mul(to_u64(words));
    (to_usize(scaled >> 32).unwrap_or(0), 1 << (scaled >> 26 & 63))
}

/// The buffers that a thread needs to merge bands.
struct MergeBuffers<K> {
    keys: Vec<K>,
    cells: Vec<u32>,
    words: Vec<u64>,
    pairs: Vec<(K, u32)>,
    repeated: RepeatFilter,
}

impl<K> Default for MergeBuffers<K> {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            cells: Vec::new(),
            words: Vec::new(),
            pairs: Vec::new(),
            repeated: RepeatFilter::default(),
        }
    }
}

impl<K: Key> MergeBuffers<K> {
    /// Sorts a band; `None` if one of its keys is outside the band.
    fn merge<S: KeySource<K>, F: ResolveTies>(
        &mut self,
        source: &S,
        band: &Band<K>,
        ties: &F,
        slot: &mut [u32],
    ) -> Option<Result<JobResult>> {
        if slot.is_empty() {
            return self.find_dropped(source, band, ties, slot);
        }
        let Self { keys, cells, words, pairs, .. } = self;
        let exact = band.keys(source, keys)?;
        cells.clear();
        for piece in &band.pieces {
            cells.extend(to_u32(piece.start)?..to_u32(piece.end)?);
        }
        let (min, max) = key_range(keys);
        if !band.contains(min, max) || keys.len() != cells.len() {
            return None;
        }
        let places = bit_width(to_u64(keys.len()));
        if max.above(min).length() + places <= u64::BITS {
            // Distances from the band's least key, with positions in the band: half as many bytes
            // to move.
            words.clear();
            words.extend(
                keys.iter()
                    .zip(0u64..)
                    .map(|(key, place)| key.above(min).shifted(0).checked_shl(places).unwrap_or(0) | place),
            );
            words.sort();
            let mask = low_bits(places);
            let same = |a: u64, b: u64| (a ^ b) & !mask == 0;
            // A word has the position of a cell of this band.
            let cell =
                |word: u64| to_usize(word & mask).and_then(|at| cells.get(at)).copied().unwrap_or(u32::MAX);
            return Some(JobResult::of(words.len(), slot, |output| {
                ties.resolve(exact, words, same, cell, output);
            }));
        }
        pairs.clear();
        pairs.extend(keys.iter().copied().zip(cells.iter().copied()));
        Some(in_order(pairs, exact, ties, slot))
    }

    /// [`Self::merge`] where only the dropped cells are needed: a cell whose key no other cell has
    /// is none of them.
    fn find_dropped<S: KeySource<K>, F: ResolveTies>(
        &mut self,
        source: &S,
        band: &Band<K>,
        ties: &F,
        slot: &mut [u32],
    ) -> Option<Result<JobResult>> {
        let Self { keys, pairs, repeated, .. } = self;
        let exact = band.keys(source, keys)?;
        let (min, max) = repeated.note(keys);
        if !band.contains(min, max) {
            return None;
        }
        if pairs.len() < keys.len() {
            pairs.resize(keys.len(), Default::default());
        }
        let (mut rest, mut out, mut found) = (keys.as_slice(), pairs.as_mut_slice(), 0usize);
        for piece in &band.pieces {
            let (own, others) = rest.split_at_checked(piece.len())?;
            let cells = to_u32(piece.start)?..to_u32(piece.end)?;
            let more = repeated.pick(own, cells, out);
            (rest, out, found) = (others, out.get_mut(more..)?, found + more);
        }
        Some(in_order(pairs.get_mut(..found)?, exact, ties, slot))
    }
}

/// Sorts cells by their keys, and passes them on.
fn in_order<K: Key, F: ResolveTies>(
    pairs: &mut [(K, u32)],
    exact: bool,
    ties: &F,
    slot: &mut [u32],
) -> Result<JobResult> {
    // The sort is stable: equal keys stay in cell order.
    pairs.sort_by_key(|(key, _)| *key);
    JobResult::of(pairs.len(), slot, |output| {
        ties.resolve(exact, pairs, |a, b| a.0 == b.0, |entry| entry.1, output);
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::JobOutput;
    use super::*;

    /// The numbers of the keys that the filter picks.
    fn picked<K: Key>(filter: &RepeatFilter, keys: &[K]) -> Vec<u32> {
        let mut room = vec![(K::default(), 0); keys.len()];
        let found = filter.pick(keys, 0..u32::try_from(keys.len()).unwrap(), &mut room);
        room[..found].iter().map(|(_, cell)| *cell).collect()
    }

    #[test]
    fn keys_that_occur_more_than_once_are_never_left_out_and_most_others_are() {
        let mut filter = RepeatFilter::default();
        for seed in 1..20u64 {
            // 16,411 is a prime number: these keys are all different.
            let keys: Vec<u64> = (0..16_000u64).map(|cell| cell.wrapping_mul(seed) % 16_411).collect();
            let repeated: HashSet<u64> = keys.iter().step_by(97).copied().collect();
            let keys: Vec<u64> = keys.iter().chain(&repeated).copied().collect();
            let wide: Vec<u128> = keys.iter().map(|key| u128::from(*key) << 70).collect();
            let ends = (*keys.iter().min().unwrap(), *keys.iter().max().unwrap());
            assert_eq!(filter.note(&keys), ends);
            let check = |found: &[u32]| {
                let is_repeated = |cell: &&u32| repeated.contains(&keys[**cell as usize]);
                assert_eq!(found.iter().filter(is_repeated).count(), 2 * repeated.len());
                assert!(found.len() < keys.len() / 6, "{} of {} are left", found.len(), keys.len());
            };
            check(&picked(&filter, &keys));
            assert_eq!(filter.note(&wide), (u128::from(ends.0) << 70, u128::from(ends.1) << 70));
            check(&picked(&filter, &wide));
        }
    }

    /// Keys in batches.
    struct Batches {
        keys: Vec<u64>,
        ends: Vec<usize>,
    }

    impl KeySource<u64> for Batches {
        fn cells(&self) -> usize {
            self.keys.len()
        }

        fn batches(&self) -> impl Iterator<Item = usize> {
            self.ends.iter().copied()
        }

        fn keys(&self, cells: Range<usize>, out: &mut Vec<u64>) -> Option<bool> {
            out.extend_from_slice(self.keys.get(cells)?);
            Some(true)
        }
    }

    /// Keeps all cells.
    struct Keep;

    impl ResolveTies for Keep {
        fn resolve<E: Copy>(
            &self,
            _: bool,
            sorted: &[E],
            _: impl Fn(E, E) -> bool,
            cell: impl Fn(E) -> u32,
            output: &mut JobOutput<'_>,
        ) {
            sorted.iter().for_each(|entry| output.keep(cell(*entry)));
        }
    }

    #[test]
    fn sorted_batches_are_merged_and_a_key_out_of_place_is_noticed() {
        // The second batch continues the first one; the third is between their keys.
        let first = (0..30_000u64).map(|cell| 2 * cell);
        let keys: Vec<u64> = first.chain((0..20_000).map(|cell| 2 * cell + 1)).collect();
        let mut source = Batches { keys, ends: vec![20_000, 30_000, 50_000] };
        assert_eq!(runs(&source).unwrap().runs.len(), 2);
        let mut expected: Vec<u32> = (0..50_000).collect();
        expected.sort_by_key(|cell| source.keys[*cell as usize]);
        for threads in [1, 2] {
            let merged = merge(threads, &source, &Keep, true).unwrap().unwrap();
            assert!(merged.order == expected && merged.dropped.is_empty());
        }
        source.keys.swap(7_001, 13_003);
        assert!(merge(1, &source, &Keep, true).unwrap().is_none());
    }
}
