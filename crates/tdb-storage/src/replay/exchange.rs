//! A storage whose files a host fetches: what is wanted of it, and what has arrived. The host is a
//! program around a WebAssembly module, which can wait for nothing itself.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use super::{AsyncStorage, Fetching};
use crate::{FetchHints, Manifest, OutdatedManifest, Reply, Request};

/// A part of a file that the host should fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The number under which the host gives it.
    pub id: u32,
    /// The key of the file.
    pub key: String,
    /// The first byte.
    pub start: u64,
    /// The byte after the last one.
    pub end: u64,
    /// The size of the whole file according to the listing.
    pub size: u64,
}

/// What the host gave: bytes, and the size that the server says the file has.
#[derive(Debug)]
struct Arrived {
    bytes: Bytes,
    size: Option<u64>,
}

#[derive(Debug, Default)]
struct State {
    last: u32,
    /// What the host was not told yet.
    wanted: Vec<Wanted>,
    /// What is awaited: `None` until it has arrived.
    awaited: HashMap<u32, Option<io::Result<Arrived>>>,
}

/// The requests of all arrays, and their answers.
#[derive(Debug, Default)]
pub struct Exchange(Mutex<State>);

impl Exchange {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs while this is locked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was asked for since the last call.
    pub fn take_wanted(&self) -> Vec<Wanted> {
        core::mem::take(&mut self.state().wanted)
    }

    /// Gives bytes that were wanted. They are dropped if nobody waits for them any more.
    pub fn give(&self, id: u32, bytes: Vec<u8>, size: Option<u64>) {
        self.answer(id, Ok(Arrived { bytes: bytes.into(), size }));
    }

    /// Says that what was wanted cannot be had, and why; whether because there is no such file.
    pub fn fail(&self, id: u32, is_missing: bool, why: String) {
        let kind = if is_missing { io::ErrorKind::NotFound } else { io::ErrorKind::Other };
        self.answer(id, Err(io::Error::new(kind, why)));
    }

    fn answer(&self, id: u32, answer: io::Result<Arrived>) {
        if let Some(awaited) = self.state().awaited.get_mut(&id) {
            *awaited = Some(answer);
        }
    }

    fn ask(&self, key: &str, start: u64, end: u64, size: u64) -> u32 {
        let mut state = self.state();
        let id = state.last.wrapping_add(1);
        state.last = id;
        state.awaited.insert(id, None);
        state.wanted.push(Wanted { id, key: key.to_owned(), start, end, size });
        id
    }
}

/// The files of one array, which the host fetches. Which there are, and how long they are, is
/// known.
#[derive(Clone)]
pub struct HostStorage {
    exchange: Arc<Exchange>,
    manifest: Arc<Manifest>,
    /// The URL of the folder, for messages.
    url: Arc<str>,
    hints: FetchHints,
}

impl core::fmt::Debug for HostStorage {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("HostStorage").field("url", &self.url).finish_non_exhaustive()
    }
}

impl HostStorage {
    /// The files that a manifest names, below a URL, and the best way to group requests for them.
    pub const fn new(
        exchange: Arc<Exchange>,
        manifest: Arc<Manifest>,
        url: Arc<str>,
        hints: FetchHints,
    ) -> Self {
        Self { exchange, manifest, url, hints }
    }

    /// The answer to a request if it is known, or the number of the part of a file that is wanted.
    fn ask(&self, request: &Request) -> io::Result<Answer> {
        let (key, range) = match request {
            Request::List(folder) => return Ok(Answer::Known(Reply::Entries(self.manifest.listed(folder)?))),
            Request::Tail(key, max) => {
                let size = self.manifest.known(key)?;
                (key, size.saturating_sub(*max)..size)
            }
            Request::Range(range) => (&range.key, range.range.clone()),
        };
        let size = self.manifest.known(key)?;
        if range.end > size {
            let what = format!("byte {} is wanted of a file of {size} bytes", range.end);
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
        }
        if range.is_empty() {
            return Ok(Answer::Known(reply(request, Bytes::new(), size)));
        }
        Ok(Answer::Asked(self.exchange.ask(key, range.start, range.end, size)))
    }

    fn arrived(&self, request: &Request, arrived: io::Result<Arrived>) -> io::Result<Reply> {
        let key = request.key();
        let Arrived { bytes, size } = arrived.map_err(|error| self.manifest.explained(key, error))?;
        if let Some(size) = size {
            self.manifest.check_size(key, size)?;
        }
        request.checked(reply(request, bytes, self.manifest.known(key)?))
    }
}

fn reply(request: &Request, bytes: Bytes, size: u64) -> Reply {
    if matches!(request, Request::Tail(..)) { Reply::Tail(size, bytes) } else { Reply::Bytes(bytes) }
}

enum Answer {
    Known(Reply),
    Asked(u32),
}

/// Waits until the host has given everything that was asked for.
struct Waiting {
    storage: HostStorage,
    asked: Vec<(Request, io::Result<Answer>)>,
}

impl Waiting {
    fn ids(&self) -> impl Iterator<Item = u32> {
        self.asked.iter().filter_map(|(_, answer)| match answer {
            Ok(Answer::Asked(id)) => Some(*id),
            _ => None,
        })
    }
}

impl Future for Waiting {
    type Output = Vec<io::Result<Reply>>;

    // No waker: the host polls again after it has given something.
    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        let state = self.storage.exchange.state();
        if self.ids().any(|id| matches!(state.awaited.get(&id), Some(None))) {
            return Poll::Pending;
        }
        drop(state);
        let asked = core::mem::take(&mut self.asked);
        let replies = asked.into_iter().map(|(request, answer)| match answer? {
            Answer::Known(reply) => Ok(reply),
            Answer::Asked(id) => {
                let arrived = self.storage.exchange.state().awaited.remove(&id).flatten();
                self.storage
                    .arrived(&request, arrived.unwrap_or_else(|| Err(io::ErrorKind::UnexpectedEof.into())))
            }
        });
        Poll::Ready(replies.collect())
    }
}

/// A query that ends early leaves nothing behind.
impl Drop for Waiting {
    fn drop(&mut self) {
        let mut state = self.storage.exchange.state();
        for id in self.ids() {
            state.awaited.remove(&id);
            state.wanted.retain(|wanted| wanted.id != id);
        }
    }
}

impl AsyncStorage for HostStorage {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        let asked = requests.into_iter().map(|request| {
            let answer = self.ask(&request);
            (request, answer)
        });
        let asked = asked.collect();
        Box::pin(Waiting { storage: self.clone(), asked })
    }

    fn hints(&self) -> FetchHints {
        self.hints
    }

    fn describe(&self, key: &str) -> String {
        if key.is_empty() { self.url.to_string() } else { format!("{}/{key}", self.url) }
    }
}

/// What kind of fault an error of a storage is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Something is not there.
    Missing,
    /// The listing is older than the files.
    Outdated,
    /// A file ends too early, or is not what its name says.
    Damaged,
    /// The storage could not be read.
    Unreadable,
}

impl Fault {
    /// The fault of an error.
    #[must_use]
    pub fn of(error: &io::Error) -> Self {
        match error.kind() {
            _ if OutdatedManifest::of(error).is_some() => Self::Outdated,
            io::ErrorKind::NotFound => Self::Missing,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData => Self::Damaged,
            _ => Self::Unreadable,
        }
    }
}

#[cfg(test)]
mod tests {
    use core::task::Waker;

    use super::*;

    fn storage() -> (Arc<Exchange>, HostStorage) {
        let mut manifest = Manifest::new(7);
        manifest.add_file("a/x", 6).unwrap();
        manifest.add_file("a/empty", 0).unwrap();
        let exchange = Arc::<Exchange>::default();
        let hints = FetchHints::OBJECT_STORE;
        (exchange.clone(), HostStorage::new(exchange, Arc::new(manifest), "http://host".into(), hints))
    }

    fn poll(fetching: &mut Fetching) -> Option<Vec<io::Result<Reply>>> {
        match fetching.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(replies) => Some(replies),
            Poll::Pending => None,
        }
    }

    #[test]
    fn what_the_listing_says_is_not_asked_for() {
        let (exchange, storage) = storage();
        let requests = vec![
            Request::List("a".to_owned()),
            Request::whole("a/empty"),
            Request::Tail("a/x".to_owned(), 0),
            Request::whole("a/y"),
            Request::range("a/x", 4..7),
        ];
        let replies = poll(&mut storage.fetch(requests)).unwrap();
        assert_eq!(exchange.take_wanted(), []);
        let kinds: Vec<_> = replies.iter().map(|reply| reply.as_ref().err().map(Fault::of)).collect();
        assert_eq!(kinds, [None, None, None, Some(Fault::Missing), Some(Fault::Damaged)]);
        assert!(matches!(replies[2], Ok(Reply::Tail(6, _))));
    }

    #[test]
    fn a_fetch_ends_when_everything_has_arrived_and_checks_it() {
        let (exchange, storage) = storage();
        let requests = vec![Request::Tail("a/x".to_owned(), 2), Request::range("a/x", 0..3)];
        let mut fetching = storage.fetch(requests.clone());
        let wanted = exchange.take_wanted();
        let ranges: Vec<_> = wanted.iter().map(|part| (part.start, part.end, part.size)).collect();
        assert_eq!(ranges, [(4, 6, 6), (0, 3, 6)]);
        assert!(poll(&mut fetching).is_none());
        exchange.give(wanted[0].id, b"ef".to_vec(), Some(6));
        assert!(poll(&mut fetching).is_none());
        exchange.give(wanted[1].id, b"abc".to_vec(), None);
        let replies = poll(&mut fetching).unwrap();
        assert!(matches!(&replies[0], Ok(Reply::Tail(6, bytes)) if &bytes[..] == b"ef"));
        assert!(matches!(&replies[1], Ok(Reply::Bytes(bytes)) if &bytes[..] == b"abc"));

        let mut fetching = storage.fetch(requests);
        let wanted = exchange.take_wanted();
        exchange.give(wanted[0].id, b"ef".to_vec(), Some(9));
        exchange.give(wanted[1].id, b"ab".to_vec(), None);
        let faults: Vec<_> =
            poll(&mut fetching).unwrap().into_iter().map(|reply| Fault::of(&reply.unwrap_err())).collect();
        assert_eq!(faults, [Fault::Outdated, Fault::Damaged]);
    }

    #[test]
    fn a_failure_says_why_and_a_listed_file_that_is_gone_makes_the_listing_old() {
        let (exchange, storage) = storage();
        let mut fetching = storage.fetch(vec![Request::whole("a/x"), Request::range("a/x", 1..2)]);
        let wanted = exchange.take_wanted();
        exchange.fail(wanted[0].id, true, String::new());
        exchange.fail(wanted[1].id, false, "HTTP 500".to_owned());
        let errors: Vec<_> = poll(&mut fetching).unwrap().into_iter().map(Result::unwrap_err).collect();
        assert_eq!(errors.iter().map(Fault::of).collect::<Vec<_>>(), [Fault::Outdated, Fault::Unreadable]);
        assert_eq!(errors[1].to_string(), "HTTP 500");
    }

    #[test]
    fn what_is_left_is_wanted_no_longer() {
        let (exchange, storage) = storage();
        drop(storage.fetch(vec![Request::whole("a/x")]));
        assert_eq!(exchange.take_wanted(), []);
        let left = storage.fetch(vec![Request::whole("a/x")]);
        let id = exchange.take_wanted()[0].id;
        drop(left);
        exchange.give(id, b"abcdef".to_vec(), None);
        assert!(exchange.state().awaited.is_empty());
    }
}
