//! Dates as texts: in ranges, points and conditions they are all that is inside of them.

use std::collections::BTreeSet;
use std::fs;

use tdb_array::schema::{ArraySchema, CellValNum, Datatype};
use tdb_array::{WriteColumn, WriteOptions};
use tdb_schema::{Attribute, Dimension};

use crate::common::{Scratch, said, tdb, text};

const ATTOS: i128 = 1_000_000_000_000_000_000;
const DAY: i128 = 86_400 * ATTOS;

/// The types of dates, how long a tick is where all are equally long, and how many days around 1970
/// fit 64 bits and this test.
const UNITS: [(Datatype, i128, i128); 13] = [
    (Datatype::DatetimeYear, 0, 40_000),
    (Datatype::DatetimeMonth, 0, 40_000),
    (Datatype::DatetimeWeek, 7 * DAY, 40_000),
    (Datatype::DatetimeDay, DAY, 40_000),
    (Datatype::DatetimeHr, DAY / 24, 40_000),
    (Datatype::DatetimeMin, 60 * ATTOS, 40_000),
    (Datatype::DatetimeSec, ATTOS, 40_000),
    (Datatype::DatetimeMs, ATTOS / 1_000, 40_000),
    (Datatype::DatetimeUs, ATTOS / 1_000_000, 40_000),
    (Datatype::DatetimeNs, ATTOS / 1_000_000_000, 40_000),
    (Datatype::DatetimePs, ATTOS / 1_000_000_000_000, 60),
    (Datatype::DatetimeFs, ATTOS / 1_000_000_000_000_000, 0),
    (Datatype::DatetimeAs, 1, 0),
];

struct Random(u64);

impl Random {
    fn below(&mut self, end: i128) -> i128 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        i128::from(self.0 >> 11) % end
    }
}

fn is_leap(year: i128) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_of(year: i128, month: i128) -> i128 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day since 1970 on which a month begins, counted month by month.
fn month_begin(year: i128, month: i128) -> i128 {
    let wanted = year * 12 + month - 1;
    let (mut at, mut day) = (1970 * 12, 0);
    while at < wanted {
        day += days_of(at / 12, at % 12 + 1);
        at += 1;
    }
    while at > wanted {
        at -= 1;
        day -= days_of(at / 12, at % 12 + 1);
    }
    day
}

/// The instant of a tick, in attoseconds since 1970.
fn instant((datatype, length, _): (Datatype, i128, i128), tick: i128) -> i128 {
    match datatype {
        Datatype::DatetimeYear => month_begin(1970 + tick, 1) * DAY,
        Datatype::DatetimeMonth => month_begin(1970 + tick.div_euclid(12), tick.rem_euclid(12) + 1) * DAY,
        _ => tick * length,
    }
}

/// A random date as text, with the first instant of what it names and the first one after it.
fn date(random: &mut Random, most_days: i128) -> (String, i128, i128) {
    let wanted = random.below(2 * most_days + 2) - most_days - 1;
    let (mut year, mut month) = (1968 + wanted.div_euclid(366), 1);
    while month_begin(year, month) + days_of(year, month) <= wanted {
        (year, month) = if month == 12 { (year + 1, 1) } else { (year, month + 1) };
    }
    let first = month_begin(year, month);
    if random.below(5) == 0 {
        return (format!("{year}-{month:02}"), first * DAY, (first + days_of(year, month)) * DAY);
    }
    // Days and clocks are often the first ones, where coarse units have their ticks.
    let day = if random.below(4) == 0 { 0 } else { wanted - first };
    let (date, begin) = (format!("{year}-{month:02}-{:02}", day + 1), (first + day) * DAY);
    let mut part = |end| if random.below(3) == 0 { 0 } else { random.below(end) };
    let (hours, minutes, seconds, fraction) = (part(24), part(60), part(60), part(1_000));
    let (zone, offset) = match part(6) {
        0 => (String::new(), 0),
        1 => ("Z".to_owned(), 0),
        2 => ("+01:00".to_owned(), 60),
        3 => ("-0530".to_owned(), -330),
        _ => (String::new(), 0),
    };
    let seconds_of = |hours, minutes, seconds| (hours * 3600 + (minutes - offset) * 60 + seconds) * ATTOS;
    let (clock, of_day, length) = match part(6) {
        0 => (format!("T{hours:02}"), seconds_of(hours, 0, 0), 3600 * ATTOS),
        1 => (format!(" {hours:02}:{minutes:02}"), seconds_of(hours, minutes, 0), 60 * ATTOS),
        2 => (format!("T{hours:02}:{minutes:02}:{seconds:02}"), seconds_of(hours, minutes, seconds), ATTOS),
        3 => {
            let of_day = seconds_of(hours, minutes, seconds) + fraction * ATTOS / 1_000;
            // An instant: nothing else is inside.
            (format!("T{hours:02}:{minutes:02}:{seconds:02}.{fraction:03}"), of_day, 1)
        }
        _ => return (date, begin, begin + DAY),
    };
    (format!("{date}{clock}{zone}"), begin + of_day, begin + of_day + length)
}

/// The first tick at or after an instant.
fn tick_after(unit: (Datatype, i128, i128), at: i128) -> i128 {
    // Far more than all dates of this test.
    let most = (200_000 * DAY).checked_div(unit.1).map_or(3_000, |most| most.min(i128::from(i64::MAX / 4)));
    let (mut low, mut high) = (-most, most);
    while low < high {
        let middle = (low + high).div_euclid(2);
        (low, high) = if instant(unit, middle) >= at { (low, middle) } else { (middle + 1, high) };
    }
    low
}

/// An array whose coordinates and cells are these ticks.
fn array(scratch: &Scratch, datatype: Datatype, ticks: &[i64]) -> String {
    let path = scratch.path().join(datatype.name());
    let ends = [ticks.first().unwrap() - 1, ticks.last().unwrap() + 1].map(|end| end.to_le_bytes().to_vec());
    let [low, high] = ends;
    let schema = ArraySchema::sparse()
        .dimension(Dimension::fixed("x", datatype, low, high))
        .attribute(Attribute::new("a", datatype, CellValNum::ONE))
        .attribute(Attribute::new("tick", Datatype::Int64, CellValNum::ONE))
        .build()
        .unwrap();
    WriteOptions::new().timestamp(1).create(&path, &schema).unwrap();
    let writer = WriteOptions::new().timestamp(2).open(&path).unwrap();
    let bytes: Vec<u8> = ticks.iter().flat_map(|tick| tick.to_le_bytes()).collect();
    let write =
        writer.write().column(WriteColumn::bytes("x", &bytes)).column(WriteColumn::bytes("a", &bytes));
    write.column(WriteColumn::fixed("tick", ticks)).commit().unwrap();
    text(&path).to_owned()
}

fn found(array: &str, options: &[&str]) -> BTreeSet<i64> {
    let read = [&["read", array, "--fields", "tick", "--format", "csv"], options].concat();
    let outcome = tdb(&read);
    assert_eq!(outcome.code, 0, "{options:?}: {}", outcome.err);
    outcome.out.lines().skip(1).map(|line| line.parse().unwrap()).collect()
}

#[test]
fn the_cells_that_dates_find_are_those_whose_instants_are_in_them() {
    let scratch = Scratch::new();
    let mut random = Random(7);
    for unit in UNITS {
        let (datatype, _, days) = unit;
        let dates: Vec<_> = (0..60).map(|_| date(&mut random, days)).collect();
        let edges = dates.iter().flat_map(|(_, begin, end)| [*begin, *end]).map(|at| tick_after(unit, at));
        let ticks: BTreeSet<i64> =
            edges.flat_map(|tick| [tick - 1, tick]).map(|tick| i64::try_from(tick).unwrap()).collect();
        let ticks: Vec<i64> = ticks.into_iter().collect();
        let array = array(&scratch, datatype, &ticks);
        let all = |wanted: &dyn Fn(i128) -> bool| -> BTreeSet<i64> {
            ticks.iter().copied().filter(|tick| wanted(instant(unit, i128::from(*tick)))).collect()
        };
        let mut checked = 0;
        for pair in dates.windows(2) {
            let [(one, begin, end), (other, other_begin, other_end)] = pair else { panic!("two") };
            let (begin, end) = (*begin, *end);
            if all(&|at| begin <= at && at < end).is_empty() {
                // No tick is inside, or only ticks that are no cells of this test.
                let condition = format!("a = '{one}'");
                let outcome =
                    tdb(&["read", &array, "--where", &condition, "--format", "csv", "--fields", "a"]);
                assert!(
                    outcome.code == 2 || outcome.out == "a\n",
                    "{condition}: {}{}",
                    outcome.out,
                    outcome.err
                );
                continue;
            }
            checked += 1;
            let check = |options: &[&str], wanted: &dyn Fn(i128) -> bool| {
                assert_eq!(found(&array, options), all(wanted), "{datatype}: {options:?}");
            };
            let compare = |sign: &str, wanted: &dyn Fn(i128) -> bool| {
                for field in ["a", "x"] {
                    check(&["--where", &format!("{field} {sign} '{one}'")], wanted);
                }
            };
            compare("<", &|at| at < begin);
            compare("<=", &|at| at < end);
            compare(">", &|at| at >= end);
            compare(">=", &|at| at >= begin);
            compare("=", &|at| begin <= at && at < end);
            compare("!=", &|at| at < begin || end <= at);
            check(&["--range", &format!("x={one}..{one}")], &|at| begin <= at && at < end);
            check(&["--points", &format!("x={one}")], &|at| begin <= at && at < end);
            check(&["--range", &format!("x={one}..")], &|at| begin <= at);
            check(&["--subarray", &format!("..'{one}'")], &|at| at < end);
            let (other_begin, other_end) = (*other_begin, *other_end);
            if all(&|at| other_begin <= at && at < other_end).is_empty() {
                continue;
            }
            let either = |at: i128| begin <= at && at < end || other_begin <= at && at < other_end;
            check(&["--where", &format!("a in ('{one}', '{other}')")], &either);
            check(&["--where", &format!("a not in ('{one}', '{other}')")], &|at| !either(at));
            if tick_after(unit, begin) < tick_after(unit, other_end) {
                check(&["--range", &format!("x={one}..{other}")], &|at| begin <= at && at < other_end);
            }
        }
        assert!(checked > 0, "{datatype}");
    }
}

/// An array with a cell for each day of 2013.
fn days(scratch: &Scratch) -> String {
    let ticks: Vec<i64> = (15_706..=16_070).collect();
    array(scratch, Datatype::DatetimeDay, &ticks)
}

#[test]
fn ranges_outside_the_domain_have_no_cells_and_a_note_shows_the_dates() {
    let scratch = Scratch::new();
    let array = days(&scratch);
    for range in ["x=2012-01..2012-06", "x=2013", "x=2015-01-01.."] {
        let outcome = tdb(&["read", &array, "--range", range, "--fields", "tick", "--format", "csv"]);
        assert_eq!((outcome.code, outcome.out.as_str()), (0, "tick\n"), "{}", outcome.err);
        assert!(outcome.err.contains("lies outside its domain, 2012-12-31..2014-01-01"), "{}", outcome.err);
        for command in ["explain", "show"] {
            let outcome = tdb(&[command, &array, "--range", range]);
            assert_eq!(outcome.code, 0, "{command} {range}: {}", outcome.err);
        }
        let count = tdb(&["read", &array, "--range", range, "--aggregate", "count", "--format", "csv"]);
        assert_eq!((count.code, count.out.as_str()), (0, "count\n0\n"));
        let copy = scratch.path().join(format!("copy{}", range.len()));
        let outcome = tdb(&["copy", &array, text(&copy), "--range", range]);
        assert_eq!(outcome.code, 0, "{}", outcome.err);
        assert_eq!(said(&["read", text(&copy), "--aggregate", "count", "--format", "csv"]), "count\n0\n");
    }
    let inverted = tdb(&["read", &array, "--range", "x=2013-03..2013-02"]);
    assert!(
        inverted.code != 0 && inverted.err.contains("2013-03-01 is after 2013-02-28"),
        "{}",
        inverted.err
    );
}

#[test]
fn a_number_in_place_of_a_date_is_a_number_and_a_note_shows_its_date() {
    let scratch = Scratch::new();
    let array = days(&scratch);
    let outcome = tdb(&["read", &array, "--where", "x > 2013", "--aggregate", "count", "--format", "csv"]);
    assert_eq!((outcome.code, outcome.out.as_str()), (0, "count\n365\n"));
    assert!(
        outcome.err.contains("2013 is 1975-07-07; the year is written 2013-01..2013-12"),
        "{}",
        outcome.err
    );
    let outcome =
        tdb(&["read", &array, "--range", "x=15706:15707", "--aggregate", "count", "--format", "csv"]);
    assert_eq!(outcome.out, "count\n2\n");
    assert!(outcome.err.contains("15706 is 2013-01-01, 15707 is 2013-01-02\n"), "{}", outcome.err);
}

#[test]
fn a_delete_by_dates_shows_its_instants_and_takes_what_is_inside() {
    let scratch = Scratch::new();
    let array = days(&scratch);
    let dry = said(&["delete", &array, "--where", "x = '2013-02' or x > '2013-11'", "--dry-run"]);
    let instants = "condition: (x >= 2013-02-01 and x <= 2013-02-28) or x > 2013-11-30";
    assert_eq!(dry, format!("{instants}\n59 of 365 cells would be deleted\n"));
    said(&["delete", &array, "--where", "x = '2013-02' or x > '2013-11'"]);
    assert_eq!(found(&array, &[]).len(), 365 - 59);
    assert_eq!(found(&array, &["--where", "x = '2013-02'"]).len(), 0);
}

#[test]
fn the_state_at_a_date_is_that_of_its_end() {
    let scratch = Scratch::new();
    let path = scratch.path().join("array");
    let file = scratch.path().join("x.csv");
    let array = text(&path);
    for (at, time) in [("2020-01-02", 1), ("2020-01-02T12:00:00", 2), ("2020-01-03", 3)] {
        fs::write(&file, format!("a\n{time}\n")).unwrap();
        said(&["import", array, text(&file), "--time", at]);
    }
    let count = |options: &[&str]| {
        let read = [&["read", array, "--aggregate", "count", "--format", "csv"], options].concat();
        said(&read).lines().nth(1).unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(count(&["--at", "2020-01-02"]), 2);
    assert_eq!(count(&["--at", "2020-01-02T11"]), 1);
    assert_eq!(count(&["--at", "2020-01-02T13+01:00"]), 2);
    assert_eq!(count(&["--at", "2020-01"]), 3);
    assert_eq!(count(&["--between", "2020-01-02,2020-01-02"]), 2);
    assert_eq!(count(&["--between", "2020-01-03,2020-01-03"]), 1);
}
