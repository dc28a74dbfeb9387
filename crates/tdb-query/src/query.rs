//! The query builder.

mod asynchronous;
mod background;
mod checked;
mod description;
mod groups;
mod labels;
mod outside;
mod parts;
mod ranges;
mod tiles;

use std::sync::Arc;

use tdb_codec::{Buffer, Layout};
use tdb_scan::run;

pub use self::asynchronous::AsyncBatches;
pub use self::background::BackgroundBatches;
pub use self::description::QueryDescription;
pub use self::groups::GroupBy;
use self::tiles::TilePart;
use crate::budget::MemoryBudget;
use crate::explain::{Explain, explain};
use crate::partition::Ranges;
use crate::requested::RangeRequest;
use crate::stats::QueryStats;
use crate::stream::{self, Allowance, BatchSizes, Batches, OnProgress, Progress};
use crate::{Aggregate, AggregateValue, Array, Cells, ColumnMemory, QueryCondition, Result};

/// A query: which fields of which cells, in which order.
///
/// By default it reads the whole array: all attributes of a dense array, all dimensions and
/// attributes of a sparse one.
///
/// ```no_run
/// use tdb_array::{Array, Layout};
///
/// let array = Array::open("path/to/array")?;
/// let cells = array.read().fields(["temperature"]).range("row", 0..=99).order(Layout::RowMajor).collect()?;
/// let temperatures: &[f64] = cells.field("temperature")?.values()?;
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a query does nothing until its cells are collected"]
pub struct Read {
    array: Array,
    fields: Option<Vec<String>>,
    ranges: Vec<(String, Vec<RangeRequest>)>,
    labels: Vec<(String, RangeRequest)>,
    /// The ranges of all dimensions, already checked: those of a part, or of a query that was
    /// described. Others may have been added.
    resolved: Option<Arc<Ranges>>,
    /// If the query is a part that is made of tiles: which ones, and what it has in common with the
    /// others.
    tiles: Option<TilePart>,
    /// A condition on the cells of such a part.
    later_condition: Option<QueryCondition>,
    order: Option<Layout>,
    condition: Option<QueryCondition>,
    selection: bool,
    dictionary_codes: bool,
    memory: Option<MemoryBudget>,
    column_memory: Option<ColumnMemory>,
    batch_memory: Option<MemoryBudget>,
    initial_batch_memory: Option<MemoryBudget>,
    pub(crate) on_progress: Option<OnProgress>,
}

impl Array {
    /// Starts a query.
    pub fn read(&self) -> Read {
        Read::new(self.clone())
    }
}

impl Read {
    pub(crate) const fn new(array: Array) -> Self {
        Self {
            array,
            fields: None,
            ranges: Vec::new(),
            labels: Vec::new(),
            resolved: None,
            tiles: None,
            later_condition: None,
            order: None,
            condition: None,
            selection: false,
            dictionary_codes: false,
            memory: None,
            column_memory: None,
            batch_memory: None,
            initial_batch_memory: None,
            on_progress: None,
        }
    }

    /// The array that the query reads.
    #[must_use]
    pub const fn array(&self) -> &Array {
        &self.array
    }

    /// Asks for these fields: attributes, dimensions and dimension labels, in the order of the
    /// result's columns. Sparse arrays also have the field `__timestamps`: when each cell was
    /// written, in milliseconds since 1970.
    pub fn fields<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.fields = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Asks for an order: row-major, column-major, global, or unordered (whatever is cheapest). The
    /// default is row-major for dense arrays and unordered for sparse ones.
    pub const fn order(mut self, order: Layout) -> Self {
        self.order = Some(order);
        self
    }

    /// Asks for the cells that satisfy a condition, in addition to conditions given before. A
    /// sparse read returns no other cells; a dense read returns the fill value in place of every
    /// other cell (null, if the attribute's fill value is null).
    ///
    /// ```
    /// use tdb_array::{Array, field};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/sparse2d_rr");
    /// let array = Array::open(path)?;
    /// # let name = array.schema().attributes[0].name.clone();
    /// # let name = name.as_str();
    /// let all = array.read().collect()?.len();
    /// let some = array.read().condition(field(name).gt(5)).collect()?.len();
    /// let rest = array.read().condition(!field(name).gt(5)).collect()?.len();
    /// assert_eq!(some + rest, all);
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    pub fn condition(mut self, condition: QueryCondition) -> Self {
        self.condition = conjunction(self.condition, Some(condition));
        self
    }

    /// Whether a condition narrows the query.
    #[must_use]
    pub const fn has_condition(&self) -> bool {
        self.condition.is_some()
    }

    /// Has a dense result say which of its cells are selected ([`Cells::selected`]): those that
    /// some fragment covers and that satisfy the condition. All others have fill values, which a
    /// written cell may have as well. [`Cells::into_selected`] leaves only the selected ones. What
    /// a consolidation of dense fragments filled in counts as written, because its fragment covers
    /// it. All cells of a sparse result are selected.
    ///
    /// ```
    /// use tdb_array::{Array, field};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let cells = array.read().fields(["rows", "a"]).condition(field("a").gt(14)).selection(true).collect()?;
    /// assert_eq!((cells.len(), cells.selected().map(|all| all.iter().filter(|cell| **cell != 0).count())), (16, Some(2)));
    /// let found = cells.into_selected()?;
    /// assert_eq!(found.field("a")?.values::<i32>()?, [15, 16]);
    /// assert_eq!(found.field("rows")?.values::<i32>()?, [4, 4]);
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    pub const fn selection(mut self, wanted: bool) -> Self {
        self.selection = wanted;
        self
    }

    /// Computes aggregates of the cells instead of returning them: counts, sums, extremes, means.
    /// If statistics of fragments and tiles give the exact answer, no data file is read; the
    /// rest is read tile by tile.
    ///
    /// Fields and order of the query do not matter. A cell in several ranges counts once.
    ///
    /// ```
    /// use tdb_array::{Array, query::Aggregate};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let found = array.read().range("rows", 1..=2).aggregate([Aggregate::count(), Aggregate::sum("a")])?;
    /// assert_eq!((found[0].as_u64(), found[1].as_i64()), (Some(8), Some(36)));
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::collect`], and an aggregate that the type of its field does not support.
    pub fn aggregate(self, aggregates: impl IntoIterator<Item = Aggregate>) -> Result<Vec<AggregateValue>> {
        let memory = Allowance::new(self.memory, self.batch_memory);
        // In global order ranges are merged, so that no cell counts twice, and dense regions are
        // parts of tiles.
        let plan = self.order(Layout::GlobalOrder).fields([""; 0]).ready(memory)?;
        crate::aggregate::run(plan, aggregates.into_iter().collect(), memory)
    }

    /// Limits the memory that the query uses: for [`Self::collect`] including its result, for
    /// [`Self::batches`] including the batch that is being made, for [`Self::aggregate`] including
    /// the cells that must be looked at together. The budget covers everything the query holds:
    /// results, keys and columns that are being put in order, stored and decoded bytes in every
    /// thread, offset lists and R-trees, and the states of decoders.
    ///
    /// Without a budget, `collect` takes what the result needs, and `batches` stays within 1 GiB.
    pub const fn memory(mut self, budget: MemoryBudget) -> Self {
        self.memory = Some(budget);
        self
    }

    /// Limits what the cells of one batch take while it is made, even if the budget leaves more for
    /// them: [`Self::batches`] are then smaller and arrive sooner. For [`Self::aggregate`] it
    /// limits the cells that are looked at together. The working memory of threads is not part of
    /// it. Where tiles are read one after the other and one takes more than this, it is a batch of
    /// its own.
    pub const fn batch_memory(mut self, max: MemoryBudget) -> Self {
        self.batch_memory = Some(max);
        self
    }

    /// For a caller that may need the first cells only: the cells of the first batch of
    /// [`Self::batches`] take no more than this while it is made, if that is enough for any cell,
    /// and those of each further batch up to four times as much as the batch before, until they
    /// reach [`Self::batch_memory`] or the budget. A caller that drops the iterator early has then
    /// read little more than it has used, and one that does not loses little. It has no effect on
    /// sorted reads of arrays with real dimensions.
    ///
    /// ```
    /// use tdb_array::{Array, MemoryBudget};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/sparse2d_rr");
    /// let array = Array::open(path)?;
    /// let small = MemoryBudget::from_bytes(64 << 10);
    /// let first = array.read().initial_batch_memory(small).batches()?.next().transpose()?;
    /// assert!(first.is_some_and(|cells| !cells.is_empty()));
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    pub const fn initial_batch_memory(mut self, max: MemoryBudget) -> Self {
        self.initial_batch_memory = Some(max);
        self
    }

    /// Asks [`Self::collect`] for codes where a field of a sparse array stores its strings once
    /// each (`DICTIONARY`), or once a run (`RLE`): the column then has these strings, and for each
    /// cell the number of its string ([`Column::codes`](tdb_cells::Column::codes)). Fields that
    /// store every string stay as they are.
    ///
    /// ```
    /// use tdb_array::schema::{ArraySchema, Dimension, Filter, Pipeline};
    /// use tdb_array::storage::MemoryStorage;
    /// use tdb_array::{OpenOptions, WriteColumn, WriteOptions};
    ///
    /// let gene = Dimension::string("gene").with_filters(Pipeline::new(vec![Filter::rle()]));
    /// let schema = ArraySchema::sparse().dimension(gene).allow_duplicates().build()?;
    /// let storage = MemoryStorage::default();
    /// WriteOptions::new().create_storage(&storage, &schema)?;
    /// let genes = WriteColumn::var("gene", b"MYCMYCTP53", &[0, 3, 6, 10]);
    /// WriteOptions::new().open_storage(storage.clone())?.write().column(genes).commit()?;
    ///
    /// let cells = OpenOptions::new().open_storage(storage)?.read().dictionary_codes(true).collect()?;
    /// let genes = cells.field("gene")?;
    /// assert_eq!((genes.bytes(), genes.codes()), (&b"MYCTP53"[..], Some(&[0, 0, 1][..])));
    /// assert_eq!(genes.cell(1), Some(&b"MYC"[..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub const fn dictionary_codes(mut self, wanted: bool) -> Self {
        self.dictionary_codes = wanted;
        self
    }

    /// Puts the values of columns whose cells have a fixed size into memory of the caller. The
    /// function is asked with the name of a field and a number of bytes, when the column of a
    /// result or of a batch is about to be made; it returns memory for at least as many bytes, or
    /// `None`. The column's [buffer](tdb_cells::Column::into_parts) is this memory. Where values
    /// are put in order in a later step, and for fields that a condition has looked at before, it
    /// may be other memory.
    ///
    /// ```
    /// use tdb_array::Array;
    /// use tdb_array::query::Buffer;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let lend = |field: &str, len| (field == "a").then(|| Buffer::zeroed(len + 100));
    /// let cells = array.read().column_memory(lend).collect()?;
    /// let (values, ..) = cells.into_columns().remove(0).into_parts();
    /// assert!(values.len() == 64 && values.capacity() > 160);
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    pub fn column_memory(
        mut self,
        lend: impl Fn(&str, usize) -> Option<Buffer> + Send + Sync + 'static,
    ) -> Self {
        self.column_memory = Some(ColumnMemory::new(lend));
        self
    }

    /// Uses at most this many threads for the query, instead of as many as the array was opened
    /// with. A part that is made of tiles ([`Self::tile_partitions`]) may use those of the other
    /// parts while these wait for it.
    pub fn threads(self, threads: usize) -> Self {
        Self { array: Array::from_snapshot(self.array.snapshot().with_threads(threads)), ..self }
    }

    /// Calls a function after each batch.
    pub fn on_progress(mut self, call: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(OnProgress::new(call));
        self
    }

    /// Runs the query and collects all its cells.
    ///
    /// # Errors
    /// A field or range that does not fit the array, a damaged file, or something this build does
    /// not support. [`QueryError::OverBudget`](crate::QueryError::OverBudget) if there is a budget,
    /// and the result does not fit it.
    pub fn collect(self) -> Result<Cells> {
        let (memory, codes) = (self.memory, self.dictionary_codes);
        let mut plan = self.ready(Allowance::new(memory, None))?;
        plan.dictionary_codes = codes;
        match memory {
            Some(budget) => stream::read_within(plan, budget),
            None => run(&plan),
        }
    }

    /// Runs the query, and returns statistics about the run with its cells.
    ///
    /// # Errors
    /// As [`Self::collect`].
    pub fn collect_with_stats(self) -> Result<(Cells, QueryStats)> {
        let array = self.array.clone();
        let before = array.stats();
        let cells = self.collect()?;
        Ok((cells, array.stats().since(&before)))
    }

    /// Returns what the query would read, from metadata alone.
    ///
    /// # Errors
    /// A field or range that does not fit the array, or damaged metadata.
    pub fn explain(self) -> Result<Explain> {
        let memory = self.memory;
        explain(&self.plan()?, memory)
    }

    /// Runs the query batch by batch: all that [`Self::collect`] returns, in the same order, in
    /// pieces that fit the memory budget.
    ///
    /// ```
    /// use tdb_array::Array;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let mut sum = 0i64;
    /// for batch in array.read().memory("64 MiB".parse()?).batches()? {
    ///     sum += batch?.field("a")?.values::<i32>()?.iter().copied().map(i64::from).sum::<i64>();
    /// }
    /// assert_eq!(sum, (1..=16).sum());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A field or range that does not fit the array, damaged metadata, or a budget that is too
    /// small for any batch ([`QueryError::BudgetTooSmall`](crate::QueryError::BudgetTooSmall)). The
    /// iterator returns errors that are found later.
    pub fn batches(self) -> Result<Batches> {
        let budget = self.memory.unwrap_or(stream::DEFAULT_BUDGET);
        let sizes = BatchSizes { max: self.batch_memory, first: self.initial_batch_memory };
        let on_progress = self.on_progress.clone();
        Batches::new(self.ready(Allowance::new(Some(budget), None))?, budget, sizes, on_progress)
    }
}

/// The condition that cells satisfy which satisfy both, if there are two.
fn conjunction(one: Option<QueryCondition>, other: Option<QueryCondition>) -> Option<QueryCondition> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.and(other)),
        (one, other) => one.or(other),
    }
}
