//! Where a fragment's cells are: its non-empty domain and its R-tree, as far as they can be believed.
//!
//! libtiledb 1.6 and 1.7 stored rectangles and non-empty domains of date dimensions that not all cells lie in. Nothing may be
//! concluded from them, so in their place stands the whole domain of the dimension.

use std::sync::{Arc, PoisonError};

use tdb_codec::{Gate, to_u64};
use tdb_fragment::{Footer, RTree, Section};
use tdb_schema::{ArraySchema, Range};

use super::Fragment;
use crate::context::Context;
use crate::{Error, Result};

impl Fragment {
    /// Where its cells are, one interval a dimension; `None` if it is empty. It is the non-empty domain, except where
    /// old libraries stored a wrong one: there it is the whole domain of the dimension.
    #[must_use]
    pub fn bounds(&self) -> Option<&[Range]> {
        self.beyond.as_deref().or_else(|| self.non_empty_domain())
    }

    /// The R-tree, read once. Instead of rectangles that its cells need not lie in it has [`Self::bounds`].
    pub(crate) fn rtree(&self, context: &Context) -> Result<Arc<RTree>> {
        let cache = || self.rtree.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tree) = &*cache() {
            return Ok(tree.clone());
        }
        let mut tree = self.parsed_rtree(context)?;
        if let Some(beyond) = &self.beyond {
            let leaves = vec![beyond.clone(); tree.leaf_count()];
            tree = RTree::build(&leaves, &self.schema.domain)
                .map_err(|error| Error::corrupt(context.describe(&self.metadata_key), error))?;
        }
        let tree = Arc::new(tree);
        *cache() = Some(tree.clone());
        Ok(tree)
    }

    /// The R-tree as it is stored.
    pub(crate) fn stored_rtree(&self, context: &Context) -> Result<Arc<RTree>> {
        if self.beyond.is_none() { self.rtree(context) } else { self.parsed_rtree(context).map(Arc::new) }
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

/// Where cells of a sparse fragment may be whose rectangles and non-empty domain cannot be believed; `None` for all others.
pub(super) fn beyond(footer: &Footer, schema: &ArraySchema) -> Option<Vec<Range>> {
    let dimensions = &schema.domain.dimensions;
    let dates = dimensions.iter().any(|dimension| dimension.datatype.is_datetime());
    if footer.dense || footer.version.has(Gate::DateRectangles) || !dates {
        return None;
    }
    let ranges = footer.non_empty_domain.as_ref()?.iter().zip(dimensions).map(|(stored, dimension)| {
        let domain = dimension.domain.clone();
        domain.map_or_else(|| stored.clone(), |(low, high)| Range::new(low, high))
    });
    Some(ranges.collect())
}
