//! Ten queries in the manner of TPC-H, and when two answers are equal.

use serde_json::Value;

use super::data::ARRAYS;

/// How far two sums of reals may differ, relative to their size: their terms are added in another
/// order. Everything else must be equal.
const TOLERANCE: f64 = 1e-9;

/// A name, and SQL in which `{lineitem}` and its like are the arrays.
pub(super) type Query = (&'static str, &'static str);

/// The queries. Where there is a `LIMIT`, the order has no ties.
pub(super) const QUERIES: [Query; 10] = [
    (
        "q1",
        "SELECT l_returnflag, l_linestatus, sum(l_quantity) AS quantity, sum(l_extendedprice) AS base, \
         sum(l_extendedprice * (1 - l_discount)) AS discounted, \
         sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS charge, avg(l_quantity) AS mean, count(*) AS lines \
         FROM {lineitem} WHERE l_shipdate <= DATE '1998-09-02' GROUP BY l_returnflag, l_linestatus",
    ),
    (
        "q3",
        "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate \
         FROM {customer} JOIN {orders} ON c_custkey = o_custkey JOIN {lineitem} ON l_orderkey = o_orderkey \
         WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15' \
         GROUP BY l_orderkey, o_orderdate ORDER BY revenue DESC, l_orderkey LIMIT 10",
    ),
    (
        "q4",
        "SELECT o_orderpriority, count(*) AS orders FROM {orders} \
         WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-10-01' \
         AND EXISTS (SELECT 1 FROM {lineitem} WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate) \
         GROUP BY o_orderpriority",
    ),
    (
        "q5",
        "SELECT s_nationkey, sum(l_extendedprice * (1 - l_discount)) AS revenue \
         FROM {customer} JOIN {orders} ON c_custkey = o_custkey JOIN {lineitem} ON l_orderkey = o_orderkey \
         JOIN {supplier} ON l_suppkey = s_suppkey AND c_nationkey = s_nationkey \
         WHERE o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' GROUP BY s_nationkey",
    ),
    (
        "q6",
        "SELECT sum(l_extendedprice * l_discount) AS revenue, count(*) AS lines FROM {lineitem} \
         WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01' \
         AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24",
    ),
    (
        "q10",
        "SELECT c_custkey, c_acctbal, sum(l_extendedprice * (1 - l_discount)) AS revenue \
         FROM {customer} JOIN {orders} ON c_custkey = o_custkey JOIN {lineitem} ON l_orderkey = o_orderkey \
         WHERE o_orderdate >= DATE '1993-10-01' AND o_orderdate < DATE '1994-01-01' AND l_returnflag = 'R' \
         GROUP BY c_custkey, c_acctbal ORDER BY revenue DESC, c_custkey LIMIT 20",
    ),
    (
        "q12",
        "SELECT l_shipmode, \
         sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high, \
         sum(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 0 ELSE 1 END) AS low \
         FROM {orders} JOIN {lineitem} ON o_orderkey = l_orderkey \
         WHERE l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate AND l_shipdate < l_commitdate \
         AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01' GROUP BY l_shipmode",
    ),
    (
        "q14",
        "SELECT 100.0 * sum(CASE WHEN p_type LIKE 'PROMO%' THEN l_extendedprice * (1 - l_discount) ELSE 0.0 END) \
         / sum(l_extendedprice * (1 - l_discount)) AS promo FROM {lineitem} JOIN {part} ON l_partkey = p_partkey \
         WHERE l_shipdate >= DATE '1995-09-01' AND l_shipdate < DATE '1995-10-01'",
    ),
    (
        "q18",
        "SELECT o_custkey, o_orderkey, o_totalprice, sum(l_quantity) AS quantity \
         FROM {orders} JOIN {lineitem} ON o_orderkey = l_orderkey \
         WHERE o_orderkey IN (SELECT l_orderkey FROM {lineitem} GROUP BY l_orderkey HAVING sum(l_quantity) > 185) \
         GROUP BY o_custkey, o_orderkey, o_totalprice ORDER BY o_totalprice DESC, o_orderkey LIMIT 100",
    ),
    (
        "q19",
        "SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM {lineitem} JOIN {part} ON p_partkey = l_partkey \
         WHERE l_shipmode IN ('AIR', 'REG AIR') AND l_shipinstruct = 'DELIVER IN PERSON' AND \
         ((p_brand = 'Brand#12' AND p_container = 'SM CASE' AND l_quantity BETWEEN 1 AND 11 AND p_size <= 5) OR \
         (p_brand = 'Brand#23' AND p_container = 'MED BAG' AND l_quantity BETWEEN 10 AND 20 AND p_size <= 10) OR \
         (p_brand = 'Brand#34' AND p_container = 'LG BOX' AND l_quantity BETWEEN 20 AND 30 AND p_size <= 15))",
    ),
];

/// The text of a query of the arrays at a place.
pub(super) fn text(query: Query, place: &str) -> String {
    ARRAYS.iter().fold(query.1.to_owned(), |text, name| {
        text.replace(&format!("{{{name}}}"), &format!("'{place}/{name}'"))
    })
}

/// The rows of an answer in NDJSON, in an order that does not depend on reals.
pub(super) fn rows(answer: &str) -> Result<Vec<Value>, String> {
    let rows =
        answer.lines().map(|line| serde_json::from_str(line).map_err(|error| format!("{line}: {error}")));
    let mut rows: Vec<Value> = rows.collect::<Result<_, _>>()?;
    rows.sort_by_cached_key(|row| {
        let values = row.as_object().into_iter().flat_map(|row| row.values());
        let exact = values.filter(|value| !value.is_f64()).map(Value::to_string);
        exact.collect::<Vec<_>>()
    });
    Ok(rows)
}

/// Why two answers differ, if they do.
pub(super) fn difference(expected: &[Value], found: &[Value]) -> Option<String> {
    if expected.len() != found.len() {
        return Some(format!("{} rows instead of {}", found.len(), expected.len()));
    }
    expected.iter().zip(found).find_map(|(expected, found)| {
        let equal = match (expected.as_object(), found.as_object()) {
            (Some(expected), Some(found)) => {
                expected.len() == found.len()
                    && expected
                        .iter()
                        .all(|(name, value)| found.get(name).is_some_and(|other| is_equal(value, other)))
            }
            _ => false,
        };
        (!equal).then(|| format!("{found} instead of {expected}"))
    })
}

fn is_equal(expected: &Value, found: &Value) -> bool {
    match (expected, found) {
        (Value::Number(one), Value::Number(other)) if one.is_f64() && other.is_f64() => {
            let (Some(one), Some(other)) = (one.as_f64(), other.as_f64()) else { return false };
            (one - other).abs() <= TOLERANCE * one.abs().max(other.abs())
        }
        _ => expected == found,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_reals_may_differ_and_only_a_little() {
        let answer = |text: &str| rows(text).unwrap();
        let one = answer("{\"a\":\"x\",\"b\":1.5}\n{\"a\":\"y\",\"b\":2.5}\n");
        assert_eq!(
            difference(&one, &answer("{\"a\":\"y\",\"b\":2.5}\n{\"a\":\"x\",\"b\":1.5000000000001}")),
            None
        );
        for other in [
            "{\"a\":\"x\",\"b\":1.5}",
            "{\"a\":\"x\",\"b\":1.5}\n{\"a\":\"y\",\"b\":2.5}\n{\"a\":\"y\",\"b\":2.5}",
            "{\"a\":\"x\",\"b\":1.5}\n{\"a\":\"z\",\"b\":2.5}",
            "{\"a\":\"x\",\"b\":1.5001}\n{\"a\":\"y\",\"b\":2.5}",
            "{\"a\":\"x\",\"c\":1.5}\n{\"a\":\"y\",\"b\":2.5}",
        ] {
            assert!(difference(&one, &answer(other)).is_some(), "{other}");
        }
        let count = answer("{\"n\":3}");
        assert!(difference(&count, &answer("{\"n\":4}")).is_some());
        assert!(rows("not JSON").is_err());
    }

    #[test]
    fn every_query_names_arrays_that_there_are() {
        for query in QUERIES {
            let text = text(query, "/data");
            assert!(text.contains("'/data/lineitem'") && !text.contains('{'), "{text}");
        }
    }
}
