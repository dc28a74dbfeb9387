//! Asynchronous storages, and synchronous code that runs on them by replay.
//!
//! Code that opens an array or runs a query knows nothing of futures. On an [`AsyncStorage`] it
//! runs as a step that is repeated as often as needed ([`replay`]). Each request is looked up among
//! the answers received so far ([`ReplayStorage`]). If one is missing, the step fails; all requests
//! so far are sent together, and the step runs again from its beginning, without the stages that
//! were finished (`stages`). Nothing blocks, and dropping the future cancels the requests.

mod exchange;
mod stages;

use core::fmt::Debug;
use core::future::Future;
use core::pin::Pin;
use core::task::{Poll, Waker};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tdb_codec::to_u64;

use self::stages::StageLog;
use crate::stats::Counters;
use crate::{ByteRange, Entry, FetchHints, Reply, Request, Storage, StoredFile, Tally, error_again};

pub use self::exchange::{Exchange, Fault, HostStorage, Wanted};
pub use self::stages::{StageNumber, StageResult};

/// The answers to some requests, in the order of the requests, once they have arrived.
pub type Fetching = Pin<Box<dyn Future<Output = Vec<io::Result<Reply>>> + Send>>;

/// Read access to the files of one array for callers that must not block. Keys are those of
/// [`Storage`].
pub trait AsyncStorage: Debug + Send + Sync {
    /// Answers many requests, in the order given. If one fails, the others are still answered.
    /// Dropping the future cancels them.
    fn fetch(&self, requests: Vec<Request>) -> Fetching;

    /// The best way to group requests.
    fn hints(&self) -> FetchHints {
        FetchHints::OBJECT_STORE
    }

    /// The text of a key for users.
    fn describe(&self, key: &str) -> String;

    /// The same storage, but it reports to `tally` what it answers from a cache, and which requests
    /// it repeats; `None` if it does neither (the default).
    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Arc<dyn AsyncStorage>> {
        let _ = tally;
        None
    }
}

/// A storage shared by several openings.
#[deny(clippy::missing_trait_methods)]
impl<S: AsyncStorage + ?Sized> AsyncStorage for Arc<S> {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        (**self).fetch(requests)
    }

    fn hints(&self) -> FetchHints {
        (**self).hints()
    }

    fn describe(&self, key: &str) -> String {
        (**self).describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Arc<dyn AsyncStorage>> {
        (**self).with_tally(tally)
    }
}

/// Runs CPU-heavy work, such as decoding, where it does not delay other tasks: on a pool of threads
/// for blocking work, for instance.
pub trait Spawn: Debug + Send + Sync {
    /// Runs a job soon. If the job is dropped instead, its query fails.
    fn spawn(&self, job: Box<dyn FnOnce() + Send>);
}

/// A storage that has every answer immediately, for asynchronous callers: for instance one in
/// memory.
#[derive(Clone, Debug)]
pub struct Immediate<S>(Arc<S>);

impl<S: Storage> Immediate<S> {
    /// Answers from `storage`. It is called while the future is polled, so its calls must not take
    /// long.
    pub fn new(storage: S) -> Self {
        Self(Arc::new(storage))
    }
}

impl<S: Storage + 'static> AsyncStorage for Immediate<S> {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        let storage = self.0.clone();
        Box::pin(async move { storage.fetch(&requests) })
    }

    fn hints(&self) -> FetchHints {
        self.0.hints().unwrap_or(FetchHints::OBJECT_STORE)
    }

    fn describe(&self, key: &str) -> String {
        self.0.describe(key)
    }

    fn with_tally(&self, tally: &Arc<dyn Tally>) -> Option<Arc<dyn AsyncStorage>> {
        let storage: Arc<dyn Storage> = self.0.with_tally(tally)?.into();
        Some(Arc::new(Immediate::new(storage)))
    }
}

/// An [`AsyncStorage`] as the [`Storage`] of one step: it has the answers received so far, and
/// fails if one is missing.
#[derive(Debug)]
pub struct ReplayStorage {
    storage: Arc<dyn AsyncStorage>,
    counters: Arc<Counters>,
    log: Mutex<AnswerLog>,
    stages: StageLog,
}

/// An answer that can be returned again.
type Answer = Result<Reply, Arc<io::Error>>;

#[derive(Debug, Default)]
struct AnswerLog {
    /// The answers to each request, in the order it was made: a caller that lists a folder twice
    /// wants to see what changed.
    answers: HashMap<Request, Vec<Answer>>,
    /// The number of times that the step has made each request so far.
    asked: HashMap<Request, usize>,
    /// The first requests of the step that are not answered yet.
    wanted: Vec<Request>,
}

impl ReplayStorage {
    /// The storage of a step that has not run yet.
    pub fn new(storage: Arc<dyn AsyncStorage>, counters: Arc<Counters>) -> Self {
        let tally: Arc<dyn Tally> = counters.clone();
        let storage = storage.with_tally(&tally).unwrap_or(storage);
        Self { storage, counters, log: Mutex::default(), stages: StageLog::default() }
    }

    /// The same storage for another step.
    #[must_use]
    pub fn anew(&self) -> Self {
        Self::new(self.storage.clone(), self.counters.clone())
    }

    fn log(&self) -> MutexGuard<'_, AnswerLog> {
        // No code that can panic runs while this is locked.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the step made a request that is not answered yet, so that its result is not valid.
    pub fn is_waiting(&self) -> bool {
        !self.log().wanted.is_empty()
    }

    /// Fails if a step has to wait for an answer.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`].
    pub fn check(&self) -> io::Result<()> {
        if self.stages.is_in_step() && self.is_waiting() { Err(waiting()) } else { Ok(()) }
    }

    /// The next stage of the step, and its result if it is finished. `None` outside of a step,
    /// where nothing is repeated.
    pub fn next_stage(&self) -> Option<(StageNumber, Option<StageResult>)> {
        self.stages.next()
    }

    /// Records the result of a stage, for which nothing was missing.
    pub fn finish_stage(&self, number: StageNumber, result: StageResult) {
        self.stages.record(number, result);
    }

    /// Drops the answers and the results of stages: if the step runs again, it begins at this
    /// place. Whoever calls this sees to that.
    pub fn checkpoint(&self) {
        *self.log() = AnswerLog::default();
        self.stages.clear();
    }

    /// The step starts again from its beginning.
    fn begin(&self) {
        let mut log = self.log();
        log.asked.clear();
        log.wanted.clear();
        drop(log);
        self.stages.rewind();
    }

    fn answered(&self, requests: Vec<Request>, replies: Vec<io::Result<Reply>>) {
        self.counters.round();
        let mut log = self.log();
        let missing = core::iter::repeat_with(|| Err(io::ErrorKind::UnexpectedEof.into()));
        for (request, reply) in requests.into_iter().zip(replies.into_iter().chain(missing)) {
            self.counters.request(reply.as_ref().map_or(0, Reply::len));
            let answer = match reply {
                // The error that asks for waiting must not be returned as an answer.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    Err(Arc::new(io::Error::other(error.to_string())))
                }
                reply => reply.map_err(Arc::new),
            };
            log.answers.entry(request).or_default().push(answer);
        }
    }

    fn ask(&self, request: Request) -> io::Result<Reply> {
        self.fetch(core::slice::from_ref(&request)).pop().unwrap_or_else(|| Err(waiting()))
    }
}

/// The error of a step that cannot continue before its requests are answered.
fn waiting() -> io::Error {
    let why = "the array was opened for asynchronous callers: await the method whose name ends in _async";
    io::Error::new(io::ErrorKind::WouldBlock, why)
}

#[deny(clippy::missing_trait_methods)]
impl Storage for ReplayStorage {
    fn list(&self, folder: &str) -> io::Result<Vec<Entry>> {
        self.ask(Request::List(folder.to_owned()))?.into_entries()
    }

    fn size(&self, key: &str) -> io::Result<u64> {
        self.read_tail(key, 0).map(|(size, _)| size)
    }

    fn read(&self, key: &str) -> io::Result<Bytes> {
        self.read_tail(key, u64::MAX).map(|(_, bytes)| bytes)
    }

    fn read_tail(&self, key: &str, max: u64) -> io::Result<(u64, Bytes)> {
        self.ask(Request::Tail(key.to_owned(), max))?.into_tail()
    }

    fn read_into(&self, key: &str, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let range = offset..offset.saturating_add(to_u64(out.len()));
        self.ask(Request::range(key, range))?.copy_into(out)
    }

    fn open(&self, _: &str) -> io::Result<Option<Box<dyn StoredFile + '_>>> {
        Ok(None)
    }

    fn read_ranges(&self, ranges: &[ByteRange]) -> io::Result<Vec<Bytes>> {
        let requests: Vec<Request> = ranges.iter().cloned().map(Request::Range).collect();
        self.fetch(&requests).into_iter().map(|reply| reply?.into_bytes()).collect()
    }

    fn fetch(&self, requests: &[Request]) -> Vec<io::Result<Reply>> {
        let log = &mut *self.log();
        // After a request without an answer, the step may ask for other things than it will once
        // the answer is known.
        let first = log.wanted.is_empty();
        let mut answer = |request: &Request| {
            let asked = log.asked.entry(request.clone()).or_default();
            let answers = log.answers.get(request).map_or(&[][..], Vec::as_slice);
            let known = answers.get(*asked).cloned();
            *asked = asked.saturating_add(1);
            known.map_or_else(
                || {
                    if first {
                        log.wanted.push(request.clone());
                    }
                    Err(waiting())
                },
                |known| known.map_err(|error| error_again(&error)),
            )
        };
        requests.iter().map(&mut answer).collect()
    }

    fn hints(&self) -> Option<FetchHints> {
        Some(self.storage.hints())
    }

    fn describe(&self, key: &str) -> String {
        self.storage.describe(key)
    }

    /// The storage behind this one already has its tally.
    fn with_tally(&self, _: &Arc<dyn Tally>) -> Option<Box<dyn Storage>> {
        None
    }
}

/// Runs a step, whose reads `replay_storage` answers, again and again until all its requests are
/// answered: then its result is valid. Each run gets `carried`, and must do the same with it each
/// time. With `spawner`, the step runs there; without, while the future is polled.
///
/// # Errors
/// If the spawner drops a step.
pub async fn replay<C: Send + 'static, T: Send + 'static>(
    replay_storage: &Arc<ReplayStorage>,
    spawner: Option<&Arc<dyn Spawn>>,
    mut carried: C,
    step: fn(&mut C) -> T,
) -> io::Result<(C, T)> {
    loop {
        replay_storage.begin();
        let result;
        (carried, result) = match spawner {
            None => {
                let result = step(&mut carried);
                (carried, result)
            }
            Some(spawner) => {
                spawned(&**spawner, move || {
                    let result = step(&mut carried);
                    (carried, result)
                })
                .await?
            }
        };
        let requests = core::mem::take(&mut replay_storage.log().wanted);
        if requests.is_empty() {
            *replay_storage.log() = AnswerLog::default();
            replay_storage.stages.end();
            return Ok((carried, result));
        }
        drop(result);
        let replies = replay_storage.storage.fetch(requests.clone()).await;
        replay_storage.answered(requests, replies);
    }
}

/// The result of a job, and the waker of the task that waits for it.
struct JobSlot<T> {
    result: Option<T>,
    gone: bool,
    waker: Option<Waker>,
}

/// Reports that no result will come, if there is none yet.
struct Job<T>(Arc<Mutex<JobSlot<T>>>);

impl<T> Drop for Job<T> {
    fn drop(&mut self) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        slot.gone = true;
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

/// The result of a job that a spawner runs.
///
/// # Errors
/// If the spawner drops the job.
pub async fn spawned<T: Send + 'static>(
    spawner: &dyn Spawn,
    run: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let slot = Arc::new(Mutex::new(JobSlot { result: None, gone: false, waker: None }));
    let job = Job(slot.clone());
    spawner.spawn(Box::new(move || {
        let result = run();
        job.0.lock().unwrap_or_else(PoisonError::into_inner).result = Some(result);
    }));
    core::future::poll_fn(move |context| {
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        match slot.result.take() {
            Some(result) if slot.gone => Poll::Ready(Ok(result)),
            None if slot.gone => {
                Poll::Ready(Err(io::Error::other("the spawner dropped a job of this query")))
            }
            unfinished => {
                slot.result = unfinished;
                slot.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    })
    .await
}

/// Lets other tasks run: pending once.
pub async fn yielded() {
    let mut before = false;
    core::future::poll_fn(move |context| {
        if core::mem::replace(&mut before, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests;
