//! A storage whose calls fail according to a plan.

use core::sync::atomic::{AtomicU64, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use bytes::Bytes;

use super::{Call, CallKind, Fault, Faults};
use crate::{
    ByteRange, Durability, Entry, FetchHints, FileVersion, FileWriter, Reply, Request, Storage, StorageLock,
    StoredFile, Tally, WriteStorage, named,
};

/// Wraps another storage; its calls fail, are cut short or take long according to a plan
/// ([`Faults`]). It records its calls.
///
/// ```
/// use std::io::ErrorKind;
/// use std::sync::Arc;
/// use tdb_array::OpenOptions;
/// use tdb_array::storage::LocalStorage;
/// use tdb_array::storage::testing::{Fault, Faults, FaultyStorage};
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
/// let storage = Arc::new(FaultyStorage::new(LocalStorage::new(path)));
/// let array = OpenOptions::new().open_storage(storage.clone())?;
/// storage.set(Faults::read(0, Fault::Fail(ErrorKind::TimedOut)));
/// assert!(array.read().collect().is_err());
/// // The fault is over, and the array works as before.
/// assert_eq!(array.read().collect()?.len(), 16);
/// # Ok::<(), tdb_array::Error>(())
/// ```
#[derive(Debug)]
pub struct FaultyStorage<S> {
    storage: S,
    hints: Option<FetchHints>,
    has_locks: bool,
    state: Mutex<State>,
    faults: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    plan: Faults,
    /// Reads and changes so far.
    reads: u64,
    changes: u64,
    calls: Vec<Call>,
}

impl<S: Storage> FaultyStorage<S> {
    /// A storage without faults so far.
    pub fn new(storage: S) -> Self {
        let hints = storage.hints();
        Self { storage, hints, has_locks: true, state: Mutex::default(), faults: AtomicU64::new(0) }
    }

    /// The same with a plan.
    #[must_use]
    pub fn with(self, plan: Faults) -> Self {
        self.set(plan);
        self
    }

    /// The same with other hints on how to make requests together, or with none.
    #[must_use]
    pub const fn with_hints(mut self, hints: Option<FetchHints>) -> Self {
        self.hints = hints;
        self
    }

    /// The same without locks ([`StorageLock::none`]).
    #[must_use]
    pub const fn without_locks(mut self) -> Self {
        self.has_locks = false;
        self
    }

    /// Follows another plan from now on, and counts calls from 0 again.
    pub fn set(&self, plan: Faults) {
        let mut state = self.state();
        *state = State { plan, ..State::default() };
        self.faults.store(0, Ordering::Relaxed);
    }

    /// The storage that has no faults.
    pub const fn inner(&self) -> &S {
        &self.storage
    }

    /// The number of calls that failed, were cut short or were delayed since the plan was set.
    pub fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }

    /// The calls since the plan was set.
    pub fn calls(&self) -> Vec<Call> {
        self.state().calls.clone()
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        // A plan that panics means that the test has failed anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fault(&self, kind: CallKind, key: &str) -> Option<Fault> {
        let mut state = self.state();
        let (reads, changes) = (state.reads, state.changes);
        let (of_sort, count) =
            if kind.is_change() { (changes, &mut state.changes) } else { (reads, &mut state.reads) };
        *count = count.saturating_add(1);
        let call = Call::new(kind, key.to_owned(), reads.saturating_add(changes), of_sort);
        let fault = state.plan.of(&call);
        state.calls.push(call);
        drop(state);
        if fault.is_some() {
            self.faults.fetch_add(1, Ordering::Relaxed);
        }
        match fault {
            Some(Fault::Delay(time)) => {
                pause(time);
                None
            }
            fault => fault,
        }
    }

    /// Runs an operation that either happens or does not.
    fn run<R>(&self, kind: CallKind, key: &str, run: impl FnOnce(&S) -> io::Result<R>) -> io::Result<R> {
        whole(self.fault(kind, key), || run(&self.storage))
    }

    /// Runs an operation whose reply can be cut.
    fn cut<R>(
        &self,
        kind: CallKind,
        key: &str,
        read: impl FnOnce(&S) -> io::Result<R>,
        cut: impl FnOnce(R, usize) -> R,
    ) -> io::Result<R> {
        match self.fault(kind, key) {
            Some(Fault::Short(bytes)) => read(&self.storage).map(|reply| cut(reply, bytes)),
            fault => whole(fault, || read(&self.storage)),
        }
    }

    /// Applies the faults of many requests, which are then made together; a lost reply is `None`.
    fn each(&self, requests: &[Request]) -> Vec<Option<io::Result<Reply>>> {
        let kind = |request: &Request| match request {
            Request::List(_) => CallKind::List,
            Request::Tail(..) => CallKind::ReadTail,
            Request::Range(_) => CallKind::ReadRange,
        };
        let faults: Vec<Option<Fault>> =
            requests.iter().map(|request| self.fault(kind(request), request.key())).collect();
        let replies = self.storage.fetch(requests);
        let faulty = |(reply, fault): (io::Result<Reply>, Option<Fault>)| match fault {
            Some(Fault::Lost) => None,
            Some(Fault::Short(bytes)) => Some(reply.and_then(|reply| short_reply(reply, bytes))),
            fault => Some(whole(fault, || reply)),
        };
        replies.into_iter().zip(faults).map(faulty).collect()
    }
}

fn pause(time: Duration) {
    if !time.is_zero() {
        thread::sleep(time);
    }
}

/// Runs an operation whose reply cannot be cut.
fn whole<R>(fault: Option<Fault>, run: impl FnOnce() -> io::Result<R>) -> io::Result<R> {
    match fault {
        None | Some(Fault::Delay(_)) => run(),
        Some(Fault::Fail(kind)) => Err(injected(kind)),
        Some(Fault::FailAfter(kind)) => run().and_then(|_| Err(injected(kind))),
        Some(Fault::Short(_) | Fault::Lost) => Err(injected(io::ErrorKind::UnexpectedEof)),
    }
}

fn injected(kind: io::ErrorKind) -> io::Error {
    io::Error::new(kind, "a fault requested by the test")
}

/// Bytes without the last ones.
fn short(bytes: &Bytes, by: usize) -> Bytes {
    bytes.slice(..bytes.len().saturating_sub(by))
}

fn short_reply(reply: Reply, by: usize) -> io::Result<Reply> {
    match reply {
        Reply::Entries(_) => Err(injected(io::ErrorKind::UnexpectedEof)),
        Reply::Tail(size, bytes) => Ok(Reply::Tail(size, short(&bytes, by))),
        Reply::Bytes(bytes) => Ok(Reply::Bytes(short(&bytes, by))),
    }
}

/// Fills a buffer, except for the bytes that a fault omits.
fn fill(fault: Option<Fault>, out: &mut [u8], read: impl Fn(&mut [u8]) -> io::Result<()>) -> io::Result<()> {
    if let Some(Fault::Short(by)) = fault {
        let there = out.len().saturating_sub(by);
        let (there, _) = out.split_at_mut(there);
        read(there)?;
    }
    whole(fault, || read(out))
}

#[deny(clippy::missing_trait_methods)]
impl<S: Storage> Storage for FaultyStorage<S> {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.run(CallKind::List, folder, |storage| storage.list(folder))
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        self.run(CallKind::Size, key, |storage| storage.size(key))
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.cut(CallKind::Read, key, |storage| storage.read(key), |bytes, by| short(&bytes, by))
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        let cut = |(size, bytes): (u64, Bytes), by| (size, short(&bytes, by));
        self.cut(CallKind::ReadTail, key, |storage| storage.read_tail(key, max), cut)
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        fill(self.fault(CallKind::ReadInto, key), out, |out| self.storage.read_into(key, offset, out))
    }

    fn open(&self, key: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        let file = whole(self.fault(CallKind::Open, key), || self.storage.open(key))?;
        let faulty = |file| -> Box<dyn StoredFile + '_> {
            Box::new(FaultyFile { file, storage: self, key: key.to_owned() })
        };
        // If requests are to be made together, no file is cheap to open.
        Ok(file.filter(|_| self.hints.is_none()).map(faulty))
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let requests: Vec<Request> = ranges.iter().cloned().map(Request::Range).collect();
        self.each(&requests).into_iter().flatten().map(|reply| reply?.into_bytes()).collect()
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        self.each(requests).into_iter().flatten().collect()
    }

    fn hints(&self) -> Option<FetchHints> {
        self.hints
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// A storage with a tally would bypass the faults.
    fn with_tally(&self, _: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        None
    }
}

#[derive(Debug)]
struct FaultyFile<'a, S> {
    file: Box<dyn StoredFile + 'a>,
    storage: &'a FaultyStorage<S>,
    key: String,
}

impl<S: Storage> StoredFile for FaultyFile<'_, S> {
    fn read_into(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let fault = self.storage.fault(CallKind::ReadInto, &self.key);
        fill(fault, out, |out| self.file.read_into(offset, out))
    }
}

#[derive(Debug)]
struct FaultyWriter<'a, S> {
    file: Box<dyn FileWriter + 'a>,
    storage: &'a FaultyStorage<S>,
    key: String,
}

impl<S: Storage> FileWriter for FaultyWriter<'_, S> {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let fault = self.storage.fault(CallKind::Append, &self.key);
        if let Some(Fault::Short(by)) = fault {
            let (there, _) = bytes.split_at(bytes.len().saturating_sub(by));
            self.file.append(there)?;
        }
        whole(fault, || self.file.append(bytes))
    }

    fn end(&mut self) {
        self.file.end();
    }

    fn finish(self: Box<Self>, durability: Durability) -> io::Result<()> {
        let Self { file, storage, key } = *self;
        whole(storage.fault(CallKind::Finish, &key), || file.finish(durability))
    }
}

#[deny(clippy::missing_trait_methods)]
impl<S: WriteStorage> WriteStorage for FaultyStorage<S> {
    fn list_named(&self, folder: &str, beginning: &str) -> io::Result<Vec<Entry>> {
        named(self.list(folder), beginning)
    }

    fn has_folders(&self) -> bool {
        self.storage.has_folders()
    }

    fn create_folder(&self, key: &str) -> io::Result<()> {
        self.run(CallKind::CreateFolder, key, |storage| storage.create_folder(key))
    }

    fn create_file(&self, key: &str) -> io::Result<Box<dyn FileWriter + '_>> {
        let fault = self.fault(CallKind::CreateFile, key);
        let file = whole(fault, || self.storage.create_file(key))?;
        Ok(Box::new(FaultyWriter { file, storage: self, key: key.to_owned() }))
    }

    fn put_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.run(CallKind::PutFile, key, |storage| storage.put_file(key, bytes, durability))
    }

    fn read_versioned(&self, key: &str) -> io::Result<(Bytes, FileVersion)> {
        self.run(CallKind::ReadVersioned, key, |storage| storage.read_versioned(key))
    }

    fn swap_file(
        &self,
        key: &str,
        expected: Option<&FileVersion>,
        bytes: &[u8],
        durability: Durability,
    ) -> io::Result<FileVersion> {
        self.run(CallKind::SwapFile, key, |storage| storage.swap_file(key, expected, bytes, durability))
    }

    fn replace_file(&self, key: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.run(CallKind::ReplaceFile, key, |storage| storage.replace_file(key, bytes, durability))
    }

    fn lock(&self) -> io::Result<StorageLock> {
        let has_locks = self.has_locks;
        self.run(
            CallKind::Lock,
            "",
            |storage| {
                if has_locks { storage.lock() } else { Ok(StorageLock::none()) }
            },
        )
    }

    fn sync_folder(&self, key: &str) -> io::Result<()> {
        self.run(CallKind::SyncFolder, key, |storage| storage.sync_folder(key))
    }

    fn remove_file(&self, key: &str) -> io::Result<()> {
        self.run(CallKind::RemoveFile, key, |storage| storage.remove_file(key))
    }

    fn remove_folder(&self, key: &str) -> io::Result<()> {
        self.run(CallKind::RemoveFolder, key, |storage| storage.remove_folder(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStorage;

    fn storage(plan: Faults) -> FaultyStorage<MemoryStorage> {
        FaultyStorage::new(MemoryStorage::new([("a", &b"12345678"[..])])).with(plan)
    }

    fn requests() -> Vec<Request> {
        vec![Request::range("a", 0..4), Request::whole("a"), Request::List(String::new())]
    }

    #[test]
    fn one_of_many_requests_fails_is_cut_or_lost_and_the_others_are_answered() {
        let replies = |fault| storage(Faults::read(1, fault)).fetch(&requests());
        let failed = replies(Fault::Fail(io::ErrorKind::TimedOut));
        assert!(failed.len() == 3 && failed[0].is_ok() && failed[2].is_ok());
        assert_eq!(failed[1].as_ref().unwrap_err().kind(), io::ErrorKind::TimedOut);
        let cut = replies(Fault::Short(3));
        assert!(matches!(cut[1], Ok(Reply::Tail(8, ref bytes)) if bytes == "12345"));
        assert_eq!(replies(Fault::Lost).len(), 2);
    }

    #[test]
    fn a_change_that_fails_afterwards_was_made_and_one_that_fails_was_not() {
        let kind = io::ErrorKind::TimedOut;
        for (fault, made) in [(Fault::Fail(kind), false), (Fault::FailAfter(kind), true)] {
            let storage = storage(Faults::change(0, fault));
            assert_eq!(storage.put_file("b", b"1", Durability::Synced).unwrap_err().kind(), kind);
            assert_eq!(storage.size("b").is_ok(), made);
            storage.put_file("c", b"1", Durability::Synced).unwrap();
            assert_eq!(storage.faults(), 1);
        }
    }

    #[test]
    fn what_is_cut_short_is_an_error_where_nobody_could_notice() {
        let storage = storage(Faults::first(4, Fault::Short(1)));
        let mut out = [0; 4];
        let error = storage.read_into("a", 0, &mut out).unwrap_err();
        assert_eq!((error.kind(), out), (io::ErrorKind::UnexpectedEof, *b"123\0"));
        let mut file = storage.create_file("b").unwrap_err().kind();
        assert_eq!(file, io::ErrorKind::UnexpectedEof);
        file = storage.list("").unwrap_err().kind();
        assert_eq!(file, io::ErrorKind::UnexpectedEof);
        assert_eq!(&storage.read("a").unwrap()[..], b"1234567");
        assert_eq!(&storage.read("a").unwrap()[..], b"12345678", "the first four are over");
        let kinds: Vec<CallKind> = storage.calls().into_iter().map(|call| call.kind).collect();
        assert_eq!(
            kinds,
            [CallKind::ReadInto, CallKind::CreateFile, CallKind::List, CallKind::Read, CallKind::Read]
        );
    }

    #[test]
    fn a_seed_fails_the_same_calls_in_every_run() {
        let failed = |seed| {
            let storage = storage(Faults::random(seed, 4, [Fault::Fail(io::ErrorKind::TimedOut)]));
            (0..400).map(|_| storage.size("a").is_err()).collect::<Vec<bool>>()
        };
        let first = failed(1);
        assert_eq!(first, failed(1));
        assert_ne!(first, failed(2));
        let count = first.iter().filter(|failed| **failed).count();
        assert!((60..140).contains(&count), "{count}");
    }
}
