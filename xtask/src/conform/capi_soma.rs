//! `cargo xtask conform capi-soma`: tiledbsoma with our library in the place of libtiledb.
//!
//! `xtask/peer/capi/soma_job.py` makes an experiment, small objects of each kind and a census,
//! appends to them, changes them and looks at them. In each of four folders two libraries take
//! turns at that (or one does all); all must see what libtiledb alone sees.

use std::fs;
use std::path::PathBuf;

use super::capi;
use super::sides::{By, Phase, Sides, differences, pairs, turns};
use crate::{peer, python};

pub(super) const USAGE: &str = "[--library FILE] [--cells N] [--genes N] [--optional yes]";

const JOB: &str = "xtask/peer/capi/soma_job.py";
/// The folder of the package, which has a libtiledb of its own.
pub(super) const PACKAGE: &str = "tiledbsoma";
/// What the readers of the census need besides.
const CENSUS_TOOLS: [&str; 2] = ["s3fs", "requests"];
/// The readers of the census, without the packages that only other parts of them need.
const CENSUS: &str = "cellxgene-census==1.18.0";
/// The phases of the job, and which of the two libraries of a folder runs each.
const PHASES: [Phase; 6] = [
    (By::First, "write"),
    (By::Second, "append"),
    (By::First, "look"),
    (By::Second, "change"),
    (By::Second, "look-changed"),
    (By::First, "look-again"),
];
/// How lines begin that tell how long a phase took.
const TIME: &str = "# ";

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

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let tools = [python::SOMA_TOOLS.as_slice(), &CENSUS_TOOLS].concat();
    let alone = [&python::SOMA_PEER[1..], &[CENSUS]].concat();
    let made = python::environment_without(&folder, "capi-soma", python::SOMA_PYTHON, &tools, &alone);
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
    let sides = Sides::new(&environment, root.join(JOB), &work, &[PACKAGE], &library)?;
    let (mut first, mut wrong): (Option<String>, _) = (None, Vec::new());
    println!("| written and read with | appended to and changed with | lines | is | seconds |");
    println!("|---|---|--:|---|---|");
    for pair in pairs() {
        let (seen, seconds) = in_turns(&sides, pair, &options.size)?;
        let name = pair.join("-");
        fs::write(work.join(format!("{name}.txt")), &seen).map_err(|error| error.to_string())?;
        let found = differences(first.get_or_insert_with(|| seen.clone()), &seen);
        let (lines, is) = (seen.lines().count(), if found.is_empty() { "equal" } else { "different" });
        println!("| {} | {} | {lines} | {is} | {} |", pair[0], pair[1], seconds.join(", "));
        wrong.extend(found.into_iter().map(|how| format!("{name}: {how}")));
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("\n")) }
}

/// Runs all phases; returns what was seen, and the times that they took.
fn in_turns(
    sides: &Sides,
    pair: [&str; 2],
    (cells, genes): &(String, String),
) -> Result<(String, Vec<String>), String> {
    let name = pair.join("-");
    let (mut seen, mut seconds) = (String::new(), Vec::new());
    for (side, phases) in turns(pair, &PHASES) {
        let said = sides.run(side, &[&[name.as_str(), cells, genes], phases.as_slice()].concat())?;
        for line in said.lines() {
            match line.strip_prefix(TIME) {
                Some(time) => seconds.push(time.to_owned()),
                None => seen.extend([line, "\n"]),
            }
        }
    }
    Ok((seen, seconds))
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
}
