//! `tdb soma info`: an experiment on one screen.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args as Group;
use serde_json::{Value, json};
use tdb_array::Array;
use tdb_array::storage::without_secrets;
use tdb_array::stored::StoredCells;
use tdb_codec::{CellValNum, Datatype, to_u64};
use tdb_soma::{Content, Kind, Object, TableColumn};
use tdb_text::report::count_of;
use tdb_text::value::cell_text;

use super::describe;
use crate::args::{KeyArgs, WindowArgs};
use crate::count::count;
use crate::failure::{Failure, Result, one_line};
use crate::place::{Stores, shown};
use crate::screen::Screen;
use crate::sheet::Sheet;
use crate::table::{Heading, shortened};
use crate::thresholds::{MAX_METADATA_WIDTH, MAX_SHOWN_VALUES};

/// Show what is in an experiment, or in anything of one: columns, matrices, layers, sizes.
#[derive(Debug, Group)]
#[command(after_help = "\
Numbers of cells come from the fragments. Where cells may be deleted or written twice, they are at most so many; rows of tables are \
counted then. On a terminal, long texts are shortened to its width. What cannot be opened has its error in its place, and makes the \
exit code 1.

Examples:
  tdb soma info cells.soma
  tdb soma info cells.soma --at 2026-01-31
  tdb soma info s3://bucket/cells.soma --json | jq '.members[].name'")]
pub(super) struct InfoArgs {
    /// Folder of the experiment, or of a collection, a measurement, a table, a matrix.
    object: PathBuf,
    #[command(flatten)]
    window: WindowArgs,
    #[command(flatten)]
    key: KeyArgs,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(super) fn run(args: &InfoArgs, stores: &Stores, screen: Option<Screen>, out: &mut dyn Write) -> Result {
    let object = super::open(&args.object, &args.window.options(&args.key)?, stores)?;
    if object.kind_name().is_none() {
        let what = "this is no object of SOMA: its metadata has no soma_object_type; tdb info --all shows it";
        return Err(Failure::at(&args.object, what));
    }
    let mut failed = 0;
    if args.json {
        let mut found = describe::json(&object, &mut failed);
        found.insert("name".to_owned(), json!(shown(&args.object)));
        writeln!(out, "{:#}", Value::Object(found))?;
    } else {
        let mut sheet = Sheet::new(out, screen);
        let mut page = Page { out: &mut sheet, failed: 0 };
        page.write(&object, &shown(&args.object))?;
        failed = page.failed;
        sheet.end()?;
    }
    if failed > 0 { Err(Failure::Problems) } else { Ok(()) }
}

/// The text.
struct Page<'a, 'o> {
    out: &'a mut Sheet<'o>,
    /// Objects that could not be shown.
    failed: usize,
}

impl Page<'_, '_> {
    fn write(&mut self, object: &Object, place: &str) -> io::Result<()> {
        let kind = object.kind_name().unwrap_or_default();
        let mut line = |name: &str, value: String| self.out.line(format!("{name:<17} {value}"));
        line("object", one_line(place))?;
        line("type", one_line(kind))?;
        line("encoding version", one_line(&describe::versions(object, Object::encoding_version)))?;
        let spatial = describe::versions(object, Object::spatial_encoding_version);
        if !spatial.is_empty() {
            line("spatial version", one_line(&spatial))?;
        }
        let all = object.all();
        let arrays = to_u64(all.iter().filter(|one| one.array().is_some()).count());
        line("size", format!("{} in {}", count(describe::bytes(object), "byte"), count(arrays, "array")))?;
        if object.kind == Some(Kind::Experiment) {
            let names: Vec<&str> = object.measurements().map(|one| one.name.as_str()).collect();
            line("measurements", one_line(&names.join(", ")))?;
        }
        // Tables whose rows are an axis are shown with their columns, the others in a line each.
        let is_axis = |one: &Object| {
            let named = matches!(one.name.as_str(), "obs" | "var") || one.path.is_empty();
            named && one.kind.is_some_and(Kind::is_table)
        };
        let mut axes: Vec<&&Object> = all.iter().filter(|one| is_axis(one)).collect();
        // obs comes before the variables of measurements.
        axes.sort_by_key(|one| one.path.split('/').count());
        for table in axes {
            self.table(table)?;
        }
        let others: Vec<&Object> =
            all.iter().copied().filter(|one| one.array().is_some() && !is_axis(one)).collect();
        self.arrays(&others)?;
        self.collections(&all)?;
        self.metadata(&all)?;
        self.unreadable(&all)
    }

    /// A table: its rows and columns.
    fn table(&mut self, table: &Object) -> io::Result<()> {
        let Some(array) = table.array() else { return Ok(()) };
        let found = tdb_soma::rows(array).and_then(|rows| Ok((rows, tdb_soma::columns(array)?)));
        self.out.line(String::new())?;
        let (rows, columns) = match found {
            Ok(found) => found,
            Err(error) => {
                self.failed = self.failed.saturating_add(1);
                let error = error.to_string();
                return self.out.line(one_line(&format!("{}: {}", table.path, without_secrets(&error))));
            }
        };
        let colon = if table.path.is_empty() { "" } else { ": " };
        let sizes = format!("{}, {}", count(rows, "row"), count(to_u64(columns.len()), "column"));
        let bytes = count(tdb_soma::bytes(array), "byte");
        self.out.line(one_line(&format!("{}{colon}{sizes}, {bytes}", table.path)))?;
        let rows: Vec<Vec<String>> = columns.iter().map(column_row).collect();
        self.out.bare(2, &["", "", ""].map(Heading::left), &rows)
    }

    /// A line for each matrix, and for each table that is not an axis.
    fn arrays(&mut self, arrays: &[&Object]) -> io::Result<()> {
        if arrays.is_empty() {
            return Ok(());
        }
        let headings = [
            Heading::left("array"),
            Heading::left("type"),
            Heading::left("values"),
            Heading::right("shape"),
            Heading::right("cells"),
            Heading::right("filled"),
            Heading::right("bytes"),
            Heading::right("fragments"),
        ];
        self.out.line(String::new())?;
        let rows: Vec<Vec<String>> =
            arrays.iter().filter_map(|one| Some(array_row(one, one.array()?))).collect();
        self.out.table(&headings, &rows)
    }

    /// Scenes and images, whose metadata says how they are placed, and collections with nothing in
    /// them.
    fn collections(&mut self, all: &[&Object]) -> io::Result<()> {
        let is_shown = |one: &&&Object| {
            let spatial = one.kind.is_some_and(|kind| kind.is_collection() && kind.is_spatial());
            let empty = one.array().is_none()
                && one.members().is_empty()
                && describe::entries(&one.metadata).count() == 0;
            spatial || (empty && matches!(one.content, Content::Members(_)))
        };
        let shown: Vec<&&Object> = all.iter().filter(is_shown).collect();
        if shown.is_empty() {
            return Ok(());
        }
        self.out.line(String::new())?;
        let row = |one: &&&Object| {
            let members = count(to_u64(one.members().len()), "member");
            vec![one_line(&named(one)), one_line(one.kind_name().unwrap_or_default()), members]
        };
        let rows: Vec<Vec<String>> = shown.iter().map(row).collect();
        self.out.table(&["collection", "type", "members"].map(Heading::left), &rows)
    }

    fn metadata(&mut self, all: &[&Object]) -> io::Result<()> {
        let mut rows = Vec::new();
        for one in all {
            for (key, value) in describe::entries(&one.metadata) {
                let text = cell_text(value.datatype, count_of(value), &value.data);
                rows.push(vec![
                    one_line(&named(one)),
                    cell_text(Datatype::StringUtf8, CellValNum::Var, key),
                    value.datatype.to_string(),
                    shortened(text, MAX_METADATA_WIDTH),
                ]);
            }
        }
        if rows.is_empty() {
            return Ok(());
        }
        self.out.line(String::new())?;
        self.out.table(&["metadata of", "key", "type", "value"].map(Heading::left), &rows)
    }

    fn unreadable(&mut self, all: &[&Object]) -> io::Result<()> {
        for one in all {
            if let Content::Unreadable(why) = &one.content {
                self.failed = self.failed.saturating_add(1);
                self.out.line(one_line(&format!("{}: {why}", one.path)))?;
            }
        }
        Ok(())
    }
}

/// The path of an object; of the first one, a dot.
fn named(object: &Object) -> String {
    if object.path.is_empty() { ".".to_owned() } else { object.path.clone() }
}

fn column_row(column: &TableColumn) -> Vec<String> {
    let list = if column.cell_val_num == CellValNum::Var && !column.datatype.is_string() { "[]" } else { "" };
    let null = if column.nullable { "?" } else { "" };
    let about = match &column.values {
        Some((values, ordered)) => {
            let order = if *ordered { " in order" } else { "" };
            let shown = values.iter().take(MAX_SHOWN_VALUES).map(|value| describe::value_text(column, value));
            let mut shown: Vec<String> = shown.collect();
            if values.len() > shown.len() {
                shown.push("…".to_owned());
            }
            let colon = if shown.is_empty() { "" } else { ": " };
            format!("{}{order}{colon}{}", count(to_u64(values.len()), "value"), shown.join(", "))
        }
        None if column.is_index => "index".to_owned(),
        None => String::new(),
    };
    vec![one_line(&column.name), format!("{}{list}{null}", column.datatype), one_line(&about)]
}

fn array_row(object: &Object, array: &Array) -> Vec<String> {
    let stored = array.stored_cells();
    let shape = tdb_soma::shape(array);
    let is_matrix = object.kind.is_some_and(Kind::is_matrix);
    let size = |size: &Option<u64>| size.map_or("?".to_owned(), |size| size.to_string());
    let whole = shape.iter().try_fold(1u64, |product, size| product.checked_mul((*size)?));
    let most = |stored: StoredCells| if stored.is_exact { "" } else { "≤ " };
    let cells = stored.map_or("?".to_owned(), |stored| format!("{}{}", most(stored), stored.cells));
    let whole = whole.filter(|whole| *whole > 0 && is_matrix);
    let filled =
        stored.zip(whole).map(|(stored, whole)| format!("{}{}", most(stored), percent(stored.cells, whole)));
    let values = describe::values_type(array).map(str::to_owned);
    let values = values.unwrap_or_else(|| count(to_u64(array.schema().fields().count()), "column"));
    vec![
        one_line(&named(object)),
        one_line(object.kind_name().unwrap_or("unknown")),
        values,
        if is_matrix { shape.iter().map(size).collect::<Vec<_>>().join(" × ") } else { String::new() },
        cells,
        filled.unwrap_or_default(),
        tdb_soma::bytes(array).to_string(),
        array.fragments().len().to_string(),
    ]
}

/// Hundredths of a percent are enough for matrices with few values.
fn percent(part: u64, whole: u64) -> String {
    let parts = u128::from(part).saturating_mul(10_000).saturating_add(u128::from(whole / 2));
    let parts = parts.checked_div(u128::from(whole)).unwrap_or(0);
    format!("{}.{:02} %", parts / 100, parts % 100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_in_hundredths_of_a_percent() {
        assert_eq!(percent(29, 72), "40.28 %");
        assert_eq!(percent(1, 1_000_000), "0.00 %");
        assert_eq!(percent(u64::MAX, u64::MAX), "100.00 %");
    }
}
