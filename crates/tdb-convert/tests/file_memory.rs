//! A child process exports and imports an array several times as large as the memory that it is
//! given; its resident memory, as the system counts it, grows by less than that memory.
#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failure"
)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::Durability;
use tdb_array::{Array, MemoryBudget, WriteColumn, WriteOptions};
use tdb_arrow::Options;
use tdb_convert::{Export, Format, NewArray, SinkOptions, Source, Subarray, append};

const MIB: u64 = 1 << 20;
/// What reading and writing may hold together.
const MEMORY: u64 = 48 * MIB;
const CELLS: u64 = 14_400_000;

/// The bytes in a line of this process's status.
fn status(name: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}

fn options() -> WriteOptions {
    WriteOptions::new().durability(Durability::Buffered).threads(2)
}

/// An array of numbers that do not compress, with text.
fn make(path: &Path, kind: ArrayType) {
    let x = Dimension::new("x", 0..=i64::try_from(CELLS).unwrap() - 1).with_tile(100_000i64);
    let builder = if kind == ArrayType::Dense { ArraySchema::dense() } else { ArraySchema::sparse() };
    let schema = builder
        .dimension(x)
        .attribute(Attribute::new("a", Datatype::Float64, CellValNum::ONE))
        .attribute(Attribute::new("t", Datatype::StringUtf8, CellValNum::Var));
    let schema = schema.build().unwrap();
    options().create(path, &schema).unwrap();
    let writer = options().open(path).unwrap();
    let numbers =
        |first: u64, count: u64| (first..first + count).map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let step = CELLS / 24;
    for first in (0..CELLS).step_by(usize::try_from(step).unwrap()) {
        let a: Vec<f64> = numbers(first, step).map(|bits| (bits >> 12) as f64).collect();
        let x: Vec<i64> = (first..first + step).map(|at| i64::try_from(at).unwrap()).collect();
        let t: String = numbers(first, step).map(|bits| format!("{:08}", bits >> 40)).collect();
        let offsets: Vec<u64> = (0..=step).map(|at| at * 8).collect();
        let write = writer.write().column(WriteColumn::fixed("a", &a));
        let write = write.column(WriteColumn::var("t", t.as_bytes(), &offsets));
        let write = match kind {
            ArrayType::Dense => write.range("x", x[0]..=x[x.len() - 1]),
            ArrayType::Sparse => write.column(WriteColumn::fixed("x", &x)),
        };
        write.commit().unwrap();
    }
}

/// Runs in the child: exports or imports, and prints what that took.
#[test]
fn child() {
    let Ok(work) = env::var("TDB_CONVERT_WORK") else { return };
    let (array, file) =
        (env::var("TDB_CONVERT_ARRAY").unwrap(), PathBuf::from(env::var("TDB_CONVERT_FILE").unwrap()));
    let format = Format::of_ending(file.extension().unwrap().to_str().unwrap()).unwrap();
    // Resets the peak, if the system allows it; otherwise the test is only stricter.
    let _ = fs::write("/proc/self/clear_refs", "5");
    let (before, code) = (status("VmRSS"), status("RssFile"));
    let cells =
        if work == "export" { exported(&array, &file, format) } else { imported(&array, &file, format) };
    let code = status("RssFile").saturating_sub(code);
    println!("measured {cells} {}", status("VmHWM").saturating_sub(before + code));
}

fn exported(array: &str, file: &Path, format: Format) -> u64 {
    let array = tdb_array::OpenOptions::new().threads(2).open(array).unwrap();
    let part = Subarray::written(&array);
    let all = |array: &Array| array.read().fields(["x", "a", "t"]);
    let read = part.as_ref().map_or_else(|| all(&array), |part| part.read(&array));
    let read =
        read.memory(MemoryBudget::from_bytes(MEMORY / 2)).batch_memory(MemoryBudget::from_bytes(MEMORY / 8));
    let sink = SinkOptions::new().row_group(usize::try_from(MEMORY / 8).unwrap());
    let export = Export::new(read, part.as_ref(), Options::new()).unwrap();
    export.write(format, File::create(file).unwrap(), &sink).unwrap()
}

fn imported(array: &str, file: &Path, format: Format) -> u64 {
    let mut source = Source::open(format, File::open(file).unwrap(), "file", MEMORY / 2).unwrap();
    let new = NewArray::stored(source.schema()).unwrap();
    let begun = new.create(options()).begin(array, new.schema()).unwrap();
    let memory = usize::try_from(MEMORY / 2).unwrap();
    let cells = append(begun.writer(), &new.mapping().unwrap(), &mut source, new.subarray(), memory).unwrap();
    begun.finish().unwrap();
    cells
}

fn in_child(work: &str, array: &Path, file: &Path) {
    let child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture", "--test-threads=1"])
        .env("TDB_CONVERT_WORK", work)
        .env("TDB_CONVERT_ARRAY", array)
        .env("TDB_CONVERT_FILE", file)
        .output()
        .unwrap();
    let out = String::from_utf8(child.stdout).unwrap();
    let found = out.lines().find_map(|line| line.split("measured ").nth(1));
    let Some(found) = found else { panic!("{out}\n{}", String::from_utf8_lossy(&child.stderr)) };
    let (cells, grown) = found.split_once(' ').unwrap();
    let grown: u64 = grown.parse().unwrap();
    let what = file.extension().unwrap().to_string_lossy();
    println!("{work} {what} of {}: {} MiB", array.file_name().unwrap().to_string_lossy(), grown / MIB);
    assert_eq!(cells.parse(), Ok(CELLS));
    assert!(grown < MEMORY, "{work} {what}: {} of {} MiB", grown / MIB, MEMORY / MIB);
}

#[test]
fn files_are_written_and_read_in_bounded_memory() {
    let folder = env::temp_dir().join(format!("tdb-convert-memory-{}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    for (kind, name) in [(ArrayType::Dense, "dense"), (ArrayType::Sparse, "sparse")] {
        let array = folder.join(name);
        make(&array, kind);
        for format in [Format::Parquet, Format::Arrow] {
            let file = folder.join(format!("{name}.{}", format.name()));
            in_child("export", &array, &file);
            let bytes = fs::metadata(&file).unwrap().len();
            assert!(bytes > 3 * MEMORY, "the file has only {} MiB", bytes / MIB);
            in_child("import", &folder.join(format!("{name}-{}", format.name())), &file);
            fs::remove_file(&file).unwrap();
            fs::remove_dir_all(folder.join(format!("{name}-{}", format.name()))).unwrap();
        }
        fs::remove_dir_all(&array).unwrap();
    }
    fs::remove_dir_all(&folder).unwrap();
}
