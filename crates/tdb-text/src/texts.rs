//! Which cells are texts.

use tdb_codec::{CellValNum, Datatype};

/// Whether a cell of this type is one text, whatever its number of values.
pub const fn is_text(datatype: Datatype) -> bool {
    datatype.is_string()
        || matches!(
            datatype,
            Datatype::Char | Datatype::Blob | Datatype::GeomWkb | Datatype::GeomWkt | Datatype::Any
        )
}

/// Whether a cell is shown as one value instead of a list.
pub fn is_single(datatype: Datatype, cell_val_num: CellValNum) -> bool {
    is_text(datatype) || cell_val_num == CellValNum::ONE
}
