//! `tdb consolidate` and `tdb vacuum`.

use core::ops::ControlFlow;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args as Group, ValueEnum};
use serde_json::{Value, json};
use tdb_array::MemoryBudget;
use tdb_array::error::MemoryBudgetError;
use tdb_array::group::{ObjectType, object_type};
use tdb_array::maintain::{
    Consolidation, MaintainedObject, MaintenancePlan, MaintenanceProgress, Stored, Vacuum,
};
use tdb_text::report::steps_json;

use crate::args::{KeyArgs, LockArgs, parse_count, parse_time};
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::progress::{ProgressArgs, Unit};
use crate::ranges::parse_names;

/// Combine many files of an array into few.
///
/// Reads return the same cells as before, at every time. Replaced files stay, hidden, until a
/// vacuum removes them.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb consolidate weather --dry-run
  tdb consolidate weather --min 5 --max 50 --ratio 0.3 --steps 10
  tdb consolidate weather --memory 2GiB --fragment-size 1GiB
  tdb consolidate weather --what commits")]
pub(crate) struct ConsolidateArgs {
    /// Folder of the array or group.
    array: PathBuf,
    /// What to consolidate. Default: fragments; of a group, which has nothing else, metadata.
    #[arg(long, value_enum)]
    what: Option<FileKind>,
    /// Consolidate these fragments, given by name and separated by commas.
    #[arg(long, value_name = "A,B")]
    fragments: Option<String>,
    /// Consolidate at least N fragments at a time.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, default_value_t = 2)]
    min: usize,
    /// Consolidate at most N fragments at a time. Default: all.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true)]
    max: Option<usize>,
    /// Consolidate only neighbours whose sizes have at least this ratio, the smaller one to the
    /// larger one.
    #[arg(long, value_name = "0..1", value_parser = parse_ratio, allow_negative_numbers = true, default_value_t = 0.0)]
    ratio: f64,
    /// Consolidate at most this many bytes of fragments at a time.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    input_size: Option<u64>,
    /// Create at most N new fragments.
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, default_value_t = 1)]
    steps: usize,
    /// Remove deleted cells, at all times.
    #[arg(long)]
    purge: bool,
    /// Consolidate dense fragments only if their common box has at most FACTOR times their cells.
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    amplification: f64,
    /// Memory for cells that are being merged.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "512MiB")]
    memory: u64,
    /// Begin a new fragment when one would get more data than this.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    fragment_size: Option<u64>,
    /// Do not read back and verify what was written.
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// Remove what consolidated files replace, or what crashes left behind.
///
/// Nothing is removed that a read at any time still sees, unless --drop-history is given. Other
/// processes may write at the same time; readers that opened the array before may have to open it
/// again.
#[derive(Debug, Group)]
#[command(after_help = "\
Examples:
  tdb vacuum weather --dry-run
  tdb vacuum weather --what commits
  tdb vacuum weather --orphans --before 2026-01-01")]
pub(crate) struct VacuumArgs {
    /// Folder of the array or group.
    array: PathBuf,
    /// What was consolidated. Default: fragments; of a group, which has nothing else, metadata.
    #[arg(long, value_enum)]
    what: Option<FileKind>,
    /// Remove leftovers of interrupted writes instead.
    #[arg(long, conflicts_with = "what")]
    orphans: bool,
    /// Only remove leftovers older than this time: milliseconds since 1970, or a date in UTC.
    /// Default: a day ago, because an unfinished write looks like a leftover.
    #[arg(long, value_name = "MS|DATE", value_parser = parse_time, requires = "orphans")]
    before: Option<u64>,
    /// Also remove what only reads at earlier times see.
    #[arg(long)]
    drop_history: bool,
    /// Do not verify consolidated files before removing what they replace.
    #[arg(long)]
    no_verify: bool,
    #[command(flatten)]
    run: RunArgs,
}

/// How a plan is carried out.
#[derive(Debug, Group)]
struct RunArgs {
    /// Print what would be done, with sizes, but do nothing.
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object: the object, whether the plan is done, its steps (what, inputs,
    /// output), and notes.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    progress: ProgressArgs,
    #[command(flatten)]
    lock: LockArgs,
    #[command(flatten)]
    key: KeyArgs,
}

/// The kind of files to maintain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FileKind {
    /// Fragments, which contain the cells.
    Fragments,
    /// Footers of fragments, collected in one file.
    FragmentMetadata,
    /// Commit files.
    Commits,
    /// Key-value metadata.
    Metadata,
}

impl From<FileKind> for Stored {
    fn from(what: FileKind) -> Self {
        match what {
            FileKind::Fragments => Self::Fragments,
            FileKind::FragmentMetadata => Self::FragmentMetadata,
            FileKind::Commits => Self::Commits,
            FileKind::Metadata => Self::Metadata,
        }
    }
}

/// Parses a number of bytes, with the units of a memory budget: `4096`, `64K`, `1.5GiB`.
fn parse_size(text: &str) -> Result<u64, MemoryBudgetError> {
    text.parse().map(MemoryBudget::bytes)
}

/// Parses a share of a whole.
fn parse_ratio(text: &str) -> Result<f64, String> {
    let ratio = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    ratio.ok_or_else(|| format!("{text:?} is not a number from 0 to 1, such as 0.5"))
}

/// Runs `tdb consolidate`.
pub(crate) fn consolidate(args: &ConsolidateArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    run(
        Target { path: &args.array, stores, what: args.what },
        &args.run,
        &|object| consolidation(args, object).plan(object),
        out,
    )
}

fn consolidation(args: &ConsolidateArgs, object: MaintainedObject<'_>) -> Consolidation {
    let mut consolidation = Consolidation::new(stored(args.what, object))
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
    consolidation
}

/// Runs `tdb vacuum`.
pub(crate) fn vacuum(args: &VacuumArgs, stores: &Stores, out: &mut dyn Write) -> Result {
    let plan = |object: MaintainedObject<'_>| {
        let vacuum = if args.orphans { Vacuum::orphans() } else { Vacuum::new(stored(args.what, object)) };
        let vacuum = vacuum.drop_history(args.drop_history).verify(!args.no_verify);
        let vacuum = match args.before {
            Some(time) => vacuum.before(time),
            None => vacuum,
        };
        vacuum.plan(object)
    };
    run(Target { path: &args.array, stores, what: args.what }, &args.run, &plan, out)
}

/// The kind of files of an object that is maintained.
fn stored(what: Option<FileKind>, object: MaintainedObject<'_>) -> Stored {
    let usual = match object {
        MaintainedObject::Array(_) => FileKind::Fragments,
        MaintainedObject::Group(_) => FileKind::Metadata,
    };
    what.unwrap_or(usual).into()
}

/// The array or the group that is maintained, and the kind of its files.
struct Target<'a> {
    path: &'a Path,
    stores: &'a Stores,
    what: Option<FileKind>,
}

/// Makes a plan, prints it, and carries it out unless it is a dry run.
fn run(
    target: Target<'_>,
    args: &RunArgs,
    plan: &dyn Fn(MaintainedObject<'_>) -> tdb_array::Result<MaintenancePlan>,
    out: &mut dyn Write,
) -> Result {
    let Target { path, stores, what } = target;
    let failed = |error| Failure::of_array(path, error);
    let storage = stores.storage(path)?;
    let kind = object_type(&storage).map_err(|error| Failure::at(path, error))?;
    let mut options = args.lock.apply(tdb_array::WriteOptions::new());
    if let Some(key) = args.key.key()? {
        options = options.key(key);
    }
    let (array, group);
    let object = if kind == ObjectType::Group {
        if what.is_some_and(|what| what != FileKind::Metadata) {
            let why = "this is a group, which has key-value metadata only: --what metadata";
            return Err(Failure::Usage(format!("{}: {why}", path.display())));
        }
        group = options.open_group_storage(storage).map_err(failed)?;
        MaintainedObject::Group(&group)
    } else {
        array = options.open_storage(storage).map_err(failed)?;
        MaintainedObject::Array(&array)
    };
    let plan = plan(object).map_err(failed)?;
    if !args.json {
        for line in plan.to_string().lines() {
            writeln!(out, "{}", one_line(line))?;
        }
    }
    let runs = !args.dry_run && !plan.is_empty();
    if runs {
        // The plan is printed before it begins, which may take long.
        out.flush()?;
        let meter = args.progress.bar("", Unit::Parts, Some(0));
        let mut watch = |progress: &MaintenanceProgress| {
            let MaintenanceProgress { step, steps, done, total } = *progress;
            meter.say(format!("step {} of {steps}", step.saturating_add(1)));
            meter.of(done, total);
            ControlFlow::Continue(())
        };
        plan.run(object, &mut watch).map_err(failed)?;
        meter.clear();
    }
    if args.json {
        writeln!(out, "{:#}", plan_json(path, &plan, runs))?;
    } else if runs {
        writeln!(out, "done")?;
    }
    Ok(())
}

/// A plan, and whether it was carried out.
fn plan_json(path: &Path, plan: &MaintenancePlan, done: bool) -> Value {
    json!({"object": shown(path), "done": done, "steps": steps_json(plan), "notes": plan.notes()})
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
