//! Queries that read.
//!
//! The engine gives the cells in batches. A submit copies as many whole cells as the buffers hold;
//! what is left of a batch is kept for the next submit, so nothing is decoded twice.

mod cells;
mod fill;
mod format;
mod labels;
mod loans;
#[cfg(test)]
mod tests;

use tdb_array::schema::ArrayType;
use tdb_array::{Array, Layout, MemoryBudget, Read};

use super::buffers::Origin;
use super::offsets::OffsetsFormat;
use super::{Query, Running, Status, failure};
use crate::consolidation::MIN_MEMORY;
use crate::context::Context;
use crate::ffi::{Failure, Outcome};
pub(crate) use cells::Reading;
use cells::Stream;
use loans::Loans;

/// The least memory of a batch, in bytes: enough for the tiles that most arrays have.
const MIN_BATCH_BYTES: u64 = 64 << 20;

/// How many times the size of the buffers a batch may take while it is made: the engine counts
/// columns, a second copy of the widest, and the keys that it sorts by.
const BATCH_FACTOR: u64 = 4;

impl Query {
    /// Reads as many cells as the buffers hold.
    pub(super) fn submit_read(&mut self, _context: &Context) -> Outcome {
        self.check_buffers()?;
        self.check_aggregates()?;
        let format = OffsetsFormat::of(&self.config)?;
        let mut reading = match core::mem::take(&mut self.running) {
            Running::Read(reading) => reading,
            _ => Box::new(self.begin_read()?),
        };
        if !reading.fill(&mut self.buffers, format)? {
            self.status = Status::Incomplete;
            self.running = Running::Read(reading);
            return Ok(());
        }
        self.put_aggregates(reading.array())?;
        self.status = Status::Completed;
        Ok(())
    }

    fn begin_read(&mut self) -> Result<Reading, Failure> {
        let what = "Cannot init query";
        let array = self.array.with_open(what, |open| Ok(open.reading(what)?.clone()))?;
        if self.schema.array_type == ArrayType::Dense && !self.subarray.is_set() {
            return Err(failure("Cannot initialize reader; Dense reads must have a subarray set"));
        }
        self.check_resources()?;
        self.check_current_domain(&array)?;
        let fields = self.buffers.keys().map(|name| Ok((name.clone(), self.field(name)?)));
        let mut fields = fields.collect::<Result<Vec<_>, Failure>>()?;
        fields.retain(|(_, field)| field.origin != Origin::Aggregate);
        let has_labels = self.subarray.has_labels();
        self.subarray.find_labels(&array)?;
        let mut streams = self.label_streams(&array, &mut fields, has_labels)?;
        if !fields.is_empty() {
            let names = fields.iter().map(|(name, _)| name.as_str());
            let read = self.read(&array)?.fields(names).batch_memory(self.batch_memory());
            let loans = Loans::default();
            let batches = read.column_memory(loans.lender()).batches()?;
            streams.push(Stream::new(fields, batches).lending(loans));
        }
        Ok(Reading::new(array, streams))
    }

    /// The cells in the ranges of the query, in its order.
    pub(super) fn narrow(&self, array: &Array) -> Read {
        self.subarray.narrow(array.read()).order(self.order()).memory(self.memory())
    }

    /// The cells that the query is about.
    pub(super) fn read(&self, array: &Array) -> Result<Read, Failure> {
        let read = self.narrow(array);
        match &self.condition {
            Some(condition) => Ok(read.condition(condition.resolve(array)?)),
            None => Ok(read),
        }
    }

    /// The order of the cells. Without duplicates, libtiledb reads unordered cells in global order,
    /// and so do we.
    fn order(&self) -> Layout {
        let is_sparse = self.schema.array_type == ArrayType::Sparse;
        match self.layout {
            Layout::Unordered if is_sparse && !self.schema.allows_duplicates => Layout::GlobalOrder,
            layout => layout,
        }
    }

    /// The memory of the query beside the buffers. Programs give budgets that are enough for
    /// libtiledb, which takes less for a small read.
    pub(crate) fn memory(&self) -> MemoryBudget {
        let budget = self.config.parsed("sm.mem.total_budget");
        MemoryBudget::from_bytes(budget.unwrap_or(u64::MAX).max(MIN_MEMORY))
    }

    /// No read can do without memory or threads.
    fn check_resources(&self) -> Outcome {
        let keys = ["sm.mem.total_budget", "sm.compute_concurrency_level", "sm.io_concurrency_level"];
        match keys.into_iter().find(|key| self.config.parsed::<u64>(key) == Some(0)) {
            Some(key) => Err(failure(format!("Cannot read; {key} must not be 0"))),
            None => Ok(()),
        }
    }

    /// The memory of one batch: about that of the buffers, as more cells do not fit them.
    fn batch_memory(&self) -> MemoryBudget {
        let parts = self.buffers.values();
        let parts = parts.flat_map(|field| [&field.data, &field.offsets, &field.validity]);
        let capacity = parts.flatten().fold(0u64, |sum, buffer| sum.saturating_add(buffer.capacity()));
        MemoryBudget::from_bytes(capacity.saturating_mul(BATCH_FACTOR).max(MIN_BATCH_BYTES))
    }

    /// libtiledb refuses ranges that reach out of the current domain.
    fn check_current_domain(&self, array: &Array) -> Outcome {
        match array.schema().current_domain.as_ref().and_then(|current| self.subarray.outside(current)) {
            Some(text) => Err(failure(text)),
            None => Ok(()),
        }
    }
}
