//! Fragments as a program in C sees them, of arrays that the engine writes.

use core::ops::ControlFlow;
use std::ffi::{CStr, CString};

use tdb_array::maintain::{Consolidation, Stored, Vacuum};
use tdb_array::schema::{ArraySchema, Attribute, Dimension};
use tdb_array::storage::Durability;
use tdb_array::{OpenOptions, WriteColumn, WriteOptions};

use super::rectangles as domains;
use super::*;
use crate::ffi::Texts;
use crate::ffi::testing::Variable;
use crate::{array_schema, array_schema_evolution as evolution, config, consolidation as maintain, context};

const URI: &CStr = c"mem://array";

/// In the year 2096.
const FUTURE: u64 = 4_000_000_000_000;

/// A program in C with a context, and an array in memory.
struct Caller {
    context: Variable<Context>,
}

impl Caller {
    /// With a cell at 10, 20 and 30, written at these times.
    fn new() -> Self {
        let mut context = Variable::null();
        assert_eq!(context::tiledb_ctx_alloc(Variable::null().get(), context.out()), 0);
        let caller = Self { context };
        let schema = ArraySchema::sparse()
            .dimension(Dimension::new("x", 0i32..=99))
            .dimension(Dimension::string("s"))
            .attribute(Attribute::of::<i32>("a"))
            .build()
            .unwrap();
        let storage = caller.place().storage().unwrap();
        WriteOptions::new().timestamp(1).create_storage(&*storage, &schema).unwrap();
        for time in [10, 20, 30i32] {
            let options = WriteOptions::new().timestamp(u64::try_from(time).unwrap());
            let writer = options.open_storage(storage.clone()).unwrap();
            let cell = [time];
            let write = writer.write().column(WriteColumn::fixed("x", &cell));
            let write = write.column(WriteColumn::var("s", b"text", &[0, 4]));
            write.column(WriteColumn::fixed("a", &cell)).commit().unwrap();
        }
        caller
    }

    fn place(&self) -> Place {
        Place::of(self.context.get().get().unwrap(), URI.to_str().unwrap()).unwrap()
    }

    fn error(&self) -> String {
        let mut error = Variable::null();
        context::tiledb_ctx_get_last_error(self.context.get(), error.out());
        error.get().get().map_or_else(|_| String::new(), |text| text.0.clone())
    }

    fn info(&self) -> Variable<FragmentInfoObject> {
        let (context, mut info) = (self.context.get(), Variable::null());
        assert_eq!(tiledb_fragment_info_alloc(context, Text::of(URI), info.out()), 0);
        assert_eq!(tiledb_fragment_info_load(context, info.get()), 0, "{}", self.error());
        info
    }

    fn times(&self) -> Vec<(u64, u64)> {
        let (context, info) = (self.context.get(), self.info());
        let mut count = 0;
        tiledb_fragment_info_get_fragment_num(context, info.get(), Out::to(&mut count));
        let times = |number| {
            let mut times = (0, 0);
            let (low, high) = (Out::to(&mut times.0), Out::to(&mut times.1));
            assert_eq!(tiledb_fragment_info_get_timestamp_range(context, info.get(), number, low, high), 0);
            times
        };
        (0..count).map(times).collect()
    }

    fn names(&self) -> Vec<CString> {
        let storage = self.place().storage().unwrap();
        let array = OpenOptions::new().open_storage(storage).unwrap();
        array.fragments().iter().map(|fragment| CString::new(fragment.name()).unwrap()).collect()
    }

    fn config(&self, values: &[(&CStr, &CStr)]) -> Variable<ConfigObject> {
        let config = Variable::of(ConfigObject::of(Config::default()));
        for (key, value) in values {
            let mut error = Variable::null();
            let (key, value) = (Text::of(key), Text::of(value));
            assert_eq!(config::tiledb_config_set(config.get(), key, value, error.out()), 0);
        }
        config
    }
}

#[test]
fn a_consolidated_fragment_that_ends_in_the_future_is_not_listed() {
    let caller = Caller::new();
    let storage = caller.place().storage().unwrap();
    let writer = WriteOptions::new().timestamp(40).open_storage(storage.clone()).unwrap();
    let plan = Consolidation::new(Stored::Fragments).amplification(100.0).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    let plan = Vacuum::new(Stored::Fragments).drop_history(true).plan(&writer).unwrap();
    plan.run(&writer, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(caller.times(), [(10, 30)]);
    // The engine consolidates nothing that is in the future; libtiledb does.
    let moved = |key: &str| key.replace("__10_30_", &format!("__10_{FUTURE}_"));
    for folder in ["__fragments", "__commits"] {
        for entry in storage.list(folder).unwrap() {
            let key = format!("{folder}/{}", entry.name);
            let files = match entry.is_folder {
                true => {
                    storage.list(&key).unwrap().iter().map(|file| format!("{key}/{}", file.name)).collect()
                }
                false => vec![key],
            };
            for file in files {
                storage.put_file(&moved(&file), &storage.read(&file).unwrap(), Durability::Buffered).unwrap();
                storage.remove_file(&file).unwrap();
            }
        }
    }
    assert_eq!(caller.names().len(), 1, "its cells until now are read");
    assert_eq!(caller.times(), []);
}

#[test]
fn a_program_sees_domains_and_rectangles_by_index_and_by_name() {
    let caller = Caller::new();
    let (context, info) = (caller.context.get(), caller.info());
    let mut range = [0u8; 8];
    let out = |range: &mut [u8; 8]| Out::to(&mut range[0]);
    let expected = [20i32.to_le_bytes(), 20i32.to_le_bytes()].concat();
    let name = Text::of(c"x");
    let codes = [
        domains::tiledb_fragment_info_get_non_empty_domain_from_index(
            context,
            info.get(),
            1,
            0,
            out(&mut range),
        ),
        domains::tiledb_fragment_info_get_mbr_from_name(context, info.get(), 1, 0, name, out(&mut range)),
    ];
    assert_eq!((codes, &range[..]), ([0, 0], &expected[..]));
    let (mut low, mut high) = (0, 0);
    let code = domains::tiledb_fragment_info_get_mbr_var_size_from_name(
        context,
        info.get(),
        1,
        0,
        Text::of(c"s"),
        Out::to(&mut low),
        Out::to(&mut high),
    );
    assert_eq!((code, low, high), (0, 4, 4));
    // A wrong fragment, tile, dimension or size of it is an error.
    for (fragment, tile, name) in [(3, 0, c"x"), (0, 1, c"x"), (0, 0, c"none"), (0, 0, c"s")] {
        let name = Text::of(name);
        let code = domains::tiledb_fragment_info_get_mbr_from_name(
            context,
            info.get(),
            fragment,
            tile,
            name,
            out(&mut range),
        );
        assert_eq!(code, -1);
    }
    assert!(caller.error().contains("variable-sized"), "{}", caller.error());
}

#[test]
fn fragments_are_consolidated_between_times_and_vacuumed() {
    let caller = Caller::new();
    let context = caller.context.get();
    let none = Variable::null();
    let between = caller
        .config(&[(c"sm.consolidation.timestamp_start", c"15"), (c"sm.consolidation.timestamp_end", c"30")]);
    assert_eq!(
        maintain::tiledb_array_consolidate(context, Text::of(URI), between.get()),
        0,
        "{}",
        caller.error()
    );
    assert_eq!(caller.times(), [(10, 10), (20, 30)]);
    let mut count = 0;
    tiledb_fragment_info_get_to_vacuum_num(context, caller.info().get(), Out::to(&mut count));
    assert_eq!(count, 2);
    assert_eq!(maintain::tiledb_array_vacuum(context, Text::of(URI), none.get()), 0);
    let info = caller.info();
    tiledb_fragment_info_get_to_vacuum_num(context, info.get(), Out::to(&mut count));
    assert_eq!(count, 0);
    let name = OutText::taken(|name| {
        tiledb_fragment_info_get_array_schema_name(context, info.get(), 1, name);
    });
    assert!(name.starts_with("__1_1_"), "{name}");
    let wrong = caller.config(&[(c"sm.consolidation.mode", c"other")]);
    assert_eq!(maintain::tiledb_array_consolidate(context, Text::of(URI), wrong.get()), -1);
}

#[test]
fn what_is_asked_of_no_array_fails_because_it_does_not_exist() {
    let caller = Caller::new();
    let (context, config, nowhere) = (caller.context.get(), Variable::null(), Text::of(c"mem://none"));
    let says = |code: i32| {
        assert_eq!(code, -1);
        assert!(caller.error().contains("does not exist"), "{}", caller.error());
    };
    says(maintain::tiledb_array_consolidate(context, nowhere, config.get()));
    says(maintain::tiledb_array_vacuum(context, nowhere, config.get()));
    says(maintain::tiledb_array_delete_fragments_v2(context, nowhere, 0, 9));
    says(array_schema::tiledb_array_schema_load(context, nowhere, Variable::null().out()));
    says(evolution::tiledb_array_upgrade_version(context, nowhere, config.get()));
    let mut changes = Variable::null();
    assert_eq!(evolution::tiledb_array_schema_evolution_alloc(context, changes.out()), 0);
    says(evolution::tiledb_array_evolve(context, nowhere, changes.get()));
    let mut info = Variable::null();
    assert_eq!(tiledb_fragment_info_alloc(context, nowhere, info.out()), 0);
    says(tiledb_fragment_info_load(context, info.get()));
}

#[test]
fn fragments_are_consolidated_and_removed_by_their_names_or_uris() {
    let caller = Caller::new();
    let context = caller.context.get();
    let none = Variable::null();
    let consolidate = |names: &[&CStr]| {
        let pointers: Vec<_> = names.iter().map(|name| name.as_ptr()).collect();
        let count = crate::number(pointers.len());
        let texts = Texts::of(&pointers);
        maintain::tiledb_array_consolidate_fragments(context, Text::of(URI), texts, count, none.get())
    };
    let names = caller.names();
    let uri = CString::new(format!("mem://array/__fragments/{}", names[0].to_str().unwrap())).unwrap();
    let elsewhere = CString::new(format!("mem://other/__fragments/{}", names[0].to_str().unwrap())).unwrap();
    assert_eq!(consolidate(&[&elsewhere, &names[1]]), -1);
    assert!(caller.error().contains("invalid fragment URI"), "{}", caller.error());
    assert_eq!(consolidate(&[&names[0], c"none"]), -1);
    assert!(caller.error().contains("Found 1 of 2 required fragments"), "{}", caller.error());
    assert_eq!(consolidate(&[&names[0]]), 0);
    assert_eq!(caller.times().len(), 3);
    assert_eq!(consolidate(&[&uri, &names[1]]), 0, "{}", caller.error());
    assert_eq!(caller.times(), [(10, 20), (30, 30)]);
    let names = caller.names();
    let pointers = [names[1].as_ptr()];
    let remove =
        || maintain::tiledb_array_delete_fragments_list(context, Text::of(URI), Texts::of(&pointers), 1);
    assert_eq!((remove(), remove()), (0, -1));
    assert_eq!(caller.times(), [(10, 20)]);
    assert_eq!(maintain::tiledb_array_delete_fragments_v2(context, Text::of(URI), 10, 19), 0);
    assert_eq!(caller.times(), [(10, 20)]);
    assert_eq!(maintain::tiledb_array_delete_fragments_v2(context, Text::of(URI), 10, 20), 0);
    assert_eq!(caller.times(), []);
}

#[test]
fn nothing_is_told_before_the_fragments_are_loaded() {
    let caller = Caller::new();
    let (context, mut info) = (caller.context.get(), Variable::null());
    assert_eq!(tiledb_fragment_info_alloc(context, Text::of(URI), info.out()), 0);
    let mut count = 7;
    assert_eq!(tiledb_fragment_info_get_fragment_num(context, info.get(), Out::to(&mut count)), -1);
    assert!(caller.error().contains("has not been loaded"), "{}", caller.error());
    let config = caller.config(&[]);
    assert_eq!(tiledb_fragment_info_set_config(context, info.get(), config.get()), 0);
    assert_eq!(tiledb_fragment_info_load(context, info.get()), 0);
    assert_eq!(tiledb_fragment_info_set_config(context, info.get(), config.get()), -1);
    let mut text = Variable::null();
    assert_eq!(tiledb_fragment_info_dump_str(context, info.get(), text.out()), 0);
    let text = text.get().get().unwrap().0.clone();
    assert!(
        text.starts_with("- Fragment num: 3\n- Unconsolidated metadata num: 3\n- To vacuum num: 0\n"),
        "{text}"
    );
    assert!(text.contains("  > Non-empty domain: [20, 20] x [text, text]\n"), "{text}");
}
