//! The state of an array that a query sees, from its planning to its end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::catalog::Session;
use datafusion::common::exec_err;
use tdb_array::{Array, WriteStorage};
use tdb_arrow::Options;

use crate::Result;
use crate::columns::Table;
use crate::error::{of_array, of_arrow};
use crate::options::TableOptions;

/// The number of queries whose state is remembered: the last ones, and more than are planned at
/// once.
const QUERIES: usize = 64;

/// An array at one time, and its columns.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) array: Array,
    pub(crate) table: Table,
    /// The types of its columns.
    pub(crate) arrow: Options,
    /// Where other processes find the array, if that is known.
    pub(crate) location: Option<Arc<str>>,
    /// Whether another process planned with the table first, and its scans are read by others.
    pub(crate) for_others: bool,
}

impl State {
    pub(crate) fn of(array: Array, arrow: Options, location: Option<Arc<str>>) -> Result<Self> {
        let table = Table::of(&array, arrow).map_err(of_arrow)?;
        Ok(Self { array, table, arrow, location, for_others: false })
    }
}

/// The states of a table's array: the newest, and those that earlier queries see.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) home: Option<(Arc<dyn WriteStorage>, TableOptions)>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    current: Arc<State>,
    /// The start times of queries, and what they see.
    queries: VecDeque<(i64, Arc<State>)>,
}

impl States {
    pub(crate) fn new(
        array: Array,
        home: Option<(Arc<dyn WriteStorage>, TableOptions)>,
        arrow: Options,
        location: Option<Arc<str>>,
    ) -> Result<Self> {
        // A table that was described has a location, and cannot be opened again.
        let for_others = home.is_none() && location.is_some();
        let state = State { for_others, ..State::of(array, arrow, location)? };
        Ok(Self::of_state(Arc::new(state), home))
    }

    /// The states of an array that always has this one.
    pub(crate) fn only(state: Arc<State>) -> Self {
        Self::of_state(state, None)
    }

    const fn of_state(current: Arc<State>, home: Option<(Arc<dyn WriteStorage>, TableOptions)>) -> Self {
        Self { home, known: Mutex::new(Known { current, queries: VecDeque::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // No code that can panic runs while this is locked.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest state.
    pub(crate) fn current(&self) -> Arc<State> {
        self.lock().current.clone()
    }

    /// The state that a query sees: always the same, even if the query uses the table twice.
    /// DataFusion identifies queries by their start time.
    pub(crate) fn of_query(&self, session: &dyn Session) -> Arc<State> {
        let began = session.execution_props().query_execution_start_time;
        let mut known = self.lock();
        let Some(began) = began.and_then(|began| began.timestamp_nanos_opt()) else {
            return known.current.clone();
        };
        if let Some((_, state)) = known.queries.iter().find(|(query, _)| *query == began) {
            return state.clone();
        }
        let state = known.current.clone();
        if known.queries.len() >= QUERIES {
            known.queries.pop_front();
        }
        known.queries.push_back((began, state.clone()));
        state
    }

    /// Opens the array again. Queries that have begun keep their state.
    pub(crate) fn refresh(&self) -> Result<()> {
        let Some((storage, options)) = &self.home else { return Ok(()) };
        let array = options.array(storage).map_err(of_array)?;
        let state = State::of(array, options.arrow, options.location.clone())?;
        let mut known = self.lock();
        if !state.table.is_like(&known.current.table) {
            return exec_err!("the schema of the array has changed: register the table again");
        }
        known.current = Arc::new(state);
        Ok(())
    }
}
