//! A cache in front of one storage: which requests it answers, and which other answers it stores.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use tdb_storage::other_answer;
use tdb_storage::{Reply, Request, Tally};

use crate::cache::Cache;
use crate::origin::{FileId, Origin};
use crate::segment::{Segment, Wanted};

/// A cache, the origin of a storage's files, and the receiver of reports on what the cache answers.
#[derive(Clone, Debug)]
pub(crate) struct Front {
    cache: Cache,
    origin: Origin,
    tally: Option<Arc<dyn Tally>>,
}

/// The answers of a cache to the requests of a call.
#[derive(Debug)]
pub(crate) struct Asked {
    requests: Vec<Request>,
    /// In the order of the requests.
    replies: Vec<Option<Reply>>,
}

impl Asked {
    /// The requests that are left for the storage, in order.
    pub(crate) fn misses(&self) -> Vec<Request> {
        let unanswered = self.requests.iter().zip(&self.replies).filter(|(_, reply)| reply.is_none());
        unanswered.map(|(request, _)| request.clone()).collect()
    }
}

impl Front {
    pub(crate) const fn new(cache: Cache, origin: Origin) -> Self {
        Self { cache, origin, tally: None }
    }

    /// The same, but it reports what it answers.
    pub(crate) fn with_tally(&self, tally: &Arc<dyn Tally>) -> Self {
        Self { tally: Some(tally.clone()), ..self.clone() }
    }

    /// The file of a request and the part that it wants, if that may be cached.
    fn kept(&self, request: &Request) -> Option<(FileId, Wanted)> {
        let wanted = Wanted::of(request)?;
        let key = request.key();
        self.cache.keeps(key).then(|| (self.origin.file(key), wanted))
    }

    /// Answers as many requests of a call as possible.
    pub(crate) fn ask(&self, requests: Vec<Request>) -> Asked {
        let mut listed: HashMap<FileId, Option<Vec<Segment>>> = HashMap::new();
        let (mut hits, mut bytes, mut misses) = (0usize, 0usize, 0usize);
        let mut answer = |request: &Request| {
            let (file, wanted) = self.kept(request)?;
            let found = self.cache.find(&file, &wanted, listed.entry(file).or_default());
            let reply = found.and_then(|(segment, bytes)| segment.reply(&wanted, &bytes));
            match &reply {
                Some(reply) => {
                    hits = hits.saturating_add(1);
                    bytes = bytes.saturating_add(reply.len());
                }
                None => misses = misses.saturating_add(1),
            }
            reply
        };
        let replies: Vec<Option<Reply>> = requests.iter().map(&mut answer).collect();
        self.cache.count(hits, bytes, misses);
        if let Some(tally) = self.tally.as_ref().filter(|_| hits > 0) {
            tally.kept(hits, bytes, hits == requests.len());
        }
        Asked { requests, replies }
    }

    /// Answers one request.
    pub(crate) fn ask_one(&self, request: &Request) -> Option<Reply> {
        self.kept(request)?;
        self.ask(vec![request.clone()]).replies.pop().flatten()
    }

    /// All answers of a call, in the order of its requests, including those of the storage, which
    /// are cached if they may be.
    pub(crate) fn complete(&self, asked: Asked, answers: Vec<io::Result<Reply>>) -> Vec<io::Result<Reply>> {
        let Asked { requests, replies } = asked;
        let left = replies.iter().filter(|reply| reply.is_none()).count();
        if answers.len() != left {
            // It is unknown which reply is missing.
            return replies.into_iter().map(|reply| reply.ok_or_else(other_answer)).collect();
        }
        let mut answers = answers.into_iter();
        let mut complete = |(request, reply): (Request, Option<Reply>)| {
            if let Some(reply) = reply {
                return Ok(reply);
            }
            let answer = answers.next().unwrap_or_else(|| Err(other_answer()))?;
            self.keep(&request, &answer);
            Ok(answer)
        };
        requests.into_iter().zip(replies).map(&mut complete).collect()
    }

    /// Caches an answer of the storage, if it may be cached.
    pub(crate) fn keep(&self, request: &Request, reply: &Reply) {
        let Some((file, _)) = self.kept(request) else { return };
        // If an answer is too short or for another request, the caller reports that.
        let Ok(reply) = request.checked(reply.clone()) else { return };
        if let Some((segment, bytes)) = Segment::of(request, &reply) {
            self.cache.keep(&file, &segment, &bytes);
        }
    }

    /// Caches what was read into a caller's buffer.
    pub(crate) fn keep_read(&self, request: &Request, read: &[u8]) {
        if self.kept(request).is_some() {
            self.keep(request, &Reply::Bytes(Bytes::copy_from_slice(read)));
        }
    }

    /// Removes a file that is about to be written or removed.
    pub(crate) fn forget(&self, key: &str) {
        if self.cache.keeps(key) {
            self.cache.forget(&self.origin.file(key));
        }
    }
}
