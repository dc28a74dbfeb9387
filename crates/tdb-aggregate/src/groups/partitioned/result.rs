//! The result of a partitioned query: the groups of all partitions, one partition after the other.

use tdb_codec::{Buffer, to_u64};

use super::super::GroupQuery;
use super::super::group_table::grouped;
use super::super::key_values::KeyValues;
use super::super::result::{Grouped, GroupedValues};
use super::key_layout::{KeyBits, KeyLayout};
use super::partition::Partition;
use crate::spec::ColumnSpec;
use crate::{Cells, Column, Error, OrInternal, Result, gather, parallel};

/// The groups of partitions. `values` has the strings of keys that are not numbers.
pub(super) fn of_partitions(
    query: &GroupQuery,
    (layout, values): (&KeyLayout, &[Option<KeyValues>]),
    partitions: Vec<Partition>,
    threads: usize,
) -> Result<Grouped> {
    let of_partition = |partition: Partition, (): &mut ()| of_partition(query, layout, values, &partition);
    let parts = parallel::run(threads, partitions, || (), of_partition)?;
    let mut keys: Vec<Vec<Column>> = query.keys.iter().map(|_| Vec::with_capacity(parts.len())).collect();
    let mut all: Vec<Vec<GroupedValues>> =
        query.aggregates.iter().map(|_| Vec::with_capacity(parts.len())).collect();
    let (mut len, mut order) = (0usize, tdb_codec::Layout::Unordered);
    for Grouped { keys: own, values } in parts {
        len += own.len;
        order = own.order;
        keys.iter_mut().zip(own.columns).for_each(|(columns, column)| columns.push(column));
        all.iter_mut().zip(values).for_each(|(all, values)| all.push(values));
    }
    let columns = keys.into_iter().map(|columns| concatenated(threads, columns));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let values = all.into_iter().map(|parts| concatenated_values(threads, parts));
    let values = values.collect::<Result<Vec<_>>>()?;
    Ok(Grouped { keys: Cells { len, shape: None, order, columns, selected: None }, values })
}

fn of_partition(
    query: &GroupQuery,
    layout: &KeyLayout,
    values: &[Option<KeyValues>],
    partition: &Partition,
) -> Result<Grouped> {
    let keys = query.keys.iter().zip(layout.keys()).zip(values);
    let columns = keys.map(|((key, key_bits), values)| match values {
        Some(values) => values.column(&key.spec, &key_bits.ids(partition.words())?),
        None => numeric_column(&key.spec, key_bits, partition.words()),
    });
    grouped(query, columns.collect::<Result<_>>()?, &partition.counts, &partition.accumulators)
}

/// The column of a numeric key.
fn numeric_column(spec: &ColumnSpec, key_bits: &KeyBits, words: &[Vec<u64>]) -> Result<Column> {
    let validity = key_bits.validity(words)?;
    let size = spec.datatype.size();
    if size == size_of::<u64>() {
        let values = key_bits.bits(words)?.collect::<Vec<_>>();
        return Ok(spec.clone().column(Buffer::from(values), None, validity));
    }
    let mut data = Vec::with_capacity(words.first().map_or(0, Vec::len).saturating_mul(size));
    for bits in key_bits.bits(words)? {
        data.extend(bits.to_le_bytes().iter().take(size));
    }
    Ok(spec.clone().column(Buffer::from(data.as_slice()), None, validity))
}

/// The columns that the partitions have of one field, one after the other.
fn concatenated(threads: usize, columns: Vec<Column>) -> Result<Column> {
    let first = columns.first().or_internal("a key has no partition")?;
    let (name, datatype, cell_val_num) = (first.name.clone(), first.datatype, first.cell_val_num);
    let mut offsets = first.offsets.is_some().then(|| vec![0u64]);
    let mut validity = first.validity.is_some().then(Vec::new);
    let mut start = 0u64;
    for column in &columns {
        match (&mut offsets, &column.offsets) {
            (Some(all), Some(own)) => all.extend(own.iter().skip(1).map(|offset| offset + start)),
            (None, None) => {}
            _ => return Err(Error::internal("only some partitions have offsets of a field")),
        }
        match (&mut validity, &column.validity) {
            (Some(all), Some(own)) => all.extend_from_slice(own),
            (None, None) => {}
            _ => return Err(Error::internal("only some partitions have nulls of a field")),
        }
        start += to_u64(column.data.len());
    }
    let (data, _) = gather::concat(threads, columns.into_iter().map(|column| column.data).collect())?;
    Ok(Column { name, datatype, cell_val_num, data, offsets, validity, codes: None })
}

/// The values that the partitions have of one aggregate, one after the other.
fn concatenated_values(threads: usize, parts: Vec<GroupedValues>) -> Result<GroupedValues> {
    let first = parts.first().or_internal("an aggregate has no partition")?;
    let aggregate = first.aggregate.clone();
    let (overflowed, has_nan) = (parts.iter().any(|own| own.overflowed), parts.iter().any(|own| own.has_nan));
    let columns = parts.into_iter().map(|own| own.column).collect();
    let column = concatenated(threads, columns)?;
    Ok(GroupedValues { aggregate, column, overflowed, has_nan })
}
