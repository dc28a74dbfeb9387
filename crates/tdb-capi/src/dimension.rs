//! Dimensions: fields that place a cell.

use std::sync::Arc;

use tdb_array::schema::{ArraySchema, ArrayType, Attribute, Datatype, Dimension, Domain};

use crate::codes;
use crate::context::Ctx;
use crate::dump;
use crate::ffi::{Data, Failure, Freed, In, Object, Out, OutData, OutHandle, OutText, Outcome, Text};
use crate::filter::check_chain;
use crate::filter_list::FilterList;
use crate::shared::Shared;
use crate::string::StringObject;

/// A dimension behind a pointer. A domain that has it shares it: a change of one is seen in both.
pub(crate) struct DimensionObject(pub(crate) Arc<Shared<Dimension>>);

impl DimensionObject {
    /// A dimension, to give to the caller.
    pub(crate) fn of(dimension: Dimension) -> Self {
        Self(Arc::new(Shared::new(dimension)))
    }
}

impl Object for DimensionObject {
    const NAME: &'static str = "dimension";
}

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("Dimension", text)
}

/// A dimension of what the caller says.
fn new_dimension(name: &str, code: u32, domain: Data, extent: Data) -> Result<Dimension, Failure> {
    let datatype = codes::datatype(code)?;
    if datatype == Datatype::StringAscii {
        if !domain.is_null() {
            return Err(failure(
                "Setting the domain to a dimension with type 'STRING_ASCII' is not supported",
            ));
        }
        if !extent.is_null() {
            return Err(failure(
                "Setting the tile extent to a dimension with type 'STRING_ASCII' is not supported",
            ));
        }
        return Ok(Dimension::string(name));
    }
    let size = crate::number(datatype.size());
    let (low, high) = domain.bytes(size.saturating_mul(2))?.split_at(datatype.size());
    let mut dimension = Dimension::fixed(name, datatype, low, high);
    if !extent.is_null() {
        let bytes = extent.bytes(size)?;
        if bytes.iter().all(|byte| *byte == 0) {
            let limit = if datatype.physical().is_float() { "be greater than 0" } else { "not be 0" };
            return Err(failure(format!(
                "Tile extent check failed on dimension '{name}'; Tile extent must {limit}"
            )));
        }
        dimension.tile_extent = Some(bytes.to_vec());
    }
    check(&dimension)?;
    Ok(dimension)
}

/// Checks a dimension alone, as the only one of an array that has more freedom than others.
fn check(dimension: &Dimension) -> Outcome {
    let domain = Domain::new(vec![dimension.clone()]);
    // An attribute whose name no dimension is given.
    let schema = ArraySchema::new(ArrayType::Sparse, domain).with_attribute(Attribute::of::<u8>("\u{1}"));
    schema.check_new().map_err(failure)
}

exported! {
    fn tiledb_dimension_alloc(ctx: Ctx, name: Text, datatype: u32, domain: Data, extent: Data, dimension: OutHandle<DimensionObject>) -> Code for ctx {
        let name = name.optional("name")?.ok_or("Dimension name must not be NULL")?;
        dimension.put(DimensionObject::of(new_dimension(name, datatype, domain, extent)?))
    }

    fn tiledb_dimension_free(dimension: Freed<DimensionObject>) {
        dimension.free();
    }

    fn tiledb_dimension_set_filter_list(ctx: Ctx, dimension: In<DimensionObject>, list: In<FilterList>) -> Code for ctx {
        let filters = list.get()?.0.copy();
        let mut dimension = dimension.get()?.0.lock();
        check_chain(&filters.filters, dimension.datatype, dimension.is_var())?;
        dimension.filters = filters;
        Ok(())
    }

    fn tiledb_dimension_set_cell_val_num(ctx: Ctx, dimension: In<DimensionObject>, number: u32) -> Code for ctx {
        let count = codes::cell_val_num(number)?;
        let mut dimension = dimension.get()?.0.lock();
        if count != dimension.cell_val_num {
            return Err(failure("Cannot set number of values per coordinate; Currently only one value per coordinate is supported"));
        }
        dimension.cell_val_num = count;
        Ok(())
    }

    fn tiledb_dimension_get_filter_list(ctx: Ctx, dimension: In<DimensionObject>, list: OutHandle<FilterList>) -> Code for ctx {
        let filters = dimension.get()?.0.lock().filters.clone();
        list.put(FilterList::of(filters))
    }

    fn tiledb_dimension_get_cell_val_num(ctx: Ctx, dimension: In<DimensionObject>, number: Out<u32>) -> Code for ctx {
        number.set(dimension.get()?.0.lock().cell_val_num.code())
    }

    fn tiledb_dimension_get_name(ctx: Ctx, dimension: In<DimensionObject>, name: OutText) -> Code for ctx {
        let found = dimension.get()?.0.lock().name.clone();
        name.keep(dimension, &found)
    }

    fn tiledb_dimension_get_type(ctx: Ctx, dimension: In<DimensionObject>, datatype: Out<u32>) -> Code for ctx {
        datatype.set(u32::from(dimension.get()?.0.lock().datatype.code()))
    }

    fn tiledb_dimension_get_domain(ctx: Ctx, dimension: In<DimensionObject>, domain: OutData) -> Code for ctx {
        let found = dimension.get()?.0.lock().domain.clone();
        match found {
            Some((low, high)) => domain.keep(dimension, &[low, high].concat()),
            None => domain.put_null(),
        }
    }

    fn tiledb_dimension_get_tile_extent(ctx: Ctx, dimension: In<DimensionObject>, extent: OutData) -> Code for ctx {
        let found = dimension.get()?.0.lock().tile_extent.clone();
        match found {
            Some(bytes) => extent.keep(dimension, &bytes),
            None => extent.put_null(),
        }
    }

    fn tiledb_dimension_dump_str(ctx: Ctx, dimension: In<DimensionObject>, text: OutHandle<StringObject>) -> Code for ctx {
        text.put(StringObject(dump::dimension(&dimension.get()?.0.lock())))
    }
}
