//! The destination of an exported file: a new name, which it gets once it is complete, or standard
//! output.

use std::io::Write;
use std::path::Path;

use tdb_arrow::arrow_schema::SchemaRef;
use tdb_convert::{BatchSink, Error, Format, SinkOptions, sink};

use crate::failure::{Failure, Result};
use crate::new_file::{NewFile, NewName};
use crate::output::Out;
use crate::piped::Piped;
use crate::place::is_url;

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
    File(NewName),
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
        NewName::new(path, force).map(Self::File)
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
            Self::File(name) => {
                let mut file = name.begin()?;
                let cells = whole(&mut file, kind, fill).map_err(failed)?;
                file.finish()?;
                Ok(cells)
            }
        }
    }
}

/// Writes a file from its beginning to its end.
fn whole(
    file: &mut NewFile,
    Kind { format, schema, options }: Kind<'_>,
    fill: impl FnOnce(&mut dyn BatchSink) -> tdb_convert::Result<u64>,
) -> tdb_convert::Result<u64> {
    let mut sink = sink(format, file, schema, options)?;
    let cells = fill(&mut *sink)?;
    sink.finish()?;
    Ok(cells)
}
