//! A whole array, or a whole group.

use std::sync::Arc;

use tdb_array::history::history;
use tdb_array::maintain::verify;
use tdb_array::query::{Aggregate, QueryCondition, QueryDescription};
use tdb_array::storage::MemoryStorage;
use tdb_array::{Layout, OpenOptions, TimeWindow};
use tdb_codec::Limits;

use crate::input::unpack_files;
use crate::{assert_same, query};

/// Most bytes of a tile, a metadata structure and a result.
const LIMIT: u64 = 1 << 20;
/// Bytes of a query, and most queries of an input.
const QUERY: usize = 48;
const QUERIES: usize = 3;

/// Verifies, opens and reads the array that the files of the input make up, in several orders and
/// by queries made of the input's last bytes, and tells its history; if they make up a group, walks
/// through it.
pub fn whole_array(data: &[u8]) {
    let files = unpack_files(data);
    let checked = verify(MemoryStorage::new(files.clone()));
    let mut limits = Limits::default();
    limits.tile_bytes = LIMIT;
    limits.metadata_bytes = LIMIT;
    // Whatever times the input tells: a clock would make it another input.
    let options = OpenOptions::new().window(TimeWindow::ALL).threads(1).limits(limits);
    if let Ok(array) = options.clone().open_storage(MemoryStorage::new(files.clone())) {
        let names: Vec<String> = array.schema().fields().map(|field| field.name.to_owned()).collect();
        for order in [Layout::RowMajor, Layout::GlobalOrder] {
            let _ = query::no_fault(array.read().fields(&names).order(order).collect());
            let _ = query::no_fault(array.read().order(order).collect());
        }
        // As many queries as the input has bytes for, from the last on: more of them at its end
        // change no file that counts.
        let sound = checked.is_clean() && checked.notes.is_empty();
        for bytes in data.rchunks(QUERY).take(QUERIES) {
            query::ask(&array, bytes, sound);
        }
        let _ = (array.metadata(), array.non_empty_domain());
        for enumeration in &array.schema().enumerations {
            let _ = array.enumeration(&enumeration.name);
        }
    }
    let _ = history(MemoryStorage::new(files.clone()), None);
    let places = Arc::new(MemoryStorage::new(files));
    if let Ok(group) = options.open_group_in(places, "") {
        let _ = (group.walk(), group.metadata());
    }
}

/// Reads a condition's text, and a list of aggregates. What is accepted is shown as text that means
/// the same, and what is not is refused at a place in the text.
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

/// Reads the description of a query. What is accepted is written as the same bytes, and what it
/// names is not in an empty storage.
pub fn query_description(data: &[u8]) {
    let Ok(description) = QueryDescription::from_bytes(data) else { return };
    let written = description.to_bytes();
    assert_same(&QueryDescription::from_bytes(&written), &Ok::<_, tdb_array::Error>(description.clone()));
    assert!(description.open_storage(OpenOptions::new().threads(1), MemoryStorage::default()).is_err());
}
