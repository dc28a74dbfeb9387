//! Pruning: judges a condition by statistics, to find tiles in which no cell can match, and tiles
//! in which all do.

use core::cmp::Ordering;

use tdb_codec::{Native, PhysicalVisitor};
use tdb_fragment::Comparison;

use super::comparison::{Test, holds};
use super::program::{Node, Program};
use crate::facts::{Extremes, Facts, FieldFacts, Nulls};

/// How many of some cells satisfy a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No cell satisfies the condition.
    None,
    /// Perhaps some, perhaps all: the cells must be tested.
    Some,
    /// All cells satisfy the condition.
    All,
}

impl Verdict {
    /// How many cells of a fragment without the field satisfy a test of it: none, whatever the
    /// test, as in libtiledb. A read returns the field's fill value for them, aggregates count
    /// that, and consolidation writes it; from then on, tests see it, too.
    pub(crate) const LACKING: Self = Self::None;

    const fn negated(self) -> Self {
        match self {
            Self::None => Self::All,
            Self::Some => Self::Some,
            Self::All => Self::None,
        }
    }

    const fn of(all: bool, none: bool) -> Self {
        match (all, none) {
            (_, true) => Self::None,
            (true, false) => Self::All,
            (false, false) => Self::Some,
        }
    }
}

impl Program {
    /// How many of the cells that `facts` describes satisfy a condition.
    pub fn verdict<'f>(&self, root: usize, facts: &dyn Fn(usize) -> FieldFacts<'f>) -> Verdict {
        // If there were no such condition, the evaluation would say so.
        self.roots.get(root).map_or(Verdict::Some, |node| self.verdict_of(node, facts))
    }

    /// The fields used by tests that `facts` cannot decide, ascending.
    pub fn undecided<'f>(&self, root: usize, facts: &dyn Fn(usize) -> FieldFacts<'f>) -> Vec<usize> {
        let mut fields = Vec::new();
        self.roots.get(root).into_iter().for_each(|node| self.undecided_of(node, facts, &mut fields));
        fields.sort_unstable();
        fields.dedup();
        fields
    }

    fn undecided_of<'f>(
        &self,
        node: &Node,
        facts: &dyn Fn(usize) -> FieldFacts<'f>,
        fields: &mut Vec<usize>,
    ) {
        if self.verdict_of(node, facts) != Verdict::Some {
            return;
        }
        match node {
            Node::All(nodes) | Node::Any(nodes) => {
                nodes.iter().for_each(|node| self.undecided_of(node, facts, fields));
            }
            Node::Not(node) => self.undecided_of(node, facts, fields),
            Node::Test { field, .. } => fields.push(*field),
        }
    }

    pub(super) fn verdict_of<'f>(&self, node: &Node, facts: &dyn Fn(usize) -> FieldFacts<'f>) -> Verdict {
        match node {
            Node::All(nodes) => {
                let mut all = true;
                for node in nodes {
                    match self.verdict_of(node, facts) {
                        Verdict::None => return Verdict::None,
                        verdict => all &= verdict == Verdict::All,
                    }
                }
                Verdict::of(all, false)
            }
            Node::Any(nodes) => {
                let mut none = true;
                for node in nodes {
                    match self.verdict_of(node, facts) {
                        Verdict::All => return Verdict::All,
                        verdict => none &= verdict == Verdict::None,
                    }
                }
                Verdict::of(false, none)
            }
            Node::Not(node) => self.verdict_of(node, facts).negated(),
            Node::Test { field, test } => match facts(*field) {
                FieldFacts::Missing => Verdict::LACKING,
                // A test that all cells with the field pass may fail for the others.
                FieldFacts::Perhaps => match test.verdict(&Facts::UNKNOWN) {
                    Verdict::All => Verdict::Some,
                    verdict => verdict,
                },
                FieldFacts::Known(facts) => test.verdict(&facts),
            },
        }
    }
}

impl Test {
    fn verdict(&self, facts: &Facts<'_>) -> Verdict {
        let no_nulls = facts.nulls == Nulls::None;
        match self {
            Self::Always(holds) => Verdict::of(*holds, !*holds),
            Self::Null(is) => match (facts.nulls, *is) {
                (Nulls::None, true) | (Nulls::All, false) => Verdict::None,
                (Nulls::None, false) | (Nulls::All, true) => Verdict::All,
                _ => Verdict::Some,
            },
            _ if facts.nulls == Nulls::All || facts.extremes == Extremes::Nothing => Verdict::None,
            Self::Nan { is, .. } => match facts.extremes {
                Extremes::Within(..) => Verdict::of(!*is && no_nulls, *is),
                _ => Verdict::Some,
            },
            Self::Number { comparison, operand, physical } => {
                let (low, high, nan) = match &facts.extremes {
                    Extremes::Within(low, high) => (low, high, false),
                    Extremes::Numbers(low, high) => (low, high, true),
                    Extremes::Unknown | Extremes::Nothing => return Verdict::Some,
                };
                let ends = physical.visit(CompareEnds { low, high, operand });
                let verdict = ends.map_or(Verdict::Some, |ends| compare(*comparison, ends, no_nulls));
                // A NaN satisfies only `!=`.
                match (nan, verdict, comparison) {
                    (true, Verdict::None, Comparison::NotEqual) => Verdict::Some,
                    (true, Verdict::All, other) if *other != Comparison::NotEqual => Verdict::Some,
                    _ => verdict,
                }
            }
            Self::Bytes { comparison, operand, string } => {
                let Extremes::Within(low, high) = &facts.extremes else { return Verdict::Some };
                if !string {
                    return Verdict::Some;
                }
                let ends = (low.as_ref().cmp(operand.as_slice()), high.as_ref().cmp(operand.as_slice()));
                compare(*comparison, ends, no_nulls)
            }
            Self::Like { pattern, is, padded } => {
                let Extremes::Within(low, high) = &facts.extremes else { return Verdict::Some };
                let (low, high, prefix) = (low.as_ref(), high.as_ref(), pattern.prefix());
                // Zero bytes at the end of a text may only fill it up.
                if *padded && prefix.ends_with(&[0]) {
                    return Verdict::Some;
                }
                let outside = high < prefix || (low > prefix && !low.starts_with(prefix));
                let inside = pattern.is_prefix() && low.starts_with(prefix) && high.starts_with(prefix);
                let (all, none) = if *is { (inside, outside) } else { (outside, inside) };
                Verdict::of(all && no_nulls, none)
            }
            Self::List { is_in, operands, physical } => {
                // Lists compare bits. Equal bits are equal numbers, so an operand outside the
                // extremes, compared as a number, is in no cell.
                let outside = |operand: &Vec<u8>| match (&facts.extremes, physical) {
                    (Extremes::Within(low, high) | Extremes::Numbers(low, high), Some(physical)) => {
                        let ends = physical.visit(CompareEnds { low, high, operand });
                        ends.is_some_and(|(low, high)| low.is_gt() || high.is_lt())
                    }
                    (Extremes::Within(low, high), None) => {
                        low.as_ref() > operand.as_slice() || high.as_ref() < operand.as_slice()
                    }
                    _ => false,
                };
                let nothing = operands.iter().all(outside);
                Verdict::of(!*is_in && nothing && no_nulls, *is_in && nothing)
            }
        }
    }
}

/// A comparison of all values between two ends, given how each end compares with the operand.
fn compare(comparison: Comparison, (low, high): (Ordering, Ordering), no_nulls: bool) -> Verdict {
    let (at_low, at_high) = (holds(comparison, Some(low)), holds(comparison, Some(high)));
    let (all, none) = match comparison {
        // Monotonic: what holds, or fails, at both ends also does so between them.
        Comparison::Less | Comparison::LessOrEqual | Comparison::Greater | Comparison::GreaterOrEqual => {
            (at_low && at_high, !at_low && !at_high)
        }
        Comparison::Equal => {
            let only = low == Ordering::Equal && high == Ordering::Equal;
            (only, low == Ordering::Greater || high == Ordering::Less)
        }
        Comparison::NotEqual => {
            let only = low == Ordering::Equal && high == Ordering::Equal;
            (low == Ordering::Greater || high == Ordering::Less, only)
        }
        _ => (false, false),
    };
    Verdict::of(all && no_nulls, none)
}

/// Compares the ends of a range with an operand.
struct CompareEnds<'a> {
    low: &'a [u8],
    high: &'a [u8],
    operand: &'a [u8],
}

impl PhysicalVisitor for CompareEnds<'_> {
    type Output = Option<(Ordering, Ordering)>;

    fn visit<T: Native>(self) -> Self::Output {
        let operand = T::from_le(self.operand)?;
        Some((T::from_le(self.low)?.partial_cmp(&operand)?, T::from_le(self.high)?.partial_cmp(&operand)?))
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::Physical;

    use super::*;
    use crate::expression::Pattern;

    fn number(comparison: Comparison, operand: i32) -> Test {
        Test::Number { comparison, operand: operand.to_le_bytes().to_vec(), physical: Physical::I32 }
    }

    fn within(low: i32, high: i32, nulls: Nulls) -> Facts<'static> {
        let [low, high] = [low, high].map(|end| end.to_le_bytes().to_vec().into());
        Facts { extremes: Extremes::Within(low, high), nulls }
    }

    #[test]
    fn a_comparison_with_a_number_is_judged_by_both_ends() {
        for (comparison, operand, expected) in [
            (Comparison::Less, 10, Verdict::None),
            (Comparison::Less, 11, Verdict::Some),
            (Comparison::Less, 21, Verdict::All),
            (Comparison::LessOrEqual, 9, Verdict::None),
            (Comparison::LessOrEqual, 20, Verdict::All),
            (Comparison::Greater, 20, Verdict::None),
            (Comparison::Greater, 9, Verdict::All),
            (Comparison::GreaterOrEqual, 21, Verdict::None),
            (Comparison::GreaterOrEqual, 10, Verdict::All),
            (Comparison::Equal, 9, Verdict::None),
            (Comparison::Equal, 15, Verdict::Some),
            (Comparison::Equal, 21, Verdict::None),
            (Comparison::NotEqual, 9, Verdict::All),
            (Comparison::NotEqual, 15, Verdict::Some),
            (Comparison::NotEqual, 21, Verdict::All),
        ] {
            let test = number(comparison, operand);
            assert_eq!(test.verdict(&within(10, 20, Nulls::None)), expected, "{comparison:?} {operand}");
        }
        let one = within(10, 10, Nulls::None);
        assert_eq!(number(Comparison::Equal, 10).verdict(&one), Verdict::All);
        assert_eq!(number(Comparison::NotEqual, 10).verdict(&one), Verdict::None);
        let perhaps_null = number(Comparison::Greater, 9).verdict(&within(10, 20, Nulls::Some));
        assert_eq!(perhaps_null, Verdict::Some, "null cells satisfy no comparison");
    }

    #[test]
    fn where_no_cell_has_a_value_only_a_test_for_null_holds() {
        let all_null = Facts { extremes: Extremes::Unknown, nulls: Nulls::All };
        let no_value = Facts { extremes: Extremes::Nothing, nulls: Nulls::Unknown };
        let text = Test::Bytes { comparison: Comparison::NotEqual, operand: b"a".to_vec(), string: true };
        for facts in [&all_null, &no_value] {
            assert_eq!(number(Comparison::NotEqual, 1).verdict(facts), Verdict::None);
            assert_eq!(text.verdict(facts), Verdict::None);
        }
        assert_eq!(Test::Null(true).verdict(&all_null), Verdict::All);
        assert_eq!(Test::Null(false).verdict(&all_null), Verdict::None);
    }

    #[test]
    fn a_pattern_is_judged_by_what_it_begins_with() {
        let judged = |pattern: &str, is, low: &str, high: &str, nulls| {
            let [low, high] = [low, high].map(|end| end.as_bytes().to_vec().into());
            let test = Test::Like { pattern: Pattern::new(pattern), is, padded: false };
            test.verdict(&Facts { extremes: Extremes::Within(low, high), nulls })
        };
        let (none, some, all) = (Verdict::None, Verdict::Some, Verdict::All);
        for (pattern, low, high, expected) in [
            ("JF%", "AAA", "JEZ", none),
            ("JF%", "JG", "ZZ", none),
            ("JF%", "JFA", "JFZ", all),
            ("JF%", "JF", "JF", all),
            ("JF%", "JEZ", "JFA", some),
            ("JF%", "J", "K", some),
            ("JF_%", "JFA", "JFZ", some),
            ("JF_", "K", "L", none),
            ("%K", "A", "B", some),
            ("%", "A", "B", all),
        ] {
            assert_eq!(judged(pattern, true, low, high, Nulls::None), expected, "{pattern} {low} {high}");
            let other = judged(pattern, false, low, high, Nulls::None);
            assert_eq!(other, expected.negated(), "not {pattern} {low} {high}");
        }
        assert_eq!(judged("JF%", true, "JFA", "JFZ", Nulls::Some), some, "null is like nothing");
        let padded = Test::Like { pattern: Pattern::new("a\0%"), is: true, padded: true };
        assert_eq!(
            padded.verdict(&Facts {
                extremes: Extremes::Within(b"a\0"[..].into(), b"a\0"[..].into()),
                nulls: Nulls::None
            }),
            some
        );
        assert_eq!(judged("JF%", false, "A", "B", Nulls::Some), some);
    }

    #[test]
    fn a_list_matches_nothing_if_each_member_is_outside_the_ends() {
        let facts = Facts {
            extremes: Extremes::Within(b"bb".to_vec().into(), b"dd".to_vec().into()),
            nulls: Nulls::None,
        };
        let list = |is_in, members: &[&str]| {
            let operands = members.iter().map(|member| member.as_bytes().to_vec()).collect();
            Test::List { is_in, operands, physical: None }.verdict(&facts)
        };
        assert_eq!((list(true, &["a", "e"]), list(false, &["a", "e"])), (Verdict::None, Verdict::All));
        for member in ["bb", "c", "dd"] {
            assert_eq!((list(true, &[member, "e"]), list(false, &[member])), (Verdict::Some, Verdict::Some));
        }
        let numbers = |members: [i32; 2]| {
            let operands = members.map(|member| member.to_le_bytes().to_vec()).to_vec();
            let test = Test::List { is_in: true, operands, physical: Some(Physical::I32) };
            test.verdict(&within(10, 20, Nulls::None))
        };
        assert_eq!((numbers([9, 21]), numbers([9, 20])), (Verdict::None, Verdict::Some));
    }
}
