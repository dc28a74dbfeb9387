//! Matrices and the tables that their coordinates are ids of.

use tdb_array::Array;
use tdb_array::schema::Datatype;

use super::{Depth, Found, Rule, TableIds};
use crate::facts::{shape, written};
use crate::ids::{Ids, for_each_batch};
use crate::{Kind, Object, Result};

/// A table whose ids are coordinates.
struct Axis<'a> {
    path: &'a str,
    array: &'a Array,
    ids: Option<&'a Ids>,
}

impl<'a> Axis<'a> {
    fn of(table: &'a Object, ids: &'a TableIds<'_>) -> Option<Self> {
        let array = table.array().filter(|_| table.kind == Some(Kind::DataFrame))?;
        Some(Self { path: &table.path, array, ids: ids.get(table.path.as_str()) })
    }

    /// The number of ids that there can be, if ids are the only index.
    fn size(&self) -> Option<u64> {
        let schema = self.array.schema();
        let only = matches!(schema.domain.dimensions.as_slice(), [one] if one.name == crate::JOINID);
        schema.current_domain.as_ref().filter(|_| only)?;
        shape(self.array).first().copied().flatten()
    }
}

/// Checks the matrices of all measurements of an experiment, or of a measurement alone.
pub(super) fn check(experiment: &Object, ids: &TableIds<'_>, depth: Depth, found: &mut Found) -> Result<()> {
    if experiment.kind == Some(Kind::Measurement) {
        return check_measurement(experiment, None, ids, depth, found);
    }
    let obs = experiment.member("obs").and_then(|obs| Axis::of(obs, ids));
    for measurement in experiment.measurements() {
        check_measurement(measurement, obs.as_ref(), ids, depth, found)?;
    }
    Ok(())
}

/// Checks the matrices of a measurement.
fn check_measurement(
    measurement: &Object,
    obs: Option<&Axis<'_>>,
    ids: &TableIds<'_>,
    depth: Depth,
    found: &mut Found,
) -> Result<()> {
    let var = measurement.member("var").and_then(|var| Axis::of(var, ids));
    let var = var.as_ref();
    for (name, axes) in [
        ("X", [Some(obs), Some(var)]),
        ("obsm", [Some(obs), None]),
        ("varm", [Some(var), None]),
        ("obsp", [Some(obs), Some(obs)]),
        ("varp", [Some(var), Some(var)]),
    ] {
        for matrix in measurement.member(name).map_or(&[][..], Object::members) {
            let Some(array) = matrix.array().filter(|_| matrix.kind.is_some_and(Kind::is_matrix)) else {
                continue;
            };
            let dimensions = &array.schema().domain.dimensions;
            if dimensions.len() != 2 {
                let what = format!("a matrix in {name} has two axes, and this one {}", dimensions.len());
                found.problem(matrix, Rule::Matrix, what);
                continue;
            }
            if dimensions.iter().any(|dimension| dimension.datatype != Datatype::Int64) {
                // The rule about matrices says so.
                continue;
            }
            let mut exact = Vec::new();
            for (at, axis) in axes.into_iter().enumerate() {
                let size = shape(array).get(at).copied().flatten();
                check_inside(matrix, array, at, size, found);
                let Some(axis) = axis.flatten() else { continue };
                check_shape(matrix, array, at, size, axis, found);
                if check_bounds(matrix, array, at, axis, found)
                    && let Some(ids) = axis.ids.filter(|ids| ids.has_gaps())
                {
                    exact.push((at, axis.path, ids));
                }
            }
            check_cells(matrix, array, &exact, depth, found)?;
        }
    }
    Ok(())
}

/// The cells are inside of the matrix's own shape.
fn check_inside(matrix: &Object, array: &Array, at: usize, size: Option<u64>, found: &mut Found) {
    let (Some(size), Some((_, last))) = (size, written(array, at)) else { return };
    if last >= i128::from(size) {
        let what = format!("soma_dim_{at} reaches {last}, but the matrix has {size} there");
        found.problem(matrix, Rule::Shape, what);
    }
}

/// The shape is that of the table. Tables and matrices of the first releases have no shape yet.
fn check_shape(
    matrix: &Object,
    array: &Array,
    at: usize,
    size: Option<u64>,
    axis: &Axis<'_>,
    found: &mut Found,
) {
    let own = size.filter(|_| array.schema().current_domain.is_some());
    if let (Some(own), Some(other)) = (own, axis.size())
        && own != other
    {
        let path = axis.path;
        let what = format!("the matrix has {own} on soma_dim_{at}, but {path} has room for {other} ids");
        found.problem(matrix, Rule::Shape, what);
    }
}

/// The cells are between the first and the last id. Returns whether they are.
fn check_bounds(matrix: &Object, array: &Array, at: usize, axis: &Axis<'_>, found: &mut Found) -> bool {
    // A dense matrix has values wherever it is.
    let Some((first, last)) = written(array, at).filter(|_| matrix.kind == Some(Kind::SparseNdArray)) else {
        return false;
    };
    let Some(ids) = axis.ids else { return false };
    let path = axis.path;
    match ids.ends() {
        None => {
            let what = format!("soma_dim_{at} has values from {first} to {last}, but {path} has no rows");
            found.problem(matrix, Rule::Coordinates, what);
            false
        }
        Some((low, high)) if first < i128::from(low) || last > i128::from(high) => {
            let what = format!(
                "soma_dim_{at} goes from {first} to {last}, but the ids of {path} from {low} to {high}"
            );
            found.problem(matrix, Rule::Coordinates, what);
            false
        }
        Some(_) => true,
    }
}

/// Every coordinate is an id, where ids have gaps.
fn check_cells(
    matrix: &Object,
    array: &Array,
    axes: &[(usize, &str, &Ids)],
    depth: Depth,
    found: &mut Found,
) -> Result<()> {
    if axes.is_empty() {
        return Ok(());
    }
    if depth == Depth::Boxes {
        let mut paths: Vec<&str> = axes.iter().map(|(_, path, _)| *path).collect();
        paths.dedup();
        let paths = paths.join(" and ");
        let what = format!(
            "ids of {paths} have gaps, so every coordinate would have to be read to know that it is an id"
        );
        found.note(matrix, Rule::Coordinates, what);
        return Ok(());
    }
    let names: Vec<String> = axes.iter().map(|(at, ..)| format!("soma_dim_{at}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut wrong: Vec<(u64, Option<i64>)> = vec![(0, None); axes.len()];
    for_each_batch(array, &names, |columns| {
        for ((column, (_, _, ids)), (count, example)) in columns.iter().zip(axes).zip(&mut wrong) {
            for id in column.iter().filter(|id| !ids.contains(**id)) {
                *count = count.saturating_add(1);
                example.get_or_insert(*id);
            }
        }
    })?;
    for ((at, path, _), (count, example)) in axes.iter().zip(wrong) {
        if let Some(example) = example {
            let what =
                format!("{count} values have a soma_dim_{at} that is no id of {path}, one of them {example}");
            found.problem(matrix, Rule::Coordinates, what);
        }
    }
    Ok(())
}
