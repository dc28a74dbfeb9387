//! Delete conditions: which of the selected cells are still there.

use core::cmp::Ordering;
use std::collections::BTreeMap;

use tdb_codec::{Datatype, Native, PhysicalVisitor};
use tdb_fragment::{Comparison, Condition, Junction, Section, parse_names};
use tdb_schema::ArraySchema;

use super::select::TileSelection;
use super::stage;
use crate::array::Delete;
use crate::context::Context;
use crate::fragment::Fragment;
use crate::gather::{ColumnSpec, index_of, zeroed};
use crate::query::Plan;
use crate::tiles::{FieldTiles, Worker};
use crate::{Column, Error, Result};

/// For every selected cell whether no delete removed it; `None` if there is nothing to ask.
///
/// Deletes act on the newest version of a cell only, so this is asked after duplicates were dropped.
pub(super) fn surviving(
    plan: &Plan<'_>,
    selections: &[TileSelection],
    cells: usize,
) -> Result<Option<Vec<bool>>> {
    let array = plan.array;
    let flagged = array.fragments.iter().any(|fragment| fragment.footer().has_delete_metadata);
    if array.deletes.is_empty() && !flagged {
        return Ok(None);
    }
    let columns = condition_columns(plan, selections, cells)?;
    let mut processed = Vec::with_capacity(array.fragments.len());
    for fragment in &array.fragments {
        processed.push(processed_conditions(&array.context, fragment)?);
    }
    let mut keep = vec![true; cells];
    let mut start = 0usize;
    let mut worker = Worker::default();
    for selection in selections {
        let end = start.saturating_add(selection.len());
        let slots = keep.get_mut(start..end).unwrap_or_default();
        if let Some(fragment) = array.fragments.get(selection.fragment) {
            if fragment.footer().has_delete_metadata {
                drop_marked(plan, fragment, selection, slots, &mut worker)?;
            }
            let done = processed.get(selection.fragment).map_or(&[][..], Vec::as_slice);
            for delete in &array.deletes {
                apply(delete, fragment, selection, done, &columns, start, slots);
            }
        }
        start = end;
    }
    Ok(Some(keep))
}

/// Deletes that a fragment with delete metadata already holds the result of.
pub(crate) fn processed_conditions(context: &Context, fragment: &Fragment) -> Result<Vec<String>> {
    if !fragment.footer().has_delete_metadata {
        return Ok(Vec::new());
    }
    let payload = fragment.section(context, Section::ProcessedConditions)?.unwrap_or_default();
    parse_names(tdb_codec::Reader::new(&payload), "processed conditions")
        .map_err(|error| Error::corrupt(context.describe(fragment.metadata_key()), error))
}

/// Drops the cells that consolidation marked as deleted by the end of the window.
fn drop_marked(
    plan: &Plan<'_>,
    fragment: &Fragment,
    selection: &TileSelection,
    keep: &mut [bool],
    worker: &mut Worker,
) -> Result<()> {
    let context = &plan.array.context;
    let Some(tiles) = FieldTiles::delete_timestamps(context, fragment)? else { return Ok(()) };
    let mut times = zeroed(selection.tile_cells.saturating_mul(8))?;
    tiles.decode_fixed(context, selection.tile, times.as_mut_slice(), |_| true, worker)?;
    let times: &[u64] = times.values().unwrap_or_default();
    let end = plan.array.window().end;
    // The largest timestamp means "not deleted"; a window without end must not count it as one.
    let gone = |time: u64| time <= end && time != u64::MAX;
    for (at, slot) in keep.iter_mut().enumerate() {
        let cell =
            selection.cells.as_ref().map_or(Some(at), |cells| cells.get(at).map(|cell| index_of(*cell)));
        *slot &= !cell.and_then(|cell| times.get(cell)).is_some_and(|time| gone(*time));
    }
    Ok(())
}

fn apply(
    delete: &Delete,
    fragment: &Fragment,
    selection: &TileSelection,
    processed: &[String],
    columns: &BTreeMap<String, ConditionColumn>,
    start: usize,
    keep: &mut [bool],
) {
    let (first, last) = fragment.timestamps();
    if delete.time < first || processed.contains(&delete.path) {
        return;
    }
    // Cells written after the delete are safe; without timestamps of their own all are as old as the fragment.
    let by_cell = selection.timestamps.as_ref().filter(|_| delete.time <= last);
    for (at, slot) in keep.iter_mut().enumerate() {
        let safe = by_cell.and_then(|times| times.get(at)).is_some_and(|time| *time > delete.time);
        if *slot && !safe {
            // The file holds the negation of what was to be deleted.
            *slot = holds(&delete.condition, columns, selection.fragment, start.saturating_add(at));
        }
    }
}

/// A field that conditions look at: its cells, and which fragments do not have it.
struct ConditionColumn {
    column: Column,
    missing: Vec<bool>,
}

fn condition_columns(
    plan: &Plan<'_>,
    selections: &[TileSelection],
    cells: usize,
) -> Result<BTreeMap<String, ConditionColumn>> {
    let array = plan.array;
    let mut columns = BTreeMap::new();
    let mut names = Vec::new();
    for delete in &array.deletes {
        delete.condition.for_each_field(&mut |name| names.push((name.to_owned(), delete.path.clone())));
    }
    for (name, path) in names {
        if columns.contains_key(&name) {
            continue;
        }
        let schema: &ArraySchema = array.schema();
        let Some(field) = schema.field(&name) else {
            let what =
                format!("a delete condition on \"{name}\", which the schema does not have, is not supported");
            return Err(Error::unsupported(array.context.describe(&path), what));
        };
        let spec = ColumnSpec::new(schema, &field);
        let missing =
            array.fragments.iter().map(|f| spec.own_field(f.schema(), field.kind).is_none()).collect();
        let column = stage(plan, selections, field.kind, spec, cells)?;
        columns.insert(name, ConditionColumn { column, missing });
    }
    Ok(columns)
}

/// Whether a condition holds for a cell.
fn holds(
    condition: &Condition,
    columns: &BTreeMap<String, ConditionColumn>,
    fragment: usize,
    cell: usize,
) -> bool {
    let holds = |child: &Condition| holds(child, columns, fragment, cell);
    match condition {
        Condition::Expression { junction: Junction::And, children } => children.iter().all(holds),
        Condition::Expression { junction: Junction::Or, children } => children.iter().any(holds),
        Condition::Expression { junction: Junction::Not, children } => !children.iter().any(holds),
        Condition::Value { field, comparison, operands } => columns.get(field).is_some_and(|column| {
            // A field the fragment does not have fails every comparison.
            !column.missing.get(fragment).is_some_and(|missing| *missing)
                && compare(&column.column, cell, *comparison, operands)
        }),
    }
}

/// Whether a comparison holds for a cell of its field.
pub(crate) fn compare(column: &Column, cell: usize, comparison: Comparison, operands: &[Vec<u8>]) -> bool {
    let valid = !column.is_null(cell);
    match comparison {
        Comparison::AlwaysTrue => return true,
        Comparison::AlwaysFalse => return false,
        _ => {}
    }
    let Some(operand) = operands.first() else { return valid && comparison == Comparison::NotIn };
    // An operand without bytes is null where a value cannot be empty.
    if operand.is_empty() && !column.cell_val_num.is_var() && !comparison.takes_list() {
        return match comparison {
            Comparison::Equal => !valid,
            Comparison::NotEqual => valid,
            _ => false,
        };
    }
    let value = column.cell(cell).unwrap_or_default();
    if !valid {
        return false;
    }
    if comparison.takes_list() {
        // Lists are compared as raw bytes.
        return operands.iter().any(|operand| operand == value) == (comparison == Comparison::In);
    }
    let textual = column.cell_val_num.is_var()
        || operand.len() != column.datatype.size()
        || column.datatype == Datatype::Char;
    let ordering = if textual || column.datatype.is_string() {
        Some(value.cmp(operand.as_slice()))
    } else {
        column.datatype.physical().visit(Numeric(value, operand))
    };
    match comparison {
        Comparison::Less => ordering == Some(Ordering::Less),
        Comparison::LessOrEqual => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
        Comparison::Greater => ordering == Some(Ordering::Greater),
        Comparison::GreaterOrEqual => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        Comparison::Equal => ordering == Some(Ordering::Equal),
        // Also for NaN, which is unequal to everything.
        Comparison::NotEqual => ordering != Some(Ordering::Equal),
        Comparison::In | Comparison::NotIn | Comparison::AlwaysTrue | Comparison::AlwaysFalse => false,
    }
}

struct Numeric<'a>(&'a [u8], &'a [u8]);

impl PhysicalVisitor for Numeric<'_> {
    type Output = Option<Ordering>;

    fn visit<T: Native>(self) -> Option<Ordering> {
        T::from_le(self.0)?.partial_cmp(&T::from_le(self.1)?)
    }
}
