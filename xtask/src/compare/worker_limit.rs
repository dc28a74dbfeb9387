//! Lower bounds for reads: only the codecs on an array's chunks, and copying its files from the
//! page cache.

use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tdb_array::stored::Fragment;
use tdb_array::{Array, OpenOptions};
use tdb_codec::{Budget, Buffer, CellValNum, Datatype, Reader};
use tdb_filters::{Decoder, Encoder, Pipeline, Scratch, TileContext};
use tdb_fragment::{DataFile, DataFilePart};
use tdb_tile::TileChunks;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// A data file and how its tiles are decoded and encoded.
pub(super) struct Coded {
    pub(super) path: PathBuf,
    pub(super) decoder: Decoder,
    pub(super) encoder: Encoder,
}

/// `{"op": "codec", "array", "fields"}`: seconds to decode all chunks of the fields' files, which
/// are already in memory, each into memory that its thread reuses.
pub(crate) fn codec(request: &Value, threads: usize) -> Fallible<Value> {
    let files = files(request)?;
    let bytes = files.iter().map(|file| Ok(fs::read(&file.path)?)).collect::<Fallible<Vec<_>>>()?;
    let mut tiles = Vec::new();
    for (file, bytes) in files.iter().zip(&bytes) {
        let mut reader = Reader::new(bytes);
        while reader.remaining() > 0 {
            tiles.push((TileChunks::parse_next(&mut reader)?, &file.decoder));
        }
    }
    let queue = Mutex::new(tiles.into_iter());
    let failure = Mutex::new(None);
    let work = || {
        let (mut scratch, budget) = (Scratch::default(), Budget::new(1 << 30));
        let mut out = Buffer::new();
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((tile, decoder)) = next else { break };
            let len = tile.chunks().map(|chunk| usize::try_from(chunk.original_len).unwrap_or(0)).sum();
            if out.len() < len {
                out.reset(len);
            }
            let out = out.as_mut_slice().get_mut(..len).unwrap_or_default();
            if let (Err(error), Ok(mut failure)) = (tile.decode(decoder, out, &mut scratch, &budget), failure.lock()) {
                *failure = Some(error.to_string());
            }
        }
        black_box(&out);
    };
    let started = Instant::now();
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let seconds = started.elapsed().as_secs_f64();
    match failure.into_inner()? {
        Some(error) => Err(error.into()),
        None => Ok(json!({"seconds": seconds})),
    }
}

/// `{"op": "files", "array", "fields"}`: seconds to copy the fields' files from the page cache into
/// fresh memory.
pub(crate) fn files_copied(request: &Value, threads: usize) -> Fallible<Value> {
    let files = files(request)?;
    let mut pieces = Vec::new();
    for file in &files {
        let size = fs::metadata(&file.path)?.len();
        let piece = size.div_ceil(u64::try_from(threads)?).max(1 << 20);
        let mut start = 0;
        while start < size {
            pieces.push((file.path.as_path(), start, piece.min(size - start)));
            start += piece;
        }
    }
    let started = Instant::now();
    let queue = Mutex::new(pieces.into_iter());
    let work = || {
        let mut kept = Vec::new();
        loop {
            let next = queue.lock().ok().and_then(|mut queue| queue.next());
            let Some((path, start, len)) = next else { break };
            kept.push(piece(path, start, len));
        }
        kept
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut read = vec![work()];
        read.extend(others.into_iter().filter_map(|thread| thread.join().ok()));
        let seconds = started.elapsed().as_secs_f64();
        for piece in black_box(&read).iter().flatten() {
            piece.as_ref().map_err(ToString::to_string)?;
        }
        Ok(json!({"seconds": seconds}))
    })
}

/// Number of bytes of all files below a folder.
pub(super) fn size_of_folder(folder: &Path) -> Fallible<u64> {
    let mut sum = 0u64;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.metadata()?;
        sum += if kind.is_dir() { size_of_folder(&entry.path())? } else { kind.len() };
    }
    Ok(sum)
}

fn piece(path: &Path, start: u64, len: u64) -> std::io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(start))?;
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(0));
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The data files of the request's fields.
pub(super) fn files(request: &Value) -> Fallible<Vec<Coded>> {
    let path = request.get("array").and_then(Value::as_str).ok_or("no array")?;
    let array: Array = OpenOptions::new().open(path)?;
    let fields = request.get("fields").and_then(Value::as_array).ok_or("no fields")?;
    let mut found = Vec::new();
    for fragment in array.fragments() {
        for name in fields.iter().filter_map(Value::as_str) {
            add(Path::new(path), fragment, name, &mut found)?;
        }
    }
    Ok(found)
}

fn add(array: &Path, fragment: &Fragment, name: &str, found: &mut Vec<Coded>) -> Fallible<()> {
    let schema = fragment.schema();
    let field = schema.field(name).ok_or("no such field")?;
    let version = fragment.version();
    let mut push = |part, pipeline: &Pipeline, datatype: Datatype, cell_size: usize, var| -> Fallible<()> {
        let tile = TileContext {
            datatype,
            cell_size: u64::try_from(cell_size)?,
            schema_version: schema.version,
            fragment_version: version,
            writer_version: version,
            var,
            string_mode: None,
        };
        let name = DataFile::Field(field.kind, part).name(schema, version).ok_or("no file")?;
        let path = array.join(fragment.folder()).join(name);
        found.push(Coded { path, decoder: pipeline.decoder(tile)?, encoder: pipeline.encoder(tile)? });
        Ok(())
    };
    let filters = schema.filters_in(&field, version);
    match field.cell_val_num {
        CellValNum::Var => {
            push(DataFilePart::Fixed, &schema.offsets_filters, Datatype::Uint64, 8, false)?;
            push(DataFilePart::Var, filters, field.datatype, field.datatype.size(), true)
        }
        CellValNum::Fixed(_) => {
            let size = field.cell_size().unwrap_or(1);
            push(DataFilePart::Fixed, filters, field.datatype, size, false)
        }
    }
}
