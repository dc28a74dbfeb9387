//! Ids of string group keys: the distinct strings (or other cells compared as bytes) of a key,
//! numbered in the order in which they first appear.

use std::hash::BuildHasher;

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use tdb_predicate::{ColumnView, picked, word_at};

use super::key_values::{NO_ID, check_ids, next_id};
use super::thresholds::LOOKAHEAD;
use crate::buffers::index_of;
use crate::{OrInternal, Result};

/// The first 8 and the last 8 bytes of a string (of a shorter string all bytes), and its length.
/// They decide most comparisons of two strings, and all of strings of up to 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct StringDigest {
    first: u64,
    last: u64,
    len: u32,
}

impl StringDigest {
    /// The length up to which a digest contains the whole string.
    const MAX_WHOLE: u32 = 16;

    #[inline]
    fn of(values: &[u8], start: usize, len: usize) -> Self {
        let few = len.min(8);
        let first = word_at(values, start, few);
        let last = word_at(values, start + (len - few), few);
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
        let digest = StringDigest::of(values, start, string.len());
        Ok(Sought { string, digest, hash: self.of(digest, || string) })
    }

    /// The hash of a string with this digest. For a short string, one wide product is enough.
    #[inline]
    fn of<'v>(&self, digest: StringDigest, whole: impl FnOnce() -> &'v [u8]) -> u64 {
        if digest.len > StringDigest::MAX_WHOLE {
            return self.hasher.hash_one(whole());
        }
        let [first, last] = self.secrets;
        let product = u128::from(digest.first ^ first)
            * u128::from(digest.last ^ last ^ u64::from(digest.len).rotate_left(32));
        #[expect(clippy::cast_possible_truncation, reason = "both halves of a product are used")]
        let halves = (product as u64, (product >> 64) as u64);
        halves.0 ^ halves.1
    }
}

/// The distinct strings of a key.
#[derive(Debug)]
pub(super) struct StringKeys {
    /// The bytes of a cell, if they are the same for all.
    pub(super) size: Option<usize>,
    table: HashTable<(StringDigest, u32)>,
    hashes: Hashes,
    bytes: Vec<u8>,
    /// The start of each string in `bytes`, and its length, by id.
    places: Vec<(usize, usize)>,
}

impl StringKeys {
    pub(super) fn new(size: Option<usize>) -> Self {
        let (table, hashes) = (HashTable::new(), Hashes::new());
        Self { size, table, hashes, bytes: Vec::new(), places: Vec::new() }
    }

    pub(super) const fn len(&self) -> usize {
        self.places.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let lists = self.places.capacity().saturating_mul(16);
        lists.saturating_add(self.bytes.capacity()).saturating_add(self.table.allocation_size())
    }

    /// The strings from an id on, as a list that cannot be searched.
    pub(super) fn since(&self, from: usize) -> Result<Self> {
        const SHORTER: &str = "a table of strings has become shorter";
        let places = self.places.get(from..).or_internal(SHORTER)?;
        let first = places.first().map_or(self.bytes.len(), |(start, _)| *start);
        let places = places.iter().map(|(start, len)| (start - first, *len)).collect();
        let bytes = self.bytes.get(first..).or_internal(SHORTER)?.to_vec();
        Ok(Self { bytes, places, ..Self::new(self.size) })
    }

    /// Adds a string without looking whether it is there, and returns its id.
    pub(super) fn push(&mut self, string: &[u8]) -> u32 {
        let id = next_id(self.places.len());
        self.places.push((self.bytes.len(), string.len()));
        self.bytes.extend_from_slice(string);
        id
    }

    /// The string with an id.
    pub(super) fn value(&self, id: u32) -> Result<&[u8]> {
        string_of(&self.places, &self.bytes, id).or_internal("there is no string with this number")
    }

    /// The id of a string, which is added if it is new.
    pub(super) fn id_of(&mut self, string: &[u8]) -> Result<u32> {
        Ok(self.find(self.hashes.sought(string, (0, string.len()))?))
    }

    /// The id of a string, which is added if it is new.
    #[inline]
    fn find(&mut self, Sought { string, digest, hash }: Sought<'_>) -> u32 {
        let Self { table, places, bytes, .. } = self;
        let same = |(own, id): &(StringDigest, u32)| {
            *own == digest
                && (digest.len <= StringDigest::MAX_WHOLE || string_of(places, bytes, *id) == Some(string))
        };
        if let Some((_, id)) = table.find(hash, same) {
            return *id;
        }
        let id = self.push(string);
        let Self { table, hashes, bytes, places, .. } = self;
        // The table has only ids of strings that are here; a wrong hash would only hide one of
        // them.
        let hash_of = |(digest, id): &(StringDigest, u32)| {
            hashes.of(*digest, || string_of(places, bytes, *id).unwrap_or_default())
        };
        table.insert_unique(hash, (digest, id), hash_of);
        id
    }

    /// Appends the ids of the strings at these places. The hashes of some strings are computed
    /// before they are looked up.
    fn find_all(
        &mut self,
        values: &[u8],
        mut places: impl Iterator<Item = Result<(usize, usize)>>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let mut some = Vec::with_capacity(LOOKAHEAD);
        loop {
            some.clear();
            for place in places.by_ref().take(LOOKAHEAD) {
                some.push(self.hashes.sought(values, place?)?);
            }
            if some.is_empty() {
                return check_ids(self.len());
            }
            ids.extend(some.iter().map(|sought| self.find(*sought)));
        }
    }

    /// Appends the id of each cell's string: of the cells `chosen`, or of all `cells`.
    pub(super) fn assign_ids(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        ids: &mut Vec<u32>,
    ) -> Result<()> {
        let size = self.size;
        let place = |cell: usize| view.place(cell, size).or_internal("a string has no place");
        ids.reserve(chosen.map_or(cells, <[u32]>::len));
        let Some(codes) = view.codes else {
            return match chosen {
                Some(chosen) => {
                    let places = chosen.iter().map(|cell| place(index_of(*cell)));
                    self.find_all(view.values, places, ids)
                }
                None => self.find_all(view.values, (0..cells).map(place), ids),
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
        let strings = view.offsets.and_then(|offsets| offsets.len().checked_sub(1)).or_internal(NO_STRING)?;
        let mut id_of_code = vec![NO_ID; strings];
        let mut used = Vec::new();
        for code in codes {
            let id = id_of_code.get_mut(index_of(*code)).or_internal(NO_STRING)?;
            if *id == NO_ID {
                *id = 0;
                used.push(*code);
            }
        }
        let mut own = Vec::with_capacity(used.len());
        self.find_all(view.values, used.iter().map(|code| place(index_of(*code))), &mut own)?;
        for (code, id) in used.iter().zip(own) {
            *id_of_code.get_mut(index_of(*code)).or_internal(NO_STRING)? = id;
        }
        ids.append(&mut picked(&id_of_code, codes)?);
        Ok(())
    }
}

/// The internal error of a code that stands for no string.
const NO_STRING: &str = "a cell has a code that stands for no string";

/// The bytes of the string with an id.
fn string_of<'b>(places: &[(usize, usize)], bytes: &'b [u8], id: u32) -> Option<&'b [u8]> {
    let (start, len) = places.get(index_of(id)).copied()?;
    bytes.get(start..start.checked_add(len)?)
}

/// A string that is searched for.
#[derive(Clone, Copy)]
struct Sought<'v> {
    string: &'v [u8],
    digest: StringDigest,
    hash: u64,
}
