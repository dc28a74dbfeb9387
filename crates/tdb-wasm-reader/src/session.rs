//! The implementation of the exports, with slices instead of addresses, so that it can be tested
//! natively.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll, Waker};
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use tdb_array::query::{AggregateValue, AsyncBatches, Grouped};
use tdb_array::schema::ArraySchema;
use tdb_array::{Array, Cells};
use tdb_text::json::Json;
use tdb_text::schema::At;
use tdb_web::describe::{self, cell_val_num};
use tdb_web::message::Blocks;
use tdb_web::open::{Described, Object, Opened, Opening};
use tdb_web::query::{self, CELLS};
use tdb_web::thresholds::MAX_GROUPS;
use tdb_web::{Exchange, Failure, Wanted, zarr};

use crate::cells::{encode, encode_column, encode_enumeration};

/// What a task is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The output is the answer. Of a task that returns batches, the next poll begins the next one.
    Done,
    /// The output is the error.
    Failed,
    /// The output is what the host should fetch; perhaps nothing, when it should only poll again.
    Waits,
    /// There are no more batches.
    Ended,
}

impl Progress {
    /// Its number, for the host.
    #[must_use]
    pub const fn code(self) -> u32 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Waits => 2,
            Self::Ended => 3,
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Result<Opened, Failure>> + Send>>;

enum Task {
    Answer(Answering),
    Batches(Box<AsyncBatches>, Arc<ArraySchema>),
}

/// All arrays and tasks, and the bytes that go in and out.
#[derive(Default)]
pub struct Session {
    exchange: Arc<Exchange>,
    /// Each with its hierarchies of Zarr.
    arrays: BTreeMap<u32, (Array, zarr::Kept)>,
    groups: BTreeMap<u32, Arc<Described>>,
    tasks: BTreeMap<u32, Task>,
    last: u32,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl core::fmt::Debug for Session {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Session").field("arrays", &self.arrays.len()).finish_non_exhaustive()
    }
}

impl Session {
    /// Allocates `len` zero bytes for the next request or reply; `None` if there is not enough
    /// memory.
    pub fn input(&mut self, len: usize) -> Option<&mut [u8]> {
        self.input = Vec::new();
        self.input.try_reserve_exact(len).ok()?;
        self.input.resize(len, 0);
        Some(&mut self.input)
    }

    /// Begins what the input asks for: a document of `document_len` bytes, and the bytes that
    /// belong to it. The number of the task; errors are those of its first poll.
    pub fn begin(&mut self, document_len: usize) -> u32 {
        let input = core::mem::take(&mut self.input);
        let task = match input.split_at_checked(document_len) {
            Some((document, bytes)) => self.task(document, bytes),
            None => Err(Failure::internal("the document is longer than the input")),
        };
        let task = task.unwrap_or_else(|failure| Task::Answer(Box::pin(async move { Err(failure) })));
        self.last = self.last.wrapping_add(1);
        self.tasks.insert(self.last, task);
        self.last
    }

    /// Goes on with a task.
    pub fn poll(&mut self, id: u32) -> Progress {
        self.output = Vec::new();
        let Some(task) = self.tasks.get_mut(&id) else {
            return self.failed(&Failure::internal(format!("there is no task {id}")));
        };
        let mut context = Context::from_waker(Waker::noop());
        let polled = match task {
            Task::Answer(answering) => answering.as_mut().poll(&mut context).map(Some),
            Task::Batches(batches, schema) => batches.poll_next(&mut context).map(|next| {
                next.map(|cells| encode(&cells?, schema).map(|answer| Opened { object: None, answer }))
            }),
        };
        match polled {
            Poll::Pending => {
                self.output = wanted(self.exchange.take_wanted());
                Progress::Waits
            }
            Poll::Ready(None) => Progress::Ended,
            Poll::Ready(Some(Err(failure))) => self.failed(&failure),
            Poll::Ready(Some(Ok(opened))) => {
                self.output = opened.answer;
                match opened.object {
                    Some(Object::Array(array)) => {
                        self.arrays.insert(id, (array, zarr::Kept::default()));
                    }
                    Some(Object::Group(group)) => {
                        self.groups.insert(id, group);
                    }
                    None => {}
                }
                Progress::Done
            }
        }
    }

    fn failed(&mut self, failure: &Failure) -> Progress {
        self.output = Blocks::default().with(&failure.to_json());
        Progress::Failed
    }

    /// Ends a task, whatever it is doing.
    pub fn end(&mut self, task: u32) {
        self.tasks.remove(&task);
    }

    /// The input is what was wanted under this number, with the size that the server says the file
    /// has.
    pub fn give(&mut self, id: u32, size: Option<u64>) {
        self.exchange.give(id, core::mem::take(&mut self.input), size);
    }

    /// What was wanted under this number cannot be had: there is no such file, or the input says
    /// why.
    pub fn fail(&mut self, id: u32, is_missing: bool) {
        let words = String::from_utf8_lossy(&core::mem::take(&mut self.input)).into_owned();
        self.exchange.fail(id, is_missing, words);
    }

    /// Frees an array or a group. Its tasks go on.
    pub fn close(&mut self, array: u32) {
        self.arrays.remove(&array);
        self.groups.remove(&array);
    }

    /// The output of the last poll.
    #[must_use]
    pub fn output(&self) -> &[u8] {
        &self.output
    }

    fn task(&self, document: &[u8], bytes: &[u8]) -> Result<Task, Failure> {
        let document = Json::parse(document).map_err(|error| Failure::internal(error.to_string()))?;
        let request = At::root(&document);
        let op = request.need("op")?.text()?;
        if op == "open" {
            let opening = Opening::new(&request, bytes, self.exchange.clone())?;
            return Ok(Task::Answer(Box::pin(opening.run(self.last.wrapping_add(1)))));
        }
        let handle = request.need("array")?.whole()?;
        if let (Some(group), "zarr") = (self.groups.get(&handle), op) {
            return ready(zarr::of_group(group, &zarr::asked(&request)?)?);
        }
        let (array, kept) = self
            .arrays
            .get(&handle)
            .ok_or_else(|| Failure::internal(format!("there is no array {handle}")))?;
        match op {
            "read" => answer(self.reading(array, &request)?),
            "batches" => {
                let read = query::read(array, &request)?;
                Ok(Task::Batches(Box::new(read.batches_async()), Arc::new(array.schema().clone())))
            }
            "aggregate" => self.aggregating(array, &request),
            "zarr" => answer(zarr::of_array(array.clone(), kept.clone(), zarr::asked(&request)?)),
            "fragments" => {
                let mut blocks = Blocks::default();
                let fragments = describe::fragments(array, &mut blocks);
                let domain = array.non_empty_domain();
                let domain = describe::domain(domain.as_deref(), &mut blocks);
                ready(blocks.with(&json!({"fragments": fragments, "nonEmptyDomain": domain})))
            }
            "metadata" => {
                let array = array.clone();
                answer(async move {
                    let metadata = array.run_async(Array::metadata).await?;
                    let mut blocks = Blocks::default();
                    let document = describe::metadata(&metadata, &mut blocks);
                    Ok(blocks.with(&document))
                })
            }
            "enumeration" => {
                let (array, name) = (array.clone(), request.need("name")?.text()?.to_owned());
                answer(async move {
                    let asked = name.clone();
                    let found = array.run_async(move |array| array.enumeration(&asked)).await?;
                    let missing = || Failure::query(format!("the array has no enumeration \"{name}\""));
                    encode_enumeration(&found.ok_or_else(missing)?)
                })
            }
            _ => Err(Failure::internal(format!("there is no request {op:?}"))),
        }
    }

    fn reading(
        &self,
        array: &Array,
        request: &At<'_>,
    ) -> Result<impl Future<Output = Result<Vec<u8>, Failure>> + Send + use<>, Failure> {
        let (read, array) = (query::read(array, request)?, array.clone());
        Ok(async move {
            let cells: Cells = read.collect_async().await?;
            encode(&cells, array.schema())
        })
    }

    fn aggregating(&self, array: &Array, request: &At<'_>) -> Result<Task, Failure> {
        request.object(&[&CELLS[..], &["aggregates", "groupBy", "maxGroups"][..]].concat())?;
        let (read, aggregates) = (query::selection(array, request)?, query::aggregates(request)?);
        if request.get("groupBy").is_none() {
            return answer(async move { values(&read.aggregate_async(aggregates).await?) });
        }
        let keys = query::texts(request, "groupBy")?;
        let most = request.get("maxGroups").map_or(Ok(MAX_GROUPS), |most| most.whole())?;
        let array = array.clone();
        answer(async move {
            let grouped = read.group_by(keys).max_groups(most).aggregate_async(aggregates).await?;
            groups(&grouped, array.schema())
        })
    }
}

fn answer(
    answering: impl Future<Output = Result<Vec<u8>, Failure>> + Send + 'static,
) -> Result<Task, Failure> {
    Ok(Task::Answer(Box::pin(async move { answering.await.map(|answer| Opened { object: None, answer }) })))
}

fn ready(bytes: Vec<u8>) -> Result<Task, Failure> {
    answer(core::future::ready(Ok(bytes)))
}

fn wanted(wanted: Vec<Wanted>) -> Vec<u8> {
    let one = |part: Wanted| json!([part.id, part.key, part.start, part.end, part.size]);
    Blocks::default().with(&wanted.into_iter().map(one).collect())
}

/// A sum that does not fit is no answer.
fn overflow(aggregate: &impl core::fmt::Display) -> Failure {
    Failure::query(format!("{aggregate} does not fit in 64 bits"))
}

fn values(values: &[AggregateValue]) -> Result<Vec<u8>, Failure> {
    let mut blocks = Blocks::default();
    let one = |value: &AggregateValue| {
        if value.overflowed() {
            return Err(overflow(&value.aggregate));
        }
        Ok(json!({
            "name": value.aggregate.to_string(),
            "datatype": value.datatype.name(),
            "cellValNum": cell_val_num(value.cell_val_num),
            "value": value.bytes().map(|bytes| blocks.add(bytes)),
        }))
    };
    let document: Value = values.iter().map(one).collect::<Result<_, _>>()?;
    Ok(blocks.with(&document))
}

fn groups(grouped: &Grouped, schema: &ArraySchema) -> Result<Vec<u8>, Failure> {
    let mut blocks = Blocks::default();
    let mut columns = Vec::new();
    for key in grouped.keys().columns() {
        let enumeration = schema.attribute(&key.name).and_then(|found| found.enumeration.clone());
        columns.push(encode_column(key, enumeration, &mut blocks)?);
    }
    for values in grouped.values() {
        if values.overflowed {
            return Err(overflow(&values.aggregate));
        }
        columns.push(encode_column(&values.column, None, &mut blocks)?);
    }
    let document = json!({
        "length": grouped.len(), "shape": null, "order": "unordered", "columns": columns, "selected": null,
    });
    Ok(blocks.with(&document))
}
