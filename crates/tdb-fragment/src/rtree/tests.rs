use tdb_codec::Datatype;
use tdb_schema::Dimension;

use super::*;

fn domain() -> Domain {
    let low = 0i32.to_le_bytes();
    let x = Dimension::fixed("x", Datatype::Int32, low, 999i32.to_le_bytes());
    Domain::new(vec![x, Dimension::string("s")])
}

fn leaves(count: i32) -> Vec<Vec<Range>> {
    let leaf = |i: i32| {
        let word = format!("w{i}");
        vec![Range::new(i.to_le_bytes(), (i + 1).to_le_bytes()), Range::new(word.as_bytes(), *b"x")]
    };
    (0..count).map(leaf).collect()
}

#[test]
fn levels_have_the_shape_libtiledb_gives_them() {
    for (count, shape) in [
        (0, vec![]),
        (1, vec![1]),
        (2, vec![1, 2]),
        (10, vec![1, 10]),
        (13, vec![1, 2, 13]),
        (101, vec![1, 2, 11, 101]),
    ] {
        let tree = RTree::build(&leaves(count), &domain()).unwrap();
        let levels: Vec<usize> = tree.levels().iter().map(Level::len).collect();
        assert_eq!(levels, shape);
        let bytes = tree.to_bytes(FormatVersion::CURRENT, &domain()).unwrap();
        assert_eq!(RTree::parse(&bytes, FormatVersion::CURRENT, &domain()).unwrap(), tree);
        for len in 0..bytes.len() {
            assert!(RTree::parse(&bytes[..len], FormatVersion::CURRENT, &domain()).is_err());
        }
    }
}

#[test]
fn search_finds_exactly_the_overlapping_leaves() {
    let tree = RTree::build(&leaves(137), &domain()).unwrap();
    let wanted = Range::new(50i32.to_le_bytes(), 52i32.to_le_bytes());
    let found = tree.search(|dimension, low, high| {
        dimension != 0 || wanted.overlaps(Datatype::Int32, &Range::new(low, high))
    });
    assert_eq!(found, [49, 50, 51, 52]);
}

#[test]
fn levels_that_do_not_fit_each_other_are_refused() {
    let tree = RTree::build(&leaves(13), &domain()).unwrap();
    let mut bytes = tree.to_bytes(FormatVersion::CURRENT, &domain()).unwrap();
    bytes[0] = 3;
    let error = RTree::parse(&bytes, FormatVersion::CURRENT, &domain()).unwrap_err();
    assert_eq!(error.what, "MBR count");
}

#[test]
fn every_node_covers_the_boxes_of_its_children() {
    let tree = RTree::build(&leaves(13), &domain()).unwrap();
    assert_eq!((tree.fanout(), tree.leaf_count()), (10, 13));
    let number = |value: i32| value.to_le_bytes();
    let node = |mbr: Mbr<'_>| {
        let (low, high) = mbr.range(0).unwrap();
        let (first, last) = mbr.range(1).unwrap();
        assert_eq!(mbr.ranges().collect::<Vec<_>>(), [(low, high), (first, last)]);
        assert!(mbr.range(2).is_none());
        (low.to_vec(), high.to_vec(), first.to_vec(), last.to_vec())
    };
    // Leaf i is i to i + 1, and "wi" to "x".
    let row = |low, high, first: &str| (number(low).into(), number(high).into(), first.into(), b"x".into());
    assert_eq!(node(tree.node(0, 0).unwrap()), row(0, 13, "w0"));
    assert_eq!(node(tree.node(1, 1).unwrap()), row(10, 13, "w10"));
    assert_eq!(node(tree.node(2, 9).unwrap()), row(9, 10, "w9"));
    assert_eq!(node(tree.leaf(12).unwrap()), row(12, 13, "w12"));
    let none = [tree.node(0, 1), tree.node(1, 2), tree.node(2, 13), tree.node(3, 0), tree.leaf(13)];
    assert!(none.iter().all(Option::is_none));
    assert!(!tree.levels()[0].is_empty());
}

#[test]
fn boxes_of_numbers_alone_are_found_by_their_place() {
    let domain = Domain::new(vec![Dimension::new("x", 0u8..=99), Dimension::new("y", 0u16..=999)]);
    let leaf =
        |x: u8, y: u16| vec![Range::new([x], [x + 1]), Range::new(y.to_le_bytes(), (y + 300).to_le_bytes())];
    let tree = RTree::build(&[leaf(1, 5), leaf(3, 400), leaf(7, 600)], &domain).unwrap();
    let (x, y) = (tree.leaf(1).unwrap().range(0), tree.leaf(1).unwrap().range(1));
    assert_eq!(x, Some((&[3][..], &[4][..])));
    assert_eq!(y, Some((&400u16.to_le_bytes()[..], &700u16.to_le_bytes()[..])));
    let root = tree.node(0, 0).unwrap();
    assert_eq!(root.range(1), Some((&5u16.to_le_bytes()[..], &900u16.to_le_bytes()[..])));
    assert!(root.range(2).is_none());
}

#[test]
fn trees_of_version_4_say_how_many_dimensions_they_have_and_of_which_type() {
    let version = FormatVersion::parse(4).unwrap();
    let domain = Domain::new(vec![Dimension::new("x", 0u8..=99), Dimension::new("y", 0u8..=99)]);
    // 2 dimensions, fanout 10, UINT8, 1 level, 1 MBR: 3 to 7, 4 to 9
    let payload = [2, 0, 0, 0, 10, 0, 0, 0, 6, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 7, 4, 9];
    let tree = RTree::parse(&payload, version, &domain).unwrap();
    assert_eq!(tree.leaf(0).unwrap().range(1), Some((&[4][..], &[9][..])));
    assert_eq!(tree.to_bytes(version, &domain).unwrap(), payload);
    let mut other = payload;
    other[0] = 3;
    let error = RTree::parse(&other, version, &domain).unwrap_err();
    assert_eq!((error.what, error.offset), ("R-tree dimension count", 0));
    // Without levels, any number is accepted.
    let empty = [3, 0, 0, 0, 10, 0, 0, 0, 6, 0, 0, 0, 0];
    assert_eq!(RTree::parse(&empty, version, &domain).unwrap().leaf_count(), 0);
}

#[test]
fn a_fanout_below_two_is_refused_where_there_are_levels() {
    let domain = Domain::new(vec![Dimension::new("x", 0u8..=99)]);
    let version = FormatVersion::CURRENT;
    let payload = |fanout| [fanout, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 7];
    assert!(RTree::parse(&payload(2), version, &domain).is_ok());
    let error = RTree::parse(&payload(1), version, &domain).unwrap_err();
    let kind = ErrorKind::InvalidValue { value: 1 };
    assert_eq!((error.what, error.kind, error.offset), ("R-tree fanout", kind, 0));
    assert!(RTree::parse(&[0; 8], version, &domain).is_ok(), "no levels");
    let bare = [10, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let tree = RTree::parse(&bare, version, &domain).unwrap();
    assert!(tree.levels()[0].is_empty(), "a level without MBRs");
}

#[test]
fn an_mbr_whose_low_end_is_longer_than_both_ends_is_refused_where_it_begins() {
    let version = FormatVersion::CURRENT;
    let strings = Domain::new(vec![Dimension::string("s")]);
    // fanout 10, 1 level, 1 MBR of 2 bytes: "a" to "b"
    let mut payload = vec![10, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0];
    payload.extend([2u64, 2].map(u64::to_le_bytes).as_flattened());
    payload.extend(b"ab");
    let tree = RTree::parse(&payload, version, &strings).unwrap();
    assert_eq!(tree.leaf(0).unwrap().range(0), Some((&b"ab"[..], &b""[..])));
    payload[24] = 3;
    let error = RTree::parse(&payload, version, &strings).unwrap_err();
    let kind = ErrorKind::WrongLength { value: 3 };
    assert_eq!((error.what, error.kind, error.offset), ("MBR", kind, 16));
}

#[test]
fn a_search_looks_at_no_box_below_one_that_does_not_overlap() {
    let tree = RTree::build(&leaves(1000), &domain()).unwrap();
    let wanted = Range::new(500i32.to_le_bytes(), 500i32.to_le_bytes());
    let looked_at = core::cell::Cell::new(0);
    let found = tree.search(|dimension, low, high| {
        looked_at.set(looked_at.get() + 1);
        dimension != 0 || wanted.overlaps(Datatype::Int32, &Range::new(low, high))
    });
    assert_eq!(found, [499, 500]);
    // The root, 10 of 10 nodes, and 20 of 100, then of 1000: two dimensions at most.
    assert!(looked_at.get() <= 2 * (1 + 10 + 20 + 20), "{} boxes", looked_at.get());
}
