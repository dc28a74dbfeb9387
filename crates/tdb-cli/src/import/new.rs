//! An import into a new array: its schema from the file, then its cells.

use std::io::Write;
use std::sync::Arc;

use serde_json::Value;
use tdb_array::Error;
use tdb_array::error::WriteError;
use tdb_array::schema::ArraySchema;
use tdb_array::storage::WriteStorage;
use tdb_array::write::is_vacant;
use tdb_text::json::Json;
use tdb_text::schema::{self, At};

use super::args::ImportArgs;
use super::convert::Conversion;
use super::duplicates::{Finder, LeftOut, Rule};
use super::existing::append;
use super::infer::parse_types;
use super::report::Report;
use super::source::Source;
use super::survey::{ArrayOptions, Survey, Surveyed};
use super::table::Table;
use super::tables::Tables;
use super::zones;
use crate::buffers::Buffers;
use crate::compress;
use crate::failure::{Failure, Result};
use crate::progress::Unit;
use crate::ranges::parse_names;
use crate::thresholds::MAX_SAMPLE_CELLS;

/// Makes an array of a file.
pub(super) fn create(
    args: &ImportArgs,
    source: &Source,
    storage: Arc<dyn WriteStorage>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let failed = |error| Failure::of_array(&args.array, error);
    let Surveyed { schema, inferred, rows, mut left_out, zones } = match source {
        Source::Table(tables) => args.survey(tables, err)?,
        Source::Npy(npy) => {
            args.refuse_what_is_for_tables()?;
            Surveyed { schema: npy.schema(), ..Surveyed::default() }
        }
    };
    let mut json = Json::from(schema);
    if let Source::Table(tables) = source {
        args.same_columns(tables)?;
    }
    let parse = |json: &Json| schema::parse(&At::root(json), None).map_err(|error| args.wrong(error));
    let mut described = parse(&json)?;
    let mut report = Report { is_new: true, ..Report::default() };
    if let Some(compress) = args.compress {
        let samples = args.samples(source, &described.schema, &inferred)?;
        compress::forget(&mut json);
        report.filters = compress.fill(&mut json, &described.schema, &samples);
        described = parse(&json)?;
    }
    if args.dry_run {
        if let Source::Table(tables) = source {
            args.check_tables(tables, Conversion::of_new(&described.schema, &inferred, tables.dates()))?;
        }
        writeln!(out, "{:#}", Value::from(&json))?;
        return Ok(());
    }
    let mut options = args.change.options()?;
    if args.force {
        options = options.replace();
        // The array that is there is removed first: a file that is wrong somewhere must not cost
        // it.
        if let Source::Table(tables) = source
            && !is_vacant(&storage).unwrap_or(false)
        {
            args.check_tables(tables, Conversion::of_new(&described.schema, &inferred, tables.dates()))?;
        }
    }
    let array = match options.begin_storage(storage.clone(), &described.schema) {
        Err(Error::Write(WriteError::Exists)) if args.comes_late(&storage, err) => {
            return append(args, source, &storage, out);
        }
        begun => begun.map_err(failed)?,
    };
    report.cells = match source {
        Source::Npy(npy) => args.write_npy(npy, array.writer())?,
        Source::Table(tables) => {
            let conversion = Conversion::of_new(array.writer().schema(), &inferred, tables.dates());
            args.write_tables(tables, array.writer(), conversion, rows, &mut left_out)?
        }
    };
    report.left_out = left_out.len();
    array.writer().write_metadata(&zones::metadata(&zones)).map_err(failed)?;
    array.finish().map_err(failed)?;
    report.print(args, out)
}

impl ImportArgs {
    /// Whether another process has made the array since this one looked for it. Then its cells are
    /// added, and a note says so.
    pub(super) fn comes_late(&self, storage: &Arc<dyn WriteStorage>, err: &mut dyn Write) -> bool {
        let late = !self.force && !is_vacant(storage).unwrap_or(true);
        if late {
            // If standard error is closed, the cells are nevertheless added.
            let _ = writeln!(
                err,
                "note: {}: another process has made this array in the meantime: the cells are added to it",
                self.array.display()
            );
        }
        late
    }

    /// Returns an error if a file lacks a column that another one has.
    fn same_columns(&self, tables: &Tables) -> Result {
        for table in tables.samples().iter().filter(|table| !table.is_of_objects()) {
            let mut names = tables.samples().iter().flat_map(Table::names);
            if let Some(name) = names.find(|name| table.column(name).is_none()) {
                let lacks = format!("there is no column {name:?}, which another file has");
                return Err(self.wrong(table.wrong(lacks)));
            }
        }
        Ok(())
    }

    /// The schema of a new array for a table.
    fn survey(&self, tables: &Tables, err: &mut dyn Write) -> Result<Surveyed> {
        let usage = |error: String| self.usage(error);
        let options = ArrayOptions {
            dims: self.dims.as_deref().map(parse_names).unwrap_or_default(),
            domains: &self.domain,
            types: parse_types(&self.types).map_err(usage)?,
            dates: tables.dates(),
            dense: self.dense,
            allow_duplicates: self.allow_duplicates || self.duplicates == Some(Rule::Allow),
        };
        if tables.is_whole() && tables.samples().iter().all(|table| table.len() == 0) {
            return Err(
                self.wrong("there are no cells, which say what types the columns of a new array have")
            );
        }
        let rule = self.rule(options.allow_duplicates, !options.dims.is_empty())?;
        let (mut survey, notes) =
            Survey::begin(tables.samples(), tables.is_whole(), &options).map_err(usage)?;
        for note in tables.note_of_names().into_iter().chain(notes) {
            // If standard error is closed, the array is nevertheless as the note would say.
            let _ = writeln!(err, "{}", self.note(&note));
        }
        let meter = self.progress.bar("looking at types and coordinates", Unit::Rows, None);
        let wrong = |error: String| self.wrong(error);
        let mut left_out = LeftOut::default();
        if survey.counts_only() {
            survey.add_rows(tables.count().map_err(wrong)?);
        } else {
            let limits = survey.limits().map_err(usage)?;
            let keys = (rule != Rule::Allow).then(|| survey.keys());
            let (mut found, mut finder) = (Vec::new(), Finder::default());
            let look = |table: &Table| (table.len(), survey.look(&limits, table, keys.as_ref()));
            tables.for_each(&wrong, look, &mut |(count, looked)| {
                meter.add(count);
                let (spans, rows) = looked.map_err(usage)?;
                finder.add(rows).map_err(|error| self.temporary(&error))?;
                found.push((count, spans));
                Ok(())
            })?;
            found.into_iter().for_each(|(rows, spans)| survey.unite(rows, spans));
            let coordinates = |place| self.coordinates_at(tables, &options.dims, place);
            left_out = self.left_out(finder, rule, &|a, b| self.both(tables, a, b), true, &coordinates)?;
        }
        meter.clear();
        Ok(Surveyed { left_out, ..survey.finish().map_err(usage)? })
    }

    /// The first cells of each field of a new array.
    fn samples(&self, source: &Source, schema: &ArraySchema, inferred: &[String]) -> Result<Vec<Buffers>> {
        match source {
            Source::Npy(npy) => Ok(vec![npy.sample(MAX_SAMPLE_CELLS)]),
            Source::Table(tables) => Conversion::of_new(schema, inferred, tables.dates())
                .columns(tables.first()?)
                .map_err(|error| self.wrong(error)),
        }
    }
}
