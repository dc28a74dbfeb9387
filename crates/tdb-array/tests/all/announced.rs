//! What a far storage is asked for is what `explain` announces, in few rounds: random arrays and
//! queries, and every fixture.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]
#![expect(clippy::indexing_slicing, reason = "of lists whose length the test knows")]

use core::ops::ControlFlow;
use core::time::Duration;
use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tdb_array::maintain::{Consolidation, Stored};
use tdb_array::query::{Aggregate, Purpose};
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::storage::testing::FarStorage;
use tdb_array::storage::{FetchHints, LocalStorage, MemoryStorage, Request, Storage};
use tdb_array::{Array, Layout, OpenOptions, Read, TimeWindow, WriteColumn, WriteOptions, field};

use crate::common::{Strings, arrays};

/// Nothing is merged that does not touch, so that no request has bytes that nobody needs.
fn far<S: Storage>(storage: S) -> Arc<FarStorage<S>> {
    let hints = FetchHints::OBJECT_STORE.with_gap(0).with_largest(u64::MAX);
    Arc::new(FarStorage::new(storage, Duration::ZERO).with_hints(hints))
}

fn open<S: Storage + 'static>(storage: &Arc<FarStorage<S>>) -> Option<Array> {
    OpenOptions::new().threads(1).window(TimeWindow::ALL).open_storage(storage.clone()).ok()
}

/// Most rounds of a query whose sections of metadata were read: what finds cells, other versions of
/// them, what deletes look at, what is returned.
const ROUNDS: u64 = 4;
/// Most rounds of aggregates: sections, of footers that were gathered in one file in two; then the
/// same of tiles whose cells have no other versions and of those whose cells may have some.
const AGGREGATE_ROUNDS: u64 = 7;

/// The bytes of requests, of a file each.
fn places(asked: &[Request]) -> Vec<(String, u64, u64)> {
    let place = |request: &Request| match request {
        Request::Range(range) => Some((range.key.to_string(), range.range.start, range.range.end)),
        _ => None,
    };
    let places: Vec<_> = asked.iter().filter_map(place).collect();
    assert_eq!(places.len(), asked.len(), "a query asks for bytes only: {asked:?}");
    places
}

/// Checks one query; returns whether it could be run. What a condition or deletes leave over is
/// read only where cells are left, so what is announced is a bound then.
fn check<S: Storage + 'static>(
    storage: &Arc<FarStorage<S>>,
    (read, has_condition): (&Read, bool),
    what: &str,
) -> bool {
    let Ok(explained) = read.clone().explain() else { return false };
    storage.requests();
    let (rounds, bytes) = (storage.rounds(), storage.bytes());
    let Ok(cells) = read.clone().collect() else { return false };
    let asked = storage.requests();
    let (rounds, bytes) = (storage.rounds() - rounds, storage.bytes() - bytes);
    // Sections of metadata are read by the explanation before.
    assert!(rounds <= ROUNDS, "{what}: {rounds} rounds: {asked:?}");
    assert!(bytes <= explained.bytes(), "{what}: {bytes} bytes of {}: {asked:?}", explained.bytes());
    if !has_condition && explained.fields.iter().all(|own| own.purpose != Purpose::Delete) {
        assert_eq!(bytes, explained.bytes(), "{what}: {} cells, {asked:?}", cells.len());
        assert_eq!(u64::try_from(asked.len()).unwrap(), explained.requests(), "{what}: {asked:?}");
    }
    // Nothing is asked for twice.
    let mut seen: BTreeMap<(String, u64), u64> = BTreeMap::new();
    for (key, start, end) in places(&asked) {
        let before = seen.range(..(key.clone(), end)).next_back();
        let overlaps = before.is_some_and(|((of, _), other)| *of == key && *other > start);
        assert!(!overlaps, "{what}: {key} from {start} to {end} was asked for before: {asked:?}");
        seen.insert((key, start), end);
    }
    true
}

/// Checks the rounds of aggregates of a query.
fn check_aggregates<S: Storage + 'static>(
    storage: &Arc<FarStorage<S>>,
    array: &Array,
    read: &Read,
    what: &str,
) {
    let Some(attribute) = array.schema().attributes.first() else { return };
    let name = attribute.name.as_str();
    let rounds = storage.rounds();
    storage.requests();
    if read.clone().aggregate([Aggregate::count(), Aggregate::min(name), Aggregate::null_count(name)]).is_ok()
    {
        let rounds = storage.rounds() - rounds;
        assert!(
            rounds <= AGGREGATE_ROUNDS,
            "{what}: {rounds} rounds of aggregates: {:?}",
            storage.requests()
        );
    }
}

#[test]
fn every_fixture_is_asked_for_what_explain_announces_in_few_rounds() {
    let mut seen = 0;
    for (number, (name, path)) in arrays().into_iter().enumerate() {
        let storage = far(LocalStorage::new(path));
        let Some(array) = open(&storage) else { continue };
        let schema = array.schema();
        let old =
            schema.array_type == ArrayType::Dense && array.fragments().iter().any(|own| !own.is_dense());
        if old || !schema.labels.is_empty() {
            continue;
        }
        let order = [Layout::RowMajor, Layout::ColMajor, Layout::GlobalOrder, Layout::Unordered][number % 4];
        seen += usize::from(check(&storage, (&array.read().order(order), false), &name));
        if let Some(attribute) = schema.attributes.first() {
            let read = array.read().order(order).condition(field(&*attribute.name).ge(3));
            seen += usize::from(check(&storage, (&read, true), &format!("{name}, with a condition")));
            check_aggregates(&storage, &array, &read, &name);
        }
        // An array of its own, whose metadata nobody has read yet.
        if let Some(array) = open(&storage) {
            check_aggregates(&storage, &array, &array.read(), &name);
        }
    }
    assert!(seen > 600, "{seen} were looked at");
}

/// What an attribute's values are.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Integer,
    Nullable,
    Text,
}

/// What happens to an array, in this order.
#[derive(Clone, Debug)]
enum Step {
    /// Cells from here, so many, so far from each other; of dense arrays a box.
    Write {
        low: i32,
        count: i32,
        step: i32,
    },
    /// Cells of sparse arrays whose first attribute has such values.
    Delete {
        below: i32,
    },
    Consolidate,
}

#[derive(Clone, Debug)]
struct Asked {
    order: Layout,
    ranges: Vec<Option<(i32, i32)>>,
    condition: Option<i32>,
    fields: Option<usize>,
}

#[derive(Clone, Debug)]
struct Case {
    dense: bool,
    dimensions: usize,
    duplicates: bool,
    capacity: u64,
    attributes: Vec<Kind>,
    steps: Vec<Step>,
    queries: Vec<Asked>,
}

const SIDE: i32 = 24;

fn cases() -> impl Strategy<Value = Case> {
    let kind = || prop::sample::select(vec![Kind::Integer, Kind::Nullable, Kind::Text]);
    let step = prop_oneof![
        6 => (0..SIDE, 1..40i32, 1..4i32).prop_map(|(low, count, step)| Step::Write { low, count, step }),
        1 => (0..60i32).prop_map(|below| Step::Delete { below }),
        1 => Just(Step::Consolidate),
    ];
    let order = prop::sample::select(vec![
        Layout::RowMajor,
        Layout::ColMajor,
        Layout::GlobalOrder,
        Layout::Unordered,
    ]);
    let range = prop::option::of((0..SIDE, 0..SIDE));
    let query =
        (order, prop::collection::vec(range, 2), prop::option::of(0..80i32), prop::option::of(0..4usize))
            .prop_map(|(order, ranges, condition, fields)| Asked { order, ranges, condition, fields });
    (
        any::<bool>(),
        1..3usize,
        any::<bool>(),
        1..9u64,
        prop::collection::vec(kind(), 1..4),
        prop::collection::vec(step, 1..7),
        prop::collection::vec(query, 1..5),
    )
        .prop_map(|(dense, dimensions, duplicates, capacity, attributes, steps, queries)| Case {
            dense,
            dimensions,
            duplicates: duplicates && !dense,
            capacity,
            attributes,
            steps,
            queries,
        })
}

const DIMENSIONS: [&str; 2] = ["x", "y"];
const ATTRIBUTES: [&str; 3] = ["a", "b", "c"];

impl Case {
    fn schema(&self) -> ArraySchema {
        let start = if self.dense { ArraySchema::dense() } else { ArraySchema::sparse() };
        let mut schema = start.capacity(self.capacity);
        if self.duplicates {
            schema = schema.allow_duplicates();
        }
        for name in &DIMENSIONS[..self.dimensions] {
            schema = schema.dimension(Dimension::new(*name, 0..=SIDE - 1).with_tile(5));
        }
        for (name, kind) in ATTRIBUTES.iter().zip(&self.attributes) {
            schema = schema.attribute(match kind {
                Kind::Integer => Attribute::new(*name, Datatype::Int32, CellValNum::ONE),
                Kind::Nullable => Attribute::new(*name, Datatype::Int32, CellValNum::ONE).with_nulls(),
                Kind::Text => Attribute::new(*name, Datatype::StringUtf8, CellValNum::Var),
            });
        }
        schema.build().unwrap()
    }

    fn make(&self) -> MemoryStorage {
        let storage = MemoryStorage::default();
        WriteOptions::new().timestamp(1).create_storage(&storage, &self.schema()).unwrap();
        for (time, step) in (2..).zip(&self.steps) {
            let writer =
                WriteOptions::new().threads(1).timestamp(time).open_storage(storage.clone()).unwrap();
            match step {
                Step::Write { low, count, step } => self.write(&writer, (*low, *count, *step)),
                Step::Delete { below } if !self.dense && matches!(self.attributes[0], Kind::Integer) => {
                    let array =
                        OpenOptions::new().window(TimeWindow::ALL).open_storage(storage.clone()).unwrap();
                    let condition = field("a").lt(*below).to_stored(&array).unwrap();
                    writer.delete(&condition).unwrap();
                }
                Step::Delete { .. } => {}
                Step::Consolidate => {
                    let plan = Consolidation::new(Stored::Fragments).plan(&writer).unwrap();
                    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
                }
            }
        }
        storage
    }

    fn write(&self, writer: &tdb_array::ArrayWriter, (low, count, step): (i32, i32, i32)) {
        let side = |low: i32| low..=(low + count / 4).min(SIDE - 1);
        let mut write = writer.write();
        let cells: Vec<[i32; 2]> = if self.dense {
            let boxes = [side(low), side(low / 2)];
            for (name, side) in DIMENSIONS[..self.dimensions].iter().zip(&boxes) {
                write = write.range(*name, side.clone());
            }
            let second = if self.dimensions > 1 { boxes[1].clone() } else { 0..=0 };
            boxes[0].clone().flat_map(|x| second.clone().map(move |y| [x, y])).collect()
        } else {
            let place = |at: i32| low * SIDE / 2 + at * step;
            let side = if self.dimensions > 1 { SIDE * SIDE } else { SIDE };
            let mut places: Vec<i32> = (0..count).map(|at| place(at) % side).collect();
            places.sort_unstable();
            places.dedup();
            places
                .into_iter()
                .map(|at| if self.dimensions > 1 { [at / SIDE, at % SIDE] } else { [at, 0] })
                .collect()
        };
        let coordinates: Vec<Vec<i32>> = (0..2).map(|d| cells.iter().map(|cell| cell[d]).collect()).collect();
        let values: Vec<i32> = cells.iter().map(|[x, y]| (x * 7 + y * 3 + low) % 90).collect();
        let valid: Vec<u8> = values.iter().map(|value| u8::from(value % 3 != 0)).collect();
        let texts = Strings::new(values.iter().map(|value| "t".repeat(usize::try_from(value % 5).unwrap())));
        if !self.dense {
            for (name, values) in DIMENSIONS[..self.dimensions].iter().zip(&coordinates) {
                write = write.column(WriteColumn::fixed(name, values));
            }
        }
        for (name, kind) in ATTRIBUTES.iter().zip(&self.attributes) {
            write = write.column(match kind {
                Kind::Integer => WriteColumn::fixed(name, &values),
                Kind::Nullable => WriteColumn::fixed(name, &values).nullable(&valid),
                Kind::Text => texts.column(name),
            });
        }
        write.commit().unwrap();
    }

    fn read(&self, array: &Array, asked: &Asked) -> Read {
        let mut read = array.read().order(asked.order);
        for (name, range) in DIMENSIONS[..self.dimensions].iter().zip(&asked.ranges) {
            if let Some((one, other)) = range {
                read = read.range(*name, *one.min(other)..=*one.max(other));
            }
        }
        if let (Some(least), Kind::Integer | Kind::Nullable) = (asked.condition, self.attributes[0]) {
            read = read.condition(field("a").ge(least));
        }
        match asked.fields {
            Some(at) if at < self.attributes.len() => read.fields([ATTRIBUTES[at]]),
            _ => read,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn what_is_asked_for_is_what_explain_announces(case in cases()) {
        let storage = far(case.make());
        for asked in &case.queries {
            let array = open(&storage).unwrap();
            let read = case.read(&array, asked);
            let what = format!("{asked:?}");
            prop_assert!(check(&storage, (&read, asked.condition.is_some()), &what), "{what} is refused");
            let array = open(&storage).unwrap();
            check_aggregates(&storage, &array, &case.read(&array, asked), &what);
        }
    }
}
