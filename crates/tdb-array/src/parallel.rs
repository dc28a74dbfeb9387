//! The project's only threads: started for one batch of jobs, joined before it returns. No global pool, so
//! nothing survives a fork, and the number is the caller's setting.

use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::Result;

/// Runs `run` on every job with at most `threads` threads (the caller's own included), each with a scratch
/// value of its own. Results are in job order; the first error in job order wins.
pub(crate) fn run<J: Send, S, R: Send>(
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Error, QueryError};

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
}
