//! The command `tdb`, which the wheel has, too.

use std::ffi::OsString;
use std::io::{self, BufWriter};

use pyo3::prelude::*;

/// Runs the command with these arguments, the first of which is its name, and returns its exit
/// code.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    py.detach(|| {
        let screen = tdb_cli::Screen::of_output();
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        // Not locked: progress is written from another thread, too.
        tdb_cli::run_on(screen, arguments, &mut out, &mut io::stderr())
    })
}
