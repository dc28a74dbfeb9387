//! Makes the plan of each kind of consolidation, and carries plans out.

use core::ops::ControlFlow;

use crate::options::{Consolidation, MaintainedObject, Stored};
use crate::plan::{MaintenancePlan, MaintenanceProgress, Work};
use crate::{Result, WriteError, commits, footers, fragment_choice, fragments, metadata, removal};

impl Consolidation {
    /// Plans what would be done.
    ///
    /// # Errors
    /// A damaged array, fragments given by name that cannot be consolidated, or something that this
    /// build does not support. If there is nothing to do, the plan has no steps, and notes that
    /// give the reasons.
    pub fn plan<'a>(&self, object: impl Into<MaintainedObject<'a>>) -> Result<MaintenancePlan> {
        let object = object.into();
        match self.what {
            Stored::Fragments => fragment_choice::plan(object.array("consolidation of fragments")?, self),
            Stored::FragmentMetadata => footers::plan(object.array("consolidation of footers")?),
            Stored::Commits => commits::plan(object.array("consolidation of commits")?),
            Stored::Metadata => metadata::plan(object),
        }
    }
}

impl MaintenancePlan {
    /// Carries out the plan. `watch` receives progress reports, and cancels by returning
    /// [`ControlFlow::Break`].
    ///
    /// # Errors
    /// Any I/O error of the storage, damage that is found, an array that changed since the plan was
    /// made, or [`WriteError::Cancelled`]. Steps before the one that failed remain done; the failed
    /// step takes effect as a whole or not at all.
    pub fn run<'a>(
        &self,
        object: impl Into<MaintainedObject<'a>>,
        watch: &mut dyn FnMut(&MaintenanceProgress) -> ControlFlow<()>,
    ) -> Result<()> {
        let object = object.into();
        let done = self.run_steps(object, watch);
        // Steps before one that failed are done.
        let renewed = if self.steps().is_empty() { Ok(()) } else { object.renew_manifest(&[]) };
        done.and(renewed)
    }

    fn run_steps(
        &self,
        object: MaintainedObject<'_>,
        watch: &mut dyn FnMut(&MaintenanceProgress) -> ControlFlow<()>,
    ) -> Result<()> {
        let steps = self.steps().len();
        for (index, step) in self.steps().iter().enumerate() {
            let mut told = |done, total| {
                let progress = MaintenanceProgress { step: index, steps, done, total };
                match watch(&progress) {
                    ControlFlow::Continue(()) => Ok(()),
                    ControlFlow::Break(()) => Err(WriteError::Cancelled.into()),
                }
            };
            told(0, 1)?;
            match &step.work {
                Work::Fragments(work) => fragments::run(object.array("consolidation")?, work, &mut told)?,
                Work::Footers => footers::run(object.array("consolidation")?)?,
                Work::Commits => commits::run(object.array("consolidation")?)?,
                Work::Metadata(keys) => metadata::run(object, keys)?,
                Work::Remove(removal) => removal::run(object, removal, &mut told)?,
            }
            // After the last step there is nothing left to cancel.
            let stopped = told(1, 1);
            if index.saturating_add(1) < steps {
                stopped?;
            }
        }
        Ok(())
    }
}
