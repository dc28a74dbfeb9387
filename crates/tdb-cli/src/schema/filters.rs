//! Filter pipelines from JSON, and from the short notation of the command line.

use serde_json::{Map, Value, json};
use tdb_codec::Datatype;
use tdb_filters::{ByteWidth, Filter, Pipeline, PixelFormat, registry};

use super::at::{At, Result};

/// A pipeline: a list of filters, or an object with that list and `max_chunk_size`.
pub(super) fn pipeline(at: &At<'_>) -> Result<Pipeline> {
    if at.value.is_array() {
        let filters = at.items()?.iter().map(filter).collect::<Result<_>>()?;
        return Ok(Pipeline::new(filters));
    }
    at.object(&["filters", "max_chunk_size"])?;
    let filters = at.list("filters")?.iter().map(filter).collect::<Result<_>>()?;
    let max_chunk_size =
        at.get("max_chunk_size").map_or(Ok(Pipeline::DEFAULT_CHUNK_SIZE), |size| size.whole())?;
    Ok(Pipeline { max_chunk_size, filters })
}

/// A filter: an object with its `name` and the options that differ from the defaults; or only the name.
fn filter(at: &At<'_>) -> Result<Filter> {
    let by_name =
        |at: &At<'_>| at.parsed("filter", |name| registry::by_name(name).map(registry::Row::sample));
    if at.value.is_string() {
        return by_name(at);
    }
    if !at.value.is_object() {
        return Err(at.error("a filter is expected: an object with a name"));
    }
    let mut filter = by_name(&at.need("name")?)?;
    match &mut filter {
        Filter::Gzip { level }
        | Filter::Zstd { level }
        | Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Bzip2 { level }
        | Filter::Dictionary { level } => {
            at.object(&["name", "level"])?;
            option(at, "level", level, At::whole)?;
        }
        Filter::DoubleDelta { level, reinterpret } | Filter::Delta { level, reinterpret } => {
            at.object(&["name", "level", "reinterpret"])?;
            option(at, "level", level, At::whole)?;
            option(at, "reinterpret", reinterpret, |at| {
                at.parsed("datatype", Datatype::from_name).map(Some)
            })?;
        }
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            at.object(&["name", "max_window"])?;
            option(at, "max_window", max_window, At::whole)?;
        }
        Filter::ScaleFloat(options) => {
            at.object(&["name", "scale", "offset", "bytes"])?;
            option(at, "scale", &mut options.scale, At::real)?;
            option(at, "offset", &mut options.offset, At::real)?;
            option(at, "bytes", &mut options.byte_width, |at| {
                let width = ByteWidth::from_bytes(at.whole()?);
                width.ok_or_else(|| at.error("1, 2, 4 or 8 bytes are expected"))
            })?;
        }
        Filter::WebP(options) => {
            at.object(&["name", "quality", "format", "lossless", "y_extent", "x_extent"])?;
            option(at, "quality", &mut options.quality, |at| at.real().map(nearest))?;
            option(at, "format", &mut options.format, |at| at.parsed("pixel format", pixel_format))?;
            option(at, "lossless", &mut options.lossless, At::flag)?;
            option(at, "y_extent", &mut options.y_extent, At::whole)?;
            option(at, "x_extent", &mut options.x_extent, At::whole)?;
        }
        _ => at.object(&["name"])?,
    }
    Ok(filter)
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

#[expect(clippy::cast_possible_truncation, reason = "the nearest value is meant")]
const fn nearest(value: f64) -> f32 {
    value as f32
}

fn pixel_format(name: &str) -> Option<PixelFormat> {
    let mut formats = (0..=u8::MAX).map_while(PixelFormat::from_code);
    formats.find(|format| format!("{format:?}").to_lowercase() == name)
}

/// Parses a pipeline in the one-line notation of `tdb info`: `byteshuffle, zstd(level 5)`.
pub(crate) fn pipeline_of_text(text: &str) -> Result<Pipeline> {
    let mut filters = Vec::new();
    let mut rest = text.trim();
    if rest == "none" {
        return Ok(Pipeline::default());
    }
    loop {
        let end = rest.find([',', '(']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
        let mut filter = Map::new();
        filter.insert("name".to_owned(), json!(name.trim()));
        rest = behind.trim_start();
        if let Some(inside) = rest.strip_prefix('(') {
            let (options, behind) = inside.split_once(')').ok_or("a closing parenthesis is missing")?;
            for option in options.split(',') {
                // The name of an option may consist of two words; the value is the last word.
                let (name, value) = option
                    .trim()
                    .rsplit_once(' ')
                    .ok_or_else(|| format!("{option:?} is not an option followed by its value"))?;
                let value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
                filter.insert(name.trim().replace(' ', "_"), value);
            }
            rest = behind.trim_start();
        }
        filters.push(Value::Object(filter));
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind.trim_start(),
            None if rest.is_empty() => break,
            None => return Err(format!("{rest:?} is after a filter")),
        }
    }
    pipeline(&At::root(&Value::Array(filters)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::describe::{pipeline_json, pipeline_text};

    #[test]
    fn every_filter_is_read_back_as_it_is_shown() {
        for row in registry::all() {
            let shown = row.pipeline();
            assert_eq!(pipeline(&At::root(&pipeline_json(&shown))).as_ref(), Ok(&shown));
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
        let error = |value: Value| pipeline(&At::root(&value)).unwrap_err();
        assert_eq!(
            error(json!([{"name": "zstd"}, {"name": "zst"}])),
            "[1].name: \"zst\" is not a valid filter"
        );
        assert!(error(json!([{"name": "zstd", "levle": 3}])).contains("\"levle\" is not a known key"));
        assert!(error(json!([{"name": "zstd", "level": "3"}])).starts_with("[0].level: "));
        assert!(error(json!([{"level": 3}])).contains("\"name\" is missing"));
        assert!(pipeline_of_text("zstd(level 3").is_err());
        assert!(pipeline_of_text("zstd(level 3) gzip").is_err());
        assert!(pipeline_of_text("").is_err());
    }
}
