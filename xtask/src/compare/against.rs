//! `cargo xtask compare --against COMMIT`: times the reads of another commit and of the current
//! files, each with its own timing program.
//!
//! Three processes take turns, so other load on the machine affects all of them alike: two of the
//! old commit's program and one of the current one. Processes of one program also differ (in the
//! position of their memory, and in what they did before), so each case has several sittings, each
//! with new processes. A difference is significant only if it is larger than the difference between
//! the old processes ([`judge`]). The cells of every case are compared as well. libtiledb is only
//! needed to create missing arrays.

mod commit;
mod judge;

use std::path::{Path, PathBuf};

use self::judge::{Judged, Timed};
use super::cases::{CASES, Case};
use super::workers::{self, Program, Worker};
use super::{SHORT, SHORT_RUNS, count, hash};
use crate::peer::repository_root;

const USAGE: &str = "usage: cargo xtask compare --against COMMIT [--only SUBSTR]... [--runs N] [--threads N] [--data DIR] [--build DIR]";

/// The number of times new processes are started for a case.
const SITTINGS: usize = 5;

struct Options {
    commit: String,
    only: Vec<String>,
    runs: usize,
    threads: usize,
    data: Option<PathBuf>,
    build: Option<PathBuf>,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut options =
            Self { commit: String::new(), only: Vec::new(), runs: 15, threads, data: None, build: None };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value\n{USAGE}"));
            match arg.as_str() {
                "--against" => options.commit.clone_from(value()?),
                "--only" => options.only.push(value()?.clone()),
                "--runs" => options.runs = count(arg, value()?)?,
                "--threads" => options.threads = count(arg, value()?)?,
                "--data" => options.data = Some(value()?.into()),
                "--build" => options.build = Some(value()?.into()),
                _ => return Err(format!("unknown argument {arg}\n{USAGE}")),
            }
        }
        Ok(options)
    }

    /// The cases that have one of the words in their names; all cases if there are no words.
    fn cases(&self) -> Result<Vec<&'static Case>, String> {
        let wanted =
            |case: &&Case| self.only.is_empty() || self.only.iter().any(|words| case.name.contains(words));
        let cases: Vec<&Case> = CASES.iter().filter(wanted).collect();
        if cases.is_empty() {
            return Err(format!("no case has {} in its name", self.only.join(" or ")));
        }
        Ok(cases)
    }
}

/// Entry point: `args` are the words after `cargo xtask compare`, including `--against`.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let cases = options.cases()?;
    let data = data(&root, options.data.as_ref(), &cases)?;
    let tree = commit::Tree::at(&root, &options.commit, options.build.as_deref())?;
    let programs = Programs { old: tree.build()?, new: workers::build_tdb(&root)? };

    let mut judged: Vec<Judged> = Vec::new();
    let mut left_out = Vec::new();
    for case in cases {
        let mut runs = vec![(case.name.to_owned(), options.threads)];
        if case.scales && options.threads > 1 {
            runs.push((format!("{}, one thread", case.name), 1));
        }
        for (name, threads) in runs {
            eprintln!("{name}");
            let measured = measure(case, &data, options.runs, || programs.start(threads));
            match measured.map_err(|error| format!("{name}: {error}"))? {
                Measured::Timed(timed) => judged.push(Judged::new(name, case.class(), &timed)),
                Measured::Unknown(why) => left_out.push(format!("left out {name}: {why}")),
            }
        }
    }
    print!("{}", judge::text(&judged));
    left_out.iter().for_each(|line| println!("{line}"));
    println!(
        "old: {}; new: the files in {}; {} threads, at least {} runs in {SITTINGS} sittings",
        tree.name(),
        root.display(),
        options.threads,
        options.runs
    );
    let names = |wrong: fn(&Judged) -> bool| {
        let names: Vec<&str> =
            judged.iter().filter(|case| wrong(case)).map(|case| case.name.as_str()).collect();
        names.join("; ")
    };
    match (names(Judged::differs), names(Judged::is_slower)) {
        (differ, _) if !differ.is_empty() => Err(format!("other cells than before: {differ}")),
        (_, slower) if !slower.is_empty() => Err(format!("slower than before: {slower}")),
        _ => Ok(()),
    }
}

/// The folder of the arrays. libtiledb creates missing arrays; if none is missing, libtiledb is not
/// needed.
fn data(root: &Path, chosen: Option<&PathBuf>, cases: &[&Case]) -> Result<PathBuf, String> {
    match chosen {
        Some(folder) if cases.iter().all(|case| case.folder(folder).is_dir()) => Ok(folder.clone()),
        _ => Ok(workers::arrays(root, chosen.cloned())?.1),
    }
}

/// The two timing programs.
struct Programs {
    old: Program,
    new: Program,
}

impl Programs {
    fn start(&self, threads: usize) -> Result<Sides, String> {
        Ok(Sides {
            old: self.old.start_as("the old commit", threads)?,
            again: self.old.start_as("the old commit again", threads)?,
            new: self.new.start_as("the present files", threads)?,
        })
    }
}

/// The three processes of a sitting.
struct Sides {
    old: Worker,
    again: Worker,
    new: Worker,
}

/// The outcome of a case.
enum Measured {
    Timed(Timed),
    /// The old program cannot run it; contains its error.
    Unknown(String),
}

/// Times a case; `start` starts the processes of each sitting.
fn measure(
    case: &Case,
    data: &Path,
    runs: usize,
    start: impl Fn() -> Result<Sides, String>,
) -> Result<Measured, String> {
    let request = case.request(data);
    let mut timed = Timed::default();
    for sitting in 0..SITTINGS {
        let mut sides = start()?;
        let new = sides.new.ask(&request)?.seconds;
        let old = match sides.old.ask(&request) {
            Ok(old) => old.seconds,
            Err(why) => return Ok(Measured::Unknown(why)),
        };
        sides.again.ask(&request)?;
        if sitting == 0 {
            timed.differs = hash(&mut sides.new)? != hash(&mut sides.old)?;
        }
        let rounds =
            runs.div_ceil(SITTINGS).saturating_mul(if new.max(old) < SHORT { SHORT_RUNS } else { 1 });
        let [mut old, mut again, mut new] = [const { Vec::new() }; 3];
        for round in 0..rounds {
            // Forwards and backwards, beginning with another process each time, so the state of the
            // caches after the previous process affects all alike.
            for turn in 0..3 {
                let turn = if round % 2 == 0 { turn } else { 2 - turn };
                let (worker, seconds) = match (round + turn) % 3 {
                    0 => (&mut sides.old, &mut old),
                    1 => (&mut sides.new, &mut new),
                    _ => (&mut sides.again, &mut again),
                };
                seconds.push(worker.ask(&request)?.seconds);
            }
        }
        timed.old.push(old);
        timed.again.push(again);
        timed.new.push(new);
    }
    Ok(Measured::Timed(timed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The outcome of a case whose programs are these programs of `fake_worker.sh`.
    fn measured(old: usize, new: usize) -> Measured {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/src/compare/against/fake_worker.sh");
        let fake = Program::new(script.into());
        let start = |which| fake.start_as("fake", which).unwrap();
        let sides = || Ok(Sides { old: start(old), again: start(old), new: start(new) });
        measure(&CASES[0], Path::new("nowhere"), SITTINGS, sides).unwrap()
    }

    fn judged(old: usize, new: usize) -> Judged {
        let Measured::Timed(timed) = measured(old, new) else { panic!("the old program knows the case") };
        for sittings in [&timed.old, &timed.again, &timed.new] {
            assert_eq!(sittings.iter().map(Vec::len).collect::<Vec<_>>(), [SHORT_RUNS; SITTINGS]);
        }
        Judged::new("x".to_owned(), "all", &timed)
    }

    #[test]
    fn a_program_that_takes_twice_as_long_is_slower_and_the_other_way_round_it_is_not() {
        assert!(judged(1, 2).is_slower() && !judged(1, 2).differs());
        assert!(!judged(2, 1).is_slower() && !judged(1, 1).is_slower());
    }

    #[test]
    fn other_cells_are_noticed() {
        assert!(judged(1, 4).differs());
    }

    #[test]
    fn a_case_that_the_old_program_does_not_know_is_left_out_with_its_words() {
        assert!(matches!(measured(3, 1), Measured::Unknown(why) if why.ends_with("unknown request")));
    }

    #[test]
    fn cases_are_chosen_by_any_of_several_words() {
        let words = |words: &[&str]| {
            let args: Vec<String> =
                words.iter().flat_map(|word| ["--only", word]).map(str::to_owned).collect();
            Options::parse(&args).unwrap().cases().map(|cases| cases.len())
        };
        assert_eq!(words(&[]), Ok(CASES.len()));
        assert_eq!(words(&["500 fragments: open", "500 fragments: all"]), Ok(2));
        assert!(words(&["no such case"]).is_err());
    }
}
