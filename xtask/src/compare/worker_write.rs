//! Writing, for the worker: an array of one attribute along one dimension, whole.
//!
//! ```text
//! {"op": "load", "data": path, "offsets": path | null}      -> {"seconds": 0} the cells of the writes that follow
//! {"op": "write", "array": path, "type": name, "cells": n, "tile": n, "filters": [{"type": name, …}, …]}
//!                                -> {"seconds"} from opening the array to the committed fragment; it is created before
//! ```

use std::fs;
use std::time::Instant;

use serde_json::{Value, json};
use tdb_array::{ArraySchema, ArrayType, CellValNum, Datatype, Durability, WriteColumn, WriteOptions};
use tdb_filters::{ByteWidth, Filter, Pipeline, ScaleFloat};
use tdb_schema::{Attribute, Dimension, Domain};

use super::{Fallible, text};

/// Cells to write.
#[derive(Default)]
pub(super) struct Input {
    values: Vec<u8>,
    /// One more than cells.
    offsets: Option<Vec<u64>>,
}

impl Input {
    /// Reads the cells from files.
    pub(super) fn load(request: &Value) -> Fallible<Self> {
        let values = fs::read(text(request, "data")?)?;
        let offsets = match request.get("offsets").and_then(Value::as_str) {
            Some(path) => {
                let bytes = fs::read(path)?;
                let starts = bytes.as_chunks::<8>().0.iter().map(|start| u64::from_le_bytes(*start));
                Some(starts.chain([u64::try_from(values.len())?]).collect())
            }
            None => None,
        };
        Ok(Self { values, offsets })
    }

    /// Writes them as an array, and says how long it took.
    pub(super) fn write(&self, request: &Value, threads: usize) -> Fallible<Value> {
        let path = text(request, "array")?;
        if fs::exists(path)? {
            fs::remove_dir_all(path)?;
        }
        let options = WriteOptions::new().threads(threads).durability(Durability::Buffered);
        options.clone().create(path, &schema(request, self.offsets.is_some())?)?;
        let started = Instant::now();
        let writer = options.open(path)?;
        let column = match &self.offsets {
            Some(offsets) => WriteColumn::var("a", &self.values, offsets),
            None => WriteColumn::bytes("a", &self.values),
        };
        writer.write().column(column).commit()?;
        Ok(json!({"seconds": started.elapsed().as_secs_f64()}))
    }
}

fn schema(request: &Value, var: bool) -> Fallible<ArraySchema> {
    let number = |name: &str| request.get(name).and_then(Value::as_i64).ok_or("a number is missing");
    let last = number("cells")?.saturating_sub(1).to_le_bytes();
    let dimension = Dimension::fixed("i", Datatype::Int64, 0i64.to_le_bytes(), last);
    let dimension = dimension.with_extent(number("tile")?.to_le_bytes());
    let datatype = Datatype::from_name(text(request, "type")?).ok_or("unknown type")?;
    let values = if var { CellValNum::Var } else { CellValNum::ONE };
    let mut attribute = Attribute::new("a", datatype, values);
    let filters = request.get("filters").and_then(Value::as_array).ok_or("no filters")?;
    attribute.filters = Pipeline::new(filters.iter().map(filter).collect::<Fallible<_>>()?);
    Ok(ArraySchema::new(ArrayType::Dense, Domain::new(vec![dimension])).with_attribute(attribute))
}

/// A filter as the peer's API has it.
fn filter(value: &Value) -> Fallible<Filter> {
    let option = |name: &str| value.get(name).and_then(Value::as_f64);
    let level = value.get("level").and_then(Value::as_i64).map_or(Ok(-1), i32::try_from)?;
    Ok(match text(value, "type")? {
        "gzip" => Filter::Gzip { level },
        "zstd" => Filter::Zstd { level },
        "lz4" => Filter::Lz4 { level },
        "bzip2" => Filter::Bzip2 { level },
        "rle" => Filter::Rle { level },
        "dictionary" => Filter::Dictionary { level },
        "double_delta" => Filter::DoubleDelta { level, reinterpret: None },
        "delta" => Filter::Delta { level, reinterpret: None },
        "bit_width_reduction" => Filter::BitWidthReduction { max_window: 256 },
        "positive_delta" => Filter::PositiveDelta { max_window: 1024 },
        "bitshuffle" => Filter::BitShuffle,
        "byteshuffle" => Filter::ByteShuffle,
        "checksum_md5" => Filter::ChecksumMd5,
        "checksum_sha256" => Filter::ChecksumSha256,
        "xor" => Filter::Xor,
        "scale_float" => Filter::ScaleFloat(ScaleFloat {
            scale: option("scale_float_factor").ok_or("no scale")?,
            offset: option("scale_float_offset").ok_or("no offset")?,
            byte_width: ByteWidth::Four,
        }),
        name => return Err(format!("unknown filter {name:?}").into()),
    })
}
