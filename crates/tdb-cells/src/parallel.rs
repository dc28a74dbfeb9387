//! Runs the jobs of a query on several threads, which are started for one batch of jobs and joined
//! before it returns. There is no global thread pool, so nothing survives a fork, and the caller
//! chooses the number of threads.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;

use crate::thresholds::{ITEMS_PER_JOB, MAX_QUEUED_PER_THREAD, MIN_PARALLEL_BYTES, MIN_SHARED_BYTES};
use crate::{Error, Result};

/// Whether the target has threads. Where it has none, a compiler that knows it leaves out what
/// starts them: a twentieth of a WebAssembly module.
const HAS_THREADS: bool = cfg!(not(target_family = "wasm"));

/// The number of threads that this process may use on this machine. It is determined once, because
/// this reads several files.
pub fn available() -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// The number of threads to use, of those that may be used, for work that decodes or copies so many
/// bytes.
#[must_use]
pub const fn worth(threads: usize, bytes: usize) -> usize {
    if bytes < MIN_PARALLEL_BYTES { 1 } else { threads }
}

/// Whether some pieces of work, given as the bytes that they decode, have enough work for a second
/// thread while the first one does the largest piece. An estimate: its sums stop at the greatest
/// number.
#[must_use]
pub fn can_be_shared(pieces: impl Iterator<Item = usize>) -> bool {
    let add = |(all, largest): (usize, usize), piece: usize| (all.saturating_add(piece), largest.max(piece));
    let (all, largest) = pieces.fold((0, 0), add);
    all.saturating_sub(largest) >= MIN_SHARED_BYTES
}

/// Runs `run` on every job with at most `threads` threads (including the caller's), each with its
/// own scratch value. Results are in job order; the first error in job order is returned.
pub fn run<J: Send, S, R: Send>(
    threads: usize,
    jobs: Vec<J>,
    scratch: impl Fn() -> S + Sync,
    run: impl Fn(J, &mut S) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let count = jobs.len();
    let workers = threads.min(count);
    if !HAS_THREADS || workers <= 1 {
        let mut scratch = scratch();
        return jobs.into_iter().map(|job| run(job, &mut scratch)).collect();
    }
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let results = Mutex::new(Vec::with_capacity(count));
    let work = || {
        let mut scratch = scratch();
        loop {
            // The lock guards only the iterator, which a panicking job cannot leave half-changed.
            let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
            let Some((index, job)) = next else { break };
            let result = run(job, &mut scratch);
            let failed = result.is_err();
            results.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            if failed {
                // The batch fails as a whole: the other threads must not start more jobs.
                queue.lock().unwrap_or_else(PoisonError::into_inner).by_ref().for_each(drop);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            // If the system cannot start a thread, the running ones do the work.
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
    results.sort_unstable_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Runs `run` on every item with at most `threads` threads. Returns the results that are not
/// `None`, in the items' order; the first error in that order is returned.
pub fn filter_map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    run: impl Fn(&T) -> Result<Option<R>> + Sync,
) -> Result<Vec<R>> {
    let group = |items: &[T], (): &mut ()| {
        items.iter().filter_map(|item| run(item).transpose()).collect::<Result<Vec<R>>>()
    };
    let groups = self::run(threads, items.chunks(ITEMS_PER_JOB).collect(), || (), group)?;
    Ok(groups.into_iter().flatten().collect())
}

/// The most results per thread that exist at a time: one that is being made, those that wait, and
/// one more for the others.
pub const HELD: usize = MAX_QUEUED_PER_THREAD + 2;

/// Results that wait for a sink, which takes them in job order.
struct Queue<J, R> {
    jobs: J,
    /// Number of the next job.
    next_job: usize,
    /// Number of the result the sink takes next.
    next_result: usize,
    /// Results that were made before their turn.
    ready: BTreeMap<usize, R>,
    /// Whether a thread passes results to the sink.
    sinking: bool,
    failure: Option<(usize, Error)>,
    /// A thread panicked: the others must not wait for its result.
    abandoned: bool,
}

/// Runs `run` on every job with at most `threads` threads, as [`run`] does, and passes the results
/// to `sink` in job order while later jobs run. A thread takes the next job from the iterator when
/// it is free, and no thread runs far ahead of the sink, so memory is limited to a few results per
/// thread.
///
/// The first failure ends the batch; the sink has then taken the results of some jobs before it.
pub fn run_in_order<J: Send, S, R: Send>(
    threads: usize,
    jobs: impl ExactSizeIterator<Item = J> + Send,
    scratch: impl Fn() -> S + Sync,
    run: impl Fn(J, &mut S) -> Result<R> + Sync,
    mut sink: impl FnMut(R) -> Result<()> + Send,
) -> Result<()> {
    let workers = threads.min(jobs.len());
    if !HAS_THREADS || workers <= 1 {
        let mut scratch = scratch();
        return jobs.into_iter().try_for_each(|job| sink(run(job, &mut scratch)?));
    }
    let max_ahead = workers.saturating_mul(MAX_QUEUED_PER_THREAD);
    let queue = Mutex::new(Queue {
        jobs,
        next_job: 0,
        next_result: 0,
        ready: BTreeMap::new(),
        sinking: false,
        failure: None,
        abandoned: false,
    });
    let (changed, sink) = (Condvar::new(), Mutex::new(sink));
    // No code that can panic runs under the lock of the queue.
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        let _guard = Abandon(|| {
            lock().abandoned = true;
            changed.notify_all();
        });
        let mut scratch = scratch();
        let mut state = lock();
        loop {
            while state.next_job > state.next_result.saturating_add(max_ahead)
                && state.failure.is_none()
                && !state.abandoned
            {
                state = changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.failure.is_some() || state.abandoned {
                break;
            }
            let Some(job) = state.jobs.next() else { break };
            let index = state.next_job;
            state.next_job = index + 1;
            drop(state);
            let result = run(job, &mut scratch);
            state = lock();
            match result {
                Ok(result) => {
                    state.ready.insert(index, result);
                }
                Err(error) => fail(&mut state, index, error),
            }
            // One thread at a time passes on the finished results; the others continue with jobs.
            while !state.sinking && state.failure.is_none() {
                let turn = state.next_result;
                let Some(result) = state.ready.remove(&turn) else { break };
                state.sinking = true;
                drop(state);
                let taken = sink.lock().unwrap_or_else(PoisonError::into_inner)(result);
                state = lock();
                state.sinking = false;
                state.next_result = turn + 1;
                if let Err(error) = taken {
                    fail(&mut state, turn, error);
                }
                changed.notify_all();
            }
            changed.notify_all();
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            if thread::Builder::new().spawn_scoped(scope, work).is_err() {
                break;
            }
        }
        work();
    });
    let failure = lock().failure.take();
    failure.map_or(Ok(()), |(_, error)| Err(error))
}

/// Passes the items of an iterator to `take` on a separate thread, while the iterator makes the
/// next one; with one thread, the two take turns. The first failure of either ends both.
pub fn overlap<B: Send>(
    threads: usize,
    mut batches: impl Iterator<Item = Result<B>>,
    mut take: impl FnMut(B) -> Result<()> + Send,
) -> Result<()> {
    if !HAS_THREADS {
        return batches.try_for_each(|batch| take(batch?));
    }
    let take = Mutex::new(take);
    let take = |batch: B| take.lock().unwrap_or_else(PoisonError::into_inner)(batch);
    let taken = Mutex::new(Ok(()));
    // The channel has no capacity: one batch is taken while one is made.
    let (sender, receiver) = mpsc::sync_channel::<B>(0);
    let made = thread::scope(|scope| {
        let work = || {
            let result = receiver.into_iter().try_for_each(take);
            *taken.lock().unwrap_or_else(PoisonError::into_inner) = result;
        };
        if threads <= 1 || thread::Builder::new().spawn_scoped(scope, work).is_err() {
            return batches.try_for_each(|batch| take(batch?));
        }
        for batch in batches {
            // The receiver has failed; its error is returned.
            if sender.send(batch?).is_err() {
                break;
            }
        }
        drop(sender);
        Ok(())
    });
    made.and(taken.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Keeps the failure of the first job, in job order, that failed.
fn fail<J, R>(state: &mut MutexGuard<'_, Queue<J, R>>, index: usize, error: Error) {
    if state.failure.as_ref().is_none_or(|(first, _)| index < *first) {
        state.failure = Some((index, error));
    }
}

/// Runs its function if its thread panics.
struct Abandon<F: Fn()>(F);

impl<F: Fn()> Drop for Abandon<F> {
    fn drop(&mut self) {
        if thread::panicking() {
            (self.0)();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueryError;

    #[test]
    fn work_is_shared_only_if_enough_of_it_is_left_beside_its_largest_piece() {
        let can = |pieces: &[usize]| can_be_shared(pieces.iter().copied());
        assert!(!can(&[]) && !can(&[usize::MAX]) && !can(&[1 << 30, 1 << 19]));
        assert!(can(&[1 << 20, 1 << 20]) && can(&[1 << 30, 1 << 19, 1 << 19]) && can(&[usize::MAX / 2; 3]));
    }

    #[test]
    fn results_come_in_job_order_whatever_the_threads() {
        for threads in [0, 1, 2, 7] {
            let doubled = run(threads, (0..100).collect(), || (), |n: u64, ()| Ok(2 * n)).unwrap();
            assert_eq!(doubled, (0..100).map(|n| 2 * n).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn one_failing_job_fails_the_batch() {
        for threads in [1, 3] {
            let result = run(
                threads,
                (0..50).collect(),
                || (),
                |n: u32, ()| {
                    if n == 7 { Err(Error::from(QueryError::NotInResult("x".into()))) } else { Ok(n) }
                },
            );
            assert!(result.is_err());
        }
    }
    #[test]
    fn a_sink_takes_results_in_job_order_and_its_failure_ends_the_batch() {
        for threads in [1, 2, 5] {
            let mut taken = Vec::new();
            let jobs = (0..300u64).collect::<Vec<_>>().into_iter();
            let slow = |n: u64, (): &mut ()| {
                if n.is_multiple_of(7) {
                    thread::yield_now();
                }
                Ok(2 * n)
            };
            run_in_order(
                threads,
                jobs.clone(),
                || (),
                slow,
                |n| {
                    taken.push(n);
                    Ok(())
                },
            )
            .unwrap();
            assert_eq!(taken, (0..300).map(|n| 2 * n).collect::<Vec<u64>>());

            let mut count = 0;
            let failed = run_in_order(
                threads,
                jobs,
                || (),
                slow,
                |_| {
                    count += 1;
                    if count == 9 { Err(QueryError::NotInResult("x".into()).into()) } else { Ok(()) }
                },
            );
            assert!(failed.is_err() && count == 9);
        }
    }
}
