//! `tdb read --group-by`: a row for each group of cells.

use std::io::Write;

use tdb_array::Layout;
use tdb_array::query::Grouped;
use tdb_array::schema::ArrayType;

use super::args::{Format, ReadArgs};
use super::csv::Csv;
use super::json::Json;
use super::ndjson::Ndjson;
use super::preview::Preview;
use super::shown::{ShownColumn, columns};
use super::{CollectedCells, Sink, Summary, aggregates, rows};
use crate::failure::{Failure, Result};
use crate::output::Out;
use crate::place::Stores;
use crate::screen::Screen;
use crate::{explain, notes, ranges};

pub(super) fn run(
    args: &ReadArgs,
    stores: &Stores,
    keys: &str,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    if args.format() == Format::Raw {
        let what = "--group-by can be printed as table, csv, tsv, json or ndjson only";
        return Err(Failure::Usage(what.to_owned()));
    }
    let file = args.file()?;
    let array = super::open(args, stores)?;
    if array.schema().array_type == ArrayType::Dense {
        let what = "--group-by is for sparse arrays; tdb sql groups the cells of a dense one";
        return Err(Failure::Usage(format!("{}: {what}", args.array.display())));
    }
    let wanted = args.aggregate.as_deref().map_or(Ok(Vec::new()), |list| aggregates::parse(args, list))?;
    let asked = ranges::query_ranges(&args.ranges, &args.array, array.schema())?;
    notes::print(&args.array, array.schema(), &asked.notes, args.condition.as_deref(), err);
    let mut query = asked.apply(super::satisfying(args, &array)?, array.schema());
    if let Some(memory) = args.memory {
        query = query.memory(memory);
    }
    let failed = |error| super::failed(args, error);
    let found: Grouped =
        query.group_by(ranges::parse_fields(array.schema(), keys)).aggregate(wanted).map_err(failed)?;
    let (keys, values) = found.into_parts();
    if let Some(sum) = values.iter().find(|values| values.overflowed) {
        let what = format!("{} of a group does not fit into 64 bits", sum.aggregate);
        return Err(Failure::at(&args.array, what));
    }
    let (cells, mut shown) = columns(&array, keys, args.shows_values()).map_err(failed)?;
    shown.extend(values.into_iter().map(|values| ShownColumn::whole(values.column)));
    let groups = CollectedCells {
        array: &array,
        columns: shown,
        more: Vec::new(),
        coordinates: 0,
        order: Layout::Unordered,
        cells,
        shape: None,
    };
    match &file {
        Some(name) => {
            let mut file = name.begin()?;
            print(args, &groups, None, &mut Out { out: &mut file, path: Some(name.shown()) })?;
            file.finish()?;
        }
        None => print(args, &groups, screen, &mut Out { out, path: None })?,
    }
    if args.stats {
        explain::write_stats(&array.stats(), err)?;
    }
    Ok(())
}

fn print(args: &ReadArgs, groups: &CollectedCells<'_>, screen: Option<Screen>, out: &mut Out<'_>) -> Result {
    let mut csv = |delimiter| take(args, groups, &mut Csv::new(out, delimiter));
    match (args.format(), screen.filter(|_| !args.all)) {
        (Format::Csv, _) => csv(','),
        (Format::Tsv, _) => csv('\t'),
        (Format::Json, _) => take(args, groups, &mut Json::new(out)),
        (Format::Ndjson, _) => take(args, groups, &mut Ndjson::new(out)),
        (Format::Table | Format::Raw, Some(screen)) => {
            take(args, groups, &mut Preview::new(out, screen, false))
        }
        (Format::Table | Format::Raw, None) => out.write(|out| rows::write(groups, out)),
    }
}

fn take(args: &ReadArgs, groups: &CollectedCells<'_>, sink: &mut dyn Sink) -> Result {
    sink.take(&groups.columns, groups.cells)?;
    sink.finish(&Summary {
        array: groups.array,
        ranges: Vec::new(),
        timestamps: args.window.timestamps(),
        order: groups.order,
        cells: groups.cells,
        shape: None,
    })
}
