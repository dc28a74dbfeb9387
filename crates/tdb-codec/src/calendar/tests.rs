use super::*;

#[test]
fn days_and_dates_are_inverse_over_eight_centuries() {
    let mut expected = (1600, 1, 1);
    for days in days_from_civil(1600, 1, 1)..days_from_civil(2400, 1, 1) {
        let date = civil_from_days(days);
        assert_eq!(days_from_civil(date.0, date.1, date.2), days);
        assert!(date >= expected, "{date:?} after {expected:?}");
        expected = date;
    }
    assert_eq!(civil_from_days(0), (1970, 1, 1));
    assert_eq!(civil_from_days(18_321), (2020, 2, 29));
}

#[test]
fn usual_dates_have_the_ticks_that_all_dates_have() {
    let units = [
        Datatype::DatetimeDay,
        Datatype::DatetimeMs,
        Datatype::DatetimeUs,
        Datatype::DatetimeNs,
        Datatype::DatetimeSec,
    ];
    let clocks = [
        "",
        "T00:00:00",
        " 23:59:59",
        "T12:30:01.007",
        "T12:30",
        "T24:00:00",
        "T12:60:00",
        "T1:00:00",
        "Z",
        "T00:00:00.5",
    ];
    let dates = [
        "1970-01-01",
        "2020-02-29",
        "2021-02-28",
        "2021-02-29",
        "0000-03-01",
        "0001-01-01",
        "9999-12-31",
        "1600-02-28",
        "2020-13-01",
        "2020-00-10",
        "2020-10-00",
        "20-1-1-1-1",
        "-200-01-01",
    ];
    for datatype in units {
        for (date, clock) in dates.iter().flat_map(|date| clocks.iter().map(move |clock| (date, clock))) {
            let text = format!("{date}{clock}");
            let slow = first_tick(unit(datatype).unwrap(), &text);
            let slow = slow.and_then(|ticks| i64::try_from(ticks).map_err(|_| BadDate::TooFar));
            assert_eq!(parse(datatype, &text), slow, "{datatype} {text}");
        }
    }
    for days in -720_000..2_940_000 {
        if days % 37 == 0 {
            let text = format(Datatype::DatetimeDay, days).unwrap();
            assert_eq!(parse(Datatype::DatetimeDay, &text), Ok(days), "{text}");
        }
    }
    assert_eq!(usual_ticks(Unit::Days(1), b"2020-02-28"), Some(18_320));
    assert_eq!(usual_ticks(Unit::Clock(86_400_000), b"1970-01-02 00:00:01.5"), None);
    assert_eq!(usual_ticks(Unit::Clock(86_400_000), b"1970-01-02 00:00:01.500"), Some(86_401_500));
    assert_eq!(usual_ticks(Unit::Clock(86_400_000), b"1970-01-02T00:00:01"), Some(86_401_000));
    assert_eq!(usual_ticks(Unit::Clock(86_400_000_000), b"1970-01-02T00:00:01"), Some(86_401_000_000));
    for clock in ["24:00:00", "00:60:00", "00:00:60"] {
        let text = format!("1970-01-02T{clock}");
        assert_eq!(usual_ticks(Unit::Clock(86_400_000), text.as_bytes()), None, "{clock}");
    }
}

#[test]
fn every_unit_shows_as_much_as_it_knows() {
    let cases = [
        (Datatype::DatetimeYear, 50, "2020"),
        (Datatype::DatetimeMonth, -1, "1969-12"),
        (Datatype::DatetimeWeek, 1, "1970-01-08"),
        (Datatype::DatetimeDay, 18_321, "2020-02-29"),
        (Datatype::DatetimeHr, 25, "1970-01-02T01"),
        (Datatype::DatetimeMin, -1, "1969-12-31T23:59"),
        (Datatype::DatetimeSec, 86_399, "1970-01-01T23:59:59"),
        (Datatype::DatetimeMs, -1, "1969-12-31T23:59:59.999"),
        (Datatype::DatetimeNs, 1, "1970-01-01T00:00:00.000000001"),
        (Datatype::DatetimeAs, 1, "1970-01-01T00:00:00.000000000000000001"),
        (Datatype::DatetimeDay, i64::MIN, "NaT"),
        (Datatype::DatetimeYear, 10_000, "+11970"),
    ];
    for (datatype, ticks, text) in cases {
        assert_eq!(format(datatype, ticks).unwrap(), text, "{datatype}");
        if datatype != Datatype::DatetimeYear && ticks != i64::MIN {
            assert_eq!(parse(datatype, text), Ok(ticks), "{datatype}");
        }
    }
    assert_eq!(format(Datatype::TimeHr, 1), None);
}

#[test]
fn dates_that_do_not_exist_or_do_not_fit_the_unit_are_refused() {
    for text in
        ["2019-02-29", "2020-13-01", "2020-1-01", "2020", "2020-01-01T24", "x", "2020-01-01T10:00:00:00"]
    {
        assert_eq!(parse(Datatype::DatetimeDay, text), Err(BadDate::Syntax), "{text}");
    }
    assert_eq!(parse(Datatype::DatetimeDay, "2020-01-01T10"), Err(BadDate::TooFine));
    assert_eq!(parse(Datatype::DatetimeMonth, "2020-01-02"), Err(BadDate::TooFine));
    assert_eq!(parse(Datatype::DatetimeNs, "9999-01-01"), Err(BadDate::TooFar));
    assert_eq!(parse(Datatype::DatetimeHr, "3000000000000000-01-01T00"), Err(BadDate::TooFar));
    assert_eq!(parse(Datatype::DatetimeAs, "300000000000000000-01-01"), Err(BadDate::TooFar));
    let first = format(Datatype::DatetimeHr, i64::MIN + 1).unwrap();
    assert_eq!(parse(Datatype::DatetimeHr, &first), Ok(i64::MIN + 1));
    assert_eq!(parse(Datatype::DatetimeYear, "2020-01"), Ok(50));
    assert_eq!(span_millis("1970-01-01T00:00:01.5Z"), Ok((1500, 1500)));
    assert_eq!(span_millis("1970-01-01T00:00:01Z"), Ok((1000, 1999)));
    assert_eq!(span_millis("1969-12-31"), Err(BadDate::TooFar));
    assert_eq!(format_millis(1500), "1970-01-01T00:00:01.500Z");
}

#[test]
fn every_unit_of_the_clock_divides_the_day() {
    // One second, in ticks of each unit from seconds on.
    let units = [
        Datatype::DatetimeSec,
        Datatype::DatetimeMs,
        Datatype::DatetimeUs,
        Datatype::DatetimeNs,
        Datatype::DatetimePs,
        Datatype::DatetimeFs,
        Datatype::DatetimeAs,
    ];
    for (power, datatype) in (0..).step_by(3).zip(units) {
        let ticks = 10i64.pow(power);
        assert_eq!(parse(datatype, "1970-01-01T00:00:01"), Ok(ticks), "{datatype}");
        assert!(format(datatype, ticks).unwrap().starts_with("1970-01-01T00:00:01"), "{datatype}");
    }
    assert_eq!(parse(Datatype::DatetimeWeek, "1970-01-15"), Ok(2));
    assert_eq!(parse(Datatype::DatetimeHr, "1970-01-02T01"), Ok(25));
    assert_eq!(parse(Datatype::DatetimeMin, "1970-01-01T02:03"), Ok(123));
    assert_eq!(unit(Datatype::Int64), None);
}

#[test]
fn times_of_files_are_shown_with_their_date() {
    assert_eq!(time_text(86_400_001), "86400001 (1970-01-02T00:00:00.001Z)");
    assert_eq!(span_text(0, 0), "0 (1970-01-01T00:00:00.000Z)");
    let both = "0 (1970-01-01T00:00:00.000Z) to 5 (1970-01-01T00:00:00.005Z)";
    assert_eq!(span_text(0, 5), both);
}

#[test]
fn years_before_0_and_after_9999_have_a_sign() {
    let year = |year: i64| format(Datatype::DatetimeYear, year - 1970).unwrap();
    assert_eq!([0, 9999, 10_000, -1, -12_345].map(year), ["0000", "9999", "+10000", "-0001", "-12345"]);
    assert_eq!((year_ticks(1969), year_ticks(2020)), (Some(-1), Some(50)));
    assert_eq!((year_ticks(i128::MAX), year_ticks(i128::MIN)), (None, None));
    assert_eq!(format(Datatype::DatetimeMonth, 13).unwrap(), "1971-02");
    assert_eq!(format(Datatype::DatetimeMonth, -12).unwrap(), "1969-01");
}

#[test]
fn a_span_is_cut_to_what_64_bits_hold_at_both_ends() {
    let first = format(Datatype::DatetimeHr, i64::MIN + 1).unwrap();
    assert_eq!(span(Datatype::DatetimeHr, &first), Ok((i64::MIN + 1, i64::MIN + 1)));
    let last = format(Datatype::DatetimeHr, i64::MAX).unwrap();
    assert_eq!(span(Datatype::DatetimeHr, &last), Ok((i64::MAX, i64::MAX)));
    assert_eq!(span(Datatype::Int64, "1970-01-01"), Err(BadDate::Syntax));
    assert_eq!(span_millis("1970-01-01"), Ok((0, 86_399_999)));
}
