//! A child process imports folders that are larger than the memory that it is given, or that say
//! so; its resident memory, as the system counts it, grows by less than that memory.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests: a panic is a failure")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::{env, fs, io};

use serde_json::{Value, json};
use tdb_array::WriteOptions;
use tdb_array::storage::{Durability, LocalStorage, WriteStorage};
use tdb_zarr_files::{ImportOptions, import};

const MIB: u64 = 1 << 20;

/// The bytes in a line of this process's status.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

/// Runs in the child: imports a folder, and prints what that took.
#[test]
fn child() {
    let Ok(folder) = env::var("TDB_ZARR_FOLDER").map(PathBuf::from) else { return };
    let memory: u64 = env::var("TDB_ZARR_MEMORY").unwrap().parse().unwrap();
    let target = folder.with_extension("array");
    let place = |path: &str| -> io::Result<Arc<dyn WriteStorage>> {
        Ok(Arc::new(LocalStorage::new(if path.is_empty() { target.clone() } else { target.join(path) })))
    };
    let write = WriteOptions::new().durability(Durability::Buffered);
    let options = ImportOptions::new().memory(memory).threads(8).write(write);
    // Resets the peak, if the system allows it; otherwise the test is only stricter.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (before, code) = (status("VmRSS"), status("RssFile"));
    let found = match import(&folder, &place, &options) {
        Ok(imported) => format!("{} cells", imported.cells),
        Err(error) => error.to_string(),
    };
    let code = status("RssFile").saturating_sub(code);
    println!("measured {} {found}", status("VmHWM").saturating_sub(before + code));
}

/// What an import of a folder says that has so much memory, which it must not exceed.
fn within(memory: u64, folder: &Path) -> String {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env("TDB_ZARR_FOLDER", folder)
        .env("TDB_ZARR_MEMORY", memory.to_string())
        .output()
        .unwrap();
    let out = String::from_utf8(child.stdout).unwrap();
    let found = out.lines().find_map(|line| line.split("measured ").nth(1));
    let Some(found) = found else { panic!("{out}\n{}", String::from_utf8_lossy(&child.stderr)) };
    let (grown, found) = found.split_once(' ').unwrap();
    let grown: u64 = grown.parse().unwrap();
    let name = folder.file_name().unwrap().to_string_lossy();
    println!("{name}: {} of {} MiB: {found}", grown / MIB, memory / MIB);
    assert!(grown < memory, "{name}: {} of {} MiB: {found}", grown / MIB, memory / MIB);
    found.to_owned()
}

/// An empty folder of this name.
fn scratch(name: &str) -> PathBuf {
    let path = env::temp_dir().join(format!("tdb-zarr-memory-{name}-{}", std::process::id())).join(name);
    let _ = fs::remove_dir_all(&path);
    fs::create_dir_all(&path).unwrap();
    path
}

fn document(folder: &Path, shape: &Value, chunk: &Value, kind: &str, codecs: &Value) {
    let fill = if kind == "string" { json!("") } else { json!(0) };
    let document = json!({
        "zarr_format": 3, "node_type": "array", "shape": shape, "data_type": kind, "fill_value": fill,
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}}, "codecs": codecs,
    });
    fs::write(folder.join("zarr.json"), document.to_string()).unwrap();
}

fn gone(folder: &Path) {
    fs::remove_dir_all(folder.parent().unwrap()).unwrap();
}

#[test]
fn threads_share_the_memory_of_chunks() {
    let folder = scratch("numbers.zarr");
    let codecs = json!(["bytes", {"name": "gzip", "configuration": {"level": 1}}]);
    document(&folder, &json!([256, 256, 256]), &json!([32, 64, 64]), "int32", &codecs);
    let mut noise = 1u32;
    for number in 0..8 * 4 * 4 {
        let cells = (0..32 * 64 * 64u32).flat_map(|at| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (noise >> 16 ^ at).to_le_bytes()
        });
        let cells: Vec<u8> = cells.collect();
        let mut stored = Vec::new();
        let level = flate2::Compression::fast();
        io::Read::read_to_end(&mut flate2::read::GzEncoder::new(&cells[..], level), &mut stored).unwrap();
        let (z, y, x) = (number / 16, number / 4 % 4, number % 4);
        fs::write(folder.join(format!("c.{z}.{y}.{x}")), stored).unwrap();
    }
    assert_eq!(within(32 * MIB, &folder), "16777216 cells");
    gone(&folder);
}

#[test]
fn texts_that_decompress_to_much_more_are_refused_within_the_memory() {
    let folder = scratch("bombs.zarr");
    let codecs = json!(["vlen-utf8", {"name": "zstd", "configuration": {"level": 3}}]);
    document(&folder, &json!([1, 64]), &json!([1, 1]), "string", &codecs);
    let len = 7_900_000u32;
    let chunk = [&1u32.to_le_bytes()[..], &len.to_le_bytes(), &vec![b'a'; usize::try_from(len).unwrap()]];
    let stored = zstd::bulk::compress(&chunk.concat(), 3).unwrap();
    for number in 0..64 {
        fs::write(folder.join(format!("c.0.{number}")), &stored).unwrap();
    }
    let found = within(48 * MIB, &folder);
    assert!(found.contains("the texts of a row of chunks"), "{found}");
    gone(&folder);
}

#[test]
fn codecs_that_widen_values_count_as_the_widest() {
    let folder = scratch("wide.zarr");
    let delta = json!({"name": "numcodecs.delta", "configuration": {"dtype": "|i1", "astype": "<i8"}});
    let codecs = json!([delta, "bytes", {"name": "zstd", "configuration": {"level": 3}}]);
    let cells = 8_000_000usize;
    document(&folder, &json!([cells]), &json!([cells]), "int8", &codecs);
    fs::write(folder.join("c.0"), zstd::bulk::compress(&vec![0; cells * 8], 3).unwrap()).unwrap();
    let found = within(48 * MIB, &folder);
    assert!(found.contains("a chunk needs 64000000 bytes of memory, and 8388608 are allowed"), "{found}");
    gone(&folder);
}

#[test]
fn a_row_of_many_chunks_is_no_list_of_their_places() {
    let folder = scratch("places.zarr");
    document(&folder, &json!([1, 400_000]), &json!([1, 1]), "string", &json!(["vlen-utf8"]));
    fs::write(folder.join("c.0.7"), [&1u32.to_le_bytes()[..], &1u32.to_le_bytes(), b"x"].concat()).unwrap();
    assert_eq!(within(16 * MIB, &folder), "400000 cells");
    gone(&folder);
}
