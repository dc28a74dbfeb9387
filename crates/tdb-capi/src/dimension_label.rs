//! Dimension labels: arrays that give positions of a dimension other names.

use tdb_array::schema::DimensionLabel;

use crate::context::Ctx;
use crate::ffi::{Freed, In, Object, Out, OutText};

/// A dimension label behind a pointer. It never changes.
pub(crate) struct LabelObject {
    /// The label.
    pub(crate) label: DimensionLabel,
    /// The place of its array; empty for that of a new schema.
    pub(crate) array: String,
}

impl Object for LabelObject {
    const NAME: &'static str = "dimension label";
}

impl LabelObject {
    fn uri(&self) -> String {
        let uri = &self.label.uri;
        if !self.label.relative || self.array.is_empty() {
            return uri.clone();
        }
        format!("{}/{uri}", self.array.trim_end_matches('/'))
    }
}

exported! {
    fn tiledb_dimension_label_free(label: Freed<LabelObject>) {
        label.free();
    }

    fn tiledb_dimension_label_get_dimension_index(ctx: Ctx, label: In<LabelObject>, index: Out<u32>) -> Code for ctx {
        index.set(label.get()?.label.dimension)
    }

    fn tiledb_dimension_label_get_label_attr_name(ctx: Ctx, label: In<LabelObject>, name: OutText) -> Code for ctx {
        name.keep(label, &label.get()?.label.attribute)
    }

    fn tiledb_dimension_label_get_label_cell_val_num(ctx: Ctx, label: In<LabelObject>, number: Out<u32>) -> Code for ctx {
        number.set(label.get()?.label.cell_val_num.code())
    }

    fn tiledb_dimension_label_get_label_order(ctx: Ctx, label: In<LabelObject>, order: Out<u32>) -> Code for ctx {
        order.set(u32::from(label.get()?.label.order.code()))
    }

    fn tiledb_dimension_label_get_label_type(ctx: Ctx, label: In<LabelObject>, datatype: Out<u32>) -> Code for ctx {
        datatype.set(u32::from(label.get()?.label.datatype.code()))
    }

    fn tiledb_dimension_label_get_name(ctx: Ctx, label: In<LabelObject>, name: OutText) -> Code for ctx {
        name.keep(label, &label.get()?.label.name)
    }

    fn tiledb_dimension_label_get_uri(ctx: Ctx, label: In<LabelObject>, uri: OutText) -> Code for ctx {
        uri.keep(label, &label.get()?.uri())
    }
}
