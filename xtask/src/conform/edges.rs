//! `cargo xtask conform edges`: what comes in as text, as types of other libraries, at equal times,
//! in little memory.
//!
//! Each part draws its inputs from a seed and compares what comes out with what went in. Every part
//! runs unless `--only` names some; `--seconds N` is how long each part may draw.

mod memory;
mod text;
mod times;
mod types;

use std::path::PathBuf;
use std::time::Duration;

pub(super) const USAGE: &str =
    "[--only text,types,times,memory] [--seed S] [--seconds N] [--tdb COMMAND] [--optional yes]";

/// A part: its name, and what runs it.
type Part = (&'static str, fn(&Options) -> Result<(), String>);

const PARTS: [Part; 4] =
    [("text", text::run), ("types", types::run), ("times", times::run), ("memory", memory::run)];

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Options {
    only: Vec<String>,
    seed: u64,
    /// How long each part draws.
    time: Duration,
    tdb: Option<PathBuf>,
    optional: bool,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options =
            Self { only: Vec::new(), seed: 1, time: Duration::from_secs(600), tdb: None, optional: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            let number = || value.parse().map_err(|_| format!("{arg}: {value:?} is not a number"));
            match arg.as_str() {
                "--only" => options.only = value.split(',').map(str::to_owned).collect(),
                "--seed" => options.seed = number()?,
                "--seconds" => options.time = Duration::from_secs(number()?),
                "--tdb" => options.tdb = Some(value.into()),
                "--optional" => options.optional = value == "yes",
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        match options.only.iter().find(|name| !PARTS.iter().any(|part| part.0 == name.as_str())) {
            Some(unknown) => Err(format!("unknown part {unknown}: {USAGE}")),
            None => Ok(options),
        }
    }
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let mut failures = Vec::new();
    for (name, part) in PARTS {
        if options.only.is_empty() || options.only.iter().any(|only| only == name) {
            println!("== {name}, seed {}", options.seed);
            if let Err(why) = part(&options) {
                println!("FAILED {name}: {why}");
                failures.push(name);
            }
        }
    }
    if failures.is_empty() { Ok(()) } else { Err(format!("failed: {}", failures.join(", "))) }
}

#[cfg(test)]
mod tests {
    use super::super::words;
    use super::*;

    #[test]
    fn parts_are_chosen_by_their_names() {
        let options = Options::parse(&words("--only times,memory --seed 7 --seconds 30")).unwrap();
        assert_eq!((options.only, options.seed), (vec!["times".to_owned(), "memory".to_owned()], 7));
        assert_eq!(options.time, Duration::from_secs(30));
        for wrong in ["--only time", "--seed", "--seed x", "--size 3"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
