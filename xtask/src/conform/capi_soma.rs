//! `cargo xtask conform capi-soma`: tiledbsoma with our library in the place of libtiledb.
//!
//! `xtask/peer/capi/soma_job.py` makes an experiment and appends to it, once with each library, and
//! reads both with both: cells, filters, slices, an axis query and the whole as AnnData. All four
//! readings must be equal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{capi, pytest};
use crate::{peer, python};

pub(super) const USAGE: &str = "[--library FILE] [--cells N] [--genes N] [--optional yes]";

const JOB: &str = "xtask/peer/capi/soma_job.py";
/// The folder of the package, which has a libtiledb of its own.
const PACKAGE: &str = "tiledbsoma";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    library: Option<PathBuf>,
    /// How many cells and genes the experiment has.
    size: (String, String),
    optional: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options =
            Self { library: None, size: ("20000".to_owned(), "3000".to_owned()), optional: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            let is_count = value.parse::<u32>().is_ok_and(|count| count > 0);
            match arg.as_str() {
                "--library" => options.library = Some(PathBuf::from(value)),
                "--cells" if is_count => options.size.0.clone_from(value),
                "--genes" if is_count => options.size.1.clone_from(value),
                "--optional" => options.optional = value == "yes",
                _ => return Err(format!("unknown argument {arg} {value}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// The two libraries.
const SIDES: [&str; 2] = ["libtiledb", "tdb"];

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let (tools, alone) = (&python::SOMA_TOOLS, &python::SOMA_PEER[1..]);
    let made = python::environment_without(&folder, "capi-soma", python::SOMA_PYTHON, tools, alone);
    let environment = match made {
        Ok(environment) => environment,
        Err(why) if options.optional => {
            println!("skipped: tiledbsoma cannot be installed: {why}");
            return Ok(());
        }
        Err(why) => return Err(why),
    };
    let library = match &options.library {
        Some(library) => library.clone(),
        None => capi::built(&root)?,
    };
    let work = folder.join("capi-soma-work");
    pytest::empty_folder(&work)?;
    let own = work.join("modules");
    capi::with_library(PACKAGE, &capi::modules(&environment)?, &own, &library)?;
    let job = |side: &str, words: &[&str]| -> Result<String, String> {
        let mut program = Command::new(python::program(&environment, "python"));
        program.args(["-W", "ignore"]).arg(root.join(JOB)).args(words).current_dir(&work);
        program.env("PYTHONDONTWRITEBYTECODE", "1").env_remove("PYTHONPATH");
        if side == "tdb" {
            program.env("PYTHONPATH", &own);
        }
        let output = program.output().map_err(|error| format!("python: {error}"))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let why = String::from_utf8_lossy(&output.stderr);
        let last = why.lines().last().unwrap_or_default();
        Err(format!("{} with {side}: it ended with {}: {last}", words.join(" "), output.status))
    };
    let (cells, genes) = (options.size.0.as_str(), options.size.1.as_str());
    for side in SIDES {
        job(side, &["write", side, cells, genes])?;
        job(side, &["append", side, cells, genes])?;
    }
    compared(&work, &job)
}

/// Reads both experiments with both libraries, and compares what they say.
fn compared(work: &Path, job: &impl Fn(&str, &[&str]) -> Result<String, String>) -> Result<(), String> {
    let mut first: Option<String> = None;
    let mut wrong = Vec::new();
    for reader in SIDES {
        for writer in SIDES {
            let found = job(reader, &["read", writer])?;
            let name = format!("written with {writer}, read with {reader}");
            fs::write(work.join(format!("{writer}-{reader}.txt")), &found)
                .map_err(|error| error.to_string())?;
            let first = first.get_or_insert_with(|| found.clone());
            println!(
                "{name}: {} lines{}",
                found.lines().count(),
                if *first == found { "" } else { ", not equal" }
            );
            wrong.extend(difference(first, &found).map(|how| format!("{name}: {how}")));
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// The first line in which two readings differ; also if there is nothing to compare.
fn difference(expected: &str, found: &str) -> Option<String> {
    if expected.is_empty() {
        return Some("nothing was read".to_owned());
    }
    let mut pairs = expected.lines().zip(found.lines().chain(std::iter::repeat("nothing")));
    let differs = pairs.find(|(expected, found)| expected != found);
    let longer = (found.lines().count() > expected.lines().count()).then_some(("nothing", "more lines"));
    differs.or(longer).map(|(expected, found)| format!("`{found}`, not `{expected}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_choose_a_size() {
        let options = Options::parse(&super::super::words("--cells 200 --genes 30 --library x.so")).unwrap();
        assert_eq!(options.size, ("200".to_owned(), "30".to_owned()));
        for wrong in ["--cells 0", "--cells x", "--genes", "--every 3"] {
            assert!(Options::parse(&super::super::words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn readings_differ_in_a_line_in_their_length_or_by_being_empty() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").unwrap(), "`c`, not `b`");
        assert_eq!(difference("a\nb\n", "a\n").unwrap(), "`nothing`, not `b`");
        assert_eq!(difference("a\n", "a\nb\n").unwrap(), "`more lines`, not `nothing`");
        assert!(difference("", "").is_some());
    }
}
