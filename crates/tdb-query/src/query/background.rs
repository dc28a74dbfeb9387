//! Batches for asynchronous callers: a separate thread reads them, one ahead of the caller.

use core::fmt;
use core::future::poll_fn;
use core::task::{Context as TaskContext, Poll, Waker};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use crate::{Cells, Error, Read, Result};

/// The cells of a query, batch by batch, without blocking the caller: those of
/// [`Read::batches`](crate::Read::batches), in the same order. Made by
/// [`Read::background_batches`].
///
/// While the caller works on a batch, a thread reads the next one. It begins when the previous
/// batch is taken, so the query never holds more than its memory budget. The stream needs no
/// runtime, and works under any. With the feature `async` it is a `futures_core::Stream`. Dropping
/// it ends the query after the batch that is being read.
#[must_use = "batches are read as the stream is polled"]
pub struct BackgroundBatches {
    exchange: Arc<Exchange>,
    thread: Option<JoinHandle<()>>,
}

/// The slot into which the thread puts batches, and from which the caller takes them.
#[derive(Default)]
struct Exchange {
    state: Mutex<State>,
    /// Signals that a batch was taken, or the stream was dropped.
    taken: Condvar,
}

#[derive(Default)]
struct State {
    ready: Option<Result<Cells>>,
    /// No more batches will come.
    ended: bool,
    /// Nobody will take any more batches.
    dropped: bool,
    waker: Option<Waker>,
}

impl Exchange {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs while the state is locked.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a batch out and waits until it is taken; `false` if it will never be taken.
    fn put(&self, batch: Result<Cells>) -> bool {
        let mut state = self.lock();
        state.ready = Some(batch);
        wake(state);
        let mut state = self.lock();
        while state.ready.is_some() && !state.dropped {
            state = self.taken.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        !state.dropped
    }
}

/// Wakes the waiting task after the state is unlocked: the waker runs code of the executor, which
/// may poll at once.
fn wake(mut state: MutexGuard<'_, State>) {
    let waker = state.waker.take();
    drop(state);
    if let Some(waker) = waker {
        waker.wake();
    }
}

/// Marks the end of the batches when it is dropped, even if the thread panics.
struct End(Arc<Exchange>);

impl Drop for End {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.ended = true;
        wake(state);
    }
}

impl Read {
    /// [`Self::batches`] in a separate thread, for callers that must not block.
    ///
    /// ```
    /// use tdb_array::Array;
    ///
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/quickstart");
    /// let array = Array::open(path)?;
    /// let mut stream = array.read().fields(["a"]).range("rows", 1..=2).background_batches()?;
    /// let sum = async {
    ///     let mut sum = 0;
    ///     while let Some(batch) = stream.next().await {
    ///         sum += batch?.field("a")?.values::<i32>()?.iter().sum::<i32>();
    ///     }
    ///     Ok::<i32, tdb_array::Error>(sum)
    /// };
    /// # let waker = std::task::Waker::noop();
    /// # let mut context = std::task::Context::from_waker(waker);
    /// # let mut sum = std::pin::pin!(sum);
    /// # let sum = loop {
    /// #     if let std::task::Poll::Ready(sum) = sum.as_mut().poll(&mut context) { break sum? }
    /// #     std::thread::yield_now();
    /// # };
    /// # assert_eq!(sum, 36);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The system cannot start a thread. Errors of the query itself are the stream's first item.
    pub fn background_batches(self) -> Result<BackgroundBatches> {
        let exchange = Arc::<Exchange>::default();
        let (end, path) = (End(exchange.clone()), self.array.describe(""));
        let run = move || {
            let put = |batch| end.0.put(batch);
            match self.batches() {
                Ok(mut batches) => {
                    // Ends at the first batch that nobody takes.
                    let _ = batches.all(put);
                }
                Err(error) => {
                    let _ = put(Err(error));
                }
            }
            drop(end);
        };
        let thread = thread::Builder::new().name("tdb batches".into()).spawn(run);
        let thread = thread.map_err(|error| Error::io(path, error))?;
        Ok(BackgroundBatches { exchange, thread: Some(thread) })
    }
}

impl BackgroundBatches {
    /// The next batch, or `None` after the last. After an error there are no more batches.
    pub async fn next(&mut self) -> Option<Result<Cells>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The next batch if it is there; otherwise the task is woken when it is.
    pub fn poll_next(&mut self, context: &mut TaskContext<'_>) -> Poll<Option<Result<Cells>>> {
        let mut state = self.exchange.lock();
        if let Some(batch) = state.ready.take() {
            self.exchange.taken.notify_all();
            return Poll::Ready(Some(batch));
        }
        if !state.ended {
            state.waker = Some(context.waker().clone());
            return Poll::Pending;
        }
        drop(state);
        // A panic of the thread must not look like the end of the cells: it is resumed here.
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            resume_unwind(panic);
        }
        Poll::Ready(None)
    }
}

#[cfg(feature = "async")]
impl futures_core::Stream for BackgroundBatches {
    type Item = Result<Cells>;

    fn poll_next(
        mut self: core::pin::Pin<&mut Self>,
        context: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Cells>>> {
        Self::poll_next(&mut self, context)
    }
}

impl Drop for BackgroundBatches {
    fn drop(&mut self) {
        self.exchange.lock().dropped = true;
        self.exchange.taken.notify_all();
    }
}

impl fmt::Debug for BackgroundBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundBatches").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Wake;
    use std::thread::Thread;

    use super::*;
    use crate::{Array, OpenOptions};

    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let waker = Arc::new(Unpark(thread::current())).into();
        let mut future = pin!(future);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut TaskContext::from_waker(&waker)) {
                return value;
            }
            thread::park();
        }
    }

    /// Records for each call whether the state was unlocked.
    struct Look(Arc<Exchange>, Mutex<Vec<bool>>, Thread);

    impl Wake for Look {
        fn wake(self: Arc<Self>) {
            // The test itself may hold the lock for a moment; a waker called under the lock would
            // hold it for ever.
            let free = (0..1000).any(|_| {
                let free = self.0.state.try_lock().is_ok();
                if !free {
                    thread::sleep(core::time::Duration::from_millis(1));
                }
                free
            });
            self.1.lock().unwrap().push(free);
            self.2.unpark();
        }
    }

    #[test]
    fn a_waker_may_poll_at_once() {
        let mut stream = array().read().background_batches().unwrap();
        let look = Arc::new(Look(stream.exchange.clone(), Mutex::default(), thread::current()));
        let waker = look.clone().into();
        let mut polls = 0;
        while !matches!(stream.poll_next(&mut TaskContext::from_waker(&waker)), Poll::Ready(None)) {
            polls += 1;
            while look.1.lock().unwrap().is_empty() && stream.exchange.lock().waker.is_some() {
                thread::park();
            }
        }
        let seen = look.1.lock().unwrap();
        assert!(polls > 0 && seen.iter().all(|free| *free), "{seen:?}");
    }

    fn array() -> Array {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../xtask/fixtures/arrays/2.30.0/sparse2d_rr");
        OpenOptions::new().open(path).unwrap()
    }

    fn small(read: Read) -> Read {
        // The smallest possible budget gives the most batches.
        let min = match read.clone().memory("1 B".parse().unwrap()).batches().map(drop) {
            Err(Error::Query(crate::QueryError::BudgetTooSmall { min, .. })) => min,
            other => panic!("{other:?}"),
        };
        read.memory(min)
    }

    #[test]
    fn a_stream_hands_out_what_the_iterator_does() {
        let array = array();
        let expected: Vec<Cells> = small(array.read()).batches().unwrap().map(Result::unwrap).collect();
        let mut stream = small(array.read()).background_batches().unwrap();
        let mut found = Vec::new();
        while let Some(batch) = block_on(stream.next()) {
            found.push(batch.unwrap());
        }
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            let bytes = |cells: &Cells| -> Vec<Vec<u8>> {
                cells.columns().iter().map(|column| column.bytes().to_vec()).collect()
            };
            assert_eq!(bytes(found), bytes(expected));
        }
        assert!(block_on(stream.next()).is_none());
    }

    #[test]
    fn a_query_that_cannot_be_planned_gives_its_error_and_ends() {
        let mut stream = array().read().fields(["no such field"]).background_batches().unwrap();
        assert!(matches!(block_on(stream.next()), Some(Err(Error::Query(_)))));
        assert!(block_on(stream.next()).is_none());
    }

    #[test]
    fn dropping_a_stream_ends_its_thread() {
        let array = array();
        let stream = small(array.read()).background_batches().unwrap();
        drop(stream);
        for _ in 0..1000 {
            if Arc::strong_count(array.snapshot().context()) == 1 {
                return;
            }
            thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("the thread still holds the array");
    }

    #[test]
    fn a_panic_of_the_thread_reaches_the_caller() {
        let mut stream =
            array().read().on_progress(|_| panic!("a bug of the caller")).background_batches().unwrap();
        let all = std::panic::AssertUnwindSafe(|| while block_on(stream.next()).is_some() {});
        assert!(std::panic::catch_unwind(all).is_err());
    }
}
