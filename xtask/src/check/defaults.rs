//! What hides a fault of the engine: values made up for what is missing, arms that do nothing, sums
//! that stop at a limit.
//!
//! Each of them can be right, and a comment or a name beside it says why. None of them should be
//! added where something cannot be missing: there `OrInternal::or_internal` makes an error that
//! says where it was noticed.

use super::Violation;
use super::tokens::Token;

/// How often a crate has each of them, outside of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// `unwrap_or_default`.
    pub(super) defaults: usize,
    /// Arms `_ => {}` and `_ => ()`.
    pub(super) arms: usize,
    /// `saturating_add` and its like.
    pub(super) saturating: usize,
}

/// How many of them the crates of the engine have. The numbers may only fall.
pub(super) const MOST: &[(&str, Counts)] = &[
    ("tdb-cells", Counts { defaults: 15, arms: 0, saturating: 29 }),
    ("tdb-order", Counts { defaults: 7, arms: 0, saturating: 13 }),
    ("tdb-snapshot", Counts { defaults: 8, arms: 0, saturating: 54 }),
    ("tdb-predicate", Counts { defaults: 5, arms: 2, saturating: 2 }),
    ("tdb-scan", Counts { defaults: 11, arms: 1, saturating: 265 }),
    ("tdb-split", Counts { defaults: 11, arms: 1, saturating: 189 }),
    ("tdb-aggregate", Counts { defaults: 1, arms: 0, saturating: 87 }),
    ("tdb-query", Counts { defaults: 1, arms: 0, saturating: 17 }),
    ("tdb-write", Counts { defaults: 20, arms: 1, saturating: 116 }),
    ("tdb-maintain", Counts { defaults: 31, arms: 4, saturating: 116 }),
    ("tdb-datafusion", Counts { defaults: 0, arms: 0, saturating: 22 }),
    ("tdb-ballista", Counts { defaults: 1, arms: 1, saturating: 1 }),
];

impl Counts {
    /// Adds what one source file has, without its tests.
    pub(super) fn add(&mut self, tokens: &[Token<'_>]) {
        let has = |at: usize, texts: &[&str]| super::matches(tokens, at, texts);
        for (at, token) in tokens.iter().enumerate() {
            let arm = has(at, &["_", "=", ">", "{", "}"]) || has(at, &["_", "=", ">", "(", ")"]);
            let count = match token.text {
                "unwrap_or_default" => &mut self.defaults,
                "_" if arm => &mut self.arms,
                text if text.starts_with("saturating_") => &mut self.saturating,
                _ => continue,
            };
            *count = count.saturating_add(1);
        }
    }

    /// What is more than `most`, and what is less, so that the table has to follow.
    pub(super) fn check(self, package: &str, folder: &str, most: Self) -> Vec<Violation> {
        let kinds = [
            ("unwrap_or_default", self.defaults, most.defaults),
            ("arms that do nothing", self.arms, most.arms),
            ("saturating_*", self.saturating, most.saturating),
        ];
        let wrong = kinds.into_iter().filter(|(_, found, most)| found != most);
        let wrong = wrong.map(|(what, found, most)| {
            let advice = if found > most {
                "what cannot be missing is asked for with OrInternal::or_internal"
            } else {
                "write the lower number into xtask/src/check/defaults.rs"
            };
            Violation::new(folder, 1, format!("{package} has {what} {found} times, not {most}: {advice}"))
        });
        wrong.collect()
    }
}

/// The number of times that a crate may have each; `None` for crates that are not of the engine.
pub(super) fn most(package: &str) -> Option<Counts> {
    MOST.iter().find(|(name, _)| *name == package).map(|(_, most)| *most)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::{tokenize, without_tests};
    use super::*;

    fn counts(source: &str) -> Counts {
        let mut counts = Counts::default();
        counts.add(&without_tests(tokenize(source)));
        counts
    }

    #[test]
    fn what_hides_faults_is_counted_outside_of_tests_and_comments() {
        let source =
            "fn f() { a.get(1).unwrap_or_default(); match b { 1 => c(), _ => {} } match d { _ => () }
            e.saturating_add(1).saturating_sub(2); } // unwrap_or_default
            #[cfg(test)] mod tests { fn g() { a.unwrap_or_default(); } }";
        assert_eq!(counts(source), Counts { defaults: 1, arms: 2, saturating: 2 });
        assert_eq!(counts("match b { _ => { c() } } let _ = |_| {};"), Counts::default());
    }

    #[test]
    fn one_more_is_a_violation_and_so_is_a_table_that_allows_more_than_there_are() {
        let two = counts("a.unwrap_or_default(); b.unwrap_or_default();");
        let check = |defaults: usize| two.check("a", "crates/a", Counts { defaults, ..Counts::default() });
        assert!(check(2).is_empty());
        assert!(check(1).iter().any(|violation| violation.what.contains("or_internal")));
        assert!(check(3).iter().any(|violation| violation.what.contains("lower number")));
    }
}
