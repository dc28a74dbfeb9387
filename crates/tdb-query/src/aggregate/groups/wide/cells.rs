//! The cells of a run of tiles, as they are sent to the shards.

use bytemuck::Pod;
use tdb_codec::to_u64;

use super::super::Asked;
use super::super::keys::Values;
use super::super::part::look;
use super::super::words::{EachWord, TakeWords};
use super::packing::Packing;
use super::{SHARDS, Scratch};
use crate::aggregate::sparse::Looked;
use crate::aggregate::tally::WantedField;
use crate::buffers::index_of;
use crate::condition::{ColumnView, Sources, numbered, picked};
use crate::sparse::keep::Keep;
use crate::sparse::select::TileSelection;
use crate::{OrInternal, Result};

/// Some cells: the words of their keys, and the values that are added up.
pub(super) struct RunCells {
    /// The scratch that numbered the strings.
    pub(super) scratch: usize,
    /// For each key that is numbered, what the scratch has learned in this run.
    pub(super) fresh: Vec<Option<Values>>,
    /// The words of all cells.
    words: Vec<Vec<u64>>,
    fields: Vec<FieldCells>,
    /// Where the cells of each shard end, once they are sorted by shards.
    ends: Vec<usize>,
}

/// The values of a field.
struct FieldCells {
    values: Numbers,
    validity: Option<Vec<u8>>,
}

impl FieldCells {
    fn held(&self) -> usize {
        let values = match &self.values {
            Numbers::None => 0,
            Numbers::One(own) => own.capacity(),
            Numbers::Two(own) => own.capacity().saturating_mul(2),
            Numbers::Four(own) => own.capacity().saturating_mul(4),
            Numbers::Eight(own) => own.capacity().saturating_mul(8),
        };
        values.saturating_add(self.validity.as_ref().map_or(0, Vec::capacity))
    }
}

/// Numbers by their size, whatever their type.
enum Numbers {
    /// Nothing is added up but how many are null.
    None,
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

impl Numbers {
    fn new(field: &WantedField) -> Self {
        match field.spec.datatype.size() {
            _ if !field.is_number() => Self::None,
            1 => Self::One(Vec::new()),
            2 => Self::Two(Vec::new()),
            4 => Self::Four(Vec::new()),
            _ => Self::Eight(Vec::new()),
        }
    }

    fn take(&mut self, view: ColumnView<'_>, cells: usize, chosen: Option<&[u32]>) -> Result<()> {
        match self {
            Self::None => {}
            Self::One(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
            Self::Two(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
            Self::Four(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
            Self::Eight(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
        }
        Ok(())
    }

    fn sorted(&self, places: &[u32]) -> Result<Self> {
        Ok(match self {
            Self::None => Self::None,
            Self::One(own) => Self::One(sorted(own, places)?),
            Self::Two(own) => Self::Two(sorted(own, places)?),
            Self::Four(own) => Self::Four(sorted(own, places)?),
            Self::Eight(own) => Self::Eight(sorted(own, places)?),
        })
    }

    fn bytes(&self, from: usize, to: usize) -> Result<&[u8]> {
        fn of<T: Pod>(values: &[T], from: usize, to: usize) -> Result<&[u8]> {
            Ok(bytemuck::cast_slice(values.get(from..to).or_internal(NO_SHARD)?))
        }
        match self {
            Self::None => Ok(&[]),
            Self::One(own) => of(own, from, to),
            Self::Two(own) => of(own, from, to),
            Self::Four(own) => of(own, from, to),
            Self::Eight(own) => of(own, from, to),
        }
    }
}

/// The values at their places.
fn sorted<T: Pod>(values: &[T], places: &[u32]) -> Result<Vec<T>> {
    let mut out = vec![T::zeroed(); values.len()];
    for (value, place) in values.iter().zip(places) {
        *out.get_mut(index_of(*place)).or_internal("a cell has no place among its run")? = *value;
    }
    Ok(out)
}

/// What [`OrInternal`] says of a shard that ends after its run.
const NO_SHARD: &str = "a run lacks cells of a shard";

/// Appends words.
struct Append<'a>(&'a mut Vec<u64>);

impl TakeWords for Append<'_> {
    fn take<T: Pod + PartialOrd>(self, values: &[T], word: impl Fn(T) -> u64 + Copy) {
        self.0.extend(values.iter().map(|value| word(*value)));
    }
}

impl RunCells {
    /// The cells of some selections. `check` is told how many bytes they take.
    pub(super) fn of(
        (asked, sources, packing): (&Asked, &Sources<'_>, &Packing),
        run: &[TileSelection],
        keep: &Keep<'_>,
        scratch: &mut Scratch,
        check: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<Self> {
        let known = scratch.strings();
        let before: Vec<usize> =
            scratch.values.iter().map(|own| own.as_ref().map_or(0, Values::len)).collect();
        let field = |field: &WantedField| FieldCells {
            values: Numbers::new(field),
            validity: field.spec.nullable.then(Vec::new),
        };
        let mut own = Self {
            scratch: scratch.number,
            fresh: Vec::new(),
            words: vec![Vec::new(); packing.words()],
            fields: asked.wanted.iter().map(field).collect(),
            ends: Vec::new(),
        };
        for selection in run.iter().filter(|selection| selection.len() > 0) {
            own.add((asked, sources, packing), selection, keep, scratch)?;
            // What is new to the scratch waits here, and becomes part of what all share.
            check(own.held().saturating_add(scratch.strings().saturating_sub(known).saturating_mul(3)))?;
        }
        let fresh = scratch.values.iter().zip(before);
        let own_fresh =
            fresh.map(|(values, before)| values.as_ref().map(|values| values.since(before)).transpose());
        own.fresh = own_fresh.collect::<Result<_>>()?;
        Ok(own)
    }

    fn add(
        &mut self,
        (asked, sources, packing): (&Asked, &Sources<'_>, &Packing),
        selection: &TileSelection,
        keep: &Keep<'_>,
        Scratch { worker, values, .. }: &mut Scratch,
    ) -> Result<()> {
        let mut looked = Looked::new(sources, selection, keep, worker)?;
        let (first, mut numbers, mut words) = (self.len(), Vec::new(), Vec::new());
        for own in &mut self.words {
            own.resize(first.saturating_add(selection.len()), 0);
        }
        for ((key, packed), values) in asked.keys.iter().zip(packing.keys()).zip(values) {
            look(&mut looked, key.field, &key.spec, |view, cells, chosen| {
                if let Some(values) = values {
                    values.number(view, cells, chosen, &mut numbers)?;
                    return packed.put(&mut self.words, first, numbers.iter().copied().map(u64::from));
                }
                words.clear();
                let physical = key.spec.datatype.physical();
                EachWord { view, cells, chosen, to: Append(&mut words) }.of(physical)?;
                packed.put(&mut self.words, first, words.iter().copied())?;
                if view.valid(cells, chosen).is_some() {
                    let cells = numbered(cells, chosen);
                    packed.put_nulls(&mut self.words, first, cells.iter().map(|cell| view.is_null(*cell)))?;
                }
                Ok(())
            })?;
        }
        for (at, (field, own)) in asked.wanted.iter().zip(&mut self.fields).enumerate() {
            look(&mut looked, at, &field.spec, |view, cells, chosen| {
                own.values.take(view, cells, chosen)?;
                let Some(validity) = &mut own.validity else { return Ok(()) };
                match (view.validity, chosen) {
                    (None, _) => validity.resize(validity.len().saturating_add(selection.len()), 1),
                    (Some(all), None) => validity.extend(all.iter().take(cells)),
                    (Some(all), Some(chosen)) => validity.append(&mut picked(all, chosen)?),
                }
                Ok(())
            })?;
        }
        Ok(())
    }

    /// Approximate bytes of the cells.
    pub(super) fn held(&self) -> u64 {
        let words = self.words.iter().map(Vec::capacity).fold(0, usize::saturating_add);
        let fields = self.fields.iter().map(FieldCells::held).fold(0, usize::saturating_add);
        to_u64(words.saturating_mul(8).saturating_add(fields))
    }

    fn len(&self) -> usize {
        self.words.first().map_or(0, Vec::len)
    }

    /// Replaces the numbers of the scratch by those that all scratches share: `known`, for each key
    /// that is numbered.
    pub(super) fn renumber(
        &mut self,
        known: &[Vec<u32>],
        packing: &Packing,
        numbered: &[Option<Values>],
    ) -> Result<()> {
        let keys = packing.keys().iter().zip(known).zip(numbered).filter(|(_, values)| values.is_some());
        for ((packed, known), _) in keys {
            packed.renumber(&mut self.words, known)?;
        }
        Ok(())
    }

    /// Sorts the cells by their shards; those of a shard stay in their order.
    pub(super) fn sort(&mut self) -> Result<()> {
        let shards = shards_of(&self.words);
        let mut counts = [0usize; SHARDS];
        for shard in &shards {
            counts
                .get_mut(usize::from(*shard))
                .into_iter()
                .for_each(|count| *count = count.saturating_add(1));
        }
        let mut next = [0u32; SHARDS];
        let mut end = 0usize;
        for (next, count) in next.iter_mut().zip(counts) {
            *next = u32::try_from(end).unwrap_or(u32::MAX);
            end = end.saturating_add(count);
            self.ends.push(end);
        }
        let mut place = |shard: &u8| {
            let next = next.get_mut(usize::from(*shard));
            next.map_or(u32::MAX, |next| {
                let place = *next;
                *next = place.saturating_add(1);
                place
            })
        };
        let places: Vec<u32> = shards.iter().map(&mut place).collect();
        for words in &mut self.words {
            *words = sorted(words, &places)?;
        }
        for field in &mut self.fields {
            field.values = field.values.sorted(&places)?;
            field.validity = field.validity.as_ref().map(|own| sorted(own, &places)).transpose()?;
        }
        Ok(())
    }

    /// The cells of a shard, after they were sorted.
    pub(super) fn shard(&self, shard: usize) -> ShardCells<'_> {
        let from = shard.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or(0);
        let to = self.ends.get(shard).copied().unwrap_or(from);
        ShardCells { cells: self, from, to }
    }
}

/// The cells that a run has for a shard.
pub(super) struct ShardCells<'a> {
    cells: &'a RunCells,
    from: usize,
    to: usize,
}

impl<'a> ShardCells<'a> {
    pub(super) const fn len(&self) -> usize {
        self.to.saturating_sub(self.from)
    }

    /// The words.
    pub(super) fn words(&self) -> Result<Vec<&'a [u64]>> {
        let part = |words: &'a Vec<u64>| words.get(self.from..self.to).or_internal(NO_SHARD);
        self.cells.words.iter().map(part).collect()
    }

    /// The values of a field.
    pub(super) fn view(&self, field: usize) -> Result<ColumnView<'a>> {
        let own = self.cells.fields.get(field).or_internal("a run lacks a field")?;
        let part = |validity: &'a Vec<u8>| validity.get(self.from..self.to).or_internal(NO_SHARD);
        let validity = own.validity.as_ref().map(part).transpose()?;
        let values = own.values.bytes(self.from, self.to)?;
        Ok(ColumnView { values, offsets: None, codes: None, validity, present: None })
    }
}

/// The shard of each cell, or group, by the words of its keys. Another process finds the same, so
/// that the order of groups is the same.
pub(super) fn shards_of(words: &[Vec<u64>]) -> Vec<u8> {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hashes = vec![0u64; words.first().map_or(0, Vec::len)];
    for words in words {
        for (hash, word) in hashes.iter_mut().zip(words) {
            let mixed = (*hash ^ *word).wrapping_mul(ODD);
            *hash = mixed ^ (mixed >> 32);
        }
    }
    let top = |hash: &u64| {
        let [.., top] = hash.wrapping_mul(ODD).to_le_bytes();
        top >> (8 - SHARDS.trailing_zeros())
    };
    hashes.iter().map(top).collect()
}
