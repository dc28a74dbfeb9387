//! The command, and TileDB's C functions.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::packing::{copy_into, pack, size, unpack};
use super::table::{Row, Tried};
use super::trial::{Folder, bare, call, expect, said};
use super::{Context, empty_folder, trial};
use crate::{capi, peer};

/// What programs of people have, beside the default features.
const FEATURES: &str = "sql,browse";

/// What lies beside a program or a library.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// A C program that reads an array of the fixtures, the array, and what the program prints.
const PROGRAM: &str = include_str!("read.c");
const FIXTURE: &str = "xtask/fixtures/arrays/2.30.0/quickstart";
const PRINTED: &str = "16 cells, 136\n";

pub(super) fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// The name of the system that is built for.
pub(super) fn system(context: &Context) -> Result<String, String> {
    if let Some(target) = &context.target {
        return Ok(target.clone());
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let about = said(Command::new(rustc).arg("-vV"))?;
    host(&about).map(str::to_owned).ok_or_else(|| "rustc -vV names no host".to_owned())
}

/// The system in what `rustc -vV` prints.
fn host(about: &str) -> Option<&str> {
    about.lines().find_map(|line| line.strip_prefix("host: "))
}

/// Whether programs for a system run on this one.
pub(super) fn runs_here(context: &Context) -> bool {
    let Some(target) = &context.target else { return true };
    let mut parts = target.split('-');
    let is_arch = parts.next() == Some(std::env::consts::ARCH);
    is_arch
        && parts.any(|part| part == std::env::consts::OS || (part == "darwin" && cfg!(target_os = "macos")))
}

/// `tdb` with the viewer, in a folder that is packed.
pub(super) fn command(context: &Context) -> Result<Row, String> {
    let system = system(context)?;
    let viewer = crate::wasm::make(&context.root)?.viewer;
    let begun = Instant::now();
    let mut build = cargo();
    build.current_dir(&context.root).args(["build", "--locked", "--profile", &context.profile]);
    build.args(["--package", "tdb-cli", "--bin", "tdb", "--features", FEATURES]);
    if let Some(target) = &context.target {
        build.args(["--target", target]);
    }
    call(&mut build)?;
    let built = begun.elapsed();
    let name = if system.contains("windows") { "tdb.exe" } else { "tdb" };
    let folder = context.out.join(format!("tdb-{}-{system}", context.version));
    empty_folder(&folder)?;
    copy_into(&context.products().join(name), &folder)?;
    for text in TEXTS {
        copy_into(&context.root.join(text), &folder)?;
    }
    peer::copy_folder(&viewer, &folder.join("viewer"))?;
    let (file, installed) = (pack(&folder)?, size(&folder)?);
    let tried = if runs_here(context) {
        let empty = Folder::new("command")?;
        trial::command(&unpack(&file, empty.path())?.join(name), &context.version)?;
        Tried::Yes("CSV to array to SQL, the viewer")
    } else {
        Tried::Made(format!("programs for {system} do not run here"))
    };
    row("command", &file, installed, built, tried)
}

/// The row of a file that was made.
pub(super) fn row(
    part: &str,
    file: &Path,
    installed: u64,
    built: core::time::Duration,
    tried: Tried,
) -> Result<Row, String> {
    Ok(Row {
        part: part.to_owned(),
        file: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        size: Some(installed),
        packed: Some(size(file)?),
        built: Some(built),
        tried,
    })
}

/// The library that takes the place of libtiledb, with its header.
pub(super) fn c_library(context: &Context) -> Result<Row, String> {
    if !cfg!(target_os = "linux") {
        return Ok(Row::not_here("c-library", "it is installed on Linux only"));
    }
    let system = system(context)?;
    let folder = context.out.join(format!("libtiledb-tdb-{}-{system}", context.version));
    empty_folder(&folder)?;
    let begun = Instant::now();
    let mut build = cargo();
    build.current_dir(&context.root).args(["build", "--locked", "--profile", &context.profile]);
    call(build.args(["--package", "tdb-capi"]))?;
    let built = begun.elapsed();
    let library = context.products_of(None).join("libtiledb.so");
    capi::run(&["--prefix".to_owned(), shown(&folder), "--library".to_owned(), shown(&library)])?;
    for text in TEXTS {
        copy_into(&context.root.join(text), &folder)?;
    }
    let (file, installed) = (pack(&folder)?, size(&folder)?);
    row("c-library", &file, installed, built, tried_in_c(context, &file)?)
}

/// Compiles a program against the unpacked library, and runs it.
fn tried_in_c(context: &Context, file: &Path) -> Result<Tried, String> {
    let compiler = std::env::var_os("CC").unwrap_or_else(|| OsString::from("cc"));
    if said(Command::new(&compiler).arg("--version")).is_err() {
        return Ok(Tried::Made("there is no C compiler".to_owned()));
    }
    let empty = Folder::new("c-library")?;
    let prefix = unpack(file, empty.path())?;
    let (source, program) = (empty.path().join("read.c"), empty.path().join("read"));
    fs::write(&source, PROGRAM).map_err(|error| format!("{}: {error}", source.display()))?;
    let library = prefix.join("lib");
    let mut compile = Command::new(compiler);
    compile.args(["-std=c11", "-Wall", "-Werror", "-o"]).arg(&program).arg(&source);
    compile.arg("-I").arg(prefix.join("include")).arg("-L").arg(&library).arg("-ltiledb");
    call(compile.arg(format!("-Wl,-rpath,{}", library.display())))?;
    let array: PathBuf = context.root.join(FIXTURE);
    let printed = said(bare(&program, empty.path()).arg(array))?;
    expect("the C program", &printed, PRINTED)?;
    Ok(Tried::Yes("a C program reads an array"))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_what_rustc_says() {
        assert_eq!(
            host("rustc 1.90\nhost: x86_64-unknown-linux-gnu\nrelease: 1.90\n"),
            Some("x86_64-unknown-linux-gnu")
        );
        assert_eq!(host("rustc 1.90\n"), None);
    }

    #[test]
    fn what_runs_here_has_the_system_and_the_processor_of_this_machine() {
        let context = |target: Option<String>| Context { target, ..super::super::tests::context() };
        assert!(runs_here(&context(None)));
        assert!(runs_here(&context(Some(system(&context(None)).unwrap()))));
        for other in ["s390x-unknown-linux-gnu", "x86_64-unknown-freebsd", "wasm32-unknown-unknown"] {
            assert!(!runs_here(&context(Some(other.to_owned()))), "{other}");
        }
    }
}
