//! Where the rows of a sparse matrix end, among its cells in row-major order.

use std::sync::{Mutex, OnceLock, PoisonError};

use bytes::Bytes;
use tdb_array::{Array, Layout, MemoryBudget};
use tdb_cells::OrInternal;

use crate::chunk::Content;
use crate::thresholds::ENDS;
use crate::{Error, Result};

/// The memory of the read that counts the cells of rows: more would not make it faster.
const MEMORY: MemoryBudget = MemoryBudget::from_bytes(64 << 20);

/// Where rows end: a number more than there are rows, the first of which is 0.
#[derive(Debug)]
pub(crate) struct Ends {
    /// The dimension of the rows, and that of the columns.
    names: [String; 2],
    /// How many there are of both.
    sizes: [u64; 2],
    /// What the read may take that counts.
    memory: MemoryBudget,
    /// What was counted. All chunks share it.
    found: OnceLock<Vec<u64>>,
    /// Held while they are counted: threads ask at once, and one counts for all.
    counting: Mutex<()>,
}

impl Ends {
    /// Those of a matrix of so many rows and columns, of which nothing is known yet.
    pub(crate) fn new(names: [String; 2], sizes: [u64; 2], memory: Option<MemoryBudget>) -> Self {
        let memory = memory.filter(|own| own.bytes() < MEMORY.bytes()).unwrap_or(MEMORY);
        Self { names, sizes, memory, found: OnceLock::new(), counting: Mutex::new(()) }
    }

    /// How many numbers there are.
    pub(crate) const fn count(&self) -> u64 {
        self.sizes[0].saturating_add(1)
    }

    /// How many of them a chunk has.
    pub(crate) fn in_chunk(&self) -> u64 {
        self.count().min(ENDS)
    }

    /// A chunk; `None` if there is none.
    pub(crate) fn chunk(&self, array: &Array, index: u64, content: &Content) -> Result<Option<Bytes>> {
        let size = self.in_chunk();
        let Some(first) = index.checked_mul(size).filter(|first| *first < self.count()) else {
            return Ok(None);
        };
        let all = self.all(array)?;
        let place = |at: u64| usize::try_from(at).ok().or_internal("a matrix has more rows than memory");
        let cut = all.get(place(first)?..place(self.count().min(first.saturating_add(size)))?);
        let cut = cut.or_internal("a row has no end")?;
        let mut encoder = content.encoder();
        for end in cut {
            encoder.push(&end.to_le_bytes())?;
        }
        encoder.pad(place(size)?.saturating_sub(cut.len()))?;
        Ok(Some(encoder.finish()?))
    }

    /// All of them.
    fn all(&self, array: &Array) -> Result<&[u64]> {
        if let Some(all) = self.found.get() {
            return Ok(all);
        }
        let _counting = self.counting.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(all) = self.found.get() {
            return Ok(all);
        }
        let counted = self.counted(array)?;
        Ok(self.found.get_or_init(|| counted))
    }

    /// Counts the cells of each row.
    fn counted(&self, array: &Array) -> Result<Vec<u64>> {
        let count = usize::try_from(self.count()).ok().or_internal("a matrix has more rows than memory")?;
        let mut ends = vec![0u64; count];
        let [rows, columns] = self.names.each_ref().map(String::as_str);
        let read = array.read().fields([rows, columns]).order(Layout::Unordered).memory(self.memory);
        for batch in read.batches()? {
            let batch = batch?;
            let places = [batch.field(rows)?.values::<i64>()?, batch.field(columns)?.values::<i64>()?];
            let [rows, columns] = places;
            for (row, column) in rows.iter().zip(columns) {
                let is_inside = u64::try_from(*column).is_ok_and(|column| column < self.sizes[1]);
                let end = usize::try_from(*row).ok().and_then(|row| ends.get_mut(row.checked_add(1)?));
                match end.filter(|_| is_inside) {
                    Some(end) => *end = end.saturating_add(1),
                    None => return Err(self.outside(*row, *column)),
                }
            }
        }
        let mut before = 0u64;
        for end in &mut ends {
            before = before.saturating_add(*end);
            *end = before;
        }
        Ok(ends)
    }

    fn outside(&self, row: i64, column: i64) -> Error {
        let [rows, columns] = self.sizes;
        Error::Outside { row, column, rows, columns }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::thread;
    use std::time::Duration;

    use tdb_array::schema::{ArraySchema, Attribute, Dimension};
    use tdb_array::storage::MemoryStorage;
    use tdb_array::storage::testing::FarStorage;
    use tdb_array::{OpenOptions, WriteColumn, WriteOptions};

    use super::*;

    #[test]
    fn threads_that_ask_at_once_count_once() {
        let names = ["row", "column"];
        let schema = names.iter().fold(ArraySchema::sparse(), |schema, name| {
            schema.dimension(Dimension::new(*name, 0i64..=999).with_tile(100i64))
        });
        let schema = schema.attribute(Attribute::of::<f32>("value")).build().unwrap();
        let memory = Arc::new(MemoryStorage::default());
        WriteOptions::new().create_storage(&*memory, &schema).unwrap();
        let writer = WriteOptions::new().open_storage(memory.clone()).unwrap();
        let write = writer.write().column(WriteColumn::fixed("row", &[0i64, 2, 2]));
        let write = write.column(WriteColumn::fixed("column", &[8i64, 0, 7]));
        write.column(WriteColumn::fixed("value", &[1.0f32, 2.0, 3.0])).commit().unwrap();
        let bytes = |threads: usize| {
            let far = Arc::new(FarStorage::new(memory.clone(), Duration::from_millis(20)));
            let array = OpenOptions::new().open_storage(far.clone()).unwrap();
            let (before, ends) = (far.bytes(), Ends::new(names.map(str::to_owned), [3, 9], None));
            thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| assert_eq!(ends.all(&array).unwrap(), [0, 1, 1, 3]));
                }
            });
            far.bytes() - before
        };
        assert_eq!(bytes(4), bytes(1));
    }
}
