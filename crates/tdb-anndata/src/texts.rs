//! Texts and dates: which types there are, and what they are in memory.

use tdb_array::schema::{CellValNum, Datatype};
use tdb_zarr_files::{ArrayReader, Reader};

use crate::cursor::text;
use crate::error::{Result, internal};

/// Whether the cells of an array are texts.
pub(crate) const fn is_text(array: &ArrayReader) -> bool {
    matches!(
        (array.datatype(), array.cell_val_num()),
        (Datatype::StringUtf8, CellValNum::Var) | (Datatype::StringUtf32, CellValNum::Fixed(_))
    )
}

/// Whether it is a type of dates that SOMA has.
pub(crate) const fn is_kept_date(datatype: Datatype) -> bool {
    matches!(
        datatype,
        Datatype::DatetimeSec | Datatype::DatetimeMs | Datatype::DatetimeUs | Datatype::DatetimeNs
    )
}

/// A text of a fixed number of characters.
pub(crate) fn wide(cell: &[u8]) -> Option<String> {
    let (units, _) = cell.as_chunks::<4>();
    let text: Option<String> = units.iter().map(|unit| char::from_u32(u32::from_le_bytes(*unit))).collect();
    text.map(|text| text.trim_end_matches('\0').to_owned())
}

/// All texts of an array with any number of axes, in row-major order.
pub(crate) fn all_texts(reader: &Reader, array: &ArrayReader) -> Result<Vec<String>> {
    let block = array.read()?;
    let wrong = || reader.damaged(array.path(), "a text is none");
    let Some(offsets) = &block.offsets else {
        let size = array.cell_bytes().unwrap_or(4).max(4);
        let all = block.values.chunks_exact(size).map(|cell| Ok(wide(cell).ok_or_else(wrong)?));
        return all.collect();
    };
    let one = |at: usize| {
        let bytes =
            text((&block.values, offsets), at).ok_or_else(|| internal("a text outside of its chunk"))?;
        Ok(str::from_utf8(bytes).map_err(|_| wrong())?.to_owned())
    };
    (0..offsets.len().saturating_sub(1)).map(one).collect()
}
