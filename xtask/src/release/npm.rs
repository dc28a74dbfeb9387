//! The npm package, which reads arrays in browsers and in Node.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::programs::row;
use super::table::{Row, Tried};
use super::trial::{Folder, bare, call, expect, said};
use super::{Context, empty_folder};

/// Reads an array of a folder, as a server of files would give it.
const PROGRAM: &str = include_str!("read.mjs");
const FIXTURE: &str = "xtask/fixtures/arrays/2.30.0/quickstart";
const PRINTED: &str = "16 cells, 136\n";

pub(super) fn run(context: &Context) -> Result<Row, String> {
    if said(Command::new("npm").arg("--version")).is_err() {
        return Ok(Row::not_here("npm", "there is no npm"));
    }
    let begun = Instant::now();
    let package = match crate::wasm::make(&context.root) {
        Ok(made) => made.package,
        Err(why) => return Ok(Row::not_here("npm", why)),
    };
    let built = begun.elapsed();
    let place = context.out.join("npm");
    empty_folder(&place)?;
    let mut pack = Command::new("npm");
    pack.current_dir(&package).args(["pack", "--json", "--pack-destination"]).arg(&place);
    let (name, file, installed) = packed(&said(&mut pack)?)?;
    let file = place.join(file);
    let empty = Folder::new("npm")?;
    let mut install = Command::new("npm");
    install.current_dir(empty.path()).args([
        "install",
        "--silent",
        "--no-audit",
        "--no-fund",
        "--prefix",
        ".",
    ]);
    call(install.arg(&file))?;
    tried(context, empty.path(), &name)?;
    row("npm", &file, installed, built, Tried::Yes("Node reads an array"))
}

/// The name of the package, its file, and its bytes, in what `npm pack --json` prints.
fn packed(json: &str) -> Result<(String, String, u64), String> {
    let wrong = || format!("npm pack printed {json:?}");
    let all: Value = serde_json::from_str(json).map_err(|_| wrong())?;
    let only = all.get(0).ok_or_else(wrong)?;
    let text = |key: &str| only.get(key).and_then(Value::as_str).map(str::to_owned);
    let size = only.get("unpackedSize").and_then(Value::as_u64);
    text("name")
        .zip(text("filename"))
        .zip(size)
        .map(|((name, file), size)| (name, file, size))
        .ok_or_else(wrong)
}

/// Has Node read an array with the installed package.
fn tried(context: &Context, folder: &Path, name: &str) -> Result<(), String> {
    let array = folder.join("array");
    crate::peer::copy_folder(&context.root.join(FIXTURE), &array)?;
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let words = ["tdb".into(), "publish".into(), array.clone().into_os_string()];
    if tdb_cli::run::<std::ffi::OsString>(words, &mut out, &mut errors) != 0 {
        return Err(format!("tdb publish: {}", String::from_utf8_lossy(&errors)));
    }
    let script = folder.join("read.mjs");
    fs::write(&script, PROGRAM).map_err(|error| format!("{}: {error}", script.display()))?;
    let node = said(Command::new("node").args(["-p", "process.execPath"]))?;
    let mut read = bare(Path::new(node.trim()), folder);
    expect("Node", &said(read.arg(&script).arg(name).arg(&array))?, PRINTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn npm_tells_the_file_and_its_size() {
        let json =
            r#"[{"name": "tdb-arrays", "filename": "tdb-arrays-0.1.0.tgz", "size": 1, "unpackedSize": 12}]"#;
        let expected = ("tdb-arrays".to_owned(), "tdb-arrays-0.1.0.tgz".to_owned(), 12);
        assert_eq!(packed(json).unwrap(), expected);
        for wrong in ["", "[]", r#"[{"name": "x"}]"#] {
            assert!(packed(wrong).is_err(), "{wrong}");
        }
    }
}
