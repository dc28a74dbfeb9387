//! Files of Parquet, written by the parquet crate.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{
    ArrayRef, Float64Array, Int32Array, Int64Array, LargeStringArray, RecordBatch, UInt32Array,
};
use arrow_buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rayon::slice::ParallelSliceMut;
use serde_json::Value;

use crate::{Fallible, list, text};

const LEVEL: i32 = 3;
const ROW_GROUP: usize = 122_880;

/// Cells to write, a batch for each file.
#[derive(Default)]
pub(crate) struct Input(Vec<RecordBatch>);

impl Input {
    /// `{"columns": [{"name", "type": "i4" | "i8" | "f8" | "u1", "data": file, "offsets": file |
    /// null}, …], "pieces": n}`
    pub(crate) fn load(request: &Value) -> Fallible<Self> {
        let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
        for column in list(request, "columns")? {
            let bytes = fs::read(text(column, "data")?)?;
            let array: ArrayRef = match (text(column, "type")?, column.get("offsets").and_then(Value::as_str))
            {
                (_, Some(offsets)) => {
                    let end = i64::try_from(bytes.len())?;
                    let starts = fs::read(offsets)?;
                    let starts = starts.as_chunks::<8>().0.iter().map(|start| i64::from_le_bytes(*start));
                    let offsets =
                        OffsetBuffer::new(ScalarBuffer::from(starts.chain([end]).collect::<Vec<_>>()));
                    Arc::new(LargeStringArray::try_new(offsets, Buffer::from_vec(bytes), None)?)
                }
                ("i4", None) => {
                    Arc::new(Int32Array::new(ScalarBuffer::from(Buffer::from_slice_ref(&bytes)), None))
                }
                ("i8", None) => {
                    Arc::new(Int64Array::new(ScalarBuffer::from(Buffer::from_slice_ref(&bytes)), None))
                }
                ("f8", None) => {
                    Arc::new(Float64Array::new(ScalarBuffer::from(Buffer::from_slice_ref(&bytes)), None))
                }
                (kind, None) => return Err(format!("no columns of {kind:?}").into()),
            };
            columns.push((text(column, "name")?, array));
        }
        let whole = RecordBatch::try_from_iter(columns)?;
        let pieces = usize::try_from(request.get("pieces").and_then(Value::as_u64).unwrap_or(1))?;
        let start = |piece: usize| whole.num_rows() * piece / pieces;
        Ok(Self(
            (0..pieces).map(|piece| whole.slice(start(piece), start(piece + 1) - start(piece))).collect(),
        ))
    }

    /// `{"parquet": folder, "order": [[column, extent | null], …]}`: seconds to put the cells in
    /// the order of tiles and write them.
    pub(crate) fn write(&self, request: &Value) -> Fallible<f64> {
        let folder = Path::new(text(request, "parquet")?);
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        let order = list(request, "order")?;
        let started = Instant::now();
        for (number, batch) in self.0.iter().enumerate() {
            let sorted = if order.is_empty() { batch.clone() } else { sorted(batch, order)? };
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::try_new(LEVEL)?))
                .set_max_row_group_row_count(Some(ROW_GROUP))
                .build();
            let file = File::create(folder.join(format!("{number:04}.parquet")))?;
            let mut writer = ArrowWriter::try_new(file, sorted.schema(), Some(properties))?;
            writer.write(&sorted)?;
            writer.close()?;
        }
        Ok(started.elapsed().as_secs_f64())
    }
}

/// The rows in the order of tiles, then of coordinates.
fn sorted(batch: &RecordBatch, order: &[Value]) -> Fallible<RecordBatch> {
    let mut columns = Vec::new();
    for column in order {
        let name = column.get(0).and_then(Value::as_str).ok_or("a column without a name")?;
        let values = batch.column_by_name(name).ok_or("no such column")?.as_primitive::<Int64Type>();
        columns.push((values.values(), column.get(1).and_then(Value::as_i64)));
    }
    let key = |row: usize| -> Fallible<(u128, u32)> {
        let (mut tiles, mut places) = (0u128, 0u128);
        for (values, extent) in &columns {
            let value = values[row];
            tiles = tiles << 16 | u128::try_from(extent.map_or(0, |extent| value / extent))?;
            places = places << 32 | u128::try_from(value)?;
        }
        Ok((tiles << 64 | places, u32::try_from(row)?))
    };
    let mut keys = (0..batch.num_rows()).map(key).collect::<Fallible<Vec<_>>>()?;
    keys.par_sort_unstable();
    let rows = UInt32Array::from_iter_values(keys.into_iter().map(|(_, row)| row));
    let columns = batch.columns().iter().map(|column| arrow_select::take::take(column, &rows, None));
    Ok(RecordBatch::try_new(batch.schema(), columns.collect::<Result<_, _>>()?)?)
}
