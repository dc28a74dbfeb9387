//! `cargo xtask compare --against COMMIT`: times the reads of another commit and of the present files, each with its own timing
//! program.
//!
//! Three processes run for the whole comparison and take turns, so that what else the machine does hits all alike: two of the
//! old commit's program and one of the present one. What the two old ones differ by is what a difference must exceed to mean
//! anything ([`judge`]). Every case's cells are compared, too. libtiledb is only needed to make arrays that are not there yet.

mod commit;
mod judge;

use std::path::{Path, PathBuf};

use self::judge::{Judged, Timed};
use super::cases::{CASES, Case};
use super::workers::{self, Program, Worker};
use super::{SHORT, SHORT_RUNS, count, hash};
use crate::peer::repository_root;

const USAGE: &str = "usage: cargo xtask compare --against COMMIT [--only SUBSTR]... [--runs N] [--threads N] [--data DIR] [--build DIR]";

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
            let mut value = || args.next().ok_or_else(|| format!("{arg} wants a value\n{USAGE}"));
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

    /// The cases that have one of the words in their names; all, if there are no words.
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

/// Entry point: `args` are the words after `cargo xtask compare`, `--against` among them.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let cases = options.cases()?;
    let data = data(&root, options.data.as_ref(), &cases)?;
    let new = workers::build_tdb(&root)?;
    let tree = commit::Tree::at(&root, &options.commit, options.build.as_deref())?;
    let programs = Programs { old: tree.build()?, new };

    let mut judged: Vec<Judged> = Vec::new();
    let mut left_out = Vec::new();
    let (mut all, mut one) = (None, None);
    for case in cases {
        let mut runs = vec![(case.name.to_owned(), options.threads, &mut all)];
        if case.scales && options.threads > 1 {
            runs.push((format!("{}, one thread", case.name), 1, &mut one));
        }
        for (name, threads, sides) in runs {
            eprintln!("{name}");
            let sides = match sides {
                Some(sides) => sides,
                None => sides.insert(Sides::start(&programs, threads)?),
            };
            match sides.measure(case, &data, options.runs).map_err(|error| format!("{name}: {error}"))? {
                Measured::Timed(timed) => judged.push(Judged::new(name, case.class(), &timed)),
                Measured::Unknown(why) => left_out.push(format!("left out {name}: {why}")),
            }
        }
    }
    print!("{}", judge::text(&judged));
    left_out.iter().for_each(|line| println!("{line}"));
    println!(
        "old: {}; new: the files in {}; {} threads, at least {} runs of each process",
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

/// The folder of the arrays. Those that are missing are made by libtiledb; if none is, it is not asked for.
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

/// The three processes, with one number of threads.
struct Sides {
    old: Worker,
    again: Worker,
    new: Worker,
}

/// What became of a case.
enum Measured {
    Timed(Timed),
    /// The old program cannot do it, in its words.
    Unknown(String),
}

impl Sides {
    fn start(programs: &Programs, threads: usize) -> Result<Self, String> {
        Ok(Self {
            old: programs.old.start_as("the old commit", threads)?,
            again: programs.old.start_as("the old commit again", threads)?,
            new: programs.new.start_as("the present files", threads)?,
        })
    }

    fn measure(&mut self, case: &Case, data: &Path, runs: usize) -> Result<Measured, String> {
        let request = case.request(data);
        let warm = self.new.ask(&request)?;
        let old = match self.old.ask(&request) {
            Ok(old) => old,
            Err(why) => return Ok(Measured::Unknown(why)),
        };
        self.again.ask(&request)?;
        let differs = hash(&mut self.new)? != hash(&mut self.old)?;
        let mut timed = Timed { differs, ..Timed::default() };
        let short = warm.seconds.max(old.seconds) < SHORT;
        for round in 0..if short { runs.saturating_mul(SHORT_RUNS) } else { runs } {
            // Forth and back, from another one each time: what the one before leaves in the caches hits all alike.
            for turn in 0..3 {
                let turn = if round % 2 == 0 { turn } else { 2 - turn };
                let (worker, seconds) = match (round + turn) % 3 {
                    0 => (&mut self.old, &mut timed.old),
                    1 => (&mut self.new, &mut timed.new),
                    _ => (&mut self.again, &mut timed.again),
                };
                seconds.push(worker.ask(&request)?.seconds);
            }
        }
        Ok(Measured::Timed(timed))
    }
}
