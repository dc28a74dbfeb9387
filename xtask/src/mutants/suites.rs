//! Which tests must notice the mutants of which crate.

/// The tests and the bar of one crate.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) package: &'static str,
    /// The packages whose tests run for each mutant.
    pub(super) tests: &'static [&'static str],
    /// The least share of the mutants that they must notice, in per cent.
    pub(super) bar: usize,
    /// How many mutants run if the command line does not say it: all, or so many by the seed where
    /// all would take more than an hour.
    pub(super) sample: Option<usize>,
}

/// A crate that people use alone: its own tests must notice a fault.
const fn lower(package: &'static str, own: &'static [&'static str], sample: Option<usize>) -> Suite {
    Suite { package, tests: own, bar: 90, sample }
}

/// The crates in stack order.
pub(super) const SUITES: &[Suite] = &[
    lower("tdb-codec", &["tdb-codec"], None),
    lower("tdb-filters", &["tdb-filters"], Some(300)),
    lower("tdb-tile", &["tdb-tile"], None),
    lower("tdb-schema", &["tdb-schema"], None),
    lower("tdb-fragment", &["tdb-fragment"], None),
];
