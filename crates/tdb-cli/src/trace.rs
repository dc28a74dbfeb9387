//! `-v`: what the command asks of storages, call by call, on standard error; `-vv`: also what the
//! client of object stores says. No other library is listened to: some print whole URLs, with what
//! is secret in them.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use clap::{ArgAction, Args as Group};
use tdb_array::group::Places;
use tdb_array::storage::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, Reply, Request, Storage, StorageLock,
    StoredFile, Tally, WriteStorage, without_secrets,
};
use tracing::{Level, debug, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The name under which calls of storages are reported.
const TARGET: &str = "tdb::storage";

/// How much to say of what the command does.
#[derive(Clone, Copy, Debug, Default, Group)]
pub(crate) struct VerboseArgs {
    /// Say on standard error what is read and written: each call of a storage, with its bytes and
    /// its time. What the cache answers is told too. Twice: also what the client of object stores
    /// says.
    #[arg(short, long, action = ArgAction::Count, global = true)]
    verbose: u8,
}

impl VerboseArgs {
    /// Whether calls of storages are reported.
    pub(crate) const fn is_on(self) -> bool {
        self.verbose > 0
    }

    /// Begins to report, if that was asked for. A process reports as its first command asked.
    pub(crate) fn begin(self) {
        let targets = Targets::new().with_target(TARGET, Level::DEBUG);
        let targets = match self.verbose {
            0 => return,
            1 => targets,
            _ => targets.with_target("object_store", Level::TRACE),
        };
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(|| WithoutSecrets(io::stderr()))
            .with_ansi(false)
            .with_timer(tracing_subscriber::fmt::time::uptime());
        let _ = tracing_subscriber::registry().with(targets).with(lines).try_init();
    }
}

/// Writes reports without the secrets in URLs. Each report is written in one call.
#[derive(Debug)]
struct WithoutSecrets<W>(W);

impl<W: Write> Write for WithoutSecrets<W> {
    fn write(&mut self, report: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(report);
        self.0.write_all(without_secrets(&text).as_bytes())?;
        Ok(report.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Places whose storages report their calls.
#[derive(Debug)]
pub(crate) struct TracedPlaces<P>(pub(crate) P);

impl<P: Places> Places for TracedPlaces<P> {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        let storage = self.0.storage(location)?;
        Some(Box::new(Traced(Arc::<dyn Storage>::from(storage))))
    }

    fn identity(&self, location: &str) -> String {
        self.0.identity(location)
    }
}

/// A storage that reports its calls.
#[derive(Debug)]
pub(crate) struct Traced<S>(pub(crate) S);

/// Reports a call: what was done with which file, how many bytes came or went, how long it took.
fn report<T>(
    what: &'static str,
    file: &str,
    call: impl FnOnce() -> io::Result<T>,
    bytes: impl FnOnce(&T) -> usize,
) -> io::Result<T> {
    let begun = Instant::now();
    let result = call();
    let time = begun.elapsed();
    match &result {
        Ok(value) => {
            let bytes = Some(bytes(value)).filter(|bytes| *bytes > 0);
            debug!(target: TARGET, bytes, ?time, "{what} {file}");
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            debug!(target: TARGET, ?time, "{what} {file}: not found");
        }
        Err(error) => warn!(target: TARGET, ?time, "{what} {file}: {error}"),
    }
    result
}

/// A request in words.
fn shown<S: Storage>(storage: &S, request: &Request) -> String {
    let file = storage.describe(request.key());
    match request {
        Request::List(_) => format!("list {file}"),
        Request::Tail(_, u64::MAX) => format!("read {file}"),
        Request::Tail(_, most) => format!("read at most {most} bytes of the end of {file}"),
        Request::Range(ByteRange { range, .. }) => {
            format!("read {file}, bytes {}..{}", range.start, range.end)
        }
        _ => format!("read {file}"),
    }
}

/// Reports requests that were made at once, which took this time together.
fn report_all<S: Storage, T>(
    storage: &S,
    requests: &[Request],
    begun: Instant,
    outcome: impl Fn(usize) -> Option<Result<usize, T>>,
) where
    T: core::fmt::Display,
{
    let (count, time) = (requests.len(), begun.elapsed());
    debug!(target: TARGET, ?time, "{count} requests at once");
    for (at, request) in requests.iter().enumerate() {
        match outcome(at) {
            Some(Err(error)) => debug!(target: TARGET, "- {}: {error}", shown(storage, request)),
            Some(Ok(bytes)) => debug!(target: TARGET, bytes, "- {}", shown(storage, request)),
            None => debug!(target: TARGET, "- {}", shown(storage, request)),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: Storage> Storage for Traced<S> {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        report("list", &self.0.describe(folder), || self.0.list(folder), |_| 0)
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        report("size of", &self.0.describe(key), || self.0.size(key), |_| 0)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        report("read", &self.0.describe(key), || self.0.read(key), Bytes::len)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        report(
            "read the end of",
            &self.0.describe(key),
            || self.0.read_tail(key, max),
            |(_, bytes)| bytes.len(),
        )
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (what, len) = (format!("{}, from byte {offset}", self.0.describe(key)), out.len());
        report("read", &what, || self.0.read_into(key, offset, out), |()| len)
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        let file = self.0.describe(key);
        let opened = report("open", &file, || self.0.open(key), |_| 0)?;
        Ok(opened.map(|inner| -> Box<dyn StoredFile + '_> { Box::new(TracedFile { inner, file }) }))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let requests: Vec<Request> = ranges.iter().cloned().map(Request::Range).collect();
        let begun = Instant::now();
        let read = self.0.read_ranges(ranges);
        let outcome = |at: usize| match &read {
            Ok(read) => read.get(at).map(|bytes| Ok(bytes.len())),
            Err(error) => Some(Err(error)),
        };
        report_all(&self.0, &requests, begun, outcome);
        read
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let begun = Instant::now();
        let replies = self.0.fetch(requests);
        let outcome = |at: usize| replies.get(at).map(|reply| reply.as_ref().map(Reply::len));
        report_all(&self.0, requests, begun, outcome);
        replies
    }

    fn hints(&self) -> Option<FetchHints> {
        self.0.hints()
    }

    fn describe(&self, key: &str) -> String {
        self.0.describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        let storage = self.0.with_tally(tally)?;
        Some(Box::new(Traced(Arc::<dyn Storage>::from(storage))))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: WriteStorage> WriteStorage for Traced<S> {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        let what = self.0.describe(&format!("{folder}/{beginning}*"));
        report("list", &what, || self.0.list_named(folder, beginning), |_| 0)
    }

    fn has_folders(&self) -> bool {
        self.0.has_folders()
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        report("create folder", &self.0.describe(key), || self.0.create_folder(key), |()| 0)
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        let file = self.0.describe(key);
        let inner = report("create", &file, || self.0.create_file(key), |_| 0)?;
        Ok(Box::new(TracedWriter { inner, file, bytes: 0 }))
    }

    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        report("put", &self.0.describe(key), || self.0.put_file(key, bytes, durability), |()| bytes.len())
    }

    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        report("read", &self.0.describe(key), || self.0.read_versioned(key), |(bytes, _)| bytes.len())
    }

    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        let swap = || self.0.swap_file(key, expected, bytes, durability);
        report("swap", &self.0.describe(key), swap, |_| bytes.len())
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        let replace = || self.0.replace_file(key, bytes, durability);
        report("replace", &self.0.describe(key), replace, |()| bytes.len())
    }

    fn lock(&self) -> io::Result<StorageLock> {
        report("lock", &self.0.describe(""), || self.0.lock(), |_| 0)
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        report("sync", &self.0.describe(key), || self.0.sync_folder(key), |()| 0)
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        report("remove", &self.0.describe(key), || self.0.remove_file(key), |()| 0)
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        report("remove folder", &self.0.describe(key), || self.0.remove_folder(key), |()| 0)
    }
}

/// An open file that reports its reads.
#[derive(Debug)]
struct TracedFile<'s> {
    inner: Box<dyn StoredFile + 's>,
    file: String,
}

impl StoredFile for TracedFile<'_> {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (what, len) = (format!("{}, from byte {offset}", self.file), out.len());
        report("read", &what, || self.inner.read_into(offset, out), |()| len)
    }

    fn will_need(&self, range: &core::ops::Range<u64>) -> bool {
        self.inner.will_need(range)
    }
}

/// A file that reports when it is finished.
#[derive(Debug)]
struct TracedWriter<'s> {
    inner: Box<dyn FileWriter + 's>,
    file: String,
    bytes: usize,
}

#[deny(clippy::missing_trait_methods)]
impl FileWriter for TracedWriter<'_> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes = self.bytes.saturating_add(bytes.len());
        self.inner.append(bytes)
    }

    fn end(&mut self) {
        self.inner.end();
    }

    fn finish(self: Box<Self>, durability: Durability) -> io::Result<()> {
        let Self { inner, file, bytes } = *self;
        report("finish", &file, || inner.finish(durability), |()| bytes)
    }
}
