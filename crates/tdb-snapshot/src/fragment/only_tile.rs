//! Fragments with one tile, whose sections mostly follow from the footer.
//!
//! Arrays that grow by small writes have many such fragments. The tile begins at byte 0 of each of
//! its files, whose sizes are in the footer, and its cells lie in the non-empty domain. So nothing
//! else of the fragment's metadata has to be read for them, which saves a request for each fragment
//! if the footers come from consolidated metadata. Sizes of strings do not follow from the footer.

use tdb_codec::Gate;
use tdb_fragment::{RTree, Section};
use tdb_schema::Range;

use super::Fragment;

/// The newest gate that depends on the version of the library that wrote a fragment. A fragment of
/// a version that has it comes from a library that has it, too. For older fragments, only the
/// headers of sections tell which library wrote them.
const LAST_OF_THE_WRITER: Gate = Gate::TypePropagation;

impl Fragment {
    /// This fragment, but it reads every section that is needed, even one that follows from the
    /// footer: to check them.
    #[doc(hidden)]
    #[must_use]
    pub fn without_inference(mut self) -> Self {
        self.infers = false;
        self
    }

    /// A list of tile offsets that follows from the footer.
    pub(super) fn inferred(&self, section: Section) -> Option<Vec<u64>> {
        let sizes = match section {
            Section::TileOffsets(slot) => self.footer.file_sizes.get(slot),
            Section::VarOffsets(slot) => self.footer.file_var_sizes.get(slot),
            Section::ValidityOffsets(slot) => self.footer.file_validity_sizes.get(slot),
            _ => None,
        };
        // A field without a file has no tile.
        sizes.filter(|size| **size > 0 && self.has_one_tile()).map(|_| vec![0])
    }

    /// The R-tree, if it follows from the footer.
    pub(super) fn inferred_rtree(&self) -> Option<Result<RTree, tdb_codec::Error>> {
        let bounds = self.bounds().filter(|_| self.has_one_tile() && !self.footer.dense)?;
        let leaves: [Vec<Range>; 1] = [bounds.to_vec()];
        Some(RTree::build(&leaves, &self.schema.domain))
    }

    /// Whether a section follows from the footer.
    pub(super) fn infers(&self, section: Section) -> bool {
        match section {
            Section::RTree => self.has_one_tile() && !self.footer.dense && self.bounds().is_some(),
            _ => self.inferred(section).is_some(),
        }
    }

    fn has_one_tile(&self) -> bool {
        self.infers
            && self.footer.version.has(LAST_OF_THE_WRITER)
            && self.footer.tile_count(&self.schema).is_ok_and(|count| count == 1)
    }
}
