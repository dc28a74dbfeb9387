//! Which tests must notice the mutants of which crates.

/// The mutants of one row of the table, the tests that must notice them, and the bar.
#[derive(Debug)]
pub(super) struct Suite {
    /// The row, for `--crate` and in the table.
    pub(super) name: &'static str,
    /// The crates in which the mutants are made.
    pub(super) packages: &'static [&'static str],
    /// The tests. Those of a step run on the mutants that all steps before it missed.
    pub(super) steps: &'static [Step],
    /// The least share of the mutants that they must notice, in per cent.
    pub(super) bar: usize,
    /// How many mutants run if the command line does not say it: all, or so many by the seed where
    /// all would take more than an hour.
    pub(super) sample: Option<usize>,
}

/// Tests that run together.
#[derive(Debug)]
pub(super) struct Step {
    /// The packages whose tests run for each mutant; none for the tests of the mutant's own
    /// package.
    pub(super) tests: &'static [&'static str],
    /// Which tests of these packages, in the words of `cargo test`. Examples of the documentation
    /// are left out: they show how something is used, and take long to build.
    pub(super) targets: &'static [&'static str],
}

/// The tests beside the code, and those in the folder `tests`.
const ALL: Step = Step { tests: &[], targets: &["--lib", "--tests"] };

/// The tests beside the code.
const UNITS: Step = Step { targets: &["--lib"], ..ALL };

/// A crate that people use alone: its own tests must notice a fault.
const fn lower(package: &'static [&'static str; 1]) -> Suite {
    let [name] = package;
    Suite { name, packages: package, steps: &[ALL], bar: 90, sample: None }
}

/// The rows in stack order.
pub(super) const SUITES: &[Suite] = &[
    lower(&["tdb-codec"]),
    Suite { sample: Some(300), ..lower(&["tdb-filters"]) },
    // The tests in its folder `tests` are about filters, and take minutes without optimisation.
    Suite { steps: &[UNITS], ..lower(&["tdb-tile"]) },
    lower(&["tdb-schema"]),
    lower(&["tdb-fragment"]),
    // What an array is at a time, what a query need not read, conditions, duplicates and orders.
    // These crates are one engine: whatever runs it may notice a fault, what takes least time
    // first.
    Suite {
        name: "engine",
        packages: &["tdb-order", "tdb-snapshot", "tdb-predicate", "tdb-scan"],
        steps: &[
            UNITS,
            Step { tests: &["tdb-query"], ..UNITS },
            Step { tests: &["tdb-array"], targets: &["--test=all"] },
        ],
        bar: 85,
        sample: Some(200),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_names_of_their_own_and_tests_in_each_step() {
        for (number, suite) in SUITES.iter().enumerate() {
            assert!(SUITES[..number].iter().all(|before| before.name != suite.name), "{}", suite.name);
            assert!(!suite.steps.is_empty() && suite.steps.iter().all(|step| !step.targets.is_empty()));
        }
    }
}
