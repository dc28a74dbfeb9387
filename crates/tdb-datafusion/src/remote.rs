//! Tables and scans that other processes open: each names the files that are read, so all processes
//! see one state.
//!
//! Descriptions contain no keys and no options of storages. A process that opens one uses those of
//! its own [`TdbTableFactory`].

use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Statistics, exec_err, plan_err};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use tdb_array::Read;
use tdb_array::query::QueryDescription;
use tdb_array::storage::without_secrets;
use tdb_arrow::Options;

use crate::error::of_array;
use crate::exec::TdbExec;
use crate::scan::{Scan, ScanSummary};
use crate::state::TableState;
use crate::{Result, TdbTable, TdbTableFactory};

/// A table in one state, for another process ([`TdbTableFactory::open_described`]).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableDescription {
    /// The array, and its files.
    pub array: QueryDescription,
    /// The types of the columns.
    pub arrow: Options,
}

impl TableDescription {
    /// A table of an array's state.
    #[must_use]
    pub const fn new(array: QueryDescription, arrow: Options) -> Self {
        Self { array, arrow }
    }
}

/// The reads of a [`TdbExec`], for another process ([`TdbTableFactory::open_scan`]).
#[derive(Clone, Debug, PartialEq)]
pub struct ScanDescription {
    /// The partitions, each with the fragments, ranges, fields, order and condition of its read.
    pub parts: Vec<QueryDescription>,
    /// The columns.
    pub schema: SchemaRef,
    /// The types of the array's columns.
    pub arrow: Options,
    /// Whether cells of a dense array that do not satisfy the condition are left out.
    pub selection: bool,
    /// The maximum number of rows of each partition.
    pub limit: Option<usize>,
    /// The approximate number of bytes of a row in memory.
    pub row_bytes: u64,
    /// The columns by which the rows of each partition are sorted, the first one first.
    pub order: Vec<SortedColumn>,
}

/// A column by which rows are sorted in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortedColumn {
    /// The index of the column.
    pub column: usize,
    /// Whether nulls would come first.
    pub nulls_first: bool,
}

impl TdbTable {
    /// Describes the table in the state that new queries see.
    ///
    /// # Errors
    /// A table over an open array, whose location is not known; a location that contains a secret.
    pub fn describe(&self) -> Result<TableDescription> {
        let state = self.state();
        let array = state.array.read().describe(state.location()?).map_err(of_array)?;
        Ok(TableDescription::new(array, state.arrow))
    }
}

impl TableState {
    /// The location at which other processes find the array.
    fn location(&self) -> Result<&str> {
        let Some(location) = self.location.as_deref() else {
            return plan_err!(
                "other processes cannot open a table over an open array: create it with a location"
            );
        };
        if without_secrets(location) != location {
            return plan_err!(
                "{} contains a secret, which other processes must not be told: they need it in their own configuration",
                without_secrets(location)
            );
        }
        Ok(location)
    }
}

impl TdbExec {
    /// Describes what is read. What other operators would tell the scan while a plan runs is left
    /// out; these operators filter again in any case.
    ///
    /// # Errors
    /// As for [`TdbTable::describe`].
    pub fn describe(&self) -> Result<ScanDescription> {
        let scan = self.scan();
        let location = scan.state.location()?;
        let boxes = scan.in_boxes()?;
        let parts = boxes.iter().map(|part| part.describe(location).map_err(of_array));
        Ok(ScanDescription {
            parts: parts.collect::<Result<_>>()?,
            schema: scan.schema.clone(),
            arrow: scan.state.arrow,
            // As the plan asks for it: a read of a sparse array leaves cells out in any case.
            selection: scan.state.table.dense && !scan.summary.condition.is_empty(),
            limit: self.limit(),
            row_bytes: scan.row_bytes,
            order: self.properties().output_ordering().into_iter().flatten().map_while(sorted).collect(),
        })
    }
}

/// A column in ascending order.
fn sorted(part: &PhysicalSortExpr) -> Option<SortedColumn> {
    let column = part.expr.downcast_ref::<Column>()?.index();
    (!part.options.descending).then_some(SortedColumn { column, nulls_first: part.options.nulls_first })
}

impl TdbTableFactory {
    /// Opens a table that another process described, with the storages, the key and the threads of
    /// this factory. It shows the described state, and is read-only.
    ///
    /// # Errors
    /// No array there; files that a vacuum has removed in the meantime; any error of opening it.
    pub fn open_described(&self, table: &TableDescription) -> Result<TdbTable> {
        let location = table.array.uri();
        let array = self.open_read(&table.array)?.array().clone();
        TdbTable::at(array, None, table.arrow, Some(location.into()))
    }

    /// Opens what another process described, in order to read it.
    ///
    /// # Errors
    /// As for [`Self::open_described`]; a description without a partition, or with columns that the
    /// array does not have.
    pub fn open_scan(&self, scan: &ScanDescription) -> Result<TdbExec> {
        let reads = scan.parts.iter().map(|part| Ok(self.open_read(part)?.selection(scan.selection)));
        let parts: Vec<Read> = reads.collect::<Result<_>>()?;
        let (Some(first), Some(description)) = (parts.first(), scan.parts.first()) else {
            return exec_err!("a scan without partitions");
        };
        let state = TableState::of(first.array().clone(), scan.arrow, Some(description.uri().into()))?;
        let mut order = Vec::with_capacity(scan.order.len());
        for SortedColumn { column, nulls_first } in &scan.order {
            let Some(field) = scan.schema.fields().get(*column) else {
                return exec_err!(
                    "a scan that is sorted by column {column}, of {}",
                    scan.schema.fields().len()
                );
            };
            let column = Arc::new(Column::new(field.name(), *column));
            let options = SortOptions { descending: false, nulls_first: *nulls_first };
            order.push(PhysicalSortExpr::new(column, options));
        }
        let ordering = (!order.is_empty())
            .then(|| EquivalenceProperties::new_with_orderings(scan.schema.clone(), [order]));
        let names = scan.schema.fields().iter().map(|field| field.name().as_str());
        let summary = ScanSummary { fields: names.collect::<Vec<_>>().join(", "), ..ScanSummary::default() };
        let scan_of_parts = Scan {
            mapping: state.table.mapping.clone(),
            schema: scan.schema.clone(),
            statistics: Arc::new(Statistics::new_unknown(&scan.schema)),
            row_bytes: scan.row_bytes.max(1),
            sortable: Vec::new(),
            is_sorted: ordering.is_some(),
            bytes: 0,
            summary,
            state: Arc::new(state),
            whole: None,
            parts,
        };
        Ok(TdbExec::new(scan_of_parts, scan.limit, ordering))
    }

    fn open_read(&self, description: &QueryDescription) -> Result<Read> {
        let storage = self.places.storage(description.uri())?;
        description.open_storage(self.options.open_options(), storage).map_err(of_array)
    }
}
