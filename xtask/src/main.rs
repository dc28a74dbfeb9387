//! `cargo xtask <command>`: each generator or check is a subcommand in its own module.

mod api;
mod book;
mod capi;
mod check;
mod compare;
mod conform;
mod fixtures;
mod layouts;
mod markdown;
mod mutants;
mod peer;
mod python;
mod readmes;
mod release;
mod scratch;
mod seeds;
mod servers;
mod sql_types;
mod tables;
mod wasm;

use std::process::ExitCode;

/// A subcommand: its name, its help text, and its entry point.
type Command = (&'static str, &'static str, fn(&[String]) -> Result<(), String>);

const COMMANDS: &[Command] = &[
    (
        "fixtures",
        "write the fixture arrays with many libtiledb releases; --check compares instead",
        fixtures::run,
    ),
    (
        "compare",
        "time tdb and libtiledb on the same reads; --write-docs writes docs/performance.md; --against COMMIT finds slower cases",
        compare::run,
    ),
    (
        "conform",
        "read fresh arrays of released libraries, and have them read ours; `filters`, `maintenance`, `crashes`, …",
        conform::run,
    ),
    (
        "api",
        "compare the public interface of the crates with the lists in docs/api; --write writes them",
        api::run,
    ),
    (
        "book",
        "check links, anchors and the contents of the book in docs, and build it with mdBook; --check, --require",
        book::run,
    ),
    (
        "capi",
        "write the tables of tdb-capi from the C headers of a checkout of TileDB; signatures --upstream DIR",
        capi::run,
    ),
    (
        "check",
        "check the project's rules that the compiler does not check: no upward dependencies, no I/O where it is not allowed, …",
        check::run,
    ),
    (
        "mutants",
        "whether each crate's tests notice faults that cargo-mutants makes; --crate, --sample, --seed, --against COMMIT",
        mutants::run,
    ),
    (
        "python",
        "build the wheel of the Python package, run its tests, examples and mypy on two releases; --optional yes",
        python::run,
    ),
    (
        "release",
        "build, install and try what a release has, as far as this machine can: --dry-run; --only, --out, --quick, --target",
        release::run,
    ),
    ("scratch", "run tdb-filters' front-page example in a crate outside the workspace", scratch::run),
    ("seeds", "fill fuzz/corpus from the fixtures", seeds::run),
    (
        "tables",
        "write the tables in docs and the crates' READMEs from the code; --check compares instead",
        tables::run,
    ),
    (
        "wasm",
        "build the WebAssembly reader, run it in Node on fixtures, print its size; --require fails if a tool is missing",
        wasm::run,
    ),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let command = args.first().and_then(|name| COMMANDS.iter().find(|command| command.0 == name));
    let Some((_, _, run)) = command else {
        eprintln!("usage: cargo xtask <command>");
        for (name, text, _) in COMMANDS {
            eprintln!("  {name:10} {text}");
        }
        return ExitCode::from(2);
    };
    match run(args.get(1..).unwrap_or_default()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
