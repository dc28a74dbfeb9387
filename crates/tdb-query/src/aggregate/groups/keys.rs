//! Numbers for the values of a key, and for pairs of such numbers.

use bytemuck::Pod;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;
use tdb_codec::{Buffer, Native, Physical, PhysicalVisitor, to_u64};

use crate::buffers::index_of;
use crate::condition::{ColumnView, typed};
use crate::spec::ColumnSpec;

/// No number yet.
const NONE: u32 = u32::MAX;
/// A table without hashes has at most this many slots: 256 KiB.
const NEAR: usize = 1 << 16;

/// The values of a key, numbered from 0 in the order in which they first appear.
#[derive(Debug)]
pub(super) struct Values {
    store: Store,
    /// The number of null.
    null: Option<u32>,
}

#[derive(Debug)]
enum Store {
    /// Single numbers, which are compared by their bits.
    Words(Words),
    /// Everything else, which is compared by its bytes.
    Strings(Strings),
}

impl Values {
    pub(super) fn new(spec: &ColumnSpec) -> Self {
        let store = match spec.cell_size {
            Some(size) if size == spec.datatype.size() => Store::Words(Words::new(spec.datatype.physical())),
            size => Store::Strings(Strings::new(size)),
        };
        Self { store, null: None }
    }

    /// The number of values, with null.
    pub(super) const fn len(&self) -> usize {
        match &self.store {
            Store::Words(words) => words.values.len(),
            Store::Strings(strings) => strings.lengths.len(),
        }
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        match &self.store {
            Store::Words(words) => {
                let lists = words.values.capacity().saturating_mul(8).saturating_add(words.near.held());
                lists.saturating_add(words.table.allocation_size())
            }
            Store::Strings(strings) => {
                let lists = strings.lengths.capacity().saturating_mul(16);
                lists.saturating_add(strings.bytes.capacity()).saturating_add(strings.table.allocation_size())
            }
        }
    }

    /// Writes the number of each cell's value to `numbers`: of the cells `chosen`, or of all `cells`.
    pub(super) fn number(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        numbers: &mut Vec<u32>,
    ) {
        numbers.clear();
        let is_null = |validity: &[u8], cell: u32| validity.get(index_of(cell)) == Some(&0);
        let all = || (0u32..).take(cells);
        let some_null = |validity: &&[u8]| match chosen {
            Some(chosen) => chosen.iter().any(|cell| is_null(validity, *cell)),
            None => validity.iter().take(cells).any(|valid| *valid == 0),
        };
        let Some(validity) = view.validity.filter(some_null) else {
            return self.number_valid(view, cells, chosen, numbers);
        };
        let chosen: Vec<u32> = chosen.map_or_else(|| all().collect(), <[u32]>::to_vec);
        let valid: Vec<u32> = chosen.iter().copied().filter(|cell| !is_null(validity, *cell)).collect();
        let mut own = Vec::new();
        self.number_valid(view, cells, Some(&valid), &mut own);
        let null = self.number_of_null();
        let mut own = own.into_iter();
        numbers.extend(chosen.iter().map(|cell| match is_null(validity, *cell) {
            true => null,
            false => own.next().unwrap_or(null),
        }));
    }

    fn number_of_null(&mut self) -> u32 {
        if let Some(null) = self.null {
            return null;
        }
        // Its value does not matter, and no other null or value is found by it.
        let null = match &mut self.store {
            Store::Words(words) => {
                let number = words.push(0);
                words.placeholder = Some(number);
                number
            }
            Store::Strings(strings) => strings.push(&[]),
        };
        self.null = Some(null);
        null
    }

    fn number_valid(
        &mut self,
        view: ColumnView<'_>,
        cells: usize,
        chosen: Option<&[u32]>,
        numbers: &mut Vec<u32>,
    ) {
        match &mut self.store {
            Store::Words(words) => {
                let physical = words.physical;
                physical.visit(NumberWords { words, bytes: view.values, cells, chosen, numbers });
            }
            Store::Strings(strings) => strings.number(view, cells, chosen, numbers),
        }
    }

    /// The values from this number on, for [`Self::merge`].
    pub(super) fn since(&self, from: usize) -> Self {
        let null = self.null.and_then(|null| null.checked_sub(u32::try_from(from).ok()?));
        let store = match &self.store {
            Store::Words(words) => Store::Words(Words {
                values: words.values.get(from..).unwrap_or_default().to_vec(),
                ..Words::new(words.physical)
            }),
            Store::Strings(strings) => {
                let lengths = strings.lengths.get(from..).unwrap_or_default();
                let first = lengths.first().map_or(strings.bytes.len(), |(start, _)| *start);
                let lengths =
                    lengths.iter().map(|(start, len)| (start.saturating_sub(first), *len)).collect();
                let bytes = strings.bytes.get(first..).unwrap_or_default().to_vec();
                Store::Strings(Strings { bytes, lengths, ..Strings::new(strings.size) })
            }
        };
        Self { store, null }
    }

    /// Adds the values of another table; returns the number here of each value there.
    pub(super) fn merge(&mut self, other: &Self) -> Vec<u32> {
        let mut numbers = Vec::with_capacity(other.len());
        for number in (0u32..).take(other.len()) {
            let own = match (&mut self.store, &other.store) {
                _ if other.null == Some(number) => self.number_of_null(),
                (Store::Words(words), Store::Words(from)) => {
                    let word = from.values.get(index_of(number)).copied().unwrap_or(0);
                    words.number_of(word)
                }
                (Store::Strings(strings), Store::Strings(from)) => {
                    let (start, len) = from.lengths.get(index_of(number)).copied().unwrap_or_default();
                    let end = start.saturating_add(len);
                    strings.number_of(&from.bytes, start, end)
                }
                _ => 0,
            };
            numbers.push(own);
        }
        numbers
    }

    /// The values with these numbers, as a column of the field.
    pub(super) fn column(&self, spec: &ColumnSpec, numbers: &[u32]) -> crate::Column {
        let mut offsets = Vec::new();
        let mut data = Vec::new();
        for number in numbers {
            match &self.store {
                Store::Words(words) => {
                    let word = words.values.get(index_of(*number)).copied().unwrap_or(0) ^ words.bias;
                    data.extend(word.to_le_bytes().iter().take(words.physical.size()));
                }
                Store::Strings(strings) => {
                    offsets.push(to_u64(data.len()));
                    if self.null == Some(*number) {
                        data.resize(data.len().saturating_add(strings.size.unwrap_or(0)), 0);
                    } else {
                        data.extend_from_slice(strings.value(*number));
                    }
                }
            }
        }
        offsets.push(to_u64(data.len()));
        let validity = spec
            .nullable
            .then(|| numbers.iter().map(|number| u8::from(self.null != Some(*number))).collect());
        let offsets = spec.cell_size.is_none().then_some(offsets);
        spec.clone().column(Buffer::from(data.as_slice()), offsets, validity)
    }
}

/// Numbers of words that lie near each other, by a table without hashes.
#[derive(Debug, Default)]
struct Near {
    /// The word of the first slot.
    base: u64,
    slots: Vec<u32>,
}

impl Near {
    const fn held(&self) -> usize {
        self.slots.capacity().saturating_mul(4)
    }

    /// Makes the table contain all words from `low` to `high`, if it can; returns whether it does.
    fn cover(&mut self, low: u64, high: u64, known: impl Iterator<Item = (u64, u32)>) -> bool {
        let last = |base: u64, slots: usize| base.saturating_add(to_u64(slots).saturating_sub(1));
        let (mut first, mut end) = (low, high);
        if !self.slots.is_empty() {
            if low >= self.base && high <= last(self.base, self.slots.len()) {
                return true;
            }
            (first, end) = (low.min(self.base), high.max(last(self.base, self.slots.len())));
        }
        let span = |first: u64, end: u64| usize::try_from(end.saturating_sub(first)).unwrap_or(usize::MAX);
        if span(first, end) >= NEAR {
            // What is far from the words of earlier tiles begins a table of its own.
            (first, end) = (low, high);
        }
        if span(first, end) >= NEAR {
            return false;
        }
        self.base = first;
        self.slots.clear();
        self.slots.resize(span(first, end).saturating_add(1).next_power_of_two(), NONE);
        for (word, number) in known {
            self.set(word, number);
        }
        true
    }

    fn set(&mut self, word: u64, number: u32) {
        let at = usize::try_from(word.wrapping_sub(self.base)).unwrap_or(usize::MAX);
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = number;
        }
    }
}

/// Numbers of single numbers. A value is kept as a word that has the same order: its bits, with the sign's turned.
#[derive(Debug)]
struct Words {
    physical: Physical,
    /// What a word is turned into bits with.
    bias: u64,
    values: Vec<u64>,
    /// The number of null, whose word is no value.
    placeholder: Option<u32>,
    table: HashTable<(u64, u32)>,
    hasher: RandomState,
    near: Near,
}

impl Words {
    fn new(physical: Physical) -> Self {
        let bias = if physical.is_signed_integer() { 1 << 63 } else { 0 };
        let (table, hasher) = (HashTable::new(), RandomState::default());
        Self { physical, bias, values: Vec::new(), placeholder: None, table, hasher, near: Near::default() }
    }

    fn push(&mut self, word: u64) -> u32 {
        let number = u32::try_from(self.values.len()).unwrap_or(NONE);
        self.values.push(word);
        number
    }

    fn number_of(&mut self, word: u64) -> u32 {
        let hash = self.hasher.hash_one(word);
        if let Some((_, number)) = self.table.find(hash, |(own, _)| *own == word) {
            return *number;
        }
        let number = self.push(word);
        let hasher = &self.hasher;
        self.table.insert_unique(hash, (word, number), |(own, _)| hasher.hash_one(*own));
        number
    }

    /// `word` keeps the order of values that are no reals.
    fn number<T: Pod + PartialOrd>(
        &mut self,
        values: &[T],
        word: impl Fn(T) -> u64 + Copy,
        numbers: &mut Vec<u32>,
    ) {
        numbers.reserve(values.len());
        let first = values.first().filter(|_| !self.physical.is_float());
        let is_near = first.is_some_and(|first| {
            // In the type of the values, the compiler vectorises the loop.
            let (low, high) = values.iter().fold((*first, *first), |(low, high), value| {
                (if *value < low { *value } else { low }, if *value > high { *value } else { high })
            });
            let known = self.values.iter().copied().zip(0u32..);
            let known = known.filter(|(_, number)| self.placeholder != Some(*number));
            self.near.cover(word(low), word(high), known)
        });
        if !is_near {
            numbers.extend(values.iter().map(|value| self.number_of(word(*value))));
            return;
        }
        let base = self.near.base;
        numbers.extend(values.iter().map(|value| {
            let word = word(*value);
            let at = usize::try_from(word.wrapping_sub(base)).unwrap_or(usize::MAX);
            match self.near.slots.get(at) {
                Some(number) if *number != NONE => *number,
                _ => {
                    let number = self.number_of(word);
                    self.near.set(word, number);
                    number
                }
            }
        }));
    }
}

struct NumberWords<'a> {
    words: &'a mut Words,
    bytes: &'a [u8],
    cells: usize,
    chosen: Option<&'a [u32]>,
    numbers: &'a mut Vec<u32>,
}

impl NumberWords<'_> {
    fn run<T: Pod + PartialOrd>(self, word: impl Fn(T) -> u64 + Copy) {
        let all: &[T] = typed(self.bytes);
        let picked: Vec<T>;
        let values = match self.chosen {
            Some(chosen) => {
                picked = chosen.iter().filter_map(|cell| all.get(index_of(*cell)).copied()).collect();
                picked.as_slice()
            }
            None => all.get(..self.cells).unwrap_or(all),
        };
        self.words.number(values, word, self.numbers);
    }
}

impl PhysicalVisitor for NumberWords<'_> {
    type Output = ();

    fn visit<T: Native>(self) {
        let bias = self.words.bias;
        let signed = move |value: i64| value.cast_unsigned() ^ bias;
        match T::PHYSICAL {
            Physical::I8 => self.run(move |value: i8| signed(value.into())),
            Physical::I16 => self.run(move |value: i16| signed(value.into())),
            Physical::I32 => self.run(move |value: i32| signed(value.into())),
            Physical::I64 => self.run(signed),
            Physical::U8 => self.run(|value: u8| value.into()),
            Physical::U16 => self.run(|value: u16| value.into()),
            Physical::U32 => self.run(|value: u32| value.into()),
            Physical::U64 => self.run(|value: u64| value),
            Physical::F32 => self.run(|value: f32| value.to_bits().into()),
            Physical::F64 => self.run(f64::to_bits),
        }
    }
}

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

/// Up to 8 bytes as a number.
#[inline]
fn word_at(values: &[u8], at: usize, len: usize) -> u64 {
    let rest = values.get(at..).unwrap_or_default();
    let word = match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => rest.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    let past = u32::try_from(len.saturating_mul(8)).unwrap_or(u64::BITS);
    // A selection and not a branch: lengths are hard to foresee.
    word & !u64::MAX.checked_shl(past).unwrap_or(0)
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
struct Strings {
    /// The bytes of a cell, if they are the same for all.
    size: Option<usize>,
    table: HashTable<(Ends, u32)>,
    hashes: Hashes,
    bytes: Vec<u8>,
    /// Where the bytes of a string are, and how many they are.
    lengths: Vec<(usize, usize)>,
}

impl Strings {
    fn new(size: Option<usize>) -> Self {
        let (table, hashes) = (HashTable::new(), Hashes::new());
        Self { size, table, hashes, bytes: Vec::new(), lengths: Vec::new() }
    }

    fn push(&mut self, string: &[u8]) -> u32 {
        let number = u32::try_from(self.lengths.len()).unwrap_or(NONE);
        self.lengths.push((self.bytes.len(), string.len()));
        self.bytes.extend_from_slice(string);
        number
    }

    fn value(&self, number: u32) -> &[u8] {
        let (start, len) = self.lengths.get(index_of(number)).copied().unwrap_or_default();
        self.bytes.get(start..start.saturating_add(len)).unwrap_or_default()
    }

    fn number_of(&mut self, values: &[u8], start: usize, end: usize) -> u32 {
        self.find(values, self.hashes.sought(values, (start, end)))
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

    fn number(&mut self, view: ColumnView<'_>, cells: usize, chosen: Option<&[u32]>, numbers: &mut Vec<u32>) {
        let size = self.size.unwrap_or(0);
        let place = |cell: usize| -> (usize, usize) {
            match view.offsets {
                Some(offsets) => {
                    let place = |at: usize| offsets.get(at).and_then(|at| usize::try_from(*at).ok());
                    (place(cell).unwrap_or(0), place(cell.saturating_add(1)).unwrap_or(0))
                }
                None => (cell.saturating_mul(size), cell.saturating_mul(size).saturating_add(size)),
            }
        };
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

/// Pairs of numbers, numbered from 0 in the order in which they first appear.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pairs: Vec<(u32, u32)>,
    table: HashTable<(u32, u32, u32)>,
    hasher: RandomState,
    /// The numbers of pairs without hashes, if there are few: `width` for each left number.
    near: Vec<u32>,
    width: usize,
}

impl Pairs {
    pub(super) const fn len(&self) -> usize {
        self.pairs.len()
    }

    pub(super) fn held(&self) -> usize {
        let lists =
            self.pairs.capacity().saturating_mul(8).saturating_add(self.near.capacity().saturating_mul(4));
        lists.saturating_add(self.table.allocation_size())
    }

    /// Replaces each left number by the number of the pair that it makes with the right one. `counts` is how many left and right
    /// numbers there are.
    pub(super) fn number(&mut self, left: &mut [u32], right: &[u32], counts: (usize, usize)) {
        let near = self.cover(counts);
        let width = self.width;
        for (left, right) in left.iter_mut().zip(right) {
            let at = index_of(*left).saturating_mul(width).saturating_add(index_of(*right));
            *left = match self.near.get(at) {
                Some(number) if near && *number != NONE => *number,
                _ => {
                    let number = self.number_of(*left, *right);
                    if near && let Some(slot) = self.near.get_mut(at) {
                        *slot = number;
                    }
                    number
                }
            };
        }
    }

    pub(super) fn number_of(&mut self, left: u32, right: u32) -> u32 {
        let hasher = &self.hasher;
        let hash = hasher.hash_one((left, right));
        if let Some(found) = self.table.find(hash, |own| (own.0, own.1) == (left, right)) {
            return found.2;
        }
        let number = u32::try_from(self.pairs.len()).unwrap_or(NONE);
        self.pairs.push((left, right));
        self.table.insert_unique(hash, (left, right, number), |own| hasher.hash_one((own.0, own.1)));
        number
    }

    /// Both numbers of each pair.
    pub(super) fn all(&self) -> &[(u32, u32)] {
        &self.pairs
    }

    /// Both numbers of each pair from this one on.
    pub(super) fn since(&self, from: usize) -> &[(u32, u32)] {
        self.pairs.get(from..).unwrap_or_default()
    }

    /// Makes the table without hashes contain all pairs, if they are few; returns whether it does.
    fn cover(&mut self, (left, right): (usize, usize)) -> bool {
        let width = right.next_power_of_two();
        if left.saturating_mul(width) > NEAR {
            self.near = Vec::new();
            return false;
        }
        if width != self.width || self.near.is_empty() {
            self.width = width;
            self.near.clear();
            self.near.resize(left.saturating_mul(width), NONE);
            for (number, (left, right)) in (0u32..).zip(&self.pairs) {
                let at = index_of(*left).saturating_mul(width).saturating_add(index_of(*right));
                self.near.get_mut(at).into_iter().for_each(|slot| *slot = number);
            }
        }
        if self.near.len() < left.saturating_mul(width) {
            self.near.resize(left.saturating_mul(width), NONE);
        }
        true
    }
}
