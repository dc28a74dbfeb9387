//! The layout of group keys: how the values of all keys of a cell are packed into words of 64 bits.

use tdb_codec::to_usize;

use super::super::Key;
use super::super::ordered_bits::SIGN;
use crate::{OrInternal, Result};

/// Words that hold the values of all keys, in as few as they fit into: a group with two keys of 32
/// bits has one word.
pub(super) struct KeyLayout {
    keys: Vec<KeyBits>,
    words: usize,
}

/// The bits of a key's value.
#[derive(Clone, Copy)]
pub(super) struct KeyBits {
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

impl KeyLayout {
    pub(super) fn new(keys: &[Key]) -> Self {
        let (mut word, mut used) = (0usize, 0u32);
        let mut place = |bits: u32| {
            if used + bits > u64::BITS {
                (word, used) = (word + 1, 0);
            }
            let own = Bits { word, shift: used, mask: u64::MAX >> (u64::BITS - bits) };
            used += bits;
            own
        };
        let mut key_bits = |key: &Key| {
            let physical = key.spec.datatype.physical();
            let bits = match physical.size() {
                // Ids of strings.
                _ if !key.is_numeric() => u32::BITS,
                1 => u8::BITS,
                2 => u16::BITS,
                4 => u32::BITS,
                _ => u64::BITS,
            };
            let is_signed = key.is_numeric() && physical.is_signed_integer();
            KeyBits { value: place(bits), null: key.has_null_bit().then(|| place(1)), is_signed }
        };
        let keys: Vec<KeyBits> = keys.iter().map(&mut key_bits).collect();
        Self { keys, words: word + 1 }
    }

    /// The number of words.
    pub(super) const fn words(&self) -> usize {
        self.words
    }

    /// The bits of each key's value.
    pub(super) fn keys(&self) -> &[KeyBits] {
        &self.keys
    }
}

impl KeyBits {
    /// Writes values, given as their ordered bits or as ids of strings, into the words of the cells
    /// from `first` on, which have zeros there.
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
            let at = first + at;
            // All nulls are one group, whatever is stored in their place.
            *word_at(words, self.value, at)? &= !(self.value.mask << self.value.shift);
            *word_at(words, null, at)? |= null.mask << null.shift;
        }
        Ok(())
    }

    /// Replaces each id of a string by the one that `ids` has at its place.
    pub(super) fn replace_ids(&self, words: &mut [Vec<u64>], ids: &[u32]) -> Result<()> {
        let Bits { word, shift, mask } = self.value;
        for word in words.get_mut(word).or_internal(NO_WORD)? {
            let own = to_usize(*word >> shift & mask).and_then(|own| ids.get(own));
            let own = own.or_internal("a key's value has no number")?;
            *word = *word & !(mask << shift) | u64::from(*own) << shift;
        }
        Ok(())
    }

    /// The ids of strings.
    pub(super) fn ids(&self, words: &[Vec<u64>]) -> Result<Vec<u32>> {
        let ids = self.bits(words)?.map(|bits| u32::try_from(bits).ok());
        ids.collect::<Option<_>>().or_internal("an id has more than 32 bits")
    }

    /// The bits of numbers: after those of the type they are zeros.
    pub(super) fn bits<'a>(&self, words: &'a [Vec<u64>]) -> Result<impl Iterator<Item = u64> + use<'a>> {
        let Bits { word, shift, mask } = self.value;
        let words = words.get(word).or_internal(NO_WORD)?;
        Ok(words.iter().map(move |word| word >> shift & mask))
    }

    /// A byte for each group, 0 where the value is null; `None` if the key has no nulls.
    pub(super) fn validity(&self, words: &[Vec<u64>]) -> Result<Option<Vec<u8>>> {
        let Some(Bits { word, shift, mask }) = self.null else { return Ok(None) };
        let words = words.get(word).or_internal(NO_WORD)?;
        Ok(Some(words.iter().map(|word| u8::from(word >> shift & mask != 1)).collect()))
    }
}

/// The internal error of a missing word.
const NO_WORD: &str = "a cell lacks a word of its keys";

fn word_at(words: &mut [Vec<u64>], bits: Bits, at: usize) -> Result<&mut u64> {
    words.get_mut(bits.word).and_then(|words| words.get_mut(at)).or_internal(NO_WORD)
}
