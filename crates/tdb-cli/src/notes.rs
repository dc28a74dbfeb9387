//! Notes for the user about how ranges and conditions were understood.

use std::io::Write;
use std::path::Path;

use tdb_array::query::{Operand, QueryCondition};
use tdb_codec::Datatype;
use tdb_schema::{ArraySchema, Dimension, Range};
use tdb_text::calendar;
use tdb_text::value::interval_text;

use crate::bounds::Bounds;
use crate::failure::one_line;

/// Prints notes about the ranges of a query, from [`of_ranges`], and about its condition on
/// standard error. If that is closed, the result is nevertheless as they would say.
pub(crate) fn print(
    array: &Path,
    schema: &ArraySchema,
    of_ranges: &[String],
    condition: Option<&str>,
    err: &mut dyn Write,
) {
    let of_condition = condition.map(|text| of_condition(text, schema)).unwrap_or_default();
    for note in of_ranges.iter().chain(&of_condition) {
        let _ = writeln!(err, "note: {}: {}", array.display(), one_line(note));
    }
}

/// Notes about the ranges of the dimensions: numbers where dates may be meant, and ranges without
/// cells. The texts are those from which they were parsed.
pub(crate) fn of_ranges(schema: &ArraySchema, ranges: &[Vec<Bounds>], texts: Vec<&str>) -> Vec<String> {
    let mut notes = Vec::new();
    let dimensions = schema.domain.dimensions.iter().zip(ranges).zip(texts).enumerate();
    for (index, ((dimension, ranges), text)) in dimensions {
        // A date has a hyphen.
        if dimension.datatype.is_datetime() && !text.trim_start_matches('-').contains(['-', '@']) {
            let ends = ranges.iter().flat_map(|ends| [&ends.low, &ends.high]).flatten();
            let ticks = ends.filter_map(|end| Some(i64::from_le_bytes(end.as_slice().try_into().ok()?)));
            let ticks: Vec<i64> = ticks.take(2).collect();
            notes.extend(of_numbers(&dimension.name, dimension.datatype, &ticks));
        }
        let current = schema.current_domain.as_ref().and_then(|current| current.ranges.get(index));
        notes.extend(outside(dimension, current, ranges));
    }
    notes
}

/// A note if all ranges lie outside of the domain, or of the current domain.
fn outside(dimension: &Dimension, current: Option<&Range>, ranges: &[Bounds]) -> Option<String> {
    let (low, high) = match (current, &dimension.domain) {
        // The high end of strings may be open.
        (Some(_), None) | (None, None) => return None,
        (Some(current), Some(_)) => (&current.low, &current.high),
        (None, Some((low, high))) => (low, high),
    };
    let compare = |a: &[u8], b: &[u8]| Range::compare(dimension.datatype, a, b);
    let is_outside = |ends: &&Bounds| {
        ends.low.as_ref().is_some_and(|own| compare(own, high).is_gt())
            || ends.high.as_ref().is_some_and(|own| compare(own, low).is_lt())
    };
    let first = ranges.first().filter(|_| ranges.iter().all(|ends| is_outside(&ends)))?;
    let (from, to) = (first.low.as_ref().unwrap_or(low), first.high.as_ref().unwrap_or(high));
    let what = if current.is_some() { "current domain" } else { "domain" };
    let name = &dimension.name;
    let [range, domain] = [(from, to), (low, high)].map(|(from, to)| interval_text(dimension, from, to));
    Some(format!("{range} of dimension {name:?} lies outside its {what}, {domain}: there are no cells"))
}

/// Notes about the numbers that a condition compares with dates.
fn of_condition(text: &str, schema: &ArraySchema) -> Vec<String> {
    let mut notes = Vec::new();
    let Ok(condition) = QueryCondition::parse(text) else { return notes };
    let _ = condition.map_operands(|name, operand| {
        if let (Some(field), Operand::Int(number)) = (schema.field(name), operand)
            && let Ok(tick) = i64::try_from(*number)
        {
            notes.extend(of_numbers(name, field.datatype, &[tick]));
        }
        Ok(None)
    });
    notes
}

/// A note about the dates that numbers in the unit of a field are; nothing for fields without
/// dates.
fn of_numbers(name: &str, datatype: Datatype, ticks: &[i64]) -> Option<String> {
    let dates: Option<Vec<String>> = ticks.iter().map(|tick| calendar::format(datatype, *tick)).collect();
    let dates = dates.filter(|dates| !dates.is_empty())?;
    let meant = ticks.iter().zip(dates).map(|(tick, date)| format!("{tick} is {date}"));
    let meant = meant.collect::<Vec<_>>().join(", ");
    let year = ticks.iter().find(|tick| (1000..=2999).contains(*tick) && datatype != Datatype::DatetimeYear);
    let year = year.map_or_else(String::new, |year| format!("; the year is written {year}-01..{year}-12"));
    Some(format!("numbers of {name:?} are in its unit, {}: {meant}{year}", datatype.unit()))
}

#[cfg(test)]
mod tests {
    use tdb_array::schema::ArrayType;
    use tdb_schema::Domain;

    use super::*;

    fn schema() -> ArraySchema {
        let [low, high] = [15_706i64, 16_070].map(|day| day.to_le_bytes().to_vec());
        let day = Dimension::fixed("day", Datatype::DatetimeDay, low, high);
        ArraySchema::new(ArrayType::Sparse, Domain::new(vec![day]))
    }

    #[test]
    fn numbers_in_place_of_dates_are_shown_as_dates() {
        let notes = of_condition("day > 2013 and day < '2014-01'", &schema());
        let expected = "numbers of \"day\" are in its unit, day: 2013 is 1975-07-07; the year is written 2013-01..2013-12";
        assert_eq!(notes, [expected]);
        assert!(of_condition("day > '2013-01'", &schema()).is_empty());
        assert!(of_condition("day >", &schema()).is_empty());
    }

    #[test]
    fn ranges_without_cells_are_shown_with_the_domain() {
        let ends = |low: i64, high: i64| Bounds {
            low: Some(low.to_le_bytes().to_vec()),
            high: Some(high.to_le_bytes().to_vec()),
        };
        let of = |ranges: Vec<Bounds>, text| of_ranges(&schema(), &[ranges], vec![text]);
        let expected = "1975-07-07..1975-07-07 of dimension \"day\" lies outside its domain, 2013-01-01..2013-12-31: there are no cells";
        let notes = of(vec![ends(2013, 2013)], "2013");
        assert_eq!((notes.len(), notes[1].as_str()), (2, expected));
        assert!(of(vec![ends(15_706, 15_706)], "2013-01-01").is_empty());
        assert!(of(vec![ends(0, 0), ends(16_000, 20_000)], "1970-01-01").is_empty());
        assert!(of(Vec::new(), "").is_empty());
    }
}
