//! Columns as blocks of bytes.

use serde_json::{Value, json};
use tdb_array::schema::{ArraySchema, Datatype, Enumeration};
use tdb_array::{Cells, Column};
use tdb_codec::to_usize;
use tdb_web::Failure;
use tdb_web::describe::cell_val_num;
use tdb_web::message::Blocks;

/// The cells of a result, in the form that the host gets.
///
/// # Errors
/// A column with 2^32 or more values.
pub fn encode(cells: &Cells, schema: &ArraySchema) -> Result<Vec<u8>, Failure> {
    let mut blocks = Blocks::default();
    let enumeration = |name: &str| schema.attribute(name).and_then(|found| found.enumeration.clone());
    let columns =
        cells.columns().iter().map(|column| encode_column(column, enumeration(&column.name), &mut blocks));
    let columns = columns.collect::<Result<Vec<_>, _>>()?;
    let selected = cells.selected().map(|selected| blocks.add(selected));
    let document = json!({
        "length": cells.len(),
        "shape": cells.shape(),
        "order": cells.order().name(),
        "columns": columns,
        "selected": selected,
    });
    Ok(blocks.with(&document))
}

/// A column: its values, where the cells begin, and which of them are null.
pub(crate) fn encode_column(
    column: &Column,
    enumeration: Option<String>,
    blocks: &mut Blocks,
) -> Result<Value, Failure> {
    let offsets = column.offsets().map(|offsets| positions(&column.name, column.datatype, offsets, blocks));
    Ok(json!({
        "name": column.name,
        "datatype": column.datatype.name(),
        "cellValNum": cell_val_num(column.cell_val_num),
        "enumeration": enumeration,
        "values": blocks.add(column.bytes()),
        "offsets": offsets.transpose()?,
        "validity": column.validity().map(|validity| blocks.add(validity)),
    }))
}

/// An enumeration, in the form of a column without nulls.
pub(crate) fn encode_enumeration(enumeration: &Enumeration) -> Result<Vec<u8>, Failure> {
    let mut blocks = Blocks::default();
    // The format does not store where the last value ends.
    let end = u64::try_from(enumeration.data.len()).ok();
    let offsets = enumeration.offsets.as_ref().map(|offsets| {
        let offsets: Vec<u64> = offsets.iter().copied().chain(end).collect();
        positions(&enumeration.name, enumeration.datatype, &offsets, &mut blocks)
    });
    let document = json!({
        "name": enumeration.name,
        "datatype": enumeration.datatype.name(),
        "cellValNum": cell_val_num(enumeration.cell_val_num),
        "ordered": enumeration.ordered,
        "length": enumeration.len(),
        "values": blocks.add(&enumeration.data),
        "offsets": offsets.transpose()?,
    });
    Ok(blocks.with(&document))
}

/// Where cells begin, counted in values.
fn positions(name: &str, datatype: Datatype, offsets: &[u64], blocks: &mut Blocks) -> Result<Value, Failure> {
    let size = to_u64_size(datatype);
    let fits = offsets.last().is_none_or(|last| to_usize(*last).is_some() && u32::try_from(*last).is_ok());
    if !fits {
        return Err(Failure::query(format!(
            "field \"{name}\" has 4 GiB of values or more: read it in batches"
        )));
    }
    // They ascend: if the last one fits, all do.
    let positions =
        offsets.iter().map(|offset| u32::try_from(offset.checked_div(size).unwrap_or(0)).unwrap_or(u32::MAX));
    Ok(blocks.add_u32(positions))
}

fn to_u64_size(datatype: Datatype) -> u64 {
    tdb_codec::to_u64(datatype.size()).max(1)
}
