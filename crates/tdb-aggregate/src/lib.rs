//! Aggregates over the cells of a query of a TileDB array: one value for all cells, or one for each
//! group ([`groups`]).
//!
//! The contribution of a tile is its `Tally` (`tally`). The statistics of a fragment or a tile are
//! used if they are exact (`tdb_snapshot::statistics`) and all its cells count: it lies in the
//! ranges, no delete concerns it, statistics show that the condition holds for all of it, and no
//! tile of another fragment shares its rectangle. Otherwise the tile's columns are decoded, one
//! tile at a time for each thread (`sparse`, `dense`). Tallies are added up in the order of the
//! tiles, so that sums of reals do not depend on the number of threads.
//!
//! An aggregate has no result whose memory must be limited. Without a memory budget, it holds one
//! tile per thread, and notes on the others. With a budget, tiles of which all cells count are
//! processed in groups, and contested tiles, whose newest cells must be found, in the parts of a
//! stream.
//!
//! Most tests of what this crate does are in `tdb-query` (`src/tests`), which asks as callers do.
//!
//! This crate is internal to the engine: programs use `tdb-array`, which re-exports what is meant
//! for them. Everything else here may change with any minor version.
#![forbid(unsafe_code)]

mod dense;
pub mod groups;
mod selected_columns;
mod sparse;
mod tally;

use tdb_cells::{
    Cells, Column, Error, OrInternal, QueryError, Result, budget, buffers, coordinate, expression, facts,
    gather, parallel, requested, spec,
};
use tdb_codec::{ArrayType, CellValNum, Datatype, Native};
use tdb_predicate::Program;
use tdb_scan::{condition, plan, prefetch};
use tdb_schema::{ArraySchema, FieldKind};
use tdb_snapshot::{context, decode_buffers, fragment, statistics};
use tdb_split::stream;
use tdb_storage::{self as storage};

use self::expression::{Aggregate, AggregateError, AggregateFunction};
use self::plan::Plan;
use self::prefetch::prefetch_sections;
use self::spec::ColumnSpec;
use self::stream::Allowance;
use self::tally::{Tally, WantedField};

/// The value of an aggregate.
#[derive(Clone, Debug, PartialEq)]
pub struct AggregateValue {
    /// The aggregate that was computed.
    pub aggregate: Aggregate,
    /// Type of the value: `UINT64` for counts, the 64-bit type of the field's kind for sums,
    /// `FLOAT64` for means, and the field's own type for extremes.
    pub datatype: Datatype,
    /// Values per cell, for extremes of strings.
    pub cell_val_num: CellValNum,
    bytes: Option<Vec<u8>>,
    overflowed: bool,
    has_nan: bool,
}

impl AggregateValue {
    /// Whether there is no value.
    #[must_use]
    pub const fn is_null(&self) -> bool {
        self.bytes.is_none()
    }

    /// The value's little-endian bytes.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        self.bytes.as_deref()
    }

    /// The value, if it is an integer that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        self.integer()?.try_into().ok()
    }

    /// The value, if it is an integer that fits.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        self.integer()?.try_into().ok()
    }

    /// The value, if it is a number, as the nearest `f64`.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        struct ToFloat<'a>(&'a [u8]);
        impl tdb_codec::PhysicalVisitor for ToFloat<'_> {
            type Output = Option<f64>;
            fn visit<T: Native>(self) -> Option<f64> {
                T::from_le(self.0).map(T::to_f64)
            }
        }
        self.datatype.physical().visit(ToFloat(self.bytes()?))
    }

    /// Whether a sum of integers does not fit in 64 bits. Its value is then the limit that it
    /// exceeded.
    #[must_use]
    pub const fn overflowed(&self) -> bool {
        self.overflowed
    }

    /// Whether NaNs were left out of an extreme, or it is one because there is nothing else.
    #[must_use]
    pub const fn has_nan(&self) -> bool {
        self.has_nan
    }

    fn integer(&self) -> Option<i128> {
        let physical = self.datatype.physical();
        let bytes = self.bytes().filter(|bytes| bytes.len() == physical.size() && !physical.is_float())?;
        Some(coordinate::integer(bytes, physical.is_signed_integer()))
    }
}

/// Computes the aggregates of a query.
pub fn run(
    mut plan: Plan,
    aggregates: Vec<Aggregate>,
    memory: Option<Allowance>,
) -> Result<Vec<AggregateValue>> {
    let (program, wanted, field_positions) = resolve(&plan, &aggregates)?;
    plan.scanned = program.fields.iter().map(|field| field.kind).collect();
    let plan = stream::within(plan, memory);
    if let Some(prefetched) = &plan.array.context().prefetched {
        prefetch_sections(&plan, prefetched)?;
    }
    let (count, tallies) = match plan.array.schema().array_type {
        ArrayType::Dense => dense::run(&plan, &program, &wanted, memory)?,
        ArrayType::Sparse => {
            stream::whole_tiles_or_less(&plan, |plan| sparse::run(plan, &program, &wanted, memory))?
        }
    };
    let values = aggregates.into_iter().zip(field_positions).map(|(aggregate, position)| {
        let field = |position: usize| {
            wanted.get(position).zip(tallies.get(position)).or_internal("an aggregate has no field")
        };
        Ok(value(aggregate, count, position.map(field).transpose()?))
    });
    values.collect()
}

/// The fields of the aggregates, each once, and for each aggregate the position of its field.
type Resolved = (Program, Vec<WantedField>, Vec<Option<usize>>);

fn resolve(plan: &Plan, aggregates: &[Aggregate]) -> Result<Resolved> {
    let schema = plan.array.schema();
    let mut program = Program::default();
    let mut wanted: Vec<WantedField> = Vec::new();
    let mut field_positions = Vec::with_capacity(aggregates.len());
    for aggregate in aggregates {
        let Some(name) = aggregate.field() else {
            field_positions.push(None);
            continue;
        };
        let field = schema.field(name).ok_or_else(|| unknown_field(schema, name))?;
        let position = program.field(schema, &field);
        if position == wanted.len() {
            wanted.push(WantedField::new(ColumnSpec::new(schema, &field)));
        }
        let slot = wanted.get_mut(position).or_internal("a field of the program is not wanted")?;
        let cells = || slot.cells();
        let aggregate = || aggregate.clone();
        if schema.array_type == ArrayType::Dense && matches!(field.kind, FieldKind::Dimension(_)) {
            return Err(
                QueryError::Aggregate(AggregateError::DenseDimension { aggregate: aggregate() }).into()
            );
        }
        match aggregate().function() {
            AggregateFunction::Sum | AggregateFunction::Mean if !slot.is_number() => {
                let error = AggregateError::NotNumbers { aggregate: aggregate(), cells: cells() };
                return Err(QueryError::Aggregate(error).into());
            }
            AggregateFunction::Min | AggregateFunction::Max if !slot.is_number() && !slot.is_text() => {
                let error = AggregateError::NotOrdered { aggregate: aggregate(), cells: cells() };
                return Err(QueryError::Aggregate(error).into());
            }
            AggregateFunction::Sum | AggregateFunction::Mean => slot.required.sum = true,
            AggregateFunction::Min | AggregateFunction::Max => slot.required.extremes = true,
            AggregateFunction::Count | AggregateFunction::NullCount => {}
        }
        field_positions.push(Some(position));
    }
    Ok((program, wanted, field_positions))
}

fn unknown_field(schema: &ArraySchema, name: &str) -> QueryError {
    let known = schema.fields().map(|field| field.name).collect::<Vec<_>>().join(", ");
    QueryError::Aggregate(AggregateError::UnknownField { name: name.to_owned(), known })
}

fn value(aggregate: Aggregate, count: u64, field: Option<(&WantedField, &Tally)>) -> AggregateValue {
    let counted = |count: u64| (Datatype::Uint64, Some(count.to_le_bytes().to_vec()), false);
    let mut cell_val_num = CellValNum::ONE;
    let (datatype, bytes, overflowed) = match (aggregate.function(), field) {
        (AggregateFunction::Count, _) | (_, None) => counted(count),
        (AggregateFunction::NullCount, Some((_, tally))) => counted(tally.nulls),
        (AggregateFunction::Sum, Some((field, tally))) => {
            let (datatype, bytes, overflowed) = tally.total.value(field.is_unsigned());
            let has_value = tally.valid > 0 || !field.spec.nullable;
            (datatype, has_value.then(|| bytes.to_vec()), overflowed)
        }
        (AggregateFunction::Mean, Some((_, tally))) => {
            let mean = tally.total.mean(tally.valid);
            (Datatype::Float64, mean.map(|mean| mean.to_le_bytes().to_vec()), false)
        }
        (AggregateFunction::Min | AggregateFunction::Max, Some((field, tally))) => {
            cell_val_num = field.spec.cell_val_num;
            let min = aggregate.function() == AggregateFunction::Min;
            let extremes = tally.extremes.clone();
            (field.spec.datatype, extremes.map(|(low, high)| if min { low } else { high }), false)
        }
    };
    let has_nan = match (aggregate.function(), field) {
        (AggregateFunction::Min | AggregateFunction::Max, Some((_, tally))) => tally.has_nan,
        _ => false,
    };
    AggregateValue { aggregate, datatype, cell_val_num, bytes, overflowed, has_nan }
}
