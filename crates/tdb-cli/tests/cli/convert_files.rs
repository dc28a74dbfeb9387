//! Parquet and Arrow files there and back: every fixture, and files of other software.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::schema::{ArraySchema, ArrayType, Filter, FormatVersion};
use tdb_array::{Array, Cells, Column, Layout};

use crate::common::{NAN, Scratch, assert_fails, fixture, open_fixtures, said, schema_json, tdb, text};
use crate::import::csv;

/// The name that libtiledb 1.x gave to an attribute without a name.
const OLD_ANONYMOUS: &str = "__attr";
const ENDINGS: [&str; 3] = ["parquet", "arrow", "arrows"];

/// The schema that an array would have if it were new: of the current version, with names as they
/// are now.
fn todays(schema: &ArraySchema) -> ArraySchema {
    let mut schema = schema.clone();
    schema.version = FormatVersion::CURRENT;
    let old = schema.attributes.iter_mut().filter(|attribute| attribute.name == OLD_ANONYMOUS);
    old.for_each(|attribute| attribute.name.clear());
    schema
}

/// Everything that was written to an array; for a dense array the box around it.
fn whole(array: &Array) -> Option<Cells> {
    let schema = array.schema();
    let names = schema.fields().map(|field| field.name.to_owned());
    let mut read = array.read().fields(names).order(Layout::RowMajor);
    if schema.array_type == ArrayType::Dense {
        for (range, dimension) in array.bounds()?.iter().zip(&schema.domain.dimensions) {
            read = read.range_bytes(&dimension.name, Some(range.low.clone()), Some(range.high.clone()));
        }
    }
    Some(read.collect().unwrap()).filter(|cells| !cells.is_empty())
}

/// The cells of a column; `None` for null ones, whose bytes not every file has.
fn cells(column: &Column, count: usize) -> Vec<Option<&[u8]>> {
    (0..count).map(|row| column.cell(row).filter(|_| !column.is_null(row))).collect()
}

fn assert_same(mine: Option<Cells>, theirs: Option<Cells>, what: &str) {
    let (Some(mine), Some(theirs)) = (&mine, &theirs) else {
        assert_eq!(mine.is_none(), theirs.is_none(), "{what}");
        return;
    };
    let count = theirs.len();
    assert_eq!((mine.len(), mine.columns().len()), (theirs.len(), theirs.columns().len()), "{what}");
    for (mine, theirs) in mine.columns().iter().zip(theirs.columns()) {
        assert!(cells(mine, count) == cells(theirs, count), "{what}: {}", theirs.name);
    }
}

/// Whether an array has images that are others each time they are written.
fn is_lossy(schema: &ArraySchema) -> bool {
    let lossy = |filter: &Filter| matches!(filter, Filter::WebP(options) if !options.lossless);
    schema.attributes.iter().flat_map(|attribute| &attribute.filters.filters).any(lossy)
}

#[test]
fn every_fixture_comes_back_from_a_file() {
    let scratch = Scratch::new();
    let (mut same, mut as_stored, mut excused) = (0, BTreeMap::<_, Vec<String>>::new(), 0);
    for (number, id) in open_fixtures().into_iter().enumerate() {
        let ending = ENDINGS[number % ENDINGS.len()];
        let (source, file, copy) =
            (fixture(&id), scratch.path().join(format!("file.{ending}")), scratch.path().join("copy"));
        let theirs = Array::open(&source).unwrap();
        if id == NAN || is_lossy(theirs.schema()) {
            excused += 1;
            continue;
        }
        // Only cells with equal coordinates have an order among themselves.
        let order: &[&str] = if theirs.schema().allows_duplicates { &["--order", "row"] } else { &[] };
        let export = ["export", text(&source), text(&file), "--force", "--memory", "64MiB", "--threads", "1"];
        let export = [&export, order].concat();
        let outcome = tdb(&export);
        if outcome.code != 0 {
            assert!(outcome.err.contains("--as-stored"), "{id}: {}", outcome.err);
            let why =
                outcome.err.split("--as-stored").next().unwrap().rsplit("column ").next().unwrap().to_owned();
            as_stored.entry(why).or_default().push(id.clone());
            said(&[&export[..], &["--as-stored"]].concat());
        }
        let _ = fs::remove_dir_all(&copy);
        let imported = tdb(&["import", text(&copy), text(&file)]);
        assert_eq!((imported.code, imported.err.as_str()), (0, ""), "{id}");
        let mine = Array::open(&copy).unwrap();
        assert_eq!(*mine.schema(), todays(theirs.schema()), "{id}");
        assert_same(whole(&mine), whole(&theirs), &id);
        same += 1;
    }
    println!("{same} the same; as stored: {as_stored:?}");
    assert!(same > 500 && excused * 20 < same, "{same} came back, {excused} were excused");
    let others: usize = as_stored.values().map(Vec::len).sum();
    assert!(others * 10 < same, "{as_stored:?}");
}

fn pyarrow(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pyarrow").join(name)
}

#[test]
fn files_of_pyarrow_become_the_same_array_whatever_their_format() {
    let expected = r#"row,i8,u64,f32,flag,text,large,bytes,three,day,ms,utc,took,city,list,pair
0,-1,0,0.5,true,é,a,\x00\xff,abc,1969-12-31,2024-02-29T12:30:15.000,2024-02-29T12:30:15.000000,1,Oslo,"[1, 2]","[1.0, 2.0]"
1,,1,,,,"b,c",,,,,,,,,
2,127,18446744073709551615,NaN,false,"",,"",def,2024-02-29,1969-12-31T23:59:59.000,1969-12-31T23:59:59.000000,3,Oslo,[],"[3.0, 4.0]"
"#;
    let scratch = Scratch::new();
    let mut first = None;
    for name in ["types.parquet", "pages.parquet", "types.feather", "types.arrows"] {
        let array = scratch.path().join(name);
        assert_eq!(said(&["import", text(&array), text(&pyarrow(name))]), "3 cells written\n");
        assert_eq!(tdb(&["verify", text(&array)]).err, "");
        let schema = schema_json(&array);
        let (schema, cells) = first.get_or_insert_with(|| (schema.clone(), csv(text(&array)))).clone();
        assert_eq!(schema_json(&array), schema, "{name}");
        assert_eq!(csv(text(&array)), cells, "{name}");
        assert_eq!(cells, expected);
    }
}

#[test]
fn types_of_pyarrow_that_arrays_do_not_have_are_refused_with_advice() {
    let scratch = Scratch::new();
    let array = scratch.path().join("array");
    let file = pyarrow("refused_place.parquet");
    let outcome = tdb(&["import", text(&array), text(&file)]);
    let start = "refused_place.parquet: column \"place\" is of type Struct(";
    assert_fails(&outcome, &[start, "for which TileDB has no type: "]);
    assert!(!array.exists());
    let outcome = tdb(&["import", text(&array), text(&pyarrow("refused_price.parquet"))]);
    assert!(outcome.code == 0 && outcome.err.contains("in units of 0.01"), "{}", outcome.err);
}
