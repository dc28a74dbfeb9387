//! The table of a run, and whether it passes.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::equivalent::LIST;
use super::suites::Suite;

/// The mutants of one row, by what the tests made of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    pub(super) caught: Vec<String>,
    pub(super) missed: Vec<String>,
    /// These do not compile, so they say nothing about the tests.
    pub(super) unviable: Vec<String>,
    /// A test that does not end notices the mutant too.
    pub(super) timeouts: Vec<String>,
    /// A build with all mutants cannot have these.
    pub(super) not_run: Vec<String>,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct Row {
    name: &'static str,
    bar: usize,
    outcomes: Outcomes,
    equivalent: usize,
    /// Mutants that the list calls equivalent although a test notices them.
    noticed: Vec<String>,
}

impl Row {
    /// Takes the mutants of the list of equivalent ones out of the missed ones.
    pub(super) fn new(suite: &Suite, mut outcomes: Outcomes, equivalent: &BTreeSet<String>) -> Self {
        let before = outcomes.missed.len();
        outcomes.missed.retain(|mutant| !equivalent.contains(mutant));
        let noticed = outcomes.caught.iter().chain(&outcomes.timeouts);
        Self {
            name: suite.name,
            bar: suite.bar,
            equivalent: before.saturating_sub(outcomes.missed.len()),
            noticed: noticed.filter(|mutant| equivalent.contains(*mutant)).cloned().collect(),
            outcomes,
        }
    }

    fn caught(&self) -> usize {
        self.outcomes.caught.len().saturating_add(self.outcomes.timeouts.len())
    }

    /// Tenths of a per cent of the mutants that the tests noticed, rounded down.
    fn share(&self) -> usize {
        let all = self.caught().saturating_add(self.outcomes.missed.len());
        self.caught().saturating_mul(1000).checked_div(all).unwrap_or(1000)
    }

    fn mutants(&self) -> usize {
        let Outcomes { caught, missed, unviable, timeouts, not_run } = &self.outcomes;
        [caught, missed, unviable, timeouts, not_run]
            .iter()
            .fold(self.equivalent, |sum, list| sum.saturating_add(list.len()))
    }
}

/// The table, and below it the missed mutants with file and line.
pub(super) fn text(rows: &[Row], seed: u64) -> String {
    let mut text = format!(
        "{:14} {:>5} {:>8} {:>7} {:>7} {:>8} {:>9} {:>8} {:>11} {:>7} {:>5}\n",
        "crate",
        "seed",
        "mutants",
        "caught",
        "missed",
        "unviable",
        "timeouts",
        "not run",
        "equivalent",
        "%",
        "bar"
    );
    for row in rows {
        let share = row.share();
        let (whole, tenth) = (share.checked_div(10).unwrap_or(0), share.checked_rem(10).unwrap_or(0));
        let Outcomes { caught, missed, unviable, timeouts, not_run } = &row.outcomes;
        // A write to a string cannot fail.
        let _ = writeln!(
            text,
            "{:14} {seed:>5} {:>8} {:>7} {:>7} {:>8} {:>9} {:>8} {:>11} {:>5}.{tenth} {:>5}",
            row.name,
            row.mutants(),
            caught.len(),
            missed.len(),
            unviable.len(),
            timeouts.len(),
            not_run.len(),
            row.equivalent,
            whole,
            row.bar,
        );
    }
    for mutant in rows.iter().flat_map(|row| &row.outcomes.missed) {
        text.push_str("missed: ");
        text.push_str(mutant);
        text.push('\n');
    }
    text
}

/// Whether each row reaches its bar, and the list of equivalent mutants is true.
pub(super) fn verdict(rows: &[Row]) -> Result<(), String> {
    let mut faults = Vec::new();
    for row in rows {
        if row.share() < row.bar.saturating_mul(10) {
            faults.push(format!("the tests notice less than {} % of the mutants of {}", row.bar, row.name));
        }
        let noticed = row.noticed.iter();
        faults
            .extend(noticed.map(|mutant| format!("{LIST} calls {mutant} equivalent, but a test notices it")));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: Suite =
        Suite { name: "tdb-tile", packages: &["tdb-tile"], steps: &[], bar: 90, sample: None };

    fn names(letter: &str, count: usize) -> Vec<String> {
        (0..count).map(|number| format!("a.rs:{number}:1: {letter}")).collect()
    }

    fn row(caught: usize, missed: usize, equivalent: &[&str]) -> Row {
        let outcomes = Outcomes {
            caught: names("caught", caught),
            missed: names("missed", missed),
            unviable: names("unviable", 5),
            timeouts: names("timeout", 1),
            not_run: names("constant", 2),
        };
        Row::new(&SUITE, outcomes, &equivalent.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn the_share_leaves_out_unviable_mutants_and_counts_timeouts_as_noticed() {
        assert!(verdict(&[row(8, 1, &[])]).is_ok());
        let error = verdict(&[row(8, 1, &[]), row(7, 1, &[])]).unwrap_err();
        assert_eq!(error, "the tests notice less than 90 % of the mutants of tdb-tile");
    }

    #[test]
    fn equivalent_mutants_do_not_count_as_missed_and_must_not_be_noticed() {
        let passes = row(7, 1, &["a.rs:0:1: missed"]);
        assert!(verdict(std::slice::from_ref(&passes)).is_ok());
        assert!(!text(&[passes], 47).contains("missed: "));
        let error = verdict(&[row(9, 0, &["a.rs:3:1: caught"])]).unwrap_err();
        assert!(error.ends_with("calls a.rs:3:1: caught equivalent, but a test notices it"), "{error}");
    }

    #[test]
    fn the_table_has_a_row_a_crate_and_the_missed_mutants_follow() {
        let text = text(&[row(10, 2, &["a.rs:1:1: missed"])], 47);
        let lines: Vec<&str> = text.lines().collect();
        let words: Vec<&str> = lines[1].split_whitespace().collect();
        assert_eq!(words, ["tdb-tile", "47", "20", "10", "1", "5", "1", "2", "1", "91.6", "90"]);
        assert_eq!(lines[2..], ["missed: a.rs:0:1: missed"]);
    }
}
