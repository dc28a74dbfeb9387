//! Lists the reads that opening a fragment and reading its sections need, for storages that
//! prefetch.

use std::sync::{Arc, PoisonError};

use tdb_codec::Gate;
use tdb_fragment::Section;

use super::{COORDS, Fragment};
use crate::Result;
use crate::context::Context;
use crate::directory::FragmentEntry;
use crate::paths::FRAGMENT_METADATA;
use crate::storage::{ReadSet, Request, join};
use crate::thresholds::METADATA_TAIL_BYTES;

impl Fragment {
    /// The reads that opening a fragment needs.
    #[doc(hidden)]
    pub fn requests(entry: &FragmentEntry) -> impl Iterator<Item = Request> {
        let key = join(&entry.folder, FRAGMENT_METADATA);
        let footer = entry.version().has(Gate::FragmentFooter);
        let metadata = if footer { Request::Tail(key, METADATA_TAIL_BYTES) } else { Request::whole(key) };
        // Only needed to know whether the file exists.
        let coords = (!footer).then(|| Request::Tail(join(&entry.folder, COORDS), 0));
        core::iter::once(metadata).chain(coords)
    }

    /// Adds the reads for these sections to `needs`, except for sections that were already read and
    /// those that follow from the footer. If the metadata file must be read first, it adds that
    /// read instead and returns `false`.
    #[doc(hidden)]
    pub fn need_sections(&self, sections: impl Iterator<Item = Section>, read_set: &mut ReadSet) -> bool {
        if !self.footer.version.has(Gate::FragmentFooter) {
            return true;
        }
        let mut sections = sections.filter(|section| !self.infers(*section)).peekable();
        if sections.peek().is_none() {
            return true;
        }
        let Some(own) = self.own.get() else {
            read_set.files.extend(Self::requests(&self.entry));
            return false;
        };
        let key: Arc<str> = self.metadata_key.as_str().into();
        for section in sections {
            let known = match section {
                Section::RTree => self.rtree.lock().unwrap_or_else(PoisonError::into_inner).is_some(),
                _ => self.lists.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&section),
            };
            // Errors in a section's position are reported when it is read.
            let range = self.footer.section(section).ok().flatten();
            let range = range.map(|range| range.start..range.end.min(own.footer.start));
            if let Some(range) = range.filter(|range| !known && own.cached(range).is_none()) {
                read_set.ranges.push((key.clone(), range));
            }
        }
        true
    }

    /// Reads the fragment's own metadata file, if its footer came from elsewhere.
    #[doc(hidden)]
    pub fn look_at_metadata(&self, context: &Context) -> Result<()> {
        self.own(context).map(drop)
    }
}
