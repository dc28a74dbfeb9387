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

/// Queries whose state is remembered, the last ones: more than are planned at once.
const QUERIES: usize = 64;

/// An array as it was at one time, and its columns.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) array: Array,
    pub(crate) table: Table,
}

/// The states of a table's array: the newest, and those that queries see which began before it.
#[derive(Debug)]
pub(crate) struct States {
    pub(crate) home: Option<(Arc<dyn WriteStorage>, TableOptions)>,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    current: Arc<State>,
    /// When a query began, and what it sees.
    queries: VecDeque<(i64, Arc<State>)>,
}

impl States {
    pub(crate) fn new(
        array: Array,
        home: Option<(Arc<dyn WriteStorage>, TableOptions)>,
        arrow: Options,
    ) -> Result<Self> {
        let table = Table::of(&array, arrow).map_err(of_arrow)?;
        let current = Arc::new(State { array, table });
        Ok(Self { home, known: Mutex::new(Known { current, queries: VecDeque::new() }) })
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // No code that can panic runs while this is locked.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The newest.
    pub(crate) fn current(&self) -> Arc<State> {
        self.lock().current.clone()
    }

    /// What a query sees: the same each time it asks, if it looks at the table twice. DataFusion tells queries apart by when they
    /// began.
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

    /// Opens the array again. Queries that have begun keep what they see.
    pub(crate) fn refresh(&self) -> Result<()> {
        let Some((storage, options)) = &self.home else { return Ok(()) };
        let array = options.array(storage).map_err(of_array)?;
        let table = Table::of(&array, options.arrow).map_err(of_arrow)?;
        let mut known = self.lock();
        if !table.is_like(&known.current.table) {
            return exec_err!("the schema of the array has changed: register the table again");
        }
        known.current = Arc::new(State { array, table });
        Ok(())
    }
}
