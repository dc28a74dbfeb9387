//! `tdb show`: pictures of arrays, whose numbers are those of the cells.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Outcome, Scratch, fixture, has_tag, manifest, refused, said, schema, tdb, text};

/// A picture as SVG: its tooltips, and its texts.
struct Svg {
    titles: Vec<String>,
    texts: Vec<String>,
}

impl Svg {
    fn parse(svg: &str) -> Self {
        let parsed = roxmltree::Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        let all = |name: &'static str| {
            let nodes = parsed.descendants().filter(move |node| node.has_tag_name(name));
            nodes.map(|node| node.text().unwrap_or_default().to_owned()).collect::<Vec<_>>()
        };
        // The first one is that of the picture.
        Self { titles: all("title").split_off(1), texts: all("text") }
    }

    /// The sum of the counts at the ends of tooltips.
    fn sum(&self) -> u64 {
        let own =
            self.titles.iter().filter(|title| !title.starts_with("fragment ") && !title.starts_with("tile "));
        own.map(|title| title.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum()
    }

    fn says(&self, text: &str) -> bool {
        self.texts.iter().any(|own| own.contains(text))
    }
}

/// Draws into an SVG file.
fn svg(array: &Path, args: &[&str]) -> Svg {
    let scratch = Scratch::new();
    let file = scratch.path().join("picture.svg");
    let size: &[&str] = if args.contains(&"--size") { &[] } else { &["--size", "400x300"] };
    let outcome = tdb(&[&["show", text(array), "--out", text(&file)], size, args].concat());
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""), "{array:?} {args:?}");
    Svg::parse(&fs::read_to_string(&file).unwrap())
}

/// Draws as text.
fn drawn(array: &Path, args: &[&str]) -> String {
    let Outcome { code, out, err } = tdb(&[&["show", text(array)], args].concat());
    assert_eq!((code, err.as_str()), (0, ""), "{array:?} {args:?}");
    out
}

/// Text without colours.
fn bare(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |bare, part| bare + part.split_once('m').unwrap().1)
}

/// An array of a CSV file.
fn imported(scratch: &Scratch, name: &str, csv: &str, args: &[&str]) -> PathBuf {
    let file = scratch.path().join(format!("{name}.csv"));
    fs::write(&file, csv).unwrap();
    let array = scratch.path().join(name);
    let outcome = tdb(&[&["import", text(&array), text(&file)], args].concat());
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    array
}

/// The array of the first hour: two days of three stations, with an hour of 999 degrees.
fn weather(scratch: &Scratch) -> PathBuf {
    let day = |day: u32| {
        let mut csv = "station,time,temperature,wind\n".to_owned();
        for hour in 0..24 {
            for (at, station) in ["BERGEN", "OSLO", "ROMA"].into_iter().enumerate() {
                csv += &format!("{station},2026-01-{day:02}T{hour:02}:00,{}.5,{}\n", hour + 5 * at, hour % 7);
            }
        }
        csv
    };
    let array = imported(scratch, "weather", &day(1), &["--dims", "station,time", "--time", "10"]);
    imported(scratch, "weather", &day(2), &["--time", "20"]);
    array
}

/// How many cells an array has.
fn count(array: &Path) -> u64 {
    let outcome = tdb(&["read", text(array), "--aggregate", "count", "--format", "csv"]);
    outcome.out.lines().nth(1).unwrap().parse().unwrap()
}

#[test]
fn every_cell_of_every_sparse_fixture_is_in_its_picture() {
    let mut pictures = 0;
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        if !has_tag(&entry, &["sparse"]) || !entry["key"].is_null() || !id.starts_with("2.30.0/") {
            continue;
        }
        let array = fixture(id);
        let svg = svg(&array, &[]);
        let outside: u64 = svg
            .texts
            .iter()
            .find_map(|text| text.split_once(" of them "))
            .map_or(0, |(text, _)| text.rsplit(' ').next().unwrap().parse().unwrap());
        assert_eq!(svg.sum() + outside, count(&array), "{id}: {:?}", svg.texts);
        // NaN is nowhere on an axis.
        assert_eq!(outside > 0, id.ends_with("nan_coordinates"), "{id}");
        assert!(
            bare(&drawn(&array, &["--color", "always"])).lines().all(|line| line.chars().count() <= 80),
            "{id}"
        );
        let plain = drawn(&array, &[]);
        assert!(
            plain.lines().all(|line| line.chars().count() <= 80 && !line.contains('\x1b')),
            "{id}: {plain}"
        );
        pictures += 1;
    }
    assert!(pictures > 60, "{pictures}");
}

#[test]
fn every_dense_fixture_is_drawn_or_answered() {
    let (mut pictures, mut answers) = (0, 0);
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        if !has_tag(&entry, &["dense"]) || !entry["key"].is_null() || !id.starts_with("2.30.0/") {
            continue;
        }
        let array = fixture(id);
        let outcome = tdb(&["show", text(&array)]);
        match outcome.code {
            0 => {
                assert!(outcome.out.lines().all(|line| line.chars().count() <= 80), "{id}: {}", outcome.out);
                svg(&array, &[]);
                pictures += 1;
            }
            code => {
                assert_eq!(code, 2, "{id}: {}", outcome.err);
                assert!(
                    outcome.err.contains("no attribute has one number in each cell"),
                    "{id}: {}",
                    outcome.err
                );
                answers += 1;
            }
        }
    }
    assert!(pictures > 60 && answers > 3, "{pictures} {answers}");
}

#[test]
fn a_dense_plane_is_a_heat_map_with_rows_from_top_to_bottom() {
    let svg = svg(&fixture("2.30.0/quickstart"), &[]);
    let cell = |at: u32| format!("cols {}, rows {}: {}", at % 4 + 1, at / 4 + 1, at + 1);
    assert_eq!(svg.titles, (0..16).map(cell).collect::<Vec<_>>());
    assert!(svg.says("quickstart: a") && svg.says("16 cells"), "{:?}", svg.texts);
    let plain = drawn(&fixture("2.30.0/quickstart"), &[]);
    let lines: Vec<&str> = plain.lines().collect();
    assert_eq!(lines[..2], ["quickstart: a", "16 cells"], "{plain}");
    assert!(
        lines[2].contains('.')
            && plain.contains('@')
            && plain.ends_with("x: cols, y: rows; a 1 .:-=+*o#%@ 16\n"),
        "{plain}"
    );
}

#[test]
fn a_range_and_a_condition_choose_what_is_drawn() {
    let array = fixture("2.30.0/quickstart");
    assert_eq!(
        svg(&array, &["--range", "rows=2..3", "--range", "cols=4"]).titles,
        ["cols 4, rows 2: 8", "cols 4, rows 3: 12"]
    );
    assert_eq!(svg(&array, &["--where", "a > 14"]).titles, ["cols 3, rows 4: 15", "cols 4, rows 4: 16"]);
    // A cell in two ranges is drawn once.
    let twice = ["--range", "rows=1..2", "--range", "rows=2..3", "--kind", "histogram", "--attr", "a"];
    assert_eq!(svg(&array, &twice).sum(), 12);
    assert_eq!(svg(&array, &["--dims", "rows,cols"]).titles[1], "rows 2, cols 1: 5");
}

#[test]
fn other_dimensions_of_a_dense_array_are_fixed_unless_a_range_says_otherwise() {
    let array = fixture("2.30.0/dense3d_r");
    let names = schema(&array).domain.dimensions.into_iter().map(|own| own.name).collect::<Vec<_>>();
    let fixed = svg(&array, &["--kind", "density"]);
    assert!(fixed.says(&format!("; {} = ", names[2])), "{:?}", fixed.texts);
    let whole = svg(&array, &["--kind", "density", "--range", &format!("{}=:", names[2])]);
    assert!(!whole.says(&format!("{} = ", names[2])), "{:?}", whole.texts);
    assert_eq!(whole.sum(), count(&array));
    assert!(fixed.sum() < whole.sum() && fixed.sum() > 0);
}

#[test]
fn one_dimension_is_a_line_and_a_line_may_have_gaps() {
    let scratch = Scratch::new();
    let csv = "t,v\n1,1.5\n2,\n3,nan\n4,-2\n9,7\n";
    let array = imported(&scratch, "line", csv, &["--dims", "t"]);
    let line = svg(&array, &["--attr", "v"]);
    assert_eq!(line.titles, ["1: 1.5", "4: -2", "9: 7"]);
    assert!(line.says("5 cells, 2 of them without a number"), "{:?}", line.texts);
    let histogram = svg(&array, &["--kind", "histogram", "--attr", "v"]);
    assert_eq!(histogram.sum(), 3);
    assert!(histogram.says("5 cells, 2 of them without a number"), "{:?}", histogram.texts);
    assert_eq!(drawn(&array, &["--attr", "v"]).matches('*').count() % 3, 0);
    assert_eq!(svg(&array, &[]).titles, ["1: 1", "2: 1", "3: 1", "4: 1", "9: 1"], "the dimension");
}

#[test]
fn dates_and_texts_are_axes() {
    let scratch = Scratch::new();
    let array = weather(&scratch);
    let heat = svg(
        &array,
        &[
            "--attr",
            "temperature",
            "--dims",
            "time,station",
            "--range",
            "time=2026-01-01T00:00..2026-01-01T03:00",
            "--size",
            "800x300",
        ],
    );
    assert_eq!(
        heat.titles.iter().filter(|title| title.contains("station OSLO: ")).count(),
        4,
        "{:?}",
        heat.titles
    );
    assert!(heat.titles.iter().any(|title| title.ends_with("station ROMA: 10.5")), "{:?}", heat.titles);
    assert!(heat.says("2026-01-01") && heat.says("01:00") && heat.says("BERGEN"), "{:?}", heat.texts);
    let density = svg(&array, &[]);
    assert_eq!(density.sum(), 144);
    assert_eq!(density.titles.iter().filter(|title| title.starts_with("fragment ")).count(), 2);
    assert!(density.says("144 cells; 2 fragments"), "{:?}", density.texts);
    let before = svg(&array, &["--at", "15"]);
    assert_eq!(before.sum(), 72);
    let stations = svg(&array, &["--dims", "station"]);
    assert_eq!(stations.titles, ["BERGEN: 48", "OSLO: 48", "ROMA: 48"]);
}

#[test]
fn tiles_are_drawn_under_fragments() {
    let tiles = |svg: &Svg| svg.titles.iter().filter(|title| title.starts_with("tile ")).count();
    let found = svg(&fixture("2.30.0/rtree_3_levels"), &["--tiles"]);
    assert_eq!(tiles(&found), 115);
    assert!(found.says("1 fragment, 115 tiles"), "{:?}", found.texts);
    let dense = svg(&fixture("2.30.0/quickstart"), &["--tiles"]);
    assert_eq!(tiles(&dense), 4, "{:?}", dense.titles);
    assert!(dense.titles.iter().any(|title| title == "tile rows=1..2 cols=3..4"), "{:?}", dense.titles);
}

#[test]
fn the_picture_is_the_same_in_little_memory_and_at_any_time() {
    let scratch = Scratch::new();
    let array = weather(&scratch);
    for ending in ["svg", "png"] {
        let draw = |name: &str, args: &[&str]| {
            let file = scratch.path().join(format!("{name}.{ending}"));
            let outcome = tdb(&[&["show", text(&array), "--out", text(&file)], args].concat());
            assert_eq!(outcome.code, 0, "{}", outcome.err);
            fs::read(file).unwrap()
        };
        assert_eq!(draw("one", &[]), draw("two", &["--memory", "4MiB", "--threads", "1"]));
    }
}

#[test]
fn a_png_has_twice_the_pixels() {
    let scratch = Scratch::new();
    let file = scratch.path().join("picture.PNG");
    let outcome =
        tdb(&["show", text(&fixture("2.30.0/rtree_3_levels")), "--out", text(&file), "--size", "300x200"]);
    assert_eq!(outcome.code, 0, "{}", outcome.err);
    let bytes = fs::read(file).unwrap();
    assert!(bytes.starts_with(b"\x89PNG\r\n\x1a\n"));
    let side = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!((side(16), side(20)), (600, 400));
}

#[test]
fn nothing_to_draw_is_a_picture_that_says_so() {
    for id in ["2.30.0/empty_dense", "2.30.0/empty_sparse"] {
        let array = fixture(id);
        assert!(svg(&array, &[]).says("no cells"), "{id}");
        assert!(drawn(&array, &[]).contains("no data"), "{id}");
    }
    assert!(svg(&fixture("2.30.0/quickstart"), &["--where", "a > 99"]).titles.is_empty());
}

#[test]
fn colours_are_half_blocks_and_can_be_chosen() {
    let array = fixture("2.30.0/quickstart");
    let colored = drawn(&array, &["--color", "always", "--size", "40x12"]);
    assert!(colored.contains('▀') && colored.contains("\x1b[38;"), "{colored}");
    assert!(bare(&colored).lines().all(|line| line.chars().count() <= 40), "{colored}");
    assert!(drawn(&array, &["--color", "never"]).is_ascii());
    assert!(drawn(&array, &["--kind", "histogram", "--color", "always"]).contains('█'));
}

#[test]
fn a_picture_fits_the_terminal_with_room_for_a_prompt() {
    let screen = tdb_cli::Screen { columns: 60, rows: 15 };
    for (id, kind) in [
        ("quickstart", "heat"),
        ("rtree_3_levels", "density"),
        ("rtree_3_levels", "histogram"),
        ("dense1d", "line"),
    ] {
        let array = fixture(&format!("2.30.0/{id}"));
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let code =
            tdb_cli::run_on(Some(screen), ["tdb", "show", text(&array), "--kind", kind], &mut out, &mut err);
        let out = bare(&String::from_utf8(out).unwrap());
        assert_eq!((code, err.len()), (0, 0), "{id} {kind}");
        assert!(
            out.lines().count() < 15 && out.lines().all(|line| line.chars().count() <= 60),
            "{id} {kind}: {out}"
        );
    }
}

#[test]
fn what_is_between_the_points_of_a_range_is_not_drawn() {
    let found = svg(&fixture("2.30.0/quickstart"), &["--points", "rows=1,4"]);
    assert_eq!(found.titles.len(), 8, "{:?}", found.titles);
    assert_eq!(found.titles[4], "cols 1, rows 4: 13");
}

#[test]
fn wrong_inputs_are_answered_with_what_would_be_right() {
    let array = fixture("2.30.0/quickstart");
    let scratch = Scratch::new();
    let line = imported(&scratch, "line", "t,v,name,day\n1,2,x,2020-01-01\n", &["--dims", "t"]);
    let cases: [(&Path, &[&str], &str); 13] = [
        (&array, &["--attr", "aa"], "the array has no field \"aa\""),
        (&array, &["--dims", "row,cols"], "did you mean \"rows\"?"),
        (&array, &["--dims", "a,cols"], "\"a\" is an attribute: --attr draws it"),
        (&array, &["--dims", "rows,rows"], "the same dimension twice"),
        (&array, &["--attr", "rows"], "\"rows\" is a dimension: --dims draws it"),
        (&array, &["--out", "x.jpg"], "ends with .svg or .png"),
        (&array, &["--size", "800"], "is not a size such as 800x500"),
        (&array, &["--kind", "pie"], "possible values: heat, density, line, histogram"),
        (&array, &["--kind", "density", "--attr", "a"], "use --kind heat"),
        (&array, &["--kind", "line", "--tiles"], "--tiles draws rectangles on a plane"),
        (&line, &["--kind", "density"], "there is only one: use --kind histogram"),
        (&line, &["--attr", "name"], "use --kind histogram"),
        (&line, &["--attr", "day"], "use --kind histogram"),
    ];
    for (array, args, expected) in cases {
        let outcome = tdb(&[&["show", text(array)], args].concat());
        assert_eq!((outcome.code, outcome.out.as_str()), (2, ""), "{args:?}: {}", outcome.err);
        assert!(outcome.err.contains(expected), "{args:?}: {}", outcome.err);
    }
    let several = tdb(&["show", text(&fixture("2.30.0/attr_multi"))]);
    assert!(several.code == 0 || several.err.contains("one number"), "{}", several.err);
    let nowhere = tdb(&["show", text(&array), "--out", "/no/such/folder/x.svg"]);
    assert_eq!(nowhere.code, 1);
    assert!(nowhere.err.contains("/no/such/folder/x.svg"), "{}", nowhere.err);
}

#[test]
fn a_histogram_of_texts_counts_each_of_them() {
    let scratch = Scratch::new();
    let array = imported(&scratch, "names", "t,v,name\n1,2,x\n2,3,y\n3,4,x\n", &["--dims", "t"]);
    let found = svg(&array, &["--attr", "name", "--kind", "histogram"]);
    assert_eq!(found.titles, ["x: 2", "y: 1"]);
    assert_eq!(
        drawn(&array, &["--attr", "name", "--kind", "histogram"]).lines().nth(2).unwrap().split('#').next(),
        Some("x 2 ")
    );
}

#[test]
fn too_many_texts_are_no_axis() {
    let scratch = Scratch::new();
    let rows: String = (0..66_000).map(|at| format!("k{at},1\n")).collect();
    let array = imported(&scratch, "many", &format!("key,v\n{rows}"), &["--dims", "key"]);
    let outcome = tdb(&["show", text(&array)]);
    assert_eq!(outcome.code, 2, "{}", outcome.err);
    assert!(outcome.err.contains("\"key\" has more than 65536 different texts"), "{}", outcome.err);
    let part = svg(&array, &["--range", "key='k1'..'k2'"]);
    assert!(part.sum() > 10_000, "{:?}", part.texts);
}

#[test]
fn fragments_are_shown_as_a_table_json_and_a_timeline() {
    let scratch = Scratch::new();
    let array = weather(&scratch);
    assert_eq!(tdb(&["consolidate", text(&array)]).code, 0);
    let table = tdb(&["fragments", text(&array)]);
    assert_eq!(table.code, 0, "{}", table.err);
    let json: serde_json::Value =
        serde_json::from_str(&tdb(&["fragments", text(&array), "--json"]).out).unwrap();
    let fragments = json["fragments"].as_array().unwrap();
    assert_eq!((table.out.lines().count(), fragments.len()), (5, 3), "{}", table.out);
    let whole =
        serde_json::json!([["BERGEN", "ROMA"], ["2026-01-01T00:00:00.000", "2026-01-02T23:00:00.000"]]);
    assert_eq!((&fragments[2]["non_empty_domain"], &fragments[2]["state"]), (&whole, &"live".into()));
    assert_eq!(fragments[0]["state"], "shadowed");

    let file = scratch.path().join("fragments.svg");
    let outcome = tdb(&["fragments", text(&array), "--svg", text(&file)]);
    assert_eq!((outcome.code, outcome.out.as_str(), outcome.err.as_str()), (0, "", ""));
    let svg = Svg::parse(&fs::read_to_string(&file).unwrap());
    assert!(svg.says("made of others") && svg.says("replaced") && !svg.says("station"), "{:?}", svg.texts);
    assert!(svg.says("3 fragments, 1 of them in use; at most 1 of these overlap"), "{:?}", svg.texts);
    let name = |at: usize| fragments[at]["name"].as_str().unwrap().rsplit('/').next().unwrap();
    // Each is once in time and once where it is; a consolidated one is above those that it
    // replaced.
    let bars: Vec<&str> =
        svg.titles.iter().filter_map(|title| title.split_once(": ")).map(|(name, _)| name).collect();
    assert_eq!(bars, [name(2), name(2), name(0), name(0), name(1), name(1)]);

    let wrong = tdb(&["fragments", text(&array), "--svg", "x.png"]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("ends with .svg"), "{}", wrong.err);
}

#[test]
fn the_fragments_of_every_fixture_can_be_drawn() {
    let scratch = Scratch::new();
    let file = scratch.path().join("fragments.svg");
    for entry in manifest() {
        let id = entry["id"].as_str().unwrap();
        if !entry["key"].is_null() || !["2.30.0/", "1.", "2.4."].iter().any(|version| id.starts_with(version))
        {
            continue;
        }
        let outcome = tdb(&["fragments", text(&fixture(id)), "--svg", text(&file)]);
        assert_eq!(outcome.code, 0, "{id}: {}", outcome.err);
        Svg::parse(&fs::read_to_string(&file).unwrap());
    }
}

#[test]
fn bins_are_as_many_as_are_asked_for() {
    let array = fixture("2.30.0/quickstart");
    let scratch = Scratch::new();
    let cells = |bins: &str| {
        let out = scratch.path().join(format!("{bins}.svg"));
        said(&["show", text(&array), "--out", text(&out), "--bins", bins]);
        Svg::parse(&fs::read_to_string(&out).unwrap()).titles.len()
    };
    assert_eq!([cells("4x4"), cells("2x2"), cells("1")], [16, 4, 1]);
    refused(&["show", text(&array), "--bins", "500"], 2, "--bins: there is room for ");
    for bad in ["0", "x", "4x", "9000"] {
        let outcome = tdb(&["show", text(&array), "--bins", bad]);
        assert!(
            outcome.code == 2 && outcome.err.contains("is not a number of bins"),
            "{bad}: {}",
            outcome.err
        );
    }
    let line = ["show", text(&array), "--kind", "histogram", "--bins", "4x4"];
    refused(&line, 2, "this picture has one axis of bins");
}
