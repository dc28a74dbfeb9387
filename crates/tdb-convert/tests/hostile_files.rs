//! Files that end early, and files with other bytes: an error, or other cells, but never a panic,
//! and never more memory than the file and the limit allow.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failure"
)]

#[path = "../../tdb-arrow/tests/arrow/common.rs"]
mod common;

use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use common::{fixture, whole};
use tdb_arrow::Options;
use tdb_convert::{Compression, Error, Export, FileProblem, Format, NewArray, SinkOptions, Source, Subarray};

const MEMORY: u64 = 16 << 20;

/// Arrays with text, nulls, lists, an enumeration, dates.
const ARRAYS: [&str; 5] =
    ["base_nullable_sparse", "enumeration", "attr_var_numeric", "attr_multi", "base_dense"];

fn file(name: &str, format: Format, compression: Compression) -> Vec<u8> {
    let array = fixture(name);
    let part = Subarray::written(&array);
    let read = part.as_ref().map(|part| part.read(&array)).or_else(|| whole(&array)).unwrap();
    let mut file = Vec::new();
    let options = SinkOptions::new().compression(compression);
    Export::new(read, part.as_ref(), Options::new()).unwrap().write(format, &mut file, &options).unwrap();
    file
}

/// Reads a file to its end, and makes the schema of an array of it. The panics of decoders are
/// errors and print nothing.
fn read(format: Format, file: &[u8]) -> Result<usize, Error> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let own = info.location().is_some_and(|place| place.file().contains("tdb-"));
            if own {
                usual(info);
            }
        }));
    });
    let source = Source::open(format, Cursor::new(file.to_vec()), "file", MEMORY)?;
    let new = NewArray::stored(source.schema())?;
    let mapping = new.mapping();
    let mut rows = 0;
    for batch in source {
        let batch = batch?;
        if let Ok(mapping) = &mapping {
            let _ = mapping.write_batch(&batch);
        }
        rows += batch.num_rows();
    }
    Ok(rows)
}

fn without_panic(format: Format, file: &[u8], what: &str) -> Result<usize, Error> {
    catch_unwind(AssertUnwindSafe(|| read(format, file))).unwrap_or_else(|_| panic!("{what}: a panic"))
}

fn kinds() -> impl Iterator<Item = (Format, Compression)> {
    let plain = Format::ALL.into_iter().map(|format| (format, Compression::Usual));
    plain.chain([
        (Format::Arrow, Compression::Zstd),
        (Format::ArrowStream, Compression::Lz4),
        (Format::Parquet, Compression::None),
    ])
}

#[test]
fn a_file_that_ends_early_is_an_error_wherever_it_ends() {
    for (format, compression) in kinds() {
        for name in ARRAYS {
            let file = file(name, format, compression);
            assert!(read(format, &file).unwrap() > 0, "{name}, {format:?}");
            let last = file.len() - 1;
            for end in (0..file.len()).step_by(64).chain([last]) {
                let what = format!("{name}, {format:?} {compression:?}, {end} of {} bytes", file.len());
                let error = without_panic(format, &file[..end], &what).err();
                assert!(
                    error.is_some_and(|error| error.to_string().starts_with("file: ")),
                    "{what}: no error"
                );
            }
        }
    }
}

#[test]
fn a_file_with_other_bytes_is_an_error_or_has_other_cells() {
    let (mut errors, mut read) = (0, 0);
    for (format, compression) in kinds() {
        for name in ARRAYS {
            let file = file(name, format, compression);
            for at in (0..file.len()).step_by(29) {
                let mut changed = file.clone();
                changed[at] ^= 1 << (at % 8);
                let what = format!("{name}, {format:?} {compression:?}, byte {at}");
                match without_panic(format, &changed, &what) {
                    Ok(_) => read += 1,
                    Err(_) => errors += 1,
                }
                changed[at] = 0xff;
                let _ = without_panic(format, &changed, &what);
            }
        }
    }
    println!("{errors} errors, {read} were read");
    assert!(errors > 1000 && read > 0);
}

#[test]
fn bytes_of_another_format_are_named() {
    for format in Format::ALL {
        for bytes in [&b""[..], b"a,b\n1,2\n", &[0; 100]] {
            let error = Source::open(format, Cursor::new(bytes.to_vec()), "table.csv", MEMORY).unwrap_err();
            assert!(error.to_string().starts_with("table.csv: "), "{error}");
        }
    }
    let error = Source::open(Format::Parquet, Cursor::new(b"a,b\n".to_vec()), "x", MEMORY).unwrap_err();
    assert!(matches!(error, Error::File { problem: FileProblem::OtherFormat("Parquet"), .. }), "{error}");
}

#[test]
fn sizes_that_a_message_only_states_are_compared_with_the_memory() {
    let stated = |bytes: u32| {
        let mut stream = vec![0xff; 4];
        stream.extend(bytes.to_le_bytes());
        Source::stream(Cursor::new(stream), "x", MEMORY).unwrap_err()
    };
    assert!(matches!(stated(u32::MAX), Error::File { problem: FileProblem::Damaged(_), .. }));
    assert!(matches!(stated(1 << 20), Error::File { problem: FileProblem::Truncated(_), .. }));
    let file = file("base_nullable_sparse", Format::ArrowStream, Compression::Usual);
    let mut source = Source::open(Format::ArrowStream, Cursor::new(file), "x", 64).unwrap();
    let error = source.next().unwrap().unwrap_err();
    assert!(
        matches!(error, Error::File { problem: FileProblem::TooLarge { memory: 64, .. }, .. }),
        "{error}"
    );
    assert!(source.next().is_none(), "nothing comes after an error");
}

/// A disk that is full after some bytes.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = self.0.min(bytes.len());
        self.0 -= room;
        if room == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(room) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_an_error_of_the_output() {
    let array = fixture("base_sparse");
    for format in Format::ALL {
        for room in [0, 10, 300] {
            let export = Export::new(whole(&array).unwrap(), None, Options::new()).unwrap();
            let error = export.write(format, Full(room), &SinkOptions::new()).unwrap_err();
            assert!(matches!(error, Error::Output(_)), "{format:?}: {error}");
        }
    }
}

/// A file that cannot be read from some byte on.
struct Broken(Cursor<Vec<u8>>, u64);

impl Read for Broken {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.1.saturating_sub(self.0.position())).unwrap();
        let end = left.min(into.len());
        if end == 0 && !into.is_empty() {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        self.0.read(&mut into[..end])
    }
}

impl Seek for Broken {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

#[test]
fn an_error_of_the_disk_in_the_middle_of_a_stream_is_an_error_of_the_file() {
    let file = file("base_sparse", Format::ArrowStream, Compression::Usual);
    let half = file.len() as u64 / 2;
    let source = Source::stream(Broken(Cursor::new(file), half), "x", MEMORY);
    let error = source.and_then(|mut source| source.try_for_each(|batch| batch.map(drop))).unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}
