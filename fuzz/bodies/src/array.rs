//! A whole array, or a whole group.

use std::sync::Arc;

use tdb_array::{Aggregate, Layout, MemoryStorage, OpenOptions, QueryCondition, history, verify};
use tdb_codec::Limits;

use crate::input::unpack_files;

/// Most bytes of a tile, a metadata structure and a result.
const LIMIT: u64 = 1 << 20;

/// Opens, reads in several orders, verifies and tells the history of the array that the files of the input make up; if they
/// make up a group, walks through it.
pub fn whole_array(data: &[u8]) {
    let files = unpack_files(data);
    let mut limits = Limits::default();
    limits.tile_bytes = LIMIT;
    limits.metadata_bytes = LIMIT;
    let options = OpenOptions::new().threads(1).limits(limits);
    if let Ok(array) = options.open_storage(MemoryStorage::new(files.clone())) {
        let names: Vec<String> = array.schema().fields().map(|field| field.name.to_owned()).collect();
        for order in [Layout::RowMajor, Layout::GlobalOrder] {
            let _ = array.read().fields(&names).order(order).collect();
            let _ = array.read().order(order).collect();
        }
        let _ = (array.metadata(), array.non_empty_domain());
        for enumeration in &array.schema().enumerations {
            let _ = array.enumeration(&enumeration.name);
        }
    }
    let _ = verify(MemoryStorage::new(files.clone()));
    let _ = history(MemoryStorage::new(files.clone()), None);
    let places = Arc::new(MemoryStorage::new(files));
    if let Ok(group) = OpenOptions::new().limits(limits).open_group_in(places, "") {
        let _ = (group.walk(), group.metadata());
    }
}

/// Reads a condition's text, and a list of aggregates. What is accepted is shown as text that means the same, and what is
/// not is refused at a place in the text.
pub fn query_condition(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match QueryCondition::parse(&text) {
        Ok(condition) => assert_eq!(QueryCondition::parse(&condition.to_string()), Ok(condition)),
        Err(error) => assert!(error.offset().is_some_and(|offset| text.is_char_boundary(offset)), "{error}"),
    }
    if let Ok(aggregates) = Aggregate::parse(&text) {
        let shown = aggregates.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
        assert_eq!(Aggregate::parse(&shown), Ok(aggregates));
    }
}
