//! The documents of arrays and groups, in version 2 and in version 3.

use serde_json::{Map, Value};

use crate::arrays::Stage;
use crate::chain::{Chain, Named, v3_codecs};
use crate::element::Element;
use crate::error::{Problem, Result};
use crate::fill;
use crate::folder::{Folder, Part, join};
use crate::packed::PackedCodec;
use crate::thresholds::{MAX_DIMENSIONS, MAX_DOCUMENT};

/// A group or an array.
#[derive(Debug)]
pub(crate) enum Node {
    /// A group, by its attributes.
    Group(Map<String, Value>),
    /// An array.
    Array(Box<ArrayDocument>),
}

/// What the documents of an array say.
#[derive(Debug)]
pub(crate) struct ArrayDocument {
    /// The length along each axis; of an array without axes, nothing.
    pub(crate) shape: Vec<u64>,
    /// The length of a chunk that has a file of its own.
    pub(crate) file_chunk: Vec<u64>,
    /// If such a chunk is a shard, what is in it.
    pub(crate) shard: Option<Shard>,
    /// What a cell is.
    pub(crate) element: Element,
    /// The bytes of a cell that was never written.
    pub(crate) fill: Vec<u8>,
    /// The codecs of chunks, or of those inside of shards.
    pub(crate) chain: Chain,
    /// How the names of files are made.
    pub(crate) keys: Keys,
    /// The names of axes, where they have one.
    pub(crate) names: Vec<Option<String>>,
    /// The attributes without the names of axes.
    pub(crate) attributes: Map<String, Value>,
}

/// How a shard is made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shard {
    /// The length of a chunk inside of it.
    pub(crate) chunk: Vec<u64>,
    /// Whether its index is at its end.
    pub(crate) index_at_end: bool,
    /// Whether its index has a checksum.
    pub(crate) index_sum: Option<PackedCodec>,
}

/// How the names of chunks are made of their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keys {
    /// Whether they begin with `c`, as usual in version 3.
    pub(crate) prefix: bool,
    /// What is between numbers.
    pub(crate) separator: char,
}

impl ArrayDocument {
    /// The length of a chunk that is decoded at once.
    pub(crate) fn chunk(&self) -> &[u64] {
        self.shard.as_ref().map_or(&self.file_chunk, |shard| &shard.chunk)
    }
}

/// The node at a path; `None` if there is none.
pub(crate) fn open(folder: &Folder, path: &str) -> Result<Option<Node>> {
    let load = |name: &str| -> Result<Option<Map<String, Value>>> {
        let path = join(path, name);
        let Some(bytes) = folder.read(&path, Part::All(MAX_DOCUMENT))? else { return Ok(None) };
        let parsed = parse(&bytes).map_err(|problem| folder.error(&path, problem))?;
        Ok(Some(parsed))
    };
    if let Some(document) = load("zarr.json")? {
        return v3(&document).map(Some).map_err(|problem| folder.error(&join(path, "zarr.json"), problem));
    }
    if let Some(document) = load(".zarray")? {
        let attributes = load(".zattrs")?.unwrap_or_default();
        let array = array_v2(&document, attributes);
        let array = array.map_err(|problem| folder.error(&join(path, ".zarray"), problem))?;
        return Ok(Some(Node::Array(Box::new(array))));
    }
    match load(".zgroup")? {
        Some(_) => Ok(Some(Node::Group(load(".zattrs")?.unwrap_or_default()))),
        None => Ok(None),
    }
}

/// A document. Python writes numbers into it that JSON does not have.
fn parse(bytes: &[u8]) -> Result<Map<String, Value>, Problem> {
    let wrong = |error: serde_json::Error| Problem::damaged(format!("this is not JSON: {error}"));
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Problem::damaged("this is not an object of JSON")),
        Err(first) => {
            let text = core::str::from_utf8(bytes).map_err(|_| wrong(first))?;
            serde_json::from_str(&quoted(text)).map_err(wrong)
        }
    }
}

/// A text of JSON in which bare `NaN` and infinities are strings.
fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut in_string) = (text, false);
    'outer: while let Some(next) = rest.chars().next() {
        if !in_string {
            for word in ["NaN", "-Infinity", "Infinity"] {
                if let Some(behind) = rest.strip_prefix(word) {
                    out.push('"');
                    out.push_str(word);
                    out.push('"');
                    rest = behind;
                    continue 'outer;
                }
            }
        }
        let mut length = next.len_utf8();
        if next == '\\' && in_string {
            length += rest.get(length..).and_then(|behind| behind.chars().next()).map_or(0, char::len_utf8);
        } else if next == '"' {
            in_string = !in_string;
        }
        let (taken, behind) = rest.split_at_checked(length).unwrap_or((rest, ""));
        out.push_str(taken);
        rest = behind;
    }
    out
}

fn required<'v>(document: &'v Map<String, Value>, key: &str) -> Result<&'v Value, Problem> {
    document.get(key).ok_or_else(|| Problem::damaged(format!("{key} is missing")))
}

fn object(document: &Map<String, Value>, key: &str) -> Result<Map<String, Value>, Problem> {
    match document.get(key) {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(object)) => Ok(object.clone()),
        Some(_) => Err(Problem::damaged(format!("{key} is not an object"))),
    }
}

fn lengths(value: &Value, key: &str) -> Result<Vec<u64>, Problem> {
    let list = value.as_array().and_then(|list| list.iter().map(Value::as_u64).collect::<Option<Vec<u64>>>());
    let list = list.ok_or_else(|| Problem::damaged(format!("{key} is not a list of lengths")))?;
    if list.len() > MAX_DIMENSIONS {
        return Err(Problem::unsupported(format!(
            "there are {} dimensions; {MAX_DIMENSIONS} are the most",
            list.len()
        )));
    }
    Ok(list)
}

/// Lengths of chunks: as many as the array has axes, and none is zero.
fn chunk_lengths(value: &Value, key: &str, axes: usize) -> Result<Vec<u64>, Problem> {
    let chunk = lengths(value, key)?;
    if chunk.len() != axes || chunk.contains(&0) {
        return Err(Problem::damaged(format!("{key} has not a length above 0 for each of {axes} axes")));
    }
    Ok(chunk)
}

/// The name of an object, and its configuration.
fn named(value: &Value) -> (&str, Option<&Map<String, Value>>) {
    match value {
        Value::String(name) => (name, None),
        Value::Object(object) => (
            object.get("name").and_then(Value::as_str).unwrap_or(""),
            object.get("configuration").and_then(Value::as_object),
        ),
        _ => ("", None),
    }
}

/// What keys of a document of version 3 may be.
const KEYS: [&str; 12] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
    "consolidated_metadata",
];

fn v3(document: &Map<String, Value>) -> Result<Node, Problem> {
    if required(document, "zarr_format")?.as_u64() != Some(3) {
        return Err(Problem::damaged("zarr_format is not 3"));
    }
    let optional = |value: &Value| value.get("must_understand") == Some(&Value::Bool(false));
    if let Some((key, _)) =
        document.iter().find(|(key, value)| !KEYS.contains(&key.as_str()) && !optional(value))
    {
        return Err(Problem::unsupported(format!(
            "{key:?} is not known here, and readers must understand it"
        )));
    }
    match required(document, "node_type")?.as_str() {
        Some("group") => Ok(Node::Group(object(document, "attributes")?)),
        Some("array") => Ok(Node::Array(Box::new(array_v3(document)?))),
        _ => Err(Problem::damaged("node_type is neither array nor group")),
    }
}

fn array_v3(document: &Map<String, Value>) -> Result<ArrayDocument, Problem> {
    let shape = lengths(required(document, "shape")?, "shape")?;
    let axes = shape.len();
    let (grid, configuration) = named(required(document, "chunk_grid")?);
    if grid != "regular" {
        return Err(Problem::unsupported(format!(
            "the grid of chunks {grid:?} is not read: only regular ones are"
        )));
    }
    let chunk = configuration.and_then(|own| own.get("chunk_shape"));
    let chunk = chunk.ok_or_else(|| Problem::damaged("chunk_grid has no chunk_shape"))?;
    let file_chunk = chunk_lengths(chunk, "chunk_shape", axes)?;
    if document.get("storage_transformers").and_then(Value::as_array).is_some_and(|list| !list.is_empty()) {
        return Err(Problem::unsupported("storage transformers are not read"));
    }
    let element = Element::v3(required(document, "data_type")?)?;
    let fill = fill::bytes(required(document, "fill_value")?, element)?;
    let none = Map::new();
    let codecs = v3_codecs(required(document, "codecs")?, &none)?;
    let (shard, chain) = match codecs.as_slice() {
        [Named { name: "sharding_indexed", configuration }] => {
            let (shard, codecs) = shard(configuration, &file_chunk)?;
            (Some(shard), Chain::v3(&v3_codecs(codecs, &none)?, element, axes)?)
        }
        codecs => (None, Chain::v3(codecs, element, axes)?),
    };
    let names = match document.get("dimension_names") {
        None | Some(Value::Null) => vec![None; axes],
        Some(names) => names_of(names, axes).ok_or_else(|| {
            Problem::damaged("dimension_names is not a list of a name or null for each axis")
        })?,
    };
    let mut attributes = object(document, "attributes")?;
    // Some writers have both.
    if names.iter().any(Option::is_some) {
        attributes.remove(tdb_zarr::DIMENSIONS);
    }
    let keys = keys(document.get("chunk_key_encoding"))?;
    Ok(ArrayDocument { shape, file_chunk, shard, element, fill, chain, keys, names, attributes })
}

fn names_of(names: &Value, axes: usize) -> Option<Vec<Option<String>>> {
    let name = |name: &Value| match name {
        Value::Null => Some(None),
        Value::String(name) => Some(Some(name.clone())),
        _ => None,
    };
    let names = names.as_array()?.iter().map(name).collect::<Option<Vec<_>>>()?;
    (names.len() == axes).then_some(names)
}

fn keys(encoding: Option<&Value>) -> Result<Keys, Problem> {
    let (name, configuration) = encoding.map_or(("default", None), named);
    let (prefix, usual) = match name {
        "default" => (true, '/'),
        "v2" => (false, '.'),
        other => return Err(Problem::unsupported(format!("names of chunks are made in the way {other:?}"))),
    };
    let separator = match configuration.and_then(|own| own.get("separator")).map(|value| value.as_str()) {
        None => usual,
        Some(Some("/")) => '/',
        Some(Some(".")) => '.',
        Some(_) => return Err(Problem::damaged("the separator of chunk_key_encoding is neither / nor .")),
    };
    Ok(Keys { prefix, separator })
}

/// What a shard is, and the codecs of its chunks.
fn shard<'v>(
    configuration: &'v Map<String, Value>,
    file_chunk: &[u64],
) -> Result<(Shard, &'v Value), Problem> {
    let chunk = chunk_lengths(required(configuration, "chunk_shape")?, "chunk_shape", file_chunk.len())?;
    if chunk.iter().zip(file_chunk).any(|(inner, outer)| !outer.is_multiple_of(*inner)) {
        return Err(Problem::damaged("a shard does not have a whole number of chunks"));
    }
    let none = Map::new();
    let index = v3_codecs(required(configuration, "index_codecs")?, &none)?;
    let little = |codec: &Named<'_>| {
        codec.name == "bytes" && codec.configuration.get("endian").is_none_or(|endian| endian == "little")
    };
    let index_sum = match index.as_slice() {
        [bytes] if little(bytes) => None,
        [bytes, sum] if little(bytes) && sum.name == "crc32c" => PackedCodec::parse("crc32c", &none, 8)?,
        _ => return Err(Problem::unsupported("the index of a shard has other codecs than bytes and crc32c")),
    };
    let index_at_end = match configuration.get("index_location").map(|value| value.as_str()) {
        None | Some(Some("end")) => true,
        Some(Some("start")) => false,
        Some(_) => return Err(Problem::damaged("index_location is neither start nor end")),
    };
    Ok((Shard { chunk, index_at_end, index_sum }, required(configuration, "codecs")?))
}

fn array_v2(
    document: &Map<String, Value>,
    mut attributes: Map<String, Value>,
) -> Result<ArrayDocument, Problem> {
    if required(document, "zarr_format")?.as_u64() != Some(2) {
        return Err(Problem::damaged("zarr_format is not 2"));
    }
    let shape = lengths(required(document, "shape")?, "shape")?;
    let axes = shape.len();
    let file_chunk = chunk_lengths(required(document, "chunks")?, "chunks", axes)?;
    let (mut element, is_big) = Element::v2(required(document, "dtype")?)?;
    let mut codecs = Vec::new();
    let lists = match document.get("filters") {
        None | Some(Value::Null) => &[],
        Some(Value::Array(list)) => list.as_slice(),
        Some(_) => return Err(Problem::damaged("filters is not a list")),
    };
    let compressor = document.get("compressor").filter(|value| !value.is_null());
    for value in lists.iter().chain(compressor) {
        let codec = value.as_object().and_then(|object| Some((object.get("id")?.as_str()?, object)));
        let (name, configuration) = codec.ok_or_else(|| Problem::damaged("a codec has no id"))?;
        codecs.push(Named { name, configuration });
    }
    if element.size().is_none() && codecs.iter().any(|codec| codec.name == "vlen-bytes") {
        element = Element::objects_of_bytes();
    }
    let is_fortran = match document.get("order").map(|order| order.as_str()) {
        None | Some(Some("C")) => false,
        Some(Some("F")) => true,
        Some(_) => return Err(Problem::damaged("order is neither C nor F")),
    };
    let chain = Chain::v2(&codecs, Stage { element, is_big }, axes, is_fortran && axes > 1)?;
    let fill = fill::bytes(document.get("fill_value").unwrap_or(&Value::Null), element)?;
    let separator = match document.get("dimension_separator").map(|value| value.as_str()) {
        None | Some(Some(".")) => '.',
        Some(Some("/")) => '/',
        Some(_) => return Err(Problem::damaged("dimension_separator is neither . nor /")),
    };
    let names = attributes.get(tdb_zarr::DIMENSIONS).and_then(|names| names_of(names, axes));
    if names.is_some() {
        attributes.remove(tdb_zarr::DIMENSIONS);
    }
    Ok(ArrayDocument {
        shape,
        file_chunk,
        shard: None,
        element,
        fill,
        chain,
        keys: Keys { prefix: false, separator },
        names: names.unwrap_or_else(|| vec![None; axes]),
        attributes,
    })
}

#[cfg(test)]
mod tests;
