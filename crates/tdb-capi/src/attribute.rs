//! Attributes: fields that a cell only has.

use tdb_array::schema::{Attribute, CellValNum, Datatype};

use crate::codes;
use crate::context::Ctx;
use crate::dump;
use crate::ffi::{Data, Failure, Freed, In, Object, Out, OutData, OutHandle, OutText, Outcome, Text};
use crate::filter::check_chain;
use crate::filter_list::FilterList;
use crate::shared::Shared;
use crate::string::StringObject;

/// An attribute behind a pointer.
pub(crate) struct AttributeObject(pub(crate) Shared<Attribute>);

impl AttributeObject {
    /// An attribute, to give to the caller.
    pub(crate) const fn of(attribute: Attribute) -> Self {
        Self(Shared::new(attribute))
    }
}

impl Object for AttributeObject {
    const NAME: &'static str = "attribute";
}

fn failure(text: &str) -> Failure {
    Failure::of("Attribute", text)
}

/// The bytes of a cell; the greatest number for cells of variable length.
fn cell_size(attribute: &Attribute) -> u64 {
    match attribute.cell_val_num {
        CellValNum::Var => u64::MAX,
        CellValNum::Fixed(count) => {
            u64::from(count.get()).saturating_mul(crate::number(attribute.datatype.size()))
        }
    }
}

fn set_cell_val_num(attribute: &mut Attribute, number: u32) -> Outcome {
    if attribute.datatype == Datatype::Any && number != CellValNum::VAR_CODE {
        let text = "Cannot set number of values per cell; Attribute datatype `ANY` is always variable-sized";
        return Err(failure(text));
    }
    let count = codes::cell_val_num(number)?;
    attribute.cell_val_num = count;
    let values = match count {
        CellValNum::Var => 1,
        CellValNum::Fixed(count) => count.get(),
    };
    let value = attribute.datatype.default_fill();
    attribute.fill_value = (0..values).flat_map(|_| value.iter().copied()).collect();
    attribute.fill_validity = 0;
    Ok(())
}

/// Sets the fill value of an attribute that is nullable if there is a `validity`.
fn set_fill(attribute: &mut Attribute, value: Data, size: u64, validity: Option<u8>) -> Outcome {
    if value.is_null() {
        return Err(failure("Cannot set fill value; Input value cannot be null"));
    }
    if size == 0 {
        return Err(failure("Cannot set fill value; Input size cannot be 0"));
    }
    match (attribute.nullable, validity) {
        (true, None) => return Err(failure("Cannot set fill value; Attribute is nullable")),
        (false, Some(_)) => return Err(failure("Cannot set fill value; Attribute is not nullable")),
        (true, Some(_)) | (false, None) => {}
    }
    if !attribute.is_var() && size != cell_size(attribute) {
        return Err(failure("Cannot set fill value; Input size is not the same as cell size"));
    }
    attribute.fill_value = value.bytes(size)?.to_vec();
    if let Some(validity) = validity {
        attribute.fill_validity = validity;
    }
    Ok(())
}

exported! {
    fn tiledb_attribute_alloc(ctx: Ctx, name: Text, datatype: u32, attribute: OutHandle<AttributeObject>) -> Code for ctx {
        let name = name.optional("name")?.ok_or("Argument \"name\" may not be NULL")?;
        let datatype = codes::datatype(datatype)?;
        let count = if datatype == Datatype::Any { CellValNum::Var } else { CellValNum::ONE };
        attribute.put(AttributeObject::of(Attribute::new(name, datatype, count)))
    }

    fn tiledb_attribute_free(attribute: Freed<AttributeObject>) {
        attribute.free();
    }

    fn tiledb_attribute_set_nullable(ctx: Ctx, attribute: In<AttributeObject>, nullable: u8) -> Code for ctx {
        attribute.get()?.0.lock().nullable = nullable != 0;
        Ok(())
    }

    fn tiledb_attribute_set_filter_list(ctx: Ctx, attribute: In<AttributeObject>, list: In<FilterList>) -> Code for ctx {
        let filters = list.get()?.0.copy();
        let mut attribute = attribute.get()?.0.lock();
        check_chain(&filters.filters, attribute.datatype, attribute.is_var())?;
        attribute.filters = filters;
        Ok(())
    }

    fn tiledb_attribute_set_cell_val_num(ctx: Ctx, attribute: In<AttributeObject>, number: u32) -> Code for ctx {
        set_cell_val_num(&mut attribute.get()?.0.lock(), number)
    }

    fn tiledb_attribute_get_name(ctx: Ctx, attribute: In<AttributeObject>, name: OutText) -> Code for ctx {
        let found = attribute.get()?.0.lock().name.clone();
        name.keep(attribute, &found)
    }

    fn tiledb_attribute_get_type(ctx: Ctx, attribute: In<AttributeObject>, datatype: Out<u32>) -> Code for ctx {
        datatype.set(u32::from(attribute.get()?.0.lock().datatype.code()))
    }

    fn tiledb_attribute_get_nullable(ctx: Ctx, attribute: In<AttributeObject>, nullable: Out<u8>) -> Code for ctx {
        nullable.set(u8::from(attribute.get()?.0.lock().nullable))
    }

    fn tiledb_attribute_get_filter_list(ctx: Ctx, attribute: In<AttributeObject>, list: OutHandle<FilterList>) -> Code for ctx {
        let filters = attribute.get()?.0.lock().filters.clone();
        list.put(FilterList::of(filters))
    }

    fn tiledb_attribute_get_cell_val_num(ctx: Ctx, attribute: In<AttributeObject>, number: Out<u32>) -> Code for ctx {
        number.set(attribute.get()?.0.lock().cell_val_num.code())
    }

    fn tiledb_attribute_get_cell_size(ctx: Ctx, attribute: In<AttributeObject>, size: Out<u64>) -> Code for ctx {
        size.set(cell_size(&attribute.get()?.0.lock()))
    }

    fn tiledb_attribute_dump_str(ctx: Ctx, attribute: In<AttributeObject>, text: OutHandle<StringObject>) -> Code for ctx {
        text.put(StringObject(dump::attribute(&attribute.get()?.0.lock())))
    }

    fn tiledb_attribute_set_fill_value(ctx: Ctx, attribute: In<AttributeObject>, value: Data, size: u64) -> Code for ctx {
        set_fill(&mut attribute.get()?.0.lock(), value, size, None)
    }

    fn tiledb_attribute_get_fill_value(ctx: Ctx, attribute: In<AttributeObject>, value: OutData, size: Out<u64>) -> Code for ctx {
        let found = attribute.get()?.0.copy();
        if found.nullable {
            return Err(failure("Cannot get fill value; Attribute is nullable"));
        }
        size.set(crate::number(found.fill_value.len()))?;
        value.keep(attribute, &found.fill_value)
    }

    fn tiledb_attribute_set_fill_value_nullable(ctx: Ctx, attribute: In<AttributeObject>, value: Data, size: u64, valid: u8) -> Code for ctx {
        set_fill(&mut attribute.get()?.0.lock(), value, size, Some(valid))
    }

    fn tiledb_attribute_get_fill_value_nullable(ctx: Ctx, attribute: In<AttributeObject>, value: OutData, size: Out<u64>, valid: Out<u8>) -> Code for ctx {
        let found = attribute.get()?.0.copy();
        if !found.nullable {
            return Err(failure("Cannot get fill value; Attribute is not nullable"));
        }
        size.set(crate::number(found.fill_value.len()))?;
        valid.set(found.fill_validity)?;
        value.keep(attribute, &found.fill_value)
    }

    fn tiledb_attribute_set_enumeration_name(ctx: Ctx, attribute: In<AttributeObject>, name: Text) -> Code for ctx {
        let name = name.get("enumeration_name")?;
        if name.is_empty() {
            return Err(failure("Invalid enumeration name, name must not be empty."));
        }
        attribute.get()?.0.lock().enumeration = Some(name.to_owned());
        Ok(())
    }

    fn tiledb_attribute_get_enumeration_name(ctx: Ctx, attribute: In<AttributeObject>, name: OutHandle<StringObject>) -> Code for ctx {
        match attribute.get()?.0.lock().enumeration.clone() {
            Some(found) => name.put(StringObject(found)),
            None => name.put_null(),
        }
    }
}
