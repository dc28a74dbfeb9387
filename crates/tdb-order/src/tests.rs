//! Compares every way of sorting with comparing all cells one by one.

use tdb_codec::{ArrayType, Buffer};
use tdb_schema::{Domain, Range};

use super::*;

/// A generator that is good enough to shuffle cells.
struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }

    fn small(&mut self, below: u64) -> u32 {
        u32::try_from(self.next(below)).unwrap()
    }

    fn byte(&mut self, below: u64) -> u8 {
        u8::try_from(self.next(below)).unwrap()
    }
}

fn schema(dimensions: Vec<Dimension>, tile_order: Layout, cell_order: Layout) -> ArraySchema {
    let mut schema = ArraySchema::new(ArrayType::Sparse, Domain { dimensions });
    schema.tile_order = tile_order;
    schema.cell_order = cell_order;
    schema
}

/// Coordinates back to back, and for strings also offsets, one more than cells.
type Coordinates = (Buffer, Option<Vec<u64>>);

fn column(values: &[Vec<u8>], var: bool) -> Coordinates {
    let mut bytes = Buffer::new();
    let mut offsets = vec![0u64];
    for value in values {
        bytes.extend_from_slice(value);
        offsets.push(bytes.len() as u64);
    }
    (bytes, var.then_some(offsets))
}

/// One tile's cells.
struct Tile {
    fragment: usize,
    cells: usize,
    coordinates: Vec<Coordinates>,
}

/// One tile's cells; `cells[i][d]` is a coordinate.
fn tile(schema: &ArraySchema, fragment: usize, cells: &[Vec<Vec<u8>>]) -> Tile {
    let coordinates = schema.domain.dimensions.iter().enumerate().map(|(d, dimension)| {
        let values: Vec<Vec<u8>> = cells.iter().map(|cell| cell[d].clone()).collect();
        column(&values, dimension.is_var())
    });
    Tile { fragment, cells: cells.len(), coordinates: coordinates.collect() }
}

fn batches<'a>(tiles: &'a [Tile]) -> Vec<CellBatch<'a>> {
    let batch = |tile: &'a Tile| {
        let Tile { fragment, cells, coordinates } = tile;
        let view = |(values, offsets): &'a Coordinates| CoordinatesRef {
            values: values.as_slice(),
            offsets: offsets.as_deref(),
        };
        let coordinates = coordinates.iter().map(view).collect();
        CellBatch { coordinates, cells: *cells, fragment: *fragment, ..CellBatch::default() }
    };
    tiles.iter().map(batch).collect()
}

/// The order by definition: compare, then the newest fragment first, then as stored.
fn naive(
    schema: &ArraySchema,
    fragments: &[Vec<Vec<Vec<u8>>>],
    order: CellOrder,
    dedup: bool,
) -> (Vec<u32>, Vec<u32>) {
    let cells: Vec<(usize, &Vec<Vec<u8>>)> =
        fragments.iter().enumerate().flat_map(|(f, cells)| cells.iter().map(move |cell| (f, cell))).collect();
    let parts = parts(schema, order);
    let dimensions = &schema.domain.dimensions;
    let curve = (order == CellOrder::Hilbert).then(|| hilbert::Curve::new(dimensions));
    let places: Option<Vec<_>> =
        curve.map(|curve| cells.iter().map(|(_, cell)| curve.place(|dimension| &cell[dimension])).collect());
    let compare = |a: u32, b: u32| {
        let place = |cell: u32| places.as_ref().map(|places| places[cell as usize]);
        let first = place(a).cmp(&place(b));
        let ((_, a), (_, b)) = (cells[a as usize], cells[b as usize]);
        parts.iter().fold(first, |ordering, part| {
            let d = part.dimension();
            ordering.then_with(|| compare_part(*part, &dimensions[d], &a[d], &b[d]))
        })
    };
    let mut sorted: Vec<u32> = (0u32..).zip(&cells).map(|(cell, _)| cell).collect();
    sorted
        .sort_by(|a, b| compare(*a, *b).then(cells[*b as usize].0.cmp(&cells[*a as usize].0)).then(a.cmp(b)));
    if !dedup {
        return (sorted, Vec::new());
    }
    let mut newest = std::collections::HashMap::new();
    for (index, (fragment, cell)) in (0u32..).zip(&cells) {
        let entry = newest.entry(*cell).or_insert((*fragment, index));
        if *fragment > entry.0 {
            *entry = (*fragment, index);
        }
    }
    let kept = |cell: &u32| newest[cells[*cell as usize].1].1 == *cell;
    let mut dropped: Vec<u32> = sorted.iter().copied().filter(|cell| !kept(cell)).collect();
    dropped.sort_unstable();
    sorted.retain(kept);
    (sorted, dropped)
}

/// Sorts fragments, split into tiles, with all settings, and compares the results.
fn check(schema: &ArraySchema, fragments: &[Vec<Vec<Vec<u8>>>]) {
    let tiles: Vec<Tile> = fragments
        .iter()
        .enumerate()
        .flat_map(|(f, cells)| cells.chunks(1000).map(move |cells| tile(schema, f, cells)))
        .collect();
    let mut orders = vec![CellOrder::RowMajor, CellOrder::ColMajor];
    orders.push(CellOrder::of(Layout::GlobalOrder, schema));
    for order in orders {
        for dedup in [false, true] {
            let (expected, dropped) = naive(schema, fragments, order, dedup);
            for threads in [1, 3] {
                let found = permutation(threads, schema, batches(&tiles), order, dedup).unwrap();
                assert!(found == expected, "{order:?}, dedup {dedup}, {threads} threads");
                if dedup {
                    assert!(replaced(threads, schema, batches(&tiles)).unwrap() == dropped, "{order:?}");
                    if let Some(found) = replaced_by_their_keys(threads, schema, &tiles) {
                        assert!(found == dropped, "by keys");
                    }
                }
            }
        }
    }
}

/// The least range of each dimension that has the coordinates of all tiles.
fn bounds(schema: &ArraySchema, tiles: &[Tile]) -> Vec<Range> {
    let dimensions = schema.domain.dimensions.iter().enumerate();
    let bounds = dimensions.map(|(index, dimension)| {
        let of_tile = |tile: &Tile| -> Vec<Range> {
            let (values, offsets) = &tile.coordinates[index];
            let own = CoordinatesRef { values: values.as_slice(), offsets: offsets.as_deref() };
            let value = |at| own.value(at, dimension.datatype.size());
            (0..tile.cells).map(|at| Range::new(value(at), value(at))).collect()
        };
        let mut ranges = tiles.iter().flat_map(of_tile);
        let first = ranges.next().unwrap();
        ranges.fold(first, |mut all, range| {
            all.unite(dimension.datatype, &range);
            all
        })
    });
    bounds.collect()
}

/// The cells that [`replaced_by_keys`] finds; `None` if the cells have no keys.
fn replaced_by_their_keys(threads: usize, schema: &ArraySchema, tiles: &[Tile]) -> Option<Vec<u32>> {
    let key_encoder = KeyEncoder::new(schema, &bounds(schema, tiles))?;
    let all = batches(tiles);
    let keys = all.iter().map(|batch| key_encoder.keys(batch.coordinates.clone(), batch.cells));
    let keys: Vec<Vec<u64>> = keys.collect::<Option<_>>()?;
    let without = all.into_iter().map(|batch| CellBatch { coordinates: Vec::new(), ..batch });
    Some(replaced_by_keys(threads, without.zip(keys.iter().map(Vec::as_slice))).unwrap())
}

/// Fragments of random cells; those of `sorted` are in global order.
fn fragments(
    schema: &ArraySchema,
    sizes: &[usize],
    sorted: bool,
    mut cell: impl FnMut() -> Vec<Vec<u8>>,
) -> Vec<Vec<Vec<Vec<u8>>>> {
    let order = CellOrder::of(Layout::GlobalOrder, schema);
    sizes
        .iter()
        .map(|size| {
            let cells: Vec<_> = (0..*size).map(|_| cell()).collect();
            if !sorted {
                return cells;
            }
            let (order, _) = naive(schema, core::slice::from_ref(&cells), order, false);
            order.iter().map(|index| cells[*index as usize].clone()).collect()
        })
        .collect()
}

#[test]
fn integers_sort_as_their_definition_says() {
    let mut random = Random(1);
    for (low, high, extent, below) in
        [(0i64, 99_999_999, 1_000_000, 3000), (-500, 499, 7, 1000), (i64::MIN, i64::MAX - 10, 10, 900)]
    {
        let dimension = |name: &str| Dimension::new(name, low..=high).with_tile(extent);
        for (tile_order, cell_order) in [
            (Layout::RowMajor, Layout::RowMajor),
            (Layout::ColMajor, Layout::RowMajor),
            (Layout::RowMajor, Layout::ColMajor),
            (Layout::RowMajor, Layout::Hilbert),
        ] {
            let schema = schema(vec![dimension("x"), dimension("y")], tile_order, cell_order);
            for sorted in [true, false] {
                let mut value = || (low.max(-400) + random.next(below).cast_signed()).to_le_bytes().to_vec();
                check(&schema, &fragments(&schema, &[1500, 10, 1200], sorted, || vec![value(), value()]));
            }
        }
    }
}

#[test]
fn reals_sort_as_their_definition_says_where_tiles_are_infinite_or_too_many_to_count() {
    let mut random = Random(4);
    let wide = |name: &str| Dimension::new(name, -f64::MAX..=f64::MAX);
    let lines = [
        (wide("x").with_tile(f64::INFINITY), wide("y").with_tile(1.0f64)),
        (Dimension::new("x", 0.0f64..=1e30).with_tile(1.0f64), wide("y").with_tile(f64::INFINITY)),
        (Dimension::new("x", 0.0f64..=f64::MAX).with_tile(1e280f64), wide("y").with_tile(f64::NAN)),
    ];
    for (x, y) in lines {
        for cell_order in [Layout::RowMajor, Layout::ColMajor, Layout::Hilbert] {
            let schema = schema(vec![x.clone(), y.clone()], Layout::RowMajor, cell_order);
            for sorted in [true, false] {
                let mut value = |dimension: &Dimension| {
                    let (low, high) = dimension.domain.clone().unwrap();
                    let end = f64::from_le_bytes(high.try_into().unwrap());
                    let magnitude = 2f64.powi(i32::try_from(random.next(2040)).unwrap() - 1016).min(end);
                    let signed = if random.next(2) == 0 { magnitude } else { -magnitude };
                    let inside = signed.max(f64::from_le_bytes(low.try_into().unwrap()));
                    inside.to_le_bytes().to_vec()
                };
                let (x, y) = (&x, &y);
                check(&schema, &fragments(&schema, &[1500, 10, 1200], sorted, || vec![value(x), value(y)]));
            }
        }
    }
}

#[test]
fn many_cells_are_sorted_in_bands_and_buckets() {
    let mut random = Random(2);
    let dimension = |name: &str| Dimension::new(name, 0i64..=99_999_999).with_tile(1_000_000i64);
    let schema = schema(vec![dimension("x"), dimension("y")], Layout::RowMajor, Layout::RowMajor);
    let mut value = || random.next(100_000_000).cast_signed().to_le_bytes().to_vec();
    let mut cells = fragments(&schema, &[40_000, 30_000], true, || vec![value(), value()]);
    // Every tenth cell is written again in a later fragment.
    let again = cells[0].iter().step_by(10).cloned().collect();
    cells.push(again);
    check(&schema, &cells);
    let tiles = [tile(&schema, 0, &cells[0]), tile(&schema, 1, &cells[2])];
    assert_eq!(replaced_by_their_keys(2, &schema, &tiles).unwrap().len(), cells[2].len());
    // A fragment that an old library did not sort: a few cells are out of place, none of them a
    // cell that is sampled.
    for (a, b) in [(3, 20_001), (15_001, 15_009), (39_997, 39_998)] {
        cells[0].swap(a, b);
    }
    check(&schema, &cells);
}

#[test]
fn lopsided_keys_are_sorted_too() {
    let mut random = Random(3);
    let dimension = |name: &str| Dimension::new(name, 0u32..=u32::MAX - 1).with_tile(1u32);
    let schema = schema(vec![dimension("x"), dimension("y")], Layout::RowMajor, Layout::RowMajor);
    let mut value = || {
        let value = if random.next(50_000) == 0 { u32::MAX - 2 } else { random.small(40) };
        value.to_le_bytes().to_vec()
    };
    let cells = fragments(&schema, &[LOPSIDED_CELLS], false, || vec![value(), value()]);
    let tile = [tile(&schema, 0, &cells[0])];
    let (expected, _) = naive(&schema, &cells, CellOrder::RowMajor, false);
    for threads in [1, 2] {
        let found = permutation(threads, &schema, batches(&tile), CellOrder::RowMajor, false).unwrap();
        assert!(found == expected);
    }
}

/// More cells than a bucket that is left to one thread may have.
const LOPSIDED_CELLS: usize = 300_000;

#[test]
fn reals_sort_with_zeros_of_both_signs_at_one_place_and_apart_as_duplicates() {
    let mut random = Random(4);
    let dimension = |name: &str| Dimension::new(name, -10.0f64..=10.0).with_tile(2.5f64);
    for cell_order in [Layout::RowMajor, Layout::Hilbert] {
        let schema = schema(vec![dimension("x"), dimension("y")], Layout::RowMajor, cell_order);
        let values = [-0.0f64, 0.0, 1.5, -1.5, 9.75, -10.0, 0.1, 3.0];
        let mut value = || values[usize::from(random.byte(8))].to_le_bytes().to_vec();
        for sorted in [true, false] {
            check(&schema, &fragments(&schema, &[500, 400, 300], sorted, || vec![value(), value()]));
        }
    }
    let mut random = Random(5);
    let three = |name: &str| Dimension::new(name, -1e30f64..=1e30);
    let schema = schema(vec![three("x"), three("y"), three("z")], Layout::RowMajor, Layout::RowMajor);
    let mut value =
        || f64::from_bits(random.next(1 << 40) << 23 | random.next(2) << 63).to_le_bytes().to_vec();
    check(&schema, &fragments(&schema, &[2000], false, || vec![vec![0; 8], value(), value()]));
}

#[test]
fn strings_sort_as_signed_characters_whatever_their_length() {
    let mut random = Random(6);
    for (prefix, longest, letters) in [("", 3, 256), ("ENSG0000", 6, 4), ("a long common beginning ", 40, 2)]
    {
        let number = Dimension::new("n", 0i32..=9).with_tile(10);
        for dimensions in [
            vec![Dimension::string("s")],
            vec![Dimension::string("s"), number.clone()],
            vec![number.clone(), Dimension::string("s")],
            vec![Dimension::string("s"), Dimension::string("t"), number],
        ] {
            let kinds: Vec<bool> = dimensions.iter().map(Dimension::is_var).collect();
            let schema = schema(dimensions, Layout::RowMajor, Layout::RowMajor);
            let mut cell = || {
                let mut text = || {
                    let len = random.next(longest + 1);
                    let mut text = prefix.as_bytes().to_vec();
                    text.extend((0..len).map(|_| random.byte(letters).wrapping_add(0x7e)));
                    text
                };
                let mut values: Vec<Vec<u8>> =
                    kinds.iter().map(|var| if *var { text() } else { Vec::new() }).collect();
                for (value, _) in values.iter_mut().zip(&kinds).filter(|(_, var)| !**var) {
                    *value = random.small(10).cast_signed().to_le_bytes().to_vec();
                }
                values
            };
            for sorted in [true, false] {
                check(&schema, &fragments(&schema, &[1500, 700], sorted, &mut cell));
            }
        }
    }
}

#[test]
fn long_strings_that_many_cells_have_sort_by_their_ranks() {
    let mut random = Random(16);
    let words: Vec<Vec<u8>> = (0u8..30)
        .map(|word| {
            // They differ behind a key's bytes, in bytes of both signs, and one is the beginning of
            // another.
            let mut text = b"https://example.org/of/all/of/them/".to_vec();
            text.extend((0..word % 4).map(|at| word.wrapping_mul(37).wrapping_add(at)));
            text
        })
        .collect();
    let number = Dimension::new("n", 0i32..=9).with_tile(10);
    for dimensions in [
        vec![Dimension::string("s")],
        vec![Dimension::string("s"), number.clone()],
        vec![number.clone(), Dimension::string("s"), Dimension::string("t")],
    ] {
        let kinds: Vec<bool> = dimensions.iter().map(Dimension::is_var).collect();
        let schema = schema(dimensions, Layout::RowMajor, Layout::RowMajor);
        let mut cell = || {
            let of_kind = |var: &bool| match var {
                true => words[usize::try_from(random.next(30)).unwrap()].clone(),
                false => random.small(10).cast_signed().to_le_bytes().to_vec(),
            };
            kinds.iter().map(of_kind).collect::<Vec<_>>()
        };
        for sorted in [true, false] {
            check(&schema, &fragments(&schema, &[1500, 700], sorted, &mut cell));
        }
    }
}

#[test]
fn cells_outside_the_domain_are_ordered_and_not_lost() {
    let mut random = Random(7);
    let dimension = |name: &str| Dimension::new(name, 0i16..=99).with_tile(10i16);
    let schema = schema(vec![dimension("x"), dimension("y")], Layout::RowMajor, Layout::RowMajor);
    let mut value = || (i16::try_from(random.next(400)).unwrap() - 200).to_le_bytes().to_vec();
    check(&schema, &fragments(&schema, &[1000, 500], false, || vec![value(), value()]));
}

#[test]
fn plain_columns_sort_and_equal_cells_stay_in_their_order() {
    let mut random = Random(8);
    let dimension = |name: &str| Dimension::new(name, 0u8..=200).with_tile(20u8);
    let schema = schema(vec![dimension("x"), dimension("y")], Layout::RowMajor, Layout::RowMajor);
    let mut value = || vec![random.byte(200)];
    let cells = fragments(&schema, &[70_000], false, || vec![value(), value()]);
    let (expected, _) = naive(&schema, &cells, CellOrder::Global, false);
    let columns = [0, 1].map(|d| cells[0].iter().map(|cell| cell[d][0]).collect::<Vec<u8>>());
    let coordinates = columns.iter().map(|values| CoordinatesRef { values, offsets: None }).collect();
    let batch = CellBatch { coordinates, cells: cells[0].len(), ..CellBatch::default() };
    let found = permutation(2, &schema, vec![batch], CellOrder::Global, false).unwrap();
    assert!(found == expected);
}

#[test]
fn zeros_of_both_signs_have_one_number() {
    for (negative, positive, dimension) in [
        ((-0.0f64).to_le_bytes().to_vec(), 0.0f64.to_le_bytes().to_vec(), Dimension::new("x", -1.0f64..=1.0)),
        ((-0.0f32).to_le_bytes().to_vec(), 0.0f32.to_le_bytes().to_vec(), Dimension::new("x", -1.0f32..=1.0)),
    ] {
        let part = KeyPart::Cell(0);
        assert_eq!(compare_part(part, &dimension, &negative, &positive), core::cmp::Ordering::Equal);
        let word = |value: &[u8]| part_word(part, &dimension, value).unwrap();
        assert_eq!(word(&negative), word(&positive));
    }
}

#[test]
fn only_cells_that_64_bits_tell_apart_have_keys() {
    let (row, hilbert) = (Layout::RowMajor, Layout::Hilbert);
    let wide = |name: &str| Dimension::new(name, 0i64..=i64::MAX - 10).with_tile(10i64);
    let real = |name: &str| Dimension::new(name, -1.0f32..=1.0);
    let integers = |low: i64, high: i64| Range::new(low.to_le_bytes(), high.to_le_bytes());
    let reals = || Range::new((-1f32).to_le_bytes(), 1f32.to_le_bytes());
    let (near, far) = (integers(1 << 40, 1 << 41), integers(0, 1 << 60));
    let two = schema(vec![wide("x"), wide("y")], row, hilbert);
    assert!(KeyEncoder::new(&two, &[near.clone(), integers(5, 9)]).is_some(), "the bounds are narrow");
    assert!(KeyEncoder::new(&two, &[near.clone(), far]).is_none());
    assert!(KeyEncoder::new(&two, core::slice::from_ref(&near)).is_none(), "a dimension without bounds");
    assert!(KeyEncoder::new(&two, &[integers(9, 5), near]).is_none(), "bounds in the wrong order");
    let small = schema(vec![Dimension::new("x", 0i32..=99)], row, row);
    let (low, high) = (0i32.to_le_bytes(), 99i32.to_le_bytes());
    assert!(
        KeyEncoder::new(&small, &[Range::new(low, high)]).is_none(),
        "keys would be larger than coordinates"
    );
    let text = schema(vec![Dimension::string("s")], row, row);
    assert!(KeyEncoder::new(&text, &[Range::new(*b"a", *b"b")]).is_none(), "strings");

    let both = schema(vec![real("x"), real("y")], row, row);
    let key_encoder = KeyEncoder::new(&both, &[reals(), reals()]).unwrap();
    let keys = |x: f32, y: f32| {
        let (x, y) = (x.to_le_bytes(), y.to_le_bytes());
        let of = |values| CoordinatesRef { values, offsets: None };
        key_encoder.keys(vec![of(&x), of(&y)], 1)
    };
    assert_ne!(keys(0.5, -0.25).unwrap(), keys(-0.25, 0.5).unwrap());
    assert_eq!(keys(-0.0, 0.5), None, "the place of another coordinate");
    assert_eq!(keys(0.5, f32::INFINITY), None, "outside the bounds");
}

#[test]
fn bits_of_reals_stand_for_their_bytes() {
    for value in [0.0f32, 1.5, -1.5, f32::MIN, f32::MAX, f32::NEG_INFINITY, f32::NAN, -1e-40] {
        let bytes = value.to_le_bytes();
        assert_eq!(bits::float_from_bits(bits::float_bits(&bytes), 4), bytes, "{value}");
    }
    for value in [0.0f64, 1.5, -1.5, f64::MIN, f64::MAX, f64::NEG_INFINITY, f64::NAN, -1e-310] {
        let bytes = value.to_le_bytes();
        assert_eq!(bits::float_from_bits(bits::float_bits(&bytes), 8), bytes, "{value}");
    }
    // What no real of four bytes has stands for the last one in the order.
    assert_eq!(bits::float_from_bits(u64::MAX, 4), [0xff, 0xff, 0xff, 0x7f]);
}

#[test]
fn a_query_in_rows_or_columns_has_this_order_whatever_the_array_has() {
    for stored in [Layout::RowMajor, Layout::ColMajor, Layout::Hilbert] {
        let schema = schema(vec![Dimension::new("x", 0i32..=9)], Layout::RowMajor, stored);
        assert_eq!(CellOrder::of(Layout::RowMajor, &schema), CellOrder::RowMajor);
        assert_eq!(CellOrder::of(Layout::ColMajor, &schema), CellOrder::ColMajor);
        let own = if stored == Layout::Hilbert { CellOrder::Hilbert } else { CellOrder::Global };
        for layout in [Layout::GlobalOrder, Layout::Unordered] {
            assert_eq!(CellOrder::of(layout, &schema), own);
        }
    }
}

#[test]
fn many_runs_are_cut_into_many_bands() {
    const FRAGMENTS: u32 = 10_000;
    const CELLS: u32 = 100;
    let schema = schema(
        vec![Dimension::new("x", 0i32..=999_999).with_tile(1000i32)],
        Layout::RowMajor,
        Layout::RowMajor,
    );
    // Two fragments each have the same cells, all over the domain.
    let tiles = (0..FRAGMENTS).map(|fragment| {
        let x = (0..CELLS).map(|cell| (cell * FRAGMENTS / 2 + fragment / 2).to_le_bytes());
        let values: Vec<Vec<u8>> = x.map(Vec::from).collect();
        Tile { fragment: fragment as usize, cells: CELLS as usize, coordinates: vec![column(&values, false)] }
    });
    let tiles: Vec<Tile> = tiles.collect();
    let (of_pair, in_cell) = (|pair: u32| (pair * 2 + 1) * CELLS, 0..CELLS);
    let expected: Vec<u32> =
        in_cell.flat_map(|cell| (0..FRAGMENTS / 2).map(move |pair| of_pair(pair) + cell)).collect();
    let order = permutation(2, &schema, batches(&tiles), CellOrder::Global, true).unwrap();
    assert!(order == expected, "the newer of each two cells, in the order of their coordinates");
    let older: Vec<u32> = (0..FRAGMENTS).step_by(2).flat_map(|own| own * CELLS..(own + 1) * CELLS).collect();
    assert!(replaced(2, &schema, batches(&tiles)).unwrap() == older, "the others are replaced");
}

#[test]
fn cells_that_lack_coordinates_times_or_keys_are_not_put_in_order() {
    let row = Layout::RowMajor;
    let schema = schema(vec![Dimension::new("x", 0i32..=9), Dimension::string("s")], row, row);
    let (x, strings, offsets, times) = ([0u8; 12], b"abc", [0u64, 1, 2, 3], [1u64, 2, 3]);
    let batch = |values: usize, ends: usize, timed: usize| {
        let numbers = CoordinatesRef { values: x.get(..values).unwrap(), offsets: None };
        let texts = CoordinatesRef { values: strings, offsets: offsets.get(..ends) };
        let timestamps = times.get(..timed);
        CellBatch { coordinates: vec![numbers, texts], cells: 3, timestamps, ..CellBatch::default() }
    };
    let sorted = |batch: CellBatch<'_>| permutation(1, &schema, vec![batch], CellOrder::Global, true);
    assert_eq!(sorted(batch(12, 4, 3)).unwrap(), [0, 1, 2]);
    let fault = |found: Result<Vec<u32>>| assert!(matches!(found, Err(Error::Internal(_))), "{found:?}");
    fault(sorted(batch(11, 4, 3)));
    fault(sorted(batch(12, 3, 3)));
    fault(sorted(batch(12, 4, 2)));
    fault(sorted(CellBatch { coordinates: Vec::new(), ..batch(12, 4, 3) }));
    let keyed = |keys: &[u64]| {
        replaced_by_keys(1, [(CellBatch { coordinates: Vec::new(), ..batch(12, 4, 3) }, keys)])
    };
    assert_eq!(keyed(&[7, 8, 7]).unwrap(), [0], "the first was written before the last");
    fault(keyed(&[7, 8]));
}

#[test]
fn batches_without_cells_between_others_are_passed_over() {
    let row = Layout::RowMajor;
    let schema = schema(vec![Dimension::new("x", 0i32..=9)], row, row);
    let values: Vec<u8> = (0..4i32).flat_map(i32::to_le_bytes).collect();
    let some = |values| {
        let coordinates = vec![CoordinatesRef { values, offsets: None }];
        CellBatch { coordinates, cells: values.len() / 4, ..CellBatch::default() }
    };
    let (first, last) = values.split_at(8);
    let batches = vec![some(first), CellBatch::default(), some(last), CellBatch::default()];
    let table = CellTable::new(&schema.domain.dimensions, batches).unwrap();
    let pieces: Vec<_> = table.cut(1..4).map(|piece| (piece.batch, piece.at, piece.cells)).collect();
    assert_eq!(pieces, [(0, 1, 1), (2, 0, 2)]);
}
