//! Plans of maintenance.

use core::fmt;

use crate::Result;
use crate::options::{FragmentRemoval, MaintainedObject, Settings, Vacuum};

/// The steps of a maintenance operation. Its `Display` is meant for users.
#[derive(Clone, Debug, Default)]
#[must_use = "a plan does nothing until it runs"]
pub struct MaintenancePlan {
    steps: Vec<MaintenanceStep>,
    notes: Vec<String>,
}

/// One step of a plan: its inputs and its output.
#[derive(Clone, Debug)]
pub struct MaintenanceStep {
    /// A short description of the step.
    pub what: &'static str,
    /// The files that are read, or removed by a vacuum.
    pub inputs: Vec<PlannedFile>,
    /// The file that is written, with its estimated maximum size; `None` for a vacuum.
    pub output: Option<PlannedFile>,
    pub(super) work: Work,
}

/// A file or fragment of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its key; for a file that is to be written, the folder and the known part of the name.
    pub key: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The progress of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaintenanceProgress {
    /// The current step, counted from 0.
    pub step: usize,
    /// Number of steps.
    pub steps: usize,
    /// The part of the step that is done, in the unit of `total`: cells, or files.
    pub done: u64,
    /// The total of the step.
    pub total: u64,
}

/// The work of a step.
#[derive(Clone, Debug)]
pub(super) enum Work {
    Fragments(FragmentWork),
    Footers,
    Commits,
    Metadata(Vec<String>),
    Remove(Removal),
}

/// The inputs and settings of one step.
#[derive(Clone, Debug)]
pub(super) struct FragmentWork {
    /// Folders, oldest first.
    pub(super) inputs: Vec<String>,
    /// Key of the new fragments' schema.
    pub(super) schema_key: String,
    pub(super) settings: Settings,
}

/// The files and folders that a step removes, in stages: each stage is durably gone before the next
/// begins.
#[derive(Clone, Debug)]
pub(super) struct Removal {
    /// The options that made the plan: they plan again when the step runs, because the array may
    /// have changed.
    pub(super) planner: Planner,
    /// The key of the vacuum file, if the step is about one.
    pub(super) key: String,
    /// Fragments to verify first, with the keys of their schemas.
    pub(super) verify: Vec<(String, String)>,
    /// Commits of fragments that some reads still see: they must all be removed at the same moment.
    pub(super) claimed: Vec<String>,
    /// Commits in consolidated files that are no longer effective.
    pub(super) ignore: Vec<String>,
    pub(super) stages: Vec<Vec<RemovedPath>>,
}

/// The options that plan a removal.
#[derive(Clone, Debug)]
pub(super) enum Planner {
    Vacuum(Vacuum),
    Fragments(FragmentRemoval),
}

impl Removal {
    /// Nothing to remove yet.
    pub(super) fn new(planner: Planner, key: &str) -> Self {
        let (verify, claimed, ignore, stages) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { planner, key: key.to_owned(), verify, claimed, ignore, stages }
    }
}

impl Planner {
    /// Plans what is left to do.
    pub(super) fn plan_again(&self, object: MaintainedObject<'_>) -> Result<MaintenancePlan> {
        match self {
            Self::Vacuum(vacuum) => vacuum.clone().verify(false).plan(object),
            Self::Fragments(removal) => removal.plan_again(object.array("removal of fragments")?),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum RemovedPath {
    File(String),
    Folder(String),
}

impl RemovedPath {
    pub(crate) fn key(&self) -> &str {
        match self {
            Self::File(key) | Self::Folder(key) => key,
        }
    }
}

/// Reports progress and returns whether to continue.
pub(crate) type ReportProgress<'t> = dyn FnMut(u64, u64) -> Result<()> + 't;

impl MaintenancePlan {
    pub(super) const fn new(steps: Vec<MaintenanceStep>, notes: Vec<String>) -> Self {
        Self { steps, notes }
    }

    /// The steps, in order.
    #[must_use]
    pub fn steps(&self) -> &[MaintenanceStep] {
        &self.steps
    }

    /// The parts that the plan omits, with the reasons.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl MaintenanceStep {
    /// The sum of the inputs' sizes.
    #[must_use]
    pub fn input_bytes(&self) -> u64 {
        self.inputs.iter().fold(0, |sum, file| sum.saturating_add(file.bytes))
    }
}

impl fmt::Display for MaintenancePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            writeln!(f, "{}: {} files, {}", step.what, step.inputs.len(), Bytes(step.input_bytes()))?;
            for file in &step.inputs {
                writeln!(f, "  {} ({})", file.key, Bytes(file.bytes))?;
            }
            if let Some(file) = &step.output {
                writeln!(f, "  -> {} (at most about {})", file.key, Bytes(file.bytes))?;
            }
        }
        if self.steps.is_empty() {
            writeln!(f, "nothing to do")?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

/// A size in a readable form.
struct Bytes(u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut tenths = u128::from(self.0).saturating_mul(10);
        let mut unit = 0usize;
        while tenths >= 10_240 && unit < UNITS.len().saturating_sub(1) {
            tenths = tenths.div_ceil(1024);
            unit = unit.saturating_add(1);
        }
        let name = UNITS.get(unit).copied().unwrap_or_default();
        match unit {
            0 => write!(f, "{} {name}", self.0),
            _ => write!(f, "{}.{} {name}", tenths / 10, tenths % 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_told_in_units_that_people_read() {
        let text = |bytes| Bytes(bytes).to_string();
        assert_eq!([text(0), text(1023), text(1024), text(1536)], ["0 B", "1023 B", "1.0 KiB", "1.5 KiB"]);
        assert_eq!(text(5 << 30), "5.0 GiB");
    }
}
