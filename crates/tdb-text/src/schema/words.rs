//! The words for filters, their options and datatypes: which there are, and which other spellings
//! are understood.

use tdb_codec::{CellValNum, Datatype, DatatypeClass};
use tdb_filters::{Filter, registry};

use super::at::Result;
use crate::suggest::{hint, meant};

/// The options of a filter, and a description of its work.
pub(super) struct About {
    /// The names of its options; a value without a name is that of the first.
    pub(super) options: &'static [&'static str],
    pub(super) what: &'static str,
}

/// The options of a filter, and a description of its work.
pub(super) const fn about(filter: &Filter) -> About {
    const LEVEL: &[&str] = &["level"];
    let (options, what): (&'static [&'static str], _) = match filter {
        Filter::None => (&[], "leaves the bytes as they are"),
        Filter::Gzip { .. } => (LEVEL, "zlib: level 0 to 9, or -1 for zlib's default"),
        Filter::Zstd { .. } => (LEVEL, "Zstandard: level -7 to 22"),
        Filter::Lz4 { .. } => (LEVEL, "LZ4: its level has no effect"),
        Filter::Rle { .. } => (LEVEL, "run lengths: its level has no effect"),
        Filter::Bzip2 { .. } => (LEVEL, "bzip2: level 1 to 9"),
        Filter::Dictionary { .. } => (LEVEL, "each string once, then numbers: only as the first filter"),
        Filter::DoubleDelta { .. } => (&["reinterpret", "level"], "differences of differences of integers"),
        Filter::Delta { .. } => (&["reinterpret", "level"], "differences of integers"),
        Filter::BitWidthReduction { .. } => (&["max_window"], "integers in fewer bits; window in bytes"),
        Filter::PositiveDelta { .. } => (&["max_window"], "differences of rising integers; window in bytes"),
        Filter::BitShuffle => (&[], "the bits of equal weight together"),
        Filter::ByteShuffle => (&[], "the bytes of equal weight together: good before a compressor"),
        Filter::Aes256Gcm => (&[], "encryption: not chosen here, but by a key"),
        Filter::ChecksumMd5 => (&[], "MD5 checksums"),
        Filter::ChecksumSha256 => (&[], "SHA-256 checksums"),
        Filter::ScaleFloat(_) => (&["scale", "offset", "bytes"], "floats as integers of 1, 2, 4 or 8 bytes"),
        Filter::Xor => (&[], "each value combined with the one before"),
        Filter::WebP(_) => (
            &["quality", "format", "lossless", "y_extent", "x_extent"],
            "images: format rgb, bgr, rgba or bgra",
        ),
        _ => (&[], ""),
    };
    About { options, what }
}

/// Other words for filters, without separators.
const FILTER_WORDS: [(&str, &str); 11] = [
    ("deflate", "gzip"),
    ("zlib", "gzip"),
    ("gz", "gzip"),
    ("zstandard", "zstd"),
    ("bz2", "bzip2"),
    ("runlength", "rle"),
    ("dict", "dictionary"),
    ("shuffle", "byteshuffle"),
    ("md5", "checksum-md5"),
    ("sha256", "checksum-sha256"),
    ("noop", "none"),
];

/// A filter with ordinary options, by its name in any usual spelling: `bit-width-reduction`,
/// `bit_width_reduction`, `BitWidthReductionFilter`, `TILEDB_FILTER_BIT_WIDTH_REDUCTION`.
pub(super) fn filter(name: &str) -> Result<Filter> {
    let plain = |name: &str| -> String {
        name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
    };
    let word = plain(name);
    let bare = word.strip_prefix("tiledb").unwrap_or(&word);
    let bare = bare.strip_prefix("filter").or_else(|| bare.strip_suffix("filter")).unwrap_or(bare);
    let meant = FILTER_WORDS.iter().find(|(word, _)| *word == bare).map(|(_, name)| plain(name));
    let bare = meant.as_deref().unwrap_or(bare);
    let row = registry::all().iter().find(|row| plain(row.name) == bare);
    row.map(registry::Row::sample).ok_or_else(|| {
        let known = || registry::all().iter().map(|row| row.name);
        let mut hint = hint(name, known());
        if hint.is_empty() {
            hint = format!("; filters are {}", known().collect::<Vec<_>>().join(", "));
        }
        format!("{name:?} is not a valid filter{hint}")
    })
}

/// Other words for datatypes, in lower case.
const TYPE_WORDS: [(&str, Datatype); 22] = [
    ("i8", Datatype::Int8),
    ("i16", Datatype::Int16),
    ("i32", Datatype::Int32),
    ("i64", Datatype::Int64),
    ("u8", Datatype::Uint8),
    ("u16", Datatype::Uint16),
    ("u32", Datatype::Uint32),
    ("u64", Datatype::Uint64),
    ("f32", Datatype::Float32),
    ("f64", Datatype::Float64),
    ("single", Datatype::Float32),
    ("double", Datatype::Float64),
    ("boolean", Datatype::Bool),
    ("string", Datatype::StringUtf8),
    ("str", Datatype::StringUtf8),
    ("text", Datatype::StringUtf8),
    ("varchar", Datatype::StringUtf8),
    ("utf8", Datatype::StringUtf8),
    ("ascii", Datatype::StringAscii),
    ("date", Datatype::DatetimeDay),
    ("binary", Datatype::Blob),
    ("bytes", Datatype::Blob),
];

/// Words that could mean several datatypes, and what to write.
const UNCLEAR_TYPES: [(&str, &str); 12] = [
    ("float", "FLOAT32 or FLOAT64"),
    ("real", "FLOAT32 or FLOAT64"),
    ("number", "FLOAT64 or INT64"),
    ("int", "INT32 or INT64"),
    ("integer", "INT32 or INT64"),
    ("uint", "UINT32 or UINT64"),
    ("long", "INT64"),
    ("byte", "UINT8 or INT8"),
    ("datetime", "DATETIME_MS, or another unit from DATETIME_YEAR to DATETIME_AS"),
    ("timestamp", "DATETIME_MS, or another unit from DATETIME_YEAR to DATETIME_AS"),
    ("time", "TIME_MS, or another unit from TIME_HR to TIME_AS"),
    ("duration", "TIME_MS, or another unit from TIME_HR to TIME_AS"),
];

/// A datatype by its name, or by another word for it.
pub fn datatype(text: &str) -> Result<Datatype> {
    let word = text.to_ascii_lowercase();
    let word = word.strip_prefix("tiledb_").unwrap_or(&word);
    let known = || TYPE_WORDS.iter().find(|(other, _)| *other == word).map(|(_, datatype)| *datatype);
    Datatype::from_name(word).or_else(known).ok_or_else(|| {
        let unclear = UNCLEAR_TYPES.iter().find(|(other, _)| *other == word);
        let hint = match unclear {
            Some((_, names)) => format!("; write {names}"),
            None => hint_of_datatype(text),
        };
        format!("{text:?} is not a valid datatype{hint}")
    })
}

/// The datatype that was probably meant, or where all are listed; as the end of a message.
fn hint_of_datatype(text: &str) -> String {
    let words = TYPE_WORDS.iter().map(|(word, _)| *word).chain(UNCLEAR_TYPES.iter().map(|(word, _)| *word));
    let near = meant(text, Datatype::all().map(Datatype::name).chain(words));
    let unclear = UNCLEAR_TYPES.iter().find(|(word, _)| near == Some(*word));
    match (unclear, near) {
        (Some((_, names)), _) => format!("; write {names}"),
        (None, Some(near)) => format!("; did you mean {near:?}?"),
        (None, None) => "; tdb create --help lists datatypes".to_owned(),
    }
}

/// The datatype of a dimension: the only texts that dimensions may be are ASCII.
pub(super) fn dimension_datatype(text: &str) -> Result<Datatype> {
    let datatype = datatype(text)?;
    if !datatype.is_string() || datatype == Datatype::StringAscii {
        return Ok(datatype);
    }
    if Datatype::from_name(text).is_none() {
        // A word such as "string" does not say which kind of text.
        return Ok(Datatype::StringAscii);
    }
    Err(format!("a dimension cannot be of type {datatype}; write {}", Datatype::StringAscii))
}

/// The number of values of a cell if nothing is said: texts and bytes are of variable length.
pub const fn usual_cells(datatype: Datatype) -> CellValNum {
    match datatype.class() {
        DatatypeClass::String | DatatypeClass::Byte | DatatypeClass::Any => CellValNum::Var,
        _ => CellValNum::ONE,
    }
}

/// The datatypes, as a part of `--help`.
pub fn datatypes_help() -> String {
    let list = |title: &str, chosen: &dyn Fn(Datatype) -> bool| {
        let names: Vec<_> = Datatype::all().filter(|own| chosen(*own)).map(Datatype::name).collect();
        format!("\n  {title}: {}", names.join(", "))
    };
    let is = |class: DatatypeClass| move |datatype: Datatype| datatype.class() == class;
    let bytes = |datatype: Datatype| {
        matches!(datatype.class(), DatatypeClass::Byte | DatatypeClass::Any | DatatypeClass::Char)
    };
    [
        "Datatypes, in upper or lower case:".to_owned(),
        list("integers", &is(DatatypeClass::Integer)),
        list("reals", &is(DatatypeClass::Real)),
        list("texts", &is(DatatypeClass::String)),
        list("dates", &Datatype::is_datetime),
        list("times", &Datatype::is_time),
        list("bytes", &bytes),
    ]
    .concat()
}

/// The filters with their options, as a part of `--help`.
pub fn filters_help() -> String {
    let mut lines = vec![
        "Filters, applied from the first to the last when cells are written. Options are in parentheses, with or without their \
         names: 'byteshuffle, zstd(9)', 'double-delta, bit-width-reduction(max_window 512), gzip(level 6)', \
         'scale-float(scale 0.01, offset 0, bytes 4)'."
            .to_owned(),
    ];
    for row in registry::all() {
        let About { options, what } = about(&row.sample());
        let options = if options.is_empty() { String::new() } else { format!("({})", options.join(", ")) };
        let missing = if row.available { "" } else { " (not in this build)" };
        lines.push(format!("  {}{options}: {what}{missing}", row.name));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_known_by_every_usual_spelling() {
        for name in [
            "bit-width-reduction",
            "bit_width_reduction",
            "Bit Width Reduction",
            "BitWidthReductionFilter",
            "TILEDB_FILTER_BIT_WIDTH_REDUCTION",
        ] {
            assert_eq!(filter(name).unwrap().name(), "bit-width-reduction", "{name}");
        }
        assert_eq!(filter("double_delta").unwrap().name(), "double-delta");
        for (word, name) in FILTER_WORDS {
            assert_eq!(filter(word).unwrap().name(), name);
        }
        for row in registry::all() {
            assert_eq!(filter(row.name).unwrap().code(), row.code, "{}", row.name);
        }
    }

    #[test]
    fn an_unknown_filter_is_answered_with_the_one_that_was_meant_or_with_all() {
        assert_eq!(filter("ztsd").unwrap_err(), "\"ztsd\" is not a valid filter; did you mean \"zstd\"?");
        let error = filter("snappy").unwrap_err();
        assert!(error.contains("filters are none, gzip, zstd, lz4"), "{error}");
    }

    #[test]
    fn datatypes_have_usual_words_and_unclear_ones_are_answered() {
        assert_eq!(datatype("float32"), Ok(Datatype::Float32));
        assert_eq!(datatype("TILEDB_STRING_UTF8"), Ok(Datatype::StringUtf8));
        assert_eq!(datatype("string"), Ok(Datatype::StringUtf8));
        assert_eq!(datatype("double"), Ok(Datatype::Float64));
        assert_eq!(
            datatype("float").unwrap_err(),
            "\"float\" is not a valid datatype; write FLOAT32 or FLOAT64"
        );
        assert_eq!(
            datatype("FLOAT23").unwrap_err(),
            "\"FLOAT23\" is not a valid datatype; did you mean \"FLOAT32\"?"
        );
        assert_eq!(
            datatype("complex").unwrap_err(),
            "\"complex\" is not a valid datatype; tdb create --help lists datatypes"
        );
        assert_eq!(
            datatype("flot").unwrap_err(),
            "\"flot\" is not a valid datatype; write FLOAT32 or FLOAT64"
        );
        assert_eq!(dimension_datatype("string"), Ok(Datatype::StringAscii));
        assert_eq!(dimension_datatype("int64"), Ok(Datatype::Int64));
        assert!(dimension_datatype("STRING_UTF8").unwrap_err().ends_with("write STRING_ASCII"));
    }

    #[test]
    fn the_help_names_every_filter_with_its_options_and_every_datatype() {
        let filters = filters_help();
        for row in registry::all() {
            let About { options, what } = about(&row.sample());
            assert!(!what.is_empty() && filters.contains(&format!("  {}", row.name)), "{}", row.name);
            assert!(options.iter().all(|option| filters.contains(option)), "{}", row.name);
        }
        let datatypes = datatypes_help();
        for datatype in Datatype::all() {
            assert!(datatypes.contains(datatype.name()), "{datatype}");
        }
    }
}
