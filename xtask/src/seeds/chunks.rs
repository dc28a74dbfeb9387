//! Candidates for the filters: first chunks of the fixtures' tiles, and chunks created here.

use tdb_array::stored::Fragment;
use tdb_codec::{Datatype, FormatVersion, Reader, to_u64};
use tdb_filters::{Filter, Key, Pipeline, Scratch, TileContext, registry};
use tdb_fragment::{DataFile, DataFilePart};
use tdb_fuzz_bodies::{FilterInput, filter_target};

use super::Seeds;

/// The first chunk of each file whose pipeline is one filter with its usual options.
pub(super) fn from_fragment(from: &str, files: &[(String, Vec<u8>)], fragment: &Fragment, seeds: &mut Seeds) {
    for field in fragment.schema().fields() {
        let part = if field.is_var() { DataFilePart::Var } else { DataFilePart::Fixed };
        let name = DataFile::Field(field.kind, part).name(fragment.schema(), fragment.version());
        let key = format!("{}/{}", fragment.folder(), name.unwrap_or_default());
        let [filter] = field.filters.filters.as_slice() else { continue };
        let Some((_, bytes)) = files.iter().find(|(other, _)| *other == key) else { continue };
        let Some((out_len, metadata, data)) = first_chunk(bytes) else { continue };
        let flags = u8::from(field.is_var());
        let (datatype, version) = (field.datatype, fragment.version());
        let input = FilterInput { datatype, version, flags, out_len, metadata, data };
        if let Some(input) = input.pack() {
            seeds.add(&filter_target(filter.name()), from, input);
        }
    }
}

/// Original length, metadata and data of the first chunk of the first tile.
fn first_chunk(file: &[u8]) -> Option<(usize, &[u8], &[u8])> {
    let mut reader = Reader::new(file);
    reader.u64("chunk count").ok()?;
    let out_len = usize::try_from(reader.u32("original length").ok()?).ok()?;
    let data_len = reader.u32("data length").ok()?;
    let metadata_len = reader.u32("metadata length").ok()?;
    let metadata = reader.take_u64(u64::from(metadata_len), "metadata").ok()?;
    Some((out_len, metadata, reader.take_u64(u64::from(data_len), "data").ok()?))
}

/// Chunks of every filter, encoded here from a few kinds of cells, the cells themselves for the
/// round trip, and a list of names.
pub(super) fn made(seeds: &mut Seeds) {
    // The fixtures' lists of processed conditions are all empty.
    let names = [&[2, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, b'a'][..], &[0; 8]].concat();
    seeds.add("names", "made-two", names);
    let types = [
        Datatype::Uint8,
        Datatype::Int16,
        Datatype::Uint32,
        Datatype::Int64,
        Datatype::Float32,
        Datatype::Float64,
    ];
    let strings = [Datatype::StringAscii, Datatype::StringUtf8];
    for (index, row) in (0u8..).zip(registry::all()) {
        let fixed = types.into_iter().map(|datatype| (datatype, false));
        for (datatype, var) in fixed.chain(strings.map(|datatype| (datatype, true))) {
            for (kind, cells) in cells(datatype, row.name) {
                let from = format!("made-{}-{kind}", datatype.name().to_lowercase());
                let flags = u8::from(var);
                let version = FormatVersion::CURRENT;
                let raw = FilterInput { datatype, version, flags, out_len: 7, metadata: &[], data: &cells };
                if let Some(raw) = raw.pack() {
                    seeds.add(
                        "round_trip",
                        &format!("{from}-{}", row.name),
                        [&[index], raw.as_slice()].concat(),
                    );
                }
                if let Some((metadata, data)) = encode(row.sample(), datatype, var, &cells) {
                    let (metadata, data) = (metadata.as_slice(), data.as_slice());
                    let input =
                        FilterInput { datatype, version, flags, out_len: cells.len(), metadata, data };
                    input.pack().into_iter().for_each(|input| {
                        seeds.add(&filter_target(row.name), &from, input);
                    });
                }
            }
        }
    }
}

/// Ascending, repeated and irregular cells; for images, as many bytes as an image has.
fn cells(datatype: Datatype, filter: &str) -> [(&'static str, Vec<u8>); 3] {
    let count = if filter == "webp" { 768u64.checked_div(to_u64(datatype.size())).unwrap_or(0) } else { 48 };
    let bytes = |value: fn(u64) -> u64| {
        let cell = move |index: u64| value(index).to_le_bytes().into_iter().take(datatype.size());
        (0..count).flat_map(cell).collect()
    };
    [
        ("ascending", bytes(|index| index.saturating_mul(2))),
        ("repeated", bytes(|index| index >> 3)),
        ("irregular", bytes(|index| index.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) & 0x7f7f_7f7f)),
    ]
}

fn encode(filter: Filter, datatype: Datatype, var: bool, cells: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let key = Key::new([7; 32]);
    let key = (filter == Filter::Aes256Gcm).then_some(&key);
    let mut context = TileContext::new(datatype, to_u64(datatype.size()), FormatVersion::CURRENT);
    context.var = var;
    let encoder = Pipeline::new(vec![filter]).encoder_with_key(context, key).ok()?;
    let mut scratch = Scratch::new().with_nonces(|| [9; 12]);
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    if encoder.encodes_strings() {
        let offsets: Vec<u64> = (0..to_u64(cells.len())).step_by(5).collect();
        encoder.encode_string_chunk(cells, &offsets, &mut scratch, &mut metadata, &mut data).ok()?;
    } else {
        encoder.encode_chunk(cells, &mut scratch, &mut metadata, &mut data).ok()?;
    }
    Some((metadata, data))
}
