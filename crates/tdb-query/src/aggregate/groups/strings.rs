//! Numbers of strings.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::keys::NONE;
use crate::buffers::index_of;
use crate::condition::{ColumnView, word_at};

/// What decides most comparisons of two strings, and all of strings of up to 16 bytes: the first 8 and the last 8 bytes (of a shorter
/// string all bytes), and the length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ends {
    first: u64,
    last: u64,
    len: u32,
}

impl Ends {
    const ALL: u32 = 16;

    #[inline]
    fn of(values: &[u8], start: usize, len: usize) -> Self {
        let few = len.min(8);
        let first = word_at(values, start, few);
        let last = word_at(values, start.saturating_add(len).saturating_sub(few), few);
        Self { first, last, len: u32::try_from(len).unwrap_or(u32::MAX) }
    }
}

/// Hashes of strings that no file can foresee.
#[derive(Debug)]
struct Hashes {
    hasher: RandomState,
    secrets: [u64; 2],
}

impl Hashes {
    fn new() -> Self {
        let hasher = RandomState::default();
        let secrets = [0u8, 1].map(|secret| hasher.hash_one(secret));
        Self { hasher, secrets }
    }

    #[inline]
    fn sought(&self, values: &[u8], place: (usize, usize)) -> Sought {
        let ends = Ends::of(values, place.0, place.1.saturating_sub(place.0));
        let hash = self.of(ends, || values.get(place.0..place.1).unwrap_or_default());
        Sought { place, ends, hash }
    }

    /// Of a short string, one wide product says all.
    #[inline]
    fn of<'v>(&self, ends: Ends, whole: impl FnOnce() -> &'v [u8]) -> u64 {
        if ends.len > Ends::ALL {
            return self.hasher.hash_one(whole());
        }
        let [first, last] = self.secrets;
        let product = u128::from(ends.first ^ first)
            * u128::from(ends.last ^ last ^ u64::from(ends.len).rotate_left(32));
        #[expect(clippy::cast_possible_truncation, reason = "both halves of a product are used")]
        let halves = (product as u64, (product >> 64) as u64);
        halves.0 ^ halves.1
    }
}

/// Numbers of strings.
#[derive(Debug)]
pub(super) struct Strings {
    /// The bytes of a cell, if they are the same for all.
    pub(super) size: Option<usize>,
    table: HashTable<(Ends, u32)>,
    hashes: Hashes,
    bytes: Vec<u8>,
    /// Where the bytes of a string are, and how many they are.
    lengths: Vec<(usize, usize)>,
}

impl Strings {
    pub(super) fn new(size: Option<usize>) -> Self {
        let (table, hashes) = (HashTable::new(), Hashes::new());
        Self { size, table, hashes, bytes: Vec::new(), lengths: Vec::new() }
    }

    pub(super) const fn len(&self) -> usize {
        self.lengths.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let lists = self.lengths.capacity().saturating_mul(16);
        lists.saturating_add(self.bytes.capacity()).saturating_add(self.table.allocation_size())
    }

    /// The strings from this number on, which cannot be searched.
    pub(super) fn since(&self, from: usize) -> Self {
        let lengths = self.lengths.get(from..).unwrap_or_default();
        let first = lengths.first().map_or(self.bytes.len(), |(start, _)| *start);
        let lengths = lengths.iter().map(|(start, len)| (start.saturating_sub(first), *len)).collect();
        let bytes = self.bytes.get(first..).unwrap_or_default().to_vec();
        Self { bytes, lengths, ..Self::new(self.size) }
    }

    pub(super) fn push(&mut self, string: &[u8]) -> u32 {
        let number = u32::try_from(self.lengths.len()).unwrap_or(NONE);
        self.lengths.push((self.bytes.len(), string.len()));
        self.bytes.extend_from_slice(string);
        number
    }

    pub(super) fn value(&self, number: u32) -> &[u8] {
        let (start, len) = self.lengths.get(index_of(number)).copied().unwrap_or_default();
        self.bytes.get(start..start.saturating_add(len)).unwrap_or_default()
    }

    pub(super) fn number_of(&mut self, string: &[u8]) -> u32 {
        self.find(string, self.hashes.sought(string, (0, string.len())))
    }

    /// The number of a string, which is added if it is new.
    #[inline]
    fn find(&mut self, values: &[u8], Sought { place, ends, hash }: Sought) -> u32 {
        let whole = || values.get(place.0..place.1).unwrap_or_default();
        let same = |(own, number): &(Ends, u32)| {
            *own == ends && (ends.len <= Ends::ALL || self.value(*number) == whole())
        };
        if let Some((_, number)) = self.table.find(hash, same) {
            return *number;
        }
        let number = self.push(whole());
        let Self { table, hashes, bytes, lengths, .. } = self;
        let hash_of = |(ends, number): &(Ends, u32)| {
            let (start, len) = lengths.get(index_of(*number)).copied().unwrap_or_default();
            hashes.of(*ends, || bytes.get(start..start.saturating_add(len)).unwrap_or_default())
        };
        table.insert_unique(hash, (ends, number), hash_of);
        number
    }

    /// Writes the numbers of the strings at these places. The hashes of some strings come before their search, so that the processor can
    /// wait for several places of the table at a time.
    fn find_all(
        &mut self,
        values: &[u8],
        mut places: impl Iterator<Item = (usize, usize)>,
        numbers: &mut Vec<u32>,
    ) {
        let mut some = Vec::with_capacity(AHEAD);
        loop {
            some.clear();
            some.extend(places.by_ref().take(AHEAD).map(|place| self.hashes.sought(values, place)));
            if some.is_empty() {
                return;
            }
            numbers.extend(some.iter().map(|sought| self.find(values, *sought)));
        }
    }

    pub(super) fn number(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        numbers: &mut Vec<u32>,
    ) {
        let size = self.size;
        let place = |cell: usize| view.place(cell, size).unwrap_or_default();
        numbers.reserve(chosen.map_or(cells, <[u32]>::len));
        let Some(codes) = view.codes else {
            match chosen {
                Some(chosen) => {
                    let places = chosen.iter().map(|cell| place(index_of(*cell)));
                    self.find_all(view.values, places, numbers);
                }
                None => self.find_all(view.values, (0..cells).map(place), numbers),
            }
            return;
        };
        let picked: Vec<u32>;
        let codes = match chosen {
            Some(chosen) => {
                picked = chosen.iter().filter_map(|cell| codes.get(index_of(*cell)).copied()).collect();
                picked.as_slice()
            }
            None => codes.get(..cells).unwrap_or(codes),
        };
        // Each string that a cell has is looked up once, in the order in which they appear.
        let mut known = vec![NONE; view.offsets.map_or(0, <[u64]>::len).saturating_sub(1)];
        let mut used = Vec::new();
        for code in codes {
            if let Some(known) = known.get_mut(index_of(*code)).filter(|known| **known == NONE) {
                *known = 0;
                used.push(*code);
            }
        }
        let mut own = Vec::with_capacity(used.len());
        self.find_all(view.values, used.iter().map(|code| place(index_of(*code))), &mut own);
        for (code, number) in used.iter().zip(own) {
            known.get_mut(index_of(*code)).into_iter().for_each(|known| *known = number);
        }
        numbers.extend(codes.iter().map(|code| known.get(index_of(*code)).copied().unwrap_or(0)));
    }
}

/// A string that is searched for.
#[derive(Clone, Copy)]
struct Sought {
    /// Where it begins and ends.
    place: (usize, usize),
    ends: Ends,
    hash: u64,
}

/// The strings whose hashes are computed before they are searched for.
const AHEAD: usize = 64;
