//! The domains of the cells of a snapshot and of its tiles.

use tdb_codec::ArrayType;
use tdb_schema::Range;

use super::Snapshot;
use crate::fragment::Fragment;
use crate::{OrInternal, Result};

impl Snapshot {
    /// The non-empty domain according to the visible fragments, one interval per dimension; `None`
    /// if there are none. See [`Self::bounds`].
    #[must_use]
    pub fn non_empty_domain(&self) -> Option<Vec<Range>> {
        self.union(Fragment::non_empty_domain)
    }

    /// The domain of the visible fragments' cells, one interval per dimension; `None` if there are
    /// none. It differs from the non-empty domain where [`Fragment::bounds`] does, and of a dense
    /// array it ends where the current domain does.
    #[must_use]
    pub fn bounds(&self) -> Option<Vec<Range>> {
        let bounds = self.union(Fragment::bounds)?;
        let Some(current) =
            self.schema.current_domain.as_ref().filter(|_| self.schema.array_type == ArrayType::Dense)
        else {
            return Some(bounds);
        };
        let dimensions = bounds.iter().zip(&current.ranges).zip(&self.schema.domain.dimensions);
        dimensions
            .map(|((range, current), dimension)| range.intersection(dimension.datatype, current))
            .collect()
    }

    /// Whether all cells of the visible fragments have coordinates inside the current domain in a
    /// dimension. Others were written before there was a current domain, or are read at a time at
    /// which it was smaller. No read returns them.
    #[must_use]
    pub fn is_inside_current_domain(&self, dimension: usize) -> bool {
        let current = self.schema.current_domain.as_ref().and_then(|current| current.ranges.get(dimension));
        let Some((current, own)) = current.zip(self.schema.domain.dimensions.get(dimension)) else {
            return true;
        };
        // Two empty ends of strings are open.
        let is_open = own.is_var() && current.low.is_empty() && current.high.is_empty();
        let mut bounds = self.fragments.iter().filter_map(|fragment| fragment.bounds()?.get(dimension));
        is_open || bounds.all(|range| current.covers(own.datatype, range))
    }

    /// The smallest box that contains one box of each fragment.
    fn union(&self, of: fn(&Fragment) -> Option<&[Range]>) -> Option<Vec<Range>> {
        let mut domains = self.fragments.iter().filter_map(|fragment| of(fragment));
        let mut union = domains.next()?.to_vec();
        for domain in domains {
            for ((range, other), dimension) in
                union.iter_mut().zip(domain).zip(&self.schema.domain.dimensions)
            {
                range.unite(dimension.datatype, other);
            }
        }
        Some(union)
    }

    /// The rectangles of a sparse fragment's tiles, in order, from its R-tree: one interval per
    /// dimension. None for a dense fragment, whose tiles are those of the domain.
    ///
    /// # Errors
    /// Damaged metadata.
    pub fn tile_bounds(&self, fragment: &Fragment) -> Result<Vec<Vec<Range>>> {
        if fragment.is_dense() {
            return Ok(Vec::new());
        }
        let tree = fragment.rtree(&self.context)?;
        let bounds = |tile: usize| {
            let rectangle = tree.leaf(tile).or_internal("a tile without its rectangle")?;
            Ok(rectangle.ranges().map(|(low, high)| Range::new(low, high)).collect())
        };
        (0..tree.leaf_count()).map(bounds).collect()
    }
}
