//! Filter pipelines from JSON, and from the short notation of the command line.

use tdb_filters::{ByteWidth, Filter, Pipeline, PixelFormat};

use super::at::{At, Result};
use super::words;
use crate::json::Json;

/// A pipeline: a list of filters, or an object with that list and `max_chunk_size`.
pub(super) fn pipeline(at: &At<'_>) -> Result<Pipeline> {
    if at.value.as_list().is_some() {
        let filters = at.items()?.iter().map(filter).collect::<Result<_>>()?;
        return Ok(Pipeline::new(filters));
    }
    at.object(&["filters", "max_chunk_size"])?;
    let filters = at.list("filters")?.iter().map(filter).collect::<Result<_>>()?;
    let max_chunk_size =
        at.get("max_chunk_size").map_or(Ok(Pipeline::DEFAULT_CHUNK_SIZE), |size| size.whole())?;
    Ok(Pipeline { max_chunk_size, filters })
}

/// A filter: an object with its `name` and the options that differ from the defaults; or only the
/// name.
fn filter(at: &At<'_>) -> Result<Filter> {
    if at.value.as_str().is_some() {
        return at.understood(words::filter).map(without_extents);
    }
    if at.value.as_object().is_none() {
        return Err(at.error("a filter is expected: an object with a name"));
    }
    let mut filter = without_extents(at.need("name")?.understood(words::filter)?);
    at.object(&[&["name"], words::about(&filter).options].concat())?;
    match &mut filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => {
            option(at, "level", level, At::whole)?;
        }
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            option(at, "level", level, At::whole)?;
            option(at, "reinterpret", reinterpret, |at| at.understood(words::datatype).map(Some))?;
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            option(at, "max_window", max_window, At::whole)?;
        }
        Filter::ScaleFloat(options) => {
            option(at, "scale", &mut options.scale, At::real)?;
            option(at, "offset", &mut options.offset, At::real)?;
            option(at, "bytes", &mut options.byte_width, |at| {
                let width = ByteWidth::from_bytes(at.whole()?);
                width.ok_or_else(|| at.error("1, 2, 4 or 8 bytes are expected"))
            })?;
        }
        Filter::WebP(options) => {
            option(at, "quality", &mut options.quality, At::real)?;
            option(at, "format", &mut options.format, |at| at.parsed("pixel format", pixel_format))?;
            option(at, "lossless", &mut options.lossless, At::flag)?;
            option(at, "y_extent", &mut options.y_extent, At::whole)?;
            option(at, "x_extent", &mut options.x_extent, At::whole)?;
        }
        _ => {}
    }
    Ok(filter)
}

/// Images have the extents of the tile, unless they are given.
fn without_extents(mut filter: Filter) -> Filter {
    if let Filter::WebP(options) = &mut filter {
        (options.y_extent, options.x_extent) = (0, 0);
    }
    filter
}

/// Sets an option if the key exists.
fn option<'v, T>(
    at: &At<'v>,
    name: &str,
    value: &mut T,
    read: impl FnOnce(&At<'v>) -> Result<T>,
) -> Result<()> {
    if let Some(at) = at.get(name) {
        *value = read(&at)?;
    }
    Ok(())
}

fn pixel_format(name: &str) -> Option<PixelFormat> {
    let mut formats = (0..=u8::MAX).map_while(PixelFormat::from_code);
    formats.find(|format| format!("{format:?}").to_lowercase() == name)
}

/// Parses a pipeline in the one-line notation of `tdb info`: `byteshuffle, zstd(level 5)`. Options
/// may also be written `zstd(5)`, `zstd(level=5)` and `zstd:5`.
pub fn pipeline_of_text(text: &str) -> Result<Pipeline> {
    let mut filters = Vec::new();
    let mut rest = text.trim();
    if rest == "none" {
        return Ok(Pipeline::default());
    }
    loop {
        let end = rest.find([',', '(', ':']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        rest = behind.trim_start();
        let mut options = "";
        if let Some(inside) = rest.strip_prefix('(') {
            let (inside, behind) = inside.split_once(')').ok_or("a closing parenthesis is missing")?;
            (options, rest) = (inside, behind.trim_start());
        } else if let Some(value) = rest.strip_prefix(':') {
            (options, rest) =
                value.split_at_checked(value.find(',').unwrap_or(value.len())).unwrap_or((value, ""));
        }
        filters.push(filter_of_text(name.trim(), options.trim())?);
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind.trim_start(),
            None if rest.is_empty() => break,
            None => return Err(format!("{rest:?} is after a filter")),
        }
    }
    Ok(Pipeline::new(filters))
}

/// A filter by its name and its options: `level 5`, `level=5`, or a value alone, which is that of
/// the first option that was not given.
fn filter_of_text(name: &str, options: &str) -> Result<Filter> {
    let known = words::about(&words::filter(name)?).options;
    let mut object = Json::Object(vec![("name".to_owned(), Json::Text(name.to_owned()))]);
    for option in options.split(',').map(str::trim).filter(|option| !option.is_empty()) {
        // The name of an option may consist of two words; the value is the last word.
        let (key, value) = match option.rsplit_once(['=', ' ', ':']) {
            Some((key, value)) => {
                (key.trim_end_matches([' ', '=', ':']).trim().replace([' ', '-'], "_"), value)
            }
            None => {
                let free = known.iter().find(|key| object.get(key).is_none());
                (free.ok_or_else(|| format!("{name} has no option for {option:?}"))?.to_string(), option)
            }
        };
        let value = Json::parse(value.as_bytes()).unwrap_or_else(|_| Json::Text(value.to_owned()));
        object.insert(&key, value);
    }
    let filter = filter(&At::root(&object)).map_err(|error| format!("{name}: {error}"))?;
    check(&filter)?;
    Ok(filter)
}

/// The first option of a pipeline that is outside its filter's limits, and what is allowed.
pub(super) fn outside_limits(at: &At<'_>) -> Option<String> {
    let list = if at.value.as_list().is_some() { at.items() } else { at.list("filters") };
    list.ok()?.iter().find_map(|item| {
        let filter = filter(item).ok()?;
        check(&filter).err().map(|error| item.error(error))
    })
}

/// Returns an error, which says what is allowed, if the option of a filter is out of range.
fn check(filter: &Filter) -> Result<()> {
    let checked = match filter {
        Filter::Gzip { level } => Filter::gzip(*level),
        Filter::Zstd { level } => Filter::zstd(*level),
        Filter::Bzip2 { level } => Filter::bzip2(*level),
        Filter::BitWidthReduction { max_window } => Filter::bit_width_reduction(*max_window),
        Filter::PositiveDelta { max_window } => Filter::positive_delta(*max_window),
        _ => return Ok(()),
    };
    checked.map(drop).map_err(|error| format!("{error} ({})", words::about(filter).what))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tdb_filters::registry;

    use super::*;
    use crate::pipeline::{pipeline_json, pipeline_text};

    #[test]
    fn every_filter_is_read_back_as_it_is_shown() {
        for row in registry::all() {
            let shown = row.pipeline();
            assert_eq!(pipeline(&At::root(&pipeline_json(&shown).into())).as_ref(), Ok(&shown));
            assert_eq!(
                pipeline_of_text(&pipeline_text(&shown)).map(|read| pipeline_text(&read)),
                Ok(pipeline_text(&shown))
            );
        }
        let two = Pipeline::new(vec![Filter::PositiveDelta { max_window: 64 }, Filter::Zstd { level: -7 }]);
        assert_eq!(pipeline_of_text(&pipeline_text(&two)), Ok(two));
        assert_eq!(pipeline_of_text("none"), Ok(Pipeline::default()));
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let error = |value: Value| pipeline(&At::root(&value.into())).unwrap_err();
        assert_eq!(
            error(json!([{"name": "zstd"}, {"name": "zst"}])),
            "[1].name: \"zst\" is not a valid filter; did you mean \"zstd\"?"
        );
        assert!(error(json!([{"name": "zstd", "levle": 3}])).contains("\"levle\" is not a known key"));
        assert!(error(json!([{"name": "zstd", "level": "3"}])).starts_with("[0].level: "));
        assert!(error(json!([{"level": 3}])).contains("\"name\" is missing"));
        assert!(pipeline_of_text("zstd(level 3").is_err());
        assert!(pipeline_of_text("zstd(level 3) gzip").is_err());
        assert!(pipeline_of_text("").is_err());
        let error = pipeline_of_text("zstd(99)").unwrap_err();
        assert!(error.contains("99, which is out of range") && error.contains("-7 to 22"), "{error}");
        let error = pipeline_of_text("zstd(levle 9)").unwrap_err();
        assert!(error.contains("did you mean \"level\"?"), "{error}");
        assert!(pipeline_of_text("xor(9)").unwrap_err().contains("xor has no option for \"9\""));
        assert!(pipeline_of_text("zstd(9, 9)").unwrap_err().contains("zstd has no option for"));
        assert!(pipeline_of_text("zstd(nine)").unwrap_err().contains("zstd: level: "));
    }

    #[test]
    fn options_are_written_with_or_without_their_names() {
        let expected =
            Pipeline::new(vec![Filter::BitWidthReduction { max_window: 512 }, Filter::Zstd { level: 9 }]);
        for text in [
            "bit-width-reduction(max window 512), zstd(level 9)",
            "bit_width_reduction(max_window=512), zstd(9)",
            "bit_width_reduction(512),zstd:9",
            "BitWidthReductionFilter(max-window = 512), ZSTD(level: 9)",
        ] {
            assert_eq!(pipeline_of_text(text).as_ref(), Ok(&expected), "{text}");
        }
    }
}
