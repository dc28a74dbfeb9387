//! Chooses the fragments that a consolidation combines.

use std::sync::Arc;

use tdb_codec::ArrayType;

use crate::eligibility::{self, AllSchemas, ends_of};
use crate::fragment::Fragment;
use crate::job::open;
use crate::options::Consolidation;
use crate::plan::{FragmentWork, MaintenancePlan, MaintenanceStep, PlannedFile, Work};
use crate::schemas::Schemas;
use crate::write::fresh_uuid;
use crate::{ArrayWriter, Error, OrInternal, Result, Snapshot, clock};

const WHAT: &str = "consolidation";

pub(super) fn plan(writer: &ArrayWriter, options: &Consolidation) -> Result<MaintenancePlan> {
    let array = open(writer)?;
    let context = array.context();
    let loader = Schemas::new(context);
    let load = |key: &String| Ok((key.clone(), loader.at(key)?));
    let schemas = array.schema_keys().iter().map(load).collect::<Result<AllSchemas>>()?;
    let present = clock::present().unwrap_or(u64::MAX);
    let chooser = Chooser { array: &array, schemas: &schemas, options, present };
    let mut notes = Vec::new();
    let windows = match &options.chosen {
        Some(names) => vec![chooser.named(names)?],
        None => chooser.windows(&mut notes)?,
    };
    let mut steps = Vec::new();
    for (chosen, schema_key) in windows {
        let fragments = chooser.fragments(&chosen)?;
        let inputs: Vec<PlannedFile> = fragments
            .iter()
            .map(|fragment| PlannedFile { key: fragment.folder().to_owned(), bytes: fragment.size() })
            .collect();
        let bytes = inputs.iter().fold(0u64, |sum, file| sum.saturating_add(file.bytes));
        // In addition to the bytes of the inputs: eight bytes per cell for its time.
        let cells = fragments.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.cell_count()));
        let times = if array.schema().array_type == ArrayType::Sparse { cells.saturating_mul(8) } else { 0 };
        let first = fragments.iter().map(|fragment| fragment.timestamps().0).min().unwrap_or(0);
        let last = fragments.iter().map(|fragment| fragment.timestamps().1).max().unwrap_or(0);
        let output = PlannedFile {
            key: format!("a fragment with times {first} to {last}"),
            bytes: bytes.saturating_add(times),
        };
        let folders = inputs.iter().map(|file| file.key.clone()).collect();
        let work = FragmentWork { inputs: folders, schema_key, settings: options.settings };
        steps.push(MaintenanceStep {
            what: "consolidate fragments",
            inputs,
            output: Some(output),
            work: Work::Fragments(work),
        });
    }
    Ok(MaintenancePlan::new(steps, notes))
}

/// Fragments by index, and the schema to write them with.
type FragmentWindow = (Vec<usize>, String);

struct Chooser<'a> {
    array: &'a Snapshot,
    schemas: &'a AllSchemas,
    options: &'a Consolidation,
    /// The present time: readers do not see later fragments yet.
    present: u64,
}

impl Chooser<'_> {
    fn sparse(&self) -> bool {
        self.array.schema().array_type == ArrayType::Sparse
    }

    /// The schema for these fragments, or the reason why they cannot be consolidated.
    fn check(&self, chosen: &[usize]) -> Result<Result<String, String>> {
        let fragments = self.fragments(chosen)?;
        for fragment in &fragments {
            if let Some(why) = eligibility::ineligible(fragment, self.sparse()) {
                return Ok(Err(format!("fragment {} is not consolidated: {why}", fragment.name())));
            }
        }
        let ends = ends_of(chosen)?;
        let among = |index: usize| chosen.binary_search(&index).is_ok();
        let amplification = self.options.settings.amplification;
        let purge = self.options.settings.purge;
        if let Some(why) = eligibility::blocked(self.array, ends, &among, amplification, purge) {
            return Ok(Err(why));
        }
        let (key, schema) = match eligibility::target(self.array, self.schemas, &fragments, purge) {
            Ok(target) => target,
            Err(why) => return Ok(Err(why)),
        };
        let placed = match eligibility::name(self.array, &fragments, &schema, &|| Ok("8".repeat(32)))? {
            Some(name) => Some(name),
            // A real name may work where the sample does not.
            None => eligibility::name(self.array, &fragments, &schema, &fresh_uuid)?,
        };
        let why = "no name for the new fragment sorts correctly among other fragments of the same time";
        Ok(placed.map(|_| key).ok_or_else(|| why.to_owned()))
    }

    /// The fragments with these numbers.
    fn fragments(&self, chosen: &[usize]) -> Result<Vec<&Fragment>> {
        let fragment = |index: &usize| self.array.fragments().get(*index).map(Arc::as_ref);
        let fragments: Option<Vec<&Fragment>> = chosen.iter().map(fragment).collect();
        fragments.or_internal("a number without a fragment")
    }

    fn named(&self, names: &[String]) -> Result<FragmentWindow> {
        let mut chosen = Vec::with_capacity(names.len());
        for name in names {
            let short = name.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let found = self.array.fragments().iter().position(|fragment| fragment.name() == short);
            let missing = || Error::refused(WHAT, format!("there is no visible fragment \"{name}\""));
            chosen.push(found.ok_or_else(missing)?);
        }
        chosen.sort_unstable();
        chosen.dedup();
        if chosen.len() < 2 {
            return Err(Error::refused(WHAT, "at least two fragments are needed"));
        }
        let key = self.check(&chosen)?.map_err(|why| Error::refused(WHAT, why))?;
        Ok((chosen, key))
    }

    /// Chooses runs of neighbouring fragments: the longest run that can be consolidated and, of
    /// equally long runs, the one with the fewest bytes; then again among the fragments that are
    /// left.
    fn windows(&self, notes: &mut Vec<String>) -> Result<Vec<FragmentWindow>> {
        let fragments = self.array.fragments();
        let mut free: Vec<(usize, usize)> = Vec::new();
        let mut start = 0usize;
        for (index, fragment) in fragments.iter().enumerate() {
            let next = index.saturating_add(1);
            if let Some(why) =
                eligibility::ineligible(fragment, self.sparse()).or_else(|| self.untimely(fragment))
            {
                notes.push(format!("fragment {} is not consolidated: {why}", fragment.name()));
                free.push((start, index));
                start = next;
            } else if let Some(after) = fragments.get(next)
                && !self.alike(fragment, after)
            {
                free.push((start, next));
                start = next;
            }
        }
        free.push((start, fragments.len()));
        let mut found: Vec<FragmentWindow> = Vec::new();
        while found.len() < self.options.steps {
            let mut why = None;
            let Some((window, at)) = self.best(&free, &mut why)? else {
                if found.is_empty() {
                    notes.extend(why);
                }
                break;
            };
            let (first, last) = ends_of(&window.0)?;
            // The two parts beside it are free now.
            let (low, high) = free.get_mut(at).or_internal("a window that is not free")?;
            let after = (last.saturating_add(1), *high);
            (*low, *high) = (*low, first);
            free.push(after);
            found.push(window);
        }
        found.sort();
        Ok(found)
    }

    /// The reason why the times of a fragment keep it from being chosen. One whose time is in the
    /// future is not, because in a dense array the result would only become visible when that
    /// fragment does.
    fn untimely(&self, fragment: &Fragment) -> Option<String> {
        let (first, last) = fragment.timestamps();
        let (low, high) = self.options.times;
        if first < low || last > high {
            return Some(format!("its times, {first} to {last}, are not between {low} and {high}"));
        }
        (last > self.present).then(|| format!("its time, {last}, is in the future"))
    }

    /// Whether the sizes of two fragments are within the given ratio.
    #[expect(clippy::cast_precision_loss, reason = "a ratio chosen by users need not be exact")]
    fn alike(&self, a: &Fragment, b: &Fragment) -> bool {
        let (a, b) = (a.size(), b.size());
        a.min(b) as f64 >= self.options.ratio * a.max(b) as f64
    }

    fn best(
        &self,
        free: &[(usize, usize)],
        why: &mut Option<String>,
    ) -> Result<Option<(FragmentWindow, usize)>> {
        let longest = free.iter().map(|(low, high)| high.saturating_sub(*low)).max().unwrap_or(0);
        let bytes = |low: usize, len: usize| -> Result<u64> {
            let window = self.array.fragments().get(low..low.saturating_add(len));
            let window = window.or_internal("a window without its fragments")?;
            Ok(window.iter().fold(0u64, |sum, fragment| sum.saturating_add(fragment.size())))
        };
        for len in (self.options.fewest..=longest.min(self.options.max)).rev() {
            let mut windows: Vec<(u64, usize, usize)> = Vec::new();
            for (at, (low, high)) in free.iter().enumerate() {
                let starts = *low..high.saturating_sub(len).saturating_add(1).max(*low);
                let starts = starts.filter(|start| start.saturating_add(len) <= *high);
                for start in starts {
                    windows.push((bytes(start, len)?, start, at));
                }
            }
            windows.retain(|(bytes, ..)| *bytes <= self.options.input_bytes);
            windows.sort_unstable();
            for (_, start, at) in windows {
                let chosen: Vec<usize> = (start..start.saturating_add(len)).collect();
                match self.check(&chosen)? {
                    Ok(key) => return Ok(Some(((chosen, key), at))),
                    Err(problem) => *why = why.take().or(Some(problem)),
                }
            }
        }
        Ok(None)
    }
}
