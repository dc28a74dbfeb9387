//! Reads 100 arrays at once on a tokio runtime of two threads, and measures how long other tasks
//! have to wait.
//!
//! A timer task on the same runtime ticks every 10 ms. The program fails if more than one in 100
//! ticks is late by more than 50 ms.
//!
//! ```sh
//! cargo run --release -p tdb-object-store --example many
//! cargo run --release -p tdb-object-store --example many -- s3://bucket/array
//! ```
//!
//! Batches are decoded while they are polled, some milliseconds each. By default, a thread of tokio
//! checks which timers are due after it has polled 61 tasks: with 100 tasks that decode, that takes
//! some tenths of a second. So this program sets `event_interval` to check after each task.
//!
//! Without a URL it writes 100 arrays of 200,000 cells each into a store in memory. With a URL, 100
//! tasks read that array.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use object_store::memory::InMemory;
use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::AsyncStorage;
use tdb_array::{OpenOptions, WriteColumn, WriteOptions};
use tdb_object_store::{AwaitedStorage, Locations, ObjectStorage};
use tokio::runtime::Builder;
use tokio::time::{Instant, interval};

/// The result of a task.
type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

const ARRAYS: usize = 100;
const CELLS: i32 = 200_000;
const TICKS: usize = 300;
/// How many tasks a thread polls before it checks which timers are due.
const EVENT_INTERVAL: u32 = 1;
const TICK: Duration = Duration::from_millis(10);
const LATE: Duration = Duration::from_millis(50);

/// What was measured while all arrays were read.
pub struct Report {
    /// How often a whole array was read.
    pub reads: usize,
    /// The number of cells of all these reads.
    pub cells: usize,
    /// The delay of each tick, in ascending order.
    pub late: Vec<Duration>,
}

impl Report {
    /// The delay that this share of ticks (in percent) does not exceed.
    pub fn percentile(&self, share: usize) -> Duration {
        let place = (self.late.len() * share).div_ceil(100);
        self.late.get(place.saturating_sub(1)).copied().unwrap_or_default()
    }
}

/// Measures, prints, and checks the result.
pub fn main() -> Outcome<()> {
    let report = match std::env::args().nth(1) {
        Some(url) => read_all(&vec![Locations::new().awaited(&url)?; ARRAYS], TICKS)?,
        None => read_all(&written(ARRAYS, CELLS)?, TICKS)?,
    };
    let [median, most, worst] = [50, 99, 100].map(|share| report.percentile(share));
    println!("{} cells in {} reads of {ARRAYS} arrays", report.cells, report.reads);
    println!(
        "{} ticks, late by {median:.1?} (median), {most:.1?} (99 %), {worst:.1?} (worst)",
        report.late.len()
    );
    assert!(most <= LATE, "more than one in 100 ticks was late by more than {LATE:?}");
    Ok(())
}

/// Writes arrays into a store in memory. Every second one is sparse.
pub fn written(arrays: usize, cells: i32) -> Outcome<Vec<Arc<dyn AsyncStorage>>> {
    let store = Arc::new(InMemory::new());
    let filters = Pipeline::new(vec![Filter::ByteShuffle, Filter::zstd(3)?]);
    let mut storages: Vec<Arc<dyn AsyncStorage>> = Vec::new();
    for number in 0..arrays {
        let sparse = number % 2 == 1;
        let root = format!("arrays/{number}");
        let storage = ObjectStorage::new(store.clone(), &root)?;
        let schema = if sparse { ArraySchema::sparse() } else { ArraySchema::dense() }
            .dimension(
                Dimension::new("place", 0..=cells - 1)
                    .with_tile(10_000.min(cells))
                    .with_filters(filters.clone()),
            )
            .attribute(
                Attribute::new("value", Datatype::Float64, CellValNum::ONE).with_filters(filters.clone()),
            )
            .build()?;
        WriteOptions::new().create_storage(&storage, &schema)?;
        let places: Vec<i32> = (0..cells).collect();
        let values: Vec<f64> = places.iter().map(|&place| f64::from(place).sqrt()).collect();
        let writer = WriteOptions::new().open_storage(storage)?;
        let write = writer.write().column(WriteColumn::fixed("value", &values));
        if sparse {
            write.column(WriteColumn::fixed("place", &places))
        } else {
            write.range("place", 0..=cells - 1)
        }
        .commit()?;
        storages.push(Arc::new(AwaitedStorage::new(store.clone(), &root)?));
    }
    Ok(storages)
}

/// Reads all arrays at once, again and again until the timer has ticked `ticks` times.
pub fn read_all(storages: &[Arc<dyn AsyncStorage>], ticks: usize) -> Outcome<Report> {
    let runtime =
        Builder::new_multi_thread().worker_threads(2).event_interval(EVENT_INTERVAL).enable_all().build()?;
    runtime.block_on(async {
        let enough = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> =
            storages.iter().map(|storage| tokio::spawn(read(storage.clone(), enough.clone()))).collect();
        let ticking = tokio::spawn(async move {
            let mut interval = interval(TICK);
            let mut late = Vec::new();
            while late.len() < ticks {
                // The time at which the tick was due. A late tick does not move later ones.
                let due = interval.tick().await;
                late.push(Instant::now() - due);
            }
            enough.store(true, Ordering::Relaxed);
            late
        });
        let (mut reads, mut cells) = (0, 0);
        for reader in readers {
            let (some_reads, some_cells) = reader.await??;
            reads += some_reads;
            cells += some_cells;
        }
        let mut late = ticking.await?;
        late.sort_unstable();
        Ok(Report { reads, cells, late })
    })
}

/// Reads an array until `enough` is set; returns how often, and how many cells.
async fn read(storage: Arc<dyn AsyncStorage>, enough: Arc<AtomicBool>) -> Outcome<(usize, usize)> {
    let array = OpenOptions::new().open_async(storage).await?;
    let (mut reads, mut cells) = (0, 0);
    while reads == 0 || !enough.load(Ordering::Relaxed) {
        let mut batches = array.read().batches_async();
        while let Some(batch) = batches.next().await {
            cells += batch?.len();
        }
        reads += 1;
    }
    Ok((reads, cells))
}
