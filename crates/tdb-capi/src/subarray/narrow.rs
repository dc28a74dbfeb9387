//! The ranges of a subarray as those of a read.

use tdb_array::Read;
use tdb_array::schema::{CurrentDomain, Dimension, Range};

use super::{DimensionRanges, Subarray};
use crate::dump;

impl Subarray {
    /// The same read, of the cells in the ranges.
    pub(crate) fn narrow(&self, mut read: Read) -> Read {
        for (ranges, dimension) in self.dimensions.iter().zip(&self.schema.domain.dimensions) {
            match ranges {
                DimensionRanges::All => {}
                DimensionRanges::Own(list) => {
                    let ends = |range: &Range| (Some(range.low.clone()), Some(range.high.clone()));
                    read = read.ranges_bytes(&dimension.name, list.ranges().iter().map(ends));
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
