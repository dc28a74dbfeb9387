//! The query builder.

use core::ops::RangeBounds;

use tdb_codec::{ArrayType, Layout};
use tdb_schema::{ArraySchema, Dimension, FieldKind, Range};

use crate::condition::Program;
use crate::coordinate::{AskedRange, Coordinate, Ends};
use crate::{Aggregate, AggregateValue, Array, Cells, QueryCondition, QueryError, Result, dense, sparse};

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
    condition: Option<QueryCondition>,
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
pub(crate) struct Plan<'a> {
    pub(crate) array: &'a Array,
    pub(crate) fields: Vec<FieldKind>,
    /// One interval a dimension; `None` for the whole dimension.
    pub(crate) ranges: Vec<Ends>,
    pub(crate) order: Layout,
    /// What cells must satisfy.
    pub(crate) condition: Option<Program>,
}

impl<'a> Read<'a> {
    pub(crate) const fn new(array: &'a Array) -> Self {
        Self { array, fields: None, ranges: Vec::new(), order: None, condition: None }
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

    /// Asks for the cells that satisfy a condition, beside conditions given before. A sparse read returns no others; a
    /// dense one returns fill values in the place of others (null, if that is what the attribute is filled with).
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
        self.condition = Some(match self.condition {
            Some(before) => before.and(condition),
            None => condition,
        });
        self
    }

    /// Computes aggregates of the cells instead of returning them: counts, sums, extremes, means. What statistics of
    /// fragments and tiles answer exactly is not read from data files, and the rest is read tile by tile.
    ///
    /// Fields and order of the query do not matter.
    ///
    /// ```
    /// use tdb_array::{Aggregate, Array};
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let found = array.read().range("rows", 1..=2).aggregate([Aggregate::count(), Aggregate::sum("a")])?;
    /// assert_eq!((found[0].as_u64(), found[1].as_i64()), (Some(8), Some(36)));
    /// # Ok::<(), tdb_array::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::collect`], and an aggregate that its field's type does not have.
    pub fn aggregate(self, aggregates: impl IntoIterator<Item = Aggregate>) -> Result<Vec<AggregateValue>> {
        crate::aggregate::run(&self.plan()?, aggregates.into_iter().collect())
    }

    /// Runs the query and collects all its cells.
    ///
    /// # Errors
    /// A field or range that does not fit the array, a damaged file, or something this build does not support.
    pub fn collect(self) -> Result<Cells> {
        let plan = self.plan()?;
        match plan.array.schema().array_type {
            ArrayType::Dense => dense::read(&plan),
            ArrayType::Sparse => sparse::read(&plan),
        }
    }

    fn plan(self) -> Result<Plan<'a>> {
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
        let condition =
            self.condition.map(|condition| Program::of_query(&condition, self.array)).transpose()?;
        Ok(Plan { array: self.array, fields, ranges, order: self.order.unwrap_or(default), condition })
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
