//! Ranges on the command line, in the notation of each dimension.

use std::fs;
use std::path::Path;

use tdb_array::Read;
use tdb_schema::{ArraySchema, Dimension};
use tdb_text::parse::{date_span, parse_integer, parse_real_end};
use tdb_text::quotes::{self, Colons};
use tdb_text::suggest::hint;

use crate::args::RangeArgs;
use crate::bounds::Bounds;
use crate::failure::{self, Failure};
use crate::notes;

type Result<T> = core::result::Result<T, String>;

/// The part of an array given on the command line.
#[derive(Clone, Debug, Default)]
pub(crate) struct QueryRanges {
    /// The ranges of each dimension; empty for the whole dimension.
    pub(crate) dimensions: Vec<Vec<Bounds>>,
    /// Ranges of dimension labels, by name.
    pub(crate) labels: Vec<(String, Bounds)>,
    /// Notes for the user about how they were understood.
    pub(crate) notes: Vec<String>,
}

impl QueryRanges {
    /// The ranges of a dimension. A range that got lost would select other cells.
    fn of_dimension(&mut self, index: usize) -> failure::Result<&mut Vec<Bounds>> {
        let ranges = self.dimensions.get_mut(index);
        ranges.ok_or_else(|| Failure::internal("a dimension with a name has no ranges"))
    }

    /// Restricts a query to these ranges.
    pub(crate) fn apply(self, mut query: Read, schema: &ArraySchema) -> Read {
        for (dimension, ranges) in schema.domain.dimensions.iter().zip(self.dimensions) {
            for Bounds { low, high } in ranges {
                query = query.range_bytes(&dimension.name, low, high);
            }
        }
        for (label, Bounds { low, high }) in self.labels {
            query = query.label_range_bytes(label, low, high);
        }
        query
    }
}

/// Parses `--subarray`, `--range` and `--points`.
pub(crate) fn query_ranges(
    args: &RangeArgs,
    array: &Path,
    schema: &ArraySchema,
) -> failure::Result<QueryRanges> {
    let usage = |error: String| Failure::Usage(format!("{}: {error}", array.display()));
    if let Some(subarray) = &args.subarray {
        let ranges = parse_subarray(schema, subarray).map_err(usage)?.into_iter();
        let ranges = ranges.map(|ends| if ends == Bounds::default() { Vec::new() } else { vec![ends] });
        let mut asked = QueryRanges { dimensions: ranges.collect(), ..QueryRanges::default() };
        asked.notes = notes::of_ranges(schema, &asked.dimensions, split_escaped(subarray, ','));
        return Ok(asked);
    }
    let mut asked = QueryRanges {
        dimensions: vec![Vec::new(); schema.domain.dimensions.len()],
        ..QueryRanges::default()
    };
    for text in &args.range {
        if let Some(found) = parse_label(schema, text).map_err(usage)? {
            asked.labels.push(found);
            continue;
        }
        let (index, range) = parse_named(schema, "--range", text).map_err(usage)?;
        asked.of_dimension(index)?.push(range);
    }
    for text in &args.points {
        let (index, points) = match text.split_once("=@") {
            Some((name, path)) => {
                let list = fs::read_to_string(path).map_err(|error| Failure::at(Path::new(path), error))?;
                parse_listed(schema, name, &list).map_err(usage)?
            }
            None => parse_points(schema, text).map_err(usage)?,
        };
        asked.of_dimension(index)?.extend(points);
    }
    let texts = schema.domain.dimensions.iter().map(|dimension| {
        let own = |text: &&String| named(schema, "", text).is_ok_and(|(_, of, _)| of.name == dimension.name);
        let text = args.range.iter().chain(&args.points).find(own);
        text.and_then(|text| text.get(dimension.name.len().saturating_add(1)..)).unwrap_or_default()
    });
    asked.notes = notes::of_ranges(schema, &asked.dimensions, texts.collect());
    Ok(asked)
}

/// Parses `--range LABEL=LO:HI`; `None` if the name is not that of a dimension label.
fn parse_label(schema: &ArraySchema, text: &str) -> Result<Option<(String, Bounds)>> {
    let named = schema.labels.iter().filter_map(|label| {
        let rest = text.strip_prefix(label.name.as_str())?.strip_prefix('=')?;
        Some((label, rest))
    });
    let Some((label, range)) = named.max_by_key(|(label, _)| label.name.len()) else { return Ok(None) };
    let mut like = Dimension::string(label.name.clone());
    (like.datatype, like.cell_val_num) = (label.datatype, label.cell_val_num);
    Ok(Some((label.name.clone(), parse_range(&like, range)?)))
}

/// Parses `--subarray`: one range for each dimension, separated by commas.
pub(crate) fn parse_subarray(schema: &ArraySchema, text: &str) -> Result<Vec<Bounds>> {
    let dimensions = &schema.domain.dimensions;
    let parts = split_escaped(text, ',');
    if parts.len() != dimensions.len() {
        return Err(format!("--subarray has {} ranges for {} dimensions", parts.len(), dimensions.len()));
    }
    let parse = |(part, dimension): (&&str, _)| {
        if part.is_empty() { Ok(Bounds::default()) } else { parse_range(dimension, part) }
    };
    parts.iter().zip(dimensions).map(parse).collect()
}

/// Parses one `DIM=LO:HI` after an option such as `--range`: the dimension's index and its range.
pub(crate) fn parse_named(schema: &ArraySchema, option: &str, text: &str) -> Result<(usize, Bounds)> {
    let (index, dimension, range) = named(schema, option, text)?;
    Ok((index, parse_range(dimension, range)?))
}

/// Parses one `--points DIM=A,B`: the dimension's index and a range for each single coordinate.
pub(crate) fn parse_points(schema: &ArraySchema, text: &str) -> Result<(usize, Vec<Bounds>)> {
    let (index, dimension, points) = named(schema, "--points", text)?;
    let points = split_escaped(points, ',').into_iter().map(|point| parse_point(dimension, point));
    Ok((index, points.collect::<Result<_>>()?))
}

/// Parses the coordinates in a file, one per line.
pub(crate) fn parse_listed(schema: &ArraySchema, name: &str, list: &str) -> Result<(usize, Vec<Bounds>)> {
    let (index, dimension, _) = named(schema, "--points", &format!("{name}="))?;
    let points = list.lines().map(|point| parse_point(dimension, point));
    Ok((index, points.collect::<Result<_>>()?))
}

fn parse_point(dimension: &Dimension, text: &str) -> Result<Bounds> {
    let Dimension { name, datatype, .. } = dimension;
    match parse_end(dimension, text).map(|end| end.first.zip(end.last)) {
        // A date is all of the coordinates inside of it.
        Ok(Some((first, last))) => Ok(Bounds { low: Some(first), high: Some(last) }),
        // An empty string is a valid coordinate.
        Ok(None) if dimension.is_var() => Ok(Bounds { low: Some(Vec::new()), high: Some(Vec::new()) }),
        Ok(None) => Err(format!("there is an empty coordinate for dimension {name:?}, {datatype}")),
        Err(error) => Err(format!("{text:?} is not a coordinate of dimension {name:?}, {datatype}: {error}")),
    }
}

/// Splits `DIM=…` after the dimension's name.
fn named<'s, 't>(
    schema: &'s ArraySchema,
    option: &str,
    text: &'t str,
) -> Result<(usize, &'s Dimension, &'t str)> {
    let dimensions = &schema.domain.dimensions;
    // Names may contain equals signs: the longest name that matches is used.
    let named = dimensions.iter().enumerate().filter_map(|(index, dimension)| {
        let rest = text.strip_prefix(dimension.name.as_str())?.strip_prefix('=')?;
        Some((index, dimension, rest))
    });
    let longest = named.max_by_key(|(_, dimension, _)| dimension.name.len());
    longest.ok_or_else(|| unnamed(schema, option, text))
}

/// The error of a range or a list of points that does not begin with a dimension.
fn unnamed(schema: &ArraySchema, option: &str, text: &str) -> String {
    let begins = |name: &str| text.strip_prefix(name).is_some_and(|rest| rest.starts_with('='));
    let attribute = schema.attributes.iter().filter(|own| begins(&own.name)).max_by_key(|own| own.name.len());
    if let Some(attribute) = attribute {
        let name = &attribute.name;
        return format!(
            "{option} is for dimensions, and {name:?} is an attribute: use --where, such as --where '{name} >= LOW and {name} <= HIGH'"
        );
    }
    let names: Vec<_> = schema.domain.dimensions.iter().map(|dimension| dimension.name.as_str()).collect();
    let all = names.iter().copied().chain(schema.labels.iter().map(|label| label.name.as_str()));
    let hint = hint(text.split('=').next().unwrap_or_default(), all);
    format!(
        "{option} {text:?} does not begin with a dimension and '=' (the array has {}){hint}",
        names.join(", ")
    )
}

/// Splits names at commas; `\,` is a comma in a name, and `\\` a backslash.
pub(crate) fn parse_names(text: &str) -> Vec<String> {
    let name = |part: &str| part.replace("\\,", ",").replace("\\\\", "\\");
    split_escaped(text, ',').into_iter().map(name).collect()
}

/// Splits names of fields as [`parse_names`] does. Blanks around a name do not count, unless a
/// field has them in its name.
pub(crate) fn parse_fields(schema: &ArraySchema, text: &str) -> Vec<String> {
    let name = |name: String| if schema.field(&name).is_some() { name } else { name.trim().to_owned() };
    parse_names(text).into_iter().map(name).collect()
}

fn parse_range(dimension: &Dimension, text: &str) -> Result<Bounds> {
    let dots = splits(dimension, text, "..");
    let found = match dots.as_slice() {
        [] => {
            // Times of day contain colons too: every way to read the text as a range or a value is
            // tried.
            let value = parse_end(dimension, text).ok().and_then(|end| end.first.zip(end.last));
            let value = value.map(|(first, last)| Bounds { low: Some(first), high: Some(last) });
            splits(dimension, text, ":").into_iter().chain(value).collect()
        }
        _ => dots,
    };
    let Dimension { name, datatype, .. } = dimension;
    match found.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(format!(
            "{text:?} is not a range of dimension {name:?}, {datatype}: {}",
            why(dimension, text)
        )),
        _ => Err(format!("{text:?} has several meanings as a range of dimension {name:?}: write LO..HI")),
    }
}

/// Every way to split `text` at `separator` into two ends.
fn splits(dimension: &Dimension, text: &str, separator: &str) -> Vec<Bounds> {
    let at = |position: usize| {
        let low = parse_end(dimension, text.get(..position)?).ok()?;
        let high = parse_end(dimension, text.get(position.checked_add(separator.len())?..)?).ok()?;
        // `10:30` in a time is not a range from a date to a number.
        let mixed = low.first.is_some() && high.first.is_some() && low.is_date != high.is_date;
        (!mixed).then_some(Bounds { low: low.first, high: high.last })
    };
    unescaped(text, separator).into_iter().filter_map(at).collect()
}

/// The most helpful reason why a text is not a range.
fn why(dimension: &Dimension, text: &str) -> String {
    let separator = if unescaped(text, "..").is_empty() { ":" } else { ".." };
    let parts: Vec<&str> = match unescaped(text, separator).as_slice() {
        [at] => {
            let high = at.saturating_add(separator.len());
            vec![text.get(..*at).unwrap_or_default(), text.get(high..).unwrap_or_default()]
        }
        _ => vec![text],
    };
    let reason = parts.into_iter().find_map(|part| parse_end(dimension, part).err());
    reason.unwrap_or_else(|| "write LO:HI, with both ends in the same notation".to_owned())
}

/// Byte positions of `separator` outside quotes and without a backslash before them.
fn unescaped(text: &str, separator: &str) -> Vec<usize> {
    let mut positions = Vec::new();
    let (mut escaped, mut inside) = (false, 0);
    for (position, c) in text.char_indices() {
        let (before, rest) = text.split_at_checked(position).unwrap_or((text, ""));
        if before.is_empty() || before.ends_with(separator) {
            inside = inside.max(position.saturating_add(quotes::length(rest).unwrap_or(0)));
        }
        if position < inside {
            continue;
        }
        if !escaped && rest.starts_with(separator) {
            positions.push(position);
        }
        escaped = c == '\\' && !escaped;
    }
    positions
}

fn split_escaped(text: &str, separator: char) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    for position in unescaped(text, separator.encode_utf8(&mut [0; 4])) {
        parts.push(text.get(start..position).unwrap_or_default());
        start = position.saturating_add(separator.len_utf8());
    }
    parts.push(text.get(start..).unwrap_or_default());
    parts
}

struct ParsedEnd {
    /// The value; of a date, the first one inside of it.
    first: Option<Vec<u8>>,
    /// The same value; of a date, the last one inside of it.
    last: Option<Vec<u8>>,
    is_date: bool,
}

impl ParsedEnd {
    fn one(value: Option<Vec<u8>>) -> Self {
        Self { first: value.clone(), last: value, is_date: false }
    }
}

/// One end of a range, or one coordinate: with or without quotes.
fn parse_end(dimension: &Dimension, text: &str) -> Result<ParsedEnd> {
    let inside = quotes::inside(text);
    if dimension.is_var() {
        let bytes = match inside {
            Some(inside) => Some(quotes::unescape(inside, Colons::Plain)?),
            None if text.is_empty() => None,
            None => Some(quotes::unescape(text, Colons::Separate)?),
        };
        return Ok(ParsedEnd::one(bytes));
    }
    let text = inside.unwrap_or(text);
    if text.is_empty() {
        Ok(ParsedEnd::one(None))
    } else if let Some(bytes) = parse_integer(dimension.datatype, text)? {
        Ok(ParsedEnd::one(Some(bytes)))
    } else if dimension.datatype.physical().is_float() {
        Ok(ParsedEnd::one(Some(parse_real_end(dimension.datatype, text)?)))
    } else if dimension.datatype.is_datetime() {
        let (first, last) = date_span(dimension.datatype, text)?;
        let [first, last] = [first, last].map(|tick| Some(tick.to_le_bytes().to_vec()));
        Ok(ParsedEnd { first, last, is_date: true })
    } else {
        Err(format!("{text:?} is not an integer"))
    }
}

#[cfg(test)]
mod tests {
    use tdb_codec::{ArrayType, Datatype};
    use tdb_schema::Domain;

    use super::*;

    fn dimension(datatype: Datatype) -> Dimension {
        let zero = vec![0; datatype.size()];
        Dimension::fixed("x", datatype, zero.clone(), zero)
    }

    fn ends(low: Option<&[u8]>, high: Option<&[u8]>) -> Bounds {
        Bounds { low: low.map(<[u8]>::to_vec), high: high.map(<[u8]>::to_vec) }
    }

    #[test]
    fn integers_have_two_ends_one_or_a_single_value() {
        let byte = dimension(Datatype::Int8);
        assert_eq!(parse_range(&byte, "-5:7").unwrap(), ends(Some(&[251]), Some(&[7])));
        assert_eq!(parse_range(&byte, "-5..7").unwrap(), ends(Some(&[251]), Some(&[7])));
        assert_eq!(parse_range(&byte, ":7").unwrap(), ends(None, Some(&[7])));
        assert_eq!(parse_range(&byte, "3:").unwrap(), ends(Some(&[3]), None));
        assert_eq!(parse_range(&byte, "3").unwrap(), ends(Some(&[3]), Some(&[3])));
        assert_eq!(parse_range(&byte, ":").unwrap(), ends(None, None));
        assert!(parse_range(&byte, "0:200").unwrap_err().contains("200 does not fit INT8"));
        assert!(parse_range(&byte, "a:b").unwrap_err().contains("\"a\" is not an integer"));
        assert!(parse_range(&byte, "1:2:3").is_err());
    }

    #[test]
    fn colons_inside_times_do_not_separate() {
        let minute = dimension(Datatype::DatetimeMin);
        let one = (i64::from(24 * 60) + 10 * 60 + 30).to_le_bytes();
        let two = (i64::from(24 * 60) + 11 * 60 + 45).to_le_bytes();
        let both = ends(Some(&one), Some(&two));
        assert_eq!(parse_range(&minute, "1970-01-02T10:30:1970-01-02T11:45").unwrap(), both);
        assert_eq!(parse_range(&minute, "1970-01-02T10:30..1970-01-02T11:45").unwrap(), both);
        assert_eq!(parse_range(&minute, "1970-01-02T10:30").unwrap(), ends(Some(&one), Some(&one)));
        assert_eq!(parse_range(&minute, "1970-01-02T10:30:").unwrap(), ends(Some(&one), None));
        assert_eq!(parse_range(&minute, ":1970-01-02T10:30").unwrap(), ends(None, Some(&one)));
        assert_eq!(parse_range(&minute, "0:9").unwrap(), ends(Some(&[0; 8]), Some(&9i64.to_le_bytes())));
        let error = parse_range(&minute, "1970-01-02T10:30:15").unwrap_err();
        assert!(error.contains("1970-01-02T10:30:15"), "{error}");
    }

    #[test]
    fn strings_hold_any_byte() {
        let string = Dimension::string("name");
        assert_eq!(parse_range(&string, "a:b").unwrap(), ends(Some(b"a"), Some(b"b")));
        assert_eq!(parse_range(&string, r"\x00\xff:").unwrap(), ends(Some(&[0, 255]), None));
        assert_eq!(
            parse_range(&string, r"a\:b\\\,\.\.").unwrap(),
            ends(Some(br"a:b\,.."), Some(br"a:b\,.."))
        );
        assert!(parse_range(&string, "a:b:c").is_err());
        assert!(parse_range(&string, r"a\x+1").is_err());
        assert!(parse_range(&string, r"a\q").is_err());
    }

    #[test]
    fn values_may_be_in_quotes_as_in_conditions() {
        let string = Dimension::string("name");
        assert_eq!(parse_range(&string, "'a'..'b'").unwrap(), ends(Some(b"a"), Some(b"b")));
        assert_eq!(parse_range(&string, "'a:b':'c..d'").unwrap(), ends(Some(b"a:b"), Some(b"c..d")));
        assert_eq!(parse_range(&string, "'a, b'").unwrap(), ends(Some(b"a, b"), Some(b"a, b")));
        assert_eq!(parse_range(&string, "''..'x'").unwrap(), ends(Some(b""), Some(b"x")));
        assert_eq!(parse_range(&string, "O'Brien").unwrap(), ends(Some(b"O'Brien"), Some(b"O'Brien")));
        assert_eq!(parse_range(&string, r"\'a").unwrap(), ends(Some(b"'a"), Some(b"'a")));
        let minute = dimension(Datatype::DatetimeMin);
        for text in [
            "1970-01-01T10:30..1970-01-02",
            "'1970-01-01T10:30'..'1970-01-02'",
            "'1970-01-01 10:30':1970-01-02",
        ] {
            let expected = ends(Some(&630i64.to_le_bytes()), Some(&2879i64.to_le_bytes()));
            assert_eq!(parse_range(&minute, text).unwrap(), expected, "{text}");
        }
        let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![string]));
        let (_, points) = parse_points(&schema, "name='a,b',c,''").unwrap();
        let values: Vec<_> = points.iter().map(|ends| ends.low.as_deref().unwrap()).collect();
        assert_eq!(values, [&b"a,b"[..], b"c", b""]);
    }

    #[test]
    fn a_date_is_all_that_is_inside_of_it() {
        let day = dimension(Datatype::DatetimeDay);
        let span = |low: i64, high: i64| ends(Some(&low.to_le_bytes()), Some(&high.to_le_bytes()));
        assert_eq!(parse_range(&day, "1970-02").unwrap(), span(31, 58));
        assert_eq!(parse_range(&day, "1970-01..1970-02").unwrap(), span(0, 58));
        assert_eq!(parse_range(&day, "1970-01-05:1970-02").unwrap(), span(4, 58));
        assert_eq!(parse_range(&day, ":1970-02").unwrap(), ends(None, Some(&58i64.to_le_bytes())));
        assert_eq!(parse_range(&day, "1970-02:").unwrap(), ends(Some(&31i64.to_le_bytes()), None));
        assert_eq!(parse_range(&day, "1970").unwrap(), span(1970, 1970), "a number");
        let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![day]));
        assert_eq!(parse_points(&schema, "x=1970-02,1970-01-01").unwrap().1, [span(31, 58), span(0, 0)]);
        let second = dimension(Datatype::DatetimeSec);
        assert_eq!(parse_range(&second, "1970-01-01T01+01:00").unwrap(), span(0, 3599));
        assert_eq!(parse_range(&second, "1970-01-01T00:00Z..1970-01-01T00:01Z").unwrap(), span(0, 119));
    }

    #[test]
    fn reals_are_read_in_their_own_precision() {
        let real = dimension(Datatype::Float32);
        let expected = ends(Some(&0.1f32.to_le_bytes()), Some(&1e3f32.to_le_bytes()));
        assert_eq!(parse_range(&real, "0.1:1e3").unwrap(), expected);
        assert_eq!(parse_range(&real, "0.1..1e3").unwrap(), expected);
        assert!(parse_range(&real, "nan:").is_err());
    }

    #[test]
    fn ranges_name_their_dimension_or_stand_in_order() {
        let mut odd = Dimension::string("a=b");
        odd.name = "x=y".to_owned();
        let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![dimension(Datatype::Uint8), odd]));
        assert_eq!(parse_named(&schema, "--range", "x=y=z").unwrap(), (1, ends(Some(b"z"), Some(b"z"))));
        assert_eq!(parse_named(&schema, "--range", "x=1:2").unwrap(), (0, ends(Some(&[1]), Some(&[2]))));
        assert!(parse_named(&schema, "--range", "z=1").unwrap_err().contains("x, x=y"));
        let points =
            |values: &[u8]| values.iter().map(|v| ends(Some(&[*v]), Some(&[*v]))).collect::<Vec<_>>();
        assert_eq!(parse_points(&schema, "x=7,1,7").unwrap(), (0, points(&[7, 1, 7])));
        assert_eq!(parse_listed(&schema, "x", "7\n1\n").unwrap(), (0, points(&[7, 1])));
        assert!(parse_points(&schema, "x=7,,1").unwrap_err().contains("empty coordinate"));
        assert!(parse_points(&schema, "x=1:2").unwrap_err().contains("not a coordinate of dimension"));
        let (_, names) = parse_points(&schema, r"x=y=a\,b,,c").unwrap();
        assert_eq!(
            names.iter().map(|ends| ends.low.as_deref().unwrap()).collect::<Vec<_>>(),
            [&b"a,b"[..], b"", b"c"]
        );
        let both = vec![ends(None, Some(&[3])), ends(Some(b"a,b"), Some(b"c"))];
        assert_eq!(parse_subarray(&schema, r":3,a\,b:c").unwrap(), both);
        assert_eq!(parse_subarray(&schema, ",").unwrap(), vec![Bounds::default(); 2]);
        assert!(parse_subarray(&schema, "1:2").unwrap_err().contains("1 ranges for 2 dimensions"));
        assert_eq!(parse_names(r"a,b\,c"), ["a", "b,c"]);
    }
}
