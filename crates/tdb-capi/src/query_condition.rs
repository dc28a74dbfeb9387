//! Conditions of queries: which cells a query reads or deletes.

mod comparison;
mod tree;

use crate::context::Ctx;
use crate::ffi::{Data, Failure, Freed, In, Object, OutHandle, Outcome, Text};
use crate::shared::Shared;
use comparison::Value;
pub(crate) use tree::Condition;
use tree::Junction;

/// The numbers of `tiledb_query_condition_combination_op_t`.
const AND: u32 = 0;
const OR: u32 = 1;
const NOT: u32 = 2;

/// A condition behind a pointer.
pub(crate) struct QueryConditionObject(pub(crate) Shared<Condition>);

impl Object for QueryConditionObject {
    const NAME: &'static str = "query condition";
}

impl QueryConditionObject {
    fn of(condition: Condition) -> Self {
        Self(Shared::new(condition))
    }
}

/// A failure of a condition.
fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("QueryCondition", text)
}

/// Joins two conditions, or negates the one that is there.
fn combine(
    left: In<QueryConditionObject>,
    right: In<QueryConditionObject>,
    operation: u32,
    combined: OutHandle<QueryConditionObject>,
) -> Outcome {
    combined.put_null()?;
    let left = left.get()?.0.copy();
    let right = right.optional()?;
    let made = match (operation, right) {
        (NOT, None) => left.negated()?,
        (NOT, Some(_)) => return Err(failure("Cannot negate query condition; there are two")),
        (AND, _) => left.joined(right_of(right)?, Junction::All)?,
        (OR, _) => left.joined(right_of(right)?, Junction::Any)?,
        _ => {
            let why = "Only the 'AND' and 'OR' combination ops are supported in this function.";
            return Err(failure(format!("Cannot combine query conditions; {why}")));
        }
    };
    combined.put(QueryConditionObject::of(made))
}

fn right_of(right: Option<&QueryConditionObject>) -> Result<Condition, Failure> {
    let right = right.ok_or("Invalid TileDB query condition: it is null")?;
    Ok(right.0.copy())
}

exported! {
    fn tiledb_query_condition_alloc(ctx: Ctx, condition: OutHandle<QueryConditionObject>) -> Code for ctx {
        condition.put(QueryConditionObject::of(Condition::default()))
    }

    fn tiledb_query_condition_alloc_set_membership(ctx: Ctx, field: Text, data: Data, data_size: u64, offsets: Data, offsets_size: u64, operator: u32, condition: OutHandle<QueryConditionObject>) -> Code for ctx {
        condition.put_null()?;
        let field = field.optional("field_name")?.ok_or("QueryCondition field name must not be nullptr")?;
        let operator = comparison::of_set(operator)?;
        if data.is_null() != (data_size == 0) {
            return Err(failure("the data of set members must be there if their size is not zero, and not otherwise"));
        }
        if offsets.is_null() || offsets_size == 0 {
            return Err(failure("set membership offsets must not be nullptr"));
        }
        let members = comparison::members(data.bytes(data_size)?, offsets.bytes(offsets_size)?)?;
        condition.put(QueryConditionObject::of(Condition::test(field, operator, Value::Set(members))))
    }

    fn tiledb_query_condition_free(condition: Freed<QueryConditionObject>) {
        condition.free();
    }

    fn tiledb_query_condition_init(ctx: Ctx, condition: In<QueryConditionObject>, field: Text, value: Data, size: u64, operator: u32) -> Code for ctx {
        let field = field.get("attribute_name")?;
        let operator = comparison::of_value(operator)?;
        if value.is_null() && size > 0 {
            return Err(failure("Invalid query condition cannot be nullptr with non-zero size."));
        }
        let value = if value.is_null() { Value::Null } else { Value::One(value.bytes(size)?.to_vec()) };
        let mut made = condition.get()?.0.lock();
        if !made.is_empty() {
            return Err(failure("Cannot reinitialize query condition"));
        }
        *made = Condition::test(field, operator, value);
        Ok(())
    }

    fn tiledb_query_condition_combine(ctx: Ctx, left: In<QueryConditionObject>, right: In<QueryConditionObject>, operation: u32, combined: OutHandle<QueryConditionObject>) -> Code for ctx {
        combine(left, right, operation, combined)
    }

    fn tiledb_query_condition_negate(ctx: Ctx, condition: In<QueryConditionObject>, negated: OutHandle<QueryConditionObject>) -> Code for ctx {
        negated.put_null()?;
        negated.put(QueryConditionObject::of(condition.get()?.0.copy().negated()?))
    }

    fn tiledb_query_condition_set_use_enumeration(ctx: Ctx, condition: In<QueryConditionObject>, use_enumeration: i32) -> Code for ctx {
        condition.get()?.0.lock().use_enumerations(use_enumeration != 0);
        Ok(())
    }
}
