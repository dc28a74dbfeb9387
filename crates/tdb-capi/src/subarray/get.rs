//! The ranges that a subarray has.

use tdb_array::schema::Range;

use super::{DimensionRanges, Subarray, SubarrayObject, failure, place};
use crate::context::Ctx;
use crate::ffi::{Failure, In, Out, OutData, Outcome, Text};

impl Subarray {
    /// The ranges of a dimension; `None` for its whole domain.
    fn ranges(&self, index: usize) -> Option<Option<&[Range]>> {
        match self.dimensions.get(index)? {
            DimensionRanges::All => Some(None),
            DimensionRanges::Own(list) => Some(Some(list.ranges())),
            // Those of the dimension are not known before the label was read.
            DimensionRanges::Label(..) => Some(Some(&[])),
        }
    }

    fn range_count(&self, index: usize) -> Result<u64, Failure> {
        let ranges = self.ranges(index).ok_or_else(|| {
            let last = self.dimensions.len().saturating_sub(1);
            failure(format!(
                "Cannot get number of ranges for a dimension; Invalid dimension index {index} requested, {last} max avail."
            ))
        })?;
        Ok(ranges.map_or(1, |ranges| crate::number(ranges.len())))
    }

    /// A range of a dimension. That of the whole domain of strings has no ends.
    pub(crate) fn range(&self, index: usize, number: u64) -> Result<Range, Failure> {
        let ranges = self.ranges(index);
        let ranges = ranges.ok_or_else(|| failure("Cannot get range; Invalid dimension index"))?;
        let wanted = usize::try_from(number).unwrap_or(usize::MAX);
        let found = match ranges {
            Some(ranges) => ranges.get(wanted).cloned(),
            None if wanted == 0 => {
                let domain = self.schema.domain.dimensions.get(index).and_then(|one| one.domain.clone());
                let (low, high) = domain.unwrap_or_default();
                Some(Range::new(low, high))
            }
            None => None,
        };
        found.ok_or_else(|| failure("Cannot get range; Invalid range index"))
    }

    /// A range of a dimension of strings.
    fn range_var(&self, index: usize, number: u64) -> Result<Range, Failure> {
        let dimension = self.schema.domain.dimensions.get(index);
        let dimension =
            dimension.ok_or_else(|| failure("Cannot get var range size; Invalid dimension index"))?;
        if !dimension.is_var() {
            let name = &dimension.name;
            return Err(failure(format!("Cannot get var range size; Dimension {name} is not var sized")));
        }
        self.range(index, number)
    }
}

/// Returns the ends of a range, which the subarray keeps.
pub(super) fn put(
    owner: In<SubarrayObject>,
    range: &Range,
    (start, end, stride): (OutData, OutData, OutData),
) -> Outcome {
    start.keep(owner, &range.low)?;
    end.keep(owner, &range.high)?;
    if stride.is_wanted() { stride.put_null() } else { Ok(()) }
}

/// Returns the sizes of the ends of a range.
pub(super) fn put_sizes(range: &Range, (start, end): (Out<u64>, Out<u64>)) -> Outcome {
    start.set(crate::number(range.low.len()))?;
    end.set(crate::number(range.high.len()))
}

/// Copies the ends of a range into memory of the caller.
pub(super) fn put_copies(range: &Range, (start, end): (Out<u8>, Out<u8>)) -> Outcome {
    start.fill(&range.low)?;
    end.fill(&range.high)
}

exported! {
    fn tiledb_subarray_get_range_num(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, count: Out<u64>) -> Code for ctx {
        count.set(subarray.get()?.0.lock().range_count(place(index))?)
    }

    fn tiledb_subarray_get_range_num_from_name(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, count: Out<u64>) -> Code for ctx {
        let subarray = subarray.get()?.0.lock();
        count.set(subarray.range_count(subarray.index_of(name.get("dim_name")?)?)?)
    }

    fn tiledb_subarray_get_range(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, number: u64, start: OutData, end: OutData, stride: OutData) -> Code for ctx {
        let range = subarray.get()?.0.lock().range(place(index), number)?;
        put(subarray, &range, (start, end, stride))
    }

    fn tiledb_subarray_get_range_from_name(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, number: u64, start: OutData, end: OutData, stride: OutData) -> Code for ctx {
        let own = subarray.get()?.0.lock();
        let range = own.range(own.index_of(name.get("dim_name")?)?, number)?;
        put(subarray, &range, (start, end, stride))
    }

    fn tiledb_subarray_get_range_var_size(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, number: u64, start: Out<u64>, end: Out<u64>) -> Code for ctx {
        put_sizes(&subarray.get()?.0.lock().range_var(place(index), number)?, (start, end))
    }

    fn tiledb_subarray_get_range_var_size_from_name(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, number: u64, start: Out<u64>, end: Out<u64>) -> Code for ctx {
        let own = subarray.get()?.0.lock();
        put_sizes(&own.range_var(own.index_of(name.get("dim_name")?)?, number)?, (start, end))
    }

    fn tiledb_subarray_get_range_var(ctx: Ctx, subarray: In<SubarrayObject>, index: u32, number: u64, start: Out<u8>, end: Out<u8>) -> Code for ctx {
        put_copies(&subarray.get()?.0.lock().range_var(place(index), number)?, (start, end))
    }

    fn tiledb_subarray_get_range_var_from_name(ctx: Ctx, subarray: In<SubarrayObject>, name: Text, number: u64, start: Out<u8>, end: Out<u8>) -> Code for ctx {
        let own = subarray.get()?.0.lock();
        put_copies(&own.range_var(own.index_of(name.get("dim_name")?)?, number)?, (start, end))
    }
}
