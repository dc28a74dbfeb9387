//! `tdb delete`: cells that satisfy a condition.

use std::io::Write;
use std::path::PathBuf;

use clap::Args as Group;
use tdb_array::{Aggregate, AggregateValue, Array, OpenOptions, QueryCondition, TimeWindow};

use crate::args::ChangeArgs;
use crate::condition;
use crate::failure::{Failure, Result};
use crate::place::Stores;

/// Delete the cells of a sparse array that satisfy a condition.
///
/// They are gone for readers from now on; reads at earlier times still see them, until consolidation purges them. So are cells
/// that are written later with an earlier time, so that a delete is written even if no cell satisfies the condition now. The format
/// stores which cells stay: cells of which the condition cannot be known, because they are null or NaN in one of its fields or
/// older than it, would go too. Where there are such cells, the command refuses unless --unknown-too says that they may.
#[derive(Debug, Group)]
#[command(after_help = "\
Conditions are written as for tdb read, except that they cannot ask for null.

Examples:
  tdb delete weather --where \"station = 'OSLO' and temperature > 60\" --dry-run
  tdb delete weather --where \"time < '1990-01-01'\"")]
pub(crate) struct DeleteArgs {
    /// Folder of the array.
    pub(crate) array: PathBuf,
    /// Which cells.
    #[arg(long = "where", value_name = "CONDITION", allow_hyphen_values = true)]
    condition: String,
    /// Count the cells, and delete nothing.
    #[arg(long)]
    dry_run: bool,
    /// Delete the cells too of which the condition cannot be known; they are not counted then.
    #[arg(long)]
    unknown_too: bool,
    #[command(flatten)]
    change: ChangeArgs,
}

/// How many cells a delete is about.
struct Counts {
    all: u64,
    /// Those that would be gone.
    gone: u64,
    /// Those of them that satisfy the condition.
    sure: u64,
}

/// Runs the command.
pub(crate) fn run(args: &DeleteArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let failed = |error| condition::failed(&args.array, Some(args.condition.as_str()), error);
    let mut options = OpenOptions::new();
    if let Some(key) = args.change.key.key()? {
        options = options.key(key);
    }
    // What is there by then is deleted.
    if let Some(time) = args.change.time.filter(|time| *time != 0) {
        options = options.window(TimeWindow::until(time));
    }
    let storage = stores.storage(&args.array)?;
    let array = options.open_storage(storage.clone()).map_err(failed)?;
    let asked = condition::parse(&args.condition, array.schema())
        .map_err(|error| condition::bad(&args.array, &args.condition, &error))?;
    let stored = asked.to_stored(&array).map_err(failed)?;
    let writer = args.change.options()?.open_storage(storage).map_err(failed)?;
    writer.check_delete(&stored).map_err(failed)?;

    if args.dry_run || !args.unknown_too {
        let counts = Counts::of(&array, &asked).map_err(failed)?;
        if args.dry_run {
            writeln!(out, "{}", counts.text())?;
            return Ok(());
        }
        if counts.unknown() > 0 {
            return Err(Failure::at(&args.array, counts.refusal()));
        }
    }
    // Written also if no cell satisfies the condition now: one may still be written with an earlier time.
    writeln!(out, "{}", writer.delete(&stored).map_err(failed)?)?;
    Ok(())
}

impl Counts {
    fn of(array: &Array, condition: &QueryCondition) -> tdb_array::Result<Self> {
        let count = |condition: Option<QueryCondition>| -> tdb_array::Result<u64> {
            let read = match condition {
                Some(condition) => array.read().condition(condition),
                None => array.read(),
            };
            let counted = read.aggregate([Aggregate::count()])?;
            Ok(counted.first().and_then(AggregateValue::as_u64).unwrap_or(0))
        };
        let (all, sure) = (count(None)?, count(Some(condition.clone()))?);
        // Those stay of which the negation is true, which is what the file will hold.
        let stay = count(Some(!condition.clone()))?;
        Ok(Self { all, sure, gone: all.saturating_sub(stay) })
    }

    const fn unknown(&self) -> u64 {
        self.gone.saturating_sub(self.sure)
    }

    fn text(&self) -> String {
        let unknown = match self.unknown() {
            0 => String::new(),
            unknown => format!(", {unknown} of them only because the condition cannot be known of them"),
        };
        format!("{} of {} cells would be deleted{unknown}", self.gone, self.all)
    }

    fn refusal(&self) -> String {
        let unknown = self.unknown();
        format!(
            "beside the {} cells that satisfy the condition, {unknown} would be deleted that are null or NaN in one of its \
             fields, or older than it: --unknown-too deletes them",
            self.sure
        )
    }
}
