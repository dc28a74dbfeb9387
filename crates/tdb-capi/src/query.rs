//! Queries: what a caller wants of the cells of an array, its buffers, and what goes on.

pub(crate) mod aggregates;
pub(crate) mod buffers;
pub(crate) mod delete;
pub(crate) mod estimate;
pub(crate) mod fields;
mod offsets;
pub(crate) mod plan;
mod read;
pub(crate) mod set;
pub(crate) mod state;
pub(crate) mod write;

use std::sync::Arc;

use tdb_array::Layout;
use tdb_array::schema::{ArraySchema, ArrayType};

use crate::array::{self, ArrayObject};
use crate::config::Config;
use crate::context::{Context, Ctx};
use crate::enums::QUERY_TYPES;
use crate::ffi::{Failure, Freed, In, Object, OutHandle, OutText, Outcome};
use crate::query_condition::Condition;
use crate::shared::Shared;
use crate::stats::Stats;
use crate::subarray::Subarray;
use aggregates::Wanted;
use buffers::Buffers;

/// What a query does. Its array is open for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Reads cells.
    Read,
    /// Writes cells.
    Write,
    /// Deletes the cells that a condition finds.
    Delete,
    /// Writes cells into an array that no one else opens.
    ModifyExclusive,
}

/// How far a query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// Submitting it failed.
    Failed,
    /// All is done.
    Completed,
    /// The buffers are full, and there are more cells.
    Incomplete,
    /// It was not submitted yet.
    Uninitialized,
}

/// What goes on between two submits of a query.
#[derive(Default)]
pub(crate) enum Running {
    /// Nothing.
    #[default]
    Nothing,
    /// A read that was begun: its cells, as far as they were not returned.
    Read(Box<read::Reading>),
    /// A write in global order, which `finalize` ends.
    Write(Box<write::Writing>),
    /// A write whose fields come apart, and those that came.
    Apart(Vec<write::KeptColumn>),
}

/// A query.
pub(crate) struct Query {
    /// The array, which stays as long as the query does.
    pub(crate) array: ArrayObject,
    /// Its schema.
    pub(crate) schema: Arc<ArraySchema>,
    /// What the query does.
    pub(crate) kind: Kind,
    /// What the context, and then the caller, says.
    pub(crate) config: Config,
    /// The order of the cells.
    pub(crate) layout: Layout,
    /// Which cells.
    pub(crate) subarray: Subarray,
    /// Of which fields, and where they are.
    pub(crate) buffers: Buffers,
    /// Which of the cells.
    pub(crate) condition: Option<Condition>,
    /// Aggregates of these cells, with the names of their buffers.
    pub(crate) aggregates: Vec<(String, Wanted)>,
    /// How far it is.
    pub(crate) status: Status,
    /// What goes on.
    pub(crate) running: Running,
    /// The fragments that it wrote.
    pub(crate) written: Vec<write::WrittenFragment>,
    /// What it took.
    pub(crate) stats: Stats,
}

/// A query behind a pointer. Its functions follow each other, whichever threads call them.
pub(crate) struct QueryObject(pub(crate) Arc<Shared<Query>>);

impl Object for QueryObject {
    const NAME: &'static str = "query";
}

/// A failure of a query.
pub(crate) fn failure(text: impl core::fmt::Display) -> Failure {
    Failure::of("Query", text)
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        match number {
            array::READ => Some(Self::Read),
            array::WRITE => Some(Self::Write),
            array::DELETE => Some(Self::Delete),
            array::MODIFY_EXCLUSIVE => Some(Self::ModifyExclusive),
            _ => None,
        }
    }

    /// The number in the C API.
    pub(crate) const fn code(self) -> u32 {
        match self {
            Self::Read => array::READ,
            Self::Write => array::WRITE,
            Self::Delete => array::DELETE,
            Self::ModifyExclusive => array::MODIFY_EXCLUSIVE,
        }
    }

    /// The word for it.
    pub(crate) fn word(self) -> &'static str {
        QUERY_TYPES.word(self.code()).unwrap_or("")
    }

    /// Whether it writes cells.
    pub(crate) const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ModifyExclusive)
    }
}

impl Status {
    /// The number in the C API.
    pub(crate) const fn code(self) -> u32 {
        match self {
            Self::Failed => 0,
            Self::Completed => 1,
            Self::Incomplete => 3,
            Self::Uninitialized => 4,
        }
    }
}

impl Query {
    fn new(context: &Context, array: &ArrayObject, wanted: u32) -> Result<Self, Failure> {
        let opened = array.opened();
        let (schema, kind) = opened.ok_or("Cannot create query; Input array is not open")?;
        if kind != wanted {
            let words = [kind, wanted].map(|kind| QUERY_TYPES.word(kind).unwrap_or(""));
            return Err(Failure::new(format!(
                "Cannot create query; Array query type does not match declared query type: ({} != {})",
                words[0], words[1]
            )));
        }
        let kind = Kind::of(kind).ok_or_else(|| Failure::not_supported("queries of this type"))?;
        let layout = match (kind, schema.array_type) {
            (Kind::Read, _) | (_, ArrayType::Dense) => Layout::RowMajor,
            (_, ArrayType::Sparse) => Layout::Unordered,
        };
        let config = context.config().clone();
        let mut subarray = Subarray::new(schema.clone());
        subarray.set_config(&config);
        Ok(Self {
            array: array.clone(),
            schema,
            kind,
            config,
            layout,
            subarray,
            buffers: Buffers::default(),
            condition: None,
            aggregates: Vec::new(),
            status: Status::Uninitialized,
            running: Running::Nothing,
            written: Vec::new(),
            stats: context.stats().of_query(),
        })
    }

    /// Runs the query, as far as the buffers reach.
    fn submit(&mut self, context: &Context) -> Outcome {
        // As for libtiledb, a read that is over does nothing more.
        if self.kind == Kind::Read && self.status == Status::Completed {
            return Ok(());
        }
        let stats = self.stats.clone();
        let _clock =
            stats.time(if self.kind == Kind::Read { "Query.Reader.dowork" } else { "Query.Writer.dowork" });
        if self.kind == Kind::Read {
            stats.count("Query.Reader.loop_num", 1);
        }
        self.check_array()?;
        match self.kind {
            Kind::Read => {}
            Kind::Write | Kind::ModifyExclusive => self.check_write()?,
            Kind::Delete => self.check_delete()?,
        }
        let done = match self.kind {
            Kind::Read => self.submit_read(context),
            Kind::Write | Kind::ModifyExclusive => self.submit_write(context),
            Kind::Delete => self.submit_delete(),
        };
        if done.is_err() {
            self.status = Status::Failed;
            self.running = Running::Nothing;
        }
        done
    }

    /// Ends a write in global order; nothing for other queries.
    fn finalize(&mut self) -> Outcome {
        if self.status == Status::Uninitialized {
            return Ok(());
        }
        if self.kind.writes() {
            self.finalize_write()?;
        }
        self.status = Status::Completed;
        Ok(())
    }

    fn submit_and_finalize(&mut self, context: &Context) -> Outcome {
        if self.kind != Kind::Write || self.layout != Layout::GlobalOrder {
            let why = "Call valid only in global_order writes.";
            return Err(failure(format!("Failed to submit and finalize query; {why}")));
        }
        self.submit(context)?;
        self.finalize()
    }

    /// The array may have been closed, or opened for something else.
    fn check_array(&self) -> Outcome {
        let opened = self.array.opened();
        let (_, kind) =
            opened.ok_or_else(|| failure("Cannot init query; The associated array is not open"))?;
        if kind == self.kind.code() {
            return Ok(());
        }
        let (array, own) = (QUERY_TYPES.word(kind).unwrap_or(""), self.kind.word());
        let why = format!("Associated array query type does not match query type: ({array} != {own})");
        Err(failure(format!("Cannot init query; {why}")))
    }
}

exported! {
    fn tiledb_query_alloc(ctx: Ctx, array: In<ArrayObject>, query_type: u32, query: OutHandle<QueryObject>) -> Code for ctx {
        query.put_null()?;
        let new = Query::new(ctx.get()?, array.get()?, query_type)?;
        query.put(QueryObject(Arc::new(Shared::new(new))))
    }

    fn tiledb_query_free(query: Freed<QueryObject>) {
        query.free();
    }

    fn tiledb_query_get_stats(ctx: Ctx, query: In<QueryObject>, text: OutText) -> Code for ctx {
        text.give(&query.get()?.0.lock().stats.dump())
    }

    fn tiledb_query_submit(ctx: Ctx, query: In<QueryObject>) -> Code for ctx {
        query.get()?.0.lock().submit(ctx.get()?)
    }

    fn tiledb_query_finalize(ctx: Ctx, query: In<QueryObject>) -> Code for ctx {
        match query.optional()? {
            Some(query) => query.0.lock().finalize(),
            None => Ok(()),
        }
    }

    fn tiledb_query_submit_and_finalize(ctx: Ctx, query: In<QueryObject>) -> Code for ctx {
        match query.optional()? {
            Some(query) => query.0.lock().submit_and_finalize(ctx.get()?),
            None => Ok(()),
        }
    }
}
