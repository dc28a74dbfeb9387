//! Rules for several threads that work on the same files at once.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use super::versions::versioned;
use super::writing::holds_bytes;
use super::{Broken, Outcome, SharedRule, broken, done, holds, offered, shown};
use crate::{Durability, WriteStorage};

const BUFFERED: Durability = Durability::Buffered;

/// The number of threads that race each other.
const RACERS: usize = 6;
/// The number of files, one for each race.
const RACES: usize = 8;
/// The number of times that each thread increments a counter.
const TURNS: usize = 6;
/// The time for which a thread must be seen to wait.
const WAITS: Duration = Duration::from_millis(150);
/// The maximum time of anything.
const LONG: Duration = Duration::from_secs(90);

pub(super) fn rules<S: WriteStorage + 'static>() -> Vec<SharedRule<Arc<S>>> {
    vec![
        ("if several callers put the same file at once, one succeeds and the others fail", |storage| {
            race(&storage, &storage)
        }),
        (
            "if several callers replace the same version at once, one succeeds and the others fail",
            |storage| count(&storage, &storage),
        ),
        ("if several callers create a file at once where none was expected, one succeeds", |storage| {
            race_for_none(&storage, &storage)
        }),
        (
            "a reader of a file that is being put or replaced sees all of it, old or new, or nothing",
            in_one_piece,
        ),
        ("one caller holds the lock, and the next gets it when the first releases it", |storage| {
            locked(&storage, &storage)
        }),
        ("only one caller at a time holds the lock", |storage| excluded(&storage, &storage)),
    ]
}

/// Runs one function on several threads at once, half of them with each storage; returns the result
/// of each.
fn at_once<S: WriteStorage, T: Send>(
    one: &Arc<S>,
    other: &Arc<S>,
    run: impl Fn(&S, usize) -> Outcome<T> + Sync,
) -> Outcome<Vec<T>> {
    let gate = Barrier::new(RACERS);
    let (gate, run) = (&gate, &run);
    thread::scope(|scope| {
        let racer = |number: usize| {
            let storage = if number.is_multiple_of(2) { one } else { other };
            scope.spawn(move || {
                gate.wait();
                run(storage, number)
            })
        };
        let threads: Vec<_> = (0..RACERS).map(racer).collect();
        let ended = threads.into_iter().map(|thread| match thread.join() {
            Ok(outcome) => outcome,
            Err(_) => broken("a thread panicked"),
        });
        ended.collect()
    })
}

/// Whether a call won: it lost if it failed because the file exists.
fn won<T>(what: &str, result: io::Result<T>) -> Outcome<bool> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        result => offered(what, result).map(|_| true),
    }
}

/// Checks that exactly one thread won each race, and that the file has its contents.
fn one_winner<S: WriteStorage>(
    one: &Arc<S>,
    other: &Arc<S>,
    make: impl Fn(&S, &str, &[u8], usize) -> Outcome<bool> + Sync,
) -> Outcome {
    done("making a folder", one.create_folder("a"))?;
    for race in 0..RACES {
        let key = format!("a/{race}");
        // Large enough that a partially written file is noticed.
        let content = |racer: usize| format!("{racer} ").repeat(if race == 0 { 0 } else { 5000 });
        let won =
            at_once(one, other, |storage, racer| make(storage, &key, content(racer).as_bytes(), racer))?;
        let winners: Vec<usize> =
            won.iter().enumerate().filter(|(_, won)| **won).map(|(racer, _)| racer).collect();
        let [winner] = *winners else {
            return broken(format!("{} of {RACERS} threads were told that they created it", winners.len()));
        };
        holds_bytes(&**other, &key, content(winner).as_bytes())?;
    }
    Ok(())
}

pub(super) fn race<S: WriteStorage>(one: &Arc<S>, other: &Arc<S>) -> Outcome {
    one_winner(one, other, |storage, key, bytes, _| {
        won("putting a file", storage.put_file(key, bytes, BUFFERED))
    })
}

pub(super) fn race_for_none<S: WriteStorage>(one: &Arc<S>, other: &Arc<S>) -> Outcome {
    one_winner(one, other, |storage, key, bytes, racer| {
        // Callers of `put_file` take part in the same race.
        let made = storage.swap_file(key, None, bytes, BUFFERED).map(drop);
        match made {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => Err(Broken::NotOffered),
            Err(error) if racer == 0 && error.kind() == io::ErrorKind::AlreadyExists => {
                won("putting a file", storage.put_file(key, bytes, BUFFERED))
            }
            made => won("making a file", made),
        }
    })
}

/// A counter that every thread increments, trying again whenever it is refused.
pub(super) fn count<S: WriteStorage>(one: &Arc<S>, other: &Arc<S>) -> Outcome {
    done("making a folder", one.create_folder("a"))?;
    offered("making a counter", one.swap_file("a/count", None, b"0", BUFFERED))?;
    at_once(one, other, |storage, _| {
        let mut added = 0;
        // Each refusal is another thread's success.
        for _ in 0..RACERS * TURNS * 20 {
            if added == TURNS {
                return Ok(());
            }
            let (bytes, version) = versioned(storage, "a/count")?;
            let text = String::from_utf8_lossy(&bytes);
            let Ok(number) = text.parse::<usize>() else { return broken(format!("the counter is {text:?}")) };
            let next = number.saturating_add(1).to_string();
            let swapped = storage.swap_file("a/count", Some(&version), next.as_bytes(), BUFFERED);
            added += usize::from(won("adding to a counter", swapped)?);
        }
        broken("a thread was always refused")
    })?;
    holds_bytes(&**other, "a/count", (RACERS * TURNS).to_string().as_bytes())
}

fn in_one_piece<S: WriteStorage>(storage: Arc<S>) -> Outcome {
    done("making a folder", storage.create_folder("a"))?;
    // Contents of many pages, so that a partial read is noticed.
    let content = |round: usize| vec![u8::try_from(round).unwrap_or(0); 100_000 + round * 7919];
    let over = AtomicBool::new(false);
    let (storage, over) = (&*storage, &over);
    thread::scope(|scope| {
        let reader = scope.spawn(move || {
            while !over.load(Ordering::Relaxed) {
                match storage.read("a/b") {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    read => {
                        let read = done("reading a file while it is replaced", read)?;
                        let whole = (0..12).any(|round| read == content(round));
                        holds(whole, || format!("{} bytes were read: {}", read.len(), shown(&read)))?;
                    }
                }
            }
            Ok(())
        });
        let written = (|| {
            offered("putting a file", storage.put_file("a/b", &content(0), BUFFERED))?;
            for round in 1..12 {
                offered("replacing a file", storage.replace_file("a/b", &content(round), BUFFERED))?;
            }
            Ok(())
        })();
        over.store(true, Ordering::Relaxed);
        let read = reader.join().unwrap_or_else(|_| broken("the thread that read panicked"));
        written.and(read)
    })
}

/// Takes the lock; or reports that there is none.
fn lock<S: WriteStorage>(storage: &S) -> Outcome<crate::StorageLock> {
    let lock = offered("taking the lock", storage.lock())?;
    if lock.is_none() { Err(Broken::NotOffered) } else { Ok(lock) }
}

pub(super) fn locked<S: WriteStorage + 'static>(one: &Arc<S>, other: &Arc<S>) -> Outcome {
    for _ in 0..2 {
        let held = lock(&**one)?;
        let (told, heard) = mpsc::channel();
        let waiting = other.clone();
        // Not a scoped thread: one that waits forever is left behind.
        let thread = thread::spawn(move || {
            let taken = lock(&*waiting).map(drop);
            let _ = told.send(());
            taken
        });
        if heard.recv_timeout(WAITS).is_ok() {
            let taken = thread.join().unwrap_or_else(|_| broken("a thread that took the lock panicked"));
            return taken.and_then(|()| broken("a second caller got the lock while the first held it"));
        }
        drop(held);
        if heard.recv_timeout(LONG).is_err() {
            return broken("the lock was released, but the caller that waited for it still does not have it");
        }
        thread.join().unwrap_or_else(|_| broken("a thread that took the lock panicked"))?;
    }
    // Nobody holds it any more.
    lock(&**one).map(drop)
}

pub(super) fn excluded<S: WriteStorage + 'static>(one: &Arc<S>, other: &Arc<S>) -> Outcome {
    let inside = AtomicUsize::new(0);
    at_once(one, other, |storage, _| {
        let held = lock(storage)?;
        let others = inside.fetch_add(1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(5));
        inside.fetch_sub(1, Ordering::SeqCst);
        drop(held);
        holds(others == 0, || "two callers hold the lock at once".to_owned())
    })
    .map(drop)
}
