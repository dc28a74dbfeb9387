//! Compares groups with the cells of the same query: libtiledb has no groups.

use std::collections::BTreeMap;

use tdb_array::query::Aggregate;
use tdb_array::{Cells, Read};
use tdb_codec::to_u64;

/// The value of each key, `None` for null.
type Keys = Vec<Option<Vec<u8>>>;

/// At most so many fields are keys.
const KEYS: usize = 3;

/// Groups the cells of a query of a sparse array by each of its first fields, and by two of them.
pub(super) fn check(read: &Read, cells: &Cells) -> Result<(), String> {
    let schema = read.array().schema();
    let names = cells.columns().iter().map(|column| column.name.as_str());
    let names: Vec<&str> = names.filter(|name| schema.field(name).is_some()).take(KEYS).collect();
    let single = names.chunks(1);
    for keys in single.chain(names.windows(2).take(1)) {
        compare(read, cells, keys).map_err(|error| format!("groups by {}: {error}", keys.join(", ")))?;
    }
    Ok(())
}

fn compare(read: &Read, cells: &Cells, keys: &[&str]) -> Result<(), String> {
    let of = |cells: &Cells, at: usize| -> Result<Keys, String> {
        let value = |key: &&str| {
            let column = cells.field(key).map_err(|error| error.to_string())?;
            Ok((!column.is_null(at)).then(|| column.cell(at).unwrap_or_default().to_vec()))
        };
        keys.iter().map(value).collect()
    };
    let mut expected: BTreeMap<Keys, u64> = BTreeMap::new();
    for cell in 0..cells.len() {
        let count = expected.entry(of(cells, cell)?).or_default();
        *count = count.saturating_add(1);
    }
    let groups = read.clone().group_by(keys.iter().copied()).aggregate([Aggregate::count()]);
    let groups = groups.map_err(|error| error.to_string())?;
    let counts = groups.values().first().map(|values| values.column.values::<u64>());
    let counts = counts.transpose().map_err(|error| error.to_string())?.unwrap_or_default();
    let mut found: BTreeMap<Keys, u64> = BTreeMap::new();
    for (group, count) in counts.iter().enumerate() {
        if found.insert(of(groups.keys(), group)?, *count).is_some() {
            return Err("the same group comes twice".to_owned());
        }
    }
    if found == expected {
        return Ok(());
    }
    let other = expected.iter().find(|(keys, count)| found.get(*keys) != Some(count));
    Err(format!(
        "{} groups of {} cells, where the cells make {} groups of {}; the first that differs: {other:?}",
        found.len(),
        found.values().sum::<u64>(),
        expected.len(),
        to_u64(cells.len())
    ))
}
