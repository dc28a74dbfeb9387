//! Asynchronous queries: steps that are repeated until everything they read has arrived
//! (`tdb_storage::replay::replay`).

use core::fmt;
use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

use crate::awaited::run_async;
use crate::budget::MemoryBudget;
use crate::replay::{replay, yielded};
use crate::stream::Batches;
use crate::{Aggregate, AggregateValue, Array, Cells, Error, Explain, Read, Result, Snapshot};

/// The memory of the cells of one batch by default: some milliseconds of work.
const BATCH: MemoryBudget = MemoryBudget::from_bytes(8 << 20);

impl Read {
    /// [`Self::collect`], asynchronously. The cells are decoded in one piece, by the spawner if
    /// there is one. For many cells use [`Self::batches_async`], which does not block other tasks
    /// for long.
    ///
    /// ```
    /// use tdb_array::OpenOptions;
    /// use tdb_array::storage::{Immediate, LocalStorage};
    ///
    /// # async fn example(path: &str) -> tdb_array::Result<()> {
    /// let array = OpenOptions::new().open_async(Immediate::new(LocalStorage::new(path))).await?;
    /// let cells = array.read().range("rows", 1..=2).collect_async().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Self::collect`].
    pub async fn collect_async(self) -> Result<Cells> {
        self.ask_async(|read| read.clone().collect()).await
    }

    /// [`Self::explain`], asynchronously.
    ///
    /// # Errors
    /// As [`Self::explain`].
    pub async fn explain_async(self) -> Result<Explain> {
        self.ask_async(|read| read.clone().explain()).await
    }

    /// [`Self::aggregate`], asynchronously.
    ///
    /// # Errors
    /// As [`Self::aggregate`].
    pub async fn aggregate_async(
        self,
        aggregates: impl IntoIterator<Item = Aggregate>,
    ) -> Result<Vec<AggregateValue>> {
        let (array, aggregates) = (self.array.clone(), aggregates.into_iter().collect::<Vec<_>>());
        run_async(array.snapshot(), (self, aggregates), |array, (read, aggregates)| {
            read.clone().of(array).aggregate(aggregates.iter().cloned())
        })
        .await
    }

    /// Runs the query batch by batch, asynchronously: the cells of [`Self::batches`], in the same
    /// order. Unless [`Self::batch_memory`] is set, batches take 8 MiB while they are made, and
    /// other tasks run between them.
    pub fn batches_async(self) -> AsyncBatches {
        let read = if self.batch_memory.is_none() { self.batch_memory(BATCH) } else { self };
        let array = Array::from_snapshot(read.array.snapshot().for_task());
        AsyncBatches {
            state: State::Idle(Box::new(Query { read: read.of(array.snapshot()), array, batches: None })),
        }
    }

    async fn ask_async<T: Send + 'static>(self, ask: fn(&Self) -> Result<T>) -> Result<T> {
        let array = self.array.clone();
        run_async(array.snapshot(), (self, ask), |array, (read, ask)| ask(&read.clone().of(array))).await
    }

    /// The same query on the given array.
    pub(super) fn of(self, array: &Snapshot) -> Self {
        Self { array: Array::from_snapshot(array.clone()), ..self }
    }
}

/// The cells of a query, batch by batch, for a caller that awaits each. Made by
/// [`Read::batches_async`].
///
/// With the feature `async` it is a `futures_core::Stream`. After an error there are no more
/// batches. Dropping it ends the query and cancels its requests. A future of [`Self::next`] can be
/// dropped at any time; the next call returns the batch it would have returned.
#[must_use = "batches are read as they are awaited"]
pub struct AsyncBatches {
    state: State,
}

/// A query whose batches are awaited.
struct Query {
    read: Read,
    array: Array,
    /// `None` before the query has begun.
    batches: Option<Batches>,
}

type Stepped = (Box<Query>, Option<Result<Cells>>);

enum State {
    Idle(Box<Query>),
    Busy(Pin<Box<dyn Future<Output = Result<Stepped>> + Send>>),
    Done,
}

impl AsyncBatches {
    /// The next batch, or `None` after the last.
    pub async fn next(&mut self) -> Option<Result<Cells>> {
        poll_fn(|context| self.poll_next(context)).await
    }

    /// The next batch if it is there; otherwise the task is woken when it should poll again.
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Cells>>> {
        loop {
            match core::mem::replace(&mut self.state, State::Done) {
                State::Done => return Poll::Ready(None),
                State::Idle(query) => self.state = State::Busy(Box::pin(query.step())),
                State::Busy(mut stepping) => {
                    let Poll::Ready(stepped) = stepping.as_mut().poll(context) else {
                        self.state = State::Busy(stepping);
                        return Poll::Pending;
                    };
                    let next = match stepped {
                        Ok((query, Some(Ok(cells)))) => {
                            self.state = State::Idle(query);
                            Some(Ok(cells))
                        }
                        Ok((_, last)) => last,
                        Err(error) => Some(Err(error)),
                    };
                    return Poll::Ready(next);
                }
            }
        }
    }
}

impl Query {
    async fn step(self: Box<Self>) -> Result<Stepped> {
        // Between two batches other tasks may run.
        if self.batches.is_some() {
            yielded().await;
        }
        let shared = self.array.snapshot().context().clone();
        let Some(replay_storage) = &shared.replay_storage else {
            let mut query = self;
            let next = query.next();
            return Ok((query, next));
        };
        let done = replay(replay_storage, shared.spawner.as_ref(), self, |query| query.next()).await;
        done.map_err(|error| Error::io(shared.describe(""), error))
    }

    /// The next batch, or an error if something that it reads has not arrived yet.
    fn next(&mut self) -> Option<Result<Cells>> {
        let context = self.array.snapshot().context();
        let batches = match &mut self.batches {
            Some(batches) => batches,
            None => {
                let batches = self.read.clone().batches();
                // Those that were planned without some answers are not valid.
                match batches.and_then(|batches| context.arrived().map(|()| batches)) {
                    Ok(batches) => {
                        context.replay_storage.iter().for_each(|own| own.checkpoint());
                        self.batches.insert(batches)
                    }
                    Err(error) => return Some(Err(error)),
                }
            }
        };
        match &context.replay_storage {
            Some(replay_storage) => batches.try_next(replay_storage),
            None => batches.next(),
        }
    }
}

impl fmt::Debug for AsyncBatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match &self.state {
            State::Idle(_) => "idle",
            State::Busy(_) => "busy",
            State::Done => "done",
        };
        f.debug_struct("AsyncBatches").field("state", &state).finish()
    }
}

#[cfg(feature = "async")]
impl futures_core::Stream for AsyncBatches {
    type Item = Result<Cells>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Self::poll_next(self.get_mut(), context)
    }
}
