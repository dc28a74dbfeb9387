//! The queries for a written array, and the correct answers.

use std::path::Path;

use serde_json::{Value, json};
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::{Array, Layout, OpenOptions, TimeWindow};
use tdb_codec::{Gate, to_u64};

use super::bench::{Case, text};
use super::cells::{FUTURE, now};
use super::model::{Act, Columns, Model, metadata};
use super::told;

/// How cells of an answer are compared with the expected cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sequence {
    Exact,
    /// Runs of cells with equal coordinates may come in any order.
    Runs,
    Any,
}

/// A query for a written array, and the correct answer.
#[derive(Debug)]
pub(super) struct Query {
    layout: Layout,
    /// The time at which the array is read; `None` for now.
    until: Option<u64>,
    sides: Option<Vec<(u64, u64)>>,
    sequence: Sequence,
    columns: Vec<Columns>,
}

impl Case {
    /// The times at which the array is read: now, the end of all times, and some earlier time.
    /// `None` means now.
    fn times(&self) -> Vec<Option<u64>> {
        let times: Vec<u64> = self.acts.iter().filter_map(Act::time).collect();
        let mut asked = vec![None];
        // libtiledb treats the largest number as the present time.
        asked.extend(times.iter().max().filter(|time| **time > FUTURE).map(|time| Some(*time)));
        // Earlier libraries have other values for cells that were never written.
        if self.schema().version.has(Gate::FillValues) {
            asked.extend(times.iter().rev().nth(1).map(|time| Some(*time)));
        }
        asked
    }

    /// The queries for the array, after tdb has given the same answers as the model.
    pub(super) fn queries(&self, path: &Path) -> Result<Vec<Query>, String> {
        self.ask(path, &self.times())
    }

    /// The same, only for the current state of the array.
    pub(super) fn queries_now(&self, path: &Path) -> Result<Vec<Query>, String> {
        self.ask(path, &[None])
    }

    fn ask(&self, path: &Path, times: &[Option<u64>]) -> Result<Vec<Query>, String> {
        let mut queries = Vec::new();
        for until in times.iter().copied() {
            let mut options = OpenOptions::new().threads(1);
            if let Some(key) = self.key() {
                options = options.key(key);
            }
            if let Some(until) = until {
                options = options.window(TimeWindow::until(until));
            }
            let array = options.open(path).map_err(text)?;
            let at = until.map_or_else(|| "now".to_owned(), |until| format!("at {until}"));
            let found = self.queries_at(&array, until).map_err(|error| format!("{at}: {error}"))?;
            let keys: Vec<_> = array
                .metadata()
                .map_err(text)?
                .iter()
                .map(|(key, value)| (String::from_utf8_lossy(key).into_owned(), value.clone()))
                .collect();
            let expected: Vec<_> = metadata(&self.acts, until.unwrap_or_else(now)).into_iter().collect();
            if keys != expected {
                return Err(format!("{at}: tdb reads metadata {keys:?}, not {expected:?}"));
            }
            queries.extend(found);
        }
        Ok(queries)
    }

    /// A query whose answer comes only from the model: for an array that tdb refuses to create.
    pub(super) fn by_model(&self) -> Vec<Query> {
        let schema = self.schema();
        let model = Model::new(schema, &self.acts, now());
        let sides =
            if schema.version.has(Gate::FillValues) { model.sides(schema) } else { self.last_sides(now()) };
        let dense = schema.array_type == ArrayType::Dense;
        if dense && sides.is_none() {
            return Vec::new();
        }
        let (layout, sequence) =
            if dense { (Layout::RowMajor, Sequence::Exact) } else { (Layout::Unordered, Sequence::Any) };
        let columns = model.columns(schema, layout, sides.as_deref().unwrap_or_default());
        vec![Query { layout, until: None, sides, sequence, columns }]
    }

    /// The box of the last dense write up to a time.
    fn last_sides(&self, until: u64) -> Option<Vec<(u64, u64)>> {
        let mut steps = self.acts.iter().filter_map(|act| match act {
            Act::Write(step) if step.time <= until => Some(&step.sides),
            _ => None,
        });
        steps.next_back().filter(|sides| !sides.is_empty()).cloned()
    }

    fn queries_at(&self, array: &Array, until: Option<u64>) -> Result<Vec<Query>, String> {
        let schema = self.schema();
        let model = Model::new(schema, &self.acts, until.unwrap_or_else(now));
        let dense = schema.array_type == ArrayType::Dense;
        let mut layouts = vec![Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder];
        if !dense {
            layouts.insert(0, Layout::Unordered);
        } else if schema.current_domain.is_some() {
            // libtiledb reads only whole tiles of such arrays.
            layouts.pop();
        }
        if until.is_some() {
            layouts.truncate(2);
        }
        let mut sides = model.sides(schema);
        if dense && !schema.version.has(Gate::FillValues) {
            // Earlier libraries have other values for cells that were never written.
            sides = self.last_sides(until.unwrap_or_else(now));
        }
        if dense && sides.is_none() {
            // The array has no cells yet.
            return Ok(Vec::new());
        }
        let mut queries = Vec::new();
        for layout in layouts {
            let mut expected = model.columns(schema, layout, sides.as_deref().unwrap_or_default());
            let found = read(array, schema, layout, sides.as_deref())?;
            let sequence = match layout {
                _ if dense => Sequence::Exact,
                Layout::Unordered => Sequence::Any,
                _ => Sequence::Runs,
            };
            let as_model = if dense { Sequence::Exact } else { Sequence::Any };
            compare(schema, as_model, &found, &expected)
                .map_err(|error| format!("tdb reads other cells in {layout}: {error}"))?;
            if sequence == Sequence::Runs {
                expected = found;
            }
            queries.push(Query { layout, until, sides: sides.clone(), sequence, columns: expected });
        }
        Ok(queries)
    }
}

impl Query {
    /// The query in the form of the peer, with its answer.
    pub(super) fn told(&self, case: &Case, fields: Value) -> Value {
        json!({
            "layout": self.layout.name(),
            "until": self.until,
            "box": case.box_of(self.sides.as_ref()),
            "order": match self.sequence {
                Sequence::Exact => "exact",
                Sequence::Runs => "runs",
                Sequence::Any => "any",
            },
            "fields": fields,
        })
    }

    /// The columns of the correct answer.
    pub(super) fn columns(&self) -> &[Columns] {
        &self.columns
    }
}

/// The current metadata of a case, in the form of `expect.py`.
pub(super) fn metadata_now(acts: &[Act]) -> Value {
    let entries = metadata(acts, now()).into_iter().map(|(key, value)| {
        let num = value.data.len() / value.datatype.size();
        json!({ "key": key, "type": value.datatype.name(), "num": num, "value": told::base64(&value.data) })
    });
    entries.collect()
}

fn read(
    array: &Array,
    schema: &ArraySchema,
    layout: Layout,
    sides: Option<&[(u64, u64)]>,
) -> Result<Vec<Columns>, String> {
    let sparse = schema.array_type == ArrayType::Sparse;
    let dimensions = schema.domain.dimensions.iter().map(|dimension| dimension.name.clone());
    let attributes = schema.attributes.iter().map(|attribute| attribute.name.clone());
    let fields: Vec<String> =
        if sparse { dimensions.chain(attributes).collect() } else { attributes.collect() };
    // The name that libtiledb 1.x stored for an attribute without a name.
    let old = array.schema().attribute("__attr").is_some();
    let stored = |name: &String| if old && name.is_empty() { "__attr".to_owned() } else { name.clone() };
    let mut read = array.read().fields(fields.iter().map(stored)).order(layout);
    for ((low, high), dimension) in sides.unwrap_or_default().iter().zip(&schema.domain.dimensions) {
        read = read.range_bytes(&dimension.name, dimension.coordinate(*low), dimension.coordinate(*high));
    }
    let cells = read.collect().map_err(text)?;
    let columns = fields.iter().map(|name| {
        let column = cells.field(&stored(name)).map_err(text)?;
        Ok(Columns {
            name: name.clone(),
            data: column.bytes().to_vec(),
            offsets: column.offsets().map(<[u64]>::to_vec),
            validity: column.validity().map(<[u8]>::to_vec),
        })
    });
    columns.collect()
}

/// The difference between two sets of columns.
fn compare(
    schema: &ArraySchema,
    sequence: Sequence,
    found: &[Columns],
    expected: &[Columns],
) -> Result<(), String> {
    let (mut found, mut expected) = (rows(schema, found), rows(schema, expected));
    if found.len() != expected.len() {
        return Err(format!("{} cells, not {}", found.len(), expected.len()));
    }
    if sequence != Sequence::Exact {
        found.sort();
        expected.sort();
    }
    match found.iter().zip(&expected).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => Err(format!("cell {at} is {:?}, not {:?}", found.get(at), expected.get(at))),
    }
}

/// Columns as rows of values with their validity.
fn rows<'c>(schema: &ArraySchema, columns: &'c [Columns]) -> Vec<Vec<(&'c [u8], u8)>> {
    let mut rows: Vec<Vec<(&[u8], u8)>> = Vec::new();
    for column in columns {
        let size = schema.field(&column.name).and_then(|field| field.cell_size()).unwrap_or(1);
        let ends: Vec<usize> = match &column.offsets {
            Some(offsets) => offsets.iter().map(|end| usize::try_from(*end).unwrap_or(0)).collect(),
            None => (0..=column.data.len() / size).map(|cell| cell * size).collect(),
        };
        rows.resize(ends.len().saturating_sub(1), Vec::new());
        for (index, (row, ends)) in rows.iter_mut().zip(ends.windows(2)).enumerate() {
            let [start, end] = ends else { continue };
            let valid = column.validity.as_ref().and_then(|validity| validity.get(index)).copied();
            row.push((column.data.get(*start..*end).unwrap_or_default(), valid.unwrap_or(1)));
        }
    }
    rows
}

/// Number of cells of the queries, for the statistics.
pub(super) fn cells(queries: &[Query]) -> u64 {
    let cells = |query: &Query| match query.columns.first() {
        Some(Columns { validity: Some(validity), .. }) => validity.len(),
        Some(Columns { offsets: Some(offsets), .. }) => offsets.len().saturating_sub(1),
        Some(Columns { data, .. }) => data.len(),
        None => 0,
    };
    queries.iter().map(cells).map(to_u64).sum()
}
