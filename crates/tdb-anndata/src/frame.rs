//! Tables: `obs` and `var`.

use std::collections::HashSet;

use serde_json::Value;
use tdb_array::WriteColumn;
use tdb_array::write::MetadataChanges;
use tdb_soma::{Build, JOINID, NewField, wrong_column_name};
use tdb_zarr_files::{Opened, Reader};

use crate::column::Column;
use crate::encoding::{Encoding, encoding};
use crate::error::Result;
use crate::reading::{Reading, Taken};
use crate::thresholds::{MAX_ROWS, TABLE_CHUNKS};

/// The name of an index that has none, as AnnData writes it.
const INDEX: &str = "_index";

/// A table that can be read.
#[derive(Debug)]
pub(crate) struct Frame {
    path: String,
    pub(crate) rows: u64,
    /// The name of the index, if it has one of its own.
    own: Option<String>,
    /// The place of the column that names the rows.
    id: usize,
    columns: Vec<Column>,
}

impl Frame {
    /// The table at a path. An index without a name, or called `index`, becomes the column `usual`;
    /// without that, it stays what it is, and becomes the column `index`.
    pub(crate) fn open(reader: &Reader, path: &str, usual: Option<&str>) -> Result<Self> {
        let damaged = |what: String| reader.damaged(path, what);
        let attributes = match reader.open(path)? {
            Some(Opened::Group(attributes)) => attributes,
            Some(Opened::Array(_)) => {
                let what = "tables as one array, as before AnnData 0.7, are not read";
                return Err(reader.unsupported(path, what).into());
            }
            None => return Err(damaged("there is no table here".to_owned()).into()),
        };
        if encoding(&attributes).map_err(|what| reader.unsupported(path, what))? != Encoding::DataFrame {
            return Err(damaged("this is not encoded as a table".to_owned()).into());
        }
        let stored = attributes.get("_index").and_then(Value::as_str);
        let stored = stored.ok_or_else(|| damaged("_index does not name the index".to_owned()))?;
        let names = attributes.get("column-order").and_then(names_of);
        let names = names.ok_or_else(|| damaged("column-order is not a list of names".to_owned()))?;
        let mut seen = HashSet::new();
        if let Some(twice) = names.iter().find(|name| !seen.insert(*name)) {
            let what = format!("two columns have the name {twice:?}: rename one");
            return Err(reader.unsupported(path, what).into());
        }
        let own = (stored != INDEX && stored != "index").then(|| stored.to_owned());
        let id = own.as_deref().or(usual).unwrap_or("index").to_owned();
        let expect_name = |name: &str| match wrong_column_name(name) {
            None => Ok(()),
            Some(what) => {
                let what = format!("column {name:?} has a name {what}: rename it");
                Err(reader.unsupported(path, what))
            }
        };
        expect_name(&id)?;

        let place = format!("{path}/{stored}");
        let rows = rows_of(reader, &place)?;
        let index = Column::open(reader, &place, &id, rows)?;
        let index = if usual.is_some() { index.with_names(reader)? } else { index };
        let mut columns = Vec::new();
        for name in &names {
            // The ids are those of this experiment, not those of the one that the table comes from.
            if *name != JOINID {
                expect_name(name)?;
                columns.push(Column::open(reader, &format!("{path}/{name}"), name, rows)?);
            }
        }
        let frame = |columns, id| Self { path: path.to_owned(), rows, own, id, columns };
        match columns.iter().position(|column| column.name == id) {
            None => {
                columns.insert(0, index);
                Ok(frame(columns, 0))
            }
            Some(at) => {
                let frame = frame(columns, at);
                frame.expect_same(reader, &index)?;
                Ok(frame)
            }
        }
    }

    /// Refuses a column with the name of the index that has other values.
    fn expect_same(&self, reader: &Reader, index: &Column) -> Result<()> {
        let Some(own) = self.columns.get(self.id).filter(|own| own.path() != index.path()) else {
            return Ok(());
        };
        // What both are called by is compared: a number of a category, say, is no name.
        let named = |one: &Column| Column::open(reader, one.path(), &one.name, self.rows)?.with_names(reader);
        let (own, index) = (named(own)?, named(index)?);
        let mut both = [own.reading(), index.reading()];
        loop {
            let (count, taken) = rows(reader, &self.path, &mut both)?;
            if count == 0 {
                return Ok(());
            }
            let [own, index] = taken.as_slice() else { return Ok(()) };
            if (0..count).any(|at| own.text(at) != index.text(at)) {
                let name = self.columns.get(self.id).map_or("", |column| &column.name);
                let what = format!(
                    "its index becomes the column {name:?}, which it already has with other values: rename one"
                );
                return Err(reader.unsupported(&self.path, what).into());
            }
        }
    }

    /// Refuses names of rows that are there twice, or missing.
    pub(crate) fn expect_unique(&self, reader: &Reader) -> Result<()> {
        let Some(id) = self.columns.get(self.id) else { return Ok(()) };
        // A column of whole numbers names rows as well as texts do.
        let id = Column::open(reader, id.path(), &id.name, self.rows)?.with_names(reader)?;
        let mut reading = id.reading();
        let mut seen: HashSet<Box<str>> = HashSet::new();
        let mut row = 0u64;
        loop {
            let count = reading.available()?.min(MAX_ROWS);
            if count == 0 {
                return Ok(());
            }
            let taken = reading.take(reader, count)?;
            for at in 0..count {
                let wrong = |what: String| reader.unsupported(id.path(), format!("row {row}: {what}"));
                let name = taken.text(at).ok_or_else(|| wrong("the id is missing".to_owned()))?;
                if !seen.insert(name.into()) {
                    return Err(wrong(format!("{name:?} is there before: ids are unique")).into());
                }
                row = row.saturating_add(1);
            }
        }
    }

    /// Writes the table.
    pub(crate) fn write(&self, reader: &Reader, build: &Build<'_>, path: &str) -> Result<()> {
        let field = |column: &Column| NewField { name: column.name.clone(), cells: column.cells.clone() };
        let fields: Vec<NewField> = self.columns.iter().map(field).collect();
        let table = build.new_table(path, &fields, self.rows, self.own.as_deref(), MetadataChanges::new())?;
        let mut writing = table.rows()?;
        let mut readings: Vec<Reading<'_>> = self.columns.iter().map(Column::reading).collect();
        loop {
            let (count, taken) = rows(reader, &self.path, &mut readings)?;
            if count == 0 {
                return Ok(writing.finish()?);
            }
            let columns = self.columns.iter().zip(&taken);
            let columns: Vec<WriteColumn<'_>> =
                columns.map(|(column, taken)| taken.column(&column.name)).collect();
            writing.append(&columns, count)?;
        }
    }
}

/// The next rows of columns: how many they are, none at the end, and the cells.
fn rows(reader: &Reader, path: &str, readings: &mut [Reading<'_>]) -> Result<(usize, Vec<Taken>)> {
    let mut least = MAX_ROWS;
    let (mut ended, mut held, memory) = (0, 0u64, reader.memory().saturating_mul(TABLE_CHUNKS));
    for reading in &mut *readings {
        let available = reading.available()?;
        held = held.saturating_add(reading.held());
        if held > memory {
            let what = "a chunk of each column";
            return Err(reader.too_large(path, what, held, memory).into());
        }
        ended += usize::from(available == 0);
        least = least.min(available);
    }
    if ended > 0 {
        if ended < readings.len() {
            return Err(reader.damaged(path, "some columns end before others").into());
        }
        return Ok((0, Vec::new()));
    }
    let taken = readings.iter_mut().map(|one| one.take(reader, least)).collect::<Result<Vec<_>>>()?;
    Ok((least, taken))
}

/// The number of rows, which is the length of the index.
fn rows_of(reader: &Reader, path: &str) -> Result<u64> {
    let values = match reader.open(path)? {
        Some(Opened::Group(_)) => match reader.open(&format!("{path}/values"))? {
            None => reader.open(&format!("{path}/codes"))?,
            found => found,
        },
        found => found,
    };
    match values {
        Some(Opened::Array(array)) => match array.shape() {
            [length] => Ok(*length),
            shape => {
                let what = format!("the index has the shape {shape:?}, and one axis is expected");
                Err(reader.damaged(path, what).into())
            }
        },
        _ => Err(reader.damaged(path, "there is no array with the names of rows here").into()),
    }
}

fn names_of(value: &Value) -> Option<Vec<String>> {
    // Of a table without columns, older releases wrote an array of numbers without values.
    value.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
}
