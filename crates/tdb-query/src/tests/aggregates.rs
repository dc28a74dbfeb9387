use tdb_cells::facts::Rule;
use tdb_codec::{ArrayType, Layout};
use tdb_schema::FieldKind;

use super::fixture;
use crate::budget::MemoryBudget;
use crate::expression::{Aggregate, AggregateError, AggregateFunction, Operand, field};
use crate::{AggregateValue, Array, Cells, Column, Error, QueryError};

#[test]
fn aggregates_that_a_field_does_not_have_are_refused() {
    let refused = |array: &str, aggregate: Aggregate| match fixture(array).read().aggregate([aggregate]) {
        Err(Error::Query(QueryError::Aggregate(error))) => error,
        other => panic!("{other:?}"),
    };
    assert!(matches!(
        refused("2.30.0/quickstart", Aggregate::sum("nothing")),
        AggregateError::UnknownField { known, .. } if known.contains("rows")
    ));
    assert!(matches!(
        refused("2.30.0/quickstart", Aggregate::max("rows")),
        AggregateError::DenseDimension { .. }
    ));
    assert!(matches!(
        refused("2.30.0/sparse_dim_string", Aggregate::mean("d")),
        AggregateError::NotNumbers { .. } | AggregateError::UnknownField { .. }
    ));
}

/// The aggregate of some cells of a column, computed one cell at a time.
fn naive(aggregate: &Aggregate, column: &Column, nullable: bool, cells: &[usize]) -> Option<f64> {
    let valid: Vec<&[u8]> =
        cells.iter().filter(|cell| !column.is_null(**cell)).map(|cell| column.cell(*cell).unwrap()).collect();
    let number = |bytes: &&[u8]| -> f64 {
        let physical = column.datatype.physical();
        match (physical.is_float(), bytes.len()) {
            (true, 4) => f32::from_le_bytes((*bytes).try_into().unwrap()).into(),
            (true, _) => f64::from_le_bytes((*bytes).try_into().unwrap()),
            _ => crate::coordinate::integer(bytes, physical.is_signed_integer()) as f64,
        }
    };
    let sum = || valid.iter().map(number).sum::<f64>();
    let ends = |pick: fn(f64, f64) -> f64| valid.iter().map(number).reduce(pick);
    match aggregate.function() {
        AggregateFunction::Count => Some(cells.len() as f64),
        AggregateFunction::NullCount => Some((cells.len() - valid.len()) as f64),
        AggregateFunction::Sum => (!nullable || !valid.is_empty()).then(sum),
        AggregateFunction::Mean => (!valid.is_empty()).then(|| sum() / valid.len() as f64),
        // `f64::min` ignores NaNs too.
        AggregateFunction::Min => ends(f64::min),
        AggregateFunction::Max => ends(f64::max),
    }
}

/// Whether a value is the expected one, or the overflow that the expected one leads to.
fn agrees(value: &AggregateValue, expected: Option<f64>) -> bool {
    if value.overflowed() {
        return expected.is_some_and(|sum| sum.abs() > 9e18);
    }
    close(value.as_f64(), expected)
}

fn close(a: Option<f64>, b: Option<f64>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => {
            a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1e-30)
        }
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// The cells of a whole read that some fragment wrote: all of them for a sparse array.
fn written(array: &Array, all: &Cells) -> Vec<usize> {
    let dimensions = &array.schema().domain.dimensions;
    let dense = array.schema().array_type == ArrayType::Dense;
    let inside = |cell: usize| {
        array.fragments().iter().filter_map(|fragment| fragment.non_empty_domain()).any(|domain| {
            domain.iter().zip(dimensions).all(|(range, dimension)| {
                let value = all.field(&dimension.name).unwrap().cell(cell).unwrap();
                range.contains(dimension.datatype, value)
            })
        })
    };
    (0..all.len()).filter(|cell| !dense || inside(*cell)).collect()
}

const ARRAYS: [&str; 27] = [
    "2.30.0/sparse2d_rr",
    "2.30.0/sparse_dups",
    "2.30.0/fragments_sparse",
    "2.30.0/consolidated_sparse",
    "2.30.0/consolidated_dense_part",
    "2.30.0/nullable_types",
    "2.30.0/attr_all_int_sparse",
    "2.30.0/attr_float_sparse",
    "2.30.0/attr_datetime_sparse",
    "2.30.0/deletes",
    "2.30.0/deletes_consolidated",
    "2.30.0/base_nullable_sparse",
    "2.30.0/hilbert_int32",
    "2.30.0/all_null_sparse",
    "2.30.0/rtree_3_levels",
    "2.30.0/sparse_dim_float64",
    "2.30.0/evolved_sparse",
    "2.30.0/empty_sparse",
    "2.30.0/dense2d_rc",
    "2.30.0/fragments_dense",
    "2.30.0/base_nullable_dense",
    "2.30.0/attr_float_dense",
    "2.30.0/attr_all_int_dense",
    "2.30.0/all_null",
    "2.30.0/gaps",
    "1.6.3/fragments_sparse",
    "2.7.2/base_nullable_dense",
];

/// Computes the aggregates again with hardly any memory for cells: the values must be the same.
fn in_parts(read: &crate::Read, list: &[Aggregate], whole: &[AggregateValue], name: &str) {
    let mut bytes = 300;
    let found = loop {
        match read.clone().batch_memory(MemoryBudget::from_bytes(bytes)).aggregate(list.to_vec()) {
            Ok(found) => break found,
            Err(Error::Query(QueryError::BudgetTooSmall { .. })) => bytes = bytes * 3 / 2,
            Err(error) => panic!("{name}: {error}"),
        }
    };
    for (one, other) in whole.iter().zip(&found) {
        let same = one.bytes() == other.bytes() || close(one.as_f64(), other.as_f64());
        assert!(same, "{name}: {one:?}, and in parts of {bytes} bytes {other:?}");
    }
}

#[test]
fn aggregates_are_what_the_cells_of_the_same_query_add_up_to() {
    let mut tried = 0;
    for name in ARRAYS {
        let array = fixture(name);
        let schema = array.schema();
        let dense = schema.array_type == ArrayType::Dense;
        let names: Vec<String> = schema.fields().map(|field| field.name.to_owned()).collect();
        let all = array.read().fields(names).order(Layout::RowMajor).collect().unwrap();
        let written = written(&array, &all);
        let numbers: Vec<_> = schema
            .fields()
            .filter(|field| !dense || matches!(field.kind, FieldKind::Attribute(_)))
            .filter(|own| Rule::attribute(own.datatype, own.cell_val_num, false).is_number())
            .collect();
        for own in &numbers {
            let column = all.field(own.name).unwrap();
            let aggregates = [
                Aggregate::count(),
                Aggregate::null_count(own.name),
                Aggregate::sum(own.name),
                Aggregate::min(own.name),
                Aggregate::max(own.name),
                Aggregate::mean(own.name),
            ];
            // Each one alone, because statistics may be enough for it alone but not for it together
            // with others; then all at once.
            let lists = aggregates.iter().map(std::slice::from_ref).chain([&aggregates[..]]);
            for list in lists {
                let found = array.read().aggregate(list.to_vec()).unwrap();
                in_parts(&array.read(), list, &found, name);
                for (aggregate, value) in list.iter().zip(&found) {
                    let cells: Vec<usize> = match aggregate.function() {
                        AggregateFunction::Count => (0..all.len()).collect(),
                        _ => written.clone(),
                    };
                    let expected = naive(aggregate, column, own.nullable, &cells);
                    assert!(agrees(value, expected), "{name}: {aggregate} is {value:?}, not {expected:?}");
                    tried += 1;
                }
            }
            // Under a condition, and in a part of the array.
            let Some(middle) = all.field(own.name).unwrap().cell(all.len() / 2) else { continue };
            let physical = column.datatype.physical();
            let operand = || -> Operand {
                match (physical.is_float(), middle.len()) {
                    (true, 4) => f32::from_le_bytes(middle.try_into().unwrap()).into(),
                    (true, _) => f64::from_le_bytes(middle.try_into().unwrap()).into(),
                    _ => crate::coordinate::integer(middle, physical.is_signed_integer()).into(),
                }
            };
            let condition = || field(own.name).le(operand()).or(field(own.name).is_null());
            let found = array.read().condition(condition()).aggregate(aggregates.to_vec()).unwrap();
            in_parts(&array.read().condition(condition()), &aggregates, &found, name);
            let kept = |cell: &usize| {
                let below = |value: &[u8]| match column.datatype.physical().is_float() {
                    true => naive(&Aggregate::max(""), column, false, &[*cell])
                        .zip(naive(&Aggregate::max(""), column, false, &[all.len() / 2]))
                        .is_some_and(|(a, b)| a <= b),
                    false => {
                        crate::coordinate::integer(value, physical.is_signed_integer())
                            <= crate::coordinate::integer(middle, physical.is_signed_integer())
                    }
                };
                if column.is_null(*cell) { own.nullable } else { below(column.cell(*cell).unwrap()) }
            };
            let cells: Vec<usize> = written.iter().copied().filter(kept).collect();
            // The middle cell may be null: then its bytes cannot be used as an operand of a
            // comparison. Cells that are older than a field satisfy no test of it.
            if column.is_null(all.len() / 2) || name.contains("evolved") {
                continue;
            }
            for (aggregate, value) in aggregates.iter().zip(&found) {
                let expected = naive(aggregate, column, own.nullable, &cells);
                let text = condition();
                assert!(
                    agrees(value, expected),
                    "{name}: {aggregate} where {text} is {value:?}, not {expected:?}"
                );
                tried += 1;
            }
        }
    }
    assert!(tried > 800, "{tried}");
}

#[test]
fn aggregates_of_a_range_are_those_of_the_cells_in_it() {
    for name in
        ["2.30.0/dense2d_rc", "2.30.0/fragments_dense", "2.30.0/fragments_sparse", "2.30.0/sparse2d_rr"]
    {
        let array = fixture(name);
        let schema = array.schema();
        let dimension = &schema.domain.dimensions[0];
        let (low, high) = dimension.domain.clone().unwrap();
        let at = |end: &[u8]| i64::try_from(crate::coordinate::integer(end, true)).unwrap();
        let attribute = schema.attributes[0].name.as_str();
        for first in at(&low)..=at(&high) {
            let range = first..=at(&high).min(first + 4);
            let names: Vec<String> = schema.fields().map(|field| field.name.to_owned()).collect();
            let all = array.read().fields(names).range(&dimension.name, range.clone()).collect().unwrap();
            let written = written(&array, &all);
            let list = [Aggregate::count(), Aggregate::sum(attribute), Aggregate::min(attribute)];
            let found = array.read().range(&dimension.name, range).aggregate(list.clone()).unwrap();
            assert_eq!(found[0].as_u64(), Some(all.len() as u64));
            for (aggregate, value) in list.iter().zip(&found).skip(1) {
                let expected = naive(aggregate, all.field(attribute).unwrap(), false, &written);
                assert!(agrees(value, expected), "{name} from {first}: {aggregate} {value:?} {expected:?}");
            }
        }
    }
}
