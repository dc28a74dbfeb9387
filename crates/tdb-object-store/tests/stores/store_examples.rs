//! The example programs run and return the expected results.

#[path = "../../examples/many.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "the program measures time, which a test on a busy machine must not do"
)]
mod many;

#[path = "../../examples/stream.rs"]
#[expect(dead_code, unreachable_pub, reason = "the program takes its URL from the command line")]
mod stream;

use tdb_array::WriteOptions;
use tdb_array::storage::{MemoryStorage, Storage};

use crate::common::{fixtures, upload};
use crate::server::{Manners, Server};

#[test]
fn many_arrays_are_read_at_once_and_each_read_finds_all_cells() {
    let (arrays, cells) = (100, 2_000);
    let report = many::read_all(&many::written(arrays, cells).unwrap(), 3).unwrap();
    assert!(report.reads >= arrays, "{} reads", report.reads);
    assert_eq!(report.cells, report.reads * usize::try_from(cells).unwrap());
    assert_eq!(report.late.len(), 3);
}

#[test]
fn a_place_without_an_array_ends_the_program_with_an_error() {
    let nothing = many::read_all(
        &[std::sync::Arc::new(tdb_array::storage::Immediate::new(MemoryStorage::default()))],
        1,
    );
    assert!(nothing.is_err());
}

#[tokio::test]
async fn a_stream_counts_the_cells_of_a_url() {
    let (own, files) = (MemoryStorage::default(), MemoryStorage::default());
    upload(&fixtures().join("2.30.0/quickstart"), &own);
    WriteOptions::new().publish_storage(&own).unwrap();
    for key in own.keys() {
        files.insert(format!("a/{key}"), own.read(&key).unwrap());
    }
    let server = Server::start(files, Manners::default());
    assert_eq!(stream::cells(&format!("{}/a", server.url)).await.unwrap(), 16);
    assert!(stream::cells(&format!("{}/b", server.url)).await.is_err());
}
