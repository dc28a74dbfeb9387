//! The ids of a table, as runs.

use tdb_array::schema::Datatype;
use tdb_array::{Array, Layout, MemoryBudget};

use crate::facts::JOINID;
use crate::{Error, Result};

/// The memory of a read whose cells are only looked at.
const MEMORY: MemoryBudget = MemoryBudget::from_bytes(64 << 20);

/// Ids in order, as runs of neighbours: those of most tables are one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ids {
    runs: Vec<(i64, i64)>,
    /// An id that is there twice.
    pub(crate) repeated: Option<i64>,
}

impl Ids {
    /// The ids of a table; `None` if it has no column for them.
    pub(crate) fn of(array: &Array) -> Result<Option<Self>> {
        let is_ids = array.schema().field(JOINID).is_some_and(|field| field.datatype == Datatype::Int64);
        if !is_ids {
            return Ok(None);
        }
        let mut ids = Self::default();
        for_each_batch(array, &[JOINID], |columns| {
            if let [values] = columns {
                values.iter().for_each(|id| ids.push(*id));
            }
        })?;
        ids.sort();
        Ok(Some(ids))
    }

    fn push(&mut self, id: i64) {
        match self.runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            _ => self.runs.push((id, id)),
        }
    }

    /// Orders the runs, and joins those that touch.
    fn sort(&mut self) {
        self.runs.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (first, last) in self.runs.drain(..) {
            match joined.last_mut() {
                Some((_, end)) if first <= *end => {
                    self.repeated = self.repeated.or(Some(first));
                    *end = last.max(*end);
                }
                Some((_, end)) if end.checked_add(1) == Some(first) => *end = last,
                _ => joined.push((first, last)),
            }
        }
        self.runs = joined;
    }

    /// The first and the last one.
    pub(crate) fn ends(&self) -> Option<(i64, i64)> {
        Some((self.runs.first()?.0, self.runs.last()?.1))
    }

    /// Whether some between the first and the last one are missing.
    pub(crate) fn has_gaps(&self) -> bool {
        self.runs.len() > 1
    }

    pub(crate) fn contains(&self, id: i64) -> bool {
        let after = self.runs.partition_point(|(first, _)| *first <= id);
        after.checked_sub(1).and_then(|at| self.runs.get(at)).is_some_and(|(_, last)| id <= *last)
    }
}

/// Reads columns of 64-bit integers of all cells, in whatever order, in bounded memory.
pub(crate) fn for_each_batch(array: &Array, names: &[&str], mut see: impl FnMut(&[&[i64]])) -> Result<()> {
    let read = array.read().fields(names.iter().copied()).order(Layout::Unordered).memory(MEMORY);
    for batch in read.batches()? {
        let batch = batch?;
        let mut columns = Vec::new();
        for name in names {
            columns.push(batch.field(name).and_then(|column| column.values::<i64>()).map_err(Error::from)?);
        }
        see(&columns);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(of: &[i64]) -> Ids {
        let mut ids = Ids::default();
        of.iter().for_each(|id| ids.push(*id));
        ids.sort();
        ids
    }

    #[test]
    fn ids_in_any_order_are_runs() {
        let found = ids(&[5, 6, 7, 0, 1, 2, 3]);
        assert_eq!((found.ends(), found.has_gaps(), found.repeated), (Some((0, 7)), true, None));
        assert!(!found.contains(4) && found.contains(3) && found.contains(5) && !found.contains(8));
        assert!(!ids(&[2, 1, 0, 3]).has_gaps());
        assert_eq!(ids(&[]).ends(), None);
    }

    #[test]
    fn an_id_that_is_there_twice_is_found_wherever_it_is() {
        assert_eq!(ids(&[0, 1, 2, 2]).repeated, Some(2));
        assert_eq!(ids(&[7, 0, 1, 7]).repeated, Some(7));
        assert_eq!(ids(&[0, 1, 2, 3, 1]).repeated, Some(1));
    }
}
