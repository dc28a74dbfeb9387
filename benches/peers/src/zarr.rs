//! Arrays of Zarr, read and written by zarrs.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use zarrs::array::{Array, ArraySubset};
use zarrs::filesystem::FilesystemStore;

use crate::digest::Digest;
use crate::{Fallible, ends, list, text};

/// The cells of a read.
pub(crate) enum Cells {
    Doubles(Vec<f64>),
    Integers(Vec<i32>),
}

impl Cells {
    /// The digest of all cells; with `ordered`, with their positions.
    pub(crate) fn digest(&self, ordered: bool) -> String {
        let mut digest = Digest::new(self.size().0);
        let fits = match self {
            Self::Doubles(values) => digest.add(values.iter().map(|value| value.to_bits())),
            Self::Integers(values) => digest.add(values.iter().map(|value| u64::from(value.cast_unsigned()))),
        };
        assert!(fits, "as many hashes as cells");
        format!("{:016x}", digest.sum(ordered))
    }

    /// Cells and bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        match self {
            Self::Doubles(values) => (values.len(), size_of_val(values.as_slice())),
            Self::Integers(values) => (values.len(), size_of_val(values.as_slice())),
        }
    }
}

/// `{"zarr": path, "ranges": [[lo, hi], …], "type": "float64" | "int32"}`: seconds from opening the
/// array to the cells in memory.
pub(crate) fn read(request: &Value) -> Fallible<(f64, Cells)> {
    let path = text(request, "zarr")?;
    let ranges = list(request, "ranges")?.iter().map(|range| {
        let (low, high) = ends(range).ok_or("a range without ends")?;
        Ok(u64::try_from(low)?..u64::try_from(high)? + 1)
    });
    let subset = ArraySubset::new_with_ranges(&ranges.collect::<Fallible<Vec<_>>>()?);
    let doubles = text(request, "type")? == "float64";
    let started = Instant::now();
    let array = open(Path::new(path))?;
    let cells = if doubles {
        Cells::Doubles(array.retrieve_array_subset(&subset)?)
    } else {
        Cells::Integers(array.retrieve_array_subset(&subset)?)
    };
    Ok((started.elapsed().as_secs_f64(), cells))
}

fn open(path: &Path) -> Fallible<Array<FilesystemStore>> {
    Ok(Array::open(Arc::new(FilesystemStore::new(path)?), "/")?)
}

/// `{"zarr": path, "raw": file, "codec": name, "type", "shape", "chunks", "inner": null | shape,
/// "pieces": n}`: makes an array of the file's cells, in so many pieces along the first dimension,
/// and returns the seconds that storing them took.
pub(crate) fn make(request: &Value) -> Fallible<f64> {
    let path = Path::new(text(request, "zarr")?);
    if path.exists() {
        fs::remove_dir_all(path)?;
    }
    fs::create_dir_all(path)?;
    let kind = text(request, "type")?;
    fs::write(path.join("zarr.json"), metadata(request, kind)?.to_string())?;
    let bytes = fs::read(text(request, "raw")?)?;
    let shape: Vec<u64> = list(request, "shape")?.iter().filter_map(Value::as_u64).collect();
    let pieces = request.get("pieces").and_then(Value::as_u64).unwrap_or(1);
    let rows = shape.first().ok_or("no shape")? / pieces;
    let share = bytes.len() / usize::try_from(pieces)?;
    let started = Instant::now();
    for (piece, bytes) in (0..pieces).zip(bytes.chunks(share.max(1))) {
        // Each piece is stored by a process that opens the array, as appends are.
        let array = open(path)?;
        let mut ranges: Vec<_> = shape.iter().map(|len| 0..*len).collect();
        if let Some(first) = ranges.first_mut() {
            *first = piece * rows..(piece + 1) * rows;
        }
        let subset = ArraySubset::new_with_ranges(&ranges);
        array.store_array_subset(&subset, zarrs::array::ArrayBytes::new_flen(bytes))?;
    }
    Ok(started.elapsed().as_secs_f64())
}

fn metadata(request: &Value, kind: &str) -> Fallible<Value> {
    let little = json!({"name": "bytes", "configuration": {"endian": "little"}});
    let size = if kind == "float64" { 8 } else { 4 };
    let blosc = |name: &str, level: u8, shuffle: &str| {
        json!({"name": "blosc", "configuration": {
            "cname": name, "clevel": level, "shuffle": shuffle, "typesize": size, "blocksize": 0,
        }})
    };
    let mut codecs = vec![little.clone()];
    codecs.extend(match text(request, "codec")? {
        "none" => None,
        "zstd" => Some(json!({"name": "zstd", "configuration": {"level": 3, "checksum": false}})),
        "gzip" => Some(json!({"name": "gzip", "configuration": {"level": 6}})),
        "lz4" => Some(blosc("lz4", 9, "noshuffle")),
        // Blosc's level 2 is level 3 of zstd.
        "byteshuffle" => Some(blosc("zstd", 2, "shuffle")),
        other => return Err(format!("unknown codec {other:?}").into()),
    });
    let inner = request.get("inner").filter(|inner| !inner.is_null());
    let codecs = match inner {
        Some(inner) => vec![json!({"name": "sharding_indexed", "configuration": {
            "chunk_shape": inner, "codecs": codecs, "index_codecs": [little, {"name": "crc32c"}], "index_location": "end",
        }})],
        None => codecs,
    };
    let (shape, chunks) = (list(request, "shape")?, list(request, "chunks")?);
    Ok(json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind, "fill_value": 0, "codecs": codecs,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    }))
}
