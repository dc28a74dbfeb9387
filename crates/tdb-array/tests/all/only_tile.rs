//! What is inferred about a fragment of one tile, without reading its metadata, is what its
//! metadata says.

use tdb_array::Array;
use tdb_codec::Reader;
use tdb_fragment::{RTree, Section, parse_u64_list};

use crate::common::arrays;

#[test]
fn what_is_inferred_of_every_fixture_is_what_is_stored() {
    let (mut lists, mut trees) = (0, 0);
    for (name, path) in arrays() {
        let Ok(array) = Array::open(path) else { continue };
        let context = array.snapshot().context();
        for fragment in array.fragments() {
            let footer = fragment.footer();
            if footer.tile_count(fragment.schema()).unwrap() != 1 {
                continue;
            }
            for (section, _) in footer.sections.iter() {
                let size = match section {
                    Section::TileOffsets(slot) => footer.file_sizes.get(slot),
                    Section::VarOffsets(slot) => footer.file_var_sizes.get(slot),
                    Section::ValidityOffsets(slot) => footer.file_validity_sizes.get(slot),
                    _ => None,
                };
                if size.is_none_or(|size| *size == 0) {
                    continue;
                }
                let Some(payload) = fragment.section(context, section).unwrap() else { continue };
                let stored = parse_u64_list(Reader::new(&payload), section.name()).unwrap();
                let used = fragment.list(context, section).unwrap();
                assert_eq!(*used, stored, "{name}: {section:?}");
                lists += 1;
            }
            if footer.dense {
                continue;
            }
            let Some(payload) = fragment.section(context, Section::RTree).unwrap() else { continue };
            let domain = &fragment.schema().domain;
            let stored = RTree::parse(&payload, footer.version, domain).unwrap();
            let used = fragment.rtree(context).unwrap();
            let ends = |tree: &RTree| -> Vec<(Vec<u8>, Vec<u8>)> {
                let leaf = tree.leaf(0).unwrap();
                leaf.ranges().map(|(low, high)| (low.to_vec(), high.to_vec())).collect()
            };
            // Rectangles that are known to be wrong are replaced, in both (tests/dates.rs,
            // tests/nan_coordinates.rs).
            let is_replaced = fragment.bounds() != fragment.non_empty_domain();
            if !is_replaced {
                assert_eq!(ends(&used), ends(&stored), "{name}");
                trees += 1;
            }
        }
    }
    assert!(lists > 500 && trees > 100, "only {lists} lists and {trees} trees were compared");
}
