//! Pipelines and each filter of the registry.

use tdb_codec::{Budget, FormatVersion, Reader, Writer, to_u64, to_usize};
use tdb_filters::{
    ByteWidth, CodedStrings, ErrorKind, Filter, Key, Pipeline, PixelFormat, Scratch, registry,
};

use crate::input::{FilterInput, Input};
use crate::{BUDGET, assert_same};

/// Filter lists: the version, then the list. Read, written, read again.
pub fn pipeline(data: &[u8]) {
    let mut input = Input::new(data);
    let version = input.version();
    let Ok(pipeline) = Pipeline::parse(&mut Reader::new(input.rest()), version) else { return };
    let mut writer = Writer::new();
    // A reinterpret type in a version that has none is read from the options' length, and refused
    // here.
    if pipeline.write(&mut writer, version).is_ok() {
        let again = Pipeline::parse(&mut Reader::new(writer.as_slice()), version);
        assert_same(&again, &Ok(pipeline));
    }
    for version in FormatVersion::all() {
        let _ = Pipeline::default().write(&mut writer, version);
    }
}

/// Decodes one chunk with one filter ([`FilterInput`]).
pub fn filter(name: &str, data: &[u8]) {
    let Some(row) = registry::by_name(name) else { return };
    let input = FilterInput::parse(data);
    let pipeline = Pipeline::new(vec![varied(row.sample(), input)]);
    let key = Key::new([7; 32]);
    let key = (row.feature == Some("encryption")).then_some(&key);
    let Ok(decoder) = pipeline.decoder_with_key(input.context(), key) else { return };
    let budget = Budget::new(BUDGET);
    let mut scratch = Scratch::new();
    if decoder.decodes_strings() {
        let (mut values, mut offsets) = (Vec::new(), Vec::new());
        let decoded = decoder.decode_string_chunk(
            input.metadata,
            input.data,
            &mut values,
            &mut offsets,
            &mut scratch,
            &budget,
        );
        let bytes = to_u64(values.capacity()).saturating_add(to_u64(offsets.capacity()).saturating_mul(8));
        // Vectors may double when they grow.
        assert!(bytes <= BUDGET.saturating_mul(2), "{bytes} bytes of strings");
        let mut coded = CodedStrings::default();
        let as_codes =
            decoder.decode_coded_chunk(input.metadata, input.data, &mut coded, &mut scratch, &budget);
        let held = to_u64(coded.values.capacity().saturating_add(coded.codes.capacity().saturating_mul(4)))
            .saturating_add(to_u64(coded.starts.capacity()).saturating_mul(8));
        assert!(held <= BUDGET.saturating_mul(2), "{held} bytes of codes");
        // Strings and codes need other memory, so only one of them may be too much.
        let over = |error: &tdb_filters::Error| matches!(error.kind, ErrorKind::OverBudget { .. });
        match (&decoded, &as_codes) {
            (Ok(()), Err(error)) | (Err(error), Ok(_)) => assert!(over(error), "{error}"),
            _ => {}
        }
        if decoded.is_ok() && as_codes.is_ok() {
            let ends = offsets.iter().skip(1).copied().chain([to_u64(values.len())]);
            for (cell, (start, end)) in offsets.iter().zip(ends).enumerate() {
                let string = values.get(to_usize(*start).unwrap_or(usize::MAX)..to_usize(end).unwrap_or(0));
                assert_eq!(coded.string(cell), string, "the string of cell {cell}");
            }
            assert_eq!(coded.codes.len(), offsets.len());
        }
        if decoded.is_ok() {
            assert!(offsets.is_sorted(), "strings follow one another");
            assert!(offsets.last().is_none_or(|last| *last <= to_u64(values.len())), "a string past the end");
        }
    } else {
        let mut out = vec![0; input.out_len];
        let _ = decoder.decode_chunk(input.metadata, input.data, &mut out, &mut scratch, &budget);
    }
    assert!(to_u64(scratch.capacity()) <= BUDGET.saturating_mul(2), "{} bytes held", scratch.capacity());
    assert_eq!(budget.available(), BUDGET, "what was charged is given back");
}

/// The sample with options that the upper bits of the flags choose.
fn varied(filter: Filter, input: FilterInput<'_>) -> Filter {
    let choice = input.flags >> 4;
    let reinterpret = |datatype| if choice == 0 { datatype } else { Input::new(&[choice]).datatype().into() };
    match filter {
        Filter::ScaleFloat(mut options) => {
            let width = 1u64.checked_shl(u32::from(choice & 3)).and_then(ByteWidth::from_bytes);
            options.byte_width = width.unwrap_or(options.byte_width);
            Filter::ScaleFloat(options)
        }
        Filter::WebP(mut options) => {
            options.format = PixelFormat::from_code(choice).unwrap_or(options.format);
            Filter::WebP(options)
        }
        Filter::Delta { level, reinterpret: none } => Filter::Delta { level, reinterpret: reinterpret(none) },
        Filter::DoubleDelta { level, reinterpret: none } => {
            Filter::DoubleDelta { level, reinterpret: reinterpret(none) }
        }
        other => other,
    }
}

/// Encodes the rest of the input with the filter that the first byte chooses, and decodes it again.
/// What an encoder accepts comes back, except from scaled floats, which round.
pub fn round_trip(data: &[u8]) {
    let mut first = Input::new(data);
    let rows = registry::all();
    let row = usize::from(first.u8()).checked_rem(rows.len()).and_then(|index| rows.get(index));
    let Some(row) = row else { return };
    let input = FilterInput::parse(first.rest());
    let (context, cells) = (input.context(), input.data);
    let pipeline = Pipeline::new(vec![varied(row.sample(), input)]);
    let key = Key::new([7; 32]);
    let key = (row.feature == Some("encryption")).then_some(&key);
    let (Ok(encoder), Ok(decoder)) =
        (pipeline.encoder_with_key(context, key), pipeline.decoder_with_key(context, key))
    else {
        return;
    };
    let mut scratch = Scratch::new().with_nonces(|| [9; 12]);
    let (mut metadata, mut stored) = (Vec::new(), Vec::new());
    let budget = Budget::unlimited();
    if encoder.encodes_strings() {
        let offsets: Vec<u64> = (0..to_u64(cells.len())).step_by(input.out_len.clamp(1, 64)).collect();
        let encoded = encoder.encode_string_chunk(cells, &offsets, &mut scratch, &mut metadata, &mut stored);
        if encoded.is_ok() {
            let (mut values, mut starts) = (Vec::new(), Vec::new());
            let decoded = decoder.decode_string_chunk(
                &metadata,
                &stored,
                &mut values,
                &mut starts,
                &mut scratch,
                &budget,
            );
            assert_same(&decoded, &Ok(()));
            assert_eq!((values.as_slice(), starts), (cells, offsets), "{}", row.name);
        }
    } else if encoder.encode_chunk(cells, &mut scratch, &mut metadata, &mut stored).is_ok() {
        let mut out = vec![0; cells.len()];
        let decoded = decoder.decode_chunk(&metadata, &stored, &mut out, &mut scratch, &budget);
        assert_same(&decoded, &Ok(()));
        assert!(out == cells || row.name == "scale-float", "{}", row.name);
    }
}
