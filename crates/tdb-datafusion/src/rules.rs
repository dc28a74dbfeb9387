//! Analyzer rules of a session, which change plans before DataFusion optimizes them.

use std::sync::Arc;

use datafusion::optimizer::AnalyzerRule;

use crate::checked::CheckedArithmetic;
use crate::clocks::ZonedTimes;
use crate::delete_rule::WholeFilters;
use crate::exact::{ExactComparisons, NamedSets};
use crate::store::ExactInserts;
use crate::update_rule::Updates;

/// The rule of DataFusion that converts the sides of operators to one type.
const CONVERTS: &str = "type_coercion";

type Rule = Arc<dyn AnalyzerRule + Send + Sync>;

/// The rules of a session with those of this crate.
pub(crate) fn with_own(rules: &[Rule]) -> Vec<Rule> {
    // Before the sides of operators are converted, they have the types of the statement.
    let before: [Rule; 5] = [
        Arc::new(Updates),
        Arc::new(NamedSets),
        Arc::new(ExactInserts),
        // Casts of inserts are no longer there, and casts of comparisons not yet.
        Arc::new(ZonedTimes),
        Arc::new(ExactComparisons),
    ];
    let after: [Rule; 2] = [Arc::new(CheckedArithmetic), Arc::new(WholeFilters)];
    let own = |rule: &Rule| before.iter().chain(&after).any(|own| own.name() == rule.name());
    let mut theirs: Vec<_> = rules.iter().filter(|rule| !own(rule)).cloned().collect();
    // In a session that converts nothing, the order does not matter.
    let place = theirs.iter().position(|rule| rule.name() == CONVERTS).unwrap_or(theirs.len());
    theirs.splice(place..place, before);
    theirs.extend(after);
    theirs
}
