use super::*;

fn sample() -> Condition {
    let value = |field: &str, comparison, operands: &[&[u8]]| Condition::Value {
        field: field.into(),
        comparison,
        operands: operands.iter().map(|operand| operand.to_vec()).collect(),
    };
    Condition::Expression {
        junction: Junction::Or,
        children: vec![
            value("a", Comparison::LessOrEqual, &[&[1, 2, 3, 4]]),
            value("name", Comparison::NotIn, &[b"x", b"", b"yz"]),
            value("b", Comparison::Equal, &[b""]),
        ],
    }
}

#[test]
fn trees_round_trip_and_every_truncation_is_refused() {
    let bytes = sample().to_bytes(FormatVersion::CURRENT).unwrap();
    assert_eq!(Condition::parse(&bytes).unwrap(), sample());
    for len in 0..bytes.len() {
        assert!(Condition::parse(&bytes[..len]).is_err(), "{len}");
    }
}

#[test]
fn trees_too_deep_for_the_stack_are_refused() {
    let mut bytes = Vec::new();
    for _ in 0..1000 {
        bytes.extend([0, 2]);
        bytes.extend(1u64.to_le_bytes());
    }
    bytes.extend([0; 64]);
    let error = Condition::parse(&bytes).unwrap_err();
    assert_eq!(error.what, "condition depth");
}

#[test]
fn offsets_past_the_data_are_refused() {
    let mut bytes = vec![1, 6, 1, 0, 0, 0, b'a', 1, 0, 0, 0, 0, 0, 0, 0, 9, 8, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend(7u64.to_le_bytes());
    assert_eq!(Condition::parse(&bytes).unwrap_err().what, "condition value offsets");
}

const ALL: [Comparison; 10] = [
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
    Comparison::Equal,
    Comparison::NotEqual,
    Comparison::In,
    Comparison::NotIn,
    Comparison::AlwaysTrue,
    Comparison::AlwaysFalse,
];

#[test]
fn comparisons_are_written_as_people_write_them() {
    let signs = ["<", "<=", ">", ">=", "=", "!=", "in", "not in", "true", "false"];
    assert_eq!(ALL.map(Comparison::sign), signs);
    assert_eq!(ALL.map(Comparison::code), [0, 1, 2, 3, 4, 5, 6, 7, 253, 254]);
    for comparison in ALL {
        assert_eq!(Comparison::from_code(comparison.code()), Some(comparison));
    }
    assert_eq!(Comparison::from_code(8), None);
}

#[test]
fn a_negated_comparison_is_true_exactly_where_the_comparison_is_false() {
    let holds = |comparison, a: i32, b: i32| match comparison {
        Comparison::Less => a < b,
        Comparison::LessOrEqual => a <= b,
        Comparison::Greater => a > b,
        Comparison::GreaterOrEqual => a >= b,
        Comparison::Equal | Comparison::In => a == b,
        Comparison::NotEqual | Comparison::NotIn => a != b,
        Comparison::AlwaysTrue => true,
        Comparison::AlwaysFalse => false,
    };
    for comparison in ALL {
        let negated = comparison.negated();
        assert_eq!(negated.takes_list(), comparison.takes_list(), "{comparison:?}");
        assert_eq!(negated.negated(), comparison);
        for b in [1, 2, 3] {
            assert_ne!(holds(comparison, 2, b), holds(negated, 2, b), "{comparison:?}, {b}");
        }
    }
}

#[test]
fn the_fields_of_a_condition_are_told_in_order() {
    let mut fields = Vec::new();
    let twice = Condition::Expression { junction: Junction::And, children: vec![sample(), sample()] };
    twice.for_each_field(&mut |field| fields.push(field.to_owned()));
    assert_eq!(fields, ["a", "name", "b", "a", "name", "b"]);
}

/// A comparison inside of so many NOTs.
fn nested(nots: usize) -> Condition {
    let comparison = Comparison::Equal;
    let value = Condition::Value { field: "a".into(), comparison, operands: vec![vec![1]] };
    (0..nots).fold(value, |child, _| Condition::Expression { junction: Junction::Not, children: vec![child] })
}

#[test]
fn trees_of_64_levels_are_written_and_read_and_deeper_ones_are_not() {
    let deepest = nested(63).to_bytes(FormatVersion::CURRENT).unwrap();
    assert_eq!(Condition::parse(&deepest).unwrap(), nested(63));
    let error = nested(64).to_bytes(FormatVersion::CURRENT).unwrap_err();
    let kind = ErrorKind::InvalidValue { value: 64 };
    assert_eq!((error.what, error.kind), ("condition depth", kind));
    let deeper = [&[0, 2, 1, 0, 0, 0, 0, 0, 0, 0], deepest.as_slice()].concat();
    assert_eq!(Condition::parse(&deeper).unwrap_err().what, "condition depth");
}

#[test]
fn expressions_without_children_and_not_with_two_are_neither_read_nor_written() {
    for (junction, code, count) in [(Junction::And, 0, 0), (Junction::Or, 1, 0), (Junction::Not, 2, 2)] {
        let condition = Condition::Expression { junction, children: vec![nested(0); count] };
        let error = condition.to_bytes(FormatVersion::CURRENT).unwrap_err();
        let kind = ErrorKind::InvalidValue { value: to_u64(count) };
        assert_eq!((error.what, error.kind), ("condition child count", kind));
        let mut bytes = vec![0, code];
        bytes.extend(to_u64(count).to_le_bytes());
        for _ in 0..count {
            bytes.extend(nested(0).to_bytes(FormatVersion::CURRENT).unwrap());
        }
        let error = Condition::parse(&bytes).unwrap_err();
        assert_eq!((error.what, error.kind, error.offset), ("condition child count", kind, 2));
    }
}

#[test]
fn only_lists_have_another_number_of_operands_than_one() {
    let with = |comparison, operands: &[&[u8]]| {
        let operands = operands.iter().map(|operand| operand.to_vec()).collect();
        Condition::Value { field: "a".into(), comparison, operands }
    };
    for operands in [&[][..], &[&[1][..], &[2]]] {
        let error = with(Comparison::Less, operands).to_bytes(FormatVersion::CURRENT).unwrap_err();
        assert_eq!(error.what, "condition value");
        let list = with(Comparison::In, operands);
        let bytes = list.to_bytes(FormatVersion::CURRENT).unwrap();
        assert_eq!(Condition::parse(&bytes).unwrap(), list);
    }
}

#[test]
fn codes_that_no_node_has_are_refused_where_they_stand() {
    let value = [1, 4, 1, 0, 0, 0, b'a', 0, 0, 0, 0, 0, 0, 0, 0];
    assert!(Condition::parse(&value).is_ok());
    for (at, code, what) in [(0, 2, "condition node"), (1, 8, "condition operator")] {
        let mut bytes = value;
        bytes[at] = code;
        let error = Condition::parse(&bytes).unwrap_err();
        assert_eq!((error.what, error.offset), (what, to_u64(at)));
    }
}
