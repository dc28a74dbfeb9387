//! `cargo xtask capi`: TileDB's C functions as other programs find them.
//!
//! `cargo xtask capi signatures --upstream DIR` reads the C headers of a checkout of TileDB, and
//! writes two tables of facts next to the crate that has the same functions: names, results and
//! types of arguments, and names and values of constants. No text of a header is kept.
//!
//! `cargo xtask capi --prefix DIR` installs the library, a header that is made of these tables, and
//! what pkg-config and CMake ask for.

mod header;
mod headers;
mod install;

use std::fs;
use std::path::{Path, PathBuf};

use crate::peer;
use headers::{Constant, Signature};

const USAGE: &str = "usage: cargo xtask capi signatures --upstream DIR\n       cargo xtask capi --prefix DIR [--library FILE]";

/// The tables, below the root of the repository.
const SIGNATURES: &str = "crates/tdb-capi/signatures.tsv";
const CONSTANTS: &str = "crates/tdb-capi/constants.tsv";

/// The folders of a checkout of TileDB whose headers programs include.
const FOLDERS: [&str; 2] = ["tiledb/sm/c_api", "tiledb/api/c_api"];

/// Entry point: `args` are the words after `cargo xtask capi`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["signatures", "--upstream", upstream] => signatures(Path::new(upstream)),
        ["--prefix", prefix] => install::run(Path::new(prefix), None),
        ["--prefix", prefix, "--library", library] => {
            install::run(Path::new(prefix), Some(Path::new(library)))
        }
        _ => Err(USAGE.to_owned()),
    }
}

/// Writes the tables from the headers of a checkout.
fn signatures(upstream: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        add_headers(&upstream.join(folder), &mut files)?;
    }
    files.sort();
    let texts: Vec<String> = files
        .iter()
        .map(|file| fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display())))
        .collect::<Result<_, _>>()?;
    let root = peer::repository_root()?;
    let signatures = headers::signatures(&texts);
    write(&root.join(SIGNATURES), "name\tresult\targuments", signatures.iter().map(Signature::line))?;
    println!("wrote {SIGNATURES}: {} names", signatures.len());
    let constants = headers::constants(&texts);
    write(&root.join(CONSTANTS), "enum\tname\tvalue", constants.iter().map(Constant::line))?;
    println!("wrote {CONSTANTS}: {} constants", constants.len());
    Ok(())
}

/// Adds the headers of a folder and of those below it.
fn add_headers(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let failed = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            add_headers(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "h") {
            files.push(path);
        }
    }
    Ok(())
}

fn write(file: &Path, head: &str, lines: impl Iterator<Item = String>) -> Result<(), String> {
    let body: String = lines.map(|line| format!("{line}\n")).collect();
    fs::write(file, format!("{head}\n{body}")).map_err(|error| format!("{}: {error}", file.display()))
}
