//! Evaluates the answers of libraries for arrays that tdb created.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::batch::{self, Batch, Good};
use super::bench::Case;
use super::rules;
use crate::conform::peers::{Answer, Outcome, Peer};
use crate::conform::releases::Releases;
use crate::peer::READER;

/// The message of `writes_peer.py` for correct cells in another order.
const REORDERED: &str = "in another order, ";
/// The message of `writes_peer.py` for arrays that a library does not create.
const CREATE: &str = "create: ";
/// For arrays that neither tdb nor the newest library creates, although a library of the version's
/// time does.
const OUTDATED: &str = "refused, as libtiledb 2.30 no longer makes it";
/// For arrays that tdb refuses because releases of the version's time fail on some cells of such
/// arrays, although not on all.
const BEYOND: &str = "refused by \"Old versions\": dense domains and tiles past the largest number of their type, negative INT8 and INT16";
/// For features that tdb refuses and libtiledb creates, but whose cells libtiledb does not write,
/// or misreads.
const USELESS: &str =
    "refused, and libtiledb does not write, or misreads, the cells that it makes the array for";
/// Number of failures of a version and library that are printed in full.
const SHOWN: usize = 5;
/// Largest number of characters of a failure that is reported immediately.
const LONGEST: usize = 400;

/// The outcomes of the cases of one version with one library.
#[derive(Debug, Default)]
pub(super) struct Counts {
    cases: usize,
    equal: usize,
    cells: u64,
    /// Arrays of the same cells that the library writes itself and then cannot read, or reads as
    /// other cells.
    own: Vec<String>,
    /// Arrays that neither tdb nor the library creates.
    refused: usize,
    excused: BTreeMap<&'static str, usize>,
    /// Queries that were not run, by the rule with the reason.
    unasked: BTreeMap<&'static str, usize>,
    failures: Vec<String>,
}

/// All counts, by version and library.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: BTreeMap<(u32, String), Counts>,
    /// Failures of tdb alone.
    failures: Vec<String>,
    verified: usize,
}

/// Cases of a batch with the data that peers need.
pub(super) struct Bench<'b> {
    pub(super) releases: &'b Releases,
    pub(super) script: &'b Path,
    pub(super) folder: &'b Path,
    /// The command that creates a case again.
    pub(super) again: &'b dyn Fn(usize) -> String,
}

/// One library, the version of its cases, and the positions of the cases in the list.
pub(super) struct Job {
    pub(super) version: u32,
    pub(super) reader: String,
    pub(super) cases: Vec<usize>,
}

impl Bench<'_> {
    /// Lets a library read or write some cases of the list.
    pub(super) fn start(
        &self,
        reader: &str,
        op: &'static str,
        list: &Path,
        arrays: PathBuf,
        cases: usize,
    ) -> Result<Peer, String> {
        let library = self.releases.path(reader)?;
        Peer {
            script: self.script.to_owned(),
            library,
            batch: list.to_owned(),
            op,
            arrays,
            cases,
            child: None,
        }
        .start()
    }

    /// The answers of a library that creates the arrays of some cases itself and then reads them.
    fn own(&self, reader: &str, cases: &[usize]) -> Result<BTreeMap<usize, (Answer, Answer)>, String> {
        if cases.is_empty() {
            return Ok(BTreeMap::new());
        }
        let list = batch::chosen(self.folder, &format!("own-{reader}"), cases, true, &mut |_, _| true)?;
        let ask = |op| self.start(reader, op, &list, list.join("arrays"), cases.len())?.finish();
        let able = ask("write")?;
        let own = ask("read")?;
        std::fs::remove_dir_all(&list).map_err(|error| error.to_string())?;
        Ok(cases.iter().copied().zip(able.into_iter().zip(own)).collect())
    }

    /// Lets libraries read the arrays that tdb created, two at a time, and evaluates their answers.
    pub(super) fn read(&self, made: &Batch, jobs: &[Job], tally: &mut Tally) -> Result<(), String> {
        tally.verified += made.verified;
        for (number, case, why) in &made.failures {
            let (described, again) = (case.describe(), (self.again)(*number));
            let version = case.made.schema.version;
            tally.failures.push(tell(format!(
                "version {version} case {number}, tdb: {why}\n    {described}\n    {again}"
            )));
        }
        for pair in jobs.chunks(2) {
            let mut peers = Vec::new();
            for job in pair.iter().filter(|job| !job.cases.is_empty()) {
                let name = format!("for-{}-{}", job.version, job.reader);
                let counts = tally.counts.entry((job.version, job.reader.clone())).or_default();
                let mut asked = |at: usize, layout: &str| {
                    let why =
                        made.good.get(at).and_then(|good| rules::unasked(&good.case, layout, &job.reader));
                    why.into_iter().for_each(|why| *counts.unasked.entry(why).or_default() += 1);
                    why.is_none()
                };
                let list = batch::chosen(self.folder, &name, &job.cases, false, &mut asked)?;
                let arrays = self.folder.join("arrays");
                peers.push((job, self.start(&job.reader, "read", &list, arrays, job.cases.len())?));
            }
            for (job, peer) in peers {
                let answers = peer.finish()?;
                self.judge(made, job, &answers, tally)?;
            }
        }
        Ok(())
    }

    fn judge(&self, made: &Batch, job: &Job, answers: &[Answer], tally: &mut Tally) -> Result<(), String> {
        let answers = || job.cases.iter().copied().zip(answers);
        let wrong = answers().filter(|(_, answer)| answer.outcome != Outcome::Equal);
        let wrong: Vec<usize> = wrong.map(|(at, _)| at).collect();
        let own = self.own(&job.reader, &wrong)?;
        let counts = tally.counts.entry((job.version, job.reader.clone())).or_default();
        for (at, answer) in answers() {
            let Some(good) = made.good.get(at) else { continue };
            counts.cases += 1;
            counts.add(job, good, answer, own.get(&at), &(self.again)(good.number));
        }
        Ok(())
    }

    /// Tests whether libraries can create the arrays that tdb refuses: the library of the version's
    /// time and, if it can, the newest one, which no longer creates some arrays that old ones did.
    pub(super) fn refusals(&self, made: &Batch, jobs: &[Job], tally: &mut Tally) -> Result<(), String> {
        for job in jobs {
            let own = self.own(&job.reader, &job.cases)?;
            let able: Vec<usize> = own
                .iter()
                .filter(|(_, (able, read))| [able.outcome, read.outcome] == [Outcome::Equal; 2])
                .map(|(at, _)| *at)
                .filter(|_| job.reader != READER)
                .collect();
            let newest = self.own(READER, &able)?;
            let counts = tally.counts.entry((job.version, job.reader.clone())).or_default();
            for (at, own) in own {
                let refused = at.checked_sub(made.good.len()).and_then(|at| made.refused.get(at));
                let Some((good, why)) = refused else { continue };
                counts.cases += 1;
                let again = (self.again)(good.number);
                counts.refusal(job, good, why, &own, newest.get(&at), &again);
            }
        }
        Ok(())
    }
}

/// Reports a failure as soon as it is found, because runs are long.
fn tell(failure: String) -> String {
    let first = failure.lines().next().unwrap_or_default();
    eprintln!("FAILED {}", first.chars().take(LONGEST).collect::<String>());
    failure
}

impl Counts {
    /// Evaluates a refusal of tdb with the answers of libraries.
    fn refusal(
        &mut self,
        job: &Job,
        good: &Good,
        why: &str,
        (able, read): &(Answer, Answer),
        newest: Option<&(Answer, Answer)>,
        again: &str,
    ) {
        let Job { version, reader, .. } = job;
        let (number, described) = (good.number, good.case.describe());
        let unmade = |able: &Answer| able.outcome != Outcome::Equal && able.what.starts_with(CREATE);
        if good.case.is_beyond_old_libraries() {
            *self.excused.entry(BEYOND).or_default() += 1;
        } else if newest.is_some_and(|(able, _)| unmade(able)) {
            *self.excused.entry(OUTDATED).or_default() += 1;
        } else if able.outcome == Outcome::Equal && read.outcome == Outcome::Equal {
            self.failures.push(tell(format!(
                "version {version} case {number}: tdb refuses what libtiledb {reader} makes, writes and reads: {why}\n    {described}\n    {again}"
            )));
        } else if reader == READER && good.case.pair && !unmade(able) {
            // The tested feature is the only purpose of the array.
            *self.excused.entry(USELESS).or_default() += 1;
        } else if reader == READER && !unmade(able) {
            self.failures.push(tell(format!(
                "version {version} case {number}: tdb refuses what libtiledb {reader} makes, though it is not able to go on ({:?} {}): {why}\n    {described}\n    {again}",
                able.outcome, able.what
            )));
        } else {
            self.refused += 1;
        }
    }

    fn add(&mut self, job: &Job, good: &Good, answer: &Answer, own: Option<&(Answer, Answer)>, again: &str) {
        let Job { version, reader, .. } = job;
        let Good { number, case, cells } = good;
        if answer.outcome == Outcome::Equal {
            self.equal += 1;
            self.cells += cells;
            return;
        }
        // The newest library decides which order is correct, not tdb.
        let reordered = reader == READER && answer.what.contains(REORDERED);
        // Also with its own arrays: the library crashes when it writes the same cells, or does not
        // read what it wrote.
        let same = own.filter(|_| !reordered).and_then(|(able, own)| match able.outcome {
            Outcome::Equal if own.outcome != Outcome::Equal => Some(&own.what),
            Outcome::Crashed => Some(&able.what),
            _ => None,
        });
        // If a release cannot store its own array of the tested feature either, tdb must refuse to
        // create it.
        let lost = |what: &str| what.starts_with("signal") || what.starts_with("metadata are");
        if let Some(what) = same.filter(|what| case.pair && lost(what)) {
            self.failures.push(tell(format!(
                "version {version} case {number}, libtiledb {reader}: it cannot hold this itself ({what}), and tdb does not refuse it\n    {}\n    {again}",
                case.describe()
            )));
            return;
        }
        if let Some(what) = same {
            self.own.push(format!("version {version} case {number}, libtiledb {reader}: {what}"));
            return;
        }
        if let Some(why) = rules::excused(case, reader) {
            *self.excused.entry(why).or_default() += 1;
            return;
        }
        let own = match own {
            Some((able, _)) if able.outcome != Outcome::Equal => {
                format!("cannot write it ({:?}: {})", able.outcome, able.what)
            }
            Some((_, own)) if own.outcome != Outcome::Equal => {
                format!("reads otherwise what it wrote ({:?}: {})", own.outcome, own.what)
            }
            _ => "writes and reads it right".to_owned(),
        };
        self.failures.push(tell(format!(
            "version {version} case {number}, libtiledb {reader}: {:?}: {}\n    by itself it {own}\n    {}\n    {again}",
            answer.outcome,
            answer.what,
            case.describe(),
        )));
    }
}

impl Tally {
    /// A failure without any library.
    pub(super) fn failed(&mut self, case: &Case, number: usize, what: &str, again: &str) {
        let (version, described) = (case.made.schema.version, case.describe());
        self.failures
            .push(tell(format!("version {version} case {number}: {what}\n    {described}\n    {again}")));
    }

    /// A library that does not create the array to be copied, or creates it wrongly.
    pub(super) fn own(&mut self, version: u32, reader: &str, what: String) {
        let counts = self.counts.entry((version, reader.to_owned())).or_default();
        counts.cases += 1;
        counts.own.push(what);
    }

    /// The table of counts; an error if anything differs.
    pub(super) fn print(&self, what: &str) -> Result<(), String> {
        println!(
            "{what}\nversion  libtiledb   cases   equal   cells compared  own fault  excused  refused  FAILED"
        );
        let (mut failures, mut equal, mut shown) = (self.failures.len(), 0, Vec::new());
        shown.extend(self.failures.iter().take(4 * SHOWN));
        let mut excuses: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut unasked: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for ((version, library), counts) in &self.counts {
            let excused: usize = counts.excused.values().sum();
            println!(
                "{version:7}  {library:9} {:7} {:7} {:16} {:10} {excused:8} {:8} {:7}",
                counts.cases,
                counts.equal,
                counts.cells,
                counts.own.len(),
                counts.refused,
                counts.failures.len()
            );
            equal += counts.equal;
            failures += counts.failures.len();
            shown.extend(counts.failures.iter().take(SHOWN));
            for (why, count) in &counts.excused {
                *excuses.entry((library, *why)).or_default() += *count;
            }
            for (why, count) in &counts.unasked {
                *unasked.entry((library, *why)).or_default() += *count;
            }
        }
        println!("{equal} arrays read equal, {failures} not; verified {} times", self.verified);
        for ((library, why), count) in excuses {
            println!("excused {count} × libtiledb {library}: {why}");
        }
        for ((library, why), count) in unasked {
            println!("not asked {count} queries × libtiledb {library}: {why}");
        }
        println!("own faults, one of each library:");
        for counts in self.counts.values() {
            counts.own.first().into_iter().for_each(|own| println!("  {own}"));
        }
        for failure in shown {
            println!("{failure}");
        }
        if failures == 0 { Ok(()) } else { Err(format!("{failures} arrays differ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_fails_the_run_and_an_equal_array_does_not() {
        let mut tally = Tally::default();
        let counts = Counts { cases: 1, equal: 1, ..Counts::default() };
        tally.counts.insert((22, READER.to_owned()), counts);
        assert!(tally.print("writes").is_ok());
        for counts in tally.counts.values_mut() {
            counts.failures.push("differs".into());
        }
        assert!(tally.print("writes").is_err());
    }
}
