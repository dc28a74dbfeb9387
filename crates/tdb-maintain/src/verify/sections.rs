//! Checks of a fragment's metadata: its sections, and the area that it states it covers.

use tdb_codec::Reader;
use tdb_fragment::{
    RTree, Section, TileValues, parse_fragment_statistics, parse_names, parse_u64_list, parse_words,
};
use tdb_schema::Range;

use super::Verifier;
use crate::fragment::Fragment;
use crate::ranges::is_value;

impl Verifier {
    /// Compares the area that a fragment states it covers with the domain.
    pub(super) fn covered(&mut self, fragment: &Fragment) {
        let dimensions = &fragment.schema().domain.dimensions;
        for (range, dimension) in fragment.non_empty_domain().into_iter().flatten().zip(dimensions) {
            let Some((first, last)) = dimension.domain.clone().filter(|_| !dimension.is_var()) else {
                continue;
            };
            let domain = Range::new(first, last);
            let inside =
                |end: &Vec<u8>| domain.contains(dimension.datatype, end) || !is_value(dimension, end);
            if ![&range.low, &range.high].into_iter().all(inside) {
                let what = format!(
                    "the non-empty domain of dimension {:?} is not within the domain",
                    dimension.name
                );
                self.problem(fragment.metadata_key(), None, what);
            }
        }
    }

    /// Decodes and parses every section of a fragment's metadata.
    pub(super) fn sections(&mut self, fragment: &Fragment) {
        let footer = fragment.footer();
        for (section, offset) in footer.sections.iter() {
            let bytes = match fragment.section_bytes(&self.context, section) {
                Ok(Some((_, bytes))) => bytes,
                Ok(None) => continue,
                Err(error) => {
                    self.failed(error);
                    continue;
                }
            };
            let Some(payload) = self.generic_tile(fragment.metadata_key(), &bytes, offset) else { continue };
            self.unused_after_section(fragment, &bytes, offset);
            let reader = Reader::new(&payload);
            let domain = &fragment.schema().domain;
            let parsed = match section {
                Section::RTree => RTree::parse_from(reader, footer.version, domain).map(|_| ()),
                Section::Mins(_)
                | Section::Maxes(_)
                | Section::GlobalOrderMins(_)
                | Section::GlobalOrderMaxes(_) => TileValues::parse(reader, section.name()).map(|_| ()),
                Section::Sums(_) => parse_words(reader, section.name()).map(|_| ()),
                Section::FragmentStatistics => {
                    parse_fragment_statistics(reader, footer.slots.len()).map(|_| ())
                }
                Section::ProcessedConditions => parse_names(reader, section.name()).map(|_| ()),
                _ => parse_u64_list(reader, section.name()).map(|_| ()),
            };
            if let Err(error) = parsed {
                self.payload_problem(fragment.metadata_key(), offset, &error);
            }
        }
    }
}
