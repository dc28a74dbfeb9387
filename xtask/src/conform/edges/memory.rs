//! The least memory of the command: what it says that it needs is enough, not a byte less is, and
//! the process keeps to it.
//!
//! Random arrays (`memory/case.rs`) are read, exported, copied and drawn under `--memory`. A byte
//! is refused, with the least memory that is enough; with that the command does what it does
//! without a limit; with any less it is refused again, and told the same. Of large arrays, the
//! process's memory is watched: beyond what the command takes for a tiny array, it stays below the
//! limit.

mod case;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tdb_array::{Layout, MemoryBudget, OpenOptions};

use self::case::Case;
use super::super::built;
use super::super::random::Random;
use super::Options;
use crate::peer::scratch;

/// What the command is asked to do.
const ASKED: [&str; 6] = ["csv", "json", "arrow", "parquet", "copy", "show"];
/// How many budgets below the least one are tried.
const BELOW: usize = 3;
/// Every so many cases, arrays are large.
const LARGE: u64 = 4;

/// Runs the part.
pub(super) fn run(options: &Options) -> Result<(), String> {
    let tdb = built::tdb(options.tdb.clone(), "sql")?;
    let folder = scratch("least-memory");
    let done = run_in(options, &tdb, &folder);
    let _ = fs::remove_dir_all(&folder);
    done
}

fn run_in(options: &Options, tdb: &Path, folder: &Path) -> Result<(), String> {
    let started = Instant::now();
    let (mut cases, mut found, mut unexplained) = (0u64, Found::default(), Vec::new());
    // No case is begun that does not end in time.
    while started.elapsed() < options.time.saturating_sub(options.time / 10) {
        let seed = options.seed.wrapping_add(cases);
        cases = cases.saturating_add(1);
        let mut random = Random::new(seed);
        let case = Case::draw(&mut random, seed.is_multiple_of(LARGE));
        let _ = fs::remove_dir_all(folder);
        let place = Place { tdb, folder, case: &case };
        let array = folder.join("array");
        fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        case.write(&array, false).map_err(|error| format!("seed {seed}: {error}"))?;
        case.write(&folder.join("tiny"), true).map_err(|error| format!("seed {seed}: {error}"))?;
        for what in ASKED {
            if let Err(why) = place.check(what, &mut random, &mut found) {
                println!("seed {seed}, {what}: {why}: {case:?}");
                unexplained.push(format!("{what} of seed {seed}"));
            }
        }
    }
    let Found { checked, needless, generous, watched, nearest } = found;
    println!("{cases} arrays: {checked} commands at their least memory and below, {needless} that need none");
    println!(
        "{generous} budgets below that are enough for copies of dense texts (their size is known only when they are read)"
    );
    println!("{watched} processes watched; the one nearest to its limit took {nearest} % of it");
    println!("{} unexplained", unexplained.len());
    if unexplained.is_empty() { Ok(()) } else { Err(unexplained.join(", ")) }
}

/// What was tried.
#[derive(Debug, Default)]
struct Found {
    checked: u64,
    /// Commands for which a byte is enough, as they read no cells.
    needless: u64,
    /// Budgets below the least one, which were enough for a copy of a dense array with values of
    /// variable length.
    generous: u64,
    watched: u64,
    /// The largest share of its memory that a command took, in percent.
    nearest: u64,
}

/// What came of a command.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// What it made.
    Made(Vec<u8>),
    /// The least memory, as it says.
    Refused(u64),
}

/// A case, and where its array is.
struct Place<'p> {
    tdb: &'p Path,
    folder: &'p Path,
    case: &'p Case,
}

impl Place<'_> {
    /// Finds the least memory of a command.
    fn check(&self, what: &str, random: &mut Random, found: &mut Found) -> Result<(), String> {
        let whole = match self.ask(what, None)? {
            Outcome::Made(whole) => whole,
            Outcome::Refused(least) => return Err(format!("refused without a limit, and told {least}")),
        };
        let least = match self.ask(what, Some(1))? {
            Outcome::Refused(least) => least,
            Outcome::Made(_) => {
                found.needless = found.needless.saturating_add(1);
                return Ok(());
            }
        };
        match self.ask(what, Some(least))? {
            Outcome::Made(made) if made == whole => {}
            Outcome::Made(_) => return Err(format!("something else is made in {least} bytes")),
            Outcome::Refused(more) => return Err(format!("told {least}, and with that {more}")),
        }
        let below = (0..BELOW).map(|_| random.between(1, least.saturating_sub(1)));
        for bytes in below.chain([least.saturating_sub(1)]).collect::<Vec<_>>() {
            match self.ask(what, Some(bytes))? {
                Outcome::Refused(again) if again == least => {}
                Outcome::Refused(again) => return Err(format!("told {least}, and with {bytes} {again}")),
                Outcome::Made(made) if made == whole && what == "copy" && self.case.has_texts_in_boxes() => {
                    found.generous = found.generous.saturating_add(1);
                }
                Outcome::Made(_) => return Err(format!("told {least}, and {bytes} are enough")),
            }
        }
        found.checked = found.checked.saturating_add(1);
        if self.case.is_large() {
            let base = self.peak(what, "tiny", least)?;
            let peak = self.peak(what, "array", least)?.saturating_sub(base);
            let share = peak.saturating_mul(100).checked_div(least).unwrap_or(0);
            found.watched = found.watched.saturating_add(1);
            found.nearest = found.nearest.max(share);
            if peak > least {
                return Err(format!(
                    "the process takes {peak} bytes more than for a tiny array, and {least} are its limit"
                ));
            }
        }
        Ok(())
    }

    /// Runs a command within some memory.
    fn ask(&self, what: &str, memory: Option<u64>) -> Result<Outcome, String> {
        let made = self.made(what);
        let mut command = self.command(what, "array", &made, memory);
        let output = command.output().map_err(|error| format!("{}: {error}", self.tdb.display()))?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let content = self.content(what, &made, text);
            remove(&made);
            return content.map(Outcome::Made);
        }
        if made.exists() {
            remove(&made);
            return Err(format!("a refused command leaves {} behind", made.display()));
        }
        least_of(&said).map(Outcome::Refused).ok_or_else(|| format!("with {memory:?} bytes: {said}"))
    }

    /// Where a command puts what it makes.
    fn made(&self, what: &str) -> PathBuf {
        let name = match what {
            "csv" | "json" | "arrow" | "parquet" => format!("made.{what}"),
            "show" => "made.svg".to_owned(),
            _ => "copy".to_owned(),
        };
        self.folder.join(name)
    }

    fn command(&self, what: &str, array: &str, made: &Path, memory: Option<u64>) -> Command {
        let mut command = Command::new(self.tdb);
        command.stdin(Stdio::null()).env("NO_COLOR", "1").current_dir(self.folder);
        match what {
            "csv" | "json" => {
                command.args(["read", array, "--order", "row", "--format", what, "--out"]).arg(made)
            }
            "arrow" | "parquet" => command.args(["export", array]).arg(made),
            "copy" => command.args(["copy", array]).arg(made),
            _ => command.args(["show", array, "--kind", self.case.picture(), "--out"]).arg(made),
        };
        if array == "array" {
            command.args(self.case.ranges().iter().flat_map(|range| ["--range", range]));
        }
        if let Some(memory) = memory {
            command.args(["--memory", &memory.to_string()]);
        }
        if what != "copy" {
            command.args(["--threads", "2"]);
        }
        command
    }

    /// What a command has made, as bytes that do not depend on its memory.
    fn content(&self, what: &str, made: &Path, said: String) -> Result<Vec<u8>, String> {
        let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", made.display());
        match what {
            // Batches, and with them the groups of rows in a file, depend on memory: the number of
            // cells does not.
            "arrow" | "parquet" => Ok(said.into_bytes()),
            "copy" => {
                let array = OpenOptions::new().open(made).map_err(|error| failed(&error))?;
                let cells = array.read().order(Layout::RowMajor).collect().map_err(|error| failed(&error))?;
                let bytes = cells.columns().iter().flat_map(|column| column.bytes().to_vec());
                Ok(self.in_any_order(bytes.collect()))
            }
            _ => fs::read(made).map(|bytes| self.in_any_order(bytes)).map_err(|error| failed(&error)),
        }
    }

    /// Bytes that are the same whichever of several cells at one place comes first.
    fn in_any_order(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.case.has_duplicates() {
            bytes.sort_unstable();
        }
        bytes
    }

    /// The most resident memory that a command had, without the pages of its program and of files:
    /// debug builds of the program are hundreds of megabytes, and how many of these pages are
    /// touched depends on what a command does.
    fn peak(&self, what: &str, array: &str, memory: u64) -> Result<u64, String> {
        let made = self.made(what);
        let mut command = self.command(what, array, &made, Some(memory));
        let mut child =
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        let status = PathBuf::from(format!("/proc/{}/status", child.id()));
        let mut peak = 0u64;
        loop {
            let text = fs::read_to_string(&status).unwrap_or_default();
            let bytes = |name| {
                let line = text.lines().find_map(|line| line.strip_prefix(name))?;
                Some(line.split_whitespace().next()?.parse::<u64>().ok()? << 10)
            };
            let own =
                bytes("VmHWM:").zip(bytes("RssFile:")).map(|(all, of_files)| all.saturating_sub(of_files));
            peak = peak.max(own.unwrap_or(0));
            if child.try_wait().map_err(|error| error.to_string())?.is_some() {
                remove(&made);
                return Ok(peak);
            }
            std::thread::sleep(Duration::from_micros(300));
        }
    }
}

/// Removes a file or a folder.
fn remove(path: &Path) {
    let _ = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
}

/// The least memory that a message names.
fn least_of(said: &str) -> Option<u64> {
    let amount = said.split("needs at least ").nth(1)?;
    let words: Vec<&str> = amount.split_whitespace().take(2).collect();
    let amount = words.join(" ");
    amount.trim_end_matches(['.', ',', ':', ';']).parse().ok().map(MemoryBudget::bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_memory_is_found_in_messages() {
        let said =
            "tdb: a: a memory budget of 1 B is too small for this query, which needs at least 2646 KiB\n";
        assert_eq!(least_of(said), Some(2646 << 10));
        assert_eq!(
            least_of("tdb: a: --memory: 1 B is not enough for this copy, which needs at least 1 MiB"),
            Some(1 << 20)
        );
        assert_eq!(least_of("tdb: no array"), None);
    }
}
