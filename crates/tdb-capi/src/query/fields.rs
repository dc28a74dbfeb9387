//! The fields of a query: what their cells are.

use super::QueryObject;
use super::aggregates::ChannelObject;
use super::buffers::{FieldType, Origin};
use crate::context::Ctx;
use crate::ffi::{Failure, Freed, In, Object, Out, OutHandle, Text};

/// A field behind a pointer.
pub(crate) struct FieldObject {
    field: FieldType,
    channel: ChannelObject,
}

impl Object for FieldObject {
    const NAME: &'static str = "query field";
}

impl Origin {
    /// The number in the C API, which has none for labels.
    const fn code(self) -> u32 {
        match self {
            Self::Attribute | Self::Label => 0,
            Self::Dimension => 1,
            Self::Aggregate => 2,
        }
    }
}

exported! {
    fn tiledb_query_get_field(ctx: Ctx, query: In<QueryObject>, name: Text, field: OutHandle<FieldObject>) -> Code for ctx {
        let query = query.get()?;
        let name = name.get("field_name")?;
        let found = query.0.lock().known_field(name).filter(|field| field.origin != Origin::Label);
        let found = found.ok_or_else(|| Failure::new(format!("There is no field {name}")))?;
        field.put(FieldObject { field: found, channel: ChannelObject::of(query) })
    }

    fn tiledb_query_field_free(ctx: Ctx, field: Freed<FieldObject>) -> Code for ctx {
        field.free();
        Ok(())
    }

    fn tiledb_field_datatype(ctx: Ctx, field: In<FieldObject>, datatype: Out<u32>) -> Code for ctx {
        datatype.set(u32::from(field.get()?.field.datatype.code()))
    }

    fn tiledb_field_cell_val_num(ctx: Ctx, field: In<FieldObject>, number: Out<u32>) -> Code for ctx {
        number.set(field.get()?.field.cell_val_num.code())
    }

    fn tiledb_field_get_nullable(ctx: Ctx, field: In<FieldObject>, nullable: Out<u8>) -> Code for ctx {
        nullable.set(u8::from(field.get()?.field.nullable))
    }

    fn tiledb_field_origin(ctx: Ctx, field: In<FieldObject>, origin: Out<u32>) -> Code for ctx {
        origin.set(field.get()?.field.origin.code())
    }

    fn tiledb_field_channel(ctx: Ctx, field: In<FieldObject>, channel: OutHandle<ChannelObject>) -> Code for ctx {
        channel.put(field.get()?.channel.again())
    }
}
