//! Writers, readers and a maintainer use one array of a server at the same time: every cell must be
//! there exactly once.

use core::ops::ControlFlow;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io;
use std::time::Instant;

use tdb_array::error::WriteError;
use tdb_array::maintain::{Consolidation, Stored, Vacuum, verify};
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::{Array, Error, OpenOptions, WriteColumn, WriteOptions};
use tdb_object_store::{ObjectStorage, open};

use super::said;
use crate::servers::Server;

const WRITERS: usize = 8;
const READERS: usize = 4;
/// Number of cells of a write.
const CELLS: i32 = 12;

/// The data that all threads share.
struct Crowd<'a> {
    server: &'a Server,
    until: Instant,
    /// Number of writes that each writer has finished.
    done: [AtomicI64; WRITERS],
    reads: AtomicU64,
    maintenances: AtomicU64,
}

/// Runs them for the given number of seconds; returns what they did.
pub(super) fn crowd(server: &Server, seconds: u64) -> Result<String, String> {
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("writer", 0i32..=7).with_tile(4i32))
        .dimension(Dimension::new("write", 0i64..=1 << 40).with_tile(1000i64))
        .dimension(Dimension::new("cell", 0i32..=99).with_tile(10i32))
        .attribute(Attribute::new("a", Datatype::Int64, CellValNum::ONE))
        .capacity(100)
        .build()
        .map_err(said)?;
    let crowd = Crowd {
        server,
        until: Instant::now() + Duration::from_secs(seconds),
        done: core::array::from_fn(|_| AtomicI64::new(0)),
        reads: AtomicU64::new(0),
        maintenances: AtomicU64::new(0),
    };
    WriteOptions::new().create_storage(&crowd.storage()?, &schema).map_err(said)?;
    std::thread::scope(|scope| {
        let crowd = &crowd;
        let mut threads: Vec<_> =
            (0..WRITERS).map(|writer| scope.spawn(move || crowd.write(writer))).collect();
        threads.extend((0..READERS).map(|_| scope.spawn(move || crowd.read())));
        threads.push(scope.spawn(move || crowd.maintain()));
        threads
            .into_iter()
            .try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
    })?;
    let array = OpenOptions::new().open_storage(crowd.storage()?).map_err(said)?;
    let counts = crowd.check(&array, &crowd.before()).map_err(|error| error.to_string())??;
    if counts != crowd.before() {
        return Err(format!("{:?} writes were done, {counts:?} are there", crowd.before()));
    }
    let found = verify(crowd.storage()?);
    if !found.is_clean() {
        return Err(format!("verify: {:?}", found.problems));
    }
    Ok(format!(
        "{} writes of {WRITERS} writers, {} reads, {} maintenances in {seconds} s: every cell once",
        counts.iter().sum::<i64>(),
        crowd.reads.load(Ordering::Relaxed),
        crowd.maintenances.load(Ordering::Relaxed)
    ))
}

impl Crowd<'_> {
    fn storage(&self) -> Result<ObjectStorage, String> {
        open(&self.server.url("crowd"), self.server.options()).map_err(said)
    }

    fn goes_on(&self) -> bool {
        Instant::now() < self.until
    }

    fn before(&self) -> Vec<i64> {
        self.done.iter().map(|done| done.load(Ordering::SeqCst)).collect()
    }

    fn write(&self, writer: usize) -> Result<(), String> {
        let number = i32::try_from(writer).map_err(said)?;
        let done = self.done.get(writer).ok_or("there are as many counts as writers")?;
        while self.goes_on() {
            let write = done.load(Ordering::SeqCst);
            let count = usize::try_from(CELLS).map_err(said)?;
            let cells: Vec<i32> = (0..CELLS).collect();
            let a: Vec<i64> = cells.iter().map(|cell| value(number, write, *cell)).collect();
            let array = WriteOptions::new().threads(1).open_storage(self.storage()?).map_err(said)?;
            array
                .write()
                .order(tdb_array::Layout::Unordered)
                .column(WriteColumn::fixed("writer", &vec![number; count]))
                .column(WriteColumn::fixed("write", &vec![write; count]))
                .column(WriteColumn::fixed("cell", &cells))
                .column(WriteColumn::fixed("a", &a))
                .commit()
                .map_err(|error| format!("writer {writer}: {error}"))?;
            done.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    fn read(&self) -> Result<(), String> {
        while self.goes_on() {
            let before = self.before();
            let array = OpenOptions::new().threads(1).open_storage(self.storage()?);
            match array.and_then(|array| self.check(&array, &before)) {
                Ok(checked) => {
                    checked?;
                    self.reads.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(format!("reader: {error}")),
            }
        }
        Ok(())
    }

    /// Checks that each write is there completely and once, including all that were finished
    /// `before`; returns the number of writes of each writer.
    fn check(&self, array: &Array, before: &[i64]) -> tdb_array::Result<Result<Vec<i64>, String>> {
        let read = array.read().collect()?;
        let writer: &[i32] = read.field("writer")?.values()?;
        let write: &[i64] = read.field("write")?.values()?;
        let cell: &[i32] = read.field("cell")?.values()?;
        let a: &[i64] = read.field("a")?.values()?;
        let mut found: BTreeMap<(i32, i64), Vec<i32>> = BTreeMap::new();
        for (((writer, write), cell), a) in writer.iter().zip(write).zip(cell).zip(a) {
            if *a != value(*writer, *write, *cell) {
                return Ok(Err(format!("a cell of write {write} of writer {writer} that nobody wrote")));
            }
            found.entry((*writer, *write)).or_default().push(*cell);
        }
        let mut counts = vec![0i64; WRITERS];
        for ((writer, write), mut cells) in found {
            cells.sort_unstable();
            if !cells.iter().copied().eq(0..CELLS) {
                return Ok(Err(format!("write {write} of writer {writer} has cells {cells:?}")));
            }
            if let Some(count) = usize::try_from(writer).ok().and_then(|writer| counts.get_mut(writer)) {
                *count = count.saturating_add(1);
            }
        }
        match counts.iter().zip(before).any(|(count, before)| count < before) {
            true => Ok(Err(format!("{before:?} writes were done before, {counts:?} are there"))),
            false => Ok(Ok(counts)),
        }
    }

    fn maintain(&self) -> Result<(), String> {
        let kinds = [Stored::Fragments, Stored::Commits, Stored::Fragments, Stored::FragmentMetadata];
        for (turn, what) in kinds.iter().cycle().enumerate() {
            if !self.goes_on() {
                break;
            }
            let writer = WriteOptions::new().threads(1).open_storage(self.storage()?).map_err(said)?;
            let plan = match turn % 3 {
                0 | 1 => Consolidation::new(*what).counts(2, 20).plan(&writer),
                _ => Vacuum::new(*what).plan(&writer),
            };
            match plan.and_then(|plan| plan.run(&writer, &mut |_| ControlFlow::Continue(()))) {
                Ok(()) => drop(self.maintenances.fetch_add(1, Ordering::Relaxed)),
                Err(Error::Write(WriteError::Refused { .. })) => {}
                Err(error) if is_gone(&error) => {}
                Err(error) => return Err(format!("{what:?}: {error}")),
            }
        }
        Ok(())
    }
}

/// The value of a cell.
fn value(writer: i32, write: i64, cell: i32) -> i64 {
    write.wrapping_mul(1_000_003).wrapping_add(i64::from(writer) * 1009).wrapping_add(i64::from(cell))
}

/// Whether a vacuum removed files after the array was opened, so it must be opened again.
fn is_gone(error: &Error) -> bool {
    matches!(error, Error::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
}
