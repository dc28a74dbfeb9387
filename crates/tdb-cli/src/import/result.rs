//! The rows of a result as the source of an import: `COPY … TO 'folder' STORED AS TILEDB`.

use core::sync::atomic::{AtomicBool, Ordering};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser;
use serde_json::Value;
use tdb_array::MemoryBudget;
use tdb_arrow::arrow_array::RecordBatch;
use tdb_text::suggest::hint;

use super::args::ImportArgs;
use super::format::FileFormat;
use super::input::Input;
use crate::failure::{Failure, Result, one_line};
use crate::place::Stores;
use crate::temporary::Reader;

/// The name of the rows in messages.
const NAME: &str = "the query";

/// The options of `tdb import` that rows with types have a use for.
const OPTIONS: [&str; 15] = [
    "dims",
    "types",
    "dense",
    "domain",
    "duplicates",
    "allow_duplicates",
    "codes",
    "extend_enumerations",
    "columns",
    "drop",
    "force",
    "overwrite",
    "time",
    "memory",
    "without_lock",
];

/// Those that are there or not.
const SWITCHES: [&str; 7] =
    ["dense", "allow_duplicates", "codes", "extend_enumerations", "force", "overwrite", "without_lock"];

/// The command line of such an import.
#[derive(Debug, Parser)]
#[command(name = "COPY")]
struct Copy {
    #[command(flatten)]
    import: ImportArgs,
}

/// An import of rows that are computed later.
#[derive(Debug)]
pub(crate) struct ResultImport(ImportArgs);

impl ResultImport {
    /// An import into an array, with options by name. `memory` and `key_file` hold if the options
    /// have no others.
    pub(crate) fn new(
        array: &str,
        options: &[(String, String)],
        memory: Option<MemoryBudget>,
        key_file: Option<PathBuf>,
    ) -> Result<Self> {
        let mut line = vec!["COPY".to_owned(), "--json".to_owned(), "--no-progress".to_owned()];
        for (name, value) in options {
            let known = name.to_ascii_lowercase().replace('-', "_");
            let Some(option) = OPTIONS.into_iter().find(|option| *option == known) else {
                let all = OPTIONS.join(", ");
                let hint = hint(&known, OPTIONS);
                return Err(Failure::Usage(format!(
                    "{name} is not an option of an array: COPY … STORED AS TILEDB has {all}{hint}"
                )));
            };
            let flag = option.replace('_', "-");
            match value.to_ascii_lowercase().as_str() {
                _ if !SWITCHES.contains(&option) => line.push(format!("--{flag}={value}")),
                "true" => line.push(format!("--{flag}")),
                "false" => {}
                _ => return Err(Failure::Usage(format!("{name} must be true or false, not {value}"))),
            }
        }
        let copied = Copy::try_parse_from(line.into_iter().chain(["--", array, NAME].map(str::to_owned)));
        let mut import = copied.map_err(|error| Failure::Usage(said(&error)))?.import;
        import.format = Some(FileFormat::Arrows);
        import.memory = import.memory.or(memory);
        import.change.key.key_file = key_file;
        Ok(Self(import))
    }

    /// Writes the rows, an Arrow stream, into the array: all of them or none. Notes go to `err`.
    pub(crate) fn run(self, rows: ResultFile, stores: &Stores, err: &mut dyn io::Write) -> Result<Copied> {
        let Self(import) = self;
        import.rows.set(rows).map_err(|_| Failure::internal("an import has one result"))?;
        let mut out = Vec::new();
        super::run(&import, stores, &mut out, err)?;
        let report: Value =
            serde_json::from_slice(&out).map_err(|error| Failure::Fault(error.to_string()))?;
        let number = |name: &str| report.get(name).and_then(Value::as_u64).unwrap_or(0);
        Ok(Copied { rows: number("cells"), left_out: number("left_out") })
    }
}

/// What an import has done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Copied {
    /// The rows that were written.
    pub(crate) rows: u64,
    /// Those that were left out, because others have the same coordinates.
    pub(crate) left_out: u64,
}

/// A result in a temporary file.
#[derive(Clone, Debug)]
pub(crate) struct ResultFile {
    file: Arc<File>,
    /// The dictionaries of the columns that have some.
    dictionaries: RecordBatch,
    stopped: Arc<AtomicBool>,
}

impl ResultFile {
    /// A file whose import fails as soon as `stopped` is set. Its cells are values; those of the
    /// columns of `dictionaries` are in these.
    pub(crate) fn new(file: File, dictionaries: RecordBatch, stopped: Arc<AtomicBool>) -> Self {
        Self { file: Arc::new(file), dictionaries, stopped }
    }

    pub(super) fn input(&self) -> Input {
        Input::Result(self.clone())
    }

    pub(super) fn reader(&self) -> ResultReader {
        ResultReader { reader: Reader::new(self.file.clone()), stopped: self.stopped.clone() }
    }
}

/// Reads a result from its beginning.
pub(super) struct ResultReader {
    reader: Reader,
    stopped: Arc<AtomicBool>,
}

impl Read for ResultReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.stopped.load(Ordering::Acquire) {
            return Err(io::Error::other("interrupted"));
        }
        self.reader.read(out)
    }
}

impl Seek for ResultReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.reader.seek(to)
    }
}

impl ImportArgs {
    /// The dictionaries of the rows that take the place of files; none if there are no columns that
    /// have one.
    pub(super) fn dictionaries(&self) -> Option<&RecordBatch> {
        self.rows.get().map(|rows| &rows.dictionaries).filter(|batch| batch.num_columns() > 0)
    }

    /// The rows that take the place of files.
    pub(super) fn result(&self, file: &Path) -> Option<Input> {
        self.rows.get().filter(|_| file == Path::new(NAME)).map(ResultFile::input)
    }
}

/// What clap says about a word, without its advice on the command line.
fn said(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let first = first.strip_prefix("error: ").unwrap_or(first);
    one_line(&first.lines().map(str::trim).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &[(&str, &str)]) -> Result<ResultImport> {
        let options: Vec<_> =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        ResultImport::new("-a", &options, Some(MemoryBudget::from_bytes(64 << 20)), None)
    }

    #[test]
    fn a_copy_that_is_stopped_reads_no_further() {
        use std::io::Write;

        let mut file = crate::temporary::unnamed().unwrap();
        file.write_all(b"0123456789").unwrap();
        let stopped = Arc::new(AtomicBool::new(false));
        let none = RecordBatch::new_empty(Arc::new(tdb_arrow::arrow_schema::Schema::empty()));
        let rows = ResultFile::new(file, none, stopped.clone());
        let (mut reader, mut start) = (rows.reader(), [0; 3]);
        reader.read_exact(&mut start).unwrap();
        assert_eq!(&start, b"012");
        stopped.store(true, Ordering::Release);
        assert!(reader.read(&mut start).is_err() && rows.reader().read(&mut start).is_err());
    }

    #[test]
    fn options_are_those_of_an_import() {
        let ResultImport(args) =
            of(&[("DIMS", "a,b"), ("force", "TRUE"), ("codes", "false"), ("domain", "a=-1..9")]).unwrap();
        assert_eq!((args.dims.as_deref(), args.force, args.codes), (Some("a,b"), true, false));
        assert_eq!((args.array.as_path(), args.domain), (Path::new("-a"), vec!["a=-1..9".to_owned()]));
        assert_eq!(args.memory.map(MemoryBudget::bytes), Some(64 << 20));
        let ResultImport(args) = of(&[("memory", "1GiB")]).unwrap();
        assert_eq!(args.memory.map(MemoryBudget::bytes), Some(1 << 30));
        for (options, part) in [
            (&[("dim", "a")][..], "did you mean"),
            (&[("delimiter", ";")], "delimiter is not an option"),
            (&[("force", "maybe")], "force must be true or false"),
            (&[("duplicates", "some")], "first"),
            (&[("dims", "a"), ("dense", "true")], "--dense"),
        ] {
            let refused = of(options).unwrap_err();
            assert!(matches!(&refused, Failure::Usage(line) if line.contains(part)), "{refused:?}");
        }
    }
}
