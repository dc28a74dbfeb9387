//! The query builder.

use core::ops::RangeBounds;

use tdb_codec::{ArrayType, Layout};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

use crate::coordinate::{AskedRange, Coordinate, Ends};
use crate::stream::{self, Batches, MemoryBudget, OnProgress, Progress, Share};
use crate::{Array, Cells, QueryError, Result};

/// A query: which fields of which cells, in which order.
///
/// Without further word it asks for the whole array: all attributes of a dense array, dimensions and attributes of
/// a sparse one.
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
pub struct Read<'a> {
    array: &'a Array,
    fields: Option<Vec<String>>,
    ranges: Vec<(String, Wanted)>,
    order: Option<Layout>,
    memory: Option<MemoryBudget>,
    on_progress: Option<OnProgress>,
}

/// A range as it was asked for.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    Values(AskedRange),
    Bytes(Ends),
}

impl Wanted {
    /// The range in the dimension's bytes, if they can be.
    pub(crate) fn resolve(&self, dimension: &Dimension) -> Result<Ends, QueryError> {
        match self {
            Self::Values(asked) => asked.resolve(dimension),
            Self::Bytes(ends) => Ok(ends.clone()),
        }
    }
}

/// A query checked against the schema.
#[derive(Clone, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) array: &'a Array,
    pub(crate) fields: Vec<FieldKind>,
    /// One interval a dimension; `None` for the whole dimension.
    pub(crate) ranges: Vec<Ends>,
    pub(crate) order: Layout,
    /// What a batch takes of it.
    pub(crate) share: Share,
}

impl Plan<'_> {
    /// The first and last coordinate asked for in a dimension.
    pub(crate) fn ends(&self, dimension: usize) -> Ends {
        self.ranges.get(dimension).cloned().unwrap_or_default()
    }

    /// Asks for no more of a dimension than an interval, which lies between the ends asked for so far.
    pub(crate) fn narrow(&mut self, dimension: usize, to: &Ends) {
        if let Some(ends) = self.ranges.get_mut(dimension) {
            ends.low = to.low.clone().or(ends.low.take());
            ends.high = to.high.clone().or(ends.high.take());
        }
    }
}

impl<'a> Read<'a> {
    pub(crate) const fn new(array: &'a Array) -> Self {
        Self { array, fields: None, ranges: Vec::new(), order: None, memory: None, on_progress: None }
    }

    /// Asks for these fields: attributes and dimensions, in the order of the result's columns.
    pub fn fields<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.fields = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Asks for the cells in a range of a dimension: integers for integral, date and time dimensions (in the
    /// dimension's unit), floats for real ones, strings for string ones. Open ends are the domain's.
    pub fn range<V: Into<Coordinate> + Clone>(
        mut self,
        dimension: impl Into<String>,
        range: impl RangeBounds<V>,
    ) -> Self {
        self.ranges.push((dimension.into(), Wanted::Values(AskedRange::new(&range))));
        self
    }

    /// Asks for the cells in an inclusive range given as the dimension's little-endian bytes; `None` is open.
    pub fn range_bytes(
        mut self,
        dimension: impl Into<String>,
        low: Option<Vec<u8>>,
        high: Option<Vec<u8>>,
    ) -> Self {
        self.ranges.push((dimension.into(), Wanted::Bytes(Ends { low, high })));
        self
    }

    /// Asks for an order: row-major, column-major, global, or unordered (whatever is cheapest). The default is
    /// row-major for dense arrays and unordered for sparse ones.
    pub const fn order(mut self, order: Layout) -> Self {
        self.order = Some(order);
        self
    }

    /// Bounds the memory that the query uses: for [`Self::collect`] with its result, for [`Self::batches`] with the batch
    /// that is being made. It covers what the query holds of any kind: results, keys and columns on their way to their order,
    /// bytes as stored and as decoded in every thread, offset lists and R-trees, and the states of decoders.
    ///
    /// Without a budget, `collect` takes what the result needs, and `batches` stays within 1 GiB.
    pub const fn memory(mut self, budget: MemoryBudget) -> Self {
        self.memory = Some(budget);
        self
    }

    /// Calls a function after each batch.
    pub fn on_progress(mut self, call: impl Fn(&Progress) + Send + Sync + 'static) -> Self {
        self.on_progress = Some(OnProgress::new(call));
        self
    }

    /// Runs the query and collects all its cells.
    ///
    /// # Errors
    /// A field or range that does not fit the array, a damaged file, or something this build does not support.
    /// [`QueryError::OverBudget`] if there is a budget, and the result does not fit it.
    pub fn collect(self) -> Result<Cells> {
        let memory = self.memory;
        let mut plan = self.plan()?;
        match memory {
            Some(budget) => stream::read_within(&mut plan, budget),
            None => stream::read(&plan),
        }
    }

    /// Runs the query batch by batch: all that [`Self::collect`] returns, in the same order, in pieces that fit the memory
    /// budget.
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
    /// A field or range that does not fit the array, damaged metadata, or a budget that is too small for any batch
    /// ([`QueryError::BudgetTooSmall`]). What comes to light later, the iterator returns.
    pub fn batches(self) -> Result<Batches<'a>> {
        let budget = self.memory.unwrap_or(stream::DEFAULT_BUDGET);
        let on_progress = self.on_progress.clone();
        Batches::new(self.plan()?, budget, on_progress)
    }

    pub(crate) fn plan(self) -> Result<Plan<'a>> {
        let schema = self.array.schema();
        let fields = match &self.fields {
            Some(names) => names.iter().map(|name| find_field(schema, name)).collect::<Result<_, _>>()?,
            None => {
                let dense = schema.array_type == ArrayType::Dense;
                let wanted = |kind: &FieldKind| !dense || matches!(kind, FieldKind::Attribute(_));
                schema.fields().map(|field| field.kind).filter(wanted).collect()
            }
        };
        let mut ranges = vec![Ends::default(); schema.domain.dimensions.len()];
        for (name, wanted) in &self.ranges {
            let unknown = || {
                let known = schema.domain.dimensions.iter().map(|dimension| dimension.name.as_str());
                let known = known.collect::<Vec<_>>().join(", ");
                QueryError::UnknownDimension { name: name.clone(), known }
            };
            let index = schema.dimension_index(name).ok_or_else(unknown)?;
            let dimension = schema.dimension(name).ok_or_else(unknown)?;
            let ends = wanted.resolve(dimension)?;
            let slot = ranges.get_mut(index).ok_or_else(unknown)?;
            *slot = check_ends(dimension, ends)?;
        }
        let dense = schema.array_type == ArrayType::Dense;
        let default = if dense { Layout::RowMajor } else { Layout::Unordered };
        Ok(Plan {
            array: self.array,
            fields,
            ranges,
            order: self.order.unwrap_or(default),
            share: Share::default(),
        })
    }
}

fn find_field(schema: &ArraySchema, name: &str) -> Result<FieldKind, QueryError> {
    schema.field(name).map(|field| field.kind).ok_or_else(|| {
        let known = schema.fields().map(|field| field.name).collect::<Vec<_>>().join(", ");
        QueryError::UnknownField { name: name.to_owned(), known }
    })
}

/// Refuses ends of the wrong length and inverted ranges; clamps the rest to the domain. A range wholly outside
/// the domain is refused too.
fn check_ends(dimension: &Dimension, ends: Ends) -> Result<Ends, QueryError> {
    let Ends { mut low, mut high } = ends;
    let show = |value: &[u8]| show_coordinate(dimension, value);
    let size = dimension.datatype.size();
    if !dimension.is_var() && [&low, &high].into_iter().flatten().any(|end| end.len() != size) {
        let (dimension, datatype) = (dimension.name.clone(), dimension.datatype.name());
        return Err(QueryError::RangeType { dimension, datatype });
    }
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    if let (Some(low), Some(high)) = (&low, &high)
        && compare(low, high).is_gt()
    {
        let (low, high) = (show(low), show(high));
        return Err(QueryError::InvertedRange { dimension: dimension.name.clone(), low, high });
    }
    if let Some((first, last)) = &dimension.domain {
        let outside = low.as_ref().is_some_and(|low| compare(low, last).is_gt())
            || high.as_ref().is_some_and(|high| compare(high, first).is_lt());
        if outside {
            let (low, high) = (show(first), show(last));
            return Err(QueryError::OutsideDomain { dimension: dimension.name.clone(), low, high });
        }
        low = low.filter(|low| compare(low, first).is_gt());
        high = high.filter(|high| compare(high, last).is_lt());
    }
    Ok(Ends { low, high })
}

pub(crate) fn show_coordinate(dimension: &Dimension, value: &[u8]) -> String {
    struct Show<'a>(&'a [u8]);
    impl tdb_codec::PhysicalVisitor for Show<'_> {
        type Output = String;
        fn visit<T: tdb_codec::Native>(self) -> String {
            T::from_le(self.0).map_or_else(String::new, |value| format!("{value:?}"))
        }
    }
    if dimension.is_var() {
        format!("\"{}\"", value.escape_ascii())
    } else {
        dimension.datatype.physical().visit(Show(value))
    }
}
