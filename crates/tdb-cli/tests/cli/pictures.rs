//! The pictures of the README: made here, and compared with the files in `docs/pictures`.
//!
//! `TDB_RECORD_PICTURES=1 cargo test -p tdb-cli --test cli pictures` writes them again.
#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "small numbers that are made here"
)]

use std::fs;
use std::path::{Path, PathBuf};

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension};
use tdb_array::{Layout, WriteColumn, WriteOptions};

use crate::common::{Scratch, tdb, text};

/// A day, in milliseconds, and the first of January 2026.
const DAY: u64 = 86_400_000;
const JANUARY: u64 = 20_454 * DAY;

/// Numbers that look random, and are the same everywhere: no function here differs between systems.
struct Dice(u64);

impl Dice {
    /// From 0 to 1.
    fn roll(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f64 / f64::from(1u32 << 24)
    }

    /// Around 0, and rarely beyond 1.
    fn bell(&mut self) -> f64 {
        (0..6).map(|_| self.roll()).sum::<f64>() / 3.0 - 1.0
    }
}

/// A smooth landscape between 0 and 1.
fn landscape(x: f64, y: f64, seed: u64) -> f64 {
    let corner = |x: f64, y: f64| {
        let mut dice = Dice(
            seed ^ (x as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
                ^ (y as u64).wrapping_mul(0xc2b2_ae3d_27d4_eb4f),
        );
        dice.roll();
        dice.roll()
    };
    let (left, top) = (x.floor(), y.floor());
    let smooth = |at: f64| at * at * (3.0 - 2.0 * at);
    let (across, down) = (smooth(x - left), smooth(y - top));
    let mix = |a: f64, b: f64, share: f64| a + (b - a) * share;
    let above = mix(corner(left, top), corner(left + 1.0, top), across);
    mix(above, mix(corner(left, top + 1.0), corner(left + 1.0, top + 1.0), across), down)
}

/// An island: heights, and no data where the sea is.
fn island(scratch: &Scratch) -> PathBuf {
    const SIZE: [i32; 2] = [96, 160];
    let path = scratch.path().join("island");
    let schema = ArraySchema::dense()
        .dimension(Dimension::new("row", 0..=SIZE[0] - 1).with_tile(32))
        .dimension(Dimension::new("column", 0..=SIZE[1] - 1).with_tile(40))
        .attribute(Attribute::new("height", Datatype::Float32, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().create(&path, &schema).unwrap();
    let height = |row: i32, column: i32| {
        let (x, y) = (f64::from(column) / 24.0, f64::from(row) / 24.0);
        let rough: f64 = (0..5)
            .map(|at| landscape(x * f64::from(1 << at), y * f64::from(1 << at), 7 + at) / f64::from(1 << at))
            .sum();
        let (across, down) = (f64::from(column) / 79.5 - 1.0, f64::from(row) / 47.5 - 1.0);
        let height = rough - 0.55 - 0.95 * (across * across + down * down);
        if height > 0.0 { (height * 1900.0) as f32 } else { f32::NAN }
    };
    let heights: Vec<f32> =
        (0..SIZE[0]).flat_map(|row| (0..SIZE[1]).map(move |column| height(row, column))).collect();
    let writer = WriteOptions::new().timestamp(10).open(&path).unwrap();
    writer.write().column(WriteColumn::fixed("height", &heights)).commit().unwrap();
    path
}

/// Points around some places, in one fragment for each week.
fn trips(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("trips");
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("lon", -180.0f64..=180.0))
        .dimension(Dimension::new("lat", -90.0f64..=90.0))
        .attribute(Attribute::new("price", Datatype::Float32, CellValNum::ONE))
        .cell_order(Layout::Hilbert)
        .capacity(400)
        .build()
        .unwrap();
    WriteOptions::new().create(&path, &schema).unwrap();
    let weeks: [&[(f64, f64, f64, u32)]; 3] = [
        &[(10.72, 59.92, 0.09, 2600), (10.60, 59.89, 0.05, 700), (10.85, 59.96, 0.07, 900)],
        &[(10.79, 59.90, 0.06, 1700), (10.95, 59.93, 0.12, 800), (11.02, 60.01, 0.03, 300)],
        &[(10.45, 60.02, 0.06, 500), (10.52, 59.97, 0.03, 400)],
    ];
    for (week, places) in weeks.into_iter().enumerate() {
        let mut dice = Dice(week as u64 + 11);
        let (mut lon, mut lat) = (Vec::new(), Vec::new());
        for (x, y, spread, count) in places {
            for _ in 0..*count {
                lon.push(x + spread * dice.bell() * 1.3);
                lat.push(y + spread * dice.bell() * 0.6);
            }
        }
        let price: Vec<f32> = lon.iter().map(|_| dice.roll() as f32).collect();
        let writer = WriteOptions::new().timestamp(JANUARY + week as u64 * 7 * DAY).open(&path).unwrap();
        let write =
            writer.write().column(WriteColumn::fixed("lon", &lon)).column(WriteColumn::fixed("lat", &lat));
        write.column(WriteColumn::fixed("price", &price)).commit().unwrap();
    }
    path
}

/// Measurements of stations: a write a day, of which some were consolidated, and one that came
/// late.
fn sensors(scratch: &Scratch) -> PathBuf {
    let path = scratch.path().join("sensors");
    let schema = ArraySchema::sparse()
        .dimension(Dimension::new("day", 0i64..=100_000).with_datatype(Datatype::DatetimeDay))
        .dimension(Dimension::new("station", 0i64..=999))
        .attribute(Attribute::new("value", Datatype::Float32, CellValNum::ONE))
        .allow_duplicates()
        .build()
        .unwrap();
    WriteOptions::new().create(&path, &schema).unwrap();
    let mut dice = Dice(5);
    let mut names = Vec::new();
    for write in 0u64..18 {
        // The last but two repairs what was missing in all days, at all stations.
        let (days, stations, cells) = match write {
            15 => (0..15, 0.0..999.0, 900),
            _ => (
                write..write + 1,
                f64::from(write as u32 % 3) * 320.0 + dice.roll() * 40.0..0.0,
                500 + (dice.roll() * 900.0) as usize,
            ),
        };
        let end = if stations.end > 0.0 { stations.end } else { stations.start + 280.0 };
        let many = (days.end - days.start) as f64;
        let day: Vec<i64> =
            (0..cells).map(|_| 20_454 + days.start as i64 + (dice.roll() * many) as i64).collect();
        let station: Vec<i64> =
            (0..cells).map(|_| (stations.start + dice.roll() * (end - stations.start)) as i64).collect();
        let value: Vec<f32> = (0..cells).map(|_| dice.roll() as f32).collect();
        let writer = WriteOptions::new().timestamp(JANUARY + write * DAY + DAY / 3).open(&path).unwrap();
        let fragment = writer
            .write()
            .column(WriteColumn::fixed("day", &day))
            .column(WriteColumn::fixed("station", &station));
        names.push(fragment.column(WriteColumn::fixed("value", &value)).commit().unwrap().to_string());
        if matches!(write, 5 | 11) {
            let names = names.split_off(names.len() - 6).join(",");
            let outcome = tdb(&["consolidate", text(&path), "--fragments", &names]);
            assert_eq!(outcome.code, 0, "{}", outcome.err);
        }
    }
    path
}

/// A picture without the random part of fragments' names.
fn without_names(svg: &str) -> String {
    let mut out = String::new();
    let mut word = String::new();
    for c in svg.chars().chain(['\0']) {
        if c.is_ascii_hexdigit() {
            word.push(c);
            continue;
        }
        out += if word.len() == 32 { "0123456789abcdef0123456789abcdef" } else { &word };
        word.clear();
        out.extend((c != '\0').then_some(c));
    }
    out
}

#[test]
fn the_pictures_of_the_readme_are_those_that_the_command_makes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    let scratch = Scratch::new();
    let made = |command: &str, array: &Path, args: &[&str]| {
        let file = scratch.path().join(format!("{command}{}.svg", args.len()));
        let outcome = tdb(&[&[command, text(array)], args, &[text(&file)]].concat());
        assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
        without_names(&fs::read_to_string(file).unwrap())
    };
    let pictures = [
        ("heat.svg", made("show", &island(&scratch), &["--size", "640x400", "--out"])),
        ("density.svg", made("show", &trips(&scratch), &["--tiles", "--size", "640x400", "--out"])),
        ("timeline.svg", made("fragments", &sensors(&scratch), &["--svg"])),
    ];
    let record = std::env::var_os("TDB_RECORD_PICTURES").is_some();
    for (name, svg) in pictures {
        let path = folder.join(name);
        if record {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &svg).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == svg,
            "docs/pictures/{name} is not what the command makes: TDB_RECORD_PICTURES=1 writes it again"
        );
        assert!(svg.len() < 250_000, "{name} has {} bytes", svg.len());
    }
}
