//! Whether maintenance keeps what readers see: tdb consolidates a copy of an array that libtiledb
//! wrote, and every time must show the same cells as before.

use core::ops::ControlFlow;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;
use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::schema::ArrayType;
use tdb_array::storage::MemoryStorage;
use tdb_array::{Array, Layout, OpenOptions, TimeWindow, WriteOptions};

use tdb_filters::Key;

use crate::conform::expected::key;
use crate::conform::form::Cell;

/// Arrays with more cells than this in their boxes are left out.
const MOST_CELLS: u128 = 100_000;
/// Times that are looked at, besides the present.
const MOST_TIMES: usize = 8;

/// What tdb's maintenance changed of the array in a folder, in words; `None` if every time shows
/// the same cells. The folder stays as it is.
pub(super) fn changed(folder: &Path, case: &Value) -> Result<Option<String>, String> {
    let key = key(case)?;
    let key = key.as_ref();
    let storage = MemoryStorage::default();
    load(&storage, folder, "")?;
    // What cannot be opened now is compared with libtiledb elsewhere.
    let Ok(now) = opened(&storage, key, TimeWindow::ALL) else { return Ok(None) };
    if area(&now) > MOST_CELLS {
        return Ok(None);
    }
    let times: BTreeSet<u64> = now.fragments().iter().map(|fragment| fragment.timestamps().1).collect();
    let step = times.len().div_ceil(MOST_TIMES).max(1);
    let times: Vec<u64> = times.into_iter().step_by(step).collect();
    let windows: Vec<TimeWindow> =
        times.into_iter().map(TimeWindow::until).chain([TimeWindow::ALL]).collect();
    let ranges = now.non_empty_domain();
    let look =
        || windows.iter().map(|window| seen(&storage, key, *window, ranges.as_deref())).collect::<Vec<_>>();
    let before = look();
    for what in [Stored::Fragments, Stored::FragmentMetadata, Stored::Commits] {
        let mut options = WriteOptions::new().threads(1);
        if let Some(key) = key {
            options = options.key(key.clone());
        }
        let writer = options.open_storage(storage.clone()).map_err(|error| error.to_string())?;
        // A plan may say that there is nothing that can be done.
        let Ok(plan) = Consolidation::new(what).amplification(1000.0).plan(&writer) else { continue };
        if let Err(error) = plan.run(&writer, &mut |_| ControlFlow::Continue(())) {
            return Ok(Some(format!("{what:?} cannot be consolidated: {error}")));
        }
        for ((window, before), after) in windows.iter().zip(&before).zip(look()) {
            if *before != after {
                return Ok(Some(format!("{what:?} consolidated: other cells until {}", window.end)));
            }
        }
    }
    Ok(None)
}

/// The cells of the box around all cells; of sparse arrays those that were written.
fn area(array: &Array) -> u128 {
    if array.schema().array_type == ArrayType::Sparse {
        return array.fragments().iter().map(|fragment| u128::from(fragment.cell_count())).sum();
    }
    let Some(domain) = array.non_empty_domain() else { return 0 };
    let dimensions = array.schema().domain.dimensions.iter();
    let side = |(dimension, range): (&tdb_schema::Dimension, &tdb_schema::Range)| {
        let ordinal = |value: &[u8]| dimension.ordinal(value).unwrap_or(0);
        u128::from(ordinal(&range.high).saturating_sub(ordinal(&range.low))) + 1
    };
    dimensions.zip(&domain).map(side).fold(1, u128::saturating_mul)
}

fn opened(storage: &MemoryStorage, key: Option<&Key>, window: TimeWindow) -> Result<Array, String> {
    let mut options = OpenOptions::new().threads(1).window(window);
    if let Some(key) = key {
        options = options.key(key.clone());
    }
    options.open_storage(storage.clone()).map_err(|error| error.to_string())
}

/// The cells that are seen: names of fields, then rows, sorted where the order of the cells of a
/// sparse array may differ. `None` if they cannot be read.
fn seen(
    storage: &MemoryStorage,
    key: Option<&Key>,
    window: TimeWindow,
    ranges: Option<&[tdb_schema::Range]>,
) -> Option<(Vec<String>, Vec<Cell>)> {
    let array = opened(storage, key, window).ok()?;
    let schema = array.schema();
    let sparse = schema.array_type == ArrayType::Sparse;
    let mut read = array.read().order(Layout::RowMajor);
    if let Some(ranges) = ranges.filter(|_| !sparse) {
        for (dimension, range) in schema.domain.dimensions.iter().zip(ranges) {
            let ends = (Some(range.low.clone()), Some(range.high.clone()));
            read = read.range_bytes(&dimension.name, ends.0, ends.1);
        }
    }
    let cells = read.collect().ok()?;
    let names = cells.columns().iter().map(|column| column.name.clone()).collect();
    let value = |column: &tdb_array::Column, cell| {
        (!column.is_null(cell)).then(|| column.cell(cell).unwrap_or_default().to_vec())
    };
    let mut rows: Vec<Cell> = (0..cells.len())
        .map(|cell| cells.columns().iter().map(|column| value(column, cell)).collect())
        .collect();
    if sparse {
        rows.sort();
    }
    Some((names, rows))
}

/// Copies the files below a folder into memory.
fn load(storage: &MemoryStorage, folder: &Path, prefix: &str) -> Result<(), String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
        let key = if prefix.is_empty() { name.to_owned() } else { format!("{prefix}/{name}") };
        if path.is_dir() {
            load(storage, &path, &key)?;
        } else {
            storage.insert(key, fs::read(&path).map_err(wrong)?);
        }
    }
    Ok(())
}
