//! Functions of other databases that DataFusion does not have, and what has their meaning.

/// Names, and what to write instead. `a`, `b` and `c` are the arguments.
const OTHERS: &[(&[&str], &str)] = &[
    (
        &["year", "month", "day", "quarter", "week", "hour", "minute", "second"],
        "extract(year FROM a), extract(month FROM a), …",
    ),
    (
        &["dayofmonth", "dayofyear", "weekofyear", "dayofweek", "weekday"],
        "extract(day FROM a), extract(doy FROM a), extract(week FROM a) or extract(dow FROM a), where Sunday is 0",
    ),
    (
        &["isodow", "epoch", "epoch_ms", "unix_timestamp", "yearweek"],
        "date_part('isodow', a), date_part('epoch', a), …",
    ),
    (&["monthname", "dayname"], "strftime(a, '%B') or strftime(a, '%A')"),
    (&["last_day", "eomonth"], "date_trunc('month', a) + INTERVAL '1 month' - INTERVAL '1 day'"),
    (
        &["strptime", "try_strptime", "str_to_date", "parse_timestamp"],
        "to_timestamp(a, '%d/%m/%Y'), or to_date(a, '%d/%m/%Y')",
    ),
    (&["time_bucket"], "date_bin(INTERVAL '15 minutes', a)"),
    (
        &["date_add", "dateadd", "date_sub", "datesub"],
        "a + INTERVAL '3 days', or date_diff('day', a, b) between two times",
    ),
    (&["age", "timestampdiff"], "a - b, or date_diff('day', b, a)"),
    (&["mod"], "a % b"),
    (&["sign"], "signum(a)"),
    (&["product"], "exp(sum(ln(a))) of positive numbers"),
    (&["xor"], "a ^ b, which is the exclusive or of bits here"),
    (&["if", "iif", "iff"], "CASE WHEN a THEN b ELSE c END"),
    (&["len"], "length(a) of text, array_length(a) of a list"),
    (&["list"], "array_agg(a)"),
    (&["string_split", "str_split", "split"], "string_to_array(a, b)"),
    (
        &["list_sum", "list_avg", "list_min", "list_max", "list_aggregate", "list_transform", "list_filter"],
        "FROM (SELECT unnest(a) AS x …), and sum(x) and so on of its rows",
    ),
    (&["typeof"], "arrow_typeof(a)"),
    (&["hash"], "md5(a), or digest(a, 'sha256')"),
    (&["format", "printf"], "concat(a, ' ', b)"),
    (&["regexp_matches"], "regexp_like(a, b)"),
    (&["regexp_extract"], "regexp_match(a, b)[1]"),
    (&["glob"], "LIKE 'a%', or ~ '^a' with a regular expression"),
    (&["first", "any_value", "arbitrary"], "first_value(a ORDER BY b), or min(a)"),
    (&["last"], "last_value(a ORDER BY b)"),
    (&["arg_max", "max_by", "argmax"], "first_value(a ORDER BY b DESC NULLS LAST)"),
    (&["arg_min", "min_by", "argmin"], "first_value(a ORDER BY b NULLS LAST)"),
    (&["approx_count_distinct"], "approx_distinct(a)"),
    (&["quantile", "quantile_cont", "percentile"], "percentile_cont(0.25) WITHIN GROUP (ORDER BY a)"),
    (&["mode", "histogram"], "SELECT a, count(*) AS n … GROUP BY a ORDER BY n DESC"),
    (&["columns"], "the names of the columns, or * EXCLUDE (a, b)"),
    (
        &["read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto"],
        "the name of the file: FROM 'x.csv', FROM 'data/*.parquet'",
    ),
];

/// What to write instead of a function that does not exist.
pub(super) fn instead(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    OTHERS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, instead)| *instead)
}
