//! `tdb consolidate` and `tdb vacuum`.

use core::ops::ControlFlow;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args as Group, ValueEnum};
use tdb_array::{
    Consolidation, MaintainedObject, MaintenancePlan, MaintenanceProgress, MemoryBudget, MemoryBudgetError,
    ObjectType, Stored, Vacuum, object_type,
};

use crate::args::{KeyArgs, LockArgs, parse_time};
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;
use crate::ranges::parse_names;

/// Make many files of an array into few.
///
/// Reads at every time stay the same. What is replaced stays too, hidden, until a vacuum removes it.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb consolidate weather --dry-run
  tdb consolidate weather --min 5 --max 50 --ratio 0.3 --steps 10
  tdb consolidate weather --memory 2GiB --fragment-size 1GiB
  tdb consolidate weather --what commits")]
pub(crate) struct ConsolidateArgs {
    /// Folder of the array (or with --what metadata, of a group).
    array: PathBuf,
    /// What to consolidate.
    #[arg(long, value_enum, default_value_t = What::Fragments)]
    what: What,
    /// These fragments, by name and separated by commas.
    #[arg(long, value_name = "A,B")]
    fragments: Option<String>,
    /// At least so many fragments at a time.
    #[arg(long, value_name = "N", default_value_t = 2)]
    min: usize,
    /// At most so many fragments at a time. Default: all.
    #[arg(long, value_name = "N")]
    max: Option<usize>,
    /// Only neighbours of which the smaller has at least this part of the larger one's size.
    #[arg(long, value_name = "0..1", default_value_t = 0.0)]
    ratio: f64,
    /// At most so many bytes of fragments at a time.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    input_size: Option<u64>,
    /// At most so many new fragments.
    #[arg(long, value_name = "N", default_value_t = 1)]
    steps: usize,
    /// Leave deleted cells out, at all times.
    #[arg(long)]
    purge: bool,
    /// Dense fragments whose common box has at most so many times their cells.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    amplification: f64,
    /// Memory for cells that are being merged.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "512MiB")]
    memory: u64,
    /// Begin another fragment where one would have more data.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    fragment_size: Option<u64>,
    /// Do not read back what was written.
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// Remove what consolidated files replace, or what crashes left behind.
///
/// Nothing goes that a read at any time still sees, unless --drop-history says so. Writes may be at work meanwhile; readers that
/// opened the array before may have to open it again.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb vacuum weather --dry-run
  tdb vacuum weather --what commits
  tdb vacuum weather --orphans --before 2026-01-01")]
pub(crate) struct VacuumArgs {
    /// Folder of the array (or with --what metadata, of a group).
    array: PathBuf,
    /// What was consolidated.
    #[arg(long, value_enum, default_value_t = What::Fragments)]
    what: What,
    /// Remove leftovers of writes that did not end instead.
    #[arg(long, conflicts_with = "what")]
    orphans: bool,
    /// Of leftovers, only those of before this time: milliseconds since 1970, or a date in UTC. Default: a day ago, since a
    /// write that is at work looks like one.
    #[arg(long, value_name = "MS|DATE", value_parser = parse_time, requires = "orphans")]
    before: Option<u64>,
    /// Remove also what reads at earlier times need.
    #[arg(long)]
    drop_history: bool,
    /// Do not read what was consolidated before removing what it replaces.
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// How a plan is run.
#[derive(Debug, Group)]
struct RunArgs {
    /// Print what would be done, with sizes, and do nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    key: KeyArgs,
}

/// What is maintained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// Fragments, which hold the cells.
    Fragments,
    /// Footers of fragments, gathered in one file.
    FragmentMetadata,
    /// Commit files.
    Commits,
    /// Key-value metadata.
    Metadata,
}

impl From<What> for Stored {
    fn from(what: What) -> Self {
        match what {
            What::Fragments => Self::Fragments,
            What::FragmentMetadata => Self::FragmentMetadata,
            What::Commits => Self::Commits,
            What::Metadata => Self::Metadata,
        }
    }
}

/// Reads a number of bytes, with the units of a memory budget: `4096`, `64K`, `1.5GiB`.
fn parse_size(text: &str) -> Result<u64, MemoryBudgetError> {
    text.parse().map(MemoryBudget::bytes)
}

/// Runs `tdb consolidate`.
pub(crate) fn consolidate(
    args: &ConsolidateArgs,
    stores: &Stores,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let mut consolidation = Consolidation::new(args.what.into())
        .counts(args.min, args.max.unwrap_or(usize::MAX))
        .size_ratio(args.ratio)
        .steps(args.steps)
        .purge(args.purge)
        .amplification(args.amplification)
        .memory(args.memory)
        .verify(!args.no_verify);
    if let Some(names) = &args.fragments {
        consolidation = consolidation.fragments(parse_names(names));
    }
    if let Some(bytes) = args.input_size {
        consolidation = consolidation.input_bytes(bytes);
    }
    if let Some(bytes) = args.fragment_size {
        consolidation = consolidation.fragment_bytes(bytes);
    }
    run((&args.array, stores), &args.run, &|object| consolidation.plan(object), out, err)
}

/// Runs `tdb vacuum`.
pub(crate) fn vacuum(args: &VacuumArgs, stores: &Stores, out: &mut dyn Write, err: &mut dyn Write) -> Result {
    let vacuum = if args.orphans { Vacuum::orphans() } else { Vacuum::new(args.what.into()) };
    let vacuum = vacuum.drop_history(args.drop_history).verify(!args.no_verify);
    let vacuum = match args.before {
        Some(time) => vacuum.before(time),
        None => vacuum,
    };
    run((&args.array, stores), &args.run, &|object| vacuum.plan(object), out, err)
}

/// Makes a plan, prints it, and unless it is to be dry, carries it out.
fn run(
    (path, stores): (&Path, &Stores),
    args: &RunArgs,
    plan: &dyn Fn(MaintainedObject<'_>) -> tdb_array::Result<MaintenancePlan>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let failed = |error| Failure::of_array(path, error);
    let storage = stores.storage(path)?;
    let kind = object_type(&storage).map_err(|error| Failure::at(path, error))?;
    let mut options = args.lock.apply(tdb_array::WriteOptions::new());
    if let Some(key) = args.key.key()? {
        options = options.key(key);
    }
    let (array, group);
    let object = if kind == ObjectType::Group {
        group = options.open_group_storage(storage).map_err(failed)?;
        MaintainedObject::Group(&group)
    } else {
        array = options.open_storage(storage).map_err(failed)?;
        MaintainedObject::Array(&array)
    };
    let plan = plan(object).map_err(failed)?;
    for line in plan.to_string().lines() {
        writeln!(out, "{}", one_line(line))?;
    }
    if args.dry_run || plan.is_empty() {
        return Ok(());
    }
    let shows = std::io::stderr().is_terminal();
    let mut last = None;
    let mut watch = |progress: &MaintenanceProgress| {
        let MaintenanceProgress { step, steps, done, total } = *progress;
        let share = done.saturating_mul(100).checked_div(total).unwrap_or(0);
        if shows && last != Some((step, share)) {
            last = Some((step, share));
            // Where standard error is gone, the work still goes on.
            let _ = write!(err, "\rstep {} of {steps}: {share:3} %", step.saturating_add(1));
        }
        ControlFlow::Continue(())
    };
    plan.run(object, &mut watch).map_err(failed)?;
    if shows {
        writeln!(err)?;
    }
    writeln!(out, "done")?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units_of_1024() {
        assert_eq!(parse_size("4096"), Ok(4096));
        assert_eq!(parse_size("64K"), Ok(65536));
        assert_eq!(parse_size("1.5gib"), Ok(3 << 29));
        for bad in ["", "x", "1.2.3", "5 parsecs", "99999999999T"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
