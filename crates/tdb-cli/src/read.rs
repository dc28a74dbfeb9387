//! `tdb read`: the cells of an array.

mod aggregates;
mod args;
pub(crate) mod csv;
mod grid;
mod groups;
mod json;
mod limit;
mod ndjson;
mod preview;
mod raw;
pub(crate) mod rows;
pub(crate) mod shown;
mod spool;

use std::io::{self, IsTerminal, Write};

use tdb_array::error::QueryError;
use tdb_array::query::Batches;
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::{Array, Layout, MemoryBudget, Read};
use tdb_codec::to_u64;

use self::csv::Csv;
use self::grid::Grid;
use self::json::Json;
use self::limit::narrow;
use self::ndjson::Ndjson;
use self::preview::Preview;
use self::raw::Raw;
use self::shown::ShownColumn;
use crate::bounds::Bounds;
use crate::failure::{Failure, Result};
use crate::output::Out;
use crate::place::Stores;
use crate::progress::{Meter, Unit};
use crate::screen::Screen;
use crate::thresholds::{INITIAL_BATCH_MEMORY, MAX_GRID_CELLS};
use crate::{condition, explain, notes, ranges};

pub(crate) use self::args::{Format, ReadArgs, refuse};

/// The query defined by the arguments.
struct Query<'a> {
    array: &'a Array,
    args: &'a ReadArgs,
    read: Read,
    /// The given ranges of each dimension; empty for the whole dimension.
    ranges: Vec<Vec<Bounds>>,
    /// The number of columns before the fields that are coordinates added by the format.
    coordinates: usize,
    /// Whether less is read than was requested, because no more is shown.
    narrowed: bool,
}

/// The result, for formats that need all of it at once.
struct CollectedCells<'a> {
    array: &'a Array,
    /// Columns of coordinates added by the format, then the fields.
    columns: Vec<ShownColumn>,
    /// Columns of further cells, with the number of cells before them.
    more: Vec<(usize, Vec<ShownColumn>)>,
    /// The number of columns that are coordinates added by the format.
    coordinates: usize,
    order: Layout,
    /// Number of cells to show; the columns may contain more.
    cells: usize,
    /// Number of cells along each dimension, if a whole box is shown.
    shape: Option<Vec<usize>>,
}

/// Runs the command.
pub(crate) fn run(
    args: &ReadArgs,
    stores: &Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    if let Some(keys) = &args.group_by {
        return groups::run(args, stores, keys, screen, out, err);
    }
    if let Some(list) = &args.aggregate {
        return aggregates::run(args, stores, list, out, err);
    }
    if args.format() == Format::Raw && args.out.is_none() {
        return Err(Failure::Usage("--format raw writes several files: --out DIR is needed".to_owned()));
    }
    let file = args.file()?;
    let array = open(args, stores)?;
    let query = Query::new(args, &array, err)?;
    match &args.out {
        Some(folder) if args.format() == Format::Raw => query.stream(&mut Raw::new(folder))?,
        _ => match &file {
            Some(name) => {
                let mut file = name.begin()?;
                query.print(&mut Out { out: &mut file, path: Some(name.shown()) })?;
                file.finish()?;
            }
            None => query.print_on(screen, out)?,
        },
    }
    if args.stats {
        explain::write_stats(&array.stats(), err)?;
    }
    Ok(())
}

impl<'a> Query<'a> {
    /// Prints the cells, or on a terminal those that fit it.
    fn print_on(self, screen: Option<Screen>, out: &mut dyn Write) -> Result {
        let mut out = Out { out, path: None };
        match screen.filter(|_| self.args.format() == Format::Table && !self.args.all) {
            Some(screen) => self.preview(screen, &mut out),
            None => self.print(&mut out),
        }
    }

    fn new(args: &'a ReadArgs, array: &'a Array, err: &mut dyn Write) -> Result<Self> {
        let schema = array.schema();
        let asked = ranges::query_ranges(&args.ranges, &args.array, schema)?;
        notes::print(&args.array, schema, &asked.notes, args.condition.as_deref(), err);
        let order = args.order.map(Layout::from);

        let mut narrower = asked.clone();
        let narrowed = match (args.limit, order.unwrap_or(Layout::RowMajor)) {
            // The cells that satisfy a condition are not known before.
            (Some(limit), Layout::RowMajor) if asked.labels.is_empty() && !finds(args) => {
                narrow(schema, &mut narrower.dimensions, limit)
            }
            _ => false,
        };
        let mut read = narrower.apply(satisfying(args, array)?, schema);
        if let Some(order) = order {
            read = read.order(order);
        }
        let fields = args.fields.as_deref().map(|names| ranges::parse_fields(schema, names));
        let dense = schema.array_type == ArrayType::Dense;
        let (coordinates, fields) = columns(schema, args.format(), fields, dense && finds(args));
        if let Some(fields) = fields {
            read = read.fields(fields);
        }
        if let Some(memory) = args.memory {
            read = read.memory(memory);
        }
        if args.limit.is_some() {
            read = read.initial_batch_memory(INITIAL_BATCH_MEMORY);
        }
        // Raw buffers have all cells of a box.
        read = read.selection(args.format() != Format::Raw);
        Ok(Self { array, args, read, ranges: asked.dimensions, coordinates, narrowed })
    }

    /// Prints the cells in a format that consists of one file.
    fn print(self, out: &mut Out<'_>) -> Result {
        match self.args.format() {
            Format::Csv => self.stream(&mut Csv::new(out, ',')),
            Format::Tsv => self.stream(&mut Csv::new(out, '\t')),
            Format::Json => self.stream(&mut Json::new(out)),
            Format::Ndjson => self.stream(&mut Ndjson::new(out)),
            Format::Table | Format::Raw => {
                let answer = self.collect()?;
                out.write(|out| match Grid::of(&answer) {
                    Some(grid) => grid.write(out),
                    None => rows::write(&answer, out),
                })
            }
        }
    }

    /// Prints what fits a terminal: a grid, or the first and the last rows.
    fn preview(self, screen: Screen, out: &mut Out<'_>) -> Result {
        let args = self.args;
        let batches = self.read.clone().batches().map_err(|error| failed(args, error))?;
        let cells = batches.shape().map(|shape| shape.iter().product::<usize>());
        if args.limit.is_some() || cells.is_none_or(|cells| cells > MAX_GRID_CELLS) {
            return self.stream(&mut Preview::new(out, screen, args.limit.is_some()));
        }
        let answer = self.collect()?;
        let mut text = Vec::new();
        let grid = Grid::of(&answer);
        grid.as_ref().map_or(Ok(()), |grid| grid.write(&mut text))?;
        if grid.is_some() && screen.fits(&text) {
            return out.write(|out| out.write_all(&text));
        }
        let mut preview = Preview::new(out, screen, false);
        preview.take(&answer.columns, answer.cells)?;
        preview.write()
    }

    /// Reads all cells at once; or, if only the first ones are shown, as many batches as have
    /// these.
    fn collect(self) -> Result<CollectedCells<'a>> {
        let Self { array, args, coordinates, narrowed, .. } = self;
        if let Some(limit) = args.limit {
            let mut batches = self.read.clone().batches().map_err(|error| failed(args, error))?;
            let all = batches.shape().filter(|_| !narrowed).map(|shape| shape.iter().product::<usize>());
            if all.is_none_or(|all| all > limit) {
                return Self::first(array, args, coordinates, &mut batches, limit);
            }
        }
        let cells = self.read.collect().map_err(|error| failed(args, error))?;
        let is_box = !narrowed && !finds(args);
        let (order, shape) = (cells.order(), cells.shape().filter(|_| is_box).map(<[usize]>::to_vec));
        let (cells, columns) = shown::of_cells(args, array, cells)?;
        let cells = cells.min(args.limit.unwrap_or(usize::MAX));
        Ok(CollectedCells { columns, more: Vec::new(), coordinates, order, cells, shape, array })
    }

    /// Reads batches until there are `limit` cells.
    fn first(
        array: &'a Array,
        args: &'a ReadArgs,
        coordinates: usize,
        batches: &mut Batches,
        limit: usize,
    ) -> Result<CollectedCells<'a>> {
        let mut parts = Vec::new();
        let (mut cells, mut bytes) = (0usize, 0u64);
        while cells < limit || parts.is_empty() {
            let Some(batch) = batches.next().transpose().map_err(|error| failed(args, error))? else { break };
            let before = cells;
            let (len, columns) = shown::of_cells(args, array, batch)?;
            cells = cells.saturating_add(len);
            let sizes = columns.iter().map(|shown| to_u64(shown.column.bytes().len()));
            bytes = sizes.fold(bytes, u64::saturating_add);
            if let Some(budget) = args.memory.filter(|budget| budget.bytes() < bytes) {
                let needed = MemoryBudget::from_bytes(bytes.saturating_mul(2));
                return Err(failed(args, QueryError::OverBudget { budget, needed }.into()));
            }
            parts.push((before, columns));
        }
        let mut parts = parts.into_iter();
        let ((_, columns), more) = (parts.next().unwrap_or_default(), parts.collect());
        let (order, cells) = (batches.order(), cells.min(limit));
        Ok(CollectedCells { columns, more, coordinates, order, cells, shape: None, array })
    }

    /// Reads the cells batch by batch.
    fn stream(self, sink: &mut dyn Sink) -> Result {
        let Self { array, args, ranges, narrowed, .. } = self;
        let failed = |error| failed(args, error);
        // Cells that are printed to the same terminal show the progress.
        let alone = args.out.is_some() || !io::stdout().is_terminal();
        let meter =
            if alone { args.progress.bar("", Unit::Share, Some(Meter::WHOLE)) } else { Meter::none() };
        let mut batches = self.read.batches().map_err(failed)?;
        let (order, timestamps) = (batches.order(), args.window.timestamps());
        let mut summary = Summary { array, ranges, timestamps, order, cells: 0, shape: None };
        let mut left = args.limit.unwrap_or(usize::MAX);
        // Not a for loop: that would keep the previous batch while the next one is made.
        while let Some(batch) = batches.next().transpose().map_err(failed)? {
            let (len, columns) = shown::of_cells(args, array, batch)?;
            let shown = len.min(left);
            left = left.saturating_sub(shown);
            summary.cells = summary.cells.saturating_add(shown);
            sink.take(&columns, shown)?;
            meter.show(batches.progress());
            if left == 0 {
                break;
            }
        }
        meter.clear();
        let is_box = args.format() == Format::Raw || !finds(args);
        let whole = |shape: &[usize]| is_box && !narrowed && shape.iter().product::<usize>() == summary.cells;
        summary.shape = batches.shape().filter(|shape| whole(shape));
        sink.finish(&summary)
    }
}

/// The destination of batches.
trait Sink {
    /// Writes the first `cells` cells of a batch.
    fn take(&mut self, columns: &[ShownColumn], cells: usize) -> Result;

    /// Gets information about all cells after the last batch.
    fn finish(&mut self, summary: &Summary<'_>) -> Result;
}

/// Properties of the result that are known after all cells are read.
struct Summary<'a> {
    array: &'a Array,
    /// The given ranges of each dimension; empty for the whole dimension.
    ranges: Vec<Vec<Bounds>>,
    /// The given time window.
    timestamps: [Option<u64>; 2],
    order: Layout,
    cells: usize,
    /// Number of cells along each dimension, if a whole box is shown.
    shape: Option<Vec<usize>>,
}

/// Whether only the cells that satisfy a condition are shown, so that those of a dense array are in
/// no box.
fn finds(args: &ReadArgs) -> bool {
    args.condition.is_some() && args.format() != Format::Raw
}

fn open(args: &ReadArgs, stores: &Stores) -> Result<Array> {
    let mut options = args.window.options(&args.key)?;
    if let Some(threads) = args.threads {
        options = options.threads(usize::from(threads.get()));
    }
    options.open_storage(stores.storage(&args.array)?).map_err(|error| Failure::of_array(&args.array, error))
}

/// A query for the cells that satisfy the condition.
fn satisfying(args: &ReadArgs, array: &Array) -> Result<Read> {
    let Some(text) = &args.condition else { return Ok(array.read()) };
    let condition = tdb_text::condition::parse(text, array.schema());
    Ok(array.read().condition(condition.map_err(|error| condition::bad(&args.array, text, &error))?))
}

/// An error of running a query.
fn failed(args: &ReadArgs, error: tdb_array::Error) -> Failure {
    condition::failed(&args.array, args.condition.as_deref(), error)
}

/// The number of coordinates that a format adds, and the fields to read; `None` means the query's
/// default.
/// JSON has no coordinates of dense cells, because their places say them, unless only `some` cells
/// are shown.
fn columns(
    schema: &ArraySchema,
    format: Format,
    asked: Option<Vec<String>>,
    some: bool,
) -> (usize, Option<Vec<String>>) {
    let adds = match format {
        Format::Table => true,
        Format::Csv | Format::Tsv | Format::Ndjson => asked.is_none(),
        Format::Json => some && asked.is_none(),
        Format::Raw => false,
    };
    if !adds {
        return (0, asked);
    }
    let mut names = coordinate_names(schema);
    let coordinates = names.len();
    let fields = asked.unwrap_or_else(|| attribute_names(schema));
    let others = fields.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>();
    names.extend(others);
    (coordinates, Some(names))
}

/// The names of all columns of a table: coordinates, and then attributes.
#[cfg(feature = "browse")]
pub(crate) fn all_columns(schema: &ArraySchema) -> Vec<String> {
    coordinate_names(schema).into_iter().chain(attribute_names(schema)).collect()
}

/// The dimensions; if a name is that of a dimension and an attribute, it means the attribute.
fn coordinate_names(schema: &ArraySchema) -> Vec<String> {
    let names = schema.domain.dimensions.iter().map(|dimension| dimension.name.clone());
    names.filter(|name| schema.attribute(name).is_none()).collect()
}

fn attribute_names(schema: &ArraySchema) -> Vec<String> {
    schema.attributes.iter().map(|attribute| attribute.name.clone()).collect()
}

impl CollectedCells<'_> {
    fn schema(&self) -> &ArraySchema {
        self.array.schema()
    }

    /// The columns of the requested fields.
    fn fields(&self) -> &[ShownColumn] {
        self.columns.get(self.coordinates..).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::Datatype;
    use tdb_schema::{Dimension, Domain};

    use super::*;

    fn schema() -> ArraySchema {
        let dimension =
            |name, last: i32| Dimension::fixed(name, Datatype::Int32, 1i32.to_le_bytes(), last.to_le_bytes());
        ArraySchema::new(ArrayType::Dense, Domain::new(vec![dimension("r", 100), dimension("c", 10)]))
    }

    #[test]
    fn tables_show_coordinates_and_csv_only_what_was_asked_for() {
        let asked = || Some(vec!["a".to_owned(), "r".to_owned()]);
        let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert_eq!(columns(&schema(), Format::Table, asked(), false), (2, names(&["r", "c", "a"])));
        assert_eq!(columns(&schema(), Format::Csv, asked(), true), (0, names(&["a", "r"])));
        for format in [Format::Csv, Format::Ndjson] {
            assert_eq!(columns(&schema(), format, None, false), (2, names(&["r", "c"])));
        }
        assert_eq!(columns(&schema(), Format::Json, None, false), (0, None));
        assert_eq!(columns(&schema(), Format::Json, None, true), (2, names(&["r", "c"])));
    }
}
