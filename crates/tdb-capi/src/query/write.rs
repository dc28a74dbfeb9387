//! Queries that write.

mod columns;
pub(crate) mod fragments;
mod global;
mod labels;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use tdb_array::error::WriteError;
use tdb_array::schema::ArrayType;
use tdb_array::write::Duplicates;
use tdb_array::{ArrayWriter, Error, Layout};

use super::buffers::{Buffers, Origin};
use super::offsets::OffsetsFormat;
use super::{Query, Running, Status, failure};
use crate::context::Context;
use crate::ffi::{Failure, Outcome};
use crate::misc;
use crate::place;
use crate::subarray::DimensionRanges;
use columns::Column;
pub(crate) use columns::KeptColumn;
pub(crate) use fragments::WrittenFragment;
pub(crate) use global::Writing;

/// A range of each dimension of a dense array that has one: its name, and both ends.
type Ranges = Vec<(String, Vec<u8>, Vec<u8>)>;

impl Query {
    /// Checks what was set, before anything is written.
    ///
    /// # Errors
    /// A field is missing, or one of its buffers.
    pub(super) fn check_write(&self) -> Outcome {
        self.check_buffers()?;
        OffsetsFormat::of(&self.config)?;
        let schema = &self.schema;
        let has = |name: &str| self.buffers.contains_key(name);
        let has_coordinates = schema.domain.dimensions.iter().any(|dimension| has(&dimension.name));
        if schema.array_type == ArrayType::Sparse && !has_coordinates {
            return Err(failure("Sparse array writes expect the coordinates of the cells to be written"));
        }
        if self.writes_labels_only() {
            return Ok(());
        }
        let mut fields = schema.fields();
        let is_dense = schema.array_type == ArrayType::Dense;
        let is_set = |name: &str| has(name) || (is_dense && schema.dimension(name).is_some());
        let missing = fields.find(|field| !is_set(field.name)).map(|field| field.name);
        if let Some(missing) = missing.filter(|_| !self.writes_fields_apart()) {
            let what =
                "Writes expect all attributes (and coordinates in the sparse/unordered case) to be set";
            return Err(failure(format!("{what}: '{missing}' is not")));
        }
        if self.subarray.has_labels() { Ok(()) } else { self.ranges().map(drop) }
    }

    /// Writes the cells of the buffers: as a fragment, or as more cells of one in global order.
    pub(super) fn submit_write(&mut self, context: &Context) -> Outcome {
        let writer = self.writer()?;
        if matches!(self.array.with_open("Cannot write", |open| Ok(open.end()))?, 0 | u64::MAX) {
            misc::wait_for_a_time_of_its_own();
        }
        self.write_labels(&writer)?;
        if self.subarray.has_labels() {
            let options = place::open_options(context, &self.config)?;
            self.subarray.find_labels(&options.open_storage(self.array.place().storage()?)?)?;
        }
        if !self.writes_labels_only() {
            if self.layout == Layout::GlobalOrder {
                self.append(writer)?;
            } else if self.writes_fields_apart() {
                self.write_apart(context, &writer)?;
            } else {
                let name = self.write(context, &writer, &self.columns()?)?;
                self.note_fragments(name);
            }
        }
        misc::note_write();
        self.status = Status::Completed;
        Ok(())
    }

    /// Ends a write in global order; nothing for others, unless one of its fields is missing.
    pub(super) fn finalize_write(&mut self) -> Outcome {
        match core::mem::take(&mut self.running) {
            Running::Write(writing) => {
                let names = writing.commit()?;
                misc::note_write();
                self.note_fragments(names);
                Ok(())
            }
            Running::Apart(_) => Err(failure("Cannot finalize query; Not all buffers already written")),
            _ => Ok(()),
        }
    }

    /// The array, to write to it.
    pub(super) fn writer(&self) -> Result<Arc<ArrayWriter>, Failure> {
        let what = "Cannot write";
        self.array.with_open(what, |open| open.writing(what).cloned())
    }

    /// Writes all cells as a fragment; returns its name, unless there are no cells.
    fn write(
        &self,
        context: &Context,
        writer: &ArrayWriter,
        columns: &[Column<'_>],
    ) -> Result<Option<String>, Failure> {
        let is_dense = self.schema.array_type == ArrayType::Dense;
        if !is_dense && columns.iter().all(Column::is_empty) {
            return Ok(None);
        }
        let ranges = self.ranges()?;
        match self.write_with(writer, ranges.clone(), columns) {
            // The current domain may have grown since the array was opened, which libtiledb does
            // not look at.
            Err(Error::Write(WriteError::OutsideDomain { .. })) if self.schema.current_domain.is_some() => {
                let options = place::write_options(context, &self.config)?;
                let options = match self.array.with_open("Cannot write", |open| Ok(open.end()))? {
                    0 | u64::MAX => options,
                    end => options.timestamp(end),
                };
                let newest = options.open_storage(self.array.place().storage()?)?;
                self.write_with(&newest, ranges, columns).map_err(explained).map(Some)
            }
            written => written.map_err(explained).map(Some),
        }
    }

    fn write_with(
        &self,
        writer: &ArrayWriter,
        ranges: Ranges,
        columns: &[Column<'_>],
    ) -> Result<String, Error> {
        let is_dense = self.schema.array_type == ArrayType::Dense;
        let mut write = writer.write().duplicates(self.duplicates());
        if is_dense {
            write = write.order(self.layout);
        }
        for (dimension, low, high) in ranges {
            write = write.range_bytes(dimension, Some(low), Some(high));
        }
        columns.iter().map(Column::written).fold(write, tdb_array::Write::column).commit()
    }

    /// Keeps the fields that are new, and writes all of them once none is missing.
    fn write_apart(&mut self, context: &Context, writer: &ArrayWriter) -> Outcome {
        let mut kept = match core::mem::take(&mut self.running) {
            Running::Apart(kept) => kept,
            _ => Vec::new(),
        };
        for column in self.columns()? {
            if !kept.iter().any(|known| known.name() == column.name()) {
                kept.push(KeptColumn::of(&column));
            }
        }
        if self.schema.fields().any(|field| !kept.iter().any(|known| known.name() == field.name)) {
            self.running = Running::Apart(kept);
            return Ok(());
        }
        let columns: Vec<Column<'_>> = kept.iter().map(KeptColumn::column).collect();
        let name = self.write(context, writer, &columns)?;
        self.note_fragments(name);
        Ok(())
    }

    /// Appends the cells to those that were submitted before, in global order.
    fn append(&mut self, writer: Arc<ArrayWriter>) -> Outcome {
        let mut writing = match core::mem::take(&mut self.running) {
            Running::Write(writing) => writing,
            _ => Box::new(Writing::begin(writer, self.ranges()?, OffsetsFormat::of(&self.config)?)?),
        };
        let (buffers, appended) = writing.append(core::mem::take(&mut self.buffers));
        self.buffers = buffers;
        appended?;
        self.running = Running::Write(writing);
        Ok(())
    }

    /// The cells of all fields but labels.
    fn columns(&self) -> Result<Vec<Column<'_>>, Failure> {
        columns::of(&self.buffers, &self.schema, OffsetsFormat::of(&self.config)?)
    }

    /// The ranges of a dense write: one of a dimension, or none for all of it.
    fn ranges(&self) -> Result<Ranges, Failure> {
        let dimensions = self.schema.domain.dimensions.iter().zip(self.subarray.dimensions());
        let mut found = Vec::new();
        for (dimension, ranges) in dimensions {
            match ranges {
                DimensionRanges::All => {}
                DimensionRanges::Own(list) => {
                    let [range] = list.ranges() else {
                        return Err(failure("Multi-range dense writes are not supported"));
                    };
                    found.push((dimension.name.clone(), range.low.clone(), range.high.clone()));
                }
                // They were replaced by those of the dimension.
                DimensionRanges::Label(..) => return Err(failure("a range of a label is not known")),
            }
        }
        Ok(found)
    }

    /// What becomes of cells with equal coordinates, where the array does not allow them.
    fn duplicates(&self) -> Duplicates {
        // As for libtiledb, every other word means no.
        let is_set = |key: &str| self.config.get(key).as_deref() == Some("true");
        match (is_set("sm.dedup_coords"), is_set("sm.check_coord_dups")) {
            (true, _) => Duplicates::KeepFirst,
            (false, true) => Duplicates::Refuse,
            (false, false) => Duplicates::Unchecked,
        }
    }

    /// Whether there are cells of labels, and none of the array.
    fn writes_labels_only(&self) -> bool {
        let mut has_labels = false;
        let mut others = 0u32;
        for name in self.buffers.keys() {
            match self.field(name).map(|field| field.origin) {
                Ok(Origin::Label) => has_labels = true,
                Ok(Origin::Dimension) => others = others.saturating_add(1),
                _ => return false,
            }
        }
        has_labels && others <= 1
    }
}

/// The error of a write, with the words of libtiledb before it.
fn explained(error: Error) -> Failure {
    let Error::Write(why) = &error else { return error.into() };
    let words = match why {
        WriteError::CellCount { field, given, expected } => {
            let what = "Buffer sizes check failed; Invalid number of cells given for attribute";
            format!("{what} '{field}' ({given} != {expected})")
        }
        WriteError::Duplicate { first } => {
            format!("Duplicate coordinates (those of cell {first}) are not allowed")
        }
        WriteError::DuplicateCells { first, .. } => {
            format!("Duplicate coordinates (those of cell {first}) are not allowed")
        }
        WriteError::OutsideDomain { dimension, value, .. } => {
            format!("Coordinate {value} is out of domain bounds on dimension '{dimension}'")
        }
        WriteError::NotSorted { .. } => {
            "Write failed; Coordinates of a cell succeed those of the next one in the global order".to_owned()
        }
        WriteError::NotInOrder { field, .. } => {
            format!("The data for attribute '{field}' is not in the expected order.")
        }
        _ => return error.into(),
    };
    Failure::of("Writer", format!("{words}: {error}"))
}
