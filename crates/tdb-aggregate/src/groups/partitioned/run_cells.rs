//! The selected cells of a run of tiles, sorted by the partition that adds them up.

use bytemuck::Pod;
use tdb_codec::to_u64;
use tdb_predicate::{ColumnView, numbered, picked};
use tdb_scan::sparse::selection::TileSelection;

use super::super::key_values::KeyValues;
use super::super::numeric_keys::{BitsOf, TakeBits};
use super::super::run_groups::with_column;
use super::super::thresholds::PARTITIONS;
use super::key_layout::KeyLayout;
use super::{Input, Scratch};
use crate::buffers::index_of;
use crate::selected_columns::SelectedColumns;
use crate::tally::WantedField;
use crate::{Error, OrInternal, Result};

/// Some cells: their keys, and the values that are added up.
pub(super) struct RunCells {
    /// The number of the scratch that assigned ids to strings.
    pub(super) scratch: usize,
    /// For each key of strings, the strings that were new to the scratch in this run.
    pub(super) new_strings: Vec<Option<KeyValues>>,
    /// The keys of the cells as a [`KeyLayout`] lays them out: for each word, that of each cell.
    words: Vec<Vec<u64>>,
    fields: Vec<FieldCells>,
    /// The end of each partition's cells, once they are sorted by partition.
    ends: Vec<usize>,
}

/// The values of a field.
struct FieldCells {
    values: FieldValues,
    validity: Option<Vec<u8>>,
}

impl FieldCells {
    fn held(&self) -> usize {
        let values = match &self.values {
            FieldValues::None => 0,
            FieldValues::One(own) => own.capacity(),
            FieldValues::Two(own) => own.capacity().saturating_mul(2),
            FieldValues::Four(own) => own.capacity().saturating_mul(4),
            FieldValues::Eight(own) => own.capacity().saturating_mul(8),
        };
        values.saturating_add(self.validity.as_ref().map_or(0, Vec::capacity))
    }
}

/// Numbers by their size, whatever their type.
enum FieldValues {
    /// Only nulls are counted.
    None,
    One(Vec<u8>),
    Two(Vec<u16>),
    Four(Vec<u32>),
    Eight(Vec<u64>),
}

impl FieldValues {
    fn new(field: &WantedField) -> Self {
        match field.spec.datatype.size() {
            _ if !field.is_number() => Self::None,
            1 => Self::One(Vec::new()),
            2 => Self::Two(Vec::new()),
            4 => Self::Four(Vec::new()),
            _ => Self::Eight(Vec::new()),
        }
    }

    /// Appends the cells `chosen`, or all `cells`, of a column.
    fn append(&mut self, view: ColumnView<'_>, cells: usize, chosen: Option<&[u32]>) -> Result<()> {
        match self {
            Self::None => {}
            Self::One(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
            Self::Two(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
            Self::Four(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
            Self::Eight(own) => own.extend_from_slice(&view.numbers(cells, chosen)?),
        }
        Ok(())
    }

    /// The values at their new places.
    fn sorted(&self, places: &[u32]) -> Result<Self> {
        Ok(match self {
            Self::None => Self::None,
            Self::One(own) => Self::One(sorted(own, places)?),
            Self::Two(own) => Self::Two(sorted(own, places)?),
            Self::Four(own) => Self::Four(sorted(own, places)?),
            Self::Eight(own) => Self::Eight(sorted(own, places)?),
        })
    }

    /// The bytes of the values `from..to`.
    fn bytes(&self, from: usize, to: usize) -> Result<&[u8]> {
        fn of<T: Pod>(values: &[T], from: usize, to: usize) -> Result<&[u8]> {
            Ok(bytemuck::cast_slice(values.get(from..to).or_internal(NO_PARTITION)?))
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

/// The values at their new places.
fn sorted<T: Pod>(values: &[T], places: &[u32]) -> Result<Vec<T>> {
    if values.len() != places.len() {
        return Err(Error::internal("a cell has no place among its run"));
    }
    let mut out = vec![T::zeroed(); values.len()];
    for (value, place) in values.iter().zip(places) {
        *out.get_mut(index_of(*place)).or_internal("a cell has no place among its run")? = *value;
    }
    Ok(out)
}

/// The internal error of a partition that ends after its run.
const NO_PARTITION: &str = "a run lacks cells of a partition";

/// Appends the bits of numeric keys to a list.
struct Append<'a>(&'a mut Vec<u64>);

impl TakeBits for Append<'_> {
    fn take<T: Pod + PartialOrd>(self, values: &[T], to_bits: impl Fn(T) -> u64 + Copy) -> Result<()> {
        self.0.extend(values.iter().map(|value| to_bits(*value)));
        Ok(())
    }
}

impl RunCells {
    /// The cells of some selections. `check` is told how many bytes they take.
    pub(super) fn of(
        input: &Input<'_>,
        layout: &KeyLayout,
        run: &[TileSelection],
        scratch: &mut Scratch,
        check: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<Self> {
        let strings = scratch.string_bytes();
        let before: Vec<usize> =
            scratch.values.iter().map(|own| own.as_ref().map_or(0, KeyValues::len)).collect();
        let field = |field: &WantedField| FieldCells {
            values: FieldValues::new(field),
            validity: field.spec.nullable.then(Vec::new),
        };
        let mut own = Self {
            scratch: scratch.number,
            new_strings: Vec::new(),
            words: vec![Vec::new(); layout.words()],
            fields: input.query.wanted.iter().map(field).collect(),
            ends: Vec::new(),
        };
        for selection in run.iter().filter(|selection| selection.count() > 0) {
            own.add(input, layout, selection, scratch)?;
            // New strings are in the scratch, wait here, and are merged into those that all share.
            let new_strings = scratch.string_bytes().saturating_sub(strings);
            check(own.held().saturating_add(new_strings.saturating_mul(3)))?;
        }
        let new_strings = scratch.values.iter().zip(before);
        let new_strings = new_strings
            .map(|(values, before)| values.as_ref().map(|values| values.since(before)).transpose());
        own.new_strings = new_strings.collect::<Result<_>>()?;
        Ok(own)
    }

    fn add(
        &mut self,
        &Input { query, sources, cache, .. }: &Input<'_>,
        layout: &KeyLayout,
        selection: &TileSelection,
        Scratch { buffers, values, .. }: &mut Scratch,
    ) -> Result<()> {
        let mut columns = SelectedColumns::new(sources, selection, cache, buffers)?;
        let (first, mut ids, mut bits) = (self.len(), Vec::new(), Vec::new());
        for own in &mut self.words {
            own.resize(first + selection.count(), 0);
        }
        for ((key, key_bits), values) in query.keys.iter().zip(layout.keys()).zip(values) {
            with_column(&mut columns, key.field, &key.spec, |view, cells, chosen| {
                if let Some(values) = values {
                    values.assign_ids(view, cells, chosen, &mut ids)?;
                    return key_bits.put(&mut self.words, first, ids.iter().copied().map(u64::from));
                }
                bits.clear();
                let physical = key.spec.datatype.physical();
                BitsOf { view, cells, chosen, to: Append(&mut bits) }.with_type(physical)?;
                key_bits.put(&mut self.words, first, bits.iter().copied())?;
                if view.valid(cells, chosen).is_some() {
                    let cells = numbered(cells, chosen);
                    key_bits.put_nulls(
                        &mut self.words,
                        first,
                        cells.iter().map(|cell| view.is_null(*cell)),
                    )?;
                }
                Ok(())
            })?;
        }
        for (at, (field, own)) in query.wanted.iter().zip(&mut self.fields).enumerate() {
            with_column(&mut columns, at, &field.spec, |view, cells, chosen| {
                own.values.append(view, cells, chosen)?;
                let Some(validity) = &mut own.validity else { return Ok(()) };
                match (view.validity, chosen) {
                    (None, _) => validity.resize(validity.len() + selection.count(), 1),
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

    /// Replaces the ids that the scratch assigned to strings by those that all scratches share:
    /// `shared_ids`, for each key. `values` has an entry for the keys of strings.
    pub(super) fn use_shared_ids(
        &mut self,
        shared_ids: &[Vec<u32>],
        layout: &KeyLayout,
        values: &[Option<KeyValues>],
    ) -> Result<()> {
        let keys = layout.keys().iter().zip(shared_ids).zip(values).filter(|(_, values)| values.is_some());
        for ((key_bits, ids), _) in keys {
            key_bits.replace_ids(&mut self.words, ids)?;
        }
        Ok(())
    }

    /// Sorts the cells by their partitions; those of a partition stay in their order.
    pub(super) fn sort(&mut self) -> Result<()> {
        let partitions = partitions_of(&self.words);
        let mut counts = [0usize; PARTITIONS];
        for partition in &partitions {
            *counts.get_mut(usize::from(*partition)).or_internal("a cell has no partition")? += 1;
        }
        u32::try_from(self.len()).ok().or_internal("a run has too many cells to be sorted")?;
        // The place of the next cell of each partition.
        let mut next = [0u32; PARTITIONS];
        let mut end = 0usize;
        for (next, count) in next.iter_mut().zip(counts) {
            *next = u32::try_from(end).ok().or_internal("a run has too many cells to be sorted")?;
            end += count;
            self.ends.push(end);
        }
        let mut places = Vec::with_capacity(partitions.len());
        for partition in &partitions {
            let next = next.get_mut(usize::from(*partition)).or_internal("a cell has no partition")?;
            places.push(*next);
            *next += 1;
        }
        for words in &mut self.words {
            *words = sorted(words, &places)?;
        }
        for field in &mut self.fields {
            field.values = field.values.sorted(&places)?;
            field.validity = field.validity.as_ref().map(|own| sorted(own, &places)).transpose()?;
        }
        Ok(())
    }

    /// The cells of a partition, after they were sorted.
    pub(super) fn partition(&self, partition: usize) -> Result<PartitionCells<'_>> {
        let end_of = |partition: usize| self.ends.get(partition).copied().or_internal(NO_PARTITION);
        let from = partition.checked_sub(1).map_or(Ok(0), end_of)?;
        Ok(PartitionCells { cells: self, from, to: end_of(partition)? })
    }
}

/// The cells that a run has for a partition.
pub(super) struct PartitionCells<'a> {
    cells: &'a RunCells,
    from: usize,
    to: usize,
}

impl<'a> PartitionCells<'a> {
    pub(super) const fn len(&self) -> usize {
        self.to - self.from
    }

    /// The words of the cells' keys.
    pub(super) fn words(&self) -> Result<Vec<&'a [u64]>> {
        let part = |words: &'a Vec<u64>| words.get(self.from..self.to).or_internal(NO_PARTITION);
        self.cells.words.iter().map(part).collect()
    }

    /// The values of a field.
    pub(super) fn view(&self, field: usize) -> Result<ColumnView<'a>> {
        let own = self.cells.fields.get(field).or_internal("a run lacks a field")?;
        let part = |validity: &'a Vec<u8>| validity.get(self.from..self.to).or_internal(NO_PARTITION);
        let validity = own.validity.as_ref().map(part).transpose()?;
        let values = own.values.bytes(self.from, self.to)?;
        Ok(ColumnView { values, offsets: None, codes: None, validity, present: None })
    }
}

/// The partition of each cell, or group, by a hash of its key's words. Another process finds the
/// same, so that the order of groups is the same.
pub(super) fn partitions_of(words: &[Vec<u64>]) -> Vec<u8> {
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
        top >> (8 - PARTITIONS.trailing_zeros())
    };
    hashes.iter().map(top).collect()
}
