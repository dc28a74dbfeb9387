//! Texts that users write; no fixture contains them.

use super::Seeds;

/// A name, and a condition or a list of aggregates.
const QUERY_CONDITIONS: [(&str, &str); 4] = [
    ("simple", "k == 7 and v > 1.0"),
    ("lists", "name in ('x', \"y\\x00\") or not (\"odd name\" not in (1, -0x2, nan))"),
    ("nulls", "a is null and (b is not null or not c<>true)"),
    ("aggregates", "sum(v),count, mean(\"odd name\"),count(*)"),
];

/// A name, and the lines of a manifest before its last.
const MANIFESTS: [(&str, &str); 3] = [
    ("empty", "tdb manifest 1\ntime 0\n"),
    (
        "array",
        "tdb manifest 1\ntime 1763863200000\n- __commits\n120 __fragments/__1_1_ab_22/a b.tdb\n\
         0 __fragments/__1_1_ab_22/d0.tdb\n33 __schema/__1_1_ab\n",
    ),
    ("escapes", "tdb manifest 1\ntime 5\n1 a-b\n2 a/50%25%0aü\n- b/c/d\n"),
];

pub(super) fn written(seeds: &mut Seeds) {
    for (name, text) in QUERY_CONDITIONS {
        seeds.add("query_condition", name, text);
    }
    for (name, lines) in MANIFESTS {
        seeds.add("manifest", name, tdb_array::publish::Manifest::sealed(lines.as_bytes().to_vec()));
    }
}
