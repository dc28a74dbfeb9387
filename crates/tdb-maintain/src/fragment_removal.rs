//! Removal of fragments with their cells, which nothing replaces.

use std::collections::HashMap;

use crate::commits::CommitFiles;
use crate::directory::{Directory, FragmentEntry};
use crate::job::open_in;
use crate::leaving::Leaving;
use crate::options::{ChosenFragments, FragmentRemoval};
use crate::plan::{MaintenancePlan, Planner, Removal};
use crate::{ArrayWriter, Error, Result, Snapshot, TimeWindow};

const WHAT: &str = "removal of fragments";

impl FragmentRemoval {
    /// Plans what would be removed.
    ///
    /// # Errors
    /// A name that no visible fragment has, or a damaged array.
    pub fn plan(&self, writer: &ArrayWriter) -> Result<MaintenancePlan> {
        let window = match self.chosen {
            ChosenFragments::Named(_) => TimeWindow::ALL,
            ChosenFragments::Between(first, last) => TimeWindow::between(first, last),
        };
        let array = open_in(writer, window)?;
        if let ChosenFragments::Named(names) = &self.chosen {
            let missing = |name: &&String| !array.fragments().iter().any(|known| known.name() == **name);
            if let Some(name) = names.iter().find(missing) {
                return Err(Error::refused(WHAT, format!("there is no visible fragment \"{name}\"")));
            }
        }
        self.plan_for(writer, &array)
    }

    /// Plans what of a plan is left to do.
    pub(super) fn plan_again(&self, writer: &ArrayWriter) -> Result<MaintenancePlan> {
        self.plan_for(writer, &open_in(writer, TimeWindow::ALL)?)
    }

    fn plan_for(&self, writer: &ArrayWriter, array: &Snapshot) -> Result<MaintenancePlan> {
        let context = writer.context();
        let chosen = |name: &str, (first, last): (u64, u64)| match &self.chosen {
            ChosenFragments::Named(names) => names.iter().any(|chosen| chosen == name),
            ChosenFragments::Between(low, high) => first >= *low && last <= *high,
        };
        let fragments = array.fragments().iter();
        let fragments = fragments.filter(|fragment| chosen(fragment.name(), fragment.timestamps()));
        let folders: Vec<String> = fragments.map(|fragment| fragment.folder().to_owned()).collect();
        let directory = Directory::load(&*context.storage)?;
        let committed: HashMap<&str, &FragmentEntry> =
            directory.fragments.iter().map(|entry| (&*entry.folder, entry)).collect();
        let leaving = Leaving { key: None, folders: &folders, goes: &|_| true, is_seen: &|_| false };
        let removal = Removal::new(Planner::Fragments(self.clone()), "");
        let step = leaving.step(context, &CommitFiles::load(context)?, &committed, removal)?;
        Ok(MaintenancePlan::new(step.into_iter().collect(), Vec::new()))
    }
}
