//! `cargo xtask api [--write | --require] [CRATE…]`: the public interface of the crates that
//! programs use.
//!
//! `docs/api/CRATE.txt` lists it, one line for each public item, method, field, variant and
//! implementation. The command compares the lists with the sources, and prints each line that was
//! added or removed; `--write` writes them. It reads the JSON of rustdoc, which only a nightly
//! rustdoc or one with `RUSTC_BOOTSTRAP=1` writes; where that fails, it says so and does nothing,
//! or fails with `--require`.

mod rustdoc;
mod surface;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::check::Workspace;
use crate::peer;
use surface::Crates;

const USAGE: &str = "usage: cargo xtask api [--write | --require] [CRATE…]";

const FOLDER: &str = "docs/api";

/// The crates that have a list: those whose whole interface a release promises (`RELEASING.md`) and
/// that build in a few minutes, and `tdb-storage`, whose traits programs implement.
const CRATES: [&str; 11] = [
    "tdb-codec",
    "tdb-filters",
    "tdb-tile",
    "tdb-schema",
    "tdb-fragment",
    "tdb-storage",
    "tdb-object-store",
    "tdb-array",
    "tdb-text",
    "tdb-arrow",
    "tdb-zarr",
];

#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// Write the lists instead of comparing them.
    write: bool,
    /// Fail if there is no rustdoc that writes JSON.
    require: bool,
    /// The crates to look at.
    crates: Vec<&'static str>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { write: false, require: false, crates: Vec::new() };
        for arg in args {
            match CRATES.iter().find(|name| *name == arg) {
                Some(name) => options.crates.push(name),
                None if arg == "--write" => options.write = true,
                None if arg == "--require" => options.require = true,
                None => {
                    return Err(format!("unknown argument {arg}\n{USAGE}\ncrates: {}", CRATES.join(", ")));
                }
            }
        }
        if options.crates.is_empty() {
            options.crates.extend(CRATES);
        }
        Ok(options)
    }
}

/// Entry point: `args` are the words after `cargo xtask api`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    if let Some(reason) = rustdoc::missing(&root) {
        if options.require {
            return Err(reason);
        }
        println!("skipped: {reason}");
        return Ok(());
    }
    // A re-export leads into the crate that has the item.
    let packages = Workspace::load(&root)?.below(&options.crates);
    let mut crates = Crates::default();
    for (name, text) in rustdoc::document(&root, &packages)? {
        crates.add(&name, &text)?;
    }

    let folder = root.join(FOLDER);
    let mut differing = Vec::new();
    for name in options.crates {
        let found = crates.lines(&name.replace('-', "_"))?;
        let file = folder.join(format!("{name}.txt"));
        if options.write {
            write(&folder, &file, &found)?;
            println!("wrote {FOLDER}/{name}.txt: {} lines", found.len());
            continue;
        }
        let recorded = fs::read_to_string(&file).unwrap_or_default();
        let changes = changes(&recorded, &found);
        changes.iter().for_each(|line| println!("{line}"));
        if !changes.is_empty() {
            differing.push(name);
        }
    }
    if differing.is_empty() {
        return Ok(());
    }
    let names = differing.join(", ");
    Err(format!("the public interface is not as in {FOLDER}: {names}; run `cargo xtask api --write`"))
}

fn write(folder: &Path, file: &Path, lines: &BTreeSet<String>) -> Result<(), String> {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(file, text))
        .map_err(|error| format!("{}: {error}", file.display()))
}

/// The lines that are gone, with a minus sign, and those that are new, with a plus sign.
fn changes(recorded: &str, found: &BTreeSet<String>) -> Vec<String> {
    let recorded: BTreeSet<String> = recorded.lines().map(str::to_owned).collect();
    let gone = recorded.difference(found).map(|line| format!("- {line}"));
    gone.chain(found.difference(&recorded).map(|line| format!("+ {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removed_lines_and_new_lines_are_told_apart() {
        let found = ["tdb::A struct", "tdb::C fn"].map(str::to_owned).into();
        let recorded = "tdb::A struct\ntdb::B fn\n";
        assert_eq!(changes(recorded, &found), ["- tdb::B fn", "+ tdb::C fn"]);
        assert!(changes("tdb::A struct\ntdb::C fn\n", &found).is_empty());
    }

    #[test]
    fn crates_are_chosen_by_name_and_all_are_looked_at_by_default() {
        let parse =
            |words: &[&str]| Options::parse(&words.iter().map(|word| (*word).into()).collect::<Vec<_>>());
        let one = Options { write: true, require: false, crates: vec!["tdb-array"] };
        assert_eq!(parse(&["--write", "tdb-array"]), Ok(one));
        assert!(parse(&["--require"]).is_ok_and(|options| options.require && !options.write));
        assert_eq!(parse(&[]).map(|options| options.crates), Ok(CRATES.to_vec()));
        assert!(parse(&["tdb-arrays"]).is_err_and(|error| error.contains("unknown argument tdb-arrays")));
    }
}
