//! The project's only threads: started for one batch of jobs, joined before it returns. No global pool, so
//! nothing survives a fork, and the number is the caller's setting.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, mpsc};
use std::thread;

use crate::{Error, Result};

/// How many threads the machine has for this process: asked once, for the answer takes reading several files.
pub fn available() -> usize {
    static AVAILABLE: OnceLock<usize> = OnceLock::new();
    *AVAILABLE.get_or_init(|| thread::available_parallelism().map_or(1, usize::from))
}

/// Runs `run` on every job with at most `threads` threads (the caller's own included), each with a scratch
/// value of its own. Results are in job order; the first error in job order wins.
pub fn run<J: Send, S, R: Send>(
    threads: usize,
    jobs: Vec<J>,
    scratch: impl Fn() -> S + Sync,
    run: impl Fn(J, &mut S) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let count = jobs.len();
    let workers = threads.min(count);
    if workers <= 1 {
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
                // The batch fails as a whole: leave nothing for the others to start.
                queue.lock().unwrap_or_else(PoisonError::into_inner).by_ref().for_each(drop);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..workers {
            // Where the system refuses a thread, those that run do the work.
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

/// Items that a thread takes at a time where each takes so little that handing them out one by one would cost as much.
const GROUP: usize = 32;

/// Runs `run` on every item with at most `threads` threads, and keeps what it finds, in the items' order; the first error in
/// that order wins.
pub fn filter_map<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    run: impl Fn(&T) -> Result<Option<R>> + Sync,
) -> Result<Vec<R>> {
    let group = |items: &[T], (): &mut ()| {
        items.iter().filter_map(|item| run(item).transpose()).collect::<Result<Vec<R>>>()
    };
    let groups = self::run(threads, items.chunks(GROUP).collect(), || (), group)?;
    Ok(groups.into_iter().flatten().collect())
}

/// How many results a thread may be ahead of the one that is waited for, for each thread.
const AHEAD: usize = 4;

/// How many results there are at most at a time for each thread: one that is made, those that wait, and one for the rest.
pub const HELD: usize = AHEAD + 2;

/// Results on their way to a sink that takes them in job order.
struct Queue<J, R> {
    jobs: J,
    /// Number of the next job.
    next_job: usize,
    /// Number of the result the sink takes next.
    next_result: usize,
    /// Results that came before their turn.
    ready: BTreeMap<usize, R>,
    /// Whether a thread is handing results to the sink.
    sinking: bool,
    failure: Option<(usize, Error)>,
    /// A thread panicked: the others must not wait for its result.
    abandoned: bool,
}

/// Runs `run` on every job with at most `threads` threads, as [`run`] does, and hands the results to `sink`
/// in job order while later jobs run. Jobs are taken from the iterator as threads come free, and no thread runs far
/// ahead of the sink, so memory is bounded by a few results a thread.
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
    if workers <= 1 {
        let mut scratch = scratch();
        return jobs.into_iter().try_for_each(|job| sink(run(job, &mut scratch)?));
    }
    let most = workers.saturating_mul(AHEAD);
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
    // No code that can panic runs while the queue is locked.
    let lock = || queue.lock().unwrap_or_else(PoisonError::into_inner);
    let work = || {
        let _guard = Abandon(|| {
            lock().abandoned = true;
            changed.notify_all();
        });
        let mut scratch = scratch();
        let mut state = lock();
        loop {
            while state.next_job.saturating_sub(state.next_result) > most
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
            state.next_job = index.saturating_add(1);
            drop(state);
            let result = run(job, &mut scratch);
            state = lock();
            match result {
                Ok(result) => {
                    state.ready.insert(index, result);
                }
                Err(error) => fail(&mut state, index, error),
            }
            // One thread at a time hands on what is ready; the others go on with jobs.
            while !state.sinking && state.failure.is_none() {
                let turn = state.next_result;
                let Some(result) = state.ready.remove(&turn) else { break };
                state.sinking = true;
                drop(state);
                let taken = sink.lock().unwrap_or_else(PoisonError::into_inner)(result);
                state = lock();
                state.sinking = false;
                state.next_result = turn.saturating_add(1);
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

/// Hands what an iterator gives to `take` on a thread of its own, while the iterator makes the next one; with one thread, by
/// turns. The first failure of either ends it.
pub fn overlap<B: Send>(
    threads: usize,
    mut batches: impl Iterator<Item = Result<B>>,
    take: impl FnMut(B) -> Result<()> + Send,
) -> Result<()> {
    let take = Mutex::new(take);
    let take = |batch: B| take.lock().unwrap_or_else(PoisonError::into_inner)(batch);
    let taken = Mutex::new(Ok(()));
    // Without room: one batch is taken while one is made.
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
            // Nobody takes it any more: that failure is returned.
            if sender.send(batch?).is_err() {
                break;
            }
        }
        drop(sender);
        Ok(())
    });
    made.and(taken.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Of several failures the one of the first job counts.
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
