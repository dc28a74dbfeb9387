//! Aggregates of a query's cells, in place of the cells or beside them.

use std::sync::{Arc, Weak};

use tdb_array::Array;
use tdb_array::query::{Aggregate, AggregateFunction, AggregateValue};
use tdb_array::schema::{CellValNum, Datatype, Physical};

use super::buffers::{FieldBuffers, FieldType, Origin};
use super::{Query, QueryObject, Status, failure};
use crate::context::Ctx;
use crate::ffi::{
    Constant, ConstantPointer, Failure, Freed, In, Object, OutConstant, OutHandle, Outcome, Text, UserBuffer,
};
use crate::shared::Shared;

static COUNT: Constant = Constant::new();
static SUM: Constant = Constant::new();
static MIN: Constant = Constant::new();
static MAX: Constant = Constant::new();
static MEAN: Constant = Constant::new();
static NULL_COUNT: Constant = Constant::new();

/// An aggregate that was asked for: of a field, or the number of cells.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    function: AggregateFunction,
    input: Option<(String, FieldType)>,
}

/// An aggregate behind a pointer.
pub(crate) struct OperationObject(Wanted);

impl Object for OperationObject {
    const NAME: &'static str = "channel operation";
}

/// The channel of a query behind a pointer: what aggregates are added to. It ends with its query.
pub(crate) struct ChannelObject(Weak<Shared<Query>>);

impl Object for ChannelObject {
    const NAME: &'static str = "query channel";
}

impl ChannelObject {
    /// The channel of a query.
    pub(crate) fn of(query: &QueryObject) -> Self {
        Self(Arc::downgrade(&query.0))
    }

    /// The same channel.
    pub(crate) fn again(&self) -> Self {
        Self(self.0.clone())
    }
}

/// The function that a pointer stands for.
fn function(operator: ConstantPointer) -> Result<AggregateFunction, Failure> {
    let known = [
        (&SUM, AggregateFunction::Sum),
        (&MIN, AggregateFunction::Min),
        (&MAX, AggregateFunction::Max),
        (&MEAN, AggregateFunction::Mean),
        (&NULL_COUNT, AggregateFunction::NullCount),
    ];
    let found = known.into_iter().find(|(constant, _)| operator.is(constant));
    found.map(|(_, function)| function).ok_or_else(|| "Invalid TileDB channel operator".into())
}

impl Wanted {
    const COUNT: Self = Self { function: AggregateFunction::Count, input: None };

    /// An aggregate of a field.
    fn of(function: AggregateFunction, name: &str, field: FieldType) -> Result<Self, Failure> {
        let validator = |text: &str| Failure::of("InputFieldValidator", text);
        let is_text = matches!(field.datatype, Datatype::StringAscii | Datatype::Char);
        let (word, takes_texts) = match function {
            AggregateFunction::NullCount | AggregateFunction::Count => ("", true),
            AggregateFunction::Sum => ("SUM", false),
            AggregateFunction::Mean => ("MEAN", false),
            AggregateFunction::Min => ("MIN", true),
            AggregateFunction::Max => ("MAX", true),
        };
        if function == AggregateFunction::NullCount {
            if !field.nullable {
                return Err(validator("Aggregate must only be requested for nullable fields."));
            }
        } else if !(is_text && takes_texts) {
            if field.datatype.is_string() || is_text {
                let which = if takes_texts { "numeric and string types" } else { "numeric types" };
                return Err(failure(format!("{word} aggregates can only be requested on {which}")));
            }
            if field.is_var() {
                return Err(validator("Aggregate is not supported for var sized non-string fields."));
            }
            if field.cell_val_num != CellValNum::ONE {
                let what =
                    "Aggregate is not supported for non-string fields with cell_val_num greater than one.";
                return Err(validator(what));
            }
        }
        Ok(Self { function, input: Some((name.to_owned(), field)) })
    }

    /// The type of the value.
    pub(crate) fn field(&self) -> FieldType {
        let whole = FieldType {
            origin: Origin::Aggregate,
            datatype: Datatype::Uint64,
            cell_val_num: CellValNum::ONE,
            nullable: false,
        };
        let Some((_, field)) = &self.input else { return whole };
        let nullable = field.nullable;
        match self.function {
            AggregateFunction::Count | AggregateFunction::NullCount => whole,
            AggregateFunction::Mean => FieldType { datatype: Datatype::Float64, nullable, ..whole },
            AggregateFunction::Min | AggregateFunction::Max => {
                FieldType { origin: Origin::Aggregate, ..*field }
            }
            AggregateFunction::Sum => {
                let datatype = match field.datatype.physical() {
                    Physical::F32 | Physical::F64 => Datatype::Float64,
                    physical if physical.is_signed_integer() => Datatype::Int64,
                    _ => Datatype::Uint64,
                };
                FieldType { datatype, nullable, ..whole }
            }
        }
    }

    fn aggregate(&self) -> Aggregate {
        let name = self.input.as_ref().map_or("", |(name, _)| name.as_str());
        match self.function {
            AggregateFunction::Count => Aggregate::count(),
            AggregateFunction::NullCount => Aggregate::null_count(name),
            AggregateFunction::Sum => Aggregate::sum(name),
            AggregateFunction::Min => Aggregate::min(name),
            AggregateFunction::Max => Aggregate::max(name),
            AggregateFunction::Mean => Aggregate::mean(name),
        }
    }

    /// Checks that the buffers are as large as the value.
    fn check(&self, buffers: &FieldBuffers) -> Outcome {
        let refused = |text: &str| Err(Failure::of("OutputBufferValidator", text));
        let field = self.field();
        let (first, size) = match field.cell_val_num {
            CellValNum::Var => (&buffers.offsets, Some(8)),
            CellValNum::Fixed(count) => {
                let count = usize::try_from(count.get()).unwrap_or(usize::MAX);
                (&buffers.data, field.datatype.size().checked_mul(count))
            }
        };
        match first {
            None => return refused("Aggregate must have a fixed size buffer."),
            Some(buffer) if Some(buffer.capacity()) != size.map(crate::number) => {
                return refused("Aggregate fixed size buffer should be for one element only.");
            }
            Some(_) => {}
        }
        if buffers.data.is_none() {
            return refused("Var sized aggregates must have a var buffer.");
        }
        match &buffers.validity {
            None if field.nullable => {
                refused("Aggregate for nullable attributes must have a validity buffer.")
            }
            Some(validity) if validity.capacity() != 1 => {
                refused("Aggregate validity vector should be for one element only.")
            }
            _ => Ok(()),
        }
    }

    /// Gives the value to the caller. Without one, the caller gets zeros: a mean is no number.
    fn put(&self, value: &AggregateValue, buffers: &mut FieldBuffers) -> Outcome {
        let field = self.field();
        let nothing = match (field.cell_val_num, self.function) {
            (CellValNum::Var, _) => Vec::new(),
            (_, AggregateFunction::Mean) => f64::NAN.to_le_bytes().to_vec(),
            (CellValNum::Fixed(count), _) => {
                let count = usize::try_from(count.get()).unwrap_or(0);
                vec![0; field.datatype.size().saturating_mul(count)]
            }
        };
        let bytes = value.bytes().unwrap_or(&nothing);
        fill(buffers.data.as_mut(), bytes).map_err(|required| {
            let name = self.input.as_ref().map_or("", |(name, _)| name.as_str());
            failure(format!("Min/max buffer not big enough for {name}. Required: {required}"))
        })??;
        if field.is_var() {
            fill(buffers.offsets.as_mut(), &[0; 8]).map_err(|_| failure("an offset has no room"))??;
        }
        if field.nullable {
            let validity = [u8::from(!value.is_null())];
            fill(buffers.validity.as_mut(), &validity).map_err(|_| failure("a validity has no room"))??;
        }
        Ok(())
    }
}

/// Copies bytes into a buffer and says how many there are; an error is the size that they need.
fn fill(buffer: Option<&mut UserBuffer>, bytes: &[u8]) -> Result<Outcome, usize> {
    let Some(buffer) = buffer else { return Ok(Ok(())) };
    let copied = buffer.bytes_mut().map(|room| match room.get_mut(..bytes.len()) {
        Some(room) => {
            room.copy_from_slice(bytes);
            true
        }
        None => false,
    });
    match copied {
        Ok(false) => Err(bytes.len()),
        Ok(true) => Ok(buffer.set_size(crate::number(bytes.len()))),
        Err(failure) => Ok(Err(failure)),
    }
}

impl Query {
    /// Computes the aggregates, and gives them to the caller.
    ///
    /// # Errors
    /// A buffer has another size, or reading failed.
    pub(super) fn put_aggregates(&mut self, array: &Array) -> Outcome {
        if self.aggregates.is_empty() {
            return Ok(());
        }
        let wanted = self.aggregates.iter().map(|(_, wanted)| wanted.aggregate());
        let values = self.read(array)?.aggregate(wanted)?;
        for ((name, wanted), value) in self.aggregates.iter().zip(&values) {
            let buffers = self.buffers.get_mut(name).ok_or_else(|| no_buffer(name))?;
            wanted.put(value, buffers)?;
        }
        Ok(())
    }

    /// Checks that each aggregate has its buffers.
    ///
    /// # Errors
    /// One is missing, or has another size.
    pub(super) fn check_aggregates(&self) -> Outcome {
        self.aggregates.iter().try_for_each(|(name, wanted)| {
            wanted.check(self.buffers.get(name).ok_or_else(|| no_buffer(name))?)
        })
    }

    fn check_not_begun(&self) -> Outcome {
        if self.status == Status::Uninitialized {
            return Ok(());
        }
        Err("Argument query is initialized; aggregates are added before the first submit".into())
    }
}

fn no_buffer(name: &str) -> Failure {
    failure(format!("Aggregate '{name}' has no buffer."))
}

exported_variables! {
    static tiledb_aggregate_count: Constant = &COUNT;
    static tiledb_channel_operator_sum: Constant = &SUM;
    static tiledb_channel_operator_min: Constant = &MIN;
    static tiledb_channel_operator_max: Constant = &MAX;
    static tiledb_channel_operator_mean: Constant = &MEAN;
    static tiledb_channel_operator_null_count: Constant = &NULL_COUNT;
}

exported! {
    fn tiledb_aggregate_count_get(ctx: Ctx, operation: OutConstant) -> Code for ctx {
        operation.put(&COUNT)
    }

    fn tiledb_channel_operator_sum_get(ctx: Ctx, operator: OutConstant) -> Code for ctx {
        operator.put(&SUM)
    }

    fn tiledb_channel_operator_min_get(ctx: Ctx, operator: OutConstant) -> Code for ctx {
        operator.put(&MIN)
    }

    fn tiledb_channel_operator_max_get(ctx: Ctx, operator: OutConstant) -> Code for ctx {
        operator.put(&MAX)
    }

    fn tiledb_channel_operator_mean_get(ctx: Ctx, operator: OutConstant) -> Code for ctx {
        operator.put(&MEAN)
    }

    fn tiledb_channel_operator_null_count_get(ctx: Ctx, operator: OutConstant) -> Code for ctx {
        operator.put(&NULL_COUNT)
    }

    fn tiledb_query_get_default_channel(ctx: Ctx, query: In<QueryObject>, channel: OutHandle<ChannelObject>) -> Code for ctx {
        channel.put(ChannelObject::of(query.get()?))
    }

    fn tiledb_query_channel_free(ctx: Ctx, channel: Freed<ChannelObject>) -> Code for ctx {
        channel.free();
        Ok(())
    }

    fn tiledb_create_unary_aggregate(ctx: Ctx, query: In<QueryObject>, operator: ConstantPointer, name: Text, operation: OutHandle<OperationObject>) -> Code for ctx {
        let query = query.get()?.0.lock();
        query.check_not_begun()?;
        let function = function(operator)?;
        let name = name.get("input_field")?;
        let field = FieldType::of(&query.schema, name).filter(|field| field.origin != Origin::Label);
        let field = field.ok_or_else(|| Failure::new(format!("There is no field {name}")))?;
        operation.put(OperationObject(Wanted::of(function, name, field)?))
    }

    fn tiledb_aggregate_free(ctx: Ctx, operation: Freed<OperationObject>) -> Code for ctx {
        operation.free();
        Ok(())
    }

    fn tiledb_channel_apply_aggregate(ctx: Ctx, channel: In<ChannelObject>, name: Text, operation: In<OperationObject>) -> Code for ctx {
        let query = channel.get()?.0.upgrade().ok_or("The query of the channel was freed")?;
        let mut query = query.lock();
        query.check_not_begun()?;
        let name = name.get("output_field")?;
        let wanted = if operation.is_constant(&COUNT) { Wanted::COUNT } else { operation.get()?.0.clone() };
        if query.aggregates.iter().any(|(own, _)| own == name) {
            return Err(failure(format!("An aggregate operation for output field: {name} already exists.")));
        }
        query.aggregates.push((name.to_owned(), wanted));
        Ok(())
    }
}
