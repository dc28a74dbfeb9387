//! The builder of a write of cells that are given at once, or of a dense stream.

use core::ops::RangeBounds;

use tdb_codec::{ArrayType, Layout, to_u64};
use tdb_schema::Range;

use crate::coordinate::{Coordinate, show_coordinate};
use crate::requested::{Bounds, RangeRequest, RequestedRange};
use crate::{ArrayWriter, DenseStream, Duplicates, WriteColumn, dense, unordered};
use crate::{Error, QueryError, Result, WriteError};

/// A write of cells that are all given at once: one fragment.
///
/// ```no_run
/// use tdb_array::{WriteColumn, WriteOptions};
///
/// let writer = WriteOptions::new().open("path/to/array")?;
/// writer.write().range("rows", 1..=3).column(WriteColumn::fixed("a", &[10i32, 20, 30])).commit()?;
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "a write does nothing until it is committed"]
pub struct Write<'a> {
    array: &'a ArrayWriter,
    ranges: Vec<(String, RangeRequest)>,
    order: Option<Layout>,
    duplicates: Duplicates,
    columns: Vec<WriteColumn<'a>>,
}

impl ArrayWriter {
    /// Starts a write of cells that are all given at once.
    pub const fn write(&self) -> Write<'_> {
        Write::new(self)
    }
}

impl<'a> Write<'a> {
    pub(super) const fn new(array: &'a ArrayWriter) -> Self {
        Self { array, ranges: Vec::new(), order: None, duplicates: Duplicates::Refuse, columns: Vec::new() }
    }

    /// Writes this range of a dimension of a dense array; if none is given, the whole dimension is
    /// written.
    pub fn range<V: Into<Coordinate> + Clone>(
        mut self,
        dimension: impl Into<String>,
        range: impl RangeBounds<V>,
    ) -> Self {
        self.ranges.push((dimension.into(), RangeRequest::Values(RequestedRange::new(&range))));
        self
    }

    /// Writes an inclusive range given as the dimension's little-endian bytes; `None` means no
    /// limit.
    pub fn range_bytes(
        mut self,
        dimension: impl Into<String>,
        low: Option<Vec<u8>>,
        high: Option<Vec<u8>>,
    ) -> Self {
        self.ranges.push((dimension.into(), RangeRequest::Bytes(Bounds { low, high })));
        self
    }

    /// Sets the order of the columns: row-major (the default), column-major or global for dense
    /// arrays; unordered (the default: they are sorted) or global (they are checked) for sparse
    /// ones.
    pub const fn order(mut self, order: Layout) -> Self {
        self.order = Some(order);
        self
    }

    /// Sets what happens to unordered cells with equal coordinates, if the array does not allow
    /// them.
    pub const fn duplicates(mut self, duplicates: Duplicates) -> Self {
        self.duplicates = duplicates;
        self
    }

    /// Gives a field's cells.
    pub fn column(mut self, column: WriteColumn<'a>) -> Self {
        self.columns.push(column);
        self
    }

    /// Writes, and returns the new fragment's name.
    ///
    /// # Errors
    /// Columns or ranges that do not fit the array, a filter that rejects values, or any I/O error
    /// of the storage. The array is unchanged then.
    pub fn commit(self) -> Result<String> {
        let array = self.array;
        let unsupported = |what: &str| Err(Error::unsupported(array.describe(&array.schema_key), what));
        match (array.schema().array_type, self.order) {
            (ArrayType::Dense, order) => {
                let order = order.unwrap_or(Layout::RowMajor);
                if !matches!(order, Layout::RowMajor | Layout::ColMajor | Layout::GlobalOrder) {
                    return unsupported("dense arrays cannot be written in this order");
                }
                dense::write(array, self.domain()?, order, &self.columns)
            }
            (ArrayType::Sparse, order) => {
                if let Some((dimension, _)) = self.ranges.first() {
                    let wrong =
                        "is a dimension of a sparse array: its cells have coordinates instead of a range";
                    return Err(WriteError::Column { field: dimension.clone(), wrong }.into());
                }
                match order {
                    Some(Layout::GlobalOrder) => {
                        let mut fragment = array.sparse_fragment()?;
                        fragment.append(&self.columns)?;
                        fragment.commit()
                    }
                    None | Some(Layout::Unordered) => unordered::write(array, self.duplicates, &self.columns),
                    _ => unsupported("sparse cells must be given unordered or in global order"),
                }
            }
        }
    }

    /// The bytes that a write of this box of a dense array takes beside its columns, at most: tiles
    /// that are being assembled and filtered. Bytes of values of variable length are not known
    /// here, only those of their offsets.
    ///
    /// # Errors
    /// Ranges that do not fit the array, or more cells than fit into memory.
    pub fn working_memory(&self) -> Result<u64> {
        let schema = self.array.schema();
        let plan = dense::BoxPlan::new(schema, &self.domain()?)?;
        Ok(to_u64(plan.working(&dense::cell_sizes(schema), self.array.context.threads)))
    }

    /// Begins a write of a dense array whose cells come in batches, with this many bytes of memory
    /// in addition to the batches. Ranges and order are set here; columns come with the batches.
    ///
    /// # Errors
    /// A sparse array, columns set here, ranges that do not fit the array, an order in which all
    /// cells would have to be buffered, or less memory than a row of tiles needs.
    pub fn stream(self, memory: usize) -> Result<DenseStream<'a>> {
        let array = self.array;
        let unsupported = |what: &str| Err(Error::unsupported(array.describe(&array.schema_key), what));
        if array.schema().array_type != ArrayType::Dense {
            return unsupported(
                "sparse arrays have other functions for batches: see sparse_fragment and sparse_stream",
            );
        }
        if let Some(column) = self.columns.first() {
            let (field, wrong) =
                (column.name().to_owned(), "is given when a stream is begun, but its cells come in batches");
            return Err(WriteError::Column { field, wrong }.into());
        }
        let order = self.order.unwrap_or(Layout::RowMajor);
        if !matches!(order, Layout::RowMajor | Layout::ColMajor | Layout::GlobalOrder) {
            return unsupported("dense arrays cannot be written in this order");
        }
        DenseStream::new(array, self.domain()?, order, memory)
    }

    /// The box of a dense write.
    fn domain(&self) -> Result<Vec<Range>> {
        let schema = self.array.schema();
        for (at, (name, _)) in self.ranges.iter().enumerate() {
            if self.ranges.iter().take(at).any(|(before, _)| before == name) {
                return Err(WriteError::RepeatedRange(name.clone()).into());
            }
            if schema.dimension(name).is_none() {
                let known: Vec<&str> = schema.domain.dimensions.iter().map(|d| d.name.as_str()).collect();
                return Err(
                    QueryError::UnknownDimension { name: name.clone(), known: known.join(", ") }.into()
                );
            }
        }
        let mut domain = Vec::with_capacity(schema.domain.dimensions.len());
        for (index, dimension) in schema.domain.dimensions.iter().enumerate() {
            // A dense array has no dimensions of strings.
            let (low, high) = dimension.domain.clone().unwrap_or_default();
            let mut bounds = Range::new(low, high);
            if let Some(current) =
                schema.current_domain.as_ref().and_then(|current| current.ranges.get(index))
            {
                bounds.clone_from(current);
            }
            let mut range = bounds.clone();
            for (_, asked) in self.ranges.iter().filter(|(name, _)| *name == dimension.name) {
                let ends = asked.resolve(dimension)?;
                range.low = ends.low.unwrap_or(range.low);
                range.high = ends.high.unwrap_or(range.high);
                let size = dimension.datatype.size();
                if range.low.len() != size || range.high.len() != size {
                    let (dimension, datatype) = (dimension.name.clone(), dimension.datatype.name());
                    return Err(QueryError::RangeType { dimension, datatype }.into());
                }
            }
            let show = |value: &[u8]| show_coordinate(dimension, value);
            let inverted = Range::compare(dimension.datatype, &range.low, &range.high).is_gt();
            if inverted {
                let (low, high) = (show(&range.low), show(&range.high));
                return Err(QueryError::InvertedRange { dimension: dimension.name.clone(), low, high }.into());
            }
            if !bounds.covers(dimension.datatype, &range) {
                let (low, high) = (show(&bounds.low), show(&bounds.high));
                return Err(QueryError::OutsideDomain { dimension: dimension.name.clone(), low, high }.into());
            }
            domain.push(range);
        }
        Ok(domain)
    }
}
