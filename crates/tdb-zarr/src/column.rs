//! Fields of sparse arrays: columns of cells in row-major order.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use tdb_array::query::{Aggregate, AggregateValue};
use tdb_array::{Array, Layout, MemoryBudget, Read};
use tdb_cells::OrInternal;

use crate::chunk::Content;
use crate::thresholds::{MAX_CHUNK_BYTES, MAX_PARTS};
use crate::{Options, Result};

/// The cells of a sparse array, in row-major order, and what was found out about them. All columns
/// of an array share it.
///
/// An awaited question is asked again and again until everything has arrived, and must read the
/// same each time. So what is found out is kept between questions, and not inside of one:
/// [`Self::find`] finds it, and [`Self::keep`] keeps it.
#[derive(Debug)]
pub(crate) struct Rows {
    /// The most cells of a chunk.
    most: u64,
    /// What a read may take, if that is limited.
    memory: Option<MemoryBudget>,
    /// The number of all cells.
    total: OnceLock<u64>,
    /// For each part of the array, the number of cells before it.
    starts: OnceLock<Vec<u64>>,
    /// Held while cells are counted.
    counting: Mutex<()>,
}

/// What was found out: the number of cells, and if chunks will be read, the starts of the parts.
#[derive(Debug)]
pub(crate) struct Counted {
    total: u64,
    starts: Option<Vec<u64>>,
}

impl Rows {
    /// Rows of which nothing is known yet: chunks have so many cells at most, and fewer if cells of
    /// this many bytes would make them too large.
    pub(crate) fn new(options: &Options, widest: u64) -> Self {
        let most = options.rows.min(MAX_CHUNK_BYTES / widest.max(1)).max(1);
        Self {
            most,
            memory: options.memory,
            total: OnceLock::new(),
            starts: OnceLock::new(),
            counting: Mutex::new(()),
        }
    }

    /// Whether something has to be found out first: for documents, or for chunks, too.
    pub(crate) fn is_unknown(&self, chunks: bool) -> bool {
        self.total.get().is_none() || chunks && self.starts.get().is_none()
    }

    /// Waits for another thread that counts: one counts for all.
    pub(crate) fn counting(&self) -> MutexGuard<'_, ()> {
        self.counting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the cells, and if chunks will be read, those of each part.
    pub(crate) fn find(&self, array: &Array, chunks: bool) -> Result<Counted> {
        let total = match self.total.get() {
            Some(total) => *total,
            None => self.count(array.read())?,
        };
        if !chunks {
            return Ok(Counted { total, starts: None });
        }
        let parts = self.parts(array, total)?;
        let mut starts = Vec::with_capacity(parts.len());
        let (mut before, last) = (0u64, parts.len().checked_sub(1));
        for (at, part) in parts.into_iter().enumerate() {
            starts.push(before);
            if Some(at) != last {
                before = before.checked_add(self.count(part)?).or_internal("cells cannot be counted")?;
            }
        }
        Ok(Counted { total, starts: Some(starts) })
    }

    /// Keeps what was found out, unless somebody else was faster.
    pub(crate) fn keep(&self, counted: Counted) {
        self.total.get_or_init(|| counted.total);
        if let Some(starts) = counted.starts {
            self.starts.get_or_init(|| starts);
        }
    }

    /// The number of cells.
    pub(crate) fn total(&self) -> Result<u64> {
        Ok(*self.total.get().or_internal("cells were not counted")?)
    }

    /// The cells of a chunk.
    pub(crate) fn chunk(&self) -> Result<u64> {
        Ok(self.total()?.clamp(1, self.most))
    }

    /// A read inside of the memory.
    fn limited(&self, read: Read) -> Read {
        self.memory.into_iter().fold(read, Read::memory)
    }

    /// The number of a query's cells.
    fn count(&self, read: Read) -> Result<u64> {
        let counted = self.limited(read).aggregate([Aggregate::count()])?;
        Ok(counted.first().and_then(AggregateValue::as_u64).or_internal("a count is no number")?)
    }

    /// Parts of the array that follow each other in the order of the rows, about as many as chunks,
    /// and no more than can be counted.
    /// Which cells a part has does not depend on the fields that are read of it.
    fn parts(&self, array: &Array, total: u64) -> Result<Vec<Read>> {
        let chunks = usize::try_from(total.div_ceil(self.most).min(MAX_PARTS)).ok();
        let chunks = chunks.or_internal("an array has more cells than memory has bytes")?;
        Ok(array.read().order(Layout::RowMajor).partitions(chunks)?)
    }
}

/// A chunk of a field: the cells from number `index * chunk` on.
pub(crate) fn chunk(
    rows: &Rows,
    array: &Array,
    field: &str,
    index: u64,
    content: &Content,
) -> Result<Option<Bytes>> {
    let (total, size) = (rows.total()?, rows.chunk()?);
    let Some(first) = index.checked_mul(size).filter(|first| *first < total) else { return Ok(None) };
    let end = total.min(first.saturating_add(size));
    let starts = rows.starts.get().or_internal("the cells of parts were not counted")?;
    let mut encoder = content.encoder();
    let mut at = first;
    for (number, part) in rows.parts(array, total)?.into_iter().enumerate() {
        let start = *starts.get(number).or_internal("a part has no start")?;
        let next = starts.get(number + 1).copied().unwrap_or(total);
        if next <= at || end <= start {
            continue;
        }
        let cells = rows.limited(part.fields([field])).collect()?;
        let column = cells.columns().first().or_internal("a result has no column")?;
        let inside = |row: u64| usize::try_from(row - start).ok().or_internal("a part is larger than memory");
        encoder.take(column, inside(at)?..inside(end.min(next))?)?;
        at = end.min(next);
    }
    let padding = usize::try_from(size - (end - first)).ok().or_internal("a chunk is larger than memory")?;
    encoder.pad(padding)?;
    Ok(Some(encoder.finish()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::thresholds::ROWS;

    #[test]
    fn chunks_have_fewer_cells_if_these_are_wide() {
        let most = |most, widest| Rows::new(&Options::new().rows(most), widest).most;
        assert_eq!((most(ROWS, 0), most(ROWS, 8), most(ROWS, 1024)), (ROWS, ROWS, ROWS));
        assert_eq!((most(ROWS, 1025), most(ROWS, 128 << 20), most(ROWS, u64::MAX)), (261_888, 2, 1));
        assert_eq!((most(7, 8), most(u64::MAX, 8)), (7, 1 << 25));
    }
}
