//! Tests of steps that are repeated.

use super::*;
use crate::MemoryStorage;
use core::pin::pin;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::task::Context;

/// Files whose answers come at a later poll.
#[derive(Debug)]
struct Later(Immediate<MemoryStorage>, AtomicUsize);

impl AsyncStorage for Later {
    fn fetch(&self, requests: Vec<Request>) -> Fetching {
        self.1.fetch_add(1, Ordering::Relaxed);
        let fetching = self.0.fetch(requests);
        Box::pin(async move {
            yielded().await;
            fetching.await
        })
    }

    fn describe(&self, key: &str) -> String {
        key.to_owned()
    }
}

fn later() -> (Arc<Later>, Arc<ReplayStorage>) {
    let memory = MemoryStorage::new([("a/x", &b"0123456789"[..]), ("a/y", &b"abc"[..])]);
    let later = Arc::new(Later(Immediate::new(memory), AtomicUsize::new(0)));
    let replay_storage = Arc::new(ReplayStorage::new(later.clone(), Arc::default()));
    (later, replay_storage)
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
}

/// A step that reads a file whose name is stored in another file.
fn step(replay_storage: &mut (Arc<ReplayStorage>, usize)) -> io::Result<Bytes> {
    replay_storage.1 += 1;
    let (_, last) = replay_storage.0.read_tail("a/x", 1)?;
    let both = ["a/y", "a/z"].map(|key| Request::range(key, 0..u64::from(last[0] - b'6')));
    let mut replies = replay_storage.0.fetch(&both).into_iter();
    let found = replies.next().unwrap()?.into_bytes();
    assert_eq!(replies.next().unwrap().unwrap_err().kind(), io::ErrorKind::NotFound);
    found
}

#[test]
fn a_step_is_taken_again_once_for_each_round_of_answers() {
    let (later, replay_storage) = later();
    let ((_, steps), found) =
        block_on(replay(&replay_storage, None, (replay_storage.clone(), 0), step)).unwrap();
    assert_eq!((&*found.unwrap(), steps, later.1.load(Ordering::Relaxed)), (&b"abc"[..], 3, 2));
    assert!(replay_storage.log().answers.is_empty(), "nothing is held for the next step");
}

#[test]
fn who_lists_twice_sees_what_changed() {
    let (later, replay_storage) = later();
    let step = |replay_storage: &mut Arc<ReplayStorage>| {
        Ok::<_, io::Error>([replay_storage.list("a")?, replay_storage.list("a")?])
    };
    let (_, found) = block_on(replay(&replay_storage, None, replay_storage.clone(), step)).unwrap();
    assert_eq!((found.unwrap().map(|list| list.len()), later.1.load(Ordering::Relaxed)), ([2, 2], 2));
}

#[test]
fn outside_a_future_the_error_says_what_to_call() {
    let (_, replay_storage) = later();
    let error = replay_storage.size("a/x").unwrap_err();
    assert!(error.kind() == io::ErrorKind::WouldBlock && error.to_string().contains("_async"), "{error}");
}

#[derive(Debug)]
struct Threads(bool);

impl Spawn for Threads {
    fn spawn(&self, job: Box<dyn FnOnce() + Send>) {
        if self.0 {
            std::thread::spawn(job);
        }
    }
}

#[test]
fn a_spawner_runs_the_steps_and_its_loss_is_an_error() {
    for runs in [true, false] {
        let (_, replay_storage) = later();
        let spawner: Arc<dyn Spawn> = Arc::new(Threads(runs));
        let done = block_on(replay(&replay_storage, Some(&spawner), (replay_storage.clone(), 0), step));
        match done {
            Ok((_, found)) => assert_eq!((runs, &*found.unwrap()), (true, &b"abc"[..])),
            Err(error) => assert!(!runs && error.to_string().contains("dropped"), "{error}"),
        }
    }
}
