//! Record batches that sides answer with: text as views, and digests of rows.
//!
//! `benches/peers` and the SQL worker include this file too. They have `digest` beside it, and an
//! `arrow_array`, because each gets that from another crate.

use super::arrow_array::cast::AsArray;
use super::arrow_array::{Array, RecordBatch};
use super::digest::{Digest, fixed, variable};

/// The digest of all rows, in any order.
pub(crate) fn unordered(batches: &[RecordBatch]) -> Result<String, String> {
    let mut sum = 0u64;
    for batch in batches {
        let mut digest = Digest::new(batch.num_rows());
        for (column, field) in batch.columns().iter().zip(batch.schema_ref().fields()) {
            let values = numbers(column)
                .ok_or_else(|| format!("{}: no digest of {}", field.name(), field.data_type()))?;
            if !digest.add(values.into_iter()) {
                return Err(format!("{} has another number of cells", field.name()));
            }
        }
        sum = sum.wrapping_add(digest.sum(false));
    }
    Ok(format!("{sum:016x}"))
}

/// Rows of all batches, and bytes of their values: strings with 8 bytes for each end, as arrays
/// have them.
pub(crate) fn size(batches: &[RecordBatch]) -> (usize, usize) {
    let mut found = (0usize, 0usize);
    for batch in batches {
        found.0 += batch.num_rows();
        for column in batch.columns() {
            found.1 += match column.as_string_view_opt() {
                Some(text) => text.lengths().map(|len| len as usize + 8).sum(),
                None => column.data_type().primitive_width().unwrap_or(0) * batch.num_rows(),
            };
        }
    }
    found
}

/// The number of a null cell.
const NULL: u64 = 0x006e_756c_6c00;

/// Each cell as a number.
fn numbers(column: &dyn Array) -> Option<Vec<u64>> {
    if let Some(text) = column.as_string_view_opt() {
        return Some(text.iter().map(|cell| cell.map_or(NULL, |cell| variable(cell.as_bytes()))).collect());
    }
    let width = column.data_type().primitive_width()?;
    let data = column.to_data();
    let bytes = data.buffers().first()?.as_slice();
    let start = data.offset().checked_mul(width)?;
    let end = start.checked_add(column.len().checked_mul(width)?)?;
    let values = bytes.get(start..end)?.chunks_exact(width).enumerate();
    values.map(|(cell, value)| if column.is_null(cell) { Some(NULL) } else { fixed(value) }).collect()
}
