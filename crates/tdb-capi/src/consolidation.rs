//! Consolidation and vacuum of arrays, and the removal of fragments, as the configuration says.

use core::ops::ControlFlow;

use tdb_array::maintain::{Consolidation, FragmentRemoval, MaintenancePlan, Stored, Vacuum};
use tdb_array::{ArrayWriter, TimeWindow};

use crate::config::{Config, ConfigObject};
use crate::context::{Context, Ctx};
use crate::ffi::{Failure, In, Outcome, Text, Texts};
use crate::object::{check_exists, or_missing};
use crate::place::{self, Place};

/// The numbers of steps and of fragments that mean any number.
const ANY: u32 = u32::MAX;
/// The least memory that a consolidation gets.
pub(crate) const MIN_MEMORY: u64 = 16 << 20;
/// The most, unless the caller says so.
const MAX_MEMORY: u64 = 512 << 20;

fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("Consolidator", text)
}

/// The kind of files that a key of the configuration names.
fn stored(config: &Config, key: &str) -> Result<Stored, Failure> {
    match config.get(key).as_deref() {
        Some("fragments") => Ok(Stored::Fragments),
        Some("fragment_meta") => Ok(Stored::FragmentMetadata),
        Some("commits") => Ok(Stored::Commits),
        Some("array_meta" | "group_meta") => Ok(Stored::Metadata),
        _ => Err("Cannot consolidate; invalid configuration mode".into()),
    }
}

/// Opens an array to maintain it.
fn open(context: &Context, config: &Config, place: &Place) -> Result<ArrayWriter, Failure> {
    let opened = place::write_options(context, config)?.open_storage(place.storage()?);
    opened.map_err(|error| or_missing(place, error))
}

fn run(plan: &MaintenancePlan, writer: &ArrayWriter) -> Outcome {
    Ok(plan.run(writer, &mut |_| ControlFlow::Continue(()))?)
}

/// A value of the configuration that has a default, so that it is there.
fn value<T: core::str::FromStr>(config: &Config, key: &str) -> Result<T, Failure> {
    config.parsed(key).ok_or_else(|| failure(format!("Invalid value of configuration parameter '{key}'")))
}

/// What the configuration says about the consolidation of fragments.
struct Settings {
    fewest: u32,
    most: u32,
    steps: u32,
    times: (u64, u64),
    options: Consolidation,
}

impl Settings {
    fn of(config: &Config) -> Result<Self, Failure> {
        let fewest: u32 = value(config, "sm.consolidation.step_min_frags")?;
        let most: u32 = value(config, "sm.consolidation.step_max_frags")?;
        if fewest > most {
            return Err(failure(
                "Invalid configuration; Minimum fragments config parameter is larger than the maximum",
            ));
        }
        let ratio: f64 = value(config, "sm.consolidation.step_size_ratio")?;
        if !(0.0..=1.0).contains(&ratio) {
            return Err(failure(
                "Invalid configuration; Step size ratio config parameter must be in [0.0, 1.0]",
            ));
        }
        let amplification: f64 = value(config, "sm.consolidation.amplification")?;
        if amplification < 0.0 {
            return Err(failure(
                "Invalid configuration; Amplification config parameter must be non-negative",
            ));
        }
        let times = (
            value(config, "sm.consolidation.timestamp_start")?,
            value(config, "sm.consolidation.timestamp_end")?,
        );
        let memory = value::<u64>(config, "sm.mem.total_budget")?.clamp(MIN_MEMORY, MAX_MEMORY);
        let purge = config.get("sm.consolidation.purge_deleted_cells");
        let options = Consolidation::new(Stored::Fragments)
            .size_ratio(ratio)
            .amplification(amplification)
            .purge(purge.is_some_and(|purge| purge.eq_ignore_ascii_case("true")))
            .fragment_bytes(value(config, "sm.consolidation.max_fragment_size")?)
            .memory(memory)
            .between(times.0, times.1);
        Ok(Self { fewest, most, steps: value(config, "sm.consolidation.steps")?, times, options })
    }

    /// Makes few fragments of many, step by step: a later step may take the result of an earlier
    /// one.
    fn run(self, context: &Context, config: &Config, place: &Place) -> Outcome {
        let _clock = context.stats().time("Consolidator.consolidate_frags");
        for _ in 0..self.steps {
            let window = TimeWindow::between(0, u64::MAX);
            let array =
                place::open_options(context, config)?.window(window).open_storage(place.storage()?)?;
            let inside = |(first, last): (u64, u64)| first >= self.times.0 && last <= self.times.1;
            let fragments = array.fragments().iter().filter(|fragment| inside(fragment.timestamps())).count();
            let bound = |number: u32| match usize::try_from(number) {
                Ok(number) if number < fragments => number,
                _ => fragments,
            };
            if self.most < 2 {
                return Ok(());
            }
            let options = self.options.clone().counts(bound(self.fewest), bound(self.most));
            let writer = open(context, config, place)?;
            let plan = options.plan(&writer)?;
            if plan.is_empty() {
                break;
            }
            run(&plan, &writer)?;
            // All of them became one.
            if self.fewest == ANY {
                break;
            }
        }
        Ok(())
    }
}

/// The name of a fragment that the caller gave by its name or by its URI.
///
/// # Errors
/// The URI is not of a fragment of the array.
fn fragment_name(context: &Context, place: &Place, given: &str) -> Result<String, Failure> {
    let given = given.trim_end_matches('/');
    let Some((_, name)) = given.rsplit_once('/') else { return Ok(given.to_owned()) };
    let uri = Place::of(context, given)?.uri();
    let folders = [place.below("__fragments").below(name), place.below(name)];
    if folders.iter().any(|folder| folder.uri() == uri) {
        return Ok(name.to_owned());
    }
    let array = place.uri();
    Err(failure(format!(
        "Failed request to consolidate an invalid fragment URI '{uri}' for array at '{array}'"
    )))
}

fn fragment_names(context: &Context, place: &Place, given: &[String]) -> Result<Vec<String>, Failure> {
    given.iter().map(|given| fragment_name(context, place, given)).collect()
}

/// Removes fragments with their cells.
fn remove(context: &Context, place: &Place, removal: &FragmentRemoval) -> Outcome {
    let writer = open(context, context.config(), place)?;
    run(&removal.plan(&writer)?, &writer)
}

exported! {
    fn tiledb_array_consolidate(ctx: Ctx, uri: Text, config: In<ConfigObject>) -> Code for ctx {
        let context = ctx.get()?;
        let (place, config) = (Place::of(context, uri.get("array_uri")?)?, context.config().with(config)?);
        match stored(&config, "sm.consolidation.mode")? {
            Stored::Fragments => {
                let settings = Settings::of(&config)?;
                check_exists(&place)?;
                settings.run(context, &config, &place)
            }
            other => {
                let writer = open(context, &config, &place)?;
                run(&Consolidation::new(other).plan(&writer)?, &writer)
            }
        }
    }

    fn tiledb_array_consolidate_fragments(ctx: Ctx, uri: Text, fragments: Texts, count: u64, config: In<ConfigObject>) -> Code for ctx {
        let context = ctx.get()?;
        let (place, config) = (Place::of(context, uri.get("array_uri")?)?, context.config().with(config)?);
        let settings = Settings::of(&config)?;
        let writer = open(context, &config, &place)?;
        let given = fragments.get("fragment_uris", count)?;
        if given.len() < 2 {
            return Ok(());
        }
        let names = fragment_names(context, &place, &given)?;
        let window = TimeWindow::between(0, u64::MAX);
        let array = place::open_options(context, &config)?.window(window).open_storage(place.storage()?)?;
        let known = |name: &&String| array.fragments().iter().any(|fragment| fragment.name() == name.as_str());
        let found = names.iter().filter(known).count();
        if found < names.len() {
            let all = names.len();
            return Err(failure(format!("Cannot consolidate; Found {found} of {all} required fragments.")));
        }
        // Whoever names fragments wants them to be one, however large that will be.
        run(&settings.options.amplification(f64::INFINITY).fragments(names).plan(&writer)?, &writer)
    }

    fn tiledb_array_vacuum(ctx: Ctx, uri: Text, config: In<ConfigObject>) -> Code for ctx {
        let context = ctx.get()?;
        let (place, config) = (Place::of(context, uri.get("array_uri")?)?, context.config().with(config)?);
        let stored = stored(&config, "sm.vacuum.mode")?;
        let writer = open(context, &config, &place)?;
        // As a vacuum of libtiledb does, whatever reads at earlier times saw.
        run(&Vacuum::new(stored).drop_history(true).verify(false).plan(&writer)?, &writer)
    }

    fn tiledb_array_delete_fragments_v2(ctx: Ctx, uri: Text, first: u64, last: u64) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("uri")?)?;
        remove(context, &place, &FragmentRemoval::between(first, last))
    }

    fn tiledb_array_delete_fragments_list(ctx: Ctx, uri: Text, fragments: Texts, count: u64) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, uri.get("uri_str")?)?;
        let given = fragments.get("fragment_uris", count)?;
        let names = fragment_names(context, &place, &given)?;
        remove(context, &place, &FragmentRemoval::named(names))
    }
}
