//! Cells for an array that exists: what they need of it, and what they must not change.

use std::io::Write;
use std::sync::Arc;

use tdb_array::{
    Array, ArraySchema, ArrayType, ArrayWriter, OpenOptions, SchemaEvolution, TimeWindow, WriteStorage,
};
use tdb_schema::{Dimension, Range};
use tdb_text::value::interval_text;

use super::convert::Conversion;
use super::grow::{self, Growth};
use super::report::Report;
use super::rows;
use super::table::Table;
use super::tables::Tables;
use super::{ImportArgs, Source};
use crate::failure::{Failure, Result, one_line};
use crate::progress::Unit;

/// Adds the cells of a file to an array.
pub(super) fn append(
    args: &ImportArgs,
    source: &Source,
    storage: &Arc<dyn WriteStorage>,
    out: &mut dyn Write,
) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let mut writer = args.change.options()?.open_storage(storage.clone()).map_err(failed)?;
    args.refuse_what_is_for_new_arrays(writer.schema())?;
    let mut report = Report::default();
    report.cells = match source {
        Source::Npy(npy) => {
            npy.check(writer.schema()).map_err(|error| args.wrong(error))?;
            args.refuse_overwriting(storage, npy.shape().iter().map(|size| 0..*size))?;
            args.write_npy(npy, &writer)?
        }
        Source::Table(tables) => {
            let first_row = args.next_row(storage, tables, writer.schema())?;
            let (rows, ranges) = args.look_through(tables, writer.schema(), first_row)?;
            if writer.schema().array_type == ArrayType::Dense {
                args.refuse_overwriting(storage, core::iter::once(0..rows))?;
            }
            if let Some(ranges) = ranges {
                writer = args.grow(storage, writer, ranges, &mut report, out)?;
            }
            let conversion = Conversion { schema: writer.schema(), inferred: None, first_row };
            args.write_tables(tables, &writer, conversion, rows)?
        }
    };
    report.print(args, out)
}

impl ImportArgs {
    /// Makes the current domain of an array as large as these ranges, except in a dry run; returns a writer of the array.
    pub(super) fn grow(
        &self,
        storage: &Arc<dyn WriteStorage>,
        mut writer: ArrayWriter,
        ranges: Vec<Range>,
        report: &mut Report,
        out: &mut dyn Write,
    ) -> Result<ArrayWriter> {
        let failed = |error| Failure::of_array(&self.array, error);
        report.grown = grow::shown(writer.schema(), &ranges);
        let shown = report.grown.iter().map(|(name, range)| format!("{name}={range}"));
        let shown = shown.collect::<Vec<_>>().join(", ");
        // It grows before the cells are written: if the process is killed in between, the array has room for them.
        if !self.dry_run {
            let evolution = SchemaEvolution::new().expand_current_domain(ranges);
            let options = self.lock.apply(self.change.options()?);
            options.evolve_storage(storage.clone(), &evolution).map_err(failed)?;
            writer = self.change.options()?.open_storage(storage.clone()).map_err(failed)?;
        }
        let grew = if self.dry_run { "would grow" } else { "grew" };
        if !self.json {
            writeln!(out, "the current domain {grew}: {}", one_line(&shown))?;
        }
        Ok(writer)
    }

    /// Looks at all coordinates that are added to an array: how many rows there are, and the current domain that it needs, if
    /// it must grow.
    fn look_through(
        &self,
        tables: &Tables,
        schema: &ArraySchema,
        first_row: u64,
    ) -> Result<(u64, Option<Vec<Range>>)> {
        let wrong = |error: String| self.wrong(error);
        let conversion = Conversion { schema, inferred: None, first_row };
        conversion.check(tables.first()).map_err(wrong)?;
        let (mut rows, mut growth) = (0u64, Growth::new(schema));
        let meter = self.progress.bar("looking at coordinates", Unit::Rows, None);
        if let Some(dimension) = rows::along(schema, tables.first().names()) {
            rows = tables.count().map_err(wrong)?;
            growth.add_rows(dimension, first_row, rows).map_err(wrong)?;
        } else {
            let coordinates = |table: &Table| {
                let coordinates = conversion.coordinates(table)?;
                let mut growth = Growth::new(schema);
                growth.add(table, &coordinates).map(|()| (table.len(), growth))
            };
            tables.for_each(&wrong, coordinates, &mut |found| {
                let (count, found) = found.map_err(wrong)?;
                meter.add(count);
                rows = rows.saturating_add(count);
                growth.add_growth(found);
                Ok(())
            })?;
        }
        Ok((rows, growth.finish().filter(|_| schema.array_type == ArrayType::Sparse)))
    }

    /// The array as it is, with what was written for the future.
    pub(super) fn array(&self, storage: &Arc<dyn WriteStorage>) -> Result<Array> {
        let mut options = OpenOptions::new().window(TimeWindow::ALL);
        if let Some(key) = self.change.key.key()? {
            options = options.key(key);
        }
        options.open_storage(storage.clone()).map_err(|error| Failure::of_array(&self.array, error))
    }

    /// The number of the first row that is added to an array; 0 if it does not number rows.
    fn next_row(
        &self,
        storage: &Arc<dyn WriteStorage>,
        tables: &Tables,
        schema: &ArraySchema,
    ) -> Result<u64> {
        let dimension = rows::along(schema, tables.first().names());
        match dimension.filter(|_| schema.array_type == ArrayType::Sparse) {
            Some(dimension) => Ok(rows::next(&*self.array(storage)?, dimension)),
            None => Ok(0),
        }
    }

    /// Returns an error if a box of a dense array has cells already. Its sides are distances from the low end of the domain.
    pub(super) fn refuse_overwriting(
        &self,
        storage: &Arc<dyn WriteStorage>,
        sides: impl Iterator<Item = core::ops::Range<u64>>,
    ) -> Result {
        let array = if self.overwrite { return Ok(()) } else { self.array(storage)? };
        let dimensions = &array.schema().domain.dimensions;
        let Some(bounds) = array.bounds() else { return Ok(()) };
        let overlaps = |((dimension, range), side): ((&Dimension, &Range), core::ops::Range<u64>)| {
            dimension.ordinal(&range.low).is_none_or(|low| low < side.end)
                && dimension.ordinal(&range.high).is_none_or(|high| side.start <= high)
        };
        if !dimensions.iter().zip(&bounds).zip(sides).all(overlaps) {
            return Ok(());
        }
        let there = dimensions.iter().zip(&bounds);
        let there = there.map(|(dimension, range)| interval_text(dimension, &range.low, &range.high));
        Err(Failure::at(
            &self.array,
            format!(
                "the array is dense and has cells at {} already: --overwrite writes over them, --force makes a new array of the file; \
                 a table that was imported without --dense takes more rows",
                there.collect::<Vec<_>>().join(", ")
            ),
        ))
    }
}
