//! Columns are requested for all cells that any test looks at, now or later.

use proptest::prelude::*;
use tdb_codec::{CellValNum, Datatype, Physical};
use tdb_schema::FieldKind;

use super::*;
use crate::ProgramField;
use crate::facts::Facts;
use crate::spec::ColumnSpec;

const FIELDS: usize = 4;
const CELLS: usize = 24;

/// Columns of which only the cells are decoded that the first request asks for. The others have the
/// value that no test expects.
struct Decoded {
    truth: [[i32; CELLS]; FIELDS],
    decoded: [Option<[i32; CELLS]>; FIELDS],
}

/// What cells have that were not decoded: half of all comparisons hold for it.
const GARBAGE: [i32; 2] = [i32::MIN, i32::MAX];

impl Columns for Decoded {
    fn column(&mut self, field: usize, mask: &[u8]) -> Result<Option<ColumnView<'_>>> {
        let truth = self.truth[field];
        let decoded = self.decoded[field].get_or_insert_with(|| {
            core::array::from_fn(|cell| if mask[cell] != 0 { truth[cell] } else { GARBAGE[cell % 2] })
        });
        let values = bytemuck::cast_slice(decoded.as_slice());
        Ok(Some(ColumnView { values, offsets: None, codes: None, validity: None, present: None }))
    }

    fn facts(&self, _: usize) -> FieldFacts<'_> {
        FieldFacts::Known(Facts::UNKNOWN)
    }
}

pub(crate) const COMPARISONS: [Comparison; 6] = [
    Comparison::Less,
    Comparison::LessOrEqual,
    Comparison::Greater,
    Comparison::GreaterOrEqual,
    Comparison::Equal,
    Comparison::NotEqual,
];

fn node() -> impl Strategy<Value = Node> {
    let test = (0..FIELDS, 0..COMPARISONS.len(), 0i32..4).prop_map(|(field, comparison, operand)| {
        let operand = operand.to_le_bytes().to_vec();
        let test = Test::Number { comparison: COMPARISONS[comparison], operand, physical: Physical::I32 };
        Node::Test { field, test }
    });
    test.prop_recursive(4, 24, 4, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        prop_oneof![
            some.clone().prop_map(Node::All),
            some.prop_map(Node::Any),
            inner.prop_map(|node| Node::Not(Box::new(node))),
        ]
    })
}

/// Whether a cell satisfies a node.
fn satisfies(node: &Node, truth: &[[i32; CELLS]; FIELDS], cell: usize) -> bool {
    match node {
        Node::All(nodes) => nodes.iter().all(|node| satisfies(node, truth, cell)),
        Node::Any(nodes) => nodes.iter().any(|node| satisfies(node, truth, cell)),
        Node::Not(node) => !satisfies(node, truth, cell),
        Node::Test { field, test: Test::Number { comparison, operand, .. } } => {
            let operand = i32::from_le_bytes(operand.as_slice().try_into().unwrap());
            holds(*comparison, Some(truth[*field][cell].cmp(&operand)))
        }
        Node::Test { .. } => unreachable!("all tests compare numbers"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 2000 }))]

    #[test]
    fn cells_that_a_later_test_looks_at_are_requested_by_the_first(
        roots in prop::collection::vec(node(), 1..3),
        truth in prop::array::uniform4(prop::array::uniform24(0i32..4)),
        wanted in prop::array::uniform24(0u8..2),
    ) {
        let spec = ColumnSpec {
            name: "a".to_owned(),
            datatype: Datatype::Int32,
            cell_val_num: CellValNum::ONE,
            cell_size: Some(4),
            nullable: false,
            fill: vec![0; 4],
            fill_validity: 1,
        };
        let fields = (0..FIELDS).map(|at| ProgramField { kind: FieldKind::Attribute(at), spec: spec.clone(), is_current: true });
        let program = Program { fields: fields.collect(), roots };
        let expected = |root: usize| -> Vec<u8> {
            let node = &program.roots[root];
            wanted.iter().enumerate().map(|(cell, wanted)| wanted & u8::from(satisfies(node, &truth, cell))).collect()
        };
        let mut columns = Decoded { truth, decoded: [None; FIELDS] };
        let mut mask = wanted.to_vec();
        program.apply(0, &mut columns, &mut mask).unwrap();
        prop_assert_eq!(&mask, &expected(0));
        // Several conditions share columns.
        let mut columns = Decoded { truth, decoded: [None; FIELDS] };
        for root in 0..program.roots.len() {
            let mut mask = wanted.to_vec();
            program.apply_within(root, &mut columns, &wanted, &mut mask).unwrap();
            prop_assert_eq!(&mask, &expected(root));
        }
    }
}

/// The cells of three, of which the last is null, that satisfy a stored comparison with no bytes.
fn satisfy_nothing(comparison: Comparison, datatype: Datatype) -> [bool; 3] {
    let test = Test::stored(comparison, &[Vec::new()], datatype, CellValNum::ONE);
    let size = datatype.size();
    let values = [vec![0; size], vec![b'a'; size], vec![b'b'; size]].concat();
    let validity = [1, 1, 0];
    let (values, validity) = (values.as_slice(), Some(&validity[..]));
    let mut mask = [1; 3];
    let view = ColumnView { values, offsets: None, codes: None, validity, present: None };
    test.apply(view, Some(size), &mut mask).unwrap();
    mask.map(|cell| cell == 1)
}

#[test]
fn a_stored_operand_without_bytes_is_null_except_that_text_may_be_less_or_greater() {
    for (comparison, of_numbers, of_text) in [
        (Comparison::Equal, [false, false, true], [false, false, true]),
        (Comparison::NotEqual, [true, true, false], [true, true, false]),
        (Comparison::Less, [false; 3], [false; 3]),
        (Comparison::LessOrEqual, [false; 3], [false; 3]),
        (Comparison::Greater, [false; 3], [true, true, false]),
        (Comparison::GreaterOrEqual, [false; 3], [true, true, false]),
        (Comparison::AlwaysTrue, [true; 3], [true; 3]),
        (Comparison::AlwaysFalse, [false; 3], [false; 3]),
    ] {
        for numbers in [Datatype::Int32, Datatype::Float64, Datatype::Blob] {
            assert_eq!(satisfy_nothing(comparison, numbers), of_numbers, "{comparison:?} {numbers}");
        }
        for text in [Datatype::Char, Datatype::StringAscii, Datatype::StringUtf8] {
            assert_eq!(satisfy_nothing(comparison, text), of_text, "{comparison:?} {text}");
        }
    }
}

#[test]
fn a_stored_set_of_reals_is_compared_by_bytes_as_libtiledb_does() {
    let cells = [0.0, -0.0, f64::NAN, -f64::NAN, 1.5];
    let values: Vec<u8> = cells.iter().flat_map(|cell| cell.to_le_bytes()).collect();
    for members in [vec![0.0], vec![-0.0], vec![-0.0, 0.0], vec![f64::NAN, 1.5], vec![2.0]] {
        for more in [0u32, 20] {
            let list = members.iter().copied().chain((0..more).map(|at| f64::from(at + 10)));
            let list: Vec<Vec<u8>> = list.map(|member| member.to_le_bytes().to_vec()).collect();
            for comparison in [Comparison::In, Comparison::NotIn] {
                let test = Test::stored(comparison, &list, Datatype::Float64, CellValNum::ONE);
                let aligned = tdb_codec::Buffer::from(values.as_slice());
                let values = aligned.as_slice();
                let mut mask = [1; 5];
                let view = ColumnView { values, offsets: None, codes: None, validity: None, present: None };
                test.apply(view, Some(8), &mut mask).unwrap();
                let same = |cell: f64| list.contains(&cell.to_le_bytes().to_vec());
                let expected = cells.map(|cell| u8::from(same(cell) == (comparison == Comparison::In)));
                assert_eq!(mask, expected, "{comparison:?} {members:?} and {more} others");
            }
        }
    }
}
