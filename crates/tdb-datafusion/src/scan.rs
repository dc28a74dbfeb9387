//! A scan: the reads of a query on a table.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::Statistics;
use datafusion::logical_expr::Expr;
use tdb_array::{Layout, Read};
use tdb_arrow::Mapping;

use crate::Result;
use crate::error::of_array;
use crate::state::TableState;

/// The columns, filters and limit that a query requests from a table, and settings of its session.
#[derive(Debug)]
pub(crate) struct ScanRequest {
    pub(crate) columns: Vec<usize>,
    pub(crate) filters: Vec<Expr>,
    pub(crate) limit: Option<usize>,
    pub(crate) partitions: usize,
    pub(crate) batch_rows: usize,
    /// The memory of the session, if it is limited.
    pub(crate) memory: Option<usize>,
    /// The session's estimate of how many percent of rows pass a filter about which nothing is
    /// known.
    pub(crate) selectivity: u8,
}

/// The reads of a query, one for each partition, and properties of their rows.
#[derive(Clone, Debug)]
pub(crate) struct Scan {
    /// Empty if there can be no rows.
    pub(crate) parts: Vec<Read>,
    /// The query that was cut into parts, if the parts are made of tiles. Other parts are boxes.
    pub(crate) whole: Option<Read>,
    pub(crate) mapping: Mapping,
    pub(crate) schema: SchemaRef,
    pub(crate) statistics: Arc<Statistics>,
    /// The approximate number of bytes of a row in memory.
    pub(crate) row_bytes: u64,
    /// The columns by which rows in row-major order are sorted.
    pub(crate) sortable: Vec<usize>,
    /// Whether rows are read in this order.
    pub(crate) is_sorted: bool,
    /// The array and its columns.
    pub(crate) state: Arc<TableState>,
    /// The bytes of all rows in memory, at most.
    pub(crate) bytes: u64,
    pub(crate) summary: ScanSummary,
}

impl Scan {
    /// A scan of the same rows, in which each partition is sorted by the dimensions.
    pub(crate) fn in_row_major_order(&self) -> Result<Self> {
        let boxes = self.in_boxes()?.into_iter();
        let parts = boxes.map(|part| part.order(Layout::RowMajor)).collect();
        Ok(Self { parts, whole: None, is_sorted: true, ..self.clone() })
    }

    /// Whether an aggregate of the scan is one query of the array. The groups of several queries
    /// would have to be merged.
    pub(crate) fn is_one_query(&self) -> bool {
        self.whole.is_some() || self.parts.len() == 1
    }

    /// The parts as boxes: queries that can be sorted, and described for other processes.
    pub(crate) fn in_boxes(&self) -> Result<Vec<Read>> {
        match &self.whole {
            Some(whole) => {
                let mut boxes = whole.clone().partitions(self.parts.len()).map_err(of_array)?;
                // There are as many as were planned, some of them without cells.
                boxes.resize(self.parts.len(), whole.clone().nothing());
                Ok(boxes)
            }
            None => Ok(self.parts.clone()),
        }
    }
}

/// The properties of a scan that `EXPLAIN` shows.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScanSummary {
    pub(crate) fields: String,
    pub(crate) ranges: String,
    pub(crate) condition: String,
    /// The number of fragments that are read, and the number of all fragments.
    pub(crate) fragments: (usize, usize),
    /// The number of tiles that are read.
    pub(crate) tiles: u64,
}
