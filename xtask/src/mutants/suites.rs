//! Which tests must notice the mutants of which crate.

/// The tests and the bar of one crate.
#[derive(Debug)]
pub(super) struct Suite {
    pub(super) package: &'static str,
    /// The packages whose tests run for each mutant.
    pub(super) tests: &'static [&'static str],
    /// Which tests of these packages, in the words of `cargo test`. Examples of the documentation
    /// are left out: they show how something is used, and take long to build.
    pub(super) targets: &'static [&'static str],
    /// Files that the build on this machine leaves out: their mutants change nothing.
    pub(super) not_built: &'static [&'static str],
    /// The least share of the mutants that they must notice, in per cent.
    pub(super) bar: usize,
    /// How many mutants run if the command line does not say it: all, or so many by the seed where
    /// all would take more than an hour.
    pub(super) sample: Option<usize>,
}

/// A crate that people use alone: its own tests must notice a fault.
const fn lower(package: &'static str, own: &'static [&'static str]) -> Suite {
    Suite { package, tests: own, targets: &["--lib", "--tests"], not_built: &[], bar: 90, sample: None }
}

/// The crates in stack order.
pub(super) const SUITES: &[Suite] = &[
    lower("tdb-codec", &["tdb-codec"]),
    Suite {
        sample: Some(300),
        // The decoder in Rust is a feature that replaces the one in C.
        not_built: &["crates/tdb-filters/src/zstd_library/rust.rs"],
        ..lower("tdb-filters", &["tdb-filters"])
    },
    // The tests in its folder `tests` are about filters, and take minutes without optimisation.
    Suite { targets: &["--lib"], ..lower("tdb-tile", &["tdb-tile"]) },
    lower("tdb-schema", &["tdb-schema"]),
    lower("tdb-fragment", &["tdb-fragment"]),
];
