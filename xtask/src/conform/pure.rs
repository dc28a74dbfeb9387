//! `cargo xtask conform pure`: the fixtures as created by tdb alone
//! (`cargo xtask fixtures --pure`), read by libtiledb.
//!
//! The correct answers are those of the fixtures themselves. tdb runs all their queries on its own
//! arrays; libtiledb 2.30 and a library of each version's time read whole arrays and boxes of dense
//! ones, and 2.30 compares schemas.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tdb_array::schema::ArrayType;
use tdb_array::{Array, Column, Layout, OpenOptions};
use tdb_codec::{Datatype, Gate};

use super::expected;
use super::form::{base64, list, text};
use super::peers::{Answer, Outcome, Peer};
use super::releases::Releases;
use crate::fixtures::pure::{Made, entries, key, make};
use crate::peer::{READER, repository_root};

pub(super) const USAGE: &str = "[--only SUBSTRING] [--dir DIR]";

/// A fixture whose tiles have more cells than the type of its dimensions counts. libtiledb from 2.3
/// on stores too few cells of such tiles and reads no others; tdb stores them whole ("Tiles of more
/// cells than their type counts").
pub(super) const WHOLE_TILES: &str = "2.30.0/dense_short_tiles";

/// The outcomes of the arrays of one version with one library.
#[derive(Debug, Default)]
struct Counts {
    arrays: usize,
    equal: usize,
    queries: usize,
    /// Arrays that the library also does not read correctly in the form that libtiledb wrote.
    own: Vec<String>,
}

/// An array that was created.
struct Pure {
    id: String,
    version: u32,
    entry: Value,
    expected: Value,
    made: Made,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let (mut only, mut folder, mut keep) =
        (String::new(), std::env::temp_dir().join(format!("tdb-pure-{}", std::process::id())), false);
    let mut words = args.iter();
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value: {USAGE}"))?;
        match word.as_str() {
            "--only" => only.clone_from(value),
            "--dir" => (folder, keep) = (value.into(), true),
            _ => return Err(format!("unknown argument {word}: {USAGE}")),
        }
    }
    let root = repository_root()?;
    let fixtures = root.join("xtask/fixtures");
    let mut failures = Vec::new();
    let mut all: Vec<Pure> = Vec::new();
    let mut refused = Vec::new();
    for entry in entries(&fixtures, &only)? {
        let id = text(&entry, "id").to_owned();
        let target = folder.join("arrays").join(all.len().to_string());
        let made = match make(&fixtures, &entry, &target) {
            Ok(made) => made,
            Err(error) => {
                refused.push(format!("{id}: {error}"));
                continue;
            }
        };
        let file = fixtures.join("expected").join(format!("{id}.json"));
        let expected = fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let expected: Value = serde_json::from_slice(&expected).map_err(|error| error.to_string())?;
        let version = entry.get("format_version").and_then(Value::as_u64).unwrap_or(0);
        let pure = Pure { id, version: u32::try_from(version).unwrap_or(0), entry, expected, made };
        failures.extend(pure.read_by_tdb(&target));
        all.push(pure);
    }
    let histories = all.iter().filter(|pure| pure.made == Made::History).count();
    println!(
        "{} arrays made by tdb, {histories} of them with their history; not made: {}",
        all.len(),
        refused.len()
    );
    refused.iter().for_each(|why| println!("  {why}"));
    let releases = Releases::fetch(&root)?;
    let script = root.join("xtask/peer/writes_peer.py");
    for version in releases.versions() {
        let mut readers = releases.of(version);
        if !readers.contains(&READER) {
            readers.push(READER);
        }
        let of: Vec<usize> =
            all.iter().enumerate().filter(|(_, pure)| pure.version == version).map(|(at, _)| at).collect();
        for reader in readers {
            let path = releases.path(reader)?;
            let ask = |what: &str, chosen: &[usize], arrays: &dyn Fn(usize) -> PathBuf| {
                let batch = folder.join(format!("{what}-{version}-{reader}"));
                ask(&all, chosen, reader, &batch, arrays, &path, &script)
            };
            let mut counts = Counts { arrays: of.len(), ..Counts::default() };
            let answers = ask("ours", &of, &|at| folder.join("arrays").join(at.to_string()))?;
            let wrong: Vec<(usize, Answer)> = of
                .iter()
                .copied()
                .zip(answers)
                .filter(|(_, (answer, _))| answer.outcome != Outcome::Equal)
                .map(|(at, (answer, _))| (at, answer))
                .collect();
            counts.equal = of.len() - wrong.len();
            counts.queries = of.iter().filter_map(|at| all.get(*at)).map(|pure| pure.queries().len()).sum();
            let chosen: Vec<usize> = wrong.iter().map(|(at, _)| *at).collect();
            let originals = |at: usize| {
                let id = all.get(at).map_or("", |pure| pure.id.as_str());
                fixtures.join("arrays").join(id)
            };
            let own = ask("theirs", &chosen, &originals)?;
            for ((at, answer), (own, _)) in wrong.into_iter().zip(own) {
                let id = all.get(at).map_or("", |pure| pure.id.as_str());
                let said = format!("{id}, libtiledb {reader}: {:?} {}", answer.outcome, answer.what);
                let known = id == WHOLE_TILES || own.outcome != Outcome::Equal;
                if known { counts.own.push(said) } else { failures.push(said) }
            }
            if counts.arrays > 0 {
                println!(
                    "version {version:2}  libtiledb {reader:7} {:4} arrays {:4} equal {:5} queries {:3} own faults",
                    counts.arrays,
                    counts.equal,
                    counts.queries,
                    counts.own.len()
                );
            }
            counts.own.iter().for_each(|said| println!("  own fault: {said}"));
        }
    }
    if failures.is_empty() {
        if !keep {
            // The compared arrays are no longer needed.
            let _ = fs::remove_dir_all(&folder);
        }
        return Ok(());
    }
    failures.iter().for_each(|failure| eprintln!("{failure}"));
    Err(format!("{} differ; the arrays are in {}", failures.len(), folder.display()))
}

/// Lets a library read some arrays.
fn ask(
    all: &[Pure],
    chosen: &[usize],
    reader: &str,
    batch: &Path,
    arrays: &dyn Fn(usize) -> PathBuf,
    library: &Path,
    script: &Path,
) -> Result<Vec<(Answer, usize)>, String> {
    if chosen.is_empty() {
        return Ok(Vec::new());
    }
    let failed = |error: std::io::Error| format!("{}: {error}", batch.display());
    let links = batch.join("arrays");
    fs::create_dir_all(&links).map_err(failed)?;
    let (mut cases, mut blob) = (Vec::new(), Vec::new());
    for at in chosen {
        let Some(pure) = all.get(*at) else { continue };
        link(&arrays(*at), &links.join(at.to_string())).map_err(failed)?;
        cases.push(pure.case(*at, reader, &arrays(*at), &mut blob)?);
    }
    fs::write(batch.join("cells"), blob).map_err(failed)?;
    fs::write(batch.join("cases.json"), Value::from(cases).to_string()).map_err(failed)?;
    let (script, library, batch) = (script.to_owned(), library.to_owned(), batch.to_owned());
    let cases = chosen.len();
    let peer = Peer { script, library, batch, op: "read", arrays: links, cases, child: None };
    Ok(peer.start()?.finish()?.into_iter().zip(chosen.iter().copied()).collect())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

impl Pure {
    fn is_dense(&self) -> bool {
        self.expected.get("schema").is_some_and(|schema| text(schema, "array_type") == "dense")
    }

    /// The differences between what tdb reads from its own array and what libtiledb reads from the
    /// fixture.
    fn read_by_tdb(&self, array: &Path) -> Vec<String> {
        let mut expected = self.expected.clone();
        let now = |query: &Value| query.get("timestamps").is_none_or(|times| *times == json!([null, null]));
        if self.made == Made::Now
            && let Some(parts) = expected.as_object_mut()
        {
            parts.remove("time_travel");
            if let Some(queries) = parts.get_mut("queries").and_then(Value::as_array_mut) {
                queries.retain(now);
            }
        }
        let features = list(&self.entry, "features").iter().filter_map(Value::as_str);
        if let Some(parts) = expected.as_object_mut() {
            // After deletes, only the remaining cells are written, which may have a smaller domain.
            if features.clone().any(|feature| feature == "commits:del") {
                parts.remove("metadata");
            }
            // A file that covers a time range was written at one time of that range.
            if features.clone().any(|feature| feature == "meta:consolidated") {
                parts.remove("time_travel");
            }
        }
        if expected::has_old_dates(&self.expected)
            && let Some(queries) = expected.get_mut("queries").and_then(Value::as_array_mut)
        {
            // The rectangles of the fixture's fragments are wrong, so libtiledb does not find some
            // cells of ranges.
            queries.retain(|query| query.get("ranges").is_none_or(Value::is_null));
            return compare(&self.id, array, &without_facts(&expected));
        }
        compare(&self.id, array, &expected)
    }

    /// The queries of the fixture that a peer runs: the whole array, and boxes of dense arrays.
    fn queries(&self) -> Vec<&Value> {
        let now = |query: &Value| query.get("timestamps").is_none_or(|times| *times == json!([null, null]));
        let whole = |query: &Value| query.get("ranges").is_none_or(Value::is_null);
        let queries = list(&self.expected, "queries").iter();
        queries.filter(|query| now(query) && (self.is_dense() || whole(query))).collect()
    }

    /// In the form of `writes_peer.py`.
    fn case(&self, number: usize, reader: &str, array: &Path, blob: &mut Vec<u8>) -> Result<Value, String> {
        let schema = self.expected.get("schema").unwrap_or(&Value::Null);
        let dimensions: Vec<&str> =
            list(schema, "dimensions").iter().map(|dimension| text(dimension, "name")).collect();
        let version = tdb_codec::FormatVersion::parse(self.version).map_err(|error| error.to_string())?;
        let mut queries = Vec::new();
        if self.is_dense() && !version.has(Gate::FillValues) && reader != READER {
            // Earlier libraries have other values for cells that were never written.
            queries.extend(self.last_box(array, blob)?);
        } else {
            for query in self.queries() {
                let mut fields = Map::new();
                for (name, field) in query.get("fields").and_then(Value::as_object).into_iter().flatten() {
                    fields.insert(name.clone(), field_of(field, blob)?);
                }
                let order = match text(query, "order") {
                    "exact" => "exact",
                    "layout" => "runs",
                    _ => "any",
                };
                let whole = || -> Value {
                    let domain = |dimension: &Value| dimension.get("domain").cloned().unwrap_or_default();
                    list(schema, "dimensions").iter().map(domain).collect()
                };
                let ranges = query.get("ranges").filter(|ranges| !ranges.is_null()).cloned();
                queries.push(json!({ "layout": text(query, "layout"), "until": null, "box": ranges.unwrap_or_else(whole),
                                     "order": order, "fields": fields }));
            }
        }
        Ok(json!({
            "number": number, "key": self.entry.get("key").cloned().unwrap_or_default(),
            // An older library described it, and does not know all properties that are described
            // today.
            "own": !self.expected.get("metadata").is_some_and(Value::is_array),
            "sparse": !self.is_dense(), "dimensions": dimensions, "queries": queries, "schema": schema, "steps": [],
        }))
    }

    /// The box of the last fragment, which is written as a whole, with the cells that tdb reads
    /// from it.
    fn last_box(&self, array: &Path, blob: &mut Vec<u8>) -> Result<Option<Value>, String> {
        let options = OpenOptions::new().threads(1);
        let options = match key(&self.entry) {
            Some(key) => options.key(key),
            None => options,
        };
        let array: Array = options.open(array).map_err(|error| error.to_string())?;
        let last = array
            .fragments()
            .last()
            .filter(|last| last.is_dense() && array.schema().array_type == ArrayType::Dense);
        let Some(domain) = last.and_then(|last| last.non_empty_domain()) else { return Ok(None) };
        let mut read = array.read().order(Layout::RowMajor);
        let mut sides = Vec::new();
        for (range, dimension) in domain.iter().zip(&array.schema().domain.dimensions) {
            read = read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
            sides.push([super::writes::hex(&range.low), super::writes::hex(&range.high)]);
        }
        let attributes = array.schema().attributes.iter().map(|attribute| attribute.name.clone());
        let cells = read.fields(attributes).collect().map_err(|error| error.to_string())?;
        let fields: Map<String, Value> = cells
            .columns()
            .iter()
            .map(|column| (column.name.clone(), field_of_column(column, blob)))
            .collect();
        Ok(Some(
            json!({ "layout": "row-major", "until": null, "box": sides, "order": "exact", "fields": fields }),
        ))
    }
}

fn compare(id: &str, array: &Path, expected: &Value) -> Vec<String> {
    let found = expected::compare(array, expected);
    let cells = found.differing.into_iter().map(|(at, error)| format!("query {at}: {error}"));
    cells.chain(found.facts).map(|error| format!("{id}, tdb: {error}")).collect()
}

/// Without metadata and domains.
fn without_facts(expected: &Value) -> Value {
    let mut expected = expected.clone();
    if let Some(parts) = expected.as_object_mut() {
        parts.remove("metadata");
        parts.remove("time_travel");
    }
    expected
}

/// The position of a buffer's bytes in the file of all buffers.
fn put(bytes: &[u8], blob: &mut Vec<u8>) -> Value {
    let at = blob.len();
    blob.extend_from_slice(bytes);
    json!([at, bytes.len()])
}

fn field_of(field: &Value, blob: &mut Vec<u8>) -> Result<Value, String> {
    let mut told = Map::new();
    for part in ["data", "offsets", "validity"] {
        if let Some(bytes) = field.get(part).and_then(Value::as_str) {
            told.insert(part.into(), put(&base64(bytes)?, blob));
        }
    }
    let size = Datatype::from_name(text(field, "type")).map_or(1, Datatype::size);
    let values =
        field.get("cell_val_num").and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok());
    told.insert("cell".into(), values.map_or(Value::Null, |values| (values * size).into()));
    Ok(told.into())
}

fn field_of_column(column: &Column, blob: &mut Vec<u8>) -> Value {
    let mut told = Map::new();
    told.insert("data".into(), put(column.bytes(), blob));
    if let Some((_, starts)) = column.offsets().and_then(<[u64]>::split_last) {
        let bytes: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
        told.insert("offsets".into(), put(&bytes, blob));
    }
    if let Some(validity) = column.validity() {
        told.insert("validity".into(), put(validity, blob));
    }
    told.insert("cell".into(), column.cell_size().map_or(Value::Null, Into::into));
    told.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_the_fixtures_become_ranges_of_one_file() {
        let mut blob = vec![9];
        let field = json!({ "type": "INT32", "cell_val_num": 2, "data": "AQIDBAUGBwg=", "validity": "AQ==" });
        let told = field_of(&field, &mut blob).unwrap();
        assert_eq!(told, json!({ "data": [1, 8], "validity": [9, 1], "cell": 8 }));
        assert_eq!(blob, [9, 1, 2, 3, 4, 5, 6, 7, 8, 1]);
        let strings =
            json!({ "type": "CHAR", "cell_val_num": "var", "data": "YQ==", "offsets": "AAAAAAAAAAA=" });
        assert_eq!(field_of(&strings, &mut blob).unwrap()["cell"], Value::Null);
    }
}
