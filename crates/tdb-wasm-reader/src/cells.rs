//! Encodes cells as bytes; the layout is on the crate's front page.

use tdb_array::schema::CellValNum;
use tdb_array::{Cells, Column};
use tdb_codec::{Writer, to_u64};

/// The bytes of a result.
///
/// # Errors
/// A name or a list with 2^32 or more bytes or elements.
pub fn encode(cells: &Cells) -> tdb_codec::Result<Vec<u8>> {
    let mut out = Writer::new();
    out.u64(to_u64(cells.len()));
    let shape = cells.shape().unwrap_or_default();
    out.len_u32(shape.len(), "number of dimensions")?;
    shape.iter().for_each(|len| out.u64(to_u64(*len)));
    out.len_u32(cells.columns().len(), "number of fields")?;
    for column in cells.columns() {
        encode_column(column, &mut out)?;
    }
    Ok(out.into_vec())
}

fn encode_column(column: &Column, out: &mut Writer) -> tdb_codec::Result<()> {
    out.bytes_u32(column.name.as_bytes(), "name of a field")?;
    out.u8(column.datatype.code());
    out.u32(match column.cell_val_num {
        CellValNum::Fixed(count) => count.get(),
        CellValNum::Var => CellValNum::VAR_CODE,
    });
    out.bool(column.validity().is_some());
    out.bytes_u64(column.bytes());
    column.offsets().unwrap_or_default().iter().for_each(|offset| out.u64(*offset));
    out.bytes(column.validity().unwrap_or_default());
    Ok(())
}
