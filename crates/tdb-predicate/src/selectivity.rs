//! Selectivity: estimates the share of cells that satisfy a condition, from their minimum and
//! maximum alone.

use tdb_codec::{Native, Physical, PhysicalVisitor};
use tdb_fragment::Comparison;

use super::comparison::Test;
use super::program::{Node, Program};
use super::prune::Verdict;
use crate::facts::{Extremes, Facts, FieldFacts, Nulls};

/// The share of cells that satisfy a test if nothing is known of their values; chosen, not
/// measured.
const UNKNOWN: f64 = 0.2;
/// The share of reals that are equal to a number between their minimum and maximum; chosen, not
/// measured.
const EQUAL_REALS: f64 = 0.01;

/// Estimates, and whether statistics contributed to them.
struct Estimate<'e, 'f> {
    facts: &'e dyn Fn(usize) -> FieldFacts<'f>,
    known: bool,
}

impl Program {
    /// The share of the cells that `facts` describes which satisfy a condition, if values are
    /// spread evenly between their extremes, and tests are independent of each other; and whether
    /// anything is known of the values of a test.
    pub fn share<'f>(&self, root: usize, facts: &dyn Fn(usize) -> FieldFacts<'f>) -> (f64, bool) {
        let mut estimate = Estimate { facts, known: false };
        let share = self.roots.get(root).map_or(1.0, |node| estimate.of(self, node));
        (share, estimate.known)
    }
}

impl Estimate<'_, '_> {
    fn of(&mut self, program: &Program, node: &Node) -> f64 {
        match program.verdict_of(node, self.facts) {
            Verdict::All => {
                self.known = true;
                return 1.0;
            }
            Verdict::None => {
                self.known = true;
                return 0.0;
            }
            Verdict::Some => {}
        }
        match node {
            Node::All(nodes) => nodes.iter().map(|node| self.of(program, node)).product(),
            Node::Any(nodes) => 1.0 - nodes.iter().map(|node| 1.0 - self.of(program, node)).product::<f64>(),
            Node::Not(node) => 1.0 - self.of(program, node),
            Node::Test { field, test } => match (self.facts)(*field) {
                FieldFacts::Missing => 0.0,
                FieldFacts::Perhaps => UNKNOWN,
                FieldFacts::Known(facts) => {
                    let share = test.share(&facts);
                    self.known |= share.is_some();
                    share.unwrap_or(UNKNOWN)
                }
            },
        }
    }
}

impl Test {
    /// The share of cells that pass the test, which some of them may; `None` if nothing is known of
    /// their values.
    fn share(&self, facts: &Facts<'_>) -> Option<f64> {
        let (Extremes::Within(low, high) | Extremes::Numbers(low, high)) = &facts.extremes else {
            return None;
        };
        let valid = if facts.nulls == Nulls::None { 1.0 } else { 1.0 - UNKNOWN };
        let place = |physical: &Physical, operand: &[u8]| physical.visit(FindRank { low, high, operand });
        let among = match self {
            Self::Number { comparison, operand, physical } => {
                let Rank { below, equal } = place(physical, operand)?;
                match comparison {
                    Comparison::Less => below,
                    Comparison::LessOrEqual => below + equal,
                    Comparison::Greater => 1.0 - below - equal,
                    Comparison::GreaterOrEqual => 1.0 - below,
                    Comparison::Equal => equal,
                    Comparison::NotEqual => 1.0 - equal,
                    _ => return None,
                }
            }
            Self::List { is_in, operands, physical: Some(physical) } => {
                let equal = operands.iter().filter_map(|operand| Some(place(physical, operand)?.equal));
                let any = equal.sum::<f64>().min(1.0);
                if *is_in { any } else { 1.0 - any }
            }
            _ => return None,
        };
        Some(among.clamp(0.0, 1.0) * valid)
    }
}

/// The place of a number among values that are spread evenly.
struct Rank {
    /// The share of smaller ones.
    below: f64,
    /// The share of equal ones.
    equal: f64,
}

/// Finds the place of an operand between a minimum and a maximum.
struct FindRank<'a> {
    low: &'a [u8],
    high: &'a [u8],
    operand: &'a [u8],
}

impl PhysicalVisitor for FindRank<'_> {
    type Output = Option<Rank>;

    fn visit<T: Native>(self) -> Self::Output {
        let [low, high, operand] =
            [self.low, self.high, self.operand].map(|bytes| T::from_le(bytes).map(Native::to_f64));
        let (low, high, operand) = (low?, high?, operand?);
        // Integers have this many values, each of which is as likely as the others.
        let one = if T::PHYSICAL.is_float() { 0.0 } else { 1.0 };
        let width = high - low + one;
        if !width.is_finite() || width <= 0.0 || !operand.is_finite() {
            return None;
        }
        let inside = low <= operand && operand <= high;
        let equal = match (inside, one > 0.0) {
            (false, _) => 0.0,
            (true, true) => one / width,
            (true, false) => EQUAL_REALS,
        };
        Some(Rank { below: ((operand - low) / width).clamp(0.0, 1.0), equal })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(comparison: Comparison, operand: i32) -> Test {
        Test::Number { comparison, operand: operand.to_le_bytes().to_vec(), physical: Physical::I32 }
    }

    fn share(test: &Test, low: i32, high: i32) -> Option<f64> {
        let [low, high] = [low, high].map(|end| end.to_le_bytes().to_vec());
        test.share(&Facts { extremes: Extremes::Within(low.into(), high.into()), nulls: Nulls::None })
    }

    #[test]
    fn integers_are_spread_evenly_between_their_ends() {
        let found = |comparison, operand| share(&number(comparison, operand), 0, 999).unwrap();
        let near = |share: f64, expected: f64| assert!((share - expected).abs() < 1e-9, "{share} {expected}");
        near(found(Comparison::Less, 10), 0.01);
        near(found(Comparison::LessOrEqual, 10), 0.011);
        near(found(Comparison::Greater, 10), 0.989);
        near(found(Comparison::GreaterOrEqual, 10), 0.99);
        near(found(Comparison::Equal, 7), 0.001);
        near(found(Comparison::NotEqual, 7), 0.999);
        near(found(Comparison::Equal, -7), 0.0);
        let list = [1i32, 2, 5000].map(|operand| operand.to_le_bytes().to_vec());
        let list = Test::List { is_in: true, operands: list.into(), physical: Some(Physical::I32) };
        near(share(&list, 0, 999).unwrap(), 0.002);
    }

    #[test]
    fn shares_of_tests_are_combined_as_if_none_depended_on_another() {
        let below = |operand| Node::Test { field: 0, test: number(Comparison::Less, operand) };
        let roots = vec![
            Node::All(vec![below(500), below(200)]),
            Node::Any(vec![below(500), below(200)]),
            Node::Not(Box::new(below(200))),
        ];
        let program = Program { fields: Vec::new(), roots };
        let check = |root, facts: FieldFacts<'static>, (expected, known): (f64, bool)| {
            let found = program.share(root, &|_| facts.clone());
            assert!((found.0 - expected).abs() < 1e-9 && found.1 == known, "{found:?} {expected}");
        };
        let facts = |nulls| {
            let [low, high] = [0i32, 999].map(|end| end.to_le_bytes().to_vec().into());
            FieldFacts::Known(Facts { extremes: Extremes::Within(low, high), nulls })
        };
        check(0, facts(Nulls::None), (0.1, true));
        check(1, facts(Nulls::None), (0.6, true));
        check(2, facts(Nulls::None), (0.8, true));
        check(0, facts(Nulls::Some), (0.1 * (1.0 - UNKNOWN) * (1.0 - UNKNOWN), true));
        check(2, FieldFacts::Perhaps, (1.0 - UNKNOWN, false));
        check(0, FieldFacts::Missing, (0.0, true));
        check(3, facts(Nulls::None), (1.0, false));
    }

    #[test]
    fn of_values_without_ends_nothing_is_said() {
        assert_eq!(number(Comparison::Less, 10).share(&Facts::UNKNOWN), None);
        let real = |low: f64, high: f64| {
            let [low, high] = [low, high].map(|end| end.to_le_bytes().to_vec());
            let test = Test::Number {
                comparison: Comparison::Less,
                operand: 1f64.to_le_bytes().to_vec(),
                physical: Physical::F64,
            };
            test.share(&Facts { extremes: Extremes::Numbers(low.into(), high.into()), nulls: Nulls::None })
        };
        assert_eq!(real(0.0, 4.0), Some(0.25));
        assert_eq!(real(f64::NEG_INFINITY, 4.0), None);
    }
}
