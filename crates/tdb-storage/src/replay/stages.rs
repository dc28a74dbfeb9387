//! The finished stages of a step that is repeated.
//!
//! A step that has to wait runs again from its beginning (`replay`). A part of it whose result
//! stays valid is a *stage*: once it has ended with everything it needed, its result is recorded,
//! and later runs of the step take it from here. A step does the same in each run, so the n-th
//! stage of a run is the n-th stage of all others. A stage may contain stages; when it has ended,
//! theirs are no longer needed.

use core::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The result of a stage, whatever its type.
pub type StageResult = Arc<dyn Any + Send + Sync>;

/// A stage that is about to run.
#[derive(Debug)]
pub struct StageNumber(usize);

/// The results of the stages of a step.
#[derive(Debug, Default)]
pub(super) struct StageLog(Mutex<Stages>);

#[derive(Debug, Default)]
struct Stages {
    /// The number of the next stage; `None` outside of a step, where nothing is repeated.
    next: Option<usize>,
    finished: BTreeMap<usize, StageResult>,
}

impl StageLog {
    fn stages(&self) -> MutexGuard<'_, Stages> {
        // No code that can panic runs while this is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_in_step(&self) -> bool {
        self.stages().next.is_some()
    }

    /// The step runs again.
    pub(super) fn rewind(&self) {
        self.stages().next = Some(0);
    }

    /// Forgets all results; the step goes on as if it began here.
    pub(super) fn clear(&self) {
        let mut stages = self.stages();
        let next = stages.next.map(|_| 0);
        *stages = Stages { next, ..Stages::default() };
    }

    /// The step is done.
    pub(super) fn end(&self) {
        *self.stages() = Stages::default();
    }

    /// The next stage, and its result if it is finished; `None` outside of a step.
    pub(super) fn next(&self) -> Option<(StageNumber, Option<StageResult>)> {
        let mut stages = self.stages();
        let number = stages.next?;
        stages.next = Some(number.saturating_add(1));
        Some((StageNumber(number), stages.finished.get(&number).cloned()))
    }

    /// Records the result of a stage, which replaces the stages in it.
    pub(super) fn record(&self, StageNumber(number): StageNumber, result: StageResult) {
        let mut stages = self.stages();
        let inner = stages.finished.split_off(&number);
        stages.finished.insert(number, result);
        stages.next = Some(number.saturating_add(1));
        drop(stages);
        // Results may be large, and may run code when they are dropped.
        drop(inner);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs the next stage of a step, which gives a number.
    fn stage(log: &StageLog, run: impl FnOnce() -> u32) -> u32 {
        let (number, found) = log.next().unwrap();
        if let Some(found) = found {
            return *found.downcast_ref().unwrap();
        }
        let result = run();
        log.record(number, Arc::new(result));
        result
    }

    #[test]
    fn a_finished_stage_is_not_run_again() {
        let log = StageLog::default();
        log.rewind();
        assert_eq!((stage(&log, || 1), stage(&log, || 2)), (1, 2));
        log.rewind();
        assert_eq!((stage(&log, || 3), stage(&log, || 4), stage(&log, || 5)), (1, 2, 5));
        log.clear();
        assert_eq!(stage(&log, || 6), 6, "the step goes on as if it began here");
    }

    #[test]
    fn a_stage_takes_the_place_of_those_in_it() {
        let log = StageLog::default();
        log.rewind();
        let outer = |next| stage(&log, || stage(&log, || next) + stage(&log, || next));
        assert_eq!((outer(1), stage(&log, || 7)), (2, 7));
        log.rewind();
        assert_eq!((outer(100), stage(&log, || 100), stage(&log, || 8)), (2, 7, 8));
    }

    #[test]
    fn outside_of_a_step_there_are_no_stages() {
        let log = StageLog::default();
        assert!(log.next().is_none());
        log.rewind();
        log.end();
        log.clear();
        assert!(log.next().is_none());
    }
}
