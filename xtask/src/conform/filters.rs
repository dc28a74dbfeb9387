//! `cargo xtask conform filters`: the live matrix of filters, types, shapes and data, compared with
//! libtiledb in both directions.
//!
//! Each case is one array. tdb writes it and libtiledb reads it; libtiledb writes it, reads it
//! back, and tdb reads it. Cells are compared bit by bit. If libtiledb refuses a case, its error
//! message is counted. If it reads other cells than it wrote, the results cannot be compared, and
//! that is counted too. Any other difference fails the run.

mod batch;
mod cases;
mod data;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use tdb_codec::FormatVersion;

use self::batch::{Bench, Result2};
use self::cases::Case;
use super::peers::Outcome;
use crate::peer::{READER, libraries, repository_root, scratch};

pub(super) const USAGE: &str = "[--only SUBSTR] [--every N] [--at VERSION] [--peer RELEASE] [--dir DIR]";

/// Cases that tdb refuses to write although libtiledb can write them: a part of the error message,
/// and the reason.
const REFUSED_ON_PURPOSE: [(&str, &str); 1] = [(
    "filter 'scale-float' cannot take",
    "integers that are scaled as if their bits were floats mostly come back as others",
)];

/// Number of cases that are on disk at a time.
const BATCH: usize = 400;
/// Number of failures that are printed in full.
const SHOWN: usize = 40;

struct Options {
    only: String,
    every: usize,
    version: Option<FormatVersion>,
    peer: String,
    folder: PathBuf,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let folder = scratch("conform-filters");
        let mut options =
            Self { only: String::new(), every: 1, version: None, peer: READER.to_owned(), folder };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"));
            match arg.as_str() {
                "--only" => options.only.clone_from(value()?),
                "--every" => {
                    let count = value()?.parse().ok().filter(|count| *count > 0);
                    options.every = count.ok_or("--every needs a number above 0")?;
                }
                "--at" => {
                    let version = value()?.parse().ok().and_then(|number| FormatVersion::parse(number).ok());
                    options.version = Some(version.ok_or("--at needs a format version")?);
                }
                "--peer" => options.peer.clone_from(value()?),
                "--dir" => options.folder = value()?.into(),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Counts of one chain of filters.
#[derive(Default)]
struct Counts {
    cases: usize,
    /// Written by tdb, and libtiledb read equal cells.
    to_peer: usize,
    /// Written by libtiledb, and tdb read equal cells.
    from_peer: usize,
    /// libtiledb refuses to create or write.
    peer_refuses_to_write: usize,
    /// libtiledb refuses to read what tdb wrote; it does not write such cells, or cannot read those
    /// it writes.
    peer_refuses_to_read: usize,
    /// libtiledb writes cells that it cannot read, or reads as other cells.
    peer_loses: usize,
    /// tdb refuses to write.
    refuses: usize,
    failures: usize,
}

#[derive(Default)]
struct Tally {
    groups: BTreeMap<String, Counts>,
    /// Messages of refusals, with their number and the first case.
    refusals: BTreeMap<String, (usize, String)>,
    failures: Vec<String>,
}

/// Entry point of the subcommand.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let root = repository_root()?;
    let library = libraries(&root, core::slice::from_ref(&options.peer))?
        .remove(&options.peer)
        .ok_or("no libtiledb")?;
    let all = cases::all();
    every_filter_has_a_case(&all)?;
    let chosen: Vec<&Case> =
        all.iter().filter(|case| case.name().contains(&options.only)).step_by(options.every).collect();
    let script = root.join("xtask/peer/conform_peer.py");
    let bench = Bench { script, library, folder: options.folder.clone(), version: options.version };
    let (started, mut tally) = (Instant::now(), Tally::default());
    let mut done = 0usize;
    for cases in chosen.chunks(BATCH) {
        for (case, result) in cases.iter().zip(bench.run(cases)?) {
            tally.add(case, &result);
        }
        done = done.saturating_add(cases.len());
        eprintln!("{done} of {} cases, {:.0} s", chosen.len(), started.elapsed().as_secs_f64());
    }
    if options.folder.exists() {
        std::fs::remove_dir_all(&options.folder).map_err(|error| error.to_string())?;
    }
    tally.print();
    let failures = tally.failures.len();
    if failures == 0 { Ok(()) } else { Err(format!("{failures} cases differ")) }
}

/// Fails if no case contains some filter of the format, which would be a new one.
fn every_filter_has_a_case(cases: &[Case]) -> Result<(), String> {
    let missing: Vec<&str> = tdb_filters::registry::all()
        .iter()
        .map(|row| row.name)
        .filter(|name| !cases.iter().any(|case| case.chain.has(name)))
        .collect();
    if missing.is_empty() { Ok(()) } else { Err(format!("no case of {}", missing.join(", "))) }
}

impl Tally {
    fn add(&mut self, case: &Case, result: &Result2) {
        let Result2 { written, read_by_peer, written_by_peer, read } = result;
        let counts = self.groups.entry(case.group().to_owned()).or_default();
        counts.cases = counts.cases.saturating_add(1);
        let mut failures = Vec::new();
        let mut refusals = Vec::new();
        // Whether libtiledb writes and reads such cells by itself.
        let able = written_by_peer.outcome == Outcome::Equal;
        match (written, read_by_peer) {
            (Err(error), _) => {
                counts.refuses = counts.refuses.saturating_add(1);
                refusals.push(format!("tdb to write: {error}"));
                if able && !REFUSED_ON_PURPOSE.iter().any(|(words, _)| error.contains(words)) {
                    failures.push(format!("tdb refuses what libtiledb writes and reads: {error}"));
                }
            }
            (Ok(()), Some(answer)) => match answer.outcome {
                Outcome::Equal => counts.to_peer = counts.to_peer.saturating_add(1),
                Outcome::Refused if !able => {
                    counts.peer_refuses_to_read = counts.peer_refuses_to_read.saturating_add(1);
                    refusals.push(format!("libtiledb to read: {}", answer.what));
                }
                // Values that are rounded, in the same way by both.
                Outcome::Differs if written_by_peer.outcome == Outcome::SelfDiffers => {}
                outcome => failures.push(format!("tdb → libtiledb: {outcome:?}: {}", answer.what)),
            },
            (Ok(()), None) => {}
        }
        match written_by_peer.outcome {
            Outcome::Equal => {}
            Outcome::Refused => {
                counts.peer_refuses_to_write = counts.peer_refuses_to_write.saturating_add(1);
                refusals.push(format!("libtiledb to write: {}", written_by_peer.what));
            }
            outcome => {
                counts.peer_loses = counts.peer_loses.saturating_add(1);
                refusals.push(format!("libtiledb by itself: {outcome:?}: {}", written_by_peer.what));
            }
        }
        match read {
            Some(Ok(None)) => counts.from_peer = counts.from_peer.saturating_add(1),
            Some(Ok(Some(wrong)) | Err(wrong)) if able => {
                failures.push(format!("libtiledb → tdb: {wrong}"));
            }
            _ => {}
        }
        counts.failures = counts.failures.saturating_add(usize::from(!failures.is_empty()));
        for refusal in refusals {
            let entry = self.refusals.entry(generic(&refusal)).or_insert_with(|| (0, case.name()));
            entry.0 = entry.0.saturating_add(1);
        }
        self.failures.extend(failures.into_iter().map(|failure| format!("{}: {failure}", case.name())));
    }

    fn print(&self) {
        println!(
            "{:44} {:>6} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>6}",
            "filters",
            "cases",
            "tdb→lib",
            "lib→tdb",
            "lib won't",
            "lib won't",
            "lib loses",
            "tdb won't",
            "FAILED"
        );
        println!("{:44} {:>6} {:>8} {:>8} {:>9} {:>9}", "", "", "equal", "equal", "write", "read");
        let mut total = [0usize; 8];
        for (name, counts) in &self.groups {
            let row = [
                counts.cases,
                counts.to_peer,
                counts.from_peer,
                counts.peer_refuses_to_write,
                counts.peer_refuses_to_read,
                counts.peer_loses,
                counts.refuses,
                counts.failures,
            ];
            total.iter_mut().zip(row).for_each(|(total, count)| *total = total.saturating_add(count));
            print_row(name, row);
        }
        print_row("all", total);
        println!("\nRefusals and losses, with one case of each:");
        for (words, (count, example)) in &self.refusals {
            println!("{count:6}  {words}\n        {example}");
        }
        for (words, why) in REFUSED_ON_PURPOSE {
            println!("\nRefused on purpose: {words} …: {why}");
        }
        if !self.failures.is_empty() {
            println!("\nFailures:");
        }
        for failure in self.failures.iter().take(SHOWN) {
            println!("{failure}");
        }
        if self.failures.len() > SHOWN {
            println!("… and {} more", self.failures.len().saturating_sub(SHOWN));
        }
    }
}

fn print_row(name: &str, row: [usize; 8]) {
    let [cases, to, from, write, read, loses, refuses, failures] = row;
    println!(
        "{name:44} {cases:>6} {to:>8} {from:>8} {write:>9} {read:>9} {loses:>9} {refuses:>9} {failures:>6}"
    );
}

/// A message without the parts that differ from case to case: numbers and paths.
fn generic(message: &str) -> String {
    let mut out = String::new();
    for word in message.split(' ') {
        if !out.is_empty() {
            out.push(' ');
        }
        if word.contains("tdb-conform") || word.contains("/__fragments/") {
            out.push('…');
        } else if word.bytes().any(|byte| byte.is_ascii_digit()) && word.len() < 24 {
            let text: String = word.chars().map(|c| if c.is_ascii_digit() { '#' } else { c }).collect();
            let mut last = ' ';
            out.extend(text.chars().filter(|c| {
                let keep = *c != '#' || last != '#';
                last = *c;
                keep
            }));
        } else {
            out.push_str(word);
        }
    }
    out
}
