//! Cases written and read by tdb, and told to a peer.

use std::path::Path;

use serde_json::{Map, Value, json};
use tdb_array::{
    Array, ArraySchema, ArrayType, ArrayWriter, Datatype, Duplicates, Durability, Key, Layout, MemoryStorage,
    OpenOptions, WriteColumn, WriteOptions,
};
use tdb_codec::{CellValNum, Gate, to_u64};
use tdb_schema::{Attribute, Dimension};

use super::cells::{self, Columns, How, Model, Step};
use super::schemas::Made;

/// The key of encrypted arrays.
const KEY: &str = "0123456789abcdeF0123456789abcdeF";

/// One array: its schema and what is written.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) made: Made,
    pub(super) encrypted: bool,
    pub(super) steps: Vec<Step>,
}

/// How cells of an answer are compared with those expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sequence {
    Exact,
    /// Runs of cells with equal coordinates may come in any order.
    Runs,
    Any,
}

/// What is asked of a written array, and the answer that is right.
#[derive(Debug)]
pub(super) struct Query {
    layout: Layout,
    sides: Option<Vec<(u64, u64)>>,
    sequence: Sequence,
    columns: Vec<Columns>,
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

impl Case {
    fn schema(&self) -> &ArraySchema {
        &self.made.schema
    }

    fn key(&self) -> Option<Key> {
        let bytes: Option<[u8; 32]> = KEY.as_bytes().try_into().ok();
        bytes.filter(|_| self.encrypted).map(Key::new)
    }

    /// A few words on what it is.
    pub(super) fn describe(&self) -> String {
        let schema = self.schema();
        let steps: Vec<String> =
            self.steps.iter().map(|step| format!("{:?} of {} cells", step.how, step.cells.len())).collect();
        let dimensions: Vec<String> =
            schema.domain.dimensions.iter().map(|dimension| dimension.datatype.name().to_owned()).collect();
        format!(
            "{:?}, {}, tiles {} cells {}, {} attributes; {}",
            schema.array_type,
            dimensions.join(" × "),
            schema.tile_order,
            schema.cell_order,
            schema.attributes.len(),
            steps.join(", ")
        )
    }

    /// Writes the array.
    pub(super) fn write(&self, path: &Path) -> Result<(), String> {
        let mut options = WriteOptions::new().threads(2).durability(Durability::Buffered);
        if let Some(key) = self.key() {
            options = options.key(key);
        }
        let mut create = options.clone().timestamp(1);
        for enumeration in &self.made.enumerations {
            create = create.enumeration(enumeration.clone());
        }
        create.create(path, self.schema()).map_err(text)?;
        for (number, step) in self.steps.iter().enumerate() {
            let unlimited = options.clone().timestamp(step.time);
            let limited = step.fragment_bytes.map(|bytes| unlimited.clone().fragment_bytes(bytes));
            let array = limited.unwrap_or_else(|| unlimited.clone()).open(path).map_err(text)?;
            let mut written = self.step(&array, step);
            if written.as_ref().is_err_and(|error| error.starts_with("a tile has")) {
                // One tile is more than the limit: the write was refused, and the array is as before.
                written = self.step(&unlimited.open(path).map_err(text)?, step);
            }
            written.map_err(|error| format!("write {number}: {error}"))?;
        }
        Ok(())
    }

    fn step(&self, array: &ArrayWriter, step: &Step) -> Result<(), String> {
        let schema = self.schema();
        let columns = |cells: &[(Vec<Vec<u8>>, cells::Row)]| {
            cells::columns(schema, cells.iter().map(|(at, row)| (at.as_slice(), row)))
        };
        match step.how {
            How::Dense(layout) => {
                let whole = columns(&step.cells);
                let mut write = array.write().order(layout);
                for ((low, high), dimension) in step.sides.iter().zip(&schema.domain.dimensions) {
                    write = write.range_bytes(
                        &dimension.name,
                        dimension.coordinate(*low),
                        dimension.coordinate(*high),
                    );
                }
                let batches = step.batches.and_then(|batches| {
                    // Where cells would all have to wait, or have an order, there are no streams.
                    Some((step.cells.len().div_ceil(batches).max(1), write.clone().stream(64 << 20).ok()?))
                });
                if let Some((size, mut stream)) = batches {
                    for batch in step.cells.chunks(size) {
                        let columns = columns(batch);
                        stream.append(&columns.iter().map(given).collect::<Vec<_>>()).map_err(text)?;
                    }
                    stream.commit().map_err(text)?;
                    return Ok(());
                }
                for column in &whole {
                    write = write.column(given(column));
                }
                write.commit().map_err(text)?;
            }
            How::Unordered(duplicates) => {
                let columns = columns(&step.cells);
                let mut write = array.write().duplicates(duplicates);
                for column in &columns {
                    write = write.column(given(column));
                }
                write.commit().map_err(text)?;
            }
            How::Global(pieces) => {
                let order = sorted(schema, &step.cells)?;
                let cells: Vec<_> = order.iter().filter_map(|at| step.cells.get(*at).cloned()).collect();
                let mut fragment = array.sparse_fragment().map_err(text)?;
                for piece in cells.chunks(cells.len().div_ceil(pieces).max(1)) {
                    let columns = columns(piece);
                    fragment.append(&columns.iter().map(given).collect::<Vec<_>>()).map_err(text)?;
                }
                fragment.commit().map_err(text)?;
            }
            How::Stream(batches) => {
                let mut stream = array.sparse_stream(4000).map_err(text)?;
                for batch in step.cells.chunks(step.cells.len().div_ceil(batches).max(1)) {
                    let columns = columns(batch);
                    stream.append(&columns.iter().map(given).collect::<Vec<_>>()).map_err(text)?;
                }
                stream.commit().map_err(text)?;
            }
        }
        Ok(())
    }

    /// What to ask of the array, after tdb has answered it as the model does.
    pub(super) fn queries(&self, path: &Path) -> Result<Vec<Query>, String> {
        let schema = self.schema();
        let mut options = OpenOptions::new().threads(1);
        if let Some(key) = self.key() {
            options = options.key(key);
        }
        let array = options.open(path).map_err(text)?;
        let model = Model::new(schema, &self.steps);
        let dense = schema.array_type == ArrayType::Dense;
        let mut layouts = vec![Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder];
        if !dense {
            layouts = vec![Layout::Unordered, Layout::RowMajor, Layout::GlobalOrder];
        } else if schema.current_domain.is_some() {
            // libtiledb reads whole tiles of those only.
            layouts.pop();
        }
        let mut sides = model.sides(schema);
        if dense && !schema.version.has(Gate::FillValues) {
            // What libraries of before have for cells that were never written is their own.
            sides = self.steps.last().map(|step| step.sides.clone());
        }
        let mut queries = Vec::new();
        for layout in layouts {
            let mut expected = model.columns(schema, layout, sides.as_deref().unwrap_or_default());
            let found = read(&array, schema, layout, sides.as_deref())?;
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
            queries.push(Query { layout, sides: sides.clone(), sequence, columns: expected });
        }
        Ok(queries)
    }

    /// The case as the peer is told of it; the cells' bytes go to `blob`.
    pub(super) fn for_peer(&self, number: usize, queries: &[Query], blob: &mut Vec<u8>) -> Value {
        let schema = self.schema();
        let field = |name: &str| {
            let field = schema.field(name);
            let size = field.as_ref().map_or(1, |field| field.datatype.size());
            let values = field.as_ref().and_then(tdb_schema::Field::cell_size).map(|cell| cell / size);
            (size, values)
        };
        let mut fields = |columns: &[Columns]| -> Value {
            let mut fields = Map::new();
            for column in columns {
                let mut put = |bytes: &[u8]| {
                    let at = blob.len();
                    blob.extend_from_slice(bytes);
                    json!([at, bytes.len()])
                };
                let (size, values) = field(&column.name);
                let mut described = Map::new();
                described.insert("data".into(), put(&column.data));
                described.insert("cell".into(), values.map_or(Value::Null, |values| (values * size).into()));
                if let Some(offsets) = &column.offsets {
                    let (_, starts) = offsets.split_last().unwrap_or((&0, &[]));
                    let bytes: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
                    described.insert("offsets".into(), put(&bytes));
                }
                if let Some(validity) = &column.validity {
                    described.insert("validity".into(), put(validity));
                }
                fields.insert(column.name.clone(), described.into());
            }
            fields.into()
        };
        let steps: Vec<Value> = self
            .steps
            .iter()
            .map(|step| {
                let layout = match step.how {
                    How::Dense(layout) => layout,
                    _ => Layout::Unordered,
                };
                // Without duplicates that tdb was told to drop.
                let cells = step.settled(schema);
                let columns = cells::columns(schema, cells.iter().map(|(at, row)| (at.as_slice(), row)));
                json!({
                    "layout": layout.name(), "t": step.time, "fields": fields(&columns),
                    "box": self.box_of(Some(&step.sides).filter(|sides| !sides.is_empty())),
                })
            })
            .collect();
        let mut asked = Vec::new();
        for query in queries {
            asked.push(json!({
                "layout": query.layout.name(),
                "box": self.box_of(query.sides.as_ref()),
                "order": match query.sequence {
                    Sequence::Exact => "exact",
                    Sequence::Runs => "runs",
                    Sequence::Any => "any",
                },
                "fields": fields(&query.columns),
            }));
        }
        let dimensions: Vec<&str> = schema.domain.dimensions.iter().map(|d| d.name.as_str()).collect();
        let sparse = schema.array_type == ArrayType::Sparse;
        let schema = super::told::schema(&self.made);
        json!({
            "number": number, "key": if self.encrypted { KEY.into() } else { Value::Null }, "sparse": sparse,
            "dimensions": dimensions, "queries": asked, "schema": schema, "steps": steps,
        })
    }

    /// A box: an interval a dimension, in hex; without one, the domain.
    fn box_of(&self, sides: Option<&Vec<(u64, u64)>>) -> Value {
        let dimensions = self.schema().domain.dimensions.iter().enumerate();
        let side = |(index, dimension): (usize, &Dimension)| {
            let asked = sides.and_then(|sides| sides.get(index));
            let ends = match asked {
                Some((low, high)) => dimension.coordinate(*low).zip(dimension.coordinate(*high)),
                None => dimension.domain.clone(),
            };
            ends.map_or(Value::Null, |(low, high)| json!([super::told::hex(&low), super::told::hex(&high)]))
        };
        dimensions.map(side).collect()
    }
}

fn given(column: &Columns) -> WriteColumn<'_> {
    let given = match &column.offsets {
        Some(offsets) => WriteColumn::var(&column.name, &column.data, offsets),
        None => WriteColumn::bytes(&column.name, &column.data),
    };
    match &column.validity {
        Some(validity) => given.nullable(validity),
        None => given,
    }
}

/// The order of cells in an array: their numbers, as a scratch array of theirs returns them.
fn sorted(schema: &ArraySchema, cells: &[(Vec<Vec<u8>>, cells::Row)]) -> Result<Vec<usize>, String> {
    let mut scratch = schema.clone();
    scratch.attributes = vec![Attribute::new("number", Datatype::Uint32, CellValNum::ONE)];
    scratch.allows_duplicates = schema.version.has(Gate::AllowsDuplicates);
    scratch.enumerations.clear();
    let number = |at: usize| u32::try_from(at).unwrap_or(0).to_le_bytes().to_vec();
    let numbered: Vec<(Vec<Vec<u8>>, cells::Row)> =
        cells.iter().enumerate().map(|(at, (cell, _))| (cell.clone(), vec![(number(at), true)])).collect();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &scratch).map_err(text)?;
    let array = WriteOptions::new().threads(1).open_storage(storage.clone()).map_err(text)?;
    let columns = cells::columns(&scratch, numbered.iter().map(|(at, row)| (at.as_slice(), row)));
    let mut write = array.write().duplicates(Duplicates::Refuse);
    for column in &columns {
        write = write.column(given(column));
    }
    write.commit().map_err(text)?;
    let read = OpenOptions::new().open_storage(storage).map_err(text)?;
    let cells = read.read().fields(["number"]).order(Layout::GlobalOrder).collect().map_err(text)?;
    let numbers = cells.field("number").and_then(|column| column.values::<u32>()).map_err(text)?;
    Ok(numbers.iter().filter_map(|number| usize::try_from(*number).ok()).collect())
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
    let mut read = array.read().fields(fields.iter().map(String::as_str)).order(layout);
    for ((low, high), dimension) in sides.unwrap_or_default().iter().zip(&schema.domain.dimensions) {
        read = read.range_bytes(&dimension.name, dimension.coordinate(*low), dimension.coordinate(*high));
    }
    let cells = read.collect().map_err(text)?;
    let columns = fields.iter().map(|name| {
        let column = cells.field(name).map_err(text)?;
        Ok(Columns {
            name: name.clone(),
            data: column.bytes().to_vec(),
            offsets: column.offsets().map(<[u64]>::to_vec),
            validity: column.validity().map(<[u8]>::to_vec),
        })
    });
    columns.collect()
}

/// How two sets of columns differ.
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

/// Number of cells of the queries, for the count.
pub(super) fn cells(queries: &[Query]) -> u64 {
    let cells = |query: &Query| match query.columns.first() {
        Some(Columns { validity: Some(validity), .. }) => validity.len(),
        Some(Columns { offsets: Some(offsets), .. }) => offsets.len().saturating_sub(1),
        Some(Columns { data, .. }) => data.len(),
        None => 0,
    };
    queries.iter().map(cells).map(to_u64).sum()
}
