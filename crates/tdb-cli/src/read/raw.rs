//! Cells as plain little-endian buffers, one file each, and a manifest.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tdb_array::{CellValNum, Column};
use tdb_codec::{to_u64, to_usize};
use tdb_schema::Dimension;

use super::{Answer, write_file};
use crate::failure::{Failure, Result};
use crate::names::{Unique, file_stem};
use crate::ranges::Ends;
use crate::value::{cell_val_num_json, coordinate_json};

pub(super) fn write(answer: &Answer, folder: &Path) -> Result {
    fs::create_dir_all(folder).map_err(|error| Failure::at(folder, error))?;
    let mut stems = Unique::default();
    let mut fields = Vec::with_capacity(answer.columns.len());
    for column in &answer.columns {
        let stem = stems.name(&file_stem(&column.name));
        fields.push(write_column(column, answer.cells, folder, &stem)?);
    }
    let dimensions = &answer.schema().domain.dimensions;
    let window = answer.array.window();
    let manifest = json!({
        "array": answer.array.describe(""),
        "order": answer.order.name(),
        "cells": answer.cells,
        "shape": answer.shape,
        "subarray": dimensions.iter().zip(&answer.ranges).map(range).collect::<Vec<_>>(),
        "timestamps": [window.start, window.end],
        "fields": fields,
    });
    write_file(&folder.join("manifest.json"), format!("{manifest:#}\n").as_bytes())
}

/// Writes the first `cells` cells of a column and returns its entry in the manifest.
fn write_column(column: &Column, cells: usize, folder: &Path, stem: &str) -> Result<Value> {
    let offsets = column.offsets();
    let end = match (offsets, column.cell_val_num) {
        (Some(offsets), _) => offsets.get(cells).copied().and_then(to_usize),
        (None, CellValNum::Fixed(count)) => to_usize(u64::from(count.get()))
            .and_then(|count| count.checked_mul(column.datatype.size())?.checked_mul(cells)),
        (None, CellValNum::Var) => None,
    };
    // A result's columns all have its number of cells, so nothing is ever missing.
    let data = end.and_then(|end| column.bytes().get(..end)).unwrap_or_default();
    let file = |suffix: &str, bytes: &[u8]| -> Result<String> {
        let name = format!("{stem}.{suffix}");
        write_file(&folder.join(&name), bytes)?;
        Ok(name)
    };
    let starts = |offsets: &[u64]| -> Vec<u8> {
        offsets.iter().take(cells).flat_map(|offset| offset.to_le_bytes()).collect()
    };
    let data_file = file("data", data)?;
    let offsets_file = offsets.map(|offsets| file("offsets", &starts(offsets))).transpose()?;
    let valid = column.validity().map(|validity| validity.get(..cells).unwrap_or_default());
    let validity_file = valid.map(|validity| file("validity", validity)).transpose()?;
    Ok(json!({
        "name": column.name,
        "datatype": column.datatype.name(),
        "cell_val_num": cell_val_num_json(column.cell_val_num),
        "nullable": valid.is_some(),
        "data": data_file,
        "offsets": offsets_file,
        "validity": validity_file,
        "bytes": to_u64(data.len()),
    }))
}

/// A range in the dimension's notation, several as a list of them; `null` for the whole dimension. Open ends are the
/// domain's.
fn range((dimension, ranges): (&Dimension, &Vec<Ends>)) -> Value {
    let one = |ends: &Ends| -> Value {
        let domain = dimension.domain.as_ref();
        let low = ends.low.as_ref().or(domain.map(|(low, _)| low));
        let high = ends.high.as_ref().or(domain.map(|(_, high)| high));
        [low, high].into_iter().map(|end| json!(end.map(|end| coordinate_json(dimension, end)))).collect()
    };
    match ranges.as_slice() {
        [] => Value::Null,
        [ends] if *ends == Ends::default() => Value::Null,
        [ends] => one(ends),
        several => several.iter().map(one).collect(),
    }
}
