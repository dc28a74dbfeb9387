//! What is written through the C functions, read by the engine.

use std::collections::BTreeSet;
use std::ffi::CString;
use std::sync::Arc;

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, DimensionLabel};
use tdb_array::storage::WriteStorage;
use tdb_array::{Array, Cells, Layout, OpenOptions, WriteOptions};

use crate::array::{self, ArrayObject};
use crate::config::{Config, ConfigObject};
use crate::context::{self, Context};
use crate::ffi::testing::Variable;
use crate::ffi::{Data, Memory, Out, OutText, Text};
use crate::place::Place;
use crate::query::{self, QueryObject, buffers, set, state};
use crate::query_condition;
use crate::subarray::{self, SubarrayObject};

use super::fragments;

const COMPLETED: u32 = 1;
const FAILED: u32 = 0;

/// A program in C with a context, whose arrays are in memory.
struct Caller {
    context: Variable<Context>,
}

/// Cells of a field as a program has them.
#[derive(Clone, Debug, Default)]
struct Field {
    name: &'static str,
    data: Vec<u8>,
    offsets: Option<Vec<u8>>,
    validity: Option<Vec<u8>>,
}

impl Field {
    fn numbers(name: &'static str, values: &[i32]) -> Self {
        Self { name, data: values.iter().flat_map(|value| value.to_le_bytes()).collect(), ..Self::default() }
    }

    fn texts(name: &'static str, texts: &[&str]) -> Self {
        let mut field = Self { name, offsets: Some(Vec::new()), ..Self::default() };
        for text in texts {
            field.offsets.as_mut().unwrap().extend((field.data.len() as u64).to_le_bytes());
            field.data.extend(text.as_bytes());
        }
        field
    }

    fn nullable(self, validity: &[u8]) -> Self {
        Self { validity: Some(validity.to_vec()), ..self }
    }
}

/// A query with the memory that its buffers point to.
struct Call<'c> {
    caller: &'c Caller,
    query: Variable<QueryObject>,
    fields: Vec<(Field, Box<[u64; 3]>)>,
}

impl Caller {
    fn new() -> Self {
        let mut context = Variable::null();
        assert_eq!(context::tiledb_ctx_alloc(Variable::null().get(), context.out()), 0);
        Self { context }
    }

    fn last_error(&self) -> String {
        let mut error = Variable::null();
        context::tiledb_ctx_get_last_error(self.context.get(), error.out());
        error.get().get().map_or_else(|_| String::new(), |text| text.0.clone())
    }

    fn storage(&self, name: &str) -> Arc<dyn WriteStorage> {
        let place = Place::of(self.context.get().get().unwrap(), &format!("mem://{name}"));
        place.unwrap().storage().unwrap()
    }

    fn create(&self, name: &str, schema: &ArraySchema) {
        WriteOptions::new().create_storage(&self.storage(name), schema).unwrap();
    }

    fn open(&self, name: &str, query_type: u32, time: u64) -> Variable<ArrayObject> {
        let uri = CString::new(format!("mem://{name}")).unwrap();
        let mut array = Variable::null();
        let context = self.context.get();
        assert_eq!(array::tiledb_array_alloc(context, Text::of(&uri), array.out()), 0);
        assert_eq!(array::tiledb_array_set_open_timestamp_end(context, array.get(), time), 0);
        assert_eq!(array::tiledb_array_open(context, array.get(), query_type), 0, "{}", self.last_error());
        array
    }

    fn query(&self, array: &Variable<ArrayObject>, query_type: u32) -> Call<'_> {
        let mut query = Variable::null();
        let code = query::tiledb_query_alloc(self.context.get(), array.get(), query_type, query.out());
        assert_eq!(code, 0, "{}", self.last_error());
        Call { caller: self, query, fields: Vec::new() }
    }

    /// Writes fields at once, and returns the code of the submit.
    fn write(&self, name: &str, fields: &[Field]) -> i32 {
        let array = self.open(name, array::WRITE, 0);
        let mut call = self.query(&array, array::WRITE);
        call.set(fields);
        call.submit()
    }

    fn read(&self, name: &str) -> Array {
        OpenOptions::new().open_storage(self.storage(name)).unwrap()
    }

    fn cells(&self, name: &str) -> Cells {
        self.read(name).read().order(Layout::RowMajor).collect().unwrap()
    }

    /// The names below the folders of fragments and commits.
    fn files(&self, name: &str) -> Vec<String> {
        let storage = self.storage(name);
        let mut found = Vec::new();
        for folder in ["__fragments", "__commits"] {
            found.extend(storage.list(folder).unwrap().into_iter().map(|entry| entry.name));
        }
        found
    }
}

impl Call<'_> {
    fn set(&mut self, fields: &[Field]) {
        let context = self.caller.context.get();
        for field in fields {
            let sizes = [
                field.data.len() as u64,
                field.offsets.as_ref().map_or(0, |offsets| offsets.len() as u64),
                field.validity.as_ref().map_or(0, |validity| validity.len() as u64),
            ];
            self.fields.push((field.clone(), Box::new(sizes)));
            let (field, sizes) = self.fields.last_mut().unwrap();
            let [data, offsets, validity] = &mut **sizes;
            let name = CString::new(field.name).unwrap();
            let name = || Text::of(&name);
            let memory = Memory::of(&mut field.data);
            let query = self.query.get();
            let code = buffers::tiledb_query_set_data_buffer(context, query, name(), memory, Out::to(data));
            assert_eq!(code, 0, "{}", self.caller.last_error());
            if let Some(given) = &mut field.offsets {
                let memory = Memory::of(given);
                let code = buffers::tiledb_query_set_offsets_buffer(
                    context,
                    query,
                    name(),
                    memory,
                    Out::to(offsets),
                );
                assert_eq!(code, 0, "{}", self.caller.last_error());
            }
            if let Some(given) = &mut field.validity {
                let memory = Memory::of(given);
                let code = buffers::tiledb_query_set_validity_buffer(
                    context,
                    query,
                    name(),
                    memory,
                    Out::to(validity),
                );
                assert_eq!(code, 0, "{}", self.caller.last_error());
            }
        }
    }

    fn layout(&self, layout: Layout) {
        let code = set::tiledb_query_set_layout(
            self.caller.context.get(),
            self.query.get(),
            u32::from(layout.code()),
        );
        assert_eq!(code, 0, "{}", self.caller.last_error());
    }

    fn config(&self, pairs: &[(&str, &str)]) {
        let mut config = Config::default();
        for (key, value) in pairs {
            config.set(key, value).unwrap();
        }
        let config = Variable::of(ConfigObject::of(config));
        let code = set::tiledb_query_set_config(self.caller.context.get(), self.query.get(), config.get());
        assert_eq!(code, 0, "{}", self.caller.last_error());
    }

    /// Sets a range of the first dimension.
    fn range(&self, array: &Variable<ArrayObject>, low: i32, high: i32) {
        let context = self.caller.context.get();
        let mut subarray: Variable<SubarrayObject> = Variable::null();
        assert_eq!(subarray::tiledb_subarray_alloc(context, array.get(), subarray.out()), 0);
        let (low, high) = (low.to_le_bytes(), high.to_le_bytes());
        let ends = (Data::of(&low), Data::of(&high), Data::null());
        let code = subarray::tiledb_subarray_add_range(context, subarray.get(), 0, ends.0, ends.1, ends.2);
        assert_eq!(code, 0, "{}", self.caller.last_error());
        let code = set::tiledb_query_set_subarray_t(context, self.query.get(), subarray.get());
        assert_eq!(code, 0, "{}", self.caller.last_error());
    }

    fn submit(&self) -> i32 {
        query::tiledb_query_submit(self.caller.context.get(), self.query.get())
    }

    fn finalize(&self) -> i32 {
        query::tiledb_query_finalize(self.caller.context.get(), self.query.get())
    }

    fn status(&self) -> u32 {
        let mut status = 99;
        let context = self.caller.context.get();
        state::tiledb_query_get_status(context, self.query.get(), Out::to(&mut status));
        status
    }

    fn fragments(&self) -> Vec<(String, u64, u64)> {
        let (context, query) = (self.caller.context.get(), self.query.get());
        let mut count = 0;
        assert_eq!(fragments::tiledb_query_get_fragment_num(context, query, Out::to(&mut count)), 0);
        let one = |index: u32| {
            let index = u64::from(index);
            let uri = OutText::taken(|uri| {
                assert_eq!(fragments::tiledb_query_get_fragment_uri(context, query, index, uri), 0);
            });
            let (mut first, mut last) = (0, 0);
            let code = fragments::tiledb_query_get_fragment_timestamp_range(
                context,
                query,
                index,
                Out::to(&mut first),
                Out::to(&mut last),
            );
            assert_eq!(code, 0);
            (uri, first, last)
        };
        let mut none = 0;
        let beyond = fragments::tiledb_query_get_fragment_timestamp_range(
            context,
            query,
            u64::from(count),
            Out::to(&mut none),
            Out::to(&mut none),
        );
        assert_ne!(beyond, 0);
        (0..count).map(one).collect()
    }
}

fn sparse() -> ArraySchema {
    ArraySchema::sparse()
        .dimension(Dimension::new("x", 0i32..=99).with_tile(10i32))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringAscii, CellValNum::Var).with_nulls())
        .capacity(3)
        .build()
        .unwrap()
}

fn dense() -> ArraySchema {
    ArraySchema::dense()
        .dimension(Dimension::new("x", 0i32..=11).with_tile(4i32))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .attribute(Attribute::new("s", Datatype::StringUtf8, CellValNum::Var))
        .build()
        .unwrap()
}

/// Cells of the sparse array, by their coordinates.
fn sparse_cells(coordinates: &[i32]) -> Vec<Field> {
    let texts: Vec<String> =
        coordinates.iter().map(|x| "t".repeat(usize::try_from(x % 5).unwrap())).collect();
    let validity: Vec<u8> = coordinates.iter().map(|x| u8::from(x % 3 != 0)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let doubled: Vec<i32> = coordinates.iter().map(|x| x * 2).collect();
    vec![
        Field::numbers("x", coordinates),
        Field::numbers("a", &doubled),
        Field::texts("s", &texts).nullable(&validity),
    ]
}

/// Cells of the dense array, by their coordinates.
fn dense_cells(coordinates: &[i32]) -> Vec<Field> {
    let texts: Vec<String> =
        coordinates.iter().map(|x| "é".repeat(usize::try_from(x % 4).unwrap())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    vec![Field::numbers("a", coordinates), Field::texts("s", &texts)]
}

#[track_caller]
fn is_same(one: &Cells, other: &Cells) {
    for (column, other) in one.columns().iter().zip(other.columns()) {
        assert_eq!(column.name, other.name);
        assert_eq!(column.bytes(), other.bytes(), "{}", column.name);
        assert_eq!(column.offsets(), other.offsets(), "{}", column.name);
        assert_eq!(column.validity(), other.validity(), "{}", column.name);
    }
}

#[test]
fn cells_in_any_order_come_back_sorted() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    assert_eq!(caller.write("array", &sparse_cells(&[70, 3, 12, 0, 44])), 0, "{}", caller.last_error());
    let cells = caller.cells("array");
    assert_eq!(cells.field("x").unwrap().values::<i32>().unwrap(), [0, 3, 12, 44, 70]);
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [0, 6, 24, 88, 140]);
    assert_eq!(cells.field("s").unwrap().validity().unwrap(), [0, 0, 0, 1, 1]);
    assert_eq!(cells.field("s").unwrap().offsets().unwrap(), [0, 0, 3, 5, 9, 9]);
}

#[test]
fn writes_one_after_the_other_have_times_of_their_own() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    for x in 0..8 {
        assert_eq!(caller.write("array", &sparse_cells(&[x])), 0, "{}", caller.last_error());
    }
    let times: BTreeSet<u64> =
        caller.read("array").fragments().iter().map(|fragment| fragment.timestamps().0).collect();
    assert_eq!(times.len(), 8);
}

#[test]
fn of_an_attribute_with_more_cells_than_coordinates_the_first_are_written() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    let mut cells = sparse_cells(&[4, 6, 8, 9]);
    cells[0] = Field::numbers("x", &[4, 6]);
    assert_eq!(caller.write("array", &cells), 0, "{}", caller.last_error());
    let written = caller.cells("array");
    assert_eq!(written.field("a").unwrap().values::<i32>().unwrap(), [8, 12]);
    assert_eq!(written.field("s").unwrap().offsets().unwrap(), [0, 4, 5]);
    assert_eq!(written.field("s").unwrap().validity().unwrap(), [1, 0]);
}

#[test]
fn offsets_of_each_form_give_the_same_cells() {
    let caller = Caller::new();
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i32..=3))
        .attribute(Attribute::new("v", Datatype::Int32, CellValNum::Var))
        .build()
        .unwrap();
    caller.create("array", &schema);
    let data: Vec<u8> = (0i32..6).flat_map(i32::to_le_bytes).collect();
    for bits in ["32", "64"] {
        for (mode, unit) in [("bytes", 4u64), ("elements", 1)] {
            for extra in ["false", "true"] {
                let mut starts = vec![0, unit, unit, 4 * unit];
                if extra == "true" {
                    starts.push(6 * unit);
                }
                let width = if bits == "32" { 4 } else { 8 };
                let offsets = starts.iter().flat_map(|start| start.to_le_bytes().into_iter().take(width));
                let field =
                    Field { name: "v", data: data.clone(), offsets: Some(offsets.collect()), validity: None };
                let array = caller.open("array", array::WRITE, 0);
                let mut call = caller.query(&array, array::WRITE);
                call.config(&[
                    ("sm.var_offsets.bitsize", bits),
                    ("sm.var_offsets.mode", mode),
                    ("sm.var_offsets.extra_element", extra),
                ]);
                call.set(&[field]);
                assert_eq!(call.submit(), 0, "{bits} {mode} {extra}: {}", caller.last_error());
                let cells = caller.cells("array");
                assert_eq!(cells.field("v").unwrap().offsets().unwrap(), [0, 4, 4, 16, 24]);
                assert_eq!(cells.field("v").unwrap().bytes(), data);
            }
        }
    }
}

#[test]
fn global_order_in_pieces_is_one_write() {
    let caller = Caller::new();
    caller.create("whole", &sparse());
    let coordinates: Vec<i32> = (0..40).map(|x| x * 2).collect();
    assert_eq!(caller.write("whole", &sparse_cells(&coordinates)), 0);
    caller.create("dense", &dense());
    assert_eq!(caller.write("dense", &dense_cells(&(0..12).collect::<Vec<_>>())), 0);
    for size in [1, 2, 3, 5, 7, 40] {
        let name = format!("pieces{size}");
        caller.create(&name, &sparse());
        let array = caller.open(&name, array::WRITE, 0);
        let mut call = caller.query(&array, array::WRITE);
        call.layout(Layout::GlobalOrder);
        for piece in coordinates.chunks(size) {
            call.set(&sparse_cells(piece));
            assert_eq!(call.submit(), 0, "{}", caller.last_error());
            assert_eq!(call.fragments().len(), 0);
        }
        assert_eq!(call.finalize(), 0, "{}", caller.last_error());
        assert_eq!((call.fragments().len(), call.status()), (1, COMPLETED));
        is_same(&caller.cells("whole"), &caller.cells(&name));

        let name = format!("dense{size}");
        caller.create(&name, &dense());
        let array = caller.open(&name, array::WRITE, 0);
        let mut call = caller.query(&array, array::WRITE);
        call.layout(Layout::GlobalOrder);
        for piece in (0..12).collect::<Vec<_>>().chunks(size) {
            call.set(&dense_cells(piece));
            assert_eq!(call.submit(), 0, "{}", caller.last_error());
        }
        assert_eq!(call.finalize(), 0, "{}", caller.last_error());
        is_same(&caller.cells("dense"), &caller.cells(&name));
    }
}

#[test]
fn writes_that_fail_or_never_end_leave_no_files() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    for (coordinates, why) in [(&[3, 7, 3][..], "Duplicate coordinates"), (&[3, 100], "out of domain bounds")]
    {
        assert_eq!(caller.write("array", &sparse_cells(coordinates)), -1);
        assert!(caller.last_error().contains(why), "{}", caller.last_error());
    }
    let array = caller.open("array", array::WRITE, 0);
    let mut call = caller.query(&array, array::WRITE);
    call.layout(Layout::GlobalOrder);
    call.set(&sparse_cells(&[1, 2, 3, 50, 51, 52, 53]));
    assert_eq!(call.submit(), 0);
    call.set(&sparse_cells(&[40]));
    assert_eq!(call.submit(), -1);
    assert!(caller.last_error().contains("global order"), "{}", caller.last_error());
    assert_eq!(call.status(), FAILED);
    assert_eq!(call.finalize(), 0);
    assert_eq!(caller.files("array"), Vec::<String>::new());

    // A query that is freed before it is finalized.
    let mut call = caller.query(&array, array::WRITE);
    call.layout(Layout::GlobalOrder);
    call.set(&sparse_cells(&[1, 2, 3, 50, 51, 52, 53]));
    assert_eq!(call.submit(), 0);
    drop(call);
    assert_eq!(caller.files("array"), Vec::<String>::new());

    // A box of which cells are missing.
    caller.create("dense", &dense());
    let array = caller.open("dense", array::WRITE, 0);
    let mut call = caller.query(&array, array::WRITE);
    call.layout(Layout::GlobalOrder);
    call.set(&dense_cells(&[0, 1, 2, 3, 4]));
    assert_eq!((call.submit(), call.finalize()), (0, -1));
    assert!(caller.last_error().contains("(5 != 12)"), "{}", caller.last_error());
    assert_eq!(caller.files("dense"), Vec::<String>::new());
}

#[test]
fn what_is_missing_or_does_not_fit_is_refused_before_anything_is_written() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    let cells = sparse_cells(&[1, 2]);
    let refused = |fields: &[Field], why: &str| {
        assert_eq!(caller.write("array", fields), -1, "{why}");
        assert!(caller.last_error().contains(why), "{why}: {}", caller.last_error());
    };
    refused(&[], "expect the coordinates");
    refused(&cells[1..], "expect the coordinates");
    refused(&cells[..1], "expect all attributes");
    let without = |name| cells.iter().filter(|field| field.name != name).cloned().collect::<Vec<_>>();
    let with = |field: Field| without(field.name).into_iter().chain([field]).collect::<Vec<_>>();
    let text = &cells[2];
    refused(&with(Field { offsets: None, ..text.clone() }), "Offsets buffer is not set");
    refused(&with(Field { validity: None, ..text.clone() }), "Validity buffer is not set");
    refused(&with(Field { validity: Some(vec![1]), ..text.clone() }), "validity");
    let offsets = |starts: [u64; 2]| Some(starts.iter().flat_map(|start| start.to_le_bytes()).collect());
    refused(&with(Field { offsets: offsets([1, 0]), ..text.clone() }), "ascending order");
    refused(&with(Field { offsets: offsets([0, 99]), ..text.clone() }), "buffer of size");
    refused(&with(Field::numbers("a", &[1])), "Buffer sizes check failed");
    refused(&with(Field { data: vec![0; 7], ..cells[1].clone() }), "whole number of cells");
    assert_eq!(caller.files("array"), Vec::<String>::new());

    caller.create("dense", &dense());
    let array = caller.open("dense", array::WRITE, 0);
    let mut call = caller.query(&array, array::WRITE);
    call.range(&array, 2, 5);
    call.set(&dense_cells(&[2, 3, 4]));
    assert_eq!(call.submit(), -1);
    assert!(caller.last_error().contains("(3 != 4)"), "{}", caller.last_error());
    let mut call = caller.query(&array, array::WRITE);
    call.layout(Layout::GlobalOrder);
    call.range(&array, 2, 5);
    call.set(&dense_cells(&[2, 3, 4, 5]));
    assert_eq!(call.submit(), -1);
    assert!(caller.last_error().contains("must coincide with the tile bounds"), "{}", caller.last_error());
    assert_eq!(caller.files("dense"), Vec::<String>::new());
}

#[test]
fn each_submit_is_a_fragment_at_the_time_of_the_array() {
    let caller = Caller::new();
    caller.create("array", &dense());
    let array = caller.open("array", array::WRITE, 1234);
    let mut call = caller.query(&array, array::WRITE);
    call.range(&array, 2, 3);
    call.set(&dense_cells(&[7, 8]));
    assert_eq!((call.submit(), call.submit()), (0, 0), "{}", caller.last_error());
    let written = call.fragments();
    assert_eq!(written.len(), 2);
    for (uri, first, last) in &written {
        assert!(uri.starts_with("mem://array/__fragments/__1234_1234_"), "{uri}");
        assert_eq!((*first, *last), (1234, 1234));
    }
    assert_ne!(written[0].0, written[1].0);
    let cells = caller.read("array").read().range("x", 1..=4).collect().unwrap();
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [i32::MIN, 7, 8, i32::MIN]);
    // No cells are no fragment.
    caller.create("sparse", &sparse());
    assert_eq!(caller.write("sparse", &sparse_cells(&[])), 0, "{}", caller.last_error());
    assert_eq!(caller.files("sparse"), Vec::<String>::new());
}

#[test]
fn an_array_is_reopened_as_of_now_unless_another_time_was_chosen() {
    let caller = Caller::new();
    caller.create("array", &dense());
    for (time, low) in [(10, 2), (20, 4), (30, 6)] {
        let array = caller.open("array", array::WRITE, time);
        let mut call = caller.query(&array, array::WRITE);
        call.range(&array, low, low + 1);
        call.set(&dense_cells(&[low, low]));
        assert_eq!(call.submit(), 0, "{}", caller.last_error());
    }
    let context = caller.context.get();
    let array = caller.open("array", array::READ, 10);
    let domain = || {
        let (mut ends, mut is_empty) = ([0u8; 8], 0);
        let out = (Out::to(&mut ends[0]), Out::to(&mut is_empty));
        let code = array::domain::tiledb_array_get_non_empty_domain_from_index(
            context,
            array.get(),
            0,
            out.0,
            out.1,
        );
        assert_eq!((code, is_empty), (0, 0), "{}", caller.last_error());
        ends.chunks(4).map(|end| i32::from_le_bytes(end.try_into().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(domain(), [2, 3]);
    assert_eq!(array::tiledb_array_set_open_timestamp_end(context, array.get(), 20), 0);
    assert_eq!(array::tiledb_array_reopen(context, array.get()), 0);
    assert_eq!(domain(), [2, 5]);
    assert_eq!(array::tiledb_array_reopen(context, array.get()), 0);
    assert_eq!(domain(), [2, 7]);
}

#[test]
fn equal_coordinates_are_dropped_where_the_caller_asks_for_it() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    let array = caller.open("array", array::WRITE, 0);
    let mut call = caller.query(&array, array::WRITE);
    call.config(&[("sm.dedup_coords", "true")]);
    let mut cells = sparse_cells(&[4, 3, 4]);
    cells[1] = Field::numbers("a", &[1, 2, 3]);
    call.set(&cells);
    assert_eq!(call.submit(), 0, "{}", caller.last_error());
    let cells = caller.cells("array");
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [2, 1]);
    // TileDB-Py says it with Python's word.
    caller.create("unchecked", &sparse());
    let array = caller.open("unchecked", array::WRITE, 0);
    let mut call = caller.query(&array, array::WRITE);
    call.config(&[("sm.check_coord_dups", "False")]);
    call.set(&sparse_cells(&[4, 3, 4]));
    assert_eq!(call.submit(), 0, "{}", caller.last_error());
    assert_eq!(caller.cells("unchecked").len(), 3);
}

#[test]
fn fields_may_come_apart_where_the_caller_asks_for_it() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    let cells = sparse_cells(&[70, 3, 12]);
    let array = caller.open("array", array::WRITE, 0);
    let mut call = caller.query(&array, array::WRITE);
    call.config(&[("sm.allow_separate_attribute_writes", "true")]);
    call.set(&cells[..1]);
    assert_eq!(call.submit(), 0, "{}", caller.last_error());
    call.set(&cells[1..2]);
    assert_eq!((call.submit(), call.fragments().len()), (0, 0), "{}", caller.last_error());
    assert_eq!(caller.files("array"), Vec::<String>::new());
    call.set(&cells[2..]);
    assert_eq!((call.submit(), call.fragments().len()), (0, 1), "{}", caller.last_error());
    assert_eq!(call.finalize(), 0, "{}", caller.last_error());
    caller.create("whole", &sparse());
    assert_eq!(caller.write("whole", &cells), 0);
    is_same(&caller.cells("whole"), &caller.cells("array"));
    let mut call = caller.query(&array, array::WRITE);
    call.config(&[("sm.allow_separate_attribute_writes", "true")]);
    call.set(&cells[..2]);
    assert_eq!((call.submit(), call.finalize()), (0, -1));
    assert!(caller.last_error().contains("Not all buffers already written"), "{}", caller.last_error());
}

#[test]
fn a_delete_removes_the_cells_of_its_condition() {
    let caller = Caller::new();
    caller.create("array", &sparse());
    assert_eq!(caller.write("array", &sparse_cells(&[1, 2, 4, 5, 7])), 0);
    let array = caller.open("array", array::DELETE, 0);
    let call = caller.query(&array, array::DELETE);
    assert_eq!(call.submit(), -1);
    assert!(caller.last_error().contains("One condition is needed"), "{}", caller.last_error());
    let context = caller.context.get();
    let mut condition = Variable::null();
    query_condition::tiledb_query_condition_alloc(context, condition.out());
    let name = CString::new("a").unwrap();
    let value = 8i32.to_le_bytes();
    const GREATER_OR_EQUAL: u32 = 3;
    let code = query_condition::tiledb_query_condition_init(
        context,
        condition.get(),
        Text::of(&name),
        Data::of(&value),
        4,
        GREATER_OR_EQUAL,
    );
    assert_eq!(code, 0, "{}", caller.last_error());
    assert_eq!(set::tiledb_query_set_condition(context, call.query.get(), condition.get()), 0);
    assert_eq!(call.submit(), 0, "{}", caller.last_error());
    assert_eq!(call.status(), COMPLETED);
    assert_eq!(caller.cells("array").field("x").unwrap().values::<i32>().unwrap(), [1, 2]);
}

#[test]
fn values_of_a_label_go_into_its_array() {
    let caller = Caller::new();
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("x", 0i32..=11).with_tile(4i32))
        .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
        .label(DimensionLabel::new(0, "l", "__labels/l0", Datatype::Int32, CellValNum::ONE))
        .build()
        .unwrap();
    caller.create("array", &schema);
    let array = caller.open("array", array::WRITE, 0);
    let mut call = caller.query(&array, array::WRITE);
    call.range(&array, 2, 4);
    call.set(&[Field::numbers("l", &[10, 20, 30]), Field::numbers("a", &[1, 2, 3])]);
    assert_eq!(call.submit(), 0, "{}", caller.last_error());
    let label = caller.read("array/__labels/l0").read().range("index", 2..=4).collect().unwrap();
    assert_eq!(label.field("label").unwrap().values::<i32>().unwrap(), [10, 20, 30]);
    assert_eq!(call.fragments().len(), 1);
    // Cells in a range of the label.
    let context = caller.context.get();
    let mut call = caller.query(&array, array::WRITE);
    let mut subarray: Variable<SubarrayObject> = Variable::null();
    assert_eq!(subarray::tiledb_subarray_alloc(context, array.get(), subarray.out()), 0);
    let (name, low, high) = (CString::new("l").unwrap(), 15i32.to_le_bytes(), 30i32.to_le_bytes());
    let (name, low, high) = (Text::of(&name), Data::of(&low), Data::of(&high));
    let code = subarray::labels::tiledb_subarray_add_label_range(
        context,
        subarray.get(),
        name,
        low,
        high,
        Data::null(),
    );
    assert_eq!(code, 0, "{}", caller.last_error());
    assert_eq!(set::tiledb_query_set_subarray_t(context, call.query.get(), subarray.get()), 0);
    call.set(&[Field::numbers("a", &[77, 88])]);
    assert_eq!(call.submit(), 0, "{}", caller.last_error());
    let cells = caller.read("array").read().range("x", 2..=4).collect().unwrap();
    assert_eq!(cells.field("a").unwrap().values::<i32>().unwrap(), [1, 77, 88]);
    // Values that do not increase, and a label alone.
    let mut call = caller.query(&array, array::WRITE);
    call.range(&array, 2, 4);
    call.set(&[Field::numbers("l", &[10, 5, 30])]);
    assert_eq!(call.submit(), -1);
    assert!(caller.last_error().contains("not in the expected order"), "{}", caller.last_error());
    let mut call = caller.query(&array, array::WRITE);
    call.range(&array, 5, 5);
    call.set(&[Field::numbers("l", &[40])]);
    assert_eq!((call.submit(), call.fragments().len()), (0, 0), "{}", caller.last_error());
}
