//! `cargo xtask mutants`: whether the tests of a crate notice a fault in it.
//!
//! cargo-mutants says which faults there are: an operator, an arm, a field or the body of a
//! function is replaced. A mutant that no test notices is *missed*. [`suites`] says which tests
//! run for the mutants of a crate, or of several, and how many of them they must notice;
//! `xtask/mutants.txt` names the mutants that no test can notice, because they do the same
//! ([`equivalent`]).
//!
//! One build has all mutants, each behind a number ([`switch`], [`build`]), which a variable of the
//! environment chooses. Each test runs once to see which mutants it reaches, and then those that
//! reach a mutant run on it, the fastest first ([`trial`]).
//!
//! The mutants are made in a copy of the tree below the target folder, which is kept: the next run
//! builds only what changed, and a run that is cut off leaves no mutant in the sources.

mod build;
mod equivalent;
mod mutant;
mod report;
mod suites;
mod switch;
mod tool;
mod tree;
mod trial;

use std::collections::BTreeSet;

use crate::conform::random::Random;
use crate::peer;
use build::Build;
use equivalent::{Equivalents, LIST};
use mutant::Mutant;
use report::{Outcomes, Row};
use suites::{SUITES, Suite};
use switch::Number;
use tree::Tree;
use trial::{Trial, Verdict};

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
    tool::find()?;

    let mut rows = Vec::new();
    for suite in suites {
        // The suite before has left its mutants in the copy.
        let tree = Tree::copy(&root)?;
        let all = tool::list(&tree, suite, None)?;
        let names: Vec<String> = all.iter().map(|mutant| mutant.name.clone()).collect();
        let gone = equivalents.gone(suite.packages, &names);
        if !gone.is_empty() {
            return Err(format!("{LIST}: no such mutant:\n{}", gone.join("\n")));
        }
        let mut wanted = match &options.against {
            Some(commit) => tool::list(&tree, suite, Some(&tree.write_diff(&root, commit)?))?,
            None => all,
        };
        // A change has few mutants: all of them run, unless a sample is asked for.
        let size = if options.against.is_some() { options.sample } else { options.sample.or(suite.sample) };
        if let Some(size) = size {
            wanted = sample(wanted, size, options.seed);
        }
        if wanted.is_empty() {
            println!("{}: no mutants", suite.name);
            continue;
        }
        eprintln!("{}: {} mutants", suite.name, wanted.len());
        rows.push(Row::new(suite, outcomes(&tree, suite, &wanted)?, &equivalents.of(&names)));
    }
    print!("{}", report::text(&rows, options.seed));
    report::verdict(&rows)
}

/// Runs the tests on each of these mutants: those of each step on what the steps before missed.
fn outcomes(tree: &Tree, suite: &Suite, mutants: &[Mutant]) -> Result<Outcomes, String> {
    let mut build = Build::new(tree, suite, mutants)?;
    let mut outcomes = Outcomes::default();
    let mut missed: Vec<Number> = build.chosen().map(|(number, _)| number).collect();
    let name = |number: Number| number.checked_sub(1).and_then(|index| mutants.get(index));
    for step in suite.steps {
        let programs = build.programs(step)?;
        let trial = Trial::new(&programs, &tree.out)?;
        let viable: BTreeSet<Number> = build.chosen().map(|(number, _)| number).collect();
        let mut later = Vec::new();
        for number in missed {
            let Some(mutant) = name(number).filter(|_| viable.contains(&number)) else { continue };
            let package = step.tests.is_empty().then_some(mutant.package.as_str());
            match trial.verdict(number, package)? {
                Verdict::Missed => later.push(number),
                Verdict::Noticed => outcomes.caught.push(mutant.name.clone()),
                Verdict::Hanging => outcomes.timeouts.push(mutant.name.clone()),
            }
        }
        missed = later;
        eprintln!("{}: {} left after {} programs", suite.name, missed.len(), programs.len());
    }
    let names = |numbers: &[Number]| {
        let mutants = numbers.iter().filter_map(|number| name(*number));
        mutants.map(|mutant| mutant.name.clone()).collect()
    };
    outcomes.missed = names(&missed);
    outcomes.unviable = names(&build.unviable.iter().copied().collect::<Vec<_>>());
    outcomes.not_run = names(&build.fixed.iter().copied().collect::<Vec<_>>());
    Ok(outcomes)
}

/// So many of the mutants, in their order: the same ones for the same seed.
fn sample<T>(mut names: Vec<T>, size: usize, seed: u64) -> Vec<T> {
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
