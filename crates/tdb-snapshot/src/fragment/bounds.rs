//! The domain of a fragment's cells: its non-empty domain and the MBRs of its R-tree, corrected
//! where the library that wrote them stored wrong ones.
//!
//! libtiledb 1.6 and 1.7 stored rectangles and non-empty domains of date dimensions that do not
//! contain all cells. libtiledb 2.1 to 2.4.1 take a range of strings for empty if its low end is
//! the empty string: whatever they add to it becomes the high end, so that the rectangle holds the
//! first and the last string of a tile, and not those between. Every library stores NaN as both
//! ends of a real dimension if the first cell of a tile has NaN there, wherever the other cells
//! are. None of these can be used, so they are replaced by the whole domain of the dimension, or of
//! strings by what follows the low end.

use std::sync::{Arc, PoisonError};

use tdb_codec::{FormatVersion, Gate, to_u64};
use tdb_fragment::{Footer, Mbr, RTree, Section};
use tdb_schema::{ArraySchema, Dimension, Range};

use super::Fragment;
use crate::context::Context;
use crate::ranges::is_value;
use crate::{Error, OrInternal, Result};

impl Fragment {
    /// The domain of its cells, one interval per dimension; `None` if it is empty. It is the
    /// non-empty domain, except if a library stored a wrong one: then it is the whole domain of the
    /// dimension.
    #[must_use]
    pub fn bounds(&self) -> Option<&[Range]> {
        self.beyond.as_deref().or_else(|| self.non_empty_domain())
    }

    /// The R-tree, read once. Intervals that may not contain all cells are replaced as in
    /// [`Self::bounds`].
    #[doc(hidden)]
    pub fn rtree(&self, context: &Context) -> Result<Arc<RTree>> {
        let cache = || self.rtree.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = &*cache() {
            return Ok(tree.clone());
        }
        let corrupt = |error| Error::corrupt(context.describe(&self.metadata_key), error);
        if let Some(tree) = self.inferred_rtree() {
            let tree = Arc::new(tree.map_err(corrupt)?);
            *cache() = Some(tree.clone());
            return Ok(tree);
        }
        let mut tree = self.parsed_rtree(context)?;
        let tiles = 0..tree.leaf_count();
        let version = self.footer.version;
        let wrong = |mbr: Mbr<'_>| {
            let dimensions = &self.schema.domain.dimensions;
            mbr.ranges()
                .zip(dimensions)
                .any(|(ends, own)| !ordered(own, ends) || lost_its_end(own, ends.0, version))
        };
        let replaced = old_dates(&self.footer, &self.schema);
        if replaced || tiles.clone().filter_map(|tile| tree.leaf(tile)).any(wrong) {
            let believed = |tile: usize| -> Result<Vec<Range>> {
                let stored = tree.leaf(tile).or_internal("a tile without its rectangle")?;
                let stored = stored.ranges().map(|(low, high)| Range::new(low, high));
                Ok(believable(stored, &self.footer, &self.schema))
            };
            let leaves: Vec<Vec<Range>> = tiles.map(believed).collect::<Result<_>>()?;
            tree = RTree::build(&leaves, &self.schema.domain).map_err(corrupt)?;
        }
        let tree = Arc::new(tree);
        *cache() = Some(tree.clone());
        Ok(tree)
    }

    /// Whether an interval of the R-tree ends at coordinates of cells. One that was replaced
    /// contains the cells, but says nothing of their extremes; nor does one of reals, which leaves
    /// NaNs out. `low` is its low end.
    #[doc(hidden)]
    #[must_use]
    pub fn ends_at_cells(&self, dimension: usize, low: &[u8]) -> bool {
        let dimension = self.schema.domain.dimensions.get(dimension);
        dimension.is_some_and(|own| {
            let real = own.datatype.physical().is_float();
            !(real || old_dates(&self.footer, &self.schema) || lost_its_end(own, low, self.footer.version))
        })
    }

    /// The R-tree as it is stored. Versions 1 and 2 have it together with everything else, and it
    /// is not corrected.
    #[doc(hidden)]
    pub fn stored_rtree(&self, context: &Context) -> Result<Arc<RTree>> {
        let version = self.footer.version;
        let replaceable = |dimension: &Dimension| {
            dimension.datatype.physical().is_float() || lost_its_end(dimension, &[], version)
        };
        let replaced = old_dates(&self.footer, &self.schema)
            || self.infers(Section::RTree)
            || self.schema.domain.dimensions.iter().any(replaceable);
        if replaced && self.footer.version.has(Gate::FragmentFooter) {
            self.parsed_rtree(context).map(Arc::new)
        } else {
            self.rtree(context)
        }
    }

    fn parsed_rtree(&self, context: &Context) -> Result<RTree> {
        let payload = self.section(context, Section::RTree)?.unwrap_or_default();
        let tree = RTree::parse(&payload, self.footer.version, &self.schema.domain).map_err(|error| {
            let offset = self.footer.sections.get(Section::RTree).unwrap_or(0);
            let detail = format!("{error} (of the section's payload)");
            Error::inconsistent(context.describe(&self.metadata_key), "R-tree", offset, detail)
        })?;
        if to_u64(tree.leaf_count()) != self.footer.sparse_tile_num {
            let detail = format!(
                "the R-tree has {} leaves, but the fragment has {} tiles",
                tree.leaf_count(),
                self.footer.sparse_tile_num
            );
            let path = context.describe(&self.metadata_key);
            return Err(Error::inconsistent(path, "R-tree", self.footer.offset, detail));
        }
        Ok(tree)
    }
}

/// The domain of a sparse fragment's cells if its non-empty domain cannot be trusted; otherwise
/// `None`.
pub(super) fn beyond(footer: &Footer, schema: &ArraySchema) -> Option<Vec<Range>> {
    let stored = footer.non_empty_domain.as_ref().filter(|_| !footer.dense)?;
    let bounds = believable(stored.iter().cloned(), footer, schema);
    (bounds != *stored).then_some(bounds)
}

/// Whether no rectangle of a sparse fragment can be trusted, because the array has dates and the
/// fragment is old.
fn old_dates(footer: &Footer, schema: &ArraySchema) -> bool {
    let mut dimensions = schema.domain.dimensions.iter();
    let dates = dimensions.any(|dimension| dimension.datatype.is_datetime());
    dates && !footer.dense && !footer.version.has(Gate::DateRectangles)
}

/// A stored rectangle of a sparse fragment, in which each interval that cannot be trusted is
/// replaced by the whole domain.
fn believable(stored: impl Iterator<Item = Range>, footer: &Footer, schema: &ArraySchema) -> Vec<Range> {
    let dimensions = &schema.domain.dimensions;
    let old_dates = old_dates(footer, schema);
    let of = |(stored, dimension): (Range, &Dimension)| {
        if lost_its_end(dimension, &stored.low, footer.version) {
            return Range::new(stored.low, BEHIND_ALL_STRINGS);
        }
        let believed = !old_dates && ordered(dimension, (&stored.low, &stored.high));
        let domain = dimension.domain.clone().filter(|_| !believed);
        domain.map_or(stored, |(low, high)| Range::new(low, high))
    };
    stored.zip(dimensions).map(of).collect()
}

/// An upper bound for strings, of which there is no greatest one: UTF-8 text has none of these
/// bytes, and no other string is likely to begin with so many.
const BEHIND_ALL_STRINGS: [u8; 256] = [0xff; 256];

/// Whether an interval of strings that begins with the empty one may lack its high end.
fn lost_its_end(dimension: &Dimension, low: &[u8], version: FormatVersion) -> bool {
    dimension.is_var() && low.is_empty() && !version.has(Gate::StringRectangles)
}

/// Whether both ends of an interval can be compared with other values: a NaN cannot.
fn ordered(dimension: &Dimension, (low, high): (&[u8], &[u8])) -> bool {
    dimension.is_var() || (is_value(dimension, low) && is_value(dimension, high))
}

#[cfg(test)]
mod tests {
    use tdb_schema::Dimension;

    use super::*;

    #[test]
    fn strings_that_begin_with_the_empty_one_have_no_end_in_old_fragments() {
        let name = Dimension::string("name");
        let version = |number| FormatVersion::parse(number).unwrap();
        for (low, number, lost) in [
            ("", 6, true),
            ("", 10, true),
            ("", 11, false),
            ("", 22, false),
            ("a", 6, false),
            ("\0", 10, false),
        ] {
            assert_eq!(lost_its_end(&name, low.as_bytes(), version(number)), lost, "{low:?} {number}");
        }
        assert!(!lost_its_end(&Dimension::new("x", 0i32..=9), &[], version(6)), "not of strings");
        assert!("zzz\u{10ffff}".as_bytes() < BEHIND_ALL_STRINGS.as_slice());
    }
}
