//! The groups of all shards, as callers get them.

use tdb_codec::{Buffer, to_u64};

use super::super::Asked;
use super::super::keys::Values;
use super::super::result::{Grouped, GroupedValues};
use super::super::total::grouped;
use super::packing::{Packed, Packing};
use super::shard::Shard;
use crate::spec::ColumnSpec;
use crate::{Cells, Column, Result, gather, parallel};

/// The groups of shards, one shard after the other. `values` has what the keys' words stand for,
/// where they are no numbers.
pub(super) fn of_shards(
    asked: &Asked,
    (packing, values): (&Packing, &[Option<Values>]),
    shards: Vec<Shard>,
    threads: usize,
) -> Result<Grouped> {
    let of_shard = |shard: Shard, (): &mut ()| of_shard(asked, packing, values, &shard);
    let parts = parallel::run(threads, shards, || (), of_shard)?;
    let mut keys: Vec<Vec<Column>> = asked.keys.iter().map(|_| Vec::with_capacity(parts.len())).collect();
    let mut all: Vec<Vec<GroupedValues>> =
        asked.aggregates.iter().map(|_| Vec::with_capacity(parts.len())).collect();
    let (mut len, mut order) = (0usize, tdb_codec::Layout::Unordered);
    for Grouped { keys: own, values } in parts {
        len = len.saturating_add(own.len);
        order = own.order;
        keys.iter_mut().zip(own.columns).for_each(|(columns, column)| columns.push(column));
        all.iter_mut().zip(values).for_each(|(all, values)| all.push(values));
    }
    let columns = keys.into_iter().filter_map(|columns| joined(threads, columns).transpose());
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let values = all.into_iter().filter_map(|parts| joined_values(threads, parts).transpose());
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok(Grouped { keys: Cells { len, shape: None, order, columns, selected: None }, values })
}

fn of_shard(asked: &Asked, packing: &Packing, values: &[Option<Values>], shard: &Shard) -> Result<Grouped> {
    let keys = asked.keys.iter().zip(packing.keys()).zip(values);
    let columns = keys.map(|((key, packed), values)| match values {
        Some(values) => values.column(&key.spec, &packed.numbers(shard.words()).collect::<Vec<_>>()),
        None => Ok(column_of_words(&key.spec, packed, shard.words())),
    });
    grouped(asked, columns.collect::<Result<_>>()?, &shard.counts, &shard.folds)
}

/// Numbers whose bits lie in words, as a column.
fn column_of_words(spec: &ColumnSpec, packed: &Packed, words: &[Vec<u64>]) -> Column {
    let validity = packed.nulls(words).map(|nulls| nulls.map(|is_null| u8::from(!is_null)).collect());
    let size = spec.datatype.size();
    if size == size_of::<u64>() {
        return spec.clone().column(Buffer::from(packed.bits(words).collect::<Vec<_>>()), None, validity);
    }
    let mut data = Vec::with_capacity(words.first().map_or(0, Vec::len).saturating_mul(size));
    for bits in packed.bits(words) {
        data.extend(bits.to_le_bytes().iter().take(size));
    }
    spec.clone().column(Buffer::from(data.as_slice()), None, validity)
}

/// Columns of one field, one after the other; `None` if there are none.
fn joined(threads: usize, columns: Vec<Column>) -> Result<Option<Column>> {
    let Some(first) = columns.first() else { return Ok(None) };
    let (name, datatype, cell_val_num) = (first.name.clone(), first.datatype, first.cell_val_num);
    let mut offsets = first.offsets.is_some().then(|| vec![0u64]);
    let mut validity = first.validity.is_some().then(Vec::new);
    let mut start = 0u64;
    for column in &columns {
        if let (Some(all), Some(own)) = (&mut offsets, &column.offsets) {
            all.extend(own.iter().skip(1).map(|offset| offset.saturating_add(start)));
        }
        if let (Some(all), Some(own)) = (&mut validity, &column.validity) {
            all.extend_from_slice(own);
        }
        start = start.saturating_add(to_u64(column.data.len()));
    }
    let (data, _) = gather::concat(threads, columns.into_iter().map(|column| column.data).collect())?;
    Ok(Some(Column { name, datatype, cell_val_num, data, offsets, validity, codes: None }))
}

fn joined_values(threads: usize, parts: Vec<GroupedValues>) -> Result<Option<GroupedValues>> {
    let Some(first) = parts.first() else { return Ok(None) };
    let aggregate = first.aggregate.clone();
    let (overflowed, has_nan) = (parts.iter().any(|own| own.overflowed), parts.iter().any(|own| own.has_nan));
    let columns = parts.into_iter().map(|own| own.column).collect();
    let column = joined(threads, columns)?;
    Ok(column.map(|column| GroupedValues { aggregate, column, overflowed, has_nan }))
}
