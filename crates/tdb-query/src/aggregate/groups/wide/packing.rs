//! How the values of keys lie in words.

use tdb_codec::to_usize;

use super::super::Key;
use super::super::word::SIGN;
use crate::{OrInternal, Result};

/// Words that hold the values of all keys, in as few as they fit into: a group with two keys of 32
/// bits has one word.
pub(super) struct Packing {
    keys: Vec<Packed>,
    words: usize,
}

/// Where the value of a key lies.
#[derive(Clone, Copy)]
pub(super) struct Packed {
    value: Bits,
    /// The bit that says whether the value is null.
    null: Option<Bits>,
    is_signed: bool,
}

/// Some bits of a word.
#[derive(Clone, Copy)]
struct Bits {
    word: usize,
    shift: u32,
    mask: u64,
}

impl Packing {
    pub(super) fn new(keys: &[Key]) -> Self {
        let (mut word, mut used) = (0usize, 0u32);
        let mut place = |bits: u32| {
            if used.saturating_add(bits) > u64::BITS {
                (word, used) = (word.saturating_add(1), 0);
            }
            let own = Bits { word, shift: used, mask: u64::MAX >> u64::BITS.saturating_sub(bits) };
            used = used.saturating_add(bits);
            own
        };
        let mut packed = |key: &Key| {
            let physical = key.spec.datatype.physical();
            // What is numbered has numbers of 32 bits.
            let bits = if key.is_word() {
                u32::try_from(physical.size()).unwrap_or(8).saturating_mul(8)
            } else {
                32
            };
            let is_signed = key.is_word() && physical.is_signed_integer();
            Packed { value: place(bits), null: key.has_null_words().then(|| place(1)), is_signed }
        };
        let keys: Vec<Packed> = keys.iter().map(&mut packed).collect();
        Self { keys, words: word.saturating_add(1) }
    }

    /// The number of words.
    pub(super) const fn words(&self) -> usize {
        self.words
    }

    /// Where the value of each key lies.
    pub(super) fn keys(&self) -> &[Packed] {
        &self.keys
    }
}

impl Packed {
    /// Writes values, given as words that have their order or as their numbers, into words that
    /// have zeros there.
    pub(super) fn put(
        &self,
        words: &mut [Vec<u64>],
        first: usize,
        values: impl Iterator<Item = u64>,
    ) -> Result<()> {
        let (sign, Bits { word, shift, mask }) = (if self.is_signed { SIGN } else { 0 }, self.value);
        let words = words.get_mut(word).and_then(|words| words.get_mut(first..)).or_internal(NO_WORD)?;
        for (word, value) in words.iter_mut().zip(values) {
            *word |= ((value ^ sign) & mask) << shift;
        }
        Ok(())
    }

    /// Makes some values null.
    pub(super) fn put_nulls(
        &self,
        words: &mut [Vec<u64>],
        first: usize,
        are_null: impl Iterator<Item = bool>,
    ) -> Result<()> {
        let null = self.null.or_internal("a key without nulls has one")?;
        for (at, _) in are_null.enumerate().filter(|(_, is_null)| *is_null) {
            let at = first.saturating_add(at);
            // What is stored where a cell is null does not matter.
            *word_at(words, self.value, at)? &= !(self.value.mask << self.value.shift);
            *word_at(words, null, at)? |= null.mask << null.shift;
        }
        Ok(())
    }

    /// Replaces each number by the one that `numbers` has at its place.
    pub(super) fn renumber(&self, words: &mut [Vec<u64>], numbers: &[u32]) -> Result<()> {
        let Bits { word, shift, mask } = self.value;
        for word in words.get_mut(word).or_internal(NO_WORD)? {
            let own = to_usize(*word >> shift & mask).and_then(|own| numbers.get(own));
            let own = own.or_internal("a key's value has no number")?;
            *word = *word & !(mask << shift) | u64::from(*own) << shift;
        }
        Ok(())
    }

    /// The numbers of values.
    pub(super) fn numbers<'a>(&self, words: &'a [Vec<u64>]) -> impl Iterator<Item = u32> + use<'a> {
        self.bits(words).map(|bits| u32::try_from(bits).unwrap_or(u32::MAX))
    }

    /// The bits of values: after those of the type they are zeros.
    pub(super) fn bits<'a>(&self, words: &'a [Vec<u64>]) -> impl Iterator<Item = u64> + use<'a> {
        let Bits { word, shift, mask } = self.value;
        words.get(word).into_iter().flatten().map(move |word| word >> shift & mask)
    }

    /// Whether values are null, if the key may have them.
    pub(super) fn nulls<'a>(&self, words: &'a [Vec<u64>]) -> Option<impl Iterator<Item = bool> + use<'a>> {
        let Bits { word, shift, mask } = self.null?;
        Some(words.get(word).into_iter().flatten().map(move |word| word >> shift & mask == 1))
    }
}

/// What [`OrInternal`] says of a missing word.
const NO_WORD: &str = "a cell lacks a word of its keys";

fn word_at(words: &mut [Vec<u64>], bits: Bits, at: usize) -> Result<&mut u64> {
    words.get_mut(bits.word).and_then(|words| words.get_mut(at)).or_internal(NO_WORD)
}
