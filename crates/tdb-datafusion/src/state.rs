//! The state of an array that a query sees, from its planning to its end.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use datafusion::catalog::Session;
use datafusion::common::exec_err;
use tdb_array::Array;
use tdb_array::storage::WriteStorage;
use tdb_arrow::Options;

use crate::Result;
use crate::columns::TableColumns;
use crate::error::{of_array, of_arrow};
use crate::options::TableOptions;
use crate::thresholds::MAX_REMEMBERED_QUERIES;

/// An array at one time, and its columns.
#[derive(Debug)]
pub(crate) struct TableState {
    pub(crate) array: Array,
    pub(crate) table: TableColumns,
    /// The types of its columns.
    pub(crate) arrow: Options,
    /// Where other processes find the array, if that is known.
    pub(crate) location: Option<Arc<str>>,
    /// Whether another process planned with the table first, and other processes read its scans.
    pub(crate) for_others: bool,
}

impl TableState {
    pub(crate) fn of(array: Array, arrow: Options, location: Option<Arc<str>>) -> Result<Self> {
        let table = TableColumns::of(&array, arrow).map_err(of_arrow)?;
        Ok(Self { array, table, arrow, location, for_others: false })
    }
}

/// The states of a table's array: the newest one, and those that earlier queries see.
#[derive(Debug)]
pub(crate) struct TableStates {
    pub(crate) home: Option<(Arc<dyn WriteStorage>, TableOptions)>,
    cache: Mutex<StateCache>,
}

/// The newest state, and the states of queries that have been planned.
#[derive(Debug)]
struct StateCache {
    current: Arc<TableState>,
    /// The start times of queries in nanoseconds since 1970, and the states that they see.
    queries: VecDeque<(i64, Arc<TableState>)>,
}

impl TableStates {
    pub(crate) fn new(
        array: Array,
        home: Option<(Arc<dyn WriteStorage>, TableOptions)>,
        arrow: Options,
        location: Option<Arc<str>>,
    ) -> Result<Self> {
        // A table that was described has a location, and cannot be opened again.
        let for_others = home.is_none() && location.is_some();
        let state = TableState { for_others, ..TableState::of(array, arrow, location)? };
        Ok(Self::of_state(Arc::new(state), home))
    }

    /// The states of an array that always has this one.
    pub(crate) fn only(state: Arc<TableState>) -> Self {
        Self::of_state(state, None)
    }

    const fn of_state(current: Arc<TableState>, home: Option<(Arc<dyn WriteStorage>, TableOptions)>) -> Self {
        Self { home, cache: Mutex::new(StateCache { current, queries: VecDeque::new() }) }
    }

    fn lock(&self) -> MutexGuard<'_, StateCache> {
        // No code that can panic runs while this is locked.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest state.
    pub(crate) fn current(&self) -> Arc<TableState> {
        self.lock().current.clone()
    }

    /// The state that a query sees: always the same, even if the query uses the table twice.
    /// DataFusion identifies queries by their start time.
    pub(crate) fn of_query(&self, session: &dyn Session) -> Arc<TableState> {
        let began = session.execution_props().query_execution_start_time;
        let mut cache = self.lock();
        let Some(began) = began.and_then(|began| began.timestamp_nanos_opt()) else {
            return cache.current.clone();
        };
        if let Some((_, state)) = cache.queries.iter().find(|(query, _)| *query == began) {
            return state.clone();
        }
        let state = cache.current.clone();
        if cache.queries.len() >= MAX_REMEMBERED_QUERIES {
            cache.queries.pop_front();
        }
        cache.queries.push_back((began, state.clone()));
        state
    }

    /// Opens the array again. Queries that have begun keep their state.
    pub(crate) fn refresh(&self) -> Result<()> {
        let Some((storage, options)) = &self.home else { return Ok(()) };
        let array = options.array(storage).map_err(of_array)?;
        let state = TableState::of(array, options.arrow, options.location.clone())?;
        let mut cache = self.lock();
        if !state.table.is_like(&cache.current.table) {
            return exec_err!("the schema of the array has changed: register the table again");
        }
        cache.current = Arc::new(state);
        Ok(())
    }
}
