use proptest::prelude::*;

use super::*;

fn parsed(text: &str) -> QueryCondition {
    QueryCondition::parse(text).unwrap()
}

#[test]
fn text_binds_as_everywhere_and_binds_to_no_spelling() {
    let (a, b, c) = (|| field("a").eq(1), || field("b").gt(2.5), || field("c").is_null());
    assert_eq!(parsed("a = 1 or b > 2.5 and c is null"), a().or(b().and(c())));
    assert_eq!(parsed("(a==1 OR b>2.5)AND(c Is Null)"), a().or(b()).and(c()));
    assert_eq!(parsed("not a = 1 and not not b > 2.5"), (!a()).and(b()));
    assert_eq!(parsed("((a = 1)) and (b > 2.5 and c is null)"), a().and(b()).and(c()));
    assert_eq!(parsed("\"a\" in (0xff, -1, +2)"), field("a").is_in([255, -1, 2]));
    assert_eq!(parsed("'odd name' not in ()"), field("odd name").not_in::<i32>([]));
    assert_eq!(parsed("s <> 'it\\'s\\x00' and t = true"), field("s").ne("it's\0").and(field("t").eq(true)));
    assert_eq!(
        parsed("x >= -inf and x != NaN"),
        field("x").ge(f64::NEG_INFINITY).and(field("x").ne(f64::NAN))
    );
    assert_eq!(parsed("s like 'JF%' or s NOT LIKE '_'"), field("s").like("JF%").or(field("s").not_like("_")));
    let between = || field("k").ge(1).and(field("k").le(5));
    assert_eq!(parsed("k between 1 and 5 and a = 1"), between().and(a()));
    assert_eq!(parsed("k not between 1 and 5 or a = 1"), (!between()).or(a()));
    assert_eq!(parsed("like = 1 and between like 'x'"), field("like").eq(1).and(field("between").like("x")));
    assert_eq!(parsed("größe <= 1e3"), field("größe").le(1000.0));
}

#[test]
fn what_is_wrong_with_a_text_is_said_where_it_stands() {
    for (text, column, expected) in [
        ("", 1, "the name of a field is expected, not the end"),
        ("k == 7 and", 11, "the name of a field"),
        ("k == 7 v", 8, "\"and\", \"or\" or the end is expected, not v"),
        ("k = seven", 5, "strings must be in quotes"),
        ("k = null", 5, "is null"),
        ("k is 5", 6, "\"null\", \"nan\" or \"not\" is expected"),
        ("k is not 5", 10, "\"null\" or \"nan\" is expected"),
        ("k ~ 5", 3, "'~'"),
        ("k 5", 3, "an operator (=, !=, <, <=, >, >=, in, like, between or is) is expected, not 5"),
        ("k not 5", 7, "\"in\", \"like\" or \"between\" is expected"),
        ("k like 5", 8, "a pattern in quotes, such as 'JF%', is expected, not 5"),
        ("k between 5", 12, "\"and\", and the greatest value, is expected, not the end"),
        ("größe = 'x", 9, "no closing quote"),
        ("k = 'a\\q'", 7, "is not an escape sequence"),
        ("k = 1x", 5, "1x is not a number"),
        ("k in 5", 6, "a list of values"),
        ("k in (1, 2", 11, "\",\" or \")\""),
        ("(k = 1", 7, "\")\""),
        ("k = 0x99999999999999999999999999999999999999999", 5, "is not a number"),
        ("k = 1 and 2 = k", 11, "the name of a field is expected, not 2"),
        ("and = 1", 1, "the name of a field"),
    ] {
        let error = QueryCondition::parse(text).unwrap_err();
        assert_eq!(error.column(), Some(column), "{text}: {error}");
        assert!(error.to_string().contains(expected), "{text}: {error}");
    }
}

#[test]
fn hostile_texts_exhaust_neither_stack_nor_patience() {
    let deep = format!("{}k = 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(*QueryCondition::parse(&deep).unwrap_err().kind(), ConditionErrorKind::TooDeep { max: 64 });
    let nots = format!("{}k = 1", "not ".repeat(100_001));
    assert_eq!(parsed(&nots), !field("k").eq(1));
    let long = vec!["k = 1"; 50_000].join(" and ");
    assert_eq!(parsed(&long).to_string(), long);
    let too_long = "x".repeat((1 << 20) + 1);
    assert!(matches!(
        QueryCondition::parse(&too_long).unwrap_err().kind(),
        ConditionErrorKind::TooLong { .. }
    ));
    // Alternating "and" in "or" in "and": as deep as a text can be, and still usable.
    let mut text = "a = 1".to_owned();
    for level in 0..63 {
        text = format!("not (a = 1 {} ({text}))", if level % 2 == 0 { "and" } else { "or" });
    }
    assert!(matches!(QueryCondition::parse(&text).unwrap_err().kind(), ConditionErrorKind::TooDeep { .. }));
}

fn operand() -> impl Strategy<Value = Operand> {
    prop_oneof![
        any::<i128>().prop_map(Operand::Int),
        any::<f64>().prop_map(Operand::Float),
        prop_oneof![Just(f64::NAN), Just(f64::INFINITY), Just(-0.0), Just(1e300)].prop_map(Operand::Float),
        proptest::collection::vec(any::<u8>(), 0..6).prop_map(Operand::Bytes),
        ".{0,5}".prop_map(|text| Operand::Bytes(text.into_bytes())),
        any::<bool>().prop_map(Operand::Bool),
        // Leading zeros would make it a number that fits in 128 bits, which reads back as an
        // integer.
        "-?[1-9][0-9]{39,49}".prop_map(Operand::Decimal),
        prop_oneof![Just("1e400"), Just("1.000000178813934326171874999"), Just("9007199254740993.0")]
            .prop_map(|text| Operand::Decimal(text.to_owned())),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z_][a-z0-9_.]{0,4}", ".{0,6}", Just("NOT".to_owned()), Just("nan".to_owned())]
}

fn condition() -> impl Strategy<Value = QueryCondition> {
    let test = (name(), 0usize..14, proptest::collection::vec(operand(), 0..4), operand()).prop_map(
        |(name, kind, list, one)| {
            let name = field(name);
            match kind {
                0 => name.eq(one),
                1 => name.ne(one),
                2 => name.lt(one),
                3 => name.le(one),
                4 => name.gt(one),
                5 => name.ge(one),
                6 => name.is_in(list),
                7 => name.not_in(list),
                8 => name.is_null(),
                9 => name.is_nan(),
                10 => name.is_not_nan(),
                11 => name.like(one.to_string()),
                12 => name.not_like(one.to_string()),
                _ => name.is_not_null(),
            }
        },
    );
    test.prop_recursive(5, 24, 4, |inner| {
        (inner.clone(), inner, 0usize..3).prop_map(|(a, b, how)| match how {
            0 => a.and(b),
            1 => a.or(b),
            _ => !a,
        })
    })
}

proptest! {
    #[test]
    fn a_condition_reads_back_as_it_is_shown(condition in condition()) {
        let text = condition.to_string();
        prop_assert_eq!(QueryCondition::parse(&text), Ok(condition), "{}", text);
    }

    #[test]
    fn no_text_is_too_odd_to_be_refused_in_order(text in "[a-c0-9 ()'\"\\\\,.<>=!+x-]{0,40}|.{0,30}") {
        match QueryCondition::parse(&text) {
            Ok(condition) => prop_assert_eq!(QueryCondition::parse(&condition.to_string()), Ok(condition)),
            Err(error) => {
                let (offset, column) = (error.offset().unwrap(), error.column().unwrap());
                prop_assert_eq!(text[..offset].chars().count() + 1, column);
            }
        }
    }
}

#[test]
fn lists_are_read_and_what_is_wrong_with_them_is_said_where_it_stands() {
    let read = Aggregate::parse("count, COUNT(*),null_count(a) , \"x\"");
    assert!(read.unwrap_err().to_string().starts_with("column 33: the name of an aggregate"));
    let read = Aggregate::parse("count, COUNT(*),null_count(a) , mean('odd \\x21')").unwrap();
    let expected =
        [Aggregate::count(), Aggregate::count(), Aggregate::null_count("a"), Aggregate::mean("odd !")];
    assert_eq!(read, expected);
    let shown = read.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    assert_eq!(Aggregate::parse(&shown).unwrap(), expected);
    for (text, column) in [
        ("", 1),
        ("sum", 1),
        ("count(a)", 1),
        ("count,median(a)", 7),
        ("sum(a", 6),
        ("sum(a) min(a)", 8),
        ("sum(5)", 5),
    ] {
        let Err(AggregateError::Text(error)) = Aggregate::parse(text) else { panic!("{text}") };
        assert_eq!(error.column(), Some(column), "{text}: {error}");
    }
}

#[test]
fn numbers_that_their_nearest_double_does_not_stand_for_stay_as_they_are_written() {
    for text in
        ["1.000000178813934326171874999", "9007199254740993.0", "4503599627370497.6", "1e400", "-1e400"]
    {
        assert_eq!(
            parsed(&format!("a = {text}")),
            field("a").eq(Operand::Decimal(text.to_owned())),
            "{text}"
        );
    }
    for (text, value) in [
        ("0.1", 0.1),
        ("1e300", 1e300),
        ("-0.0", -0.0),
        ("1.5e3", 1500.0),
        ("9007199254740992.0", 2f64.powi(53)),
    ] {
        assert_eq!(parsed(&format!("a = {text}")), field("a").eq(value), "{text}");
    }
    assert_eq!(field("a").eq(12_345_678_901_234_567_168.0).to_string(), "a = 12345678901234567168.0");
}

/// The values that a test of `map_operands` compares, and those that its operand stands for.
const ALL: ops::Range<i128> = 0..20;
const SPAN: RangeInclusive<i128> = 7..=11;

/// Whether a value satisfies a tree whose operands are integers.
fn satisfies(tree: &Tree, value: i128) -> bool {
    match tree {
        Tree::And(list) => list.iter().all(|tree| satisfies(tree, value)),
        Tree::Or(list) => list.iter().any(|tree| satisfies(tree, value)),
        Tree::Not(inner) => !satisfies(inner, value),
        Tree::Test { predicate: Predicate::Compare { comparison, operands }, .. } => {
            let operands = operands.iter().map(|(operand, _)| match operand {
                Operand::Int(value) => *value,
                other => panic!("{other}"),
            });
            let operands: Vec<i128> = operands.collect();
            match comparison {
                Comparison::Less => value < operands[0],
                Comparison::LessOrEqual => value <= operands[0],
                Comparison::Greater => value > operands[0],
                Comparison::GreaterOrEqual => value >= operands[0],
                Comparison::Equal | Comparison::In => operands.contains(&value),
                Comparison::NotEqual | Comparison::NotIn => !operands.contains(&value),
                other => panic!("{other:?}"),
            }
        }
        Tree::Test { .. } => panic!("only comparisons"),
    }
}

#[test]
fn an_operand_that_stands_for_several_values_is_compared_with_all_of_them() {
    let several = |_: &str, operand: &Operand| {
        let text = matches!(operand, Operand::Bytes(_));
        Ok(text.then(|| Operand::Int(*SPAN.start())..=Operand::Int(*SPAN.end())))
    };
    type Expected = fn(i128) -> bool;
    let cases: [(&str, Expected); 10] = [
        ("a = 'x'", |value| SPAN.contains(&value)),
        ("a != 'x'", |value| !SPAN.contains(&value)),
        ("a < 'x'", |value| value < *SPAN.start()),
        ("a <= 'x'", |value| value <= *SPAN.end()),
        ("a > 'x'", |value| value > *SPAN.end()),
        ("a >= 'x'", |value| value >= *SPAN.start()),
        ("a in (3, 'x', 15)", |value| SPAN.contains(&value) || value == 3 || value == 15),
        ("a not in (3, 'x', 15)", |value| !SPAN.contains(&value) && value != 3 && value != 15),
        ("not (a = 'x' or a = 3)", |value| !SPAN.contains(&value) && value != 3),
        ("a != 'x' and a > 2", |value| !SPAN.contains(&value) && value > 2),
    ];
    for (text, expected) in cases {
        let condition = parsed(text).map_operands(several).unwrap();
        for value in ALL {
            assert_eq!(satisfies(&condition.tree, value), expected(value), "{text}: {condition} of {value}");
        }
    }
}
