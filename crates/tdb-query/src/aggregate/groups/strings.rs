//! Numbers of strings.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use super::keys::NONE;
use crate::buffers::index_of;
use crate::condition::{ColumnView, picked, word_at};
use crate::{OrInternal, Result};

/// What decides most comparisons of two strings, and all of strings of up to 16 bytes: the first 8
/// and the last 8 bytes (of a shorter string all bytes), and the length.
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
    fn sought<'v>(&self, values: &'v [u8], (start, end): (usize, usize)) -> Result<Sought<'v>> {
        let string = values.get(start..end).or_internal("a string ends after the last byte")?;
        let ends = Ends::of(values, start, string.len());
        Ok(Sought { string, ends, hash: self.of(ends, || string) })
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
    pub(super) fn since(&self, from: usize) -> Result<Self> {
        const SHORTER: &str = "a table of strings has become shorter";
        let lengths = self.lengths.get(from..).or_internal(SHORTER)?;
        let first = lengths.first().map_or(self.bytes.len(), |(start, _)| *start);
        let lengths = lengths.iter().map(|(start, len)| (start.saturating_sub(first), *len)).collect();
        let bytes = self.bytes.get(first..).or_internal(SHORTER)?.to_vec();
        Ok(Self { bytes, lengths, ..Self::new(self.size) })
    }

    pub(super) fn push(&mut self, string: &[u8]) -> u32 {
        let number = u32::try_from(self.lengths.len()).unwrap_or(NONE);
        self.lengths.push((self.bytes.len(), string.len()));
        self.bytes.extend_from_slice(string);
        number
    }

    pub(super) fn value(&self, number: u32) -> Result<&[u8]> {
        string_of(&self.lengths, &self.bytes, number).or_internal("there is no string with this number")
    }

    pub(super) fn number_of(&mut self, string: &[u8]) -> Result<u32> {
        Ok(self.find(self.hashes.sought(string, (0, string.len()))?))
    }

    /// The number of a string, which is added if it is new.
    #[inline]
    fn find(&mut self, Sought { string, ends, hash }: Sought<'_>) -> u32 {
        let Self { table, lengths, bytes, .. } = self;
        let same = |(own, number): &(Ends, u32)| {
            *own == ends && (ends.len <= Ends::ALL || string_of(lengths, bytes, *number) == Some(string))
        };
        if let Some((_, number)) = table.find(hash, same) {
            return *number;
        }
        let number = self.push(string);
        let Self { table, hashes, bytes, lengths, .. } = self;
        // The table has no numbers but those of strings that are here; a wrong hash would only hide
        // one of them.
        let hash_of = |(ends, number): &(Ends, u32)| {
            hashes.of(*ends, || string_of(lengths, bytes, *number).unwrap_or_default())
        };
        table.insert_unique(hash, (ends, number), hash_of);
        number
    }

    /// Writes the numbers of the strings at these places. The hashes of some strings come before
    /// their search, so that the processor can wait for several places of the table at a time.
    fn find_all(
        &mut self,
        values: &[u8],
        mut places: impl Iterator<Item = Result<(usize, usize)>>,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        let mut some = Vec::with_capacity(AHEAD);
        loop {
            some.clear();
            for place in places.by_ref().take(AHEAD) {
                some.push(self.hashes.sought(values, place?)?);
            }
            if some.is_empty() {
                return Ok(());
            }
            numbers.extend(some.iter().map(|sought| self.find(*sought)));
        }
    }

    pub(super) fn number(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        numbers: &mut Vec<u32>,
    ) -> Result<()> {
        let size = self.size;
        let place = |cell: usize| view.place(cell, size).or_internal("a string has no place");
        numbers.reserve(chosen.map_or(cells, <[u32]>::len));
        let Some(codes) = view.codes else {
            return match chosen {
                Some(chosen) => {
                    let places = chosen.iter().map(|cell| place(index_of(*cell)));
                    self.find_all(view.values, places, numbers)
                }
                None => self.find_all(view.values, (0..cells).map(place), numbers),
            };
        };
        let own: Vec<u32>;
        let codes = match chosen {
            Some(chosen) => {
                own = picked(codes, chosen)?;
                own.as_slice()
            }
            None => codes.get(..cells).or_internal("a column has fewer codes than its tile has cells")?,
        };
        // Each string that a cell has is looked up once, in the order in which they appear.
        let mut known = vec![NONE; view.offsets.map_or(0, <[u64]>::len).saturating_sub(1)];
        let mut used = Vec::new();
        for code in codes {
            let known = known.get_mut(index_of(*code)).or_internal(NO_STRING)?;
            if *known == NONE {
                *known = 0;
                used.push(*code);
            }
        }
        let mut own = Vec::with_capacity(used.len());
        self.find_all(view.values, used.iter().map(|code| place(index_of(*code))), &mut own)?;
        for (code, number) in used.iter().zip(own) {
            *known.get_mut(index_of(*code)).or_internal(NO_STRING)? = number;
        }
        numbers.append(&mut picked(&known, codes)?);
        Ok(())
    }
}

/// What [`OrInternal`] says of a code that stands for no string.
const NO_STRING: &str = "a cell has a code that stands for no string";

/// The bytes of the string with a number.
fn string_of<'b>(lengths: &[(usize, usize)], bytes: &'b [u8], number: u32) -> Option<&'b [u8]> {
    let (start, len) = lengths.get(index_of(number)).copied()?;
    bytes.get(start..start.checked_add(len)?)
}

/// A string that is searched for.
#[derive(Clone, Copy)]
struct Sought<'v> {
    string: &'v [u8],
    ends: Ends,
    hash: u64,
}

/// The strings whose hashes are computed before they are searched for.
const AHEAD: usize = 64;
