//! What a caller says of a query before it submits it, and what was said.

use tdb_array::Layout;
use tdb_array::schema::ArrayType;

use super::{Kind, Query, QueryObject, Status, failure};
use crate::array::ArrayObject;
use crate::codes;
use crate::config::ConfigObject;
use crate::context::Ctx;
use crate::ffi::{In, Out, OutHandle, Outcome};
use crate::query_condition::QueryConditionObject;
use crate::shared::Shared;
use crate::subarray::{Subarray, SubarrayObject};

impl Query {
    fn set_layout(&mut self, layout: Layout) -> Outcome {
        if layout == self.layout {
            return Ok(());
        }
        if self.status != Status::Uninitialized {
            return Err(failure("Cannot set layout after initialization"));
        }
        let is_dense = self.schema.array_type == ArrayType::Dense;
        match (self.kind, layout) {
            (Kind::Delete, _) => return Err(failure("Cannot set layout; Unsupported query type.")),
            (Kind::Write | Kind::ModifyExclusive, Layout::Unordered) if is_dense => {
                return Err(failure("Unordered writes are only possible for sparse arrays"));
            }
            (Kind::Write | Kind::ModifyExclusive, Layout::RowMajor | Layout::ColMajor) if !is_dense => {
                let why = "Row-major and column-major writes are only possible for dense arrays";
                return Err(failure(why));
            }
            (_, Layout::Hilbert) => {
                return Err(failure("Cannot set layout; Hilbert order is not applicable to queries"));
            }
            _ => {}
        }
        self.layout = layout;
        Ok(())
    }

    fn set_subarray(&mut self, subarray: Subarray) -> Outcome {
        if self.kind == Kind::Delete {
            let what = "Setting a subarray is not supported for query type";
            return Err(failure(format!("[set_subarray] {what} '{}'.", self.kind.word())));
        }
        if self.kind.writes() && self.schema.array_type == ArrayType::Sparse {
            return Err(failure("[set_subarray] Setting a subarray is not supported on sparse writes."));
        }
        if self.status != Status::Uninitialized {
            let what = "Setting a subarray on an already initialized query is not supported.";
            return Err(failure(format!("[set_subarray] {what}")));
        }
        if subarray.schema().domain != self.schema.domain {
            return Err(failure("[set_subarray] The subarray is of another array."));
        }
        self.subarray = subarray;
        Ok(())
    }
}

exported! {
    fn tiledb_query_set_config(ctx: Ctx, query: In<QueryObject>, config: In<ConfigObject>) -> Code for ctx {
        let config = config.get()?.0.copy();
        let mut query = query.get()?.0.lock();
        if query.status != Status::Uninitialized {
            return Err(failure("[set_config] Cannot set config after initialization."));
        }
        query.config.inherit(&config);
        let config = query.config.clone();
        query.subarray.set_config(&config);
        Ok(())
    }

    fn tiledb_query_get_config(ctx: Ctx, query: In<QueryObject>, config: OutHandle<ConfigObject>) -> Code for ctx {
        config.put(ConfigObject::of(query.get()?.0.lock().config.clone()))
    }

    fn tiledb_query_set_layout(ctx: Ctx, query: In<QueryObject>, layout: u32) -> Code for ctx {
        query.get()?.0.lock().set_layout(codes::layout(layout)?)
    }

    fn tiledb_query_get_layout(ctx: Ctx, query: In<QueryObject>, layout: Out<u32>) -> Code for ctx {
        layout.set(u32::from(query.get()?.0.lock().layout.code()))
    }

    fn tiledb_query_set_subarray_t(ctx: Ctx, query: In<QueryObject>, subarray: In<SubarrayObject>) -> Code for ctx {
        let subarray = subarray.get()?.0.copy();
        query.get()?.0.lock().set_subarray(subarray)
    }

    fn tiledb_query_get_subarray_t(ctx: Ctx, query: In<QueryObject>, subarray: OutHandle<SubarrayObject>) -> Code for ctx {
        subarray.put(SubarrayObject(Shared::new(query.get()?.0.lock().subarray.clone())))
    }

    fn tiledb_query_set_condition(ctx: Ctx, query: In<QueryObject>, condition: In<QueryConditionObject>) -> Code for ctx {
        let condition = condition.get()?.0.copy();
        let mut query = query.get()?.0.lock();
        if query.kind.writes() {
            return Err(failure("Cannot set query condition; Operation not applicable to write queries"));
        }
        if query.status != Status::Uninitialized {
            let why = "Setting a query condition on an already initialized query is not supported.";
            return Err(failure(format!("Cannot set query condition; {why}")));
        }
        if condition.is_empty() {
            return Err(failure("Query conditions must not be empty"));
        }
        query.condition = Some(condition);
        Ok(())
    }

    fn tiledb_query_get_type(ctx: Ctx, query: In<QueryObject>, query_type: Out<u32>) -> Code for ctx {
        query_type.set(query.get()?.0.lock().kind.code())
    }

    fn tiledb_query_get_array(ctx: Ctx, query: In<QueryObject>, array: OutHandle<ArrayObject>) -> Code for ctx {
        array.put(query.get()?.0.lock().array.clone())
    }
}
