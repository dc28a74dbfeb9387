//! Subarrays: the ranges of a query, dimension by dimension.

pub(crate) mod get;
pub(crate) mod labels;
mod narrow;
mod ranges;

use std::sync::Arc;

use tdb_array::schema::{ArraySchema, Dimension, Range};

use crate::array::ArrayObject;
use crate::config::{Config, ConfigObject};
use crate::context::Ctx;
use crate::ffi::{Data, Failure, Freed, In, Object, OutHandle, Outcome, Text};
use crate::shared::Shared;
use ranges::{Ends, RangeList};

/// Ranges of dimensions and of labels. A dimension without any has its whole domain.
#[derive(Clone, Debug)]
pub(crate) struct Subarray {
    schema: Arc<ArraySchema>,
    dimensions: Vec<DimensionRanges>,
    /// Whether ranges of integers that follow each other become one.
    coalesces: bool,
    /// Whether a range outside of the domain is an error; it is cut otherwise.
    refuses_outside: bool,
}

/// The ranges of one dimension: of the dimension itself, or of one of its labels.
#[derive(Clone, Debug)]
pub(crate) enum DimensionRanges {
    /// None were set: the whole domain.
    All,
    /// Ranges of the dimension.
    Own(RangeList),
    /// Ranges of the label with this number in the schema.
    Label(usize, RangeList),
}

/// A subarray behind a pointer.
pub(crate) struct SubarrayObject(pub(crate) Shared<Subarray>);

impl Object for SubarrayObject {
    const NAME: &'static str = "subarray";
}

/// A failure of a subarray.
pub(crate) fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("Subarray", text)
}

impl Subarray {
    /// The whole array. Ranges outside of the domain are refused until a configuration says
    /// something else.
    pub(crate) fn new(schema: Arc<ArraySchema>) -> Self {
        let dimensions = vec![DimensionRanges::All; schema.domain.dimensions.len()];
        Self { schema, dimensions, coalesces: true, refuses_outside: true }
    }

    /// Takes what a configuration says of ranges.
    pub(crate) fn set_config(&mut self, config: &Config) {
        self.refuses_outside = config.get("sm.read_range_oob").as_deref() == Some("error");
    }

    /// The schema of the array.
    pub(crate) const fn schema(&self) -> &Arc<ArraySchema> {
        &self.schema
    }

    /// The ranges of the dimensions, in their order.
    pub(crate) fn dimensions(&self) -> &[DimensionRanges] {
        &self.dimensions
    }

    /// Whether a range of a label was set.
    pub(crate) fn has_labels(&self) -> bool {
        self.dimensions.iter().any(|ranges| matches!(ranges, DimensionRanges::Label(..)))
    }

    /// Whether a range was set.
    pub(crate) fn is_set(&self) -> bool {
        self.dimensions.iter().any(|ranges| !matches!(ranges, DimensionRanges::All))
    }

    /// Adds a range of a dimension.
    ///
    /// # Errors
    /// There is no such dimension, its label has ranges, or the range does not fit it.
    pub(crate) fn add(&mut self, index: usize, range: Range) -> Outcome {
        let dimension = self.schema.domain.dimensions.get(index);
        let dimension = dimension.ok_or_else(|| failure("Cannot add range; Invalid dimension index"))?;
        let ranges = self.dimensions.get_mut(index);
        let ranges = ranges.ok_or_else(|| failure("Cannot add range; Invalid dimension index"))?;
        if matches!(ranges, DimensionRanges::Label(..)) {
            let why = "A range is already set on a dimension label for this dimension";
            return Err(failure(format!("Cannot add range to dimension; {why}")));
        }
        let refused =
            |why: String| failure(format!("Cannot add range to dimension '{}'; {why}", dimension.name));
        let ends = Ends::of_dimension(dimension, self.refuses_outside);
        let range = ends.checked(range).map_err(refused)?;
        if let DimensionRanges::Own(list) = ranges {
            list.add(range, dimension.datatype, self.coalesces);
        } else {
            *ranges = DimensionRanges::Own(RangeList::of(range));
        }
        Ok(())
    }

    /// Replaces the ranges by one of each dimension, all of the same type.
    fn set_all(&mut self, data: Data) -> Outcome {
        let dimensions = &self.schema.domain.dimensions;
        let size = dimensions.first().map_or(0, |dimension| dimension.datatype.size());
        let first = dimensions.first().map(|dimension| dimension.datatype);
        if dimensions.iter().any(|dimension| Some(dimension.datatype) != first) {
            return Err(failure("Cannot set subarray; Function not applicable to heterogeneous domains"));
        }
        if dimensions.iter().any(Dimension::is_var) {
            let why = "Function not applicable to domains with variable-sized dimensions";
            return Err(failure(format!("Cannot set subarray; {why}")));
        }
        let count = dimensions.len();
        self.dimensions.fill(DimensionRanges::All);
        if data.is_null() {
            return Ok(());
        }
        let bytes = data.bytes(crate::number(size.saturating_mul(count).saturating_mul(2)))?;
        for (index, range) in bytes.chunks_exact(size.saturating_mul(2).max(1)).enumerate() {
            let (low, high) = range.split_at(size);
            self.add(index, Range::new(low, high))?;
        }
        Ok(())
    }

    fn add_fixed(&mut self, index: usize, (low, high, stride): (Data, Data, Data)) -> Outcome {
        check_stride(stride)?;
        let size = self.fixed_size(index)?;
        if low.is_null() || high.is_null() {
            return Err(failure("Cannot add range; Invalid range"));
        }
        self.add(index, Range::new(low.bytes(size)?, high.bytes(size)?))
    }

    fn add_var(
        &mut self,
        index: usize,
        (low, low_size): (Data, u64),
        (high, high_size): (Data, u64),
    ) -> Outcome {
        if !self.dimension(index)?.is_var() {
            return Err(failure("Cannot add range; Range must be variable-sized"));
        }
        if low.is_null() && low_size != 0 || high.is_null() && high_size != 0 {
            return Err(failure("Cannot add range; Invalid range"));
        }
        self.add(index, Range::new(low.bytes(low_size)?, high.bytes(high_size)?))
    }

    fn add_points(&mut self, index: usize, data: Data, count: u64) -> Outcome {
        let size = self.fixed_size(index)?;
        if data.is_null() {
            return Err(failure("Cannot add ranges; Invalid start pointer"));
        }
        let bytes = data.bytes(size.saturating_mul(count))?;
        let size = usize::try_from(size).unwrap_or(1).max(1);
        bytes.chunks_exact(size).try_for_each(|point| self.add(index, Range::new(point, point)))
    }

    fn add_points_var(&mut self, index: usize, (data, size): (Data, u64), offsets: (Data, u64)) -> Outcome {
        if !self.dimension(index)?.is_var() {
            return Err(failure("Cannot add range; Range must be variable-sized"));
        }
        if data.is_null() || offsets.0.is_null() {
            return Err(failure("Cannot add ranges; Invalid start pointer"));
        }
        let bytes = data.bytes(size)?;
        let offsets = offsets.0.bytes(offsets.1.saturating_mul(8))?;
        let offset = |chunk: &[u8]| chunk.iter().rev().fold(0u64, |sum, byte| sum << 8 | u64::from(*byte));
        let mut starts = offsets.chunks_exact(8).map(offset).peekable();
        while let Some(start) = starts.next() {
            let end = starts.peek().copied().unwrap_or(size);
            let ends = usize::try_from(start).ok().zip(usize::try_from(end).ok());
            let point = ends.and_then(|(start, end)| bytes.get(start..end));
            let point = point.ok_or_else(|| failure("Cannot add ranges; Invalid range"))?;
            self.add(index, Range::new(point, point))?;
        }
        Ok(())
    }

    fn dimension(&self, index: usize) -> Result<&Dimension, Failure> {
        let found = self.schema.domain.dimensions.get(index);
        found.ok_or_else(|| failure("Cannot add range; Invalid dimension index"))
    }

    /// Bytes of a coordinate of a dimension that is not one of strings.
    fn fixed_size(&self, index: usize) -> Result<u64, Failure> {
        let dimension = self.dimension(index)?;
        if dimension.is_var() {
            return Err(failure("Cannot add range; Range must be fixed-sized"));
        }
        Ok(crate::number(dimension.datatype.size()))
    }

    fn index_of(&self, name: &str) -> Result<usize, Failure> {
        let found = self.schema.dimension_index(name);
        found.ok_or_else(|| failure("Cannot get dimension index; Invalid dimension name"))
    }
}

/// The number of a dimension as an index: none has one that does not fit.
fn place(index: u32) -> usize {
    usize::try_from(index).unwrap_or(usize::MAX)
}

fn check_stride(stride: Data) -> Outcome {
    if stride.is_null() { Ok(()) } else { Err(failure("Stride is currently unsupported")) }
}

exported! {
    fn tiledb_subarray_alloc(ctx: Ctx, array: In<ArrayObject>, subarray: OutHandle<SubarrayObject>) -> Code for ctx {
        let opened = array.get()?.opened();
        let (schema, _) = opened.ok_or("Cannot create subarray; array is not open")?;
        subarray.put(SubarrayObject(Shared::new(Subarray::new(schema))))
    }

    fn tiledb_subarray_free(subarray: Freed<SubarrayObject>) {
        subarray.free();
    }

    fn tiledb_subarray_set_config(ctx: Ctx, subarray: In<SubarrayObject>, config: In<ConfigObject>) -> Code for ctx {
        let config = config.get()?.0.copy();
        subarray.get()?.0.lock().set_config(&config);
        Ok(())
    }

    fn tiledb_subarray_set_coalesce_ranges(ctx: Ctx, subarray: In<SubarrayObject>, coalesce: i32) -> Code for ctx {
        let mut subarray = subarray.get()?.0.lock();
        if subarray.is_set() {
            return Err(failure("non-default ranges have been set, cannot change coalesce_ranges setting!"));
        }
        subarray.coalesces = coalesce != 0;
        Ok(())
    }

    fn tiledb_subarray_set_subarray(ctx: Ctx, subarray: In<SubarrayObject>, values: Data) -> Code for ctx {
        subarray.get()?.0.lock().set_all(values)
    }

    fn tiledb_subarray_add_range(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, start: Data, end: Data, stride: Data) -> Code for ctx {
        subarray.get()?.0.lock().add_fixed(place(index), (start, end, stride))
    }

    fn tiledb_subarray_add_range_by_name(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, start: Data, end: Data, stride: Data) -> Code for ctx {
        let mut subarray = subarray.get()?.0.lock();
        let index = subarray.index_of(name.get("dim_name")?)?;
        subarray.add_fixed(index, (start, end, stride))
    }

    fn tiledb_subarray_add_range_var(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, start: Data, start_size: u64, end: Data, end_size: u64) -> Code for ctx {
        subarray.get()?.0.lock().add_var(place(index), (start, start_size), (end, end_size))
    }

    fn tiledb_subarray_add_range_var_by_name(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, start: Data, start_size: u64, end: Data, end_size: u64) -> Code for ctx {
        let mut subarray = subarray.get()?.0.lock();
        let index = subarray.index_of(name.get("dim_name")?)?;
        subarray.add_var(index, (start, start_size), (end, end_size))
    }

    fn tiledb_subarray_add_point_ranges(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, start: Data, count: u64) -> Code for ctx {
        subarray.get()?.0.lock().add_points(place(index), start, count)
    }

    fn tiledb_subarray_add_point_ranges_var(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, start: Data, start_size: u64, offsets: Data, count: u64) -> Code for ctx {
        subarray.get()?.0.lock().add_points_var(place(index), (start, start_size), (offsets, count))
    }
}
