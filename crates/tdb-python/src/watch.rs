//! Calls without the interpreter's lock, which Ctrl-C ends.
//!
//! Python handles signals on its main thread, between two instructions: while a call into Rust runs
//! there, Ctrl-C waits. So the thread that called looks for signals itself, whenever it asks the
//! storage for something. If a signal raised an exception, this and all further requests of the
//! call fail, and the call ends with that exception.

use std::cell::RefCell;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use pyo3::prelude::*;
use tdb_array::storage::{ByteRange, Entry, FetchHints, Reply, Request, Storage, StoredFile, Tally};

use crate::errors::Failure;

/// How often signals are looked for.
const INTERVAL: Duration = Duration::from_millis(20);

/// The call that runs on this thread.
struct Call {
    /// When signals were last looked for.
    looked: Instant,
    /// The exception that a signal raised.
    raised: Option<PyErr>,
}

thread_local! {
    static CALL: RefCell<Option<Call>> = const { RefCell::new(None) };
}

/// Runs `work` without the interpreter's lock.
pub(crate) fn run<T: Send, E: Into<Failure> + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, E> + Send,
) -> PyResult<T> {
    let before = CALL.replace(Some(Call { looked: Instant::now(), raised: None }));
    let result = py.detach(work);
    match CALL.replace(before).and_then(|call| call.raised) {
        Some(raised) => {
            // A call inside of another one, such as the batches that a write takes from a read,
            // ends that one, too.
            CALL.with_borrow_mut(|outer| {
                if let Some(outer) = outer {
                    outer.raised = Some(raised.clone_ref(py));
                }
            });
            Err(raised)
        }
        None => result.map_err(|error| error.into().into()),
    }
}

/// Fails if a signal raised an exception in the call of this thread.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "the method alone has one lifetime, and any is needed"
)]
pub(crate) fn look() -> io::Result<()> {
    let interrupted = || Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted"));
    let due = CALL.with_borrow_mut(|call| match call {
        Some(Call { raised: Some(_), .. }) => Some(true),
        Some(call) if call.looked.elapsed() >= INTERVAL => {
            call.looked = Instant::now();
            Some(false)
        }
        _ => None,
    });
    match due {
        None => return Ok(()),
        Some(true) => return interrupted(),
        Some(false) => {}
    }
    // A handler of signals may call this module again, so nothing is borrowed here.
    let Err(raised) = Python::attach(|py| py.check_signals()) else { return Ok(()) };
    CALL.with_borrow_mut(|call| {
        if let Some(call) = call {
            call.raised = Some(raised);
        }
    });
    interrupted()
}

/// A storage whose requests fail once a signal has raised an exception.
#[derive(Clone, Debug)]
pub(crate) struct Watched<S>(pub(crate) S);

#[deny(clippy::missing_trait_methods)]
impl<S: Storage> Storage for Watched<S> {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        look()?;
        self.0.list(folder)
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        look()?;
        self.0.size(key)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        look()?;
        self.0.read(key)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        look()?;
        self.0.read_tail(key, max)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        look()?;
        self.0.read_into(key, offset, out)
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        look()?;
        let file = self.0.open(key)?;
        Ok(file.map(|file| -> Box<dyn StoredFile + '_> { Box::new(WatchedFile(file)) }))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        look()?;
        self.0.read_ranges(ranges)
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        match look() {
            Ok(()) => self.0.fetch(requests),
            Err(error) => requests.iter().map(|_| Err(error.kind().into())).collect(),
        }
    }

    fn hints(&self) -> Option<FetchHints> {
        self.0.hints()
    }

    fn describe(&self, key: &str) -> String {
        self.0.describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        let storage = self.0.with_tally(tally)?;
        Some(Box::new(Watched(Arc::<dyn Storage>::from(storage))))
    }
}

/// A file whose reads fail once a signal has raised an exception.
#[derive(Debug)]
struct WatchedFile<'s>(Box<dyn StoredFile + 's>);

impl StoredFile for WatchedFile<'_> {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        look()?;
        self.0.read_into(offset, out)
    }

    fn will_need(&self, range: &core::ops::Range<u64>) -> bool {
        self.0.will_need(range)
    }
}
