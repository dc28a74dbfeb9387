//! Memory of callers for the values of a result's columns.

use core::fmt;
use std::sync::Arc;

use tdb_codec::Buffer;

use crate::Result;
use crate::buffers::unfilled;

/// Gives memory for the values of a column, if it has some: asked with the name of the field and a
/// number of bytes. It is asked at most once for a column, unless the first memory was dropped.
#[derive(Clone)]
pub struct ColumnMemory(Arc<Lend>);

type Lend = dyn Fn(&str, usize) -> Option<Buffer> + Send + Sync;

impl ColumnMemory {
    /// Memory that a function gives.
    pub fn new(lend: impl Fn(&str, usize) -> Option<Buffer> + Send + Sync + 'static) -> Self {
        Self(Arc::new(lend))
    }

    /// A buffer for a column of so many bytes, with arbitrary contents: the caller's memory, or
    /// else some of ours.
    pub fn buffer(memory: Option<&Self>, field: &str, len: usize) -> Result<Buffer> {
        let lent = memory.and_then(|memory| (memory.0)(field, len));
        match lent.filter(|buffer| buffer.capacity() >= len) {
            Some(mut buffer) => {
                buffer.reset(len);
                Ok(buffer)
            }
            None => unfilled(len),
        }
    }
}

impl fmt::Debug for ColumnMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ColumnMemory")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_has_the_memory_of_the_caller_if_it_is_large_enough() {
        let memory = ColumnMemory::new(|field, _| (field == "a").then(|| Buffer::from([7u8; 16].as_slice())));
        let column = |field, len| ColumnMemory::buffer(Some(&memory), field, len).unwrap();
        assert_eq!(column("a", 9).as_slice(), [7; 9]);
        assert_eq!((column("a", 17).len(), column("b", 5).len()), (17, 5));
        assert_eq!(ColumnMemory::buffer(None, "a", 3).unwrap().len(), 3);
    }
}
