//! The files of an array's chunks.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::boxes::{Ends, place as place_in};
use crate::chain::Cells;
use crate::compressed::Limit;
use crate::document::{ArrayDocument, Shard};
use crate::error::{Problem, Result};
use crate::folder::{Folder, Part, join};
use crate::thresholds::{INDEX_DIVISOR, MAX_EMPTY_CELLS, MAX_SPARSENESS, PLACE};

/// The place of a chunk in a shard without one.
const ABSENT: u64 = u64::MAX;

/// For each chunk of a shard, where it begins and how long it is.
type Index = Arc<Vec<(u64, u64)>>;

/// What there is of shards.
#[derive(Debug, Default)]
pub(crate) struct Present {
    /// The places of shards in which all chunks are.
    pub(crate) shards: Vec<Vec<u64>>,
    /// The places of chunks in the others.
    pub(crate) chunks: Vec<Vec<u64>>,
}

/// The chunks of an array.
#[derive(Debug)]
pub(crate) struct Chunks<'a> {
    folder: &'a Folder,
    path: &'a str,
    document: &'a ArrayDocument,
    /// Bytes that the indices of shards may have.
    memory: u64,
    /// The indices of shards that were read: by the shard's path, places and lengths.
    indices: Mutex<HashMap<String, Index>>,
}

impl<'a> Chunks<'a> {
    /// Those of an array of which a row of chunks may have so many bytes.
    pub(crate) fn new(folder: &'a Folder, path: &'a str, document: &'a ArrayDocument, room: u64) -> Self {
        let memory = room / INDEX_DIVISOR;
        Self { folder, path, document, memory, indices: Mutex::default() }
    }

    /// An error about the array.
    pub(crate) fn error(&self, problem: Problem) -> crate::Error {
        self.folder.error(self.path, problem)
    }

    /// The places of all files, sorted. A file outside of the array's shape is none of it.
    pub(crate) fn files(&self) -> Result<Vec<Vec<u64>>> {
        let keys = self.document.keys;
        let axes = self.document.file_chunk.len();
        let mut found = Vec::new();
        match (axes, keys.separator) {
            (0, _) => {
                let name = if keys.prefix { "c" } else { "0" };
                let names = self.folder.list(self.path)?;
                found.extend(names.iter().any(|one| one.name == name && !one.is_folder).then(Vec::new));
            }
            (_, '/') => {
                let path = if keys.prefix { join(self.path, "c") } else { self.path.to_owned() };
                self.walk(&path, &mut Vec::new(), axes, &mut found)?;
            }
            (_, separator) => {
                let prefix = if keys.prefix { format!("c{separator}") } else { String::new() };
                for one in self.folder.list(self.path)?.into_iter().filter(|one| !one.is_folder) {
                    let places =
                        one.name.strip_prefix(&prefix).map(|rest| rest.split(separator).map(place).collect());
                    found.extend(places.flatten().filter(|places: &Vec<u64>| places.len() == axes));
                }
            }
        }
        let sides = self.document.shape.iter().zip(&self.document.file_chunk);
        let counts: Vec<u64> = sides.map(|(length, chunk)| length.div_ceil(*chunk)).collect();
        found.retain(|places| places.iter().zip(&counts).all(|(place, count)| place < count));
        found.sort_unstable();
        Ok(found)
    }

    /// Adds the files in a folder, and below it.
    fn walk(&self, path: &str, above: &mut Vec<u64>, axes: usize, found: &mut Vec<Vec<u64>>) -> Result<()> {
        let is_last = above.len() + 1 == axes;
        for one in self.folder.list(path)? {
            let Some(at) = place(&one.name).filter(|_| one.is_folder != is_last) else { continue };
            above.push(at);
            if is_last {
                found.push(above.clone());
            } else {
                self.walk(&join(path, &one.name), above, axes, found)?;
            }
            above.pop();
        }
        Ok(())
    }

    /// The path of a file of chunks.
    fn key(&self, places: &[u64]) -> String {
        let keys = self.document.keys;
        let numbers = places.iter().map(u64::to_string).collect::<Vec<_>>().join(&keys.separator.to_string());
        let name = match (keys.prefix, places.is_empty()) {
            (true, true) => "c".to_owned(),
            (true, false) => format!("c{}{numbers}", keys.separator),
            (false, true) => "0".to_owned(),
            (false, false) => numbers,
        };
        join(self.path, &name)
    }

    /// The cells of a chunk, which may have so many bytes, as it is stored and decoded; `None` if
    /// it is not there.
    pub(crate) fn cells(&self, places: &[u64], memory: u64) -> Result<Option<Cells>> {
        let (path, stored) = match &self.document.shard {
            None => {
                let path = self.key(places);
                let stored = self.folder.read(&path, Part::All(memory))?;
                (path, stored)
            }
            Some(shard) => self.in_shard(shard, places, memory)?,
        };
        let Some(stored) = stored else { return Ok(None) };
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let document = self.document;
        let cells = document.chain.decode(stored, document.chunk(), document.element, memory);
        cells.map(Some).map_err(|problem| self.folder.error(&path, problem))
    }

    /// The bytes of a chunk in a shard, and the path of that.
    fn in_shard(&self, shard: &Shard, places: &[u64], memory: u64) -> Result<(String, Option<Vec<u8>>)> {
        let counts = self.counts(shard);
        let outer: Vec<u64> = places.iter().zip(&counts).map(|(place, count)| place / count).collect();
        let path = self.key(&outer);
        let failed = |problem: Problem| self.folder.error(&path, problem);
        let Some(index) = self.index(shard, &counts, &path)? else { return Ok((path, None)) };
        let number =
            places.iter().zip(&counts).fold(0u64, |number, (place, count)| number * count + place % count);
        let entry = usize::try_from(number).ok().and_then(|number| index.get(number)).copied();
        let (start, len) =
            entry.ok_or_else(|| failed(Problem::damaged("the index of a shard is too short")))?;
        if (start, len) == (ABSENT, ABSENT) {
            return Ok((path, None));
        }
        if len > memory {
            return Err(failed(Problem::TooLarge { what: "a chunk of a shard", bytes: len, memory }));
        }
        let stored = self.folder.read(&path, Part::From(start, len))?;
        Ok((path, stored))
    }

    /// How many chunks a shard has along each axis.
    fn counts(&self, shard: &Shard) -> Vec<u64> {
        self.document.file_chunk.iter().zip(&shard.chunk).map(|(outer, inner)| outer / inner).collect()
    }

    /// Which of these shards have all of their chunks that are in the array, and the places of the
    /// chunks of the others. `None` if the array has no shards, or if those places need more than
    /// so many bytes.
    pub(crate) fn in_shards(&self, files: &[Vec<u64>], memory: u64) -> Result<Option<Present>> {
        let Some(shard) = &self.document.shard else { return Ok(None) };
        let (counts, mut present, mut room) = (self.counts(shard), Present::default(), memory / PLACE);
        let inside: Ends = counts.iter().map(|count| (0, count - 1)).collect();
        let lengths = self.document.shape.iter().zip(&shard.chunk);
        let lengths: Vec<u64> = lengths.map(|(length, chunk)| length.div_ceil(*chunk)).collect();
        for outer in files {
            let Some(index) = self.index(shard, &counts, &self.key(outer))? else { continue };
            let first: Vec<u64> =
                outer.iter().zip(&counts).map(|(at, count)| at.saturating_mul(*count)).collect();
            let most = first.iter().zip(&lengths).zip(&counts);
            let most = most.map(|((first, length), count)| length.saturating_sub(*first).min(*count));
            let there = (0u64..).zip(index.iter()).filter(|(_, entry)| **entry != (ABSENT, ABSENT));
            let chunks = there.filter_map(|(number, _)| {
                let mut chunk = place_in(&inside, number)?;
                chunk.iter_mut().zip(&first).for_each(|(at, first)| *at = at.saturating_add(*first));
                // A writer may fill what is outside of the array.
                chunk.iter().zip(&lengths).all(|(at, length)| at < length).then_some(chunk)
            });
            let count = u64::try_from(chunks.clone().count()).unwrap_or(u64::MAX);
            if count == most.product::<u64>() {
                present.shards.push(outer.clone());
                continue;
            }
            let Some(rest) = room.checked_sub(count) else { return Ok(None) };
            room = rest;
            present.chunks.extend(chunks);
        }
        Ok(Some(present))
    }

    /// The index of a shard; `None` if it is not there.
    fn index(&self, shard: &Shard, counts: &[u64], path: &str) -> Result<Option<Index>> {
        // Threads that need the same one wait for it.
        let mut indices = self.indices.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = indices.get(path) {
            return Ok(Some(Arc::clone(known)));
        }
        let failed = |problem: Problem| self.folder.error(path, problem);
        let bytes = counts.iter().try_fold(16u64, |bytes, count| bytes.checked_mul(*count));
        let sum = if shard.index_sum.is_some() { 4 } else { 0 };
        let stored = bytes.and_then(|bytes| bytes.checked_add(sum));
        let stored = stored.filter(|stored| *stored <= self.memory).ok_or_else(|| {
            let bytes = bytes.unwrap_or(u64::MAX);
            failed(Problem::TooLarge { what: "the index of a shard", bytes, memory: self.memory })
        })?;
        let part = if shard.index_at_end { Part::Last(stored) } else { Part::From(0, stored) };
        let Some(mut read) = self.folder.read(path, part)? else { return Ok(None) };
        if let Some(codec) = &shard.index_sum {
            let limit = Limit::exactly(read.len().saturating_sub(4));
            read = codec.decode(read, limit).map_err(failed)?;
        }
        let (words, _) = read.as_chunks::<8>();
        let (pairs, _) = words.as_chunks::<2>();
        let entry = |[start, len]: &[[u8; 8]; 2]| (u64::from_le_bytes(*start), u64::from_le_bytes(*len));
        let index = Arc::new(pairs.iter().map(entry).collect::<Vec<_>>());
        let held: usize = indices.values().map(|index| index.len() * 16).sum();
        if u64::try_from(held + index.len() * 16).is_ok_and(|bytes| bytes > self.memory) {
            indices.clear();
        }
        indices.insert(path.to_owned(), Arc::clone(&index));
        Ok(Some(index))
    }
}

/// A number as names of chunks have it: digits, and no zero before others.
fn place(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    (digits && (text == "0" || !text.starts_with('0'))).then(|| text.parse().ok())?
}

/// The cells of an array, and the most that are in its files, if those are so few that they should
/// not be the reason for all the others to be written.
pub(crate) fn too_sparse(document: &ArrayDocument, files: &[Vec<u64>]) -> Option<(u64, u64)> {
    let product = |first: u64, lengths: &[u64]| {
        lengths.iter().fold(first, |cells, length| cells.saturating_mul(*length))
    };
    let cells = product(1, &document.shape);
    let there = product(u64::try_from(files.len()).unwrap_or(u64::MAX), &document.file_chunk);
    (cells > MAX_EMPTY_CELLS.max(there.saturating_mul(MAX_SPARSENESS))).then_some((cells, there))
}
