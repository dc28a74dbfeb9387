//! Helpers for several tests of reads.
#![allow(
    dead_code,
    clippy::unwrap_used,
    reason = "no test uses all of it, and a test that panics has failed"
)]

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::{Cells, Column, WriteColumn};

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// Folders of all fixtures that are arrays, not encrypted, and readable.
pub(crate) fn arrays() -> Vec<(String, PathBuf)> {
    let manifest = fs::read(fixtures().join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let entries = manifest.as_array().unwrap().iter();
    entries
        .filter(|entry| entry["key"].is_null() && entry["object"].is_null())
        .map(|entry| entry["id"].as_str().unwrap().to_owned())
        .map(|id| (id.clone(), fixtures().join("arrays").join(id)))
        .collect()
}

/// A cell of every column, as text.
pub(crate) fn row(cells: &Cells, cell: usize) -> String {
    let text = |column: &Column| {
        if column.is_null(cell) { "null".to_owned() } else { format!("{:?}", column.cell(cell).unwrap()) }
    };
    cells.columns().iter().map(text).collect::<Vec<_>>().join(" ")
}

/// Strings as a column to write.
pub(crate) struct Strings {
    values: Vec<u8>,
    offsets: Vec<u64>,
}

impl Strings {
    pub(crate) fn new(strings: impl IntoIterator<Item = String>) -> Self {
        let (mut values, mut offsets) = (Vec::new(), vec![0]);
        for string in strings {
            values.extend(string.bytes());
            offsets.push(u64::try_from(values.len()).unwrap());
        }
        Self { values, offsets }
    }

    pub(crate) fn column<'a>(&'a self, name: &'a str) -> WriteColumn<'a> {
        WriteColumn::var(name, &self.values, &self.offsets)
    }
}

/// Polls a future until it is ready: an executor without threads.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for polls in 0u64.. {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(done) => return done,
            // Only a thread of a spawner makes it wait for long.
            Poll::Pending if polls > 1000 => std::thread::yield_now(),
            Poll::Pending => {}
        }
    }
    unreachable!("it polls for ever");
}
