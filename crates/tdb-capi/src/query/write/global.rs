//! Writes in global order, which take cells in several submits.
//!
//! A stream of the engine borrows the array that it writes to, and lasts from the first submit to
//! `finalize`. So both live on a thread of their own: a submit sends it the caller's buffers, and
//! gets them back once their cells are written.

use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use tdb_array::schema::ArrayType;
use tdb_array::write::{DenseStream, FragmentWriter};
use tdb_array::{ArrayWriter, Layout, Write, WriteColumn};

use super::columns::{self, Column};
use super::{Buffers, OffsetsFormat, Ranges, explained};
use crate::ffi::{Failure, Outcome};
use crate::query::failure;

/// The memory that a dense stream may plan with: it buffers one tile only.
const STREAM_MEMORY: usize = usize::MAX / 4;

/// What the thread is asked for.
enum Order {
    /// To append the cells of buffers.
    Append(Buffers),
    /// To make all cells part of the array.
    Commit,
}

/// What it answers.
struct Answer {
    buffers: Buffers,
    /// The names of the fragments, after a commit.
    done: Result<Vec<String>, Failure>,
}

/// A write in global order that was begun. If it is dropped, what was written is removed.
#[derive(Debug)]
pub(crate) struct Writing {
    orders: Option<Sender<Order>>,
    answers: Receiver<Answer>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread: a fork has none.
    process: u32,
}

impl Writing {
    /// Begins a write to an array; to these ranges, if it is dense.
    pub(super) fn begin(
        writer: Arc<ArrayWriter>,
        ranges: Ranges,
        format: OffsetsFormat,
    ) -> Result<Self, Failure> {
        let (orders, to_do) = channel();
        let (answer, answers) = channel();
        let work = move || run(&writer, ranges, format, &to_do, &answer);
        let thread = thread::Builder::new().name("tdb-write".to_owned()).spawn(work)?;
        Ok(Self { orders: Some(orders), answers, thread: Some(thread), process: process::id() })
    }

    /// Appends cells, and returns their buffers.
    pub(super) fn append(&mut self, buffers: Buffers) -> (Buffers, Outcome) {
        if self.process != process::id() {
            return (buffers, Err(forked()));
        }
        match self.ask(Order::Append(buffers)) {
            Ok(Answer { buffers, done }) => (buffers, done.map(drop)),
            // The thread, and the buffers with it, are lost after a fault of this library only.
            Err(failure) => (Buffers::new(), Err(failure)),
        }
    }

    /// Makes all cells part of the array; returns the names of the fragments.
    pub(super) fn commit(self) -> Result<Vec<String>, Failure> {
        if self.process != process::id() {
            return Err(forked());
        }
        self.ask(Order::Commit)?.done
    }

    fn ask(&self, order: Order) -> Result<Answer, Failure> {
        let lost = || failure("internal error: the thread of a write has ended");
        let orders = self.orders.as_ref().ok_or_else(lost)?;
        orders.send(order).map_err(|_| lost())?;
        self.answers.recv().map_err(|_| lost())
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        // The thread ends when nothing can be asked of it any more.
        self.orders = None;
        if let Some(thread) = self.thread.take().filter(|_| self.process == process::id()) {
            // It removes what was not committed; if it panicked, there is nothing to wait for.
            let _ = thread.join();
        }
    }
}

fn forked() -> Failure {
    failure("A write in global order cannot go on in another process than the one that began it")
}

/// A stream of the engine.
enum Stream<'a> {
    Sparse(FragmentWriter<'a>),
    Dense(DenseStream<'a>),
}

/// A stream, and whether it has cells.
struct Open<'a> {
    writer: &'a ArrayWriter,
    format: OffsetsFormat,
    stream: Stream<'a>,
    has_cells: bool,
}

/// What the thread does until it commits, or is no longer needed.
fn run(
    writer: &ArrayWriter,
    ranges: Ranges,
    format: OffsetsFormat,
    orders: &Receiver<Order>,
    answers: &Sender<Answer>,
) {
    let mut open = Open::new(writer, ranges, format);
    while let Ok(order) = orders.recv() {
        let answer = match order {
            Order::Append(buffers) => {
                let done = match &mut open {
                    Ok(open) => open.append(&buffers),
                    Err(failure) => Err(failure.clone()),
                };
                Answer { buffers, done: done.map(|()| Vec::new()) }
            }
            Order::Commit => {
                let done = open.and_then(Open::commit);
                // Who asked waits for the answer.
                let _ = answers.send(Answer { buffers: Buffers::new(), done });
                return;
            }
        };
        if answers.send(answer).is_err() {
            return;
        }
    }
}

impl<'a> Open<'a> {
    fn new(writer: &'a ArrayWriter, ranges: Ranges, format: OffsetsFormat) -> Result<Self, Failure> {
        let stream = match writer.schema().array_type {
            ArrayType::Sparse => Stream::Sparse(writer.sparse_fragment()?),
            ArrayType::Dense => {
                let begin = |write: Write<'a>, (dimension, low, high): (String, Vec<u8>, Vec<u8>)| {
                    write.range_bytes(dimension, Some(low), Some(high))
                };
                let write = writer.write().order(Layout::GlobalOrder);
                let write = ranges.into_iter().fold(write, begin);
                let stream = write.stream(STREAM_MEMORY).map_err(|error| match error {
                    tdb_array::Error::Unsupported { .. } => {
                        let what = "In global writes for dense arrays, the subarray must coincide with the tile bounds";
                        failure(format!("Cannot initialize query; {what}: {error}"))
                    }
                    error => error.into(),
                })?;
                Stream::Dense(stream)
            }
        };
        Ok(Self { writer, format, stream, has_cells: false })
    }

    fn append(&mut self, buffers: &Buffers) -> Outcome {
        let columns = columns::of(buffers, self.writer.schema(), self.format)?;
        if columns.iter().all(Column::is_empty) {
            return Ok(());
        }
        let columns: Vec<WriteColumn<'_>> = columns.iter().map(Column::written).collect();
        self.has_cells = true;
        match &mut self.stream {
            Stream::Sparse(stream) => stream.append(&columns),
            Stream::Dense(stream) => stream.append(&columns),
        }
        .map_err(explained)
    }

    fn commit(self) -> Result<Vec<String>, Failure> {
        if !self.has_cells {
            return Ok(Vec::new());
        }
        match self.stream {
            Stream::Sparse(stream) => stream.commit_all(),
            Stream::Dense(stream) => stream.commit(),
        }
        .map_err(explained)
    }
}
