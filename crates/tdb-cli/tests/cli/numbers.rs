//! Reals as text: every way into an array, into its schema and into a query takes the real that is
//! nearest to what is written.

use std::fs;
use std::path::PathBuf;

use serde_json::json;
use tdb_array::schema::Datatype;
use tdb_array::{Array, OpenOptions};
use tdb_text::condition;

use crate::common::{Scratch, said, text};

/// How many numbers of each type each entry gets.
const NUMBERS: usize = 10_000;

/// A way in: its name, and what comes out of it for these texts, in their order, in the bits of the
/// type.
type Entry = (&'static str, fn(Datatype, &[String]) -> Vec<u64>);

/// All of them.
const ENTRIES: [Entry; 11] = [
    ("import of CSV", |datatype, texts| imported(datatype, "csv", &csv(texts))),
    ("import of NDJSON", |datatype, texts| imported(datatype, "ndjson", &ndjson(texts))),
    ("lists in NDJSON", lists),
    ("coordinates", coordinates),
    ("points and ranges", points),
    ("conditions", conditions),
    ("schemas: enumerations", |datatype, texts| enumerated(datatype, texts, false)),
    ("schemas: domains, fill values and filters", fields),
    ("schemas that info prints", |datatype, texts| enumerated(datatype, texts, true)),
    ("evolve", extended),
    ("metadata", metadata),
];

/// Pseudo-random bits (`SplitMix64`).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: u64) -> u64 {
        self.bits() % end
    }
}

fn is_double(datatype: Datatype) -> bool {
    datatype == Datatype::Float64
}

/// The bits of the real that is nearest to a text.
fn expected(datatype: Datatype, text: &str) -> u64 {
    match is_double(datatype) {
        true => text.parse::<f64>().unwrap().to_bits(),
        false => text.parse::<f32>().unwrap().to_bits().into(),
    }
}

fn bits_of(datatype: Datatype, bytes: &[u8]) -> Vec<u64> {
    match is_double(datatype) {
        true => bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect(),
        false => bytes.as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes).into()).collect(),
    }
}

/// A number just beside the middle of two neighbours of FLOAT32, which is the middle for FLOAT64.
fn beside_a_middle(random: &mut Random, value: f32) -> String {
    let middle = (f64::from(value) + f64::from(value.next_up())) / 2.0;
    let digits = format!("{middle:.160}");
    let digits = digits.trim_end_matches('0');
    match (random.below(3), digits.strip_suffix('5')) {
        (0, Some(start)) => format!("{start}4999999999999"),
        (1, Some(_)) => format!("{digits}0000000000001"),
        // An integer, which has a point all the same.
        _ if digits.ends_with('.') => format!("{digits}0"),
        _ => digits.to_owned(),
    }
}

/// Texts of finite numbers, each of another real: with random bits, subnormal, at limits, near
/// powers of ten and near the middle of two reals.
fn texts(datatype: Datatype, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let limits: &[&str] = match is_double(datatype) {
        true => &[
            "1.7976931348623157e308",
            "-1.7976931348623157e308",
            "5e-324",
            "2.2250738585072014e-308",
            "2.225073858507201e-308",
        ],
        false => &["3.4028235e38", "-3.4028235e38", "1e-45", "1.1754944e-38", "1.1754942e-38"],
    };
    let mut found: Vec<String> = limits.iter().map(|text| (*text).to_owned()).collect();
    found.extend(["0.0", "-0.0", "1.000000178813934326171874999999"].map(str::to_owned));
    let mut seen: Vec<u64> = found.iter().map(|text| expected(datatype, text)).collect();
    seen.sort_unstable();
    while found.len() < NUMBERS {
        let bits = random.bits();
        let power = i32::try_from(random.below(if is_double(datatype) { 600 } else { 70 })).unwrap()
            - if is_double(datatype) { 300 } else { 35 };
        let (double, single) = (f64::from_bits(bits), f32::from_bits(u32::try_from(bits >> 32).unwrap()));
        let small = f32::from_bits(u32::try_from(random.below(1 << 23)).unwrap());
        let text = match (random.below(6), is_double(datatype)) {
            (0 | 1, true) => format!("{double:?}"),
            (0 | 1, false) => format!("{single:?}"),
            (2, true) => format!("{:e}", f64::from_bits(random.below(1 << 52))),
            (2, false) => format!("{small:e}"),
            (3, _) => format!("{}e{power}", random.below(100_000)),
            (4, true) => format!("{double:.40e}"),
            (4, false) => beside_a_middle(&mut random, small),
            (_, true) => format!("{}.{:030}e{}", random.below(10), random.bits(), power - 3),
            (_, false) => beside_a_middle(&mut random, single),
        };
        let finite = text.parse::<f64>().is_ok_and(f64::is_finite)
            && (is_double(datatype) || text.parse::<f32>().is_ok_and(f32::is_finite));
        // Integers must be exact, which is another test.
        if !finite || !text.contains(['.', 'e']) {
            continue;
        }
        let own = expected(datatype, &text);
        if let Err(at) = seen.binary_search(&own) {
            seen.insert(at, own);
            found.push(text);
        }
    }
    found
}

#[test]
fn every_entry_takes_the_real_that_is_nearest_to_what_is_written() {
    for (datatype, seed) in [(Datatype::Float64, 1), (Datatype::Float32, 2)] {
        let texts = texts(datatype, seed);
        for (name, entry) in ENTRIES {
            let found = entry(datatype, &texts);
            assert_eq!(found.len(), texts.len(), "{name}, {datatype}");
            for (text, found) in texts.iter().zip(found) {
                assert_eq!(found, expected(datatype, text), "{name}, {datatype}: {text}");
            }
        }
    }
}

fn csv(texts: &[String]) -> String {
    format!("a\n{}\n", texts.join("\n"))
}

fn ndjson(texts: &[String]) -> String {
    texts.iter().map(|text| format!("{{\"a\":{text}}}\n")).collect()
}

/// Imports a file into a new array; returns it in its folder.
fn import(datatype: Datatype, ending: &str, contents: &str, more: &[&str]) -> (Scratch, PathBuf) {
    let scratch = Scratch::new();
    let (array, file) = (scratch.path().join("array"), scratch.path().join(format!("x.{ending}")));
    fs::write(&file, contents).unwrap();
    let types = format!("a={}", datatype.name());
    said(&[&["import", text(&array), text(&file), "--types", &types], more].concat());
    (scratch, array)
}

/// A field of all cells, in the order of the rows.
fn column(array: &Array, datatype: Datatype) -> Vec<u64> {
    let order = tdb_array::Layout::RowMajor;
    bits_of(datatype, array.read().order(order).fields(["a"]).collect().unwrap().field("a").unwrap().bytes())
}

fn imported(datatype: Datatype, ending: &str, contents: &str) -> Vec<u64> {
    let (_scratch, array) = import(datatype, ending, contents, &[]);
    column(&Array::open(array).unwrap(), datatype)
}

fn lists(datatype: Datatype, texts: &[String]) -> Vec<u64> {
    let scratch = Scratch::new();
    let (array, file) = (scratch.path().join("array"), scratch.path().join("x.ndjson"));
    let rows = texts.chunks(4).enumerate();
    let rows = rows.map(|(row, list)| format!("{{\"i\":{row},\"a\":[{}]}}\n", list.join(",")));
    fs::write(&file, rows.collect::<String>()).unwrap();
    let dimension = json!({"name": "i", "datatype": "INT64", "domain": [0, 99_999]});
    let attribute = json!({"name": "a", "datatype": datatype.name(), "cell_val_num": 4});
    create(
        &scratch,
        &json!({"type": "sparse", "dimensions": [dimension], "attributes": [attribute]}).to_string(),
    );
    said(&["import", text(&array), text(&file)]);
    column(&Array::open(array).unwrap(), datatype)
}

/// Creates the array `array` in a folder.
fn create(scratch: &Scratch, schema: &str) -> Array {
    let (array, file) = (scratch.path().join("array"), scratch.path().join("schema.json"));
    fs::write(&file, schema).unwrap();
    said(&["create", text(&array), "--schema", text(&file)]);
    Array::open(array).unwrap()
}

/// Whether a coordinate is well inside of the domain that import makes: domains of all reals have
/// no length.
fn is_coordinate(datatype: Datatype, text: &str) -> bool {
    let most = if is_double(datatype) { 1e300 } else { 1e30 };
    text.parse::<f64>().unwrap().abs() < most
}

/// An array whose coordinates are the numbers, and for each the number of its text.
fn with_coordinates(datatype: Datatype, texts: &[String]) -> (Scratch, Array) {
    let rows = texts.iter().enumerate().filter(|(_, text)| is_coordinate(datatype, text));
    let rows = rows.map(|(row, text)| format!("{{\"a\":{text},\"i\":{row}}}\n"));
    let more = ["--dims", "a", "--allow-duplicates"];
    let (scratch, array) = import(datatype, "ndjson", &rows.collect::<String>(), &more);
    (scratch, Array::open(array).unwrap())
}

/// The coordinates that were found, by the numbers of their texts; other texts are taken for right.
fn by_row(datatype: Datatype, texts: &[String], numbers: &[i64], found: &[u64]) -> Vec<u64> {
    let mut all = vec![u64::MAX; texts.len()];
    for (number, found) in numbers.iter().zip(found) {
        all[usize::try_from(*number).unwrap()] = *found;
    }
    for (all, text) in all.iter_mut().zip(texts).filter(|(_, text)| !is_coordinate(datatype, text)) {
        *all = expected(datatype, text);
    }
    all
}

fn coordinates(datatype: Datatype, texts: &[String]) -> Vec<u64> {
    let (_scratch, array) = with_coordinates(datatype, texts);
    let cells = array.read().fields(["a", "i"]).collect().unwrap();
    let numbers = cells.field("i").unwrap().values::<i64>().unwrap();
    by_row(datatype, texts, numbers, &bits_of(datatype, cells.field("a").unwrap().bytes()))
}

/// A point that is a step off finds no cell.
fn points(datatype: Datatype, texts: &[String]) -> Vec<u64> {
    let (scratch, array) = with_coordinates(datatype, texts);
    let list = scratch.path().join("points.txt");
    let some = texts.iter().filter(|text| is_coordinate(datatype, text)).cloned().collect::<Vec<_>>();
    fs::write(&list, some.join("\n")).unwrap();
    let path = scratch.path().join("array");
    let read = |range: &str| {
        let option = if range.contains("..") { "--range" } else { "--points" };
        let read = ["read", text(&path), option, range, "--fields", "i", "--format", "csv"];
        said(&read).lines().skip(1).map(|line| line.parse::<i64>().unwrap()).collect::<Vec<_>>()
    };
    let numbers = read(&format!("a=@{}", text(&list)));
    for (number, text) in
        texts.iter().enumerate().filter(|(_, text)| is_coordinate(datatype, text)).step_by(97)
    {
        let found = read(&format!("a={text}..{text}"));
        assert!(found.contains(&i64::try_from(number).unwrap()), "{datatype}: {text}");
    }
    let (cells, order) = (array.read().fields(["a", "i"]).collect().unwrap(), &numbers);
    assert_eq!(order.len(), some.len());
    let all = cells.field("i").unwrap().values::<i64>().unwrap();
    by_row(datatype, texts, all, &bits_of(datatype, cells.field("a").unwrap().bytes()))
}

fn conditions(datatype: Datatype, texts: &[String]) -> Vec<u64> {
    let (_scratch, path) = import(datatype, "csv", "a\n0.5\n", &[]);
    let array = Array::open(path).unwrap();
    // Both zeros are equal: which of them is stored does not matter.
    let is_zero = |text: &&String| text.parse::<f64>().unwrap() == 0.0;
    let others: Vec<String> = texts.iter().filter(|text| !is_zero(text)).cloned().collect();
    // A condition has at most a mebibyte.
    let lists = others.chunks(500).map(|texts| {
        let parsed = condition::parse(&format!("a in ({})", texts.join(", ")), array.schema()).unwrap();
        match parsed.to_stored(&array).unwrap() {
            tdb_fragment::Condition::Value { operands, .. } => bits_of(datatype, &operands.concat()),
            other => panic!("{other:?}"),
        }
    });
    let mut found = lists.flatten().collect::<Vec<_>>().into_iter();
    let each = |text: &String| if is_zero(&text) { expected(datatype, text) } else { found.next().unwrap() };
    texts.iter().map(each).collect()
}

/// The values of an enumeration: of a schema as it is written, or as `info` prints it.
fn enumerated(datatype: Datatype, texts: &[String], again: bool) -> Vec<u64> {
    let scratch = Scratch::new();
    let mut array = create(&scratch, &with_enumeration(datatype, texts));
    let again = again.then(Scratch::new);
    if let Some(again) = &again {
        let shown = said(&["info", text(&scratch.path().join("array")), "--json"]);
        array = create(again, &shown);
    }
    values(&array, datatype)
}

fn values(array: &Array, datatype: Datatype) -> Vec<u64> {
    let values = array.enumeration("e").unwrap().unwrap();
    (0..values.len()).flat_map(|index| bits_of(datatype, values.value(index).unwrap())).collect()
}

/// A schema with an enumeration of these numbers, as they are written.
fn with_enumeration(datatype: Datatype, texts: &[String]) -> String {
    format!(
        "{{\"type\":\"sparse\",\"dimensions\":[{{\"name\":\"i\",\"datatype\":\"INT64\",\"domain\":[0,9]}}],\
          \"attributes\":[{{\"name\":\"a\",\"datatype\":\"INT32\",\"enumeration\":\"e\"}}],\
          \"enumerations\":[{{\"name\":\"e\",\"datatype\":\"{}\",\"values\":[{}]}}]}}",
        datatype.name(),
        texts.join(",")
    )
}

/// Fill values, and for some numbers the domain of a dimension and the scale of a filter.
fn fields(datatype: Datatype, texts: &[String]) -> Vec<u64> {
    let mut found = Vec::with_capacity(texts.len());
    for texts in texts.chunks(500) {
        let scratch = Scratch::new();
        let attribute = |(at, text): (usize, &String)| {
            format!("{{\"name\":\"a{at}\",\"datatype\":\"{}\",\"fill_value\":{text}}}", datatype.name())
        };
        let attributes = texts.iter().enumerate().map(attribute).collect::<Vec<_>>().join(",");
        let mut ends: Vec<&String> =
            texts.iter().filter(|text| is_coordinate(datatype, text)).take(2).collect();
        ends.sort_by(|a, b| a.parse::<f64>().unwrap().total_cmp(&b.parse::<f64>().unwrap()));
        let scale = texts.iter().find(|text| text.parse::<f64>().unwrap().is_normal()).unwrap();
        let array = create(
            &scratch,
            &format!(
                "{{\"type\":\"sparse\",\"dimensions\":[{{\"name\":\"x\",\"datatype\":\"{}\",\"domain\":[{},{}]}}],\"attributes\":[{attributes},\
              {{\"name\":\"scaled\",\"datatype\":\"FLOAT64\",\"filters\":[{{\"name\":\"scale_float\",\"scale\":{scale},\"bytes\":8}}]}}]}}",
                datatype.name(),
                ends[0],
                ends[1],
            ),
        );
        let schema = array.schema();
        let (low, high) = schema.domain.dimensions[0].domain.clone().unwrap();
        let domain = [&low, &high].map(|end| bits_of(datatype, end)[0]);
        assert_eq!(domain, [ends[0], ends[1]].map(|text| expected(datatype, text)), "{ends:?}");
        let info = said(&["info", text(&scratch.path().join("array")), "--json"]);
        let shown = format!("\"scale\": {}", json!(scale.parse::<f64>().unwrap()));
        assert!(info.contains(&shown), "{scale}: {info}");
        let own = schema.attributes.iter().filter(|own| own.name != "scaled");
        found.extend(own.flat_map(|own| bits_of(datatype, &own.fill_value)));
    }
    found
}

fn extended(datatype: Datatype, texts: &[String]) -> Vec<u64> {
    let scratch = Scratch::new();
    create(&scratch, &with_enumeration(datatype, &[]));
    let path = scratch.path().join("array");
    said(&["evolve", text(&path), "--extend-enum", &format!("e={}", texts.join(","))]);
    values(&Array::open(path).unwrap(), datatype)
}

fn metadata(datatype: Datatype, texts: &[String]) -> Vec<u64> {
    let (_scratch, path) = import(datatype, "csv", "a\n0.5\n", &[]);
    let own: Vec<&str> = texts.iter().map(String::as_str).collect();
    said(&[&["meta", "set", text(&path), "--type", datatype.name(), "k", "--"], &own[..]].concat());
    let metadata = OpenOptions::new().metadata(path).unwrap();
    bits_of(datatype, &metadata.get(b"k").unwrap().data)
}

#[test]
fn integers_that_no_type_of_numbers_keeps_are_text_in_new_arrays_and_errors_in_others() {
    let numbers = [
        "18446744073709551616",
        "1e400",
        "123456789012345678901234567890",
        "0.5\n9007199254740993",
        "-1\n18446744073709551615",
    ];
    for numbers in numbers {
        for ending in ["csv", "ndjson"] {
            let lines: Vec<String> = numbers.lines().map(str::to_owned).collect();
            let contents = if ending == "csv" { csv(&lines) } else { ndjson(&lines) };
            let scratch = Scratch::new();
            let (array, file) = (scratch.path().join("array"), scratch.path().join(format!("x.{ending}")));
            fs::write(&file, contents).unwrap();
            let outcome = crate::common::tdb(&["import", text(&array), text(&file)]);
            assert_eq!(outcome.code, 0, "{numbers}: {}", outcome.err);
            assert!(outcome.err.contains("column \"a\" becomes text, because it has "), "{}", outcome.err);
            let read = ["read", text(&array), "--fields", "a", "--format", "csv", "--order", "row"];
            assert_eq!(said(&read), csv(&lines), "{ending}");
            let last = lines.last().unwrap();
            for datatype in ["INT64", "UINT64", "FLOAT64"] {
                let own = scratch.path().join(datatype);
                let few = scratch.path().join("few.csv");
                fs::write(&few, "a\n1\n").unwrap();
                said(&["import", text(&own), text(&few), "--types", &format!("a={datatype}")]);
                let outcome = crate::common::tdb(&["import", text(&own), text(&file)]);
                if datatype == "UINT64" && last == "18446744073709551615"
                    || datatype == "FLOAT64" && last == "18446744073709551616"
                {
                    continue;
                }
                let line = lines.len() + usize::from(ending == "csv");
                let line = if datatype == "FLOAT64" { format!("line {line}, ") } else { "line ".to_owned() };
                assert_eq!(outcome.code, 1, "{datatype} {numbers}: {}{}", outcome.out, outcome.err);
                assert!(
                    outcome.err.contains(&line) && outcome.err.contains("column \"a\": "),
                    "{}",
                    outcome.err
                );
                let left = said(&["read", text(&own), "--fields", "a", "--format", "csv"]);
                assert_eq!(left.lines().count(), 2, "nothing is left of a refused import");
            }
        }
    }
    // Who gives a type wants reals to be rounded.
    let rounded = ["123456789012345678901234567890".to_owned()];
    assert_eq!(
        imported(Datatype::Float64, "csv", &csv(&rounded)),
        [123_456_789_012_345_678_901_234_567_890f64.to_bits()]
    );
}
