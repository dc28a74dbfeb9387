//! Numbers of single numbers.

use std::hash::BuildHasher;

use bytemuck::Pod;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use tdb_codec::{Physical, to_u64};

use super::keys::{NEAR, NONE};
use super::word;
use crate::buffers::index_of;
use crate::condition::ColumnView;
use crate::{OrInternal, Result};

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
    /// If `count` words are `known`, and these are many, it does not look through them again for
    /// each tile.
    fn cover(
        &mut self,
        (low, high): (u64, u64),
        (count, known): (usize, impl Iterator<Item = (u64, u32)>),
    ) -> bool {
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
        if span(first, end) >= NEAR || count > NEAR {
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

/// Numbers of single numbers, which are kept as words: integers in their order, reals as their
/// bits.
#[derive(Debug)]
pub(super) struct Words {
    pub(super) physical: Physical,
    values: Vec<u64>,
    /// The number of null, whose word is no value.
    placeholder: Option<u32>,
    table: HashTable<(u64, u32)>,
    hasher: RandomState,
    near: Near,
}

impl Words {
    pub(super) fn new(physical: Physical) -> Self {
        let (table, hasher) = (HashTable::new(), RandomState::default());
        Self { physical, values: Vec::new(), placeholder: None, table, hasher, near: Near::default() }
    }

    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let lists = self.values.capacity().saturating_mul(8).saturating_add(self.near.held());
        lists.saturating_add(self.table.allocation_size())
    }

    /// The words from this number on, which cannot be searched.
    pub(super) fn since(&self, from: usize) -> Result<Self> {
        let values = self.values.get(from..).or_internal("a table of words has become shorter")?.to_vec();
        Ok(Self { values, ..Self::new(self.physical) })
    }

    /// The word with a number.
    pub(super) fn word(&self, number: u32) -> Result<u64> {
        self.values.get(index_of(number)).copied().or_internal("there is no word with this number")
    }

    /// Appends the bytes of a value.
    pub(super) fn push_bytes(&self, number: u32, data: &mut Vec<u8>) -> Result<()> {
        let word = self.word(number)?;
        // Reals are kept as their bits, so that all of them come back.
        let bits =
            if self.physical.is_signed_integer() { word::to_integer(word).cast_unsigned() } else { word };
        data.extend(bits.to_le_bytes().iter().take(self.physical.size()));
        Ok(())
    }

    /// A number for null.
    pub(super) fn push_null(&mut self) -> u32 {
        let number = self.push(0);
        self.placeholder = Some(number);
        number
    }

    fn push(&mut self, word: u64) -> u32 {
        let number = u32::try_from(self.values.len()).unwrap_or(NONE);
        self.values.push(word);
        number
    }

    pub(super) fn number_of(&mut self, word: u64) -> u32 {
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
            self.near.cover((word(low), word(high)), (self.values.len(), known))
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

/// Takes numbers, and what makes words of them.
pub(super) trait TakeWords {
    /// `word` keeps the order of values that are no reals.
    fn take<T: Pod + PartialOrd>(self, values: &[T], word: impl Fn(T) -> u64 + Copy);
}

/// Numbers words.
pub(super) struct NumberWords<'a> {
    pub(super) words: &'a mut Words,
    pub(super) numbers: &'a mut Vec<u32>,
}

impl TakeWords for NumberWords<'_> {
    fn take<T: Pod + PartialOrd>(self, values: &[T], word: impl Fn(T) -> u64 + Copy) {
        self.words.number(values, word, self.numbers);
    }
}

/// Has somebody take the cells `chosen`, or all `cells`, of single numbers.
pub(super) struct EachWord<'a, T> {
    pub(super) view: ColumnView<'a>,
    pub(super) cells: usize,
    pub(super) chosen: Option<&'a [u32]>,
    pub(super) to: T,
}

impl<W: TakeWords> EachWord<'_, W> {
    fn run<T: Pod + PartialOrd>(self, word: impl Fn(T) -> u64 + Copy) -> Result<()> {
        self.to.take(self.view.numbers::<T>(self.cells, self.chosen)?.as_ref(), word);
        Ok(())
    }

    /// Of values of a type. The arms are not in a generic function: each type would get the code of
    /// all ten.
    pub(super) fn of(self, physical: Physical) -> Result<()> {
        match physical {
            Physical::I8 => self.run(|value: i8| word::of_integer(value.into())),
            Physical::I16 => self.run(|value: i16| word::of_integer(value.into())),
            Physical::I32 => self.run(|value: i32| word::of_integer(value.into())),
            Physical::I64 => self.run(word::of_integer),
            Physical::U8 => self.run(|value: u8| value.into()),
            Physical::U16 => self.run(|value: u16| value.into()),
            Physical::U32 => self.run(|value: u32| value.into()),
            Physical::U64 => self.run(|value: u64| value),
            Physical::F32 => self.run(|value: f32| value.to_bits().into()),
            Physical::F64 => self.run(f64::to_bits),
        }
    }
}
