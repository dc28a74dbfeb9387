//! Cells for an array that exists: what they need of it, and what they must not change.

use std::io::Write;
use std::sync::Arc;

use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::storage::WriteStorage;
use tdb_array::write::SchemaEvolution;
use tdb_array::{Array, ArrayWriter, OpenOptions, TimeWindow};
use tdb_schema::{Dimension, Range};
use tdb_text::value::interval_text;

use super::args::ImportArgs;
use super::convert::Conversion;
use super::duplicates::{Finder, Keys, LeftOut, Rule};
use super::enumerations::{Additions, Enumerated};
use super::grow::{self, Growth};
use super::npy::Npy;
use super::report::Report;
use super::rows;
use super::source::Source;
use super::table::Table;
use super::tables::Tables;
use crate::failure::{Failure, Result};
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
            Npy::check_codes(writer.schema(), args.codes).map_err(|error| args.wrong(error))?;
            if args.duplicates.is_some() {
                return Err(args.usage("--duplicates is not for NPY files"));
            }
            args.refuse_overwriting(storage, npy.shape().iter().map(|size| 0..*size))?;
            args.write_npy(npy, &writer)?
        }
        Source::Table(tables) => {
            let mut enumerated =
                Enumerated::of(&writer, args.codes, args.extend_enumerations).map_err(failed)?;
            let first_row = args.next_row(storage, tables, writer.schema())?;
            let Findings { rows, needs, mut left_out } =
                args.look_through(tables, writer.schema(), first_row, &enumerated)?;
            if writer.schema().array_type == ArrayType::Dense {
                args.refuse_overwriting(storage, core::iter::once(0..rows))?;
            }
            report.extended = enumerated.shown(&needs.additions);
            report.left_out = left_out.len();
            writer = args.evolve(storage, writer, needs, &mut report, out)?;
            if !args.dry_run {
                enumerated = Enumerated::of(&writer, args.codes, false).map_err(failed)?;
            }
            let (schema, enumerated) = (writer.schema(), Some(&enumerated));
            let dates = tables.dates();
            let conversion = Conversion { schema, inferred: None, first_row, enumerated, dates };
            args.write_tables(tables, &writer, conversion, rows, &mut left_out)?
        }
    };
    report.print(args, out)
}

/// The changes that an array needs before the cells of a file can be written.
#[derive(Debug, Default)]
pub(super) struct RequiredChanges {
    /// The current domain, if it must grow.
    pub(super) ranges: Option<Vec<Range>>,
    /// Values that its enumerations lack.
    pub(super) additions: Additions,
}

/// The findings of a look at all rows of a file.
struct Findings {
    rows: u64,
    needs: RequiredChanges,
    left_out: LeftOut,
}

impl ImportArgs {
    /// Gives an array what it needs, except in a dry run, and says so; returns a writer of the
    /// array.
    pub(super) fn evolve(
        &self,
        storage: &Arc<dyn WriteStorage>,
        writer: ArrayWriter,
        RequiredChanges { ranges, additions }: RequiredChanges,
        report: &mut Report,
        out: &mut dyn Write,
    ) -> Result<ArrayWriter> {
        let failed = |error| Failure::of_array(&self.array, error);
        if ranges.is_none() && report.extended.is_empty() {
            return Ok(writer);
        }
        report.grown = ranges.as_ref().map_or_else(Vec::new, |ranges| grow::shown(writer.schema(), ranges));
        // Another import may need the same at the same time.
        let mut evolution = SchemaEvolution::new().where_needed();
        if let Some(ranges) = ranges {
            evolution = evolution.expand_current_domain(ranges);
        }
        for (name, values) in additions.by_name() {
            evolution = evolution.extend_enumeration(name, values);
        }
        // All this comes before the cells: if the process is killed in between, the array has room
        // for them.
        let mut evolved = writer;
        if !self.dry_run {
            let options = self.lock.apply(self.change.options()?);
            options.evolve_storage(storage.clone(), &evolution).map_err(failed)?;
            evolved = self.change.options()?.open_storage(storage.clone()).map_err(failed)?;
        }
        report.print_evolution(self, out)?;
        Ok(evolved)
    }

    /// Looks at all coordinates that are added to an array, and at all cells if these are in memory
    /// already or if values may be added to enumerations: what is wrong is found before the array
    /// changes.
    fn look_through(
        &self,
        tables: &Tables,
        schema: &ArraySchema,
        first_row: u64,
        enumerated: &Enumerated,
    ) -> Result<Findings> {
        let wrong = |error: String| self.wrong(error);
        let (enumerated_here, dates) = (Some(enumerated), tables.dates());
        let conversion = Conversion { schema, inferred: None, first_row, enumerated: enumerated_here, dates };
        for table in tables.samples() {
            conversion.check(table).map_err(|what| wrong(table.wrong(what)))?;
        }
        let (mut rows, mut growth, mut finder) = (0u64, Growth::new(schema), Finder::default());
        let mut additions = Additions::default();
        let along = rows::along(schema, tables.first()?.names());
        let rule = self.rule(schema.allows_duplicates, along.is_none())?;
        let keys = (rule != Rule::Allow).then(|| Keys::of(&schema.domain.dimensions));
        let all = enumerated.extends() || tables.is_whole();
        let meter = self.progress.bar("looking at coordinates", Unit::Rows, None);
        if let Some(dimension) = along {
            rows = tables.count().map_err(wrong)?;
            growth.add_rows(dimension, first_row, rows).map_err(wrong)?;
        }
        if along.is_none() || all {
            let look = |table: &Table| {
                let columns = if all { conversion.columns(table) } else { conversion.coordinates(table) }?;
                let mut growth = Growth::new(schema);
                growth.add(table, &columns)?;
                let keyed = keys.as_ref().map(|keys| keys.rows(schema, table, &columns)).transpose()?;
                let added =
                    if enumerated.extends() { enumerated.missing(table)? } else { Additions::default() };
                Ok((table.len(), growth, keyed.unwrap_or_default(), added))
            };
            tables.for_each(&wrong, look, &mut |found| {
                let (count, found, keyed, added) = found.map_err(wrong)?;
                meter.add(count);
                rows = if along.is_none() { rows.saturating_add(count) } else { rows };
                growth.add_growth(found);
                finder.add(keyed).map_err(|error| self.temporary(&error))?;
                additions.append(added);
                Ok(())
            })?;
        }
        let names: Vec<String> = schema.domain.dimensions.iter().map(|own| own.name.clone()).collect();
        let coordinates = |place| self.coordinates_at(tables, &names, place);
        let left_out = {
            let both = |a, b| self.both(tables, a, b);
            self.left_out(finder, rule, &both, schema.allows_duplicates, &coordinates)?
        };
        let ranges = growth.finish().filter(|_| schema.array_type == ArrayType::Sparse);
        Ok(Findings { rows, needs: RequiredChanges { ranges, additions }, left_out })
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
        let dimension = rows::along(schema, tables.first()?.names());
        match dimension.filter(|_| schema.array_type == ArrayType::Sparse) {
            Some(dimension) => Ok(rows::next(&self.array(storage)?, dimension)),
            None => Ok(0),
        }
    }

    /// Returns an error if a box of a dense array has cells already. Its sides are distances from
    /// the low end of the domain.
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
