//! The ranges of a subarray as those of a read.

use tdb_array::schema::{CurrentDomain, Dimension, Range};
use tdb_array::{Array, Read};

use super::ranges::RangeList;
use super::{DimensionRanges, Subarray};
use crate::dump;
use crate::ffi::{Failure, Outcome};

impl Subarray {
    /// The same read, of the cells in the ranges.
    pub(crate) fn narrow(&self, mut read: Read) -> Read {
        for (ranges, dimension) in self.dimensions.iter().zip(&self.schema.domain.dimensions) {
            match ranges {
                DimensionRanges::All => {}
                DimensionRanges::Own(list) => {
                    // Between texts that descend there is nothing, which is no error for libtiledb.
                    let is_empty = |range: &&Range| dimension.is_var() && range.low > range.high;
                    let ranges: Vec<&Range> = list.ranges().iter().filter(|range| !is_empty(range)).collect();
                    if ranges.is_empty() {
                        read = read.nothing();
                    }
                    let ends = |range: &Range| (Some(range.low.clone()), Some(range.high.clone()));
                    read = read.ranges_bytes(&dimension.name, ranges.into_iter().map(ends));
                }
                DimensionRanges::Label(number, list) => {
                    let Some(label) = self.schema.labels.get(*number) else { continue };
                    for range in list.ranges() {
                        let (low, high) = (range.low.clone(), range.high.clone());
                        read = read.label_range_bytes(&label.name, Some(low), Some(high));
                    }
                }
            }
        }
        read
    }

    /// Replaces ranges of labels by the ranges of positions that they are.
    ///
    /// # Errors
    /// No value of a label lies in a range, or the label cannot be read.
    pub(crate) fn find_labels(&mut self, array: &Array) -> Outcome {
        for (ranges, dimension) in self.dimensions.iter_mut().zip(&self.schema.domain.dimensions) {
            let DimensionRanges::Label(number, list) = ranges else { continue };
            let Some(label) = self.schema.labels.get(*number) else { continue };
            let mut found = RangeList::default();
            for range in list.ranges() {
                let (low, high) = (range.low.clone(), range.high.clone());
                let positions = array.label_positions(&label.name, Some(low), Some(high))?;
                let positions = positions.ok_or_else(|| {
                    let what =
                        format!("Failed to process and update index ranges for label '{}'", label.name);
                    Failure::of("DimensionLabelQuery", format!("{what}. Range contained no values"))
                })?;
                found.add(positions, dimension.datatype, self.coalesces);
            }
            *ranges = DimensionRanges::Own(found);
        }
        Ok(())
    }

    /// Words for the first range that reaches out of the current domain.
    pub(crate) fn outside(&self, current: &CurrentDomain) -> Option<String> {
        let own = &self.schema.domain.dimensions;
        let shown = own.iter().zip(&current.ranges);
        let shown: Vec<_> = shown.map(|(dimension, range)| show(dimension, range)).collect();
        let dimensions = self.dimensions.iter().zip(own).zip(&current.ranges);
        for ((ranges, dimension), current) in dimensions {
            let DimensionRanges::Own(list) = ranges else { continue };
            let is_outside = |range: &&Range| !current.covers(dimension.datatype, range);
            if let Some(range) = list.ranges().iter().find(is_outside) {
                return Some(format!(
                    "A range {} on dimension '{}' was set outside of the current domain [{}].",
                    show(dimension, range),
                    dimension.name,
                    shown.join(", ")
                ));
            }
        }
        None
    }
}

fn show(dimension: &Dimension, range: &Range) -> String {
    dump::range(dimension.datatype, &range.low, &range.high)
}
