//! Runs several cases at a time: one library writes and the other reads, in both directions at the
//! same time.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tdb_array::storage::Durability;
use tdb_array::{Layout, OpenOptions, WriteColumn, WriteOptions};
use tdb_codec::{FormatVersion, to_u64};
use tdb_filters::Key;

use super::cases::{Case, Cells, KEY};
use crate::conform::peers::{Answer, Outcome, Peer};

/// The outcome of one case in both directions; `None` if an earlier step failed.
#[derive(Debug)]
pub(super) struct Result2 {
    /// tdb writes, …
    pub(super) written: Result<(), String>,
    /// … the peer reads.
    pub(super) read_by_peer: Option<Answer>,
    /// The peer writes and reads, …
    pub(super) written_by_peer: Answer,
    /// … tdb reads: the difference between the cells, or the error.
    pub(super) read: Option<Result<Option<String>, String>>,
}

/// The environment in which batches run.
pub(super) struct Bench {
    pub(super) script: PathBuf,
    pub(super) library: PathBuf,
    pub(super) folder: PathBuf,
    /// The version of the arrays that tdb writes, if not the current one.
    pub(super) version: Option<FormatVersion>,
}

impl Bench {
    /// Runs a batch.
    pub(super) fn run(&self, cases: &[&Case]) -> Result<Vec<Result2>, String> {
        let cells: Vec<Vec<Cells>> = cases.iter().map(|case| case.cells()).collect();
        self.prepare(cases, &cells)?;
        let (ours, theirs) = (self.folder.join("tdb"), self.folder.join("peer"));

        let peer = self.start("write", &theirs, cases.len())?;
        let written: Vec<Result<(), String>> = cases
            .iter()
            .zip(&cells)
            .enumerate()
            .map(|(number, (case, cells))| write(&ours.join(number.to_string()), case, cells, self.version))
            .collect();
        let written_by_peer = peer.finish()?;

        let peer = self.start("read", &ours, cases.len())?;
        let mut read = Vec::with_capacity(cases.len());
        for (number, (case, (cells, answer))) in
            cases.iter().zip(cells.iter().zip(&written_by_peer)).enumerate()
        {
            let there = !matches!(answer.outcome, Outcome::Refused | Outcome::Crashed);
            read.push(there.then(|| self::read(&theirs.join(number.to_string()), case, cells)));
        }
        let read_by_peer = peer.finish()?;

        let all = written.into_iter().zip(read_by_peer).zip(written_by_peer).zip(read);
        let results = all.map(|(((written, read_by_peer), written_by_peer), read)| Result2 {
            read_by_peer: written.is_ok().then_some(read_by_peer),
            written,
            written_by_peer,
            read,
        });
        Ok(results.collect())
    }

    /// Writes the cases and their cells for the peer.
    fn prepare(&self, cases: &[&Case], cells: &[Vec<Cells>]) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.folder.display());
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).map_err(failed)?;
        }
        for part in ["tdb", "peer"] {
            fs::create_dir_all(self.folder.join(part)).map_err(failed)?;
        }
        let (mut blob, mut list) = (Vec::<u8>::new(), Vec::new());
        for (number, (case, cells)) in cases.iter().zip(cells).enumerate() {
            let mut described = case.for_peer();
            let mut fields = serde_json::Map::new();
            for column in cells {
                let mut put = |bytes: &[u8]| {
                    let at = blob.len();
                    blob.extend_from_slice(bytes);
                    json!([at, bytes.len()])
                };
                let mut field = json!({"data": put(&column.data)});
                let Some(field_object) = field.as_object_mut() else { continue };
                if let Some(offsets) = &column.offsets {
                    let (_, starts) = offsets.split_last().unwrap_or((&0, &[]));
                    let bytes: Vec<u8> = starts.iter().flat_map(|start| start.to_le_bytes()).collect();
                    field_object.insert("offsets".into(), put(&bytes));
                }
                if let Some(validity) = &column.validity {
                    field_object.insert("validity".into(), put(validity));
                }
                fields.insert(column.name.into(), field);
            }
            if let Some(object) = described.as_object_mut() {
                object.insert("number".into(), number.into());
                object.insert("fields".into(), fields.into());
                object.insert("key".into(), if case.chain.encrypted { KEY.into() } else { Value::Null });
            }
            list.push(described);
        }
        fs::write(self.folder.join("cells"), blob).map_err(failed)?;
        fs::write(self.folder.join("cases.json"), Value::from(list).to_string()).map_err(failed)
    }

    fn start(&self, op: &'static str, arrays: &Path, cases: usize) -> Result<Peer, String> {
        let (script, library, batch) = (self.script.clone(), self.library.clone(), self.folder.clone());
        Peer { script, library, batch, op, arrays: arrays.to_owned(), cases, child: None }.start()
    }
}

fn key(case: &Case) -> Option<Key> {
    let bytes: Option<[u8; 32]> = KEY.as_bytes().try_into().ok();
    bytes.filter(|_| case.chain.encrypted).map(Key::new)
}

fn write(path: &Path, case: &Case, cells: &[Cells], version: Option<FormatVersion>) -> Result<(), String> {
    let mut options = WriteOptions::new().threads(1).durability(Durability::Buffered);
    if let Some(key) = key(case) {
        options = options.key(key);
    }
    let mut schema = case.schema();
    schema.version = version.unwrap_or(schema.version);
    options.clone().create(path, &schema).map_err(|error| error.to_string())?;
    let writer = options.open(path).map_err(|error| error.to_string())?;
    let mut write = writer.write();
    if !case.is_dense() {
        write = write.order(Layout::GlobalOrder);
    }
    for column in cells {
        let mut given = match &column.offsets {
            Some(offsets) => WriteColumn::var(column.name, &column.data, offsets),
            None => WriteColumn::bytes(column.name, &column.data),
        };
        if let Some(validity) = &column.validity {
            given = given.nullable(validity);
        }
        write = write.column(given);
    }
    write.commit().map(drop).map_err(|error| error.to_string())
}

/// The difference between the cells and the expected cells, if there is one.
fn read(path: &Path, case: &Case, expected: &[Cells]) -> Result<Option<String>, String> {
    let mut options = OpenOptions::new().threads(1);
    if let Some(key) = key(case) {
        options = options.key(key);
    }
    let array = options.open(path).map_err(|error| error.to_string())?;
    let fields: Vec<&str> = expected.iter().map(|cells| cells.name).collect();
    let order = if case.is_dense() { Layout::RowMajor } else { Layout::GlobalOrder };
    let cells = array.read().fields(fields).order(order).collect().map_err(|error| error.to_string())?;
    for expected in expected {
        let column = cells.field(expected.name).map_err(|error| error.to_string())?;
        let name = expected.name;
        if column.bytes() != expected.data {
            let at = column.bytes().iter().zip(&expected.data).position(|(a, b)| a != b);
            let at = at.map_or_else(|| "the end".to_owned(), |at| format!("byte {}", to_u64(at)));
            return Ok(Some(format!("values of {name} differ from {at} on")));
        }
        if column.offsets() != expected.offsets.as_deref() {
            return Ok(Some(format!("offsets of {name} differ")));
        }
        if column.validity() != expected.validity.as_deref() {
            return Ok(Some(format!("validity of {name} differs")));
        }
    }
    Ok(None)
}
