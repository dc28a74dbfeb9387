//! `cargo xtask mutants`: whether the tests of a crate notice a fault in it.
//!
//! cargo-mutants makes the faults: it replaces an operator, or the body of a function, and runs the
//! tests. A mutant that no test notices is *missed*. [`suites`] says which tests run for the
//! mutants of a crate, or of several, and how many of them they must notice; `xtask/mutants.txt`
//! names the mutants that no test can notice, because they do the same ([`equivalent`]).
//!
//! The mutants are made in a copy of the tree below the target folder, which is kept: the next run
//! builds only what changed, and a run that is cut off leaves no mutant in the sources.

mod equivalent;
mod report;
mod suites;
mod tool;
mod tree;

use std::collections::BTreeSet;

use crate::conform::random::Random;
use crate::peer;
use equivalent::{Equivalents, LIST};
use report::Row;
use suites::{SUITES, Suite};
use tool::Tool;
use tree::Tree;

const USAGE: &str = "usage: cargo xtask mutants [--crate NAME]… [--sample N] [--seed S] [--against COMMIT]";

/// The seed of a sample if no other is given.
const SEED: u64 = 47;

#[derive(Debug, PartialEq, Eq)]
struct Options {
    /// The rows that are wanted; none for all.
    crates: Vec<String>,
    /// How many mutants of each row; all if this is not given and the row has no own number.
    sample: Option<usize>,
    seed: u64,
    /// Only mutants in lines that changed since this commit.
    against: Option<String>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { crates: Vec::new(), sample: None, seed: SEED, against: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            let number = |text: &String| text.parse().map_err(|_| format!("{arg} {text}: not a number"));
            match arg.as_str() {
                "--crate" => options.crates.push(value()?.clone()),
                "--sample" => {
                    let many = number(value()?)?;
                    options.sample = Some(usize::try_from(many).unwrap_or(usize::MAX));
                }
                "--seed" => options.seed = number(value()?)?,
                "--against" => options.against = Some(value()?.clone()),
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
            }
        }
        Ok(options)
    }

    fn suites(&self) -> Result<Vec<&'static Suite>, String> {
        if self.crates.is_empty() {
            return Ok(SUITES.iter().collect());
        }
        let find = |name: &String| {
            let known = || SUITES.iter().map(|suite| suite.name).collect::<Vec<_>>().join(", ");
            SUITES
                .iter()
                .find(|suite| suite.name == name)
                .ok_or_else(|| format!("--crate {name}: not one of {}", known()))
        };
        self.crates.iter().map(find).collect()
    }
}

/// Entry point: `args` are the words after `cargo xtask mutants`.
pub(crate) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let suites = options.suites()?;
    let root = peer::repository_root()?;
    let equivalents = Equivalents::read(&root)?;
    let tree = Tree::copy(&root)?;
    let tool = Tool::find(&tree)?;
    let diff = match &options.against {
        Some(commit) => Some(tree.write_diff(&root, commit)?),
        None => None,
    };

    let mut rows = Vec::new();
    for suite in suites {
        let all = tool.list(suite, None)?;
        let gone = equivalents.gone(suite.packages, &all);
        if !gone.is_empty() {
            return Err(format!("{LIST}: no such mutant:\n{}", gone.join("\n")));
        }
        let equivalent = equivalents.of(&all);
        let mut wanted = match &diff {
            Some(diff) => tool.list(suite, Some(diff))?,
            None => all,
        };
        // A change has few mutants: all of them run, unless a sample is asked for.
        let size = if diff.is_some() { options.sample } else { options.sample.or(suite.sample) };
        if let Some(size) = size {
            wanted = sample(wanted, size, options.seed);
        }
        if wanted.is_empty() {
            println!("{}: no mutants", suite.name);
            continue;
        }
        eprintln!("{}: {} mutants", suite.name, wanted.len());
        rows.push(Row::new(suite, tool.run(suite, &wanted)?, &equivalent));
    }
    print!("{}", report::text(&rows, options.seed));
    report::verdict(&rows)
}

/// So many of the names, in their order: the same ones for the same seed.
fn sample(mut names: Vec<String>, size: usize, seed: u64) -> Vec<String> {
    let mut random = Random::new(seed);
    let mut taken: BTreeSet<usize> = BTreeSet::new();
    if size >= names.len() {
        return names;
    }
    while taken.len() < size {
        let last = names.len().saturating_sub(1);
        taken.insert(random.length(0, last));
    }
    let mut index = 0usize;
    names.retain(|_| {
        let keep = taken.contains(&index);
        index = index.saturating_add(1);
        keep
    });
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_sample_is_the_same_for_the_same_seed_and_keeps_the_order() {
        let names: Vec<String> = (10..99).map(|number| number.to_string()).collect();
        let drawn = sample(names.clone(), 20, 5);
        assert_eq!(drawn, sample(names.clone(), 20, 5));
        assert_ne!(drawn, sample(names.clone(), 20, 6));
        assert_eq!((drawn.len(), drawn.is_sorted()), (20, true));
        assert_eq!(sample(names.clone(), 89, 5), names);
        assert_eq!(sample(names.clone(), 500, 5), names);
    }

    #[test]
    fn options_say_crates_sample_seed_and_commit() {
        let all = words("--crate tdb-tile --crate tdb-codec --sample 40 --seed 9 --against HEAD~1");
        let options = Options::parse(&all).unwrap();
        let packages: Vec<&str> = options.suites().unwrap().iter().map(|suite| suite.name).collect();
        assert_eq!(packages, ["tdb-tile", "tdb-codec"]);
        assert_eq!((options.sample, options.seed, options.against.as_deref()), (Some(40), 9, Some("HEAD~1")));
        assert_eq!(Options::parse(&[]).unwrap().suites().unwrap().len(), SUITES.len());
        assert!(Options::parse(&words("--crate tdb-nothing")).unwrap().suites().is_err());
        for wrong in ["--sample", "--sample many", "--seed -1", "tdb-tile"] {
            assert!(Options::parse(&words(wrong)).is_err(), "{wrong}");
        }
    }
}
