//! The destination of an exported file: a new name, which it gets once it is complete, or standard
//! output.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use tdb_arrow::arrow_schema::SchemaRef;
use tdb_convert::{BatchSink, Error, Format, SinkOptions, sink};

use crate::failure::{Failure, Result};
use crate::output::Out;
use crate::piped::Piped;
use crate::place::is_url;
use crate::temporary::Temporary;

/// The name of standard output on the command line.
const STANDARD_OUTPUT: &str = "-";

/// Whether a path means standard output.
pub(super) fn is_standard_output(path: &Path) -> bool {
    path == Path::new(STANDARD_OUTPUT)
}

/// The destination of a file.
#[derive(Debug)]
pub(super) enum Destination {
    StandardOutput,
    /// A device or a pipe, which cannot be replaced.
    Special(PathBuf),
    /// A file that is not there, or may be replaced.
    File {
        /// The name on the command line, which may be that of a link.
        shown: PathBuf,
        path: PathBuf,
        force: bool,
    },
}

/// The format of a file, its columns and options.
#[derive(Clone, Copy)]
pub(super) struct Kind<'a> {
    pub(super) format: Format,
    pub(super) schema: &'a SchemaRef,
    pub(super) options: &'a SinkOptions,
}

impl Destination {
    /// The destination of this name. Nothing is written yet.
    pub(super) fn new(path: &Path, force: bool, is_terminal: bool) -> Result<Self> {
        let usage = |what: &str| Err(Failure::Usage(format!("{}: {what}", path.display())));
        if is_standard_output(path) {
            return if is_terminal {
                usage("standard output is a terminal")
            } else {
                Ok(Self::StandardOutput)
            };
        }
        if is_url(path) {
            return usage("files are written to local folders only, and to standard output (-)");
        }
        let file = |path: PathBuf, shown: &Path| Self::File { shown: shown.to_owned(), path, force };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(Failure::at(path, "this is a folder")),
            Ok(found) if !found.is_file() => Ok(Self::Special(path.to_owned())),
            Ok(_) if !force => Err(exists(path)),
            // A link stays, and what it leads to is replaced.
            Ok(_) => match path.canonicalize() {
                Ok(target) => Ok(file(target, path)),
                Err(error) => Err(Failure::at(path, error)),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(file(path.to_owned(), path)),
            Err(error) => Err(Failure::at(path, error)),
        }
    }

    /// Writes a file, whose batches come from `fill`; returns their number of cells. `failed` makes
    /// failures of errors.
    pub(super) fn write(
        self,
        kind: Kind<'_>,
        out: &mut dyn Write,
        fill: impl FnOnce(&mut dyn BatchSink) -> tdb_convert::Result<u64>,
        failed: impl Fn(Error) -> Failure,
    ) -> Result<u64> {
        match self {
            Self::StandardOutput => {
                let out = Out { out, path: None };
                let mut piped = Piped::new(kind.format, out, kind.schema, kind.options).map_err(&failed)?;
                let done = fill(&mut piped).and_then(|cells| piped.end().map(|()| cells));
                done.map_err(|error| piped.failure().unwrap_or_else(|| failed(error)))
            }
            Self::Special(path) => {
                let file = File::options().write(true).open(&path);
                whole(&file.map_err(|error| Failure::at(&path, error))?, kind, fill).map_err(failed)
            }
            Self::File { shown, path, force } => {
                let at = |error| Failure::at(&shown, error);
                let new = Temporary::beside(&path).map_err(at)?;
                let cells = whole(&new.file, kind, fill).map_err(failed)?;
                // Another process may have made it meanwhile.
                if !force && path.try_exists().map_err(at)? {
                    return Err(exists(&shown));
                }
                new.replace(&path).map_err(at)?;
                Ok(cells)
            }
        }
    }
}

/// Writes a file from its beginning to its end.
fn whole(
    file: &File,
    Kind { format, schema, options }: Kind<'_>,
    fill: impl FnOnce(&mut dyn BatchSink) -> tdb_convert::Result<u64>,
) -> tdb_convert::Result<u64> {
    let mut sink = sink(format, BufWriter::new(file), schema, options)?;
    let cells = fill(&mut *sink)?;
    sink.finish()?;
    Ok(cells)
}

fn exists(path: &Path) -> Failure {
    Failure::at(path, "there is a file here already; --force replaces it")
}
