//! Filters in words.

use serde_json::{Map, Value, json};
use tdb_filters::{Filter, Pipeline};

/// A pipeline on one line: `byteshuffle, zstd(level 5)`; `none` if it is empty.
pub fn pipeline_text(pipeline: &Pipeline) -> String {
    if pipeline.filters.is_empty() {
        return "none".to_owned();
    }
    let filter = |filter: &Filter| {
        let options: Vec<_> = options(filter)
            .into_iter()
            .map(|(name, value)| match value {
                Value::String(value) => format!("{name} {value}"),
                value => format!("{name} {value}"),
            })
            .collect();
        if options.is_empty() {
            filter.name().to_owned()
        } else {
            format!("{}({})", filter.name(), options.join(", "))
        }
    };
    pipeline.filters.iter().map(filter).collect::<Vec<_>>().join(", ")
}

/// A pipeline as an array of objects.
pub fn pipeline_json(pipeline: &Pipeline) -> Value {
    let filter = |filter: &Filter| {
        let mut object = Map::new();
        object.insert("name".to_owned(), json!(filter.name()));
        let options = options(filter).into_iter().chain(silent_options(filter));
        object.extend(options.map(|(name, value)| (name.replace(' ', "_"), value)));
        Value::Object(object)
    };
    pipeline.filters.iter().map(filter).collect()
}

/// The options of a filter, in the order in which they are stored.
fn options(filter: &Filter) -> Vec<(&'static str, Value)> {
    match filter {
        Filter::Gzip { level } | Filter::Zstd { level } | Filter::Bzip2 { level } => {
            vec![("level", json!(level))]
        }
        Filter::DoubleDelta { reinterpret: Some(datatype), .. }
        | Filter::Delta { reinterpret: Some(datatype), .. } => vec![("reinterpret", json!(datatype.name()))],
        Filter::BitWidthReduction { max_window } | Filter::PositiveDelta { max_window } => {
            vec![("max window", json!(max_window))]
        }
        Filter::ScaleFloat(options) => vec![
            ("scale", json!(options.scale)),
            ("offset", json!(options.offset)),
            ("bytes", json!(options.byte_width.bytes())),
        ],
        Filter::WebP(options) => vec![
            ("quality", json!(options.quality)),
            ("format", json!(format!("{:?}", options.format).to_lowercase())),
            ("lossless", json!(options.lossless)),
        ],
        Filter::Unknown { code, .. } => vec![("code", json!(code))],
        // The others have no options, or a level without meaning.
        _ => Vec::new(),
    }
}

/// Stored options that change no cell: programs that copy a schema need them anyway.
fn silent_options(filter: &Filter) -> Vec<(&'static str, Value)> {
    match filter {
        Filter::Lz4 { level }
        | Filter::Rle { level }
        | Filter::Dictionary { level }
        | Filter::DoubleDelta { level, .. }
        | Filter::Delta { level, .. } => vec![("level", json!(level))],
        Filter::WebP(options) => {
            vec![("y_extent", json!(options.y_extent)), ("x_extent", json!(options.x_extent))]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_named_with_the_options_that_matter() {
        let pipeline = Pipeline::new(vec![Filter::ByteShuffle, Filter::Zstd { level: -1 }]);
        assert_eq!(pipeline_text(&pipeline), "byteshuffle, zstd(level -1)");
        let expected = json!([{"name": "byteshuffle"}, {"name": "zstd", "level": -1}]);
        assert_eq!(pipeline_json(&pipeline), expected);
        assert_eq!(pipeline_text(&Pipeline::default()), "none");
    }
}
