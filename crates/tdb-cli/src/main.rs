//! The `tdb` command. Everything it does is in the library, where tests can call it.
#![forbid(unsafe_code)]

use std::io::{self, BufWriter};
use std::process::ExitCode;

fn main() -> ExitCode {
    let screen = tdb_cli::Screen::of_output();
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    // Not locked: progress is written from another thread, too.
    ExitCode::from(tdb_cli::run_on(screen, std::env::args_os(), &mut out, &mut io::stderr()))
}
