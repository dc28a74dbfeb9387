//! The cache in front of asynchronous storages.

use core::future::Future;
use core::pin::pin;
use core::task::{Context, Poll, Waker};
use std::sync::Arc;
use std::thread;

use tdb_storage::replay::ReplayStorage;
use tdb_storage::testing::FarStorage;
use tdb_storage::{AsyncStorage, Immediate, MemoryStorage, Request, Spawn, Storage, stats};

use super::{Folder, files, origin, said};
use crate::{Cache, CachedAsyncStorage};

type Far = Arc<FarStorage<MemoryStorage>>;

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
        thread::yield_now();
    }
}

/// Runs jobs on threads, or drops them.
#[derive(Debug)]
struct Threads(bool);

impl Spawn for Threads {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        if self.0 {
            thread::spawn(job);
        }
    }
}

fn far(cache: &Cache, runs: bool) -> (Far, CachedAsyncStorage<Immediate<Far>>) {
    let far = Arc::new(FarStorage::new(files(), core::time::Duration::ZERO));
    let storage = cache.over_awaited(Immediate::new(far.clone()), origin(), Some(Arc::new(Threads(runs))));
    (far, storage)
}

#[test]
fn what_the_cache_does_not_have_is_asked_for_in_one_call() {
    let folder = Folder::new();
    for cache in [Cache::memory(1 << 20), Cache::folder(folder.path(), 1 << 20)] {
        let (far, storage) = far(&cache.with_everything(), true);
        let known = [Request::range("a", 100..200), Request::whole("f/b")];
        block_on(storage.fetch(known.to_vec()));
        far.requests();
        let mixed = [
            Request::range("a", 120..130),
            Request::range("a", 1..2),
            Request::Tail("f/b".into(), 3),
            Request::whole("none"),
            Request::List("f".into()),
        ];
        assert_eq!(said(block_on(storage.fetch(mixed.to_vec()))), said(files().fetch(&mixed)));
        assert_eq!(
            (far.rounds(), far.requests()),
            (2, vec![mixed[1].clone(), mixed[3].clone(), mixed[4].clone()])
        );
        assert_eq!(said(block_on(storage.fetch(known.to_vec()))), said(files().fetch(&known)));
        assert_eq!(far.rounds(), 2);
    }
}

#[test]
fn the_loss_of_the_spawner_is_an_error_of_each_request() {
    let folder = Folder::new();
    let (far, storage) = far(&Cache::folder(folder.path(), 1 << 20).with_everything(), false);
    let answers = block_on(storage.fetch(vec![Request::whole("a"), Request::whole("f/b")]));
    assert!(answers.len() == 2 && answers.iter().all(Result::is_err), "{answers:?}");
    assert_eq!(far.rounds(), 0);
}

#[test]
fn what_the_cache_answers_is_no_request_and_no_round_in_statistics() {
    let (_, storage) = far(&Cache::memory(1 << 20).with_everything(), true);
    let asked = |storage: CachedAsyncStorage<Immediate<Far>>| {
        let counters = Arc::<stats::Counters>::default();
        let replay_storage = Arc::new(ReplayStorage::new(Arc::new(storage), counters.clone()));
        let step = |replay_storage: &mut Arc<ReplayStorage>| replay_storage.read_tail("f/b", 7);
        let (_, read) =
            block_on(tdb_storage::replay::replay(&replay_storage, None, replay_storage.clone(), step))
                .unwrap();
        assert_eq!(read.unwrap().0, 77);
        let stats = counters.stats();
        (stats.requests, stats.rounds, stats.bytes_read, stats.cache_hits, stats.cache_bytes)
    };
    assert_eq!(asked(storage.clone()), (1, 1, 7, 0, 0));
    assert_eq!(asked(storage), (0, 0, 0, 1, 7));
}
