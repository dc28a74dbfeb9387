//! The table of filter pipelines, which are parts of schemas; their parser is
//! `tdb_filters::Pipeline`.

use tdb_codec::{FieldRow, Structure, Wire};

/// The table of a pipeline. Its parser is `tdb_filters::Pipeline`.
pub(crate) static TABLE: Structure = Structure::new(
    "filter pipeline",
    &[
        FieldRow::new("max chunk size", Wire::U32),
        FieldRow::new("filter count", Wire::U32),
        FieldRow::new("filters", Wire::Structure(&FILTER)).each("filter"),
    ],
);

static FILTER: Structure = Structure::new(
    "filter",
    &[
        FieldRow::new("filter type", Wire::U8),
        FieldRow::new("filter options length", Wire::U32),
        FieldRow::new("filter options", Wire::OneOf(&OPTIONS)).when("it has options"),
    ],
);

/// The names of all filters' options.
const OPTIONS: [&str; 13] = [
    "compressor",
    "compression level",
    "reinterpret datatype",
    "max window size",
    "scale",
    "offset",
    "byte width",
    "quality",
    "pixel format",
    "lossless",
    "y extent",
    "x extent",
    "filter options",
];
