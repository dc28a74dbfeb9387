//! `tdb delete`: deletes cells that satisfy a condition.

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::json;
use tdb_array::error::{ConditionErrorKind, QueryError};
use tdb_array::query::{DeleteCounts, QueryCondition};
use tdb_array::{Array, ArrayWriter, Error, OpenOptions, TimeWindow};

use crate::args::ChangeArgs;
use crate::condition;
use crate::count::count;
use crate::failure::{Failure, Result, one_line};
use crate::notes;
use crate::place::{Stores, shown};
use crate::progress::ProgressArgs;

/// Delete the cells of a sparse array that satisfy a condition.
///
/// From now on readers do not see these cells; reads at earlier times still do, until a
/// consolidation purges the cells. Cells that are written later with an earlier time are deleted
/// too; so a delete is written even if no cell satisfies the condition now. The format stores which
/// cells stay. Therefore cells for which the condition is unknown, because they are null or NaN in
/// one of its fields or older than that field, would be deleted too. If there are such cells, the
/// command fails unless --unknown-too allows it, or --by-coordinates spares them.
#[derive(Debug, Group)]
#[command(after_help = "\
Conditions are written as for tdb read. Those that test for null need --by-coordinates. To leave out more cells than it takes,
write those that stay to a new array: tdb copy --where.

Examples:
  tdb delete weather --where \"station = 'OSLO' and temperature > 60\" --dry-run
  tdb delete weather --where \"time < '1990-01-01'\"
  tdb delete weather --where \"temperature is null\" --by-coordinates")]
pub(crate) struct DeleteArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// The condition of the cells to delete.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: String,
    /// Count the cells, but delete nothing.
    #[arg(long)]
    dry_run: bool,
    /// Also delete the cells for which the condition is unknown; then they are not counted.
    #[arg(long, conflicts_with = "by_coordinates")]
    unknown_too: bool,
    /// Find the cells now, and delete them by their coordinates: for conditions that test for null,
    /// and where others are null. At most 1000 cells; not of arrays that allow duplicates.
    #[arg(long)]
    by_coordinates: bool,
    /// Print one JSON object: the array, its cells, the condition with dates as instants (null if
    /// it has none), how many are deleted or would be, how many of them only because the condition
    /// is unknown for them (both null if they are not counted), and the delete (null in a dry run).
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    change: ChangeArgs,
}

/// Runs the command.
pub(crate) fn run(args: &DeleteArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let failed = |error| condition::failed(&args.array, Some(args.condition.as_str()), error);
    let mut options = OpenOptions::new();
    if let Some(key) = args.change.key.key()? {
        options = options.key(key);
    }
    // A delete at a given time applies to the state at that time.
    if let Some(time) = args.change.time.filter(|time| *time != 0) {
        options = options.window(TimeWindow::until(time));
    }
    let storage = stores.storage(&args.array)?;
    let array = options.open_storage(storage.clone()).map_err(failed)?;
    let asked = tdb_text::condition::parse(&args.condition, array.schema())
        .map_err(|error| condition::bad(&args.array, &args.condition, &error))?;
    notes::print(&args.array, array.schema(), &[], Some(&args.condition), err);
    let writer = args.change.options()?.open_storage(storage).map_err(failed)?;
    if args.by_coordinates {
        return args.by_coordinates(&array, &writer, &asked, out);
    }
    let stored = asked.to_stored(&array).map_err(|error| {
        let has_way_out = is_not_stored(&error);
        match failed(error) {
            Failure::Text { line, text, column } if has_way_out => Failure::Text {
                line: format!("{line}; --by-coordinates finds the cells first"),
                text,
                column,
            },
            other => other,
        }
    })?;
    writer.check_delete(&stored).map_err(failed)?;

    // A date such as 2013-01 is shown as the instants that it stands for.
    let is_date = |name: &str| array.schema().field(name).is_some_and(|field| field.datatype.is_datetime());
    let has_dates = asked.fields().into_iter().any(is_date);
    let instants = has_dates.then(|| tdb_text::condition::text(&stored, Some(array.schema())));
    let mut counts = None;
    if args.dry_run || !args.unknown_too {
        let meter = args.progress.wait("counting the cells");
        let counted = array.delete_counts(&asked).map_err(failed)?;
        meter.clear();
        if !args.dry_run && counted.unknown() > 0 {
            return Err(Failure::at(&args.array, refusal(&counted)));
        }
        counts = Some(counted);
    }
    // Written even if no cell satisfies the condition now: one may still be written with an earlier
    // time.
    let key = if args.dry_run { None } else { Some(writer.delete(&stored).map_err(failed)?) };
    if args.json {
        let object = json!({
            "array": shown(&args.array),
            "cells": counts.as_ref().map(|counts| counts.cells),
            "condition": instants,
            "deleted": counts.as_ref().map(|counts| counts.removed),
            "unknown": counts.as_ref().map(DeleteCounts::unknown),
            "delete": key,
        });
        writeln!(out, "{object:#}")?;
        return Ok(());
    }
    if let Some(instants) = instants.filter(|_| args.dry_run) {
        writeln!(out, "condition: {}", one_line(&instants))?;
    }
    let line = match (key, &counts) {
        (Some(key), Some(counts)) => format!("{} deleted by {key}", share(counts.removed, counts.cells)),
        (Some(key), None) => format!("cells deleted by {key}"),
        (None, counts) => counts.as_ref().map(described).unwrap_or_default(),
    };
    writeln!(out, "{line}")?;
    Ok(())
}

impl DeleteArgs {
    /// Deletes the cells that satisfy the condition now by their coordinates.
    fn by_coordinates(
        &self,
        array: &Array,
        writer: &ArrayWriter,
        asked: &QueryCondition,
        out: &mut dyn Write,
    ) -> Result {
        let failed = |error| condition::failed(&self.array, Some(self.condition.as_str()), error);
        let meter = self.progress.wait("looking for the cells");
        let (listed, deleted) = array.cells_condition(asked).map_err(|error| {
            Failure::at(
                &self.array,
                format!("{error}; tdb copy --where writes those that stay to a new array"),
            )
        })?;
        let cells = array.delete_counts(asked).map_err(failed)?.cells;
        meter.clear();
        if deleted > 0 {
            writer.check_delete(&listed).map_err(failed)?;
        }
        // Without any cell there is nothing to write: cells that come later are not concerned.
        let key =
            if self.dry_run || deleted == 0 { None } else { Some(writer.delete(&listed).map_err(failed)?) };
        if self.json {
            let object = json!({
                "array": shown(&self.array),
                "cells": cells,
                "condition": null,
                "deleted": deleted,
                "unknown": 0,
                "delete": key,
            });
            return Ok(writeln!(out, "{object:#}")?);
        }
        let line = match key {
            Some(key) => format!("{} deleted by {key}", share(deleted, cells)),
            None if self.dry_run => format!("{} would be deleted", share(deleted, cells)),
            None => "no cell satisfies the condition".to_owned(),
        };
        Ok(writeln!(out, "{line}")?)
    }
}

/// Whether an error is about a condition that no delete file can contain.
fn is_not_stored(error: &Error) -> bool {
    match error {
        Error::Query(QueryError::Condition(error)) => {
            matches!(error.kind(), ConditionErrorKind::NotStored { .. })
        }
        _ => false,
    }
}

/// The effect that a delete would have, in words.
fn described(counts: &DeleteCounts) -> String {
    let unknown = match counts.unknown() {
        0 => String::new(),
        unknown => format!(", {unknown} of them only because the condition is unknown for them"),
    };
    format!("{} would be deleted{unknown}", share(counts.removed, counts.cells))
}

/// The reason for which a delete is refused.
fn refusal(counts: &DeleteCounts) -> String {
    let unknown = counts.unknown();
    format!(
        "in addition to the {} that the condition finds, {} would be deleted, null or NaN in one of its fields, or older than that \
         field; --by-coordinates spares these, --unknown-too deletes them",
        count(counts.satisfying, "cell"),
        count(unknown, "cell")
    )
}

/// Some cells of all.
fn share(some: u64, all: u64) -> String {
    format!("{some} of {}", count(all, "cell"))
}
