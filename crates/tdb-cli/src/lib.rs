//! The `tdb` command: shows, reads, writes and maintains TileDB arrays without libtiledb.
//!
//! ```text
//! tdb info ARRAY      properties of an array: schema, fragments, metadata; with `--all`, a tree
//! tdb read ARRAY      its cells: as a table, CSV, JSON, or plain little-endian buffers
//! tdb show ARRAY      a picture of them: on the terminal, as SVG or PNG
//! tdb explain ARRAY   what a query would read, and what it can skip
//! tdb sql QUERY       an answer from arrays, in SQL (with the feature `sql`)
//! tdb soma            experiments of single cells: shown, checked, made of Matrix Market
//! tdb cluster         runs a process of a cluster that answers SQL (with the feature `cluster`)
//! tdb dump FILE       one file of an array, byte by byte
//! tdb verify ARRAY    checks every structure, chunk and checksum
//! tdb group GROUP     members of a group, and their members
//! tdb meta OBJECT     key-value metadata of an array or a group
//! tdb log ARRAY       history of an array
//! tdb fragments ARRAY its fragments in time, and where their cells are
//! tdb create ARRAY    creates an array from a schema in JSON
//! tdb write ARRAY     writes cells from plain little-endian buffers
//! tdb import ARRAY    writes cells from CSV, TSV, NDJSON, NPY, Parquet or Arrow files
//! tdb export ARRAY    writes cells to a Parquet or Arrow file (with the feature `convert`)
//! tdb copy SRC DST    copies with other filters, another version, or a part
//! tdb delete ARRAY    deletes cells that satisfy a condition
//! tdb evolve ARRAY    changes attributes, enumerations, current domain and version
//! tdb consolidate     combines many files into few
//! tdb vacuum          removes replaced files
//! tdb publish OBJECT  writes the manifest that plain web servers need
//! tdb serve OBJECT    shows an array or a group over HTTP on this machine: its files, and as Zarr
//! tdb view OBJECT     shows an array or a group in a browser
//! tdb ls, rm, mv      arrays and groups in folders: listed, removed, renamed
//! tdb browse PLACE    arrays, groups and folders on a terminal (with the feature `browse`)
//! tdb completions     prints a script that completes commands in a shell
//! tdb man DIR         writes manual pages
//! ```
//!
//! Each takes `-v`, which tells on standard error what is read and written, call by call.
//!
//! Data goes to standard output, everything else to standard error; the exit code is 0, 1
//! (failure), 2 (the command line is wrong) or 70 (a fault of tdb itself, which you should report).
//! [`run`] is the whole command as a function:
//!
//! ```
//! let (mut out, mut err) = (Vec::new(), Vec::new());
//! assert_eq!(tdb_cli::run(["tdb", "info", "/no/such/array"], &mut out, &mut err), 1);
//! assert!(String::from_utf8_lossy(&err).starts_with("error: /no/such/array: "));
//! assert!(out.is_empty());
//! ```
//!
//! This crate knows nothing that the public interfaces of the crates below do not provide. It
//! contains no byte layouts: `tdb dump` prints the fields that the ordinary parsers record while
//! they read.
#![forbid(unsafe_code)]

mod args;
mod bounds;
mod browse;
mod buffers;
mod cluster;
mod command;
mod compress;
mod condition;
mod copy;
mod count;
mod create;
mod delete;
mod dump;
mod evolve;
mod explain;
mod export;
mod failure;
mod features;
mod fragments;
mod group;
mod head_tail;
mod import;
mod info;
mod log;
mod maintain;
mod meta;
mod names;
mod new_file;
mod notes;
mod objects;
mod output;
#[cfg(feature = "convert")]
mod piped;
mod place;
mod progress;
mod publish;
mod ranges;
mod read;
mod screen;
mod serve;
mod sheet;
mod shell;
mod show;
mod soma;
mod sql;
mod store_error;
mod suggest;
mod table;
mod temporary;
mod thresholds;
mod trace;
mod tree;
mod verify;
mod viewer;
mod write;

use std::ffi::OsString;
use std::io::Write;

use clap::{CommandFactory, Parser};

use crate::command::{Args, Command};
use crate::failure::Failure;
use crate::place::Stores;

pub use crate::screen::Screen;
#[cfg(feature = "sql")]
#[doc(hidden)]
pub use crate::sql::library::{Look, SqlAnswer, SqlError, SqlErrorKind, SqlRows, SqlSession};

/// The storages that a command line can refer to, with a cache if the command may use one.
fn stores(args: &Args) -> Result<Stores, Failure> {
    args.verbose.begin();
    let stores = Stores::new(&args.stores)?.traced(args.verbose.is_on());
    Ok(if args.command.only_shows() { stores } else { stores.uncached() })
}

/// Runs the command with these arguments (the first one is the program's name) and returns its exit
/// code.
pub fn run<A: Into<OsString> + Clone>(
    args: impl IntoIterator<Item = A>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    run_on(None, args, out, err)
}

/// Runs the command as [`run`] does. If `out` is a terminal, `tdb read` prints what fits it.
pub fn run_on<A: Into<OsString> + Clone>(
    screen: Option<Screen>,
    args: impl IntoIterator<Item = A>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> u8 {
    let result = match Args::try_parse_from(args) {
        Ok(args) => stores(&args).and_then(|stores| match args.command {
            Command::Info(args) => info::run(&args, &stores, screen, out),
            Command::Read(args) if args.is_export() => export::of_read(args, &stores, screen, out, err),
            Command::Read(args) => read::run(&args, &stores, screen, out, err),
            Command::Show(args) => show::run(&args, &stores, screen, out, err),
            Command::Explain(args) => explain::run(&args, &stores, out, err),
            Command::Soma(args) => soma::run(&args, &stores, screen, out, err),
            Command::Sql(args) => sql::run(&args, stores, screen, out, err),
            Command::Cluster(args) => cluster::run(&args, stores, out),
            Command::Dump(args) => dump::run(&args, &stores, out),
            Command::Verify(args) => verify::run(&args, &stores, out),
            Command::Group(args) => group::run(&args, &stores, out),
            Command::Meta(args) => meta::run(&args, &stores, out),
            Command::Log(args) => log::run(&args, &stores, screen, out),
            Command::Fragments(args) => fragments::run(&args, &stores, screen, out),
            Command::Create(args) => create::run(&args, &stores, out),
            Command::Write(args) => write::run(&args, &stores, out),
            Command::Import(args) => import::run(&args, &stores, out, err),
            Command::Export(args) => export::run(args, &stores, screen, out, err),
            Command::Copy(args) => copy::run(&args, &stores, out, err),
            Command::Delete(args) => delete::run(&args, &stores, out, err),
            Command::Evolve(args) => evolve::run(&args, &stores, out),
            Command::Consolidate(args) => maintain::consolidate(&args, &stores, out),
            Command::Vacuum(args) => maintain::vacuum(&args, &stores, out),
            Command::Publish(args) => publish::run(&args, &stores, out),
            Command::Serve(args) => serve::run(&args, &stores, out, err),
            Command::View(args) => serve::view(&args, &stores, out, err),
            Command::Ls(args) => objects::ls(&args, &stores, out),
            Command::Rm(args) => objects::rm(&args, &stores, out),
            Command::Mv(args) => objects::mv(&args, &stores, out),
            Command::Browse(args) => browse::run(args, stores, screen, out),
            Command::Completions(args) => shell::completions(&args, Args::command(), out),
            Command::Man(args) => shell::man(&args, Args::command()),
        }),
        Err(error) => Failure::from_clap(&error, out),
    };
    let result = result.and_then(|()| Ok(out.flush()?));
    match result {
        Ok(()) => 0,
        Err(failure) => failure.report(err),
    }
}
