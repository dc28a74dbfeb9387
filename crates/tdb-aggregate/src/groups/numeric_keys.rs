//! Ids of numeric group keys: the distinct values of a key of single numbers, numbered in the order
//! in which they first appear.

use std::hash::BuildHasher;

use bytemuck::Pod;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use tdb_codec::{Physical, to_u64};
use tdb_predicate::ColumnView;

use super::key_values::{NO_ID, check_ids, next_id};
use super::ordered_bits;
use super::thresholds::MAX_DIRECT_SLOTS;
use crate::buffers::index_of;
use crate::{OrInternal, Result};

/// Ids of values that lie near each other: a table that is addressed by the value, without hashes.
/// It saves time only. A value that is not in it has its id in the hash table.
#[derive(Debug, Default)]
struct DirectTable {
    /// The bits of the value of the first slot.
    base: u64,
    slots: Vec<u32>,
}

impl DirectTable {
    const fn held(&self) -> usize {
        self.slots.capacity().saturating_mul(4)
    }

    /// Makes the table contain all values from `low` to `high`, if that takes few slots; returns
    /// whether it does. `known` are the `count` values that have ids already; if these are many,
    /// it does not go through them again for each tile.
    fn cover(
        &mut self,
        (low, high): (u64, u64),
        (count, known): (usize, impl Iterator<Item = (u64, u32)>),
    ) -> bool {
        // Spans that saturate are too long for the table, like any other long ones.
        let last = |base: u64, slots: usize| base.saturating_add(to_u64(slots).saturating_sub(1));
        let (mut first, mut end) = (low, high);
        if !self.slots.is_empty() {
            if low >= self.base && high <= last(self.base, self.slots.len()) {
                return true;
            }
            (first, end) = (low.min(self.base), high.max(last(self.base, self.slots.len())));
        }
        let span = |first: u64, end: u64| usize::try_from(end.abs_diff(first)).unwrap_or(usize::MAX);
        if span(first, end) >= MAX_DIRECT_SLOTS {
            // Values far from those of earlier tiles begin a new table.
            (first, end) = (low, high);
        }
        if span(first, end) >= MAX_DIRECT_SLOTS || count > MAX_DIRECT_SLOTS {
            return false;
        }
        self.base = first;
        self.slots.clear();
        self.slots.resize((span(first, end) + 1).next_power_of_two(), NO_ID);
        for (bits, id) in known {
            self.set(bits, id);
        }
        true
    }

    /// The place of a value in the table; outside of the table if it is not covered.
    fn slot_of(&self, bits: u64) -> usize {
        usize::try_from(bits.wrapping_sub(self.base)).unwrap_or(usize::MAX)
    }

    /// Sets the id of a value, if the table covers it.
    fn set(&mut self, bits: u64, id: u32) {
        let slot = self.slot_of(bits);
        if let Some(slot) = self.slots.get_mut(slot) {
            *slot = id;
        }
    }
}

/// The distinct values of a numeric key. They are kept as 64 bits: integers as bits that have their
/// order (`ordered_bits`), reals as their own bits.
#[derive(Debug)]
pub(super) struct NumericKeys {
    pub(super) physical: Physical,
    /// The bits of each value, by id.
    values: Vec<u64>,
    /// The id of null, whose bits are no value.
    null: Option<u32>,
    table: HashTable<(u64, u32)>,
    hasher: RandomState,
    direct: DirectTable,
}

impl NumericKeys {
    pub(super) fn new(physical: Physical) -> Self {
        let (table, hasher) = (HashTable::new(), RandomState::default());
        Self { physical, values: Vec::new(), null: None, table, hasher, direct: DirectTable::default() }
    }

    pub(super) const fn len(&self) -> usize {
        self.values.len()
    }

    /// Approximate bytes that it takes.
    pub(super) fn held(&self) -> usize {
        let lists = self.values.capacity().saturating_mul(8).saturating_add(self.direct.held());
        lists.saturating_add(self.table.allocation_size())
    }

    /// The values from an id on, as a list that cannot be searched.
    pub(super) fn since(&self, from: usize) -> Result<Self> {
        let values = self.values.get(from..).or_internal("a table of words has become shorter")?.to_vec();
        Ok(Self { values, ..Self::new(self.physical) })
    }

    /// The bits of the value with an id.
    pub(super) fn bits(&self, id: u32) -> Result<u64> {
        self.values.get(index_of(id)).copied().or_internal("there is no word with this number")
    }

    /// Appends the bytes of the value with an id.
    pub(super) fn push_bytes(&self, id: u32, data: &mut Vec<u8>) -> Result<()> {
        let bits = self.bits(id)?;
        // Reals are kept as their bits, so that all of them come back.
        let bits = if self.physical.is_signed_integer() {
            ordered_bits::to_integer(bits).cast_unsigned()
        } else {
            bits
        };
        data.extend(bits.to_le_bytes().iter().take(self.physical.size()));
        Ok(())
    }

    /// Adds null, and returns its id.
    pub(super) fn push_null(&mut self) -> u32 {
        let id = self.push(0);
        self.null = Some(id);
        id
    }

    fn push(&mut self, bits: u64) -> u32 {
        let id = next_id(self.values.len());
        self.values.push(bits);
        id
    }

    /// The id of a value, which is added if it is new.
    pub(super) fn id_of(&mut self, bits: u64) -> u32 {
        let hash = self.hasher.hash_one(bits);
        if let Some((_, id)) = self.table.find(hash, |(own, _)| *own == bits) {
            return *id;
        }
        let id = self.push(bits);
        let hasher = &self.hasher;
        self.table.insert_unique(hash, (bits, id), |(own, _)| hasher.hash_one(*own));
        id
    }

    /// Appends the id of each value to `ids`. `to_bits` must keep the order of values that are not
    /// reals.
    fn assign_ids<T: Pod + PartialOrd>(
        &mut self,
        values: &[T],
        to_bits: impl Fn(T) -> u64 + Copy,
        ids: &mut Vec<u32>,
    ) {
        ids.reserve(values.len());
        let first = values.first().filter(|_| !self.physical.is_float());
        let is_direct = first.is_some_and(|first| {
            // In the type of the values, the compiler vectorises the loop.
            let (low, high) = values.iter().fold((*first, *first), |(low, high), value| {
                (if *value < low { *value } else { low }, if *value > high { *value } else { high })
            });
            let known = self.values.iter().copied().zip(0u32..);
            let known = known.filter(|(_, id)| self.null != Some(*id));
            self.direct.cover((to_bits(low), to_bits(high)), (self.values.len(), known))
        });
        if !is_direct {
            ids.extend(values.iter().map(|value| self.id_of(to_bits(*value))));
            return;
        }
        ids.extend(values.iter().map(|value| {
            let bits = to_bits(*value);
            match self.direct.slots.get(self.direct.slot_of(bits)) {
                Some(id) if *id != NO_ID => *id,
                _ => {
                    let id = self.id_of(bits);
                    self.direct.set(bits, id);
                    id
                }
            }
        }));
    }
}

/// Takes the values of a numeric column, and the function that turns one into 64 bits.
pub(super) trait TakeBits {
    /// `to_bits` keeps the order of values that are not reals.
    fn take<T: Pod + PartialOrd>(self, values: &[T], to_bits: impl Fn(T) -> u64 + Copy) -> Result<()>;
}

/// Appends the id of each value to a list.
pub(super) struct AssignIds<'a> {
    pub(super) keys: &'a mut NumericKeys,
    pub(super) ids: &'a mut Vec<u32>,
}

impl TakeBits for AssignIds<'_> {
    fn take<T: Pod + PartialOrd>(self, values: &[T], to_bits: impl Fn(T) -> u64 + Copy) -> Result<()> {
        self.keys.assign_ids(values, to_bits, self.ids);
        check_ids(self.keys.len())
    }
}

/// Hands the values of the cells `chosen`, or of all `cells`, of a numeric column to `to`.
pub(super) struct BitsOf<'a, T> {
    pub(super) view: ColumnView<'a>,
    pub(super) cells: usize,
    pub(super) chosen: Option<&'a [u32]>,
    pub(super) to: T,
}

impl<W: TakeBits> BitsOf<'_, W> {
    fn run<T: Pod + PartialOrd>(self, to_bits: impl Fn(T) -> u64 + Copy) -> Result<()> {
        self.to.take(self.view.numbers::<T>(self.cells, self.chosen)?.as_ref(), to_bits)
    }

    /// Runs for the type of the column. The arms are not in a generic function: each type would get
    /// the code of all ten.
    pub(super) fn with_type(self, physical: Physical) -> Result<()> {
        match physical {
            Physical::I8 => self.run(|value: i8| ordered_bits::from_integer(value.into())),
            Physical::I16 => self.run(|value: i16| ordered_bits::from_integer(value.into())),
            Physical::I32 => self.run(|value: i32| ordered_bits::from_integer(value.into())),
            Physical::I64 => self.run(ordered_bits::from_integer),
            Physical::U8 => self.run(|value: u8| value.into()),
            Physical::U16 => self.run(|value: u16| value.into()),
            Physical::U32 => self.run(|value: u32| value.into()),
            Physical::U64 => self.run(|value: u64| value),
            Physical::F32 => self.run(|value: f32| value.to_bits().into()),
            Physical::F64 => self.run(f64::to_bits),
        }
    }
}
