//! The worker's requests for writing.
//!
//! ```text
//! {"op": "load", "columns": [{"name", "data": path, "offsets": path | null}, …]}
//!                                -> {"seconds": 0} the cells of the writes that follow
//! {"op": "write", "array": path, "schema": {…}, "box": [[lo, hi], …] | null, "pieces": n, "kept_open": bool,
//!  "synced": bool}               -> {"seconds"} from opening the array to the last commit; it is created before
//! {"op": "consolidate", "array": path, "synced": bool}      -> {"seconds"}
//! ```
//!
//! Schemas have the form of `xtask/peer/capi.py`, as far as these arrays need it. Cells are written
//! in pieces of equal size: with `box`, along the first dimension of a dense array; otherwise
//! unordered.

use core::ops::ControlFlow;
use std::fs;
use std::time::Instant;

use serde_json::{Value, json};
use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_array::storage::Durability;
use tdb_array::{ArrayWriter, WriteColumn, WriteOptions};
use tdb_filters::{ByteWidth, Filter, Pipeline, ScaleFloat};
use tdb_schema::{Attribute, Dimension, Domain};

use super::{Fallible, status, text};

/// Cells to write.
#[derive(Default)]
pub(super) struct Input {
    columns: Vec<InputColumn>,
}

struct InputColumn {
    name: String,
    values: Vec<u8>,
    /// One more than there are cells.
    offsets: Option<Vec<u64>>,
}

/// One write: the bounds of a dense write, and cells.
struct Piece<'a> {
    bounds: Vec<(&'a str, i64, i64)>,
    columns: Vec<WriteColumn<'a>>,
}

impl Input {
    /// Reads the cells from files.
    pub(super) fn load(request: &Value) -> Fallible<Self> {
        let columns = list(request, "columns")?.iter().map(|column| {
            let values = fs::read(text(column, "data")?)?;
            let offsets = match column.get("offsets").and_then(Value::as_str) {
                Some(path) => {
                    let bytes = fs::read(path)?;
                    let starts = bytes.as_chunks::<8>().0.iter().map(|start| u64::from_le_bytes(*start));
                    Some(starts.chain([u64::try_from(values.len())?]).collect())
                }
                None => None,
            };
            Ok(InputColumn { name: text(column, "name")?.to_owned(), values, offsets })
        });
        Ok(Self { columns: columns.collect::<Fallible<_>>()? })
    }

    /// A column of 64-bit integers.
    pub(super) fn integers(&self, name: &str) -> Fallible<Vec<i64>> {
        let column = self.columns.iter().find(|column| column.name == name).ok_or("no such column")?;
        Ok(column.values.as_chunks::<8>().0.iter().map(|value| i64::from_le_bytes(*value)).collect())
    }

    /// Writes them as an array, and returns the time it took.
    pub(super) fn write(&self, request: &Value, threads: usize) -> Fallible<Value> {
        let path = text(request, "array")?;
        if fs::exists(path)? {
            fs::remove_dir_all(path)?;
        }
        let options = options(request, threads);
        let schema = schema(request.get("schema").ok_or("no schema")?)?;
        options.clone().create(path, &schema)?;
        let pieces = self.pieces(request, &schema)?;
        let kept_open = request.get("kept_open").and_then(Value::as_bool).unwrap_or(false);
        let started = Instant::now();
        if kept_open {
            let writer = options.open(path)?;
            pieces.iter().try_for_each(|piece| piece.write(&writer))?;
        } else {
            pieces.iter().try_for_each(|piece| piece.write(&options.clone().open(path)?))?;
        }
        Ok(json!({"seconds": started.elapsed().as_secs_f64(), "peak": status("VmHWM")}))
    }

    fn pieces<'a>(&'a self, request: &Value, schema: &'a ArraySchema) -> Fallible<Vec<Piece<'a>>> {
        let count = request.get("pieces").and_then(Value::as_u64).unwrap_or(1);
        let mut pieces = Vec::new();
        for number in 0..count {
            let mut bounds = Vec::new();
            let boxes = request.get("box").and_then(Value::as_array).into_iter().flatten();
            for (index, (range, dimension)) in boxes.zip(&schema.domain.dimensions).enumerate() {
                let end = |at: usize| range.get(at).and_then(Value::as_i64).ok_or("a range without ends");
                let (mut low, mut high) = (end(0)?, end(1)?);
                if index == 0 {
                    let (number, count) = (i64::try_from(number)?, i64::try_from(count)?);
                    let step = (high - low + 1) / count;
                    (low, high) = (low + number * step, low + (number + 1) * step - 1);
                }
                bounds.push((dimension.name.as_str(), low, high));
            }
            let columns = self.columns.iter().map(|column| {
                let field = schema.field(&column.name).ok_or("no such field")?;
                let part = |whole: usize| -> Fallible<core::ops::Range<usize>> {
                    let (number, count) = (usize::try_from(number)?, usize::try_from(count)?);
                    Ok(whole * number / count..whole * (number + 1) / count)
                };
                Ok(match &column.offsets {
                    Some(offsets) => {
                        let cells = part(offsets.len().saturating_sub(1))?;
                        let offsets = offsets.get(cells.start..=cells.end).ok_or("no such cells")?;
                        WriteColumn::var(&column.name, &column.values, offsets)
                    }
                    None => {
                        let size = field.cell_size().ok_or("a field of variable length without offsets")?;
                        let cells = part(column.values.len() / size)?;
                        let bytes = column.values.get(cells.start * size..cells.end * size);
                        WriteColumn::bytes(&column.name, bytes.ok_or("no such cells")?)
                    }
                })
            });
            let columns = columns.collect::<Fallible<_>>()?;
            pieces.push(Piece { bounds, columns });
        }
        Ok(pieces)
    }
}

impl Piece<'_> {
    fn write(&self, writer: &ArrayWriter) -> tdb_array::Result<()> {
        let mut write = writer.write();
        for (name, low, high) in &self.bounds {
            write = write.range(*name, *low..=*high);
        }
        for column in &self.columns {
            write = write.column(*column);
        }
        write.commit().map(drop)
    }
}

/// Consolidates all fragments into one.
pub(super) fn consolidate(request: &Value, threads: usize) -> Fallible<Value> {
    let path = text(request, "array")?;
    let started = Instant::now();
    let writer = options(request, threads).open(path)?;
    let plan = Consolidation::new(Stored::Fragments).plan(&writer)?;
    plan.run(&writer, &mut |_| ControlFlow::Continue(()))?;
    let seconds = started.elapsed().as_secs_f64();
    if plan.steps().is_empty() {
        return Err(format!("nothing to consolidate: {}", plan.notes().join("; ")).into());
    }
    Ok(json!({"seconds": seconds, "peak": status("VmHWM")}))
}

fn options(request: &Value, threads: usize) -> WriteOptions {
    let synced = request.get("synced").and_then(Value::as_bool).unwrap_or(false);
    let durability = if synced { Durability::Synced } else { Durability::Buffered };
    WriteOptions::new().threads(threads).durability(durability)
}

fn schema(request: &Value) -> Fallible<ArraySchema> {
    let dimensions = list(request, "dimensions")?.iter().map(dimension).collect::<Fallible<_>>()?;
    let array_type = match text(request, "array_type")? {
        "dense" => ArrayType::Dense,
        _ => ArrayType::Sparse,
    };
    let mut schema = ArraySchema::new(array_type, Domain::new(dimensions));
    for value in list(request, "attributes")? {
        let values = if value.get("cell_val_num").and_then(Value::as_str) == Some("var") {
            CellValNum::Var
        } else {
            CellValNum::ONE
        };
        let mut attribute = Attribute::new(text(value, "name")?, datatype(value)?, values);
        attribute.filters = pipeline(value, "filters")?;
        schema = schema.with_attribute(attribute);
    }
    schema.coords_filters = pipeline(request, "coords_filters")?;
    schema.offsets_filters = pipeline(request, "offsets_filters")?;
    schema.allows_duplicates = request.get("allows_dups").and_then(Value::as_bool).unwrap_or(false);
    if let Some(capacity) = request.get("capacity").and_then(Value::as_u64) {
        schema.capacity = capacity;
    }
    Ok(schema)
}

fn dimension(value: &Value) -> Fallible<Dimension> {
    let name = text(value, "name")?;
    let filters = pipeline(value, "filters")?;
    let Some(domain) = value.get("domain").and_then(Value::as_array) else {
        return Ok(Dimension::string(name).with_filters(filters));
    };
    let end = |at: usize| domain.get(at).and_then(Value::as_str).and_then(unhex).ok_or("a domain is missing");
    let mut dimension = Dimension::fixed(name, datatype(value)?, end(0)?, end(1)?);
    if let Some(extent) = value.get("tile_extent").and_then(Value::as_str).and_then(unhex) {
        dimension = dimension.with_tile_bytes(extent);
    }
    Ok(dimension.with_filters(filters))
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().as_chunks::<2>().0.iter();
    digits.map(|pair| u8::from_str_radix(core::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

fn datatype(value: &Value) -> Fallible<Datatype> {
    Ok(Datatype::from_name(text(value, "type")?).ok_or("unknown type")?)
}

fn list<'a>(value: &'a Value, name: &str) -> Fallible<&'a Vec<Value>> {
    Ok(value.get(name).and_then(Value::as_array).ok_or_else(|| format!("the request has no {name}"))?)
}

fn pipeline(value: &Value, name: &str) -> Fallible<Pipeline> {
    let filters = value.get(name).and_then(Value::as_array).into_iter().flatten();
    Ok(Pipeline::new(filters.map(filter).collect::<Fallible<_>>()?))
}

/// A filter in the form of the peer's API.
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
