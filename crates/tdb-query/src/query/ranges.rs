//! The ranges, points and labels of a query.

use core::ops::RangeBounds;

use super::Read;
use crate::coordinate::Coordinate;
use crate::requested::{Bounds, RangeRequest, RequestedRange};

impl Read {
    /// Asks for the cells in a range of a dimension: integers for integral, date and time
    /// dimensions (in the dimension's unit), floats for real ones, strings for string ones. An open
    /// end means the end of the domain.
    ///
    /// Each further call for the same dimension adds a range. The result has the cells whose
    /// coordinate is, in each dimension, in one of its ranges; a dimension without ranges is read
    /// whole. Cells of sparse arrays are returned once, even if several ranges contain them. Dense
    /// arrays in row- or column-major order return each dimension's ranges in the order they were
    /// added, and a cell once for each range that contains it: 6 and 2 to 3 return the rows 6,
    /// 2, 3.
    /// Global order does not depend on the order of ranges and returns every cell once.
    pub fn range<V: Into<Coordinate> + Clone>(
        mut self,
        dimension: impl Into<String>,
        range: impl RangeBounds<V>,
    ) -> Self {
        self.ranges.push((dimension.into(), vec![RangeRequest::Values(RequestedRange::new(&range))]));
        self
    }

    /// Asks for the cells in several ranges of a dimension, like one call of [`Self::range`] for
    /// each; but an empty list returns no cells.
    pub fn ranges<V: Into<Coordinate> + Clone, R: RangeBounds<V>>(
        mut self,
        dimension: impl Into<String>,
        ranges: impl IntoIterator<Item = R>,
    ) -> Self {
        let ranges = ranges.into_iter().map(|range| RangeRequest::Values(RequestedRange::new(&range)));
        self.ranges.push((dimension.into(), ranges.collect()));
        self
    }

    /// Asks for the cells at these coordinates of a dimension, in any order. Each is a range of one
    /// coordinate; an empty list returns no cells.
    ///
    /// Many points cost little more than few: tiles and cells are found by binary search.
    pub fn points<V: Into<Coordinate>>(
        mut self,
        dimension: impl Into<String>,
        coordinates: impl IntoIterator<Item = V>,
    ) -> Self {
        let points = coordinates.into_iter().map(|value| RangeRequest::Point(value.into()));
        self.ranges.push((dimension.into(), points.collect()));
        self
    }

    /// Asks for the cells in a range of a dimension label's values: those at the positions whose
    /// label is in the range. Ranges of labels are added to the ranges of their dimension.
    pub fn label_range<V: Into<Coordinate> + Clone>(
        mut self,
        label: impl Into<String>,
        range: impl RangeBounds<V>,
    ) -> Self {
        self.labels.push((label.into(), RangeRequest::Values(RequestedRange::new(&range))));
        self
    }

    /// Asks for the cells in an inclusive range of a dimension label's values, given as the label's
    /// little-endian bytes; `None` is an open end.
    pub fn label_range_bytes(
        mut self,
        label: impl Into<String>,
        low: Option<Vec<u8>>,
        high: Option<Vec<u8>>,
    ) -> Self {
        self.labels.push((label.into(), RangeRequest::Bytes(Bounds { low, high })));
        self
    }

    /// Asks for the cells in an inclusive range given as the dimension's little-endian bytes;
    /// `None` is an open end.
    pub fn range_bytes(
        self,
        dimension: impl Into<String>,
        low: Option<Vec<u8>>,
        high: Option<Vec<u8>>,
    ) -> Self {
        self.ranges_bytes(dimension, [(low, high)])
    }

    /// Asks for the cells in any of several inclusive ranges, each given as the dimension's
    /// little-endian bytes; `None` is an open end.
    pub fn ranges_bytes(
        mut self,
        dimension: impl Into<String>,
        ranges: impl IntoIterator<Item = (Option<Vec<u8>>, Option<Vec<u8>>)>,
    ) -> Self {
        let ranges = ranges.into_iter().map(|(low, high)| RangeRequest::Bytes(Bounds { low, high }));
        self.ranges.push((dimension.into(), ranges.collect()));
        self
    }
}
