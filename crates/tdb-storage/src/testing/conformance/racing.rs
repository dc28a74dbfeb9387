//! Rules of what several threads do to the same files at once.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use core::time::Duration;
use std::io;
use std::sync::{Arc, Barrier, mpsc};
use std::thread;

use super::versions::versioned;
use super::writing::holds_bytes;
use super::{Broken, Outcome, SharedRule, broken, done, holds, offered, shown};
use crate::storage::{Durability, WriteStorage};

const BUFFERED: Durability = Durability::Buffered;

/// Threads that race each other.
const RACERS: usize = 6;
/// Files that each race is about.
const RACES: usize = 8;
/// What each thread adds to a counter.
const TURNS: usize = 6;
/// How long somebody must be seen to wait.
const WAITS: Duration = Duration::from_millis(150);
/// How long anything may take.
const LONG: Duration = Duration::from_secs(90);

pub(super) fn rules<S: WriteStorage + 'static>() -> Vec<SharedRule<Arc<S>>> {
    vec![
        ("of several who put the same file at once one does, and the others are refused", |storage| {
            race(&storage, &storage)
        }),
        ("of several who replace the same version at once one does, and the others are refused", |storage| {
            count(&storage, &storage)
        }),
        ("of several who make a file where none was expected one does", |storage| {
            race_for_none(&storage, &storage)
        }),
        ("who reads a file while it is put or replaced sees all of it, old or new, or nothing", in_one_piece),
        ("one holds the lock, and the next has it when the first lets it go", |storage| {
            locked(&storage, &storage)
        }),
        ("the lock keeps apart what is done under it", |storage| excluded(&storage, &storage)),
    ]
}

/// Runs one function on several threads at once, half of them with either storage; what each gave.
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

/// Whether a call won: it lost if it was refused because there is a file.
fn won<T>(what: &str, result: io::Result<T>) -> Outcome<bool> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        result => offered(what, result).map(|_| true),
    }
}

/// That one of all won each race, and that the file is its.
fn one_winner<S: WriteStorage>(
    one: &Arc<S>,
    other: &Arc<S>,
    make: impl Fn(&S, &str, &[u8], usize) -> Outcome<bool> + Sync,
) -> Outcome {
    done("making a folder", one.create_folder("a"))?;
    for race in 0..RACES {
        let key = format!("a/{race}");
        // Large enough to be seen half written.
        let content = |racer: usize| format!("{racer} ").repeat(if race == 0 { 0 } else { 5000 });
        let won =
            at_once(one, other, |storage, racer| make(storage, &key, content(racer).as_bytes(), racer))?;
        let winners: Vec<usize> =
            won.iter().enumerate().filter(|(_, won)| **won).map(|(racer, _)| racer).collect();
        let [winner] = *winners else {
            return broken(format!("of {RACERS} threads {} were told that they made it", winners.len()));
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
        // Whoever puts the file takes part in it.
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

/// A counter that every thread adds to, as often as it is refused.
pub(super) fn count<S: WriteStorage>(one: &Arc<S>, other: &Arc<S>) -> Outcome {
    done("making a folder", one.create_folder("a"))?;
    offered("making a counter", one.swap_file("a/count", None, b"0", BUFFERED))?;
    at_once(one, other, |storage, _| {
        let mut added = 0;
        // Each refusal is somebody's success.
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
    // Pieces of many pages, so that a part is seen to be one.
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

/// The lock, or that there is none.
fn lock<S: WriteStorage>(storage: &S) -> Outcome<crate::storage::StorageLock> {
    let lock = offered("taking the lock", storage.lock())?;
    if lock.is_none() { Err(Broken::NotOffered) } else { Ok(lock) }
}

pub(super) fn locked<S: WriteStorage + 'static>(one: &Arc<S>, other: &Arc<S>) -> Outcome {
    for _ in 0..2 {
        let held = lock(&**one)?;
        let (told, heard) = mpsc::channel();
        let waiting = other.clone();
        // Not a scoped thread: one that waits for ever is left behind.
        let thread = thread::spawn(move || {
            let taken = lock(&*waiting).map(drop);
            let _ = told.send(());
            taken
        });
        if heard.recv_timeout(WAITS).is_ok() {
            let taken = thread.join().unwrap_or_else(|_| broken("a thread that took the lock panicked"));
            return taken.and_then(|()| broken("a second one has the lock while the first holds it"));
        }
        drop(held);
        if heard.recv_timeout(LONG).is_err() {
            return broken("the lock was let go, and who waited for it still does not have it");
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
        holds(others == 0, || "two hold the lock at once".to_owned())
    })
    .map(drop)
}
