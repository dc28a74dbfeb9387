//! Cells as plain little-endian buffers, one per file, and a manifest.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tdb_array::Column;
use tdb_codec::{to_u64, to_usize};
use tdb_schema::Dimension;
use tdb_text::value::{cell_val_num_json, coordinate_json};

use super::shown::ShownColumn;
use super::{Sink, Summary};
use crate::bounds::Bounds;
use crate::failure::{Failure, Result};
use crate::names::{Unique, file_stem};

/// Files in a folder to which batches are appended.
pub(super) struct Raw<'f> {
    folder: &'f Path,
    columns: Vec<Files>,
}

/// The files of a column, and the known part of its entry in the manifest.
struct Files {
    entry: Map<String, Value>,
    data: Appended,
    offsets: Option<Appended>,
    validity: Option<Appended>,
}

/// A file that grows batch by batch.
struct Appended {
    path: PathBuf,
    file: BufWriter<File>,
    len: u64,
}

impl Appended {
    fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path).map_err(|error| Failure::at(&path, error))?;
        Ok(Self { path, file: BufWriter::new(file), len: 0 })
    }

    fn append(&mut self, bytes: &[u8]) -> Result {
        self.len = self.len.saturating_add(to_u64(bytes.len()));
        self.file.write_all(bytes).map_err(|error| Failure::at(&self.path, error))
    }

    fn finish(&mut self) -> Result {
        self.file.flush().map_err(|error| Failure::at(&self.path, error))
    }
}

impl<'f> Raw<'f> {
    pub(super) const fn new(folder: &'f Path) -> Self {
        Self { folder, columns: Vec::new() }
    }
}

impl Sink for Raw<'_> {
    fn take(&mut self, columns: &[ShownColumn], cells: usize) -> Result {
        if self.columns.is_empty() {
            fs::create_dir_all(self.folder).map_err(|error| Failure::at(self.folder, error))?;
            let mut stems = Unique::default();
            for ShownColumn { column, .. } in columns {
                let stem = stems.name(&file_stem(&column.name));
                self.columns.push(Files::create(column, self.folder, &stem)?);
            }
        }
        let mut files = columns.iter().zip(&mut self.columns);
        files.try_for_each(|(shown, files)| files.append(&shown.column, cells))
    }

    fn finish(&mut self, summary: &Summary<'_>) -> Result {
        let fields = self.columns.drain(..).map(Files::finish).collect::<Result<Vec<Value>>>()?;
        let dimensions = &summary.array.schema().domain.dimensions;
        let manifest = json!({
            "array": summary.array.describe(""),
            "order": summary.order.name(),
            "cells": summary.cells,
            "shape": summary.shape,
            "subarray": dimensions.iter().zip(&summary.ranges).map(range).collect::<Vec<_>>(),
            "timestamps": summary.timestamps,
            "fields": fields,
        });
        let mut file = Appended::create(self.folder.join("manifest.json"))?;
        file.append(format!("{manifest:#}\n").as_bytes())?;
        file.finish()
    }
}

impl Files {
    fn create(column: &Column, folder: &Path, stem: &str) -> Result<Self> {
        let name = |suffix: &str| format!("{stem}.{suffix}");
        let file = |suffix: &str| Appended::create(folder.join(name(suffix)));
        let (strings, nullable) = (column.offsets().is_some(), column.validity().is_some());
        let mut entry = Map::new();
        let mut tell = |key: &str, value: Value| drop(entry.insert(key.to_owned(), value));
        tell("name", json!(column.name));
        tell("datatype", json!(column.datatype.name()));
        tell("cell_val_num", cell_val_num_json(column.cell_val_num));
        tell("nullable", json!(nullable));
        tell("data", json!(name("data")));
        tell("offsets", json!(strings.then(|| name("offsets"))));
        tell("validity", json!(nullable.then(|| name("validity"))));
        let offsets = strings.then(|| file("offsets")).transpose()?;
        let validity = nullable.then(|| file("validity")).transpose()?;
        Ok(Self { entry, data: file("data")?, offsets, validity })
    }

    /// Appends the first `cells` cells of a batch's column.
    fn append(&mut self, column: &Column, cells: usize) -> Result {
        if cells == 0 {
            return Ok(());
        }
        let end = match (column.offsets(), column.cell_size()) {
            (Some(offsets), _) => offsets.get(cells).copied().and_then(to_usize),
            (None, Some(size)) => size.checked_mul(cells),
            (None, None) => None,
        };
        let short = || Failure::internal("a column has fewer cells than its batch");
        let data = end.and_then(|end| column.bytes().get(..end)).ok_or_else(short)?;
        if let (Some(file), Some(offsets)) = (&mut self.offsets, column.offsets()) {
            // Offsets continue where the previous batch ended.
            for offset in offsets.iter().take(cells) {
                file.append(&(self.data.len + offset).to_le_bytes())?;
            }
        }
        if let (Some(file), Some(validity)) = (&mut self.validity, column.validity()) {
            file.append(validity.get(..cells).ok_or_else(short)?)?;
        }
        self.data.append(data)
    }

    /// The finished entry in the manifest.
    fn finish(mut self) -> Result<Value> {
        self.data.finish()?;
        self.offsets.iter_mut().chain(&mut self.validity).try_for_each(Appended::finish)?;
        self.entry.insert("bytes".to_owned(), json!(self.data.len));
        Ok(Value::Object(self.entry))
    }
}

/// A range in the dimension's notation, or a list of several ranges; `null` for the whole
/// dimension. Open ends are replaced by those of the domain.
fn range((dimension, ranges): (&Dimension, &Vec<Bounds>)) -> Value {
    let one = |ends: &Bounds| -> Value {
        let domain = dimension.domain.as_ref();
        let low = ends.low.as_ref().or(domain.map(|(low, _)| low));
        let high = ends.high.as_ref().or(domain.map(|(_, high)| high));
        [low, high].into_iter().map(|end| json!(end.map(|end| coordinate_json(dimension, end)))).collect()
    };
    match ranges.as_slice() {
        [] => Value::Null,
        [ends] if *ends == Bounds::default() => Value::Null,
        [ends] => one(ends),
        several => several.iter().map(one).collect(),
    }
}
