use datafusion::prelude::SessionContext;
use datafusion::sql::parser::DFParser;

use super::{plan_statement, prepared};

fn checked(text: &str) -> crate::Result<String> {
    let session = SessionContext::new();
    let mut statements = DFParser::parse_sql(text)?;
    let statement = statements.pop_front().expect("a statement");
    prepared(statement, &session.state()).map(|statement| statement.to_string())
}

/// Statements with a word that DataFusion's planner drops, and the word that the refusal names.
const DROPPED: &[(&str, &str)] = &[
    ("SELECT * FROM t TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
    ("SELECT * FROM t TABLESAMPLE BERNOULLI (1)", "TABLESAMPLE"),
    ("SELECT * FROM (SELECT * FROM t) TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
    ("SELECT a FROM t WHERE a IN (SELECT a FROM u TABLESAMPLE (1 PERCENT))", "TABLESAMPLE"),
    ("EXPLAIN SELECT * FROM t SAMPLE 0.1", "TABLESAMPLE"),
    ("COPY (SELECT * FROM t TABLESAMPLE (10 ROWS)) TO 'x.csv'", "TABLESAMPLE"),
    ("CREATE VIEW v AS SELECT * FROM t TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
    ("INSERT INTO u SELECT * FROM t TABLESAMPLE (10 ROWS)", "TABLESAMPLE"),
    ("SELECT a FROM t FOR UPDATE", "FOR UPDATE"),
    ("SELECT a FROM t WITH (NOLOCK)", "WITH (…)"),
    ("SELECT a, sum(b) FROM t GROUP BY a WITH ROLLUP", "WITH ROLLUP"),
    ("SELECT a, sum(b) FROM t GROUP BY ALL WITH TOTALS", "WITH TOTALS"),
    ("SELECT a FROM t PREWHERE a > 1", "PREWHERE"),
    ("SELECT a FROM t CONNECT BY a = PRIOR b", "CONNECT BY"),
    ("SELECT a FROM t SETTINGS x = 1", "SETTINGS"),
    ("SELECT a FROM t FORMAT JSON", "FORMAT"),
    ("SELECT a FROM t GLOBAL JOIN u USING (a)", "GLOBAL JOIN"),
    ("WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x LIMIT 5) SELECT * FROM x", "LIMIT"),
    (
        "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x ORDER BY a) SELECT * FROM x",
        "ORDER BY",
    ),
    ("SELECT * FROM generate_series(1, 3) WITH ORDINALITY", "WITH ORDINALITY"),
    ("SELECT upper(DISTINCT a) FROM t", "DISTINCT of upper"),
    ("SELECT abs(a) FILTER (WHERE a > 1) FROM t", "FILTER of abs"),
    ("SELECT abs(a) OVER (PARTITION BY b) FROM t", "OVER of abs"),
    ("SELECT abs(a ORDER BY b) FROM t", "ORDER BY of abs"),
    ("SELECT sum(a) IGNORE NULLS FROM t", "IGNORE NULLS"),
    ("SELECT row_number() FILTER (WHERE a > 1) OVER () FROM t", "FILTER of row_number"),
    ("SELECT array(SELECT a FROM t)", "array(SELECT …)"),
    ("SELECT quantile(0.5)(a) FROM t", "quantile(…)(…)"),
    ("SELECT CAST(a AS VARCHAR(3)) FROM t", "VARCHAR(3)"),
    ("SELECT a::char(3) FROM t", "CHAR(3)"),
    ("DROP TABLE t CASCADE", "CASCADE"),
    ("DROP TABLE IF EXISTS t RESTRICT", "RESTRICT"),
    ("DROP VIEW t PURGE", "PURGE"),
    ("CREATE TABLE t (a INT PRIMARY KEY)", "PRIMARY KEY"),
    ("CREATE TABLE t (a INT, UNIQUE (a))", "UNIQUE"),
    ("CREATE TABLE t (a INT CHECK (a > 1))", "CHECK"),
    ("CREATE TABLE t (a INT GENERATED ALWAYS AS IDENTITY)", "GENERATED"),
    ("CREATE TABLE t (a INT COMMENT 'x')", "COMMENT"),
    ("CREATE EXTERNAL TABLE t (a INT PRIMARY KEY) STORED AS CSV LOCATION 'x'", "PRIMARY KEY"),
    ("CREATE SCHEMA s WITH (a = 1)", "CREATE SCHEMA"),
    ("DELETE FROM t WHERE a > 1 LIMIT 3", "LIMIT"),
    ("UPDATE t JOIN u ON t.a = u.a SET a = 1", "JOIN"),
    ("DESCRIBE EXTENDED t", "EXTENDED"),
    ("SELECT a FROM t INTERSECT ALL SELECT a FROM u", "INTERSECT ALL"),
    ("SELECT a FROM t UNION ALL SELECT a FROM t EXCEPT ALL SELECT a FROM u", "EXCEPT ALL"),
    ("SELECT a FROM t WHERE b SIMILAR TO 'x%'", "SIMILAR TO"),
];

/// Statements of other databases that the planner refuses with words of its own, or understands in
/// another way, and what is written instead of them.
const OTHERS: &[(&str, &str)] = &[
    ("SELECT * FROM t JOIN u", "CROSS JOIN"),
    ("SELECT * FROM t LEFT JOIN (u CROSS JOIN v)", "CROSS JOIN"),
    ("SELECT * FROM t ASOF JOIN u MATCH_CONDITION (t.a >= u.a)", "row_number()"),
    ("SELECT * FROM t CROSS APPLY (SELECT 1) x", "LATERAL"),
    ("SELECT * FROM t PIVOT (sum(a) FOR b IN (1, 2))", "FILTER (WHERE"),
    ("SELECT * FROM t UNPIVOT (a FOR b IN (c, d))", "UNION ALL"),
    ("SELECT a && b FROM t", "AND"),
    ("SELECT ~a FROM t", "-1 - x"),
    ("SELECT max(*) FROM t", "name a column"),
    ("ALTER TABLE t ADD COLUMN x INT", "tdb evolve"),
    ("TRUNCATE t", "DELETE FROM"),
    ("MERGE INTO t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", "UPDATE"),
    ("INSERT INTO t VALUES (1) ON CONFLICT DO NOTHING", "replaces the cell"),
    ("CREATE INDEX i ON t (a)", "dims"),
    ("VACUUM", "tdb vacuum"),
    ("USE t", "path or URL"),
    ("BEGIN", "as a whole"),
    ("COMMIT", "as a whole"),
    ("PRAGMA memory", "SHOW ALL"),
    ("SHOW COLUMNS FROM t", "DESCRIBE"),
];

#[test]
fn words_that_the_planner_drops_are_refused_by_name() {
    let wrong = |(text, word): &(&str, &str)| {
        let refused =
            checked(text).map_or_else(|error| error.to_string(), |passed| format!("passes: {passed}"));
        let is_named = refused.contains(word) && refused.contains("is not supported: ");
        (!is_named).then(|| format!("{text}: {refused}"))
    };
    let wrong: Vec<_> = DROPPED.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_other_databases_have_is_refused_with_what_to_write_instead() {
    let wrong = |(text, instead): &(&str, &str)| {
        let refused =
            checked(text).map_or_else(|error| error.to_string(), |passed| format!("passes: {passed}"));
        let said = refused.split_once(" is not supported: ").is_some_and(|(_, said)| said.contains(instead));
        (!said).then(|| format!("{text}: {refused}"))
    };
    let wrong: Vec<_> = OTHERS.iter().filter_map(wrong).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_the_planner_does_not_know_is_written_as_what_it_knows() {
    for (text, written) in [
        ("SELECT a FROM t SEMI JOIN u USING (a)", "SELECT a FROM t LEFT SEMI JOIN u USING(a)"),
        ("SELECT a FROM t ANTI JOIN u USING (a)", "SELECT a FROM t LEFT ANTI JOIN u USING(a)"),
        ("SELECT 1 FROM t WHERE a LIKE 'a#_b##%' ESCAPE '#'", "SELECT 1 FROM t WHERE a LIKE 'a\\_b#%'"),
        ("SELECT 1 FROM t WHERE a LIKE 'a\\%' ESCAPE '!'", "SELECT 1 FROM t WHERE a LIKE 'a\\\\%'"),
        ("SELECT 1 FROM t WHERE a NOT ILIKE '!%%' ESCAPE '!'", "SELECT 1 FROM t WHERE a NOT ILIKE '\\%%'"),
    ] {
        assert_eq!(checked(text).unwrap().replace("AS \"1\" ", ""), written, "{text}");
    }
    // What cannot be written otherwise stays, and the planner refuses it.
    assert!(checked("SELECT a LIKE b ESCAPE '#' FROM t").unwrap().contains("ESCAPE '#'"));
}

#[test]
fn words_that_have_their_meaning_pass() {
    for text in [
        "SELECT * EXCLUDE (a) FROM t WHERE a > 1 ORDER BY ALL LIMIT 3",
        "SELECT a, count(DISTINCT b) FILTER (WHERE b > 1) FROM t GROUP BY ROLLUP (a)",
        "SELECT array_agg(a ORDER BY b), first_value(a) IGNORE NULLS OVER (ORDER BY b) FROM t",
        "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a) FROM t",
        "WITH RECURSIVE x AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM x WHERE a < 9) SELECT * FROM x LIMIT 3",
        "SELECT DISTINCT ON (a) a, b FROM t AS t2 (a, b) ORDER BY a, b",
        "SELECT CAST(a AS VARCHAR), a::decimal(10, 2) FROM t",
        "DELETE FROM t WHERE a > 1",
        "CREATE TABLE t (a INT NOT NULL DEFAULT 1, b TEXT)",
        "DROP TABLE IF EXISTS t",
        "DROP SCHEMA s CASCADE",
        "SELECT sum(a) OVER w FROM t WINDOW w AS (PARTITION BY b)",
    ] {
        assert!(checked(text).is_ok(), "{text}: {:?}", checked(text));
    }
}

#[test]
fn a_query_that_begins_with_from_has_all_columns() {
    assert_eq!(checked("FROM t LIMIT 2").unwrap(), "FROM t SELECT * LIMIT 2");
    assert_eq!(checked("SELECT a FROM (FROM t)").unwrap(), "SELECT a FROM (FROM t SELECT *)");
    assert_eq!(checked("FROM t SELECT a").unwrap(), "FROM t SELECT a");
}

#[test]
fn expressions_are_named_as_they_are_written() {
    let text = "SELECT a, (b), avg(b), t.a + 1, a + 1, a + 1 FROM t";
    let named = "SELECT a, (b), avg(b) AS \"avg(b)\", t.a + 1 AS \"t.a + 1\", a + 1 AS \"a + 1\", \
                 a + 1 AS \"a + 1 (2)\" FROM t";
    assert_eq!(checked(text).unwrap(), named);
    assert_eq!(checked("SELECT unnest(a), a AS b FROM t").unwrap(), "SELECT unnest(a), a AS b FROM t");
}

#[tokio::test]
async fn all_columns_may_be_the_order() {
    let session = SessionContext::new();
    let text = "SELECT * FROM (VALUES (2, 1), (1, 3), (1, 2)) t(a, b) ORDER BY ALL";
    assert_eq!(answer(&session, text).await.unwrap(), "|a|b| |1|2| |1|3| |2|1|");
    let text = "SELECT a, count(*) AS n FROM (VALUES (2), (1), (1)) t(a) GROUP BY a ORDER BY ALL DESC";
    assert_eq!(answer(&session, text).await.unwrap(), "|a|n| |2|1| |1|2|");
    // A column of this name is what an order means.
    let text = "SELECT a AS \"all\", b FROM (VALUES (1, 2), (3, 1)) t(a, b) ORDER BY all DESC";
    assert_eq!(answer(&session, text).await.unwrap(), "|all|b| |3|1| |1|2|");
}

#[tokio::test]
async fn any_and_all_do_not_mistake_a_column_for_that_of_the_query_around() {
    let session = SessionContext::new();
    crate::register(&session);
    answer(&session, "CREATE TABLE t AS SELECT * FROM (VALUES (1), (2), (3)) v(i)").await.unwrap();
    for (condition, count) in [
        ("i > ANY (SELECT i FROM t)", 2),
        ("i >= ALL (SELECT i FROM t)", 1),
        ("i = ANY (SELECT i FROM t WHERE i > 1)", 2),
        ("i <> ALL (SELECT i FROM t WHERE i > 1)", 1),
        // A subquery that refers to the query around it keeps its names.
        ("t.i < ANY (SELECT b.i FROM t AS b WHERE b.i = t.i + 1)", 2),
        ("i < ANY (SELECT i FROM t WHERE i < ALL (SELECT i FROM t WHERE i > 2))", 1),
    ] {
        let text = format!("SELECT count(*) AS n FROM t WHERE {condition}");
        assert_eq!(answer(&session, &text).await.unwrap(), format!("|n| |{count}|"), "{condition}");
    }
}

#[tokio::test]
async fn a_time_is_not_compared_with_a_number() {
    let session = SessionContext::new();
    crate::register(&session);
    answer(&session, "CREATE TABLE t AS SELECT DATE '1985-05-06' AS d, TIMESTAMP '1985-05-06' AS s")
        .await
        .unwrap();
    for condition in ["d > 1990", "1990 <= s", "d IN (1990, 1991)", "s BETWEEN 1 AND 2", "d = 1.5"] {
        let refused = answer(&session, &format!("SELECT 1 FROM t WHERE {condition}")).await;
        let refused = refused.expect_err(condition).to_string();
        assert!(refused.contains("a time is compared with a number: write DATE '"), "{refused}");
    }
    let text = "SELECT count(*) AS n FROM t WHERE d > '1985-01-01' AND extract(year FROM s) = 1985";
    assert_eq!(answer(&session, text).await.unwrap(), "|n| |1|");
}

async fn answer(session: &SessionContext, text: &str) -> crate::Result<String> {
    let mut last = String::new();
    for statement in DFParser::parse_sql(text)? {
        let plan = plan_statement(&session.state(), statement).await?;
        let frame = session.execute_logical_plan(plan).await?;
        last = datafusion::arrow::util::pretty::pretty_format_batches(&frame.collect().await?)?.to_string();
    }
    let cells = last.lines().filter(|line| line.starts_with('|')).map(|line| line.replace(' ', ""));
    Ok(cells.collect::<Vec<_>>().join(" "))
}

#[tokio::test]
async fn names_are_found_in_any_case_if_one_is_meant() {
    let session = SessionContext::new();
    let table = "CREATE TABLE \"Cars\" AS SELECT 1 AS \"Name\", 2 AS \"Origin\", 3 AS a, 4 AS \"A\"";
    answer(&session, table).await.unwrap();
    for (text, expected) in [
        ("SELECT NAME, Cars.origin FROM Cars WHERE name = 1 ORDER BY Origin", "|Name|Origin| |1|2|"),
        ("SELECT max(name) FROM Cars GROUP BY ORIGIN", "|max(name)| |1|"),
        ("SELECT l.name FROM Cars l JOIN Cars r USING (name)", "|Name| |1|"),
        ("SELECT a, \"A\" FROM Cars", "|a|A| |3|4|"),
        ("SELECT Cars.NAME, u.Name FROM Cars CROSS JOIN (SELECT 5 AS name) u", "|Name|name| |1|5|"),
    ] {
        assert_eq!(answer(&session, text).await.unwrap(), expected, "{text}");
    }
    assert!(answer(&session, "SELECT * FROM cars").await.is_err());
    assert!(answer(&session, "SELECT \"name\" FROM Cars").await.is_err());
    let insert = "INSERT INTO Cars (NAME, origin, a, \"A\") VALUES (7, 8, 9, 10)";
    let then = format!("{insert}; SELECT name FROM Cars WHERE origin = 8");
    let inserted = answer(&session, &then);
    assert_eq!(inserted.await.unwrap(), "|Name| |7|");
}

#[tokio::test]
async fn names_of_expressions_do_not_get_in_the_way_of_orders_and_groups() {
    let session = SessionContext::new();
    answer(&session, "CREATE TABLE t AS VALUES (1, 3), (1, 5), (2, 2)").await.unwrap();
    for (text, expected) in [
        (
            "SELECT column1, avg(column2) FROM t GROUP BY 1 ORDER BY 2",
            "|column1|avg(column2)| |2|2.0| |1|4.0|",
        ),
        (
            "SELECT column1, round(avg(column2), 1) FROM t GROUP BY 1 ORDER BY 2 DESC LIMIT 1",
            "|column1|round(avg(column2),1)| |1|4.0|",
        ),
        ("SELECT DISTINCT column1 + 1 FROM t ORDER BY column1 + 1 DESC", "|column1+1| |3| |2|"),
        ("SELECT column1 + column2 FROM t ORDER BY column1 + column2 LIMIT 1", "|column1+column2| |4|"),
        ("SELECT sum(column2) FROM t HAVING sum(column2) > 1", "|sum(column2)| |10|"),
        ("SELECT count(*), count(*) FROM t", "|count(*)|count(*)(2)| |3|3|"),
        (
            "SELECT column1 % 2, count(*) FROM t GROUP BY column1 % 2 ORDER BY count(*)",
            "|column1%2|count(*)| |0|1| |1|2|",
        ),
        ("SELECT column1 + 1 FROM t UNION SELECT column1 + 2 FROM t ORDER BY 1 LIMIT 1", "|column1+1| |2|"),
        (
            "SELECT rank() OVER (ORDER BY column2) FROM t QUALIFY rank() OVER (ORDER BY column2) = 1",
            "|rank()OVER(ORDERBYcolumn2)| |1|",
        ),
        (
            "SELECT (SELECT max(column2) FROM t) - min(column2) FROM t",
            "|(SELECTmax(column2)FROMt)-min(column2)| |3|",
        ),
    ] {
        assert_eq!(answer(&session, text).await.unwrap(), expected, "{text}");
    }
}
