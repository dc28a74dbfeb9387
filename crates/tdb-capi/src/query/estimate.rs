//! How large the result of a query will be.

use tdb_array::query::Explain;
use tdb_array::schema::{ArrayType, CellValNum};

use super::buffers::Origin;
use super::{Kind, Query, QueryObject, failure};
use crate::context::Ctx;
use crate::ffi::{Failure, In, Out, Text};

/// Bytes of an offset in estimates, whatever the configuration says.
const OFFSET_BYTES: u64 = 8;

/// The most bytes that the buffers of a field will get.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sizes {
    data: u64,
    offsets: u64,
    validity: u64,
}

impl Query {
    /// The sizes for a field, of which the caller says whether it is of variable length and
    /// whether it has nulls.
    fn sizes(&self, name: &str, is_var: bool, nullable: bool) -> Result<Sizes, Failure> {
        let what = "query estimated result size";
        if self.kind != Kind::Read {
            return Err(failure(format!("{what}: operation currently supported only for read queries")));
        }
        let field = self.field(name)?;
        if matches!(field.origin, Origin::Label | Origin::Aggregate) {
            return Err(failure(format!("{what}: '{name}' is not an array field")));
        }
        if field.is_var() != is_var {
            let word = if is_var { "variable-sized" } else { "fixed-sized" };
            return Err(failure(format!("{what}: '{name}' is not {word}")));
        }
        if field.nullable != nullable {
            let word = if nullable { "nullable" } else { "a nonnull array field" };
            return Err(failure(format!("{what}: field '{name}' is not {word}")));
        }
        let found = self.explain(name)?;
        let value = crate::number(field.datatype.size());
        let validity = if nullable { found.cells } else { 0 };
        Ok(match field.cell_val_num {
            CellValNum::Fixed(count) => {
                let cell = value.saturating_mul(u64::from(count.get()));
                Sizes { data: found.cells.saturating_mul(cell), offsets: 0, validity }
            }
            CellValNum::Var => {
                let offsets = found.cells.saturating_mul(OFFSET_BYTES);
                let others = offsets.saturating_add(validity);
                // Cells of dense arrays that were never written have the fill value.
                let fill = self.schema.attribute(name).map_or(0, |attribute| attribute.fill_value.len());
                let is_dense = self.schema.array_type == ArrayType::Dense;
                let fill = if is_dense { found.cells.saturating_mul(crate::number(fill)) } else { 0 };
                let data = found.result_bytes.saturating_sub(others).saturating_add(fill);
                // Cells may be empty, and there is room for one that is not.
                let data = if found.cells > 0 { data.max(value) } else { 0 };
                Sizes { data, offsets, validity }
            }
        })
    }

    fn explain(&self, name: &str) -> Result<Explain, Failure> {
        let what = "Cannot get estimated result size";
        let array = self.array.with_open(what, |open| Ok(open.reading(what)?.clone()))?;
        // A condition makes no result larger.
        Ok(self.narrow(&array).fields([name]).explain()?)
    }
}

exported! {
    fn tiledb_query_get_est_result_size(ctx: Ctx, query: In<QueryObject>, name: Text, size: Out<u64>) -> Code for ctx {
        let sizes = query.get()?.0.lock().sizes(name.get("name")?, false, false)?;
        size.set(sizes.data)
    }

    fn tiledb_query_get_est_result_size_var(ctx: Ctx, query: In<QueryObject>, name: Text, offsets: Out<u64>, data: Out<u64>) -> Code for ctx {
        let sizes = query.get()?.0.lock().sizes(name.get("name")?, true, false)?;
        offsets.set(sizes.offsets)?;
        data.set(sizes.data)
    }

    fn tiledb_query_get_est_result_size_nullable(ctx: Ctx, query: In<QueryObject>, name: Text, data: Out<u64>, validity: Out<u64>) -> Code for ctx {
        let sizes = query.get()?.0.lock().sizes(name.get("name")?, false, true)?;
        data.set(sizes.data)?;
        validity.set(sizes.validity)
    }

    fn tiledb_query_get_est_result_size_var_nullable(ctx: Ctx, query: In<QueryObject>, name: Text, offsets: Out<u64>, data: Out<u64>, validity: Out<u64>) -> Code for ctx {
        let sizes = query.get()?.0.lock().sizes(name.get("name")?, true, true)?;
        offsets.set(sizes.offsets)?;
        data.set(sizes.data)?;
        validity.set(sizes.validity)
    }
}
