//! Cases that tdb writes and reads, and their descriptions for a peer.

use core::ops::ControlFlow;
use std::path::Path;

use serde_json::{Map, Value, json};
use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::schema::{ArraySchema, ArrayType, Datatype};
use tdb_array::storage::{Durability, LocalStorage, MemoryStorage};
use tdb_array::write::Duplicates;
use tdb_array::{ArrayWriter, Key, Layout, OpenOptions, WriteColumn, WriteOptions};
use tdb_codec::{CellValNum, Gate};
use tdb_schema::{Attribute, Dimension, FieldKind, MetadataValue, SchemaProblem};

use super::answers::{Query, metadata_now};
use super::model::{self, Act, Columns, How, Step};
use super::schemas::Made;

/// The key of encrypted arrays.
pub(super) const KEY: &str = "0123456789abcdeF0123456789abcdeF";

/// One array: its schema and the operations on it.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) made: Made,
    pub(super) encrypted: bool,
    pub(super) acts: Vec<Act>,
    /// Whether it tests one feature that its version may not have.
    pub(super) pair: bool,
}

/// The reason why a case fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Failed {
    /// tdb reports that the array cannot be created.
    Refused(String),
    Wrong(String),
}

pub(super) fn text(error: impl ToString) -> String {
    error.to_string()
}

impl Case {
    pub(super) fn schema(&self) -> &ArraySchema {
        &self.made.schema
    }

    pub(super) fn key(&self) -> Option<Key> {
        let bytes: Option<[u8; 32]> = KEY.as_bytes().try_into().ok();
        bytes.filter(|_| self.encrypted).map(Key::new)
    }

    /// Whether a cell of a field is empty.
    pub(super) fn has_empty(&self, kind: FieldKind) -> bool {
        let empty = |step: &Step| {
            step.cells.iter().any(|(at, row)| match kind {
                FieldKind::Dimension(index) => at.get(index).is_some_and(Vec::is_empty),
                FieldKind::Attribute(index) => row.get(index).is_some_and(|(value, _)| value.is_empty()),
            })
        };
        self.acts.iter().any(|act| matches!(act, Act::Write(step) if empty(step)))
    }

    /// Whether some write has cells, all of which are empty in a field.
    pub(super) fn writes_only_empty(&self, kind: FieldKind) -> bool {
        let empty = |(at, row): &(Vec<Vec<u8>>, model::Row)| match kind {
            FieldKind::Dimension(index) => at.get(index).is_some_and(Vec::is_empty),
            FieldKind::Attribute(index) => row.get(index).is_some_and(|(value, _)| value.is_empty()),
        };
        let only = |step: &Step| !step.cells.is_empty() && step.cells.iter().all(empty);
        self.acts.iter().any(|act| matches!(act, Act::Write(step) if only(step)))
    }

    /// Whether some write ends at least this many cells after the beginning of a dimension.
    pub(super) fn writes_past(&self, ordinal: u64) -> bool {
        let past = |step: &Step| step.sides.iter().any(|(_, high)| *high >= ordinal);
        self.acts.iter().any(|act| matches!(act, Act::Write(step) if past(step)))
    }

    /// Whether its schema has a dense domain with which libraries of the version's time cannot
    /// compute for all positions of cells.
    pub(super) fn is_beyond_old_libraries(&self) -> bool {
        let schema = self.schema();
        let known = schema.check_known(schema.version);
        let whats = ["domain (longer", "negative coordinates", "tiles of more cells"];
        matches!(known, Err(SchemaProblem::NotInVersion { what, .. }) if whats.iter().any(|own| what.starts_with(own)))
    }

    /// Whether string coordinates contain bytes from 0x80 on, in an array with more than one
    /// fragment.
    pub(super) fn merges_wide_strings(&self) -> bool {
        let dimensions = &self.schema().domain.dimensions;
        let wide = |(at, _): &(Vec<Vec<u8>>, model::Row)| {
            let mut values = at.iter().zip(dimensions).filter(|(_, dimension)| dimension.is_var());
            values.any(|(value, _)| !value.is_ascii())
        };
        self.has_several_fragments() && self.writes().any(|step| step.cells.iter().any(wide))
    }

    /// Whether the cells may be in more than one fragment.
    pub(super) fn has_several_fragments(&self) -> bool {
        let many = |step: &Step| matches!(step.how, How::Stream(_)) || step.fragment_bytes.is_some();
        self.writes().count() > 1 || self.writes().any(many)
    }

    /// Whether a dense write begins inside a tile, along a dimension.
    pub(super) fn begins_inside(&self, dimension: usize) -> bool {
        let extent = self.made.schema.domain.dimensions.get(dimension).and_then(Dimension::extent_cells);
        let inside = |first: u64| extent.is_none_or(|extent| !first.is_multiple_of(extent));
        self.writes().any(|step| step.sides.get(dimension).is_some_and(|(first, _)| inside(*first)))
    }

    fn writes(&self) -> impl Iterator<Item = &Step> {
        self.acts.iter().filter_map(|act| match act {
            Act::Write(step) => Some(step),
            _ => None,
        })
    }

    /// Whether a dense write, with the cells that are read around it, reaches a last tile that ends
    /// at the largest number of the type or past it.
    pub(super) fn writes_past_the_type(&self) -> bool {
        let schema = self.schema();
        let mut dimensions = schema.domain.dimensions.iter().enumerate();
        schema.array_type == ArrayType::Dense
            && dimensions.any(|(index, dimension)| {
                let bits = u32::try_from(dimension.datatype.size() * 8).unwrap_or(64);
                let numbers = 1u128 << bits;
                let bottom = match dimension.datatype.physical().is_signed_integer() {
                    true => numbers / 2,
                    false => 0,
                };
                let low = dimension.domain.as_ref().and_then(|(low, _)| {
                    let mut wide = [0; 16];
                    wide.get_mut(..low.len())?.copy_from_slice(low);
                    // The distance from the smallest number of the type.
                    Some(u128::from_le_bytes(wide).wrapping_add(bottom) % numbers)
                });
                let last_tile =
                    dimension.last_ordinal().zip(dimension.extent_cells()).map(|(last, extent)| {
                        let extent = u128::from(extent.max(1));
                        (u128::from(last) / extent * extent, extent)
                    });
                let Some((low, (first, extent))) = low.zip(last_tile) else { return false };
                let reaches = |act: &Act| match act {
                    Act::Write(step) => {
                        step.sides.get(index).is_some_and(|(_, high)| u128::from(*high) + 2 >= first)
                    }
                    _ => false,
                };
                low + first + extent >= numbers && self.acts.iter().any(reaches)
            })
    }

    /// A short description.
    pub(super) fn describe(&self) -> String {
        let schema = self.schema();
        let acts: Vec<String> = self.acts.iter().map(Act::describe).collect();
        let dimensions: Vec<String> =
            schema.domain.dimensions.iter().map(|dimension| dimension.datatype.name().to_owned()).collect();
        format!(
            "{:?}, {}, tiles {} cells {}, {} attributes; {}",
            schema.array_type,
            dimensions.join(" × "),
            schema.tile_order,
            schema.cell_order,
            schema.attributes.len(),
            acts.join(", ")
        )
    }

    /// Creates the array, and checks it after each step; returns the number of checks. The error
    /// distinguishes arrays that tdb refuses to create from wrong arrays.
    pub(super) fn write(&self, path: &Path) -> Result<usize, Failed> {
        if let Some(why) = &self.made.refused {
            return Err(Failed::Refused(why.clone()));
        }
        let mut create = self.options().timestamp(1);
        for enumeration in &self.made.enumerations {
            create = create.enumeration(enumeration.clone());
        }
        create.create(path, self.schema()).map_err(|error| Failed::Refused(text(error)))?;
        for (number, act) in self.acts.iter().enumerate() {
            self.take(path, act).map_err(|error| match self.pair {
                // Not every version has the tested feature; a release is asked whether its version
                // has it.
                true => Failed::Refused(error),
                false => Failed::Wrong(format!("step {number}, {}: {error}", act.name())),
            })?;
            self.verify(path)
                .map_err(|error| Failed::Wrong(format!("step {number}, {}: {error}", act.name())))?;
        }
        Ok(self.acts.len())
    }

    /// The findings of `tdb verify` for the array, if there are any.
    pub(super) fn verify(&self, path: &Path) -> Result<(), String> {
        let found = tdb_array::maintain::verify_with(LocalStorage::new(path), self.key());
        match found.problems.first() {
            None => Ok(()),
            Some(problem) => Err(format!("verify: {}: {}", problem.path, problem.what)),
        }
    }

    fn options(&self) -> WriteOptions {
        let options = WriteOptions::new().threads(2).durability(Durability::Buffered).any_codes();
        match self.key() {
            Some(key) => options.key(key),
            None => options,
        }
    }

    fn take(&self, path: &Path, act: &Act) -> Result<(), String> {
        let go = &mut |_: &_| ControlFlow::Continue(());
        let writer = || self.options().open(path).map_err(text);
        match act {
            Act::Write(step) => {
                let unlimited = self.options().timestamp(step.time);
                let limited = step.fragment_bytes.map(|bytes| unlimited.clone().fragment_bytes(bytes));
                let array = limited.unwrap_or_else(|| unlimited.clone()).open(path).map_err(text)?;
                let mut written = self.step(&array, step);
                if written.as_ref().is_err_and(|error| error.starts_with("a tile has")) {
                    // One tile is larger than the limit, so the write was refused and the array is
                    // unchanged.
                    written = self.step(&unlimited.open(path).map_err(text)?, step);
                }
                written
            }
            Act::Metadata { time, entries } => {
                let writer = self.options().timestamp(*time).open(path).map_err(text)?;
                writer.write_metadata(&Act::changes(entries)).map(drop).map_err(text)
            }
            Act::Consolidate => {
                let writer = writer()?;
                let plan = Consolidation::new(Stored::Fragments).amplification(1e9).plan(&writer);
                plan.and_then(|plan| plan.run(&writer, go)).map_err(text)
            }
            Act::Vacuum => {
                let writer = writer()?;
                let plan = Vacuum::new(Stored::Fragments).plan(&writer);
                plan.and_then(|plan| plan.run(&writer, go)).map_err(text)
            }
        }
    }

    fn step(&self, array: &ArrayWriter, step: &Step) -> Result<(), String> {
        let schema = self.schema();
        let columns = |cells: &[(Vec<Vec<u8>>, model::Row)]| {
            model::columns(schema, cells.iter().map(|(at, row)| (at.as_slice(), row)))
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
                    // Streams are not available if all cells would have to wait, or if they have an
                    // order.
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

    /// The case in the form of the peer; the cells' bytes are appended to `blob`.
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
        let steps: Vec<Value> =
            self.acts.iter().filter_map(|act| self.act_for_peer(act, &mut fields)).collect();
        let mut asked = Vec::new();
        for query in queries {
            let answer = fields(query.columns());
            asked.push(query.told(self, answer));
        }
        let dimensions: Vec<&str> = schema.domain.dimensions.iter().map(|d| d.name.as_str()).collect();
        let sparse = schema.array_type == ArrayType::Sparse;
        let schema = super::told::schema(&self.made.schema, &self.made.enumerations);
        json!({
            "number": number, "key": if self.encrypted { KEY.into() } else { Value::Null }, "sparse": sparse,
            "dimensions": dimensions, "queries": asked, "schema": schema, "steps": steps,
            "metadata": metadata_now(&self.acts), "needs": super::told::needs(&self.made.schema),
        })
    }

    /// The instructions for a library that creates the same array. It does not consolidate.
    fn act_for_peer(&self, act: &Act, fields: &mut dyn FnMut(&[Columns]) -> Value) -> Option<Value> {
        let schema = self.schema();
        match act {
            Act::Write(step) => {
                let layout = match step.how {
                    How::Dense(layout) => layout,
                    _ => Layout::Unordered,
                };
                // Without the duplicates that tdb dropped as requested.
                let cells = step.settled(schema);
                let columns = model::columns(schema, cells.iter().map(|(at, row)| (at.as_slice(), row)));
                Some(json!({
                    "op": "write", "layout": layout.name(), "t": step.time, "fields": fields(&columns),
                    "box": self.box_of(Some(&step.sides).filter(|sides| !sides.is_empty())),
                }))
            }
            Act::Metadata { time, entries } => {
                let put = |(key, value): (&String, &Option<MetadataValue>)| {
                    let value = value.as_ref()?;
                    let num = value.data.len() / value.datatype.size();
                    let data = super::told::base64(&value.data);
                    Some(json!({ "key": key, "type": value.datatype.name(), "num": num, "value": data }))
                };
                let gone = entries.iter().filter(|(_, value)| value.is_none()).map(|(key, _)| key.as_str());
                Some(json!({
                    "op": "meta", "t": time, "puts": entries.iter().filter_map(put).collect::<Vec<_>>(),
                    "deletes": gone.collect::<Vec<_>>(),
                }))
            }
            Act::Consolidate | Act::Vacuum => None,
        }
    }

    /// A box: an interval for each dimension, in hex; without a box, the domain.
    pub(super) fn box_of(&self, sides: Option<&Vec<(u64, u64)>>) -> Value {
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

/// The order of cells in an array: their numbers, in the order in which a temporary array of these
/// cells returns them.
fn sorted(schema: &ArraySchema, cells: &[(Vec<Vec<u8>>, model::Row)]) -> Result<Vec<usize>, String> {
    let mut scratch = schema.clone();
    scratch.attributes = vec![Attribute::new("number", Datatype::Uint32, CellValNum::ONE)];
    scratch.allows_duplicates = schema.version.has(Gate::AllowsDuplicates);
    scratch.enumerations.clear();
    let number = |at: usize| u32::try_from(at).unwrap_or(0).to_le_bytes().to_vec();
    let numbered: Vec<(Vec<Vec<u8>>, model::Row)> =
        cells.iter().enumerate().map(|(at, (cell, _))| (cell.clone(), vec![(number(at), true)])).collect();
    let storage = MemoryStorage::default();
    WriteOptions::new().create_storage(&storage, &scratch).map_err(text)?;
    let array = WriteOptions::new().threads(1).open_storage(storage.clone()).map_err(text)?;
    let columns = model::columns(&scratch, numbered.iter().map(|(at, row)| (at.as_slice(), row)));
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
