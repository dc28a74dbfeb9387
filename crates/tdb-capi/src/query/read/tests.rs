//! What the engine has written, read through the C functions, in pieces of every size.

use core::ops::RangeInclusive;
use std::ffi::CString;
use std::sync::Arc;

use tdb_array::query::Aggregate;
use tdb_array::schema::{ArraySchema, ArrayType, Attribute, CellValNum, Datatype, Dimension, SchemaBuilder};
use tdb_array::storage::WriteStorage;
use tdb_array::{ArrayWriter, Cells, Layout, OpenOptions, WriteColumn, WriteOptions};

use crate::array::{self, ArrayObject};
use crate::config::{Config, ConfigObject};
use crate::context::{self, Context};
use crate::ffi::testing::Variable;
use crate::ffi::{Data, Memory, Out, Text};
use crate::place::Place;
use crate::query::{self, QueryObject, aggregates, buffers, estimate, set, state};
use crate::subarray::{self, SubarrayObject};

const COMPLETED: u32 = 1;
const INCOMPLETE: u32 = 3;

/// A program in C with an array in memory.
struct Caller {
    context: Variable<Context>,
    array: Variable<ArrayObject>,
}

/// The cells of a field that a program has got: values, lengths in bytes, validity.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Got {
    values: Vec<u8>,
    lengths: Vec<u64>,
    validity: Vec<u8>,
}

/// What a field has.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    is_var: bool,
    nullable: bool,
}

const FIXED: Kind = Kind { name: "a", is_var: false, nullable: false };
const NULLABLE: Kind = Kind { name: "n", is_var: false, nullable: true };
const TEXT: Kind = Kind { name: "s", is_var: true, nullable: false };
const NULLABLE_TEXT: Kind = Kind { name: "t", is_var: true, nullable: true };
const ALL: [Kind; 4] = [FIXED, NULLABLE, TEXT, NULLABLE_TEXT];

fn with_attributes(schema: SchemaBuilder) -> SchemaBuilder {
    let attributes = [
        Attribute::new("a", Datatype::Int64, CellValNum::ONE),
        Attribute::new("n", Datatype::Int16, CellValNum::ONE).with_nulls(),
        Attribute::new("s", Datatype::StringAscii, CellValNum::Var),
        Attribute::new("t", Datatype::Int32, CellValNum::Var).with_nulls(),
    ];
    attributes.into_iter().fold(schema, SchemaBuilder::attribute)
}

/// Writes cells with these numbers: at coordinates, or in a range.
fn write(writer: &ArrayWriter, numbers: &[u32], place: Result<&[i32], RangeInclusive<i32>>) {
    let a: Vec<i64> = numbers.iter().map(|number| i64::from(*number) * 1000).collect();
    let n: Vec<i16> = numbers.iter().map(|number| i16::try_from(*number).unwrap() + 7).collect();
    let validity: Vec<u8> = numbers.iter().map(|number| u8::from(number % 3 != 0)).collect();
    let (mut s, mut s_starts, mut t, mut t_starts) = (Vec::new(), vec![0], Vec::<i32>::new(), vec![0]);
    for number in numbers {
        s.extend("text".repeat(usize::try_from(number % 4).unwrap()).into_bytes());
        s_starts.push(s.len() as u64);
        t.extend((0..number % 3).map(|value| i32::try_from(value + number).unwrap()));
        t_starts.push(t.len() as u64 * 4);
    }
    let t: Vec<u8> = t.into_iter().flat_map(i32::to_le_bytes).collect();
    let mut write = writer.write();
    write = match place {
        Ok(coordinates) => write.column(WriteColumn::fixed("x", coordinates)),
        Err(range) => write.range("x", range),
    };
    write
        .column(WriteColumn::fixed("a", &a))
        .column(WriteColumn::fixed("n", &n).nullable(&validity))
        .column(WriteColumn::var("s", &s, &s_starts))
        .column(WriteColumn::var("t", &t, &t_starts).nullable(&validity))
        .commit()
        .unwrap();
}

impl Caller {
    fn new(schema: &ArraySchema, fill: impl FnOnce(&ArrayWriter)) -> Self {
        let (mut context, mut array) = (Variable::null(), Variable::null());
        assert_eq!(context::tiledb_ctx_alloc(Variable::null().get(), context.out()), 0);
        let storage = storage(&context);
        WriteOptions::new().create_storage(&storage, schema).unwrap();
        fill(&WriteOptions::new().open_storage(storage).unwrap());
        let ctx = context.get();
        assert_eq!(array::tiledb_array_alloc(ctx, Text::of(c"mem://array"), array.out()), 0);
        assert_eq!(array::tiledb_array_open(ctx, array.get(), array::READ), 0);
        Self { context, array }
    }

    /// A dense array of 40 cells, of which some were never written.
    fn dense() -> Self {
        let schema = ArraySchema::dense().dimension(Dimension::new("x", 0i32..=39).with_tile(7i32));
        let schema = with_attributes(schema).build().unwrap();
        Self::new(&schema, |writer| write(writer, &(2..34).collect::<Vec<_>>(), Err(2..=33)))
    }

    /// A sparse array of 60 cells in two fragments.
    fn sparse(duplicates: bool) -> Self {
        let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=999).with_tile(100i32));
        let schema = with_attributes(schema).capacity(8);
        let schema = if duplicates { schema.allow_duplicates() } else { schema }.build().unwrap();
        Self::new(&schema, |writer| {
            let even: Vec<i32> = (0..40).map(|number| number * 20).collect();
            write(writer, &(0..40).collect::<Vec<_>>(), Ok(&even));
            let odd: Vec<i32> = (0..20).map(|number| number * 40 + 1).collect();
            write(writer, &(40..60).collect::<Vec<_>>(), Ok(&odd));
        })
    }

    fn query(&self) -> Variable<QueryObject> {
        let mut query = Variable::null();
        let code = query::tiledb_query_alloc(self.context.get(), self.array.get(), array::READ, query.out());
        assert_eq!(code, 0, "{}", self.last_error());
        if query.get().get().unwrap().0.lock().schema.array_type == ArrayType::Dense {
            // Reads of dense arrays are refused without.
            self.range(&query, &[(0, 39)]);
        }
        query
    }

    fn last_error(&self) -> String {
        let mut error = Variable::null();
        context::tiledb_ctx_get_last_error(self.context.get(), error.out());
        error.get().get().map_or_else(|_| String::new(), |text| text.0.clone())
    }

    fn layout(&self, query: &Variable<QueryObject>, layout: Layout) {
        let code = set::tiledb_query_set_layout(self.context.get(), query.get(), u32::from(layout.code()));
        assert_eq!(code, 0, "{}", self.last_error());
    }

    fn config(&self, query: &Variable<QueryObject>, pairs: &[(&str, &str)]) {
        let mut config = Config::default();
        pairs.iter().for_each(|(key, value)| config.set(key, value).unwrap());
        let config = Variable::of(ConfigObject::of(config));
        let code = set::tiledb_query_set_config(self.context.get(), query.get(), config.get());
        assert_eq!(code, 0, "{}", self.last_error());
    }

    fn range(&self, query: &Variable<QueryObject>, ranges: &[(i32, i32)]) {
        let context = self.context.get();
        let mut subarray: Variable<SubarrayObject> = Variable::null();
        assert_eq!(subarray::tiledb_subarray_alloc(context, self.array.get(), subarray.out()), 0);
        for (low, high) in ranges {
            let (low, high) = (low.to_le_bytes(), high.to_le_bytes());
            let ends = (Data::of(&low), Data::of(&high), Data::null());
            let code =
                subarray::tiledb_subarray_add_range(context, subarray.get(), 0, ends.0, ends.1, ends.2);
            assert_eq!(code, 0, "{}", self.last_error());
        }
        assert_eq!(set::tiledb_query_set_subarray_t(context, query.get(), subarray.get()), 0);
    }

    fn status(&self, query: &Variable<QueryObject>) -> u32 {
        let mut status = 99;
        state::tiledb_query_get_status(self.context.get(), query.get(), Out::to(&mut status));
        status
    }

    fn submit(&self, query: &Variable<QueryObject>) -> u32 {
        assert_eq!(query::tiledb_query_submit(self.context.get(), query.get()), 0, "{}", self.last_error());
        self.status(query)
    }

    /// Reads fields with buffers for so many bytes of values and so many cells, until all is
    /// there. If not one cell fits, the buffers double.
    fn read_in_pieces(
        &self,
        query: &Variable<QueryObject>,
        kinds: &[Kind],
        (mut bytes, mut cells): (usize, usize),
    ) -> Vec<Got> {
        let context = self.context.get();
        let mut got = vec![Got::default(); kinds.len()];
        loop {
            let mut memory: Vec<_> =
                kinds.iter().map(|_| (vec![0xEEu8; bytes], vec![0u64; cells], vec![9u8; cells])).collect();
            let mut sizes = vec![[bytes as u64, cells as u64 * 8, cells as u64]; kinds.len()];
            for ((kind, (data, offsets, validity)), sizes) in kinds.iter().zip(&mut memory).zip(&mut sizes) {
                let name = CString::new(kind.name).unwrap();
                let [data_size, offsets_size, validity_size] = sizes;
                let name = || Text::of(&name);
                let (data, size) = (Memory::of(data), Out::to(data_size));
                assert_eq!(
                    buffers::tiledb_query_set_data_buffer(context, query.get(), name(), data, size),
                    0
                );
                if kind.is_var {
                    let (offsets, size) = (Memory::of(offsets), Out::to(offsets_size));
                    let code =
                        buffers::tiledb_query_set_offsets_buffer(context, query.get(), name(), offsets, size);
                    assert_eq!(code, 0, "{}", self.last_error());
                }
                if kind.nullable {
                    let (validity, size) = (Memory::of(validity), Out::to(validity_size));
                    let code = buffers::tiledb_query_set_validity_buffer(
                        context,
                        query.get(),
                        name(),
                        validity,
                        size,
                    );
                    assert_eq!(code, 0, "{}", self.last_error());
                }
            }
            let status = self.submit(query);
            let mut details = 99;
            state::tiledb_query_get_status_details(context, query.get(), Out::to(&mut details));
            assert_eq!(details, u32::from(status == INCOMPLETE));
            let mut any = false;
            for (((kind, memory), sizes), got) in kinds.iter().zip(&memory).zip(&sizes).zip(&mut got) {
                let (data, offsets, validity) = memory;
                let size = |at: usize| usize::try_from(sizes[at]).unwrap();
                any |= size(0) > 0 || (kind.is_var && size(1) > 0);
                got.values.extend(&data[..size(0)]);
                assert!(data[size(0)..].iter().all(|byte| *byte == 0xEE) || !kind.is_var);
                if kind.is_var {
                    let starts = &offsets[..size(1) / 8];
                    let ends = starts.iter().skip(1).copied().chain([sizes[0]]);
                    got.lengths.extend(starts.iter().zip(ends).map(|(start, end)| end - start));
                }
                if kind.nullable {
                    got.validity.extend(&validity[..size(2)]);
                }
            }
            match status {
                COMPLETED => return got,
                INCOMPLETE if !any => (bytes, cells) = (bytes * 2, cells * 2),
                other => assert_eq!(other, INCOMPLETE),
            }
        }
    }

    /// All cells as the engine gives them.
    fn expected(&self, kinds: &[Kind], layout: Layout, ranges: &[(i32, i32)]) -> Vec<Got> {
        let array = OpenOptions::new().open_storage(storage(&self.context)).unwrap();
        let mut read = array.read().fields(kinds.iter().map(|kind| kind.name)).order(layout);
        for (low, high) in ranges {
            read = read.range("x", *low..=*high);
        }
        got_of(&read.collect().unwrap())
    }
}

fn storage(context: &Variable<Context>) -> Arc<dyn WriteStorage> {
    let place = Place::of(context.get().get().unwrap(), "mem://array");
    place.unwrap().storage().unwrap()
}

fn got_of(cells: &Cells) -> Vec<Got> {
    let column = |column: &tdb_array::Column| Got {
        values: column.bytes().to_vec(),
        lengths: column
            .offsets()
            .map_or_else(Vec::new, |offsets| offsets.windows(2).map(|pair| pair[1] - pair[0]).collect()),
        validity: column.validity().unwrap_or_default().to_vec(),
    };
    cells.columns().iter().map(column).collect()
}

#[test]
fn pieces_of_every_size_give_the_cells_of_one_read() {
    let callers = [
        (Caller::dense(), vec![Layout::RowMajor, Layout::GlobalOrder], 40),
        (Caller::sparse(false), vec![Layout::RowMajor, Layout::GlobalOrder], 60),
        (Caller::sparse(true), vec![Layout::RowMajor, Layout::Unordered], 60),
    ];
    for (caller, layouts, count) in &callers {
        for layout in layouts {
            for kinds in [&ALL[..], &[FIXED], &[TEXT], &[NULLABLE, NULLABLE_TEXT]] {
                let expected = caller.expected(kinds, *layout, &[]);
                for cells in 1..=count + 1 {
                    let query = caller.query();
                    caller.layout(&query, *layout);
                    // The longest cell of a text has 12 bytes.
                    let got = caller.read_in_pieces(&query, kinds, (cells * 12, cells));
                    assert_eq!(got, expected, "{layout:?}, {} fields, {cells} cells", kinds.len());
                }
            }
        }
    }
}

#[test]
fn a_buffer_without_room_for_a_cell_gets_none_and_a_larger_one_goes_on() {
    let caller = Caller::sparse(false);
    for kinds in [&[FIXED][..], &[TEXT], &ALL] {
        let query = caller.query();
        let got = caller.read_in_pieces(&query, kinds, (3, 1));
        assert_eq!(got, caller.expected(kinds, Layout::RowMajor, &[]));
    }
}

#[test]
fn ranges_out_of_order_come_as_they_were_asked_for() {
    let caller = Caller::dense();
    let ranges = [(30, 35), (1, 4), (2, 2), (20, 20)];
    for cells in [1, 3, 100] {
        let query = caller.query();
        caller.range(&query, &ranges);
        let got = caller.read_in_pieces(&query, &ALL, (cells * 12, cells));
        assert_eq!(got, caller.expected(&ALL, Layout::RowMajor, &ranges));
    }
}

#[test]
fn a_completed_read_does_nothing_more_and_keeps_its_sizes() {
    let caller = Caller::dense();
    let query = caller.query();
    let (mut data, mut size) = (vec![0i64; 40], 320u64);
    let name = Text::of(c"a");
    let memory = Memory::of(&mut data);
    let context = caller.context.get();
    let code = buffers::tiledb_query_set_data_buffer(context, query.get(), name, memory, Out::to(&mut size));
    assert_eq!((code, caller.submit(&query), size), (0, COMPLETED, 320));
    assert_eq!(data[2..5], [2000, 3000, 4000]);
    data.fill(-1);
    assert_eq!((caller.submit(&query), size), (COMPLETED, 320));
    assert!(data.iter().all(|value| *value == -1));
}

#[test]
fn fields_that_share_memory_are_copied_one_after_the_other() {
    let caller = Caller::dense();
    let query = caller.query();
    let (mut data, mut sizes) = (vec![0i64; 40], [320u64, 320]);
    let context = caller.context.get();
    let [one, other] = &mut sizes;
    for (name, size) in [(c"a", one), (c"x", other)] {
        let memory = Memory::of(&mut data);
        let code = buffers::tiledb_query_set_data_buffer(
            context,
            query.get(),
            Text::of(name),
            memory,
            Out::to(size),
        );
        assert_eq!(code, 0);
    }
    assert_eq!(caller.submit(&query), COMPLETED);
    assert_eq!(sizes, [320, 160]);
    assert_eq!((data[0], data[39]), (1 << 32, 0x7FFF_FFFF_FFFF_FFFFi64.wrapping_add(1)));
}

#[test]
fn offsets_have_the_form_of_the_configuration() {
    let caller = Caller::dense();
    let query = caller.query();
    caller.config(
        &query,
        &[
            ("sm.var_offsets.bitsize", "32"),
            ("sm.var_offsets.mode", "elements"),
            ("sm.var_offsets.extra_element", "true"),
        ],
    );
    caller.range(&query, &[(4, 6)]);
    let (mut data, mut offsets, mut validity) = (vec![0i32; 9], vec![9u32; 9], vec![9u8; 9]);
    let mut sizes = [36u64, 36, 9];
    let context = caller.context.get();
    let name = Text::of(c"t");
    let [data_size, offsets_size, validity_size] = &mut sizes;
    let memory = Memory::of(&mut data);
    buffers::tiledb_query_set_data_buffer(context, query.get(), name, memory, Out::to(data_size));
    let memory = Memory::of(&mut offsets);
    buffers::tiledb_query_set_offsets_buffer(context, query.get(), name, memory, Out::to(offsets_size));
    let memory = Memory::of(&mut validity);
    buffers::tiledb_query_set_validity_buffer(context, query.get(), name, memory, Out::to(validity_size));
    assert_eq!(caller.submit(&query), COMPLETED, "{}", caller.last_error());
    assert_eq!(sizes, [12, 16, 3]);
    assert_eq!((&data[..3], &offsets[..4]), (&[4, 5, 6][..], &[0, 1, 3, 3][..]));
    assert_eq!(validity[..4], [1, 1, 0, 9]);
}

#[test]
fn estimates_are_enough_for_the_whole_result() {
    for caller in [Caller::dense(), Caller::sparse(false)] {
        let query = caller.query();
        let (context, q) = (caller.context.get(), query.get());
        let mut sizes = [0u64; 9];
        let [a, n, n_validity, s_offsets, s, t_offsets, t, t_validity, wrong] = &mut sizes;
        let name = Text::of;
        assert_eq!(estimate::tiledb_query_get_est_result_size(context, q, name(c"a"), Out::to(a)), 0);
        let (n, n_validity) = (Out::to(n), Out::to(n_validity));
        assert_eq!(
            estimate::tiledb_query_get_est_result_size_nullable(context, q, name(c"n"), n, n_validity),
            0
        );
        let (s_offsets, s) = (Out::to(s_offsets), Out::to(s));
        assert_eq!(estimate::tiledb_query_get_est_result_size_var(context, q, name(c"s"), s_offsets, s), 0);
        let outs = (Out::to(t_offsets), Out::to(t), Out::to(t_validity));
        let code = estimate::tiledb_query_get_est_result_size_var_nullable(
            context,
            q,
            name(c"t"),
            outs.0,
            outs.1,
            outs.2,
        );
        assert_eq!(code, 0);
        assert_ne!(estimate::tiledb_query_get_est_result_size(context, q, name(c"s"), Out::to(wrong)), 0);
        let all = caller.expected(&ALL, Layout::RowMajor, &[]);
        let cells = all[0].values.len() as u64 / 8;
        assert!(sizes[0] >= cells * 8 && sizes[1] >= cells * 2 && sizes[2] >= cells, "{sizes:?}");
        assert!(sizes[3] >= cells * 8 && sizes[4] >= all[2].values.len() as u64, "{sizes:?}");
        assert!(sizes[6] >= all[3].values.len() as u64 && sizes[7] >= cells, "{sizes:?}");
    }
}

#[test]
fn aggregates_come_alone_and_after_the_last_cell() {
    let caller = Caller::sparse(false);
    let array = OpenOptions::new().open_storage(storage(&caller.context)).unwrap();
    let sum = array.read().aggregate([Aggregate::sum("a")]).unwrap()[0].as_i64().unwrap();
    for with_cells in [false, true] {
        let query = caller.query();
        let (context, q) = (caller.context.get(), query.get());
        let (mut channel, mut operation) = (Variable::null(), Variable::null());
        assert_eq!(aggregates::tiledb_query_get_default_channel(context, q, channel.out()), 0);
        let mut operator = crate::ffi::ConstantPointer::null();
        let code = aggregates::tiledb_channel_operator_sum_get(context, operator.out());
        assert_eq!(code, 0);
        let code =
            aggregates::tiledb_create_unary_aggregate(context, q, operator, Text::of(c"a"), operation.out());
        assert_eq!(code, 0, "{}", caller.last_error());
        let apply = || {
            aggregates::tiledb_channel_apply_aggregate(
                context,
                channel.get(),
                Text::of(c"sum"),
                operation.get(),
            )
        };
        assert_eq!(apply(), 0);
        assert_ne!(apply(), 0, "there is one of the name");
        let (mut value, mut size) = ([0i64], 8u64);
        let memory = Memory::of(&mut value);
        let code =
            buffers::tiledb_query_set_data_buffer(context, q, Text::of(c"sum"), memory, Out::to(&mut size));
        assert_eq!(code, 0);
        if with_cells {
            let got = caller.read_in_pieces(&query, &[FIXED], (70, 9));
            assert_eq!(got, caller.expected(&[FIXED], Layout::RowMajor, &[]));
        } else {
            assert_eq!(caller.submit(&query), COMPLETED);
        }
        assert_eq!((value[0], size), (sum, 8));
    }
}

#[test]
fn a_query_outlives_its_array_handle_and_a_closed_array_is_refused() {
    let mut caller = Caller::dense();
    let query = caller.query();
    caller.array.freed().free();
    assert_eq!(
        caller.read_in_pieces(&query, &[FIXED], (800, 40)),
        caller.expected(&[FIXED], Layout::RowMajor, &[])
    );
    let query = {
        let caller = &caller;
        let mut array = Variable::null();
        assert_eq!(set::tiledb_query_get_array(caller.context.get(), query.get(), array.out()), 0);
        let mut query = Variable::null();
        let context = caller.context.get();
        assert_eq!(query::tiledb_query_alloc(context, array.get(), array::READ, query.out()), 0);
        assert_eq!(array::tiledb_array_close(context, array.get()), 0);
        query
    };
    assert_ne!(query::tiledb_query_submit(caller.context.get(), query.get()), 0);
    assert!(caller.last_error().contains("array is not open"), "{}", caller.last_error());
}
