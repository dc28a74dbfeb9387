//! Sorts more records than memory holds: sorted runs go to a temporary file, and are merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use tdb_codec::to_u64;

use crate::temporary::unnamed;
use crate::thresholds::{MAX_SORT_RECORDS, MERGE_BUFFER_RECORDS};

/// A record to sort: the numbers are compared one after the other.
pub(super) type Record = [u64; 3];

/// The bytes of a record in a file.
const SIZE: usize = size_of::<Record>();

/// Records that will be sorted.
#[derive(Debug)]
pub(super) struct Sorter {
    most: usize,
    records: Vec<Record>,
    file: Option<File>,
    /// The number of records of each run in the file.
    runs: Vec<usize>,
}

impl Default for Sorter {
    fn default() -> Self {
        Self { most: MAX_SORT_RECORDS, records: Vec::new(), file: None, runs: Vec::new() }
    }
}

impl Sorter {
    pub(super) fn push(&mut self, record: Record) -> io::Result<()> {
        if self.records.len() >= self.most {
            self.spill()?;
        }
        self.records.push(record);
        Ok(())
    }

    /// Writes the records in memory as a run.
    fn spill(&mut self) -> io::Result<()> {
        self.records.sort_unstable();
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(unnamed()?),
        };
        let mut bytes = Vec::with_capacity(SIZE.saturating_mul(4096));
        for part in self.records.chunks(4096) {
            bytes.clear();
            bytes.extend(part.iter().flatten().flat_map(|number| number.to_le_bytes()));
            file.write_all(&bytes)?;
        }
        self.runs.push(self.records.len());
        self.records.clear();
        Ok(())
    }

    /// All records in their order.
    pub(super) fn finish(mut self) -> io::Result<Sorted> {
        if self.file.is_none() {
            self.records.sort_unstable();
            return Ok(Sorted::Memory(self.records.into_iter()));
        }
        self.spill()?;
        self.records = Vec::new();
        let ahead = MERGE_BUFFER_RECORDS.checked_div(self.runs.len()).unwrap_or(0).max(64);
        let mut start = 0u64;
        let mut merge = Merge { file: self.file, runs: Vec::new(), ahead, heap: BinaryHeap::new() };
        for (number, len) in self.runs.into_iter().enumerate() {
            merge.runs.push(Run { start, left: len, read: Vec::new().into_iter() });
            start = start.saturating_add(to_u64(len.saturating_mul(SIZE)));
            merge.refill(number)?;
        }
        Ok(Sorted::Merged(merge))
    }
}

/// Records in their order.
#[derive(Debug)]
pub(super) enum Sorted {
    Memory(std::vec::IntoIter<Record>),
    Merged(Merge),
}

/// The runs of a file.
#[derive(Debug)]
pub(super) struct Merge {
    file: Option<File>,
    runs: Vec<Run>,
    ahead: usize,
    /// The next record of each run, with the run's number.
    heap: BinaryHeap<Reverse<(Record, usize)>>,
}

#[derive(Debug)]
struct Run {
    /// The byte of the file where the records that were not read yet begin, and how many there are.
    start: u64,
    left: usize,
    read: std::vec::IntoIter<Record>,
}

impl Merge {
    /// Puts the next record of a run, if there is one, among those to be merged.
    fn refill(&mut self, number: usize) -> io::Result<()> {
        let Some(run) = self.runs.get_mut(number) else { return Ok(()) };
        let mut next = run.read.next();
        if next.is_none() && run.left > 0 {
            let count = run.left.min(self.ahead);
            let Some(file) = &mut self.file else { return Ok(()) };
            let mut bytes = vec![0; count.saturating_mul(SIZE)];
            file.seek(SeekFrom::Start(run.start))?;
            file.read_exact(&mut bytes)?;
            run.start = run.start.saturating_add(to_u64(bytes.len()));
            run.left = run.left.saturating_sub(count);
            let (words, _) = bytes.as_chunks::<8>();
            let (records, _) = words.as_chunks::<3>();
            let records: Vec<Record> = records.iter().map(|record| record.map(u64::from_le_bytes)).collect();
            run.read = records.into_iter();
            next = run.read.next();
        }
        if let Some(record) = next {
            self.heap.push(Reverse((record, number)));
        }
        Ok(())
    }
}

impl Iterator for Sorted {
    type Item = io::Result<Record>;

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Memory(records) => records.next().map(Ok),
            Self::Merged(merge) => {
                let Reverse((record, number)) = merge.heap.pop()?;
                Some(merge.refill(number).map(|()| record))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_in_order_whether_memory_holds_them_or_not() {
        for most in [1, 7, 100, 5000] {
            let mut sorter = Sorter { most, ..Sorter::default() };
            let mut state = 1u64;
            let mut expected = Vec::new();
            for line in 0..3000 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let record = [state >> 60, state >> 40, line];
                expected.push(record);
                sorter.push(record).unwrap();
            }
            assert_eq!(sorter.file.is_some(), most < 3000);
            expected.sort_unstable();
            let found: Vec<Record> = sorter.finish().unwrap().map(Result::unwrap).collect();
            assert!(found == expected, "{most}");
        }
    }
}
