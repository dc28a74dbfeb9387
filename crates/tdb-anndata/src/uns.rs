//! What has no axis: dictionaries of values, arrays and tables.

use tdb_array::WriteColumn;
use tdb_array::group::ObjectType;
use tdb_array::schema::{CellValNum, Datatype};
use tdb_array::write::MetadataChanges;
use tdb_soma::{Build, Kind, NewCells, NewField, folder_of, whole};
use tdb_zarr_files::{ArrayReader, Opened, Reader};

use crate::encoding::{Encoding, encoding};
use crate::error::{Result, internal};
use crate::frame::Frame;
use crate::matrix::{Matrix, expect_numbers};
use crate::note::Note;
use crate::texts::{all_texts, is_kept_date, is_text};
use crate::thresholds::MAX_DEPTH;

/// The entry of the metadata that says what a table was, and what it says.
const HINT: &str = "soma_uns_outgest_hint";
const HINTS: [&str; 2] = ["array_1d", "array_2d"];

/// A dictionary.
#[derive(Debug, Default)]
pub(crate) struct Uns {
    path: String,
    /// Single values.
    values: Vec<(String, Single)>,
    /// All else.
    members: Vec<(String, Member)>,
    /// Whether anything was in it.
    pub(crate) has_any: bool,
}

/// A single value.
#[derive(Debug)]
enum Single {
    Truth(bool),
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Text(String),
}

/// What a dictionary has that is no single value.
#[derive(Debug)]
enum Member {
    Dict(Uns),
    Frame(Box<Frame>),
    Sparse(Box<Matrix>),
    Numbers(Box<ArrayReader>),
    Texts(Box<ArrayReader>),
}

/// What a node becomes: a part of the dictionary, or the reason why it is left out.
enum Found {
    Value(Single),
    Member(Member),
    LeftOut(String),
}

impl Uns {
    /// The dictionary at a path. What is left out is added to the notes.
    pub(crate) fn open(reader: &Reader, path: &str, notes: &mut Vec<Note>, depth: usize) -> Result<Self> {
        if depth > MAX_DEPTH {
            return Err(reader.unsupported(path, "dictionaries are nested too deeply").into());
        }
        let mut uns = Self { path: path.to_owned(), ..Self::default() };
        for name in reader.names(path)? {
            let below = format!("{path}/{name}");
            let found = match found(reader, &below, notes, depth) {
                Ok(Some(found)) => found,
                Ok(None) => continue,
                Err(error) => Found::LeftOut(error.of_part()?),
            };
            uns.has_any = true;
            let found = match (found, folder_of(&name)) {
                (Found::Member(_), Err(error)) => Found::LeftOut(error.to_string()),
                (Found::Value(_), _) if name.starts_with("soma_") => {
                    Found::LeftOut("its name begins with soma_, which is for SOMA's own".to_owned())
                }
                (found, _) => found,
            };
            match found {
                Found::Value(value) => uns.values.push((name, value)),
                Found::Member(member) => uns.members.push((name, member)),
                Found::LeftOut(what) => notes.push(Note { path: below, what }),
            }
        }
        Ok(uns)
    }

    /// Writes the dictionary as a collection. What turns out to be nothing that can be kept is
    /// removed, and added to the notes.
    pub(crate) fn write(
        &self,
        reader: &Reader,
        build: &Build<'_>,
        path: &str,
        notes: &mut Vec<Note>,
    ) -> Result<()> {
        let mut members = Vec::new();
        for (name, member) in &self.members {
            let below = format!("{path}/{}", folder_of(name)?);
            match build.whole_or_not(|| member.write(reader, build, &below, notes)) {
                Ok(kind) => members.push((name.as_str(), kind)),
                Err(error) => {
                    notes.push(Note { path: format!("{}/{name}", self.path), what: error.of_part()? });
                }
            }
        }
        let entries = MetadataChanges::new().put_text("soma_tiledbsoma_type", "uns");
        let entries = self.values.iter().fold(entries, |entries, (name, value)| value.put(entries, name));
        Ok(build.new_collection(path, Kind::Collection, &members, entries)?)
    }
}

impl Member {
    fn write(
        &self,
        reader: &Reader,
        build: &Build<'_>,
        path: &str,
        notes: &mut Vec<Note>,
    ) -> Result<ObjectType> {
        match self {
            Self::Dict(uns) => {
                uns.write(reader, build, path, notes)?;
                return Ok(ObjectType::Group);
            }
            Self::Frame(frame) => frame.write(reader, build, path)?,
            Self::Sparse(matrix) => {
                matrix.write(reader, build, path, &|_| ())?;
            }
            Self::Numbers(array) => {
                let mut values = array.read()?.values;
                if array.datatype() == Datatype::Bool {
                    values.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
                }
                build.new_dense(path, array.datatype(), array.shape(), &values)?;
            }
            Self::Texts(array) => write_texts(reader, build, array, path)?,
        }
        Ok(ObjectType::Array)
    }
}

/// What is at a path; `None` if there is no node.
fn found(reader: &Reader, path: &str, notes: &mut Vec<Note>, depth: usize) -> Result<Option<Found>> {
    let left_out = |what: &str| Ok(Some(Found::LeftOut(what.to_owned())));
    let (array, kind) = match reader.open(path)? {
        None => return Ok(None),
        Some(Opened::Group(attributes)) => {
            let kind = encoding(&attributes).map_err(|what| reader.unsupported(path, what))?;
            return Ok(Some(Found::Member(match kind {
                Encoding::Unsaid | Encoding::Dict => {
                    Member::Dict(Uns::open(reader, path, notes, depth.saturating_add(1))?)
                }
                Encoding::DataFrame => Member::Frame(Box::new(Frame::open(reader, path, None)?)),
                Encoding::Csr | Encoding::Csc => match Matrix::open(reader, path)? {
                    Some(matrix) if !matrix.shape.contains(&0) => Member::Sparse(Box::new(matrix)),
                    _ => return left_out("SOMA keeps no matrix without rows or columns"),
                },
                _ => return left_out("this is none of what SOMA keeps in uns"),
            })));
        }
        Some(Opened::Array(array)) => {
            let kind = encoding(array.attributes()).map_err(|what| reader.unsupported(path, what))?;
            (array, kind)
        }
    };
    if !matches!(kind, Encoding::Unsaid | Encoding::Array | Encoding::Texts | Encoding::Scalar) {
        return left_out("this is none of what SOMA keeps in uns");
    }
    if array.shape().is_empty() {
        return single(reader, &array).map(|value| {
            let none = || Found::LeftOut(format!("a single {} is none of what SOMA keeps", array.datatype()));
            Some(value.map_or_else(none, Found::Value))
        });
    }
    if array.shape().contains(&0) {
        return left_out("SOMA keeps no array without values");
    }
    if is_text(&array) {
        return match array.shape().len() {
            1 | 2 => Ok(Some(Found::Member(Member::Texts(array)))),
            _ => left_out("SOMA keeps texts with one or two axes"),
        };
    }
    if !is_kept_date(array.datatype()) || array.cell_val_num() != CellValNum::ONE {
        expect_numbers(reader, &array)?;
    }
    let (tile, memory) = (Build::dense_tile(array.datatype(), array.shape().len()), reader.memory());
    if tile > memory {
        return Err(reader.too_large(path, "a tile of so many axes", tile, memory).into());
    }
    Ok(Some(Found::Member(Member::Numbers(array))))
}

/// The value of an array without axes.
fn single(reader: &Reader, array: &ArrayReader) -> Result<Option<Single>> {
    if is_text(array) {
        return Ok(all_texts(reader, array)?.pop().map(Single::Text));
    }
    if array.cell_val_num() != CellValNum::ONE {
        return Ok(None);
    }
    let bytes = array.read()?.values;
    let real = |value: Option<f64>| value.map(Single::Real).ok_or_else(|| internal("a real number is none"));
    Ok(Some(match array.datatype() {
        Datatype::Bool => Single::Truth(bytes.iter().any(|byte| *byte != 0)),
        Datatype::Float32 => {
            real(bytes.as_slice().try_into().ok().map(|value| f64::from(f32::from_le_bytes(value))))?
        }
        Datatype::Float64 => real(bytes.as_slice().try_into().ok().map(f64::from_le_bytes))?,
        datatype => match whole(datatype, &bytes) {
            None => return Ok(None),
            Some(number) => match (i64::try_from(number), u64::try_from(number)) {
                (Ok(number), _) => Single::Signed(number),
                (_, Ok(number)) => Single::Unsigned(number),
                _ => return Ok(None),
            },
        },
    }))
}

impl Single {
    fn put(&self, entries: MetadataChanges, name: &str) -> MetadataChanges {
        match self {
            Self::Truth(value) => entries.put_values(name, Datatype::Bool, &[u8::from(*value)]),
            Self::Signed(value) => entries.put_values(name, Datatype::Int64, &[*value]),
            Self::Unsigned(value) => entries.put_values(name, Datatype::Uint64, &[*value]),
            Self::Real(value) => entries.put_values(name, Datatype::Float64, &[*value]),
            Self::Text(text) => entries.put_text(name, text),
        }
    }
}

/// Writes texts as a table, whose metadata says what it was.
fn write_texts(reader: &Reader, build: &Build<'_>, array: &ArrayReader, path: &str) -> Result<()> {
    let all = all_texts(reader, array)?;
    let (hint, width) = match array.shape() {
        [_, width] => (HINTS[1], usize::try_from(*width).unwrap_or(usize::MAX)),
        _ => (HINTS[0], 1),
    };
    let rows = all.len().checked_div(width).unwrap_or(0);
    let name = |at: usize| if hint == HINTS[0] { "values".to_owned() } else { format!("values_{at}") };
    let fields: Vec<NewField> =
        (0..width).map(|at| NewField { name: name(at), cells: NewCells::Texts }).collect();
    let more = MetadataChanges::new().put_text(HINT, hint);
    let table = build.new_table(path, &fields, u64::try_from(rows).unwrap_or(u64::MAX), None, more)?;
    let columns: Vec<(Vec<u8>, Vec<u64>)> = (0..width)
        .map(|at| {
            let (mut bytes, mut offsets) = (Vec::new(), vec![0]);
            for text in all.iter().skip(at).step_by(width) {
                bytes.extend_from_slice(text.as_bytes());
                offsets.push(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            }
            (bytes, offsets)
        })
        .collect();
    let valid = vec![1; rows];
    let write = fields
        .iter()
        .zip(&columns)
        .map(|(field, (bytes, offsets))| WriteColumn::var(&field.name, bytes, offsets).nullable(&valid));
    let mut writing = table.rows()?;
    writing.append(&write.collect::<Vec<_>>(), rows)?;
    Ok(writing.finish()?)
}
