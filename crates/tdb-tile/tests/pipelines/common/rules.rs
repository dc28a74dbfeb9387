//! The outcome for a tile and one filter according to the format's reference, as far as it can be
//! determined without running the filter. Nothing here calls the code under test, except the
//! function that cuts a tile into chunks.

use tdb_codec::{Datatype, DatatypeClass, Gate, Physical};
use tdb_filters::{ErrorKind, Filter, ScaleFloat, TileContext};

use super::Tile;

/// The expected outcome.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Outcome {
    /// Every bit is the same after decoding.
    Same,
    /// Scaled floats: decoding returns these bytes.
    Becomes(Vec<u8>),
    /// The filter does not accept the type: nothing is encoded.
    WrongType,
    /// A value is smaller than the previous one in its window.
    Decreasing,
    /// A chunk is not a whole number of values.
    PartialValue,
    /// A float that does not fit the integer type.
    OutOfRange,
    /// The tile does not have the size of the image in the options.
    WrongSize,
}

impl Outcome {
    /// The outcome that corresponds to an error.
    pub(crate) fn of(kind: &ErrorKind) -> Self {
        match kind {
            ErrorKind::InputType { .. } => Self::WrongType,
            ErrorKind::Decreasing { .. } => Self::Decreasing,
            ErrorKind::PartialValue { .. } => Self::PartialValue,
            ErrorKind::OutOfRange { .. } => Self::OutOfRange,
            ErrorKind::WrongLength { .. } => Self::WrongSize,
            kind => panic!("not an error that the documents describe: {kind:?}"),
        }
    }
}

/// The outcome of one filter for a tile.
pub(crate) fn outcome(filter: &Filter, tile: &Tile<'_>) -> Outcome {
    let context = &tile.context;
    if refuses_type(filter, context.datatype, context) {
        return Outcome::WrongType;
    }
    let any_chunk = |is_bad: &dyn Fn(&[u8]) -> bool| {
        let mut rest = tile.input;
        let lengths = tdb_tile::split::chunk_lengths(tile.input.len(), tile.cells()).unwrap();
        lengths.into_iter().any(|length| {
            let (chunk, later) = rest.split_at(length);
            rest = later;
            is_bad(chunk)
        })
    };
    match filter {
        Filter::PositiveDelta { max_window } => {
            let integers = positive_delta_integers(context.datatype, context);
            let decreasing = |chunk: &[u8]| integers.is_some_and(|t| decreases(chunk, t, *max_window));
            if any_chunk(&decreasing) { Outcome::Decreasing } else { Outcome::Same }
        }
        Filter::Delta { reinterpret: Some(t), .. } | Filter::DoubleDelta { reinterpret: Some(t), .. } => {
            // Deltas treat strings as bytes, whatever the width of their characters.
            let size = if t.is_string() { 1 } else { t.size() };
            let partial = |chunk: &[u8]| !chunk.len().is_multiple_of(size);
            if any_chunk(&partial) { Outcome::PartialValue } else { Outcome::Same }
        }
        Filter::ScaleFloat(options) => match rescaled(options, context.datatype.size(), tile.input) {
            Some(bytes) if bytes == tile.input => Outcome::Same,
            Some(bytes) => Outcome::Becomes(bytes),
            None => Outcome::OutOfRange,
        },
        Filter::WebP(options) => {
            let len = usize::from(options.x_extent) * usize::from(options.y_extent);
            if tile.input.len() == len { Outcome::Same } else { Outcome::WrongSize }
        }
        _ => Outcome::Same,
    }
}

/// Whether a filter does not accept values of `datatype` in a tile of `context`.
pub(crate) fn refuses_type(filter: &Filter, datatype: Datatype, context: &TileContext) -> bool {
    match filter {
        Filter::Delta { reinterpret, .. } | Filter::DoubleDelta { reinterpret, .. } => {
            reinterpret.unwrap_or(datatype).class() == DatatypeClass::Real
        }
        Filter::ScaleFloat(_) => !matches!(datatype.size(), 4 | 8),
        Filter::WebP(_) => datatype != Datatype::Uint8 || context.var,
        Filter::Dictionary { .. } => !holds_strings(filter, context),
        _ => false,
    }
}

/// Whether a filter stores the strings' lengths.
pub(crate) fn holds_strings(filter: &Filter, context: &TileContext) -> bool {
    let gate = match (filter, context.datatype) {
        (Filter::Rle { .. }, Datatype::StringAscii) => Gate::AsciiRleStrings,
        (Filter::Dictionary { .. }, Datatype::StringAscii) => Gate::AsciiDictionaryStrings,
        (Filter::Rle { .. } | Filter::Dictionary { .. }, Datatype::StringUtf8) => Gate::Utf8Strings,
        _ => return false,
    };
    context.var && context.schema_version.has(gate)
}

/// The type that the next filter sees.
pub(crate) fn type_after(filter: &Filter, datatype: Datatype, context: &TileContext) -> Datatype {
    let signed = |size| match size {
        1 => Datatype::Int8,
        2 => Datatype::Int16,
        4 => Datatype::Int32,
        _ => Datatype::Int64,
    };
    if !context.fragment_version.has(Gate::TypePropagation) {
        return context.datatype;
    }
    match filter {
        Filter::ScaleFloat(options) => signed(options.byte_width.bytes()),
        Filter::Xor => signed(datatype.size()),
        Filter::Delta { reinterpret: Some(t), .. } | Filter::DoubleDelta { reinterpret: Some(t), .. } => *t,
        Filter::Aes256Gcm => Datatype::Blob,
        _ => datatype,
    }
}

/// The integer type that positive delta works on; `None` for types that it does not change.
pub(crate) fn positive_delta_integers(datatype: Datatype, context: &TileContext) -> Option<Physical> {
    let active = match datatype.class() {
        DatatypeClass::Integer | DatatypeClass::Byte => true,
        DatatypeClass::Datetime | DatatypeClass::Time => context.fragment_version.has(Gate::FilterDates),
        _ => false,
    };
    active.then(|| datatype.physical())
}

/// Whether a window of whole values in a part has a value smaller than the previous one.
pub(crate) fn decreases(part: &[u8], physical: Physical, max_window: u32) -> bool {
    let size = physical.size();
    let window = part.len().min(usize::try_from(max_window).unwrap()) / size * size;
    let value = |bytes: &[u8]| {
        let mut wide = [0; 16];
        wide[..size].copy_from_slice(bytes);
        let unused = 128 - 8 * u32::try_from(size).unwrap();
        let top = i128::from_le_bytes(wide) << unused;
        if physical.is_signed_integer() { top >> unused } else { i128::from_le_bytes(wide) }
    };
    part.chunks(window.max(size)).filter(|window| window.len().is_multiple_of(size)).any(|window| {
        let values: Vec<i128> = window.chunks(size).map(value).collect();
        values.windows(2).any(|pair| pair[1] < pair[0])
    })
}

/// The values that scaled floats are decoded to: encoded in their own width, decoded in `f64`;
/// `None` if one does not fit its integer.
pub(crate) fn rescaled(options: &ScaleFloat, size: usize, input: &[u8]) -> Option<Vec<u8>> {
    let end = 2f64.powi(i32::try_from(8 * options.byte_width.bytes() - 1).unwrap());
    let fits = |value: f64| value >= -end && value < end;
    // Integers have no negative zero.
    let whole = |value: f64| if value == 0.0 { 0.0 } else { value };
    let mut out = Vec::with_capacity(input.len());
    for bytes in input.chunks(size) {
        if size == 4 {
            let value = f32::from_le_bytes(bytes.try_into().unwrap());
            #[expect(clippy::cast_possible_truncation, reason = "the format computes in f32")]
            let (scale, offset) = (options.scale as f32, options.offset as f32);
            let stored = Some(((value - offset) / scale).round()).filter(|v| fits(f64::from(*v)))?;
            let back = options.scale * whole(f64::from(stored)) + options.offset;
            #[expect(clippy::cast_possible_truncation, reason = "the format narrows at the end")]
            out.extend_from_slice(&(back as f32).to_le_bytes());
        } else {
            let value = f64::from_le_bytes(bytes.try_into().unwrap());
            let stored = Some(((value - options.offset) / options.scale).round()).filter(|v| fits(*v))?;
            out.extend_from_slice(&(options.scale * whole(stored) + options.offset).to_le_bytes());
        }
    }
    Some(out)
}
