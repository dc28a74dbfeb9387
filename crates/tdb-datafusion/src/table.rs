//! [`TdbTable`]: an array as a table of DataFusion.

use std::io::ErrorKind;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Statistics, not_impl_err, plan_err};
use datafusion::datasource::sink::DataSinkExec;
use datafusion::execution::memory_pool::MemoryLimit;
use datafusion::logical_expr::dml::InsertOp;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexRequirement, PhysicalSortRequirement};
use datafusion::physical_plan::ExecutionPlan;
use tdb_array::storage::{LocalStorage, WriteStorage};
use tdb_array::write::is_vacant;
use tdb_array::{Array, Error};
use tdb_arrow::Options;
use tokio::runtime::Handle;

use crate::error::of_array;
use crate::insert::ArraySink;
use crate::locate::{LocalFolders, Locate};
use crate::options::TableOptions;
use crate::pushdown::PushedFilters;
use crate::scan::ScanRequest;
use crate::state::{TableState, TableStates};
use crate::{Result, delete, planning, statistics};

/// A TileDB array as a DataFusion table.
///
/// Its columns are the dimensions and the attributes. The rows of a sparse array are its cells;
/// those of a dense array are the cells of its non-empty domain, in row-major order, with fill
/// values where nothing was written.
///
/// A table shows the state of the array when the table was created, until [`Self::refresh`] is
/// called or rows are inserted through the table. A query sees one state from beginning to end,
/// even if it uses the table twice.
#[derive(Debug)]
pub struct TdbTable {
    states: Arc<TableStates>,
    schema: SchemaRef,
}

impl TdbTable {
    /// A table for an open array, with the default types of `tdb-arrow`. It is read-only.
    ///
    /// # Errors
    /// A missing or damaged enumeration.
    pub fn new(array: Array) -> Result<Self> {
        Self::with_types(array, Options::new())
    }

    /// A table for an open array with chosen types of its columns. It is read-only.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn with_types(array: Array, arrow: Options) -> Result<Self> {
        Self::at(array, None, arrow, None)
    }

    /// A table for the array in a local folder; see [`TableOptions`] for more.
    ///
    /// # Errors
    /// No array there, a damaged file, or something this build does not support.
    pub fn open(path: impl Into<String>) -> Result<Self> {
        TableOptions::new().open(path)
    }

    pub(crate) fn at(
        array: Array,
        home: Option<(Arc<dyn WriteStorage>, TableOptions)>,
        arrow: Options,
        location: Option<Arc<str>>,
    ) -> Result<Self> {
        Ok(Self::of(TableStates::new(array, home, arrow, location)?))
    }

    fn of(states: TableStates) -> Self {
        let schema = states.current().table.schema.clone();
        Self { states: Arc::new(states), schema }
    }

    /// The state of the array that new queries see.
    pub(crate) fn state(&self) -> Arc<TableState> {
        self.states.current()
    }

    /// A table that always shows the state which the present query of a session sees. It is
    /// read-only.
    #[must_use]
    pub fn pinned(&self, session: &dyn Session) -> Self {
        Self::of(TableStates::only(self.states.of_query(session)))
    }

    /// The array in the state that new queries see.
    #[must_use]
    pub fn array(&self) -> Array {
        self.states.current().array.clone()
    }

    /// Opens the array again: queries that begin from now on see what was written since. For a
    /// table of an open array ([`Self::new`]), this does nothing.
    ///
    /// # Errors
    /// Any error of opening it; a schema with which the table would have other columns.
    pub fn refresh(&self) -> Result<()> {
        self.states.refresh()
    }
}

impl TableOptions {
    /// Opens a table for the array in a local folder.
    ///
    /// # Errors
    /// No array there, a damaged file, or something this build does not support.
    pub fn open(self, path: impl Into<String>) -> Result<TdbTable> {
        let path = path.into();
        self.location(LocalFolders.absolute(&path)).open_storage(LocalStorage::new(path))
    }

    /// Opens a table for the array in a storage.
    ///
    /// # Errors
    /// As for [`Self::open`].
    pub fn open_storage(self, storage: impl WriteStorage + 'static) -> Result<TdbTable> {
        let storage: Arc<dyn WriteStorage> = Arc::new(storage);
        let array = self.array(&storage).map_err(of_array)?;
        self.table(storage, array)
    }

    /// Opens a table as [`Self::open_storage`] does; the inner error is that there is no array.
    pub(crate) fn open_or_missing(
        self,
        storage: &Arc<dyn WriteStorage>,
    ) -> Result<std::result::Result<TdbTable, Error>> {
        match self.array(storage) {
            Ok(array) => self.table(storage.clone(), array).map(Ok),
            Err(missing @ Error::NotAnArray { .. }) => Ok(Err(missing)),
            // There is no folder. Where a file of an array is missing, the error names that file.
            Err(missing @ Error::Io { .. }) if is_vacant(storage).unwrap_or(false) => Ok(Err(missing)),
            // There is a file.
            Err(Error::Io { path, source }) if source.kind() == ErrorKind::NotADirectory => {
                Ok(Err(Error::Io { path, source }))
            }
            Err(error) => Err(of_array(error)),
        }
    }

    fn table(self, storage: Arc<dyn WriteStorage>, array: Array) -> Result<TdbTable> {
        let (arrow, location) = (self.arrow, self.location.clone());
        TdbTable::at(array, Some((storage, self)), arrow, location)
    }
}

/// The order of rows by the dimensions, which are the first columns.
fn row_major(state: &TableState) -> Option<LexRequirement> {
    let dimensions = state.array.schema().domain.dimensions.iter().enumerate();
    LexRequirement::new(dimensions.map(|(at, dimension)| {
        let column = Arc::new(Column::new(&dimension.name, at));
        PhysicalSortRequirement::new(column, Some(SortOptions { descending: false, nulls_first: false }))
    }))
}

#[async_trait]
impl TableProvider for TdbTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let request = ScanRequest {
            columns: projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect()),
            filters: filters.to_vec(),
            limit,
            partitions: session.config().target_partitions(),
            batch_rows: session.config().batch_size(),
            memory: match session.runtime_env().memory_pool.memory_limit() {
                MemoryLimit::Finite(limit) => Some(limit),
                MemoryLimit::Infinite | MemoryLimit::Unknown => None,
            },
            selectivity: session.config().options().optimizer.default_filter_selectivity,
        };
        let state = self.states.of_query(session);
        if Handle::try_current().is_err() {
            // A program that has DataFusion of its own (`datafusion-ffi`) asks from its own
            // runtime, which is unknown here.
            return Ok(Arc::new(planning::plan(&state, request)?));
        }
        // Planning reads metadata.
        let plan = SpawnedTask::spawn_blocking(move || planning::plan(&state, request)).await;
        let plan = plan.map_err(|error| DataFusionError::External(Box::new(error)))??;
        Ok(Arc::new(plan))
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let state = self.states.current();
        let push = |filters: &[&Expr]| {
            PushedFilters::of(filters.iter().copied(), &state.table, state.array.schema())
        };
        let together = push(filters);
        Ok(filters
            .iter()
            .map(|filter| match push(&[*filter]) {
                pushed if pushed.exact => TableProviderFilterPushDown::Exact,
                // A bound that is useless alone may be useful together with another one.
                pushed if pushed.is_useful() || together.is_useful() => TableProviderFilterPushDown::Inexact,
                _ => TableProviderFilterPushDown::Unsupported,
            })
            .collect())
    }

    fn statistics(&self) -> Option<Statistics> {
        // Without statistics, the rows are counted.
        statistics::of_table(&self.states.current()).ok()
    }

    /// Deletes the rows of a sparse array that satisfy a condition which the format can store. The
    /// session must have been prepared with [`register`](crate::register).
    async fn delete_from(&self, session: &dyn Session, filters: Vec<Expr>) -> Result<Arc<dyn ExecutionPlan>> {
        delete::plan(session, &filters, &self.states)
    }

    /// A rule of the session makes each UPDATE a write of rows before this is asked.
    async fn update(
        &self,
        _: &dyn Session,
        _: Vec<(String, Expr)>,
        _: Vec<Expr>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        plan_err!("UPDATE needs a session that was prepared with tdb_datafusion::register")
    }

    async fn insert_into(
        &self,
        _session: &dyn Session,
        input: Arc<dyn ExecutionPlan>,
        operation: InsertOp,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let state = self.states.current();
        let Some((storage, options)) = &self.states.home else {
            return not_impl_err!("a table over an open array is read-only: open it by its location");
        };
        if options.is_past() {
            return not_impl_err!("a table that shows a part of the history is read-only");
        }
        let mut order = None;
        match operation {
            InsertOp::Append if state.table.dense => {
                return not_impl_err!(
                    "INSERT INTO a dense array, whose cells are all there (UPDATE and REPLACE INTO write over them)"
                );
            }
            InsertOp::Append => {}
            InsertOp::Replace if state.array.schema().allows_duplicates => {
                return not_impl_err!(
                    "UPDATE of or REPLACE INTO an array that allows duplicates: new cells would not replace those at the same coordinates"
                );
            }
            InsertOp::Replace if state.table.dense => order = row_major(&state),
            InsertOp::Replace => {}
            InsertOp::Overwrite => {
                return not_impl_err!("{operation} into an array (DELETE FROM, then INSERT INTO)");
            }
        }
        let sink = ArraySink::new(storage.clone(), options.clone(), self.states.clone(), state);
        Ok(Arc::new(DataSinkExec::new(input, Arc::new(sink), order)))
    }
}
