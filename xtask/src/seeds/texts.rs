//! Texts that people write: no fixture holds them.

use super::Seeds;

/// A name, and a condition or a list of aggregates.
const QUERY_CONDITIONS: [(&str, &str); 4] = [
    ("simple", "k == 7 and v > 1.0"),
    ("lists", "name in ('x', \"y\\x00\") or not (\"odd name\" not in (1, -0x2, nan))"),
    ("nulls", "a is null and (b is not null or not c<>true)"),
    ("aggregates", "sum(v),count, mean(\"odd name\"),count(*)"),
];

pub(super) fn written(seeds: &mut Seeds) {
    for (name, text) in QUERY_CONDITIONS {
        seeds.add("query_condition", name, text);
    }
}
