//! `cargo xtask conform capi-programs`: programs of PyPI with our library in the place of
//! libtiledb.
//!
//! The programs and their jobs are those of `conform programs`. Each phase of a job may run in
//! another process: in each of four folders, one library makes what there is, and another one (or
//! the same one) looks at it, changes it, and takes it apart. All must see what libtiledb alone
//! sees.

use std::fs;
use std::path::{Path, PathBuf};

use super::capi;
use super::programs::{self, Compared, JOBS, PROGRAMS, differences};
use super::sides::{By, Phase, Sides, pairs, turns};
use crate::{peer, python};

pub(super) const USAGE: &str = "[--only PROGRAM] [--library FILE] [--optional yes] [--python 3.12]";

/// The phases of a job, and which of the two libraries of a folder runs each.
const PHASES: [Phase; 6] = [
    (By::First, "make"),
    (By::Second, "look"),
    (By::Second, "change"),
    (By::Second, "look-changed"),
    (By::First, "look-again"),
    (By::Second, "end"),
];

#[derive(Debug, PartialEq, Eq)]
struct Options {
    only: Option<String>,
    library: Option<PathBuf>,
    optional: bool,
    python: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { only: None, library: None, optional: false, python: "3.12".to_owned() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match (arg.as_str(), value.as_str()) {
                ("--only", name) if PROGRAMS.contains(&name) => options.only = Some(value.clone()),
                ("--only", _) => return Err(format!("{value} is none of {}", PROGRAMS.join(", "))),
                ("--library", _) => options.library = Some(PathBuf::from(value)),
                ("--optional", "yes") => options.optional = true,
                ("--python", _) => options.python.clone_from(value),
                _ => return Err(format!("unknown argument {arg} {value}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let environment = match programs::environment(&folder, &options.python) {
        Ok(environment) => environment,
        Err(why) if options.optional => {
            println!("skipped: the programs cannot be installed: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let library = match &options.library {
        Some(library) => library.clone(),
        None => capi::built(&root)?,
    };
    let work = folder.join("capi-programs-work");
    // The packages of most programs are in the folder of TileDB-Py.
    let sides = Sides::new(&environment, root.join(JOBS), &work, &[capi::PACKAGE], &library)?;
    let mut failures = Vec::new();
    println!("| program | values | made and used with libtiledb and tdb |\n|---|--:|---|");
    let wanted = |name: &&str| options.only.as_deref().is_none_or(|only| only == *name);
    for program in PROGRAMS.into_iter().filter(wanted) {
        let (values, found) = match compared(&sides, program) {
            Ok(differences) => (differences.values, differences.found),
            Err(why) => (0, vec![why]),
        };
        println!("| {program} | {values} | {} |", if found.is_empty() { "equal" } else { "different" });
        failures.extend(found.into_iter().map(|one| format!("{program}: {one}")));
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n")) }
}

/// Runs a job in four folders, and compares what it saw in each with what libtiledb alone saw.
fn compared(sides: &Sides, program: &str) -> Result<Compared, String> {
    let mut first: Option<String> = None;
    let mut sum = Compared { values: 0, found: Vec::new() };
    for pair in pairs() {
        let name = format!("{program}-{}", pair.join("-"));
        let seen = match (job(sides, program, &name, pair), &first) {
            (Ok(seen), _) => seen,
            // Without the first there is nothing to compare with.
            (Err(why), None) => return Err(why),
            (Err(why), Some(_)) => {
                sum.found.push(why);
                continue;
            }
        };
        let kept = sides.work().join(format!("{name}.txt"));
        fs::write(&kept, &seen).map_err(|error| format!("{}: {error}", kept.display()))?;
        let first = first.get_or_insert_with(|| seen.clone());
        let differences = differences(first, &seen, &format!("made with {}, used with {}", pair[0], pair[1]));
        sum.values += differences.values;
        sum.found.extend(differences.found);
    }
    Ok(sum)
}

/// Runs all phases of a job in a new folder of this name, and returns what they saw.
fn job(sides: &Sides, program: &str, name: &str, pair: [&str; 2]) -> Result<String, String> {
    let folder = sides.work().join(name);
    let place = folder.to_str().ok_or("the path of the folder is not UTF-8")?;
    let mut seen = String::new();
    for (side, phases) in turns(pair, &PHASES) {
        seen += &sides.run(side, &[&[program, place, "--old-names"], phases.as_slice()].concat())?;
    }
    removed(&folder)?;
    Ok(seen)
}

fn removed(folder: &Path) -> Result<(), String> {
    fs::remove_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_program_and_a_library() {
        let options = Options::parse(&super::super::words("--only segy --library x.so")).unwrap();
        assert_eq!((options.only.as_deref(), options.library), (Some("segy"), Some(PathBuf::from("x.so"))));
        for wrong in ["--only vim", "--optional no", "--all yes", "--only"] {
            assert!(Options::parse(&super::super::words(wrong)).is_err(), "{wrong}");
        }
    }
}
