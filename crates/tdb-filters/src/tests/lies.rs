//! Tests with wrong fields: every length, count, window, width, number, run and digest of every
//! filter, and small chunks that claim or produce a lot of data. Whatever value a field has, the
//! result is a typed error within the budget.

use std::time::{Duration, Instant};

use tdb_codec::{Budget, Datatype, FormatVersion};

use super::{context, decode, gentle};
use crate::{Error, ErrorKind, Filter, Pipeline, Scratch, TileContext, registry};

/// A field of a chunk that contains a length, a count or a digest.
#[derive(Clone)]
struct Field {
    what: &'static str,
    /// Whether it is in the metadata; otherwise it is in the data.
    metadata: bool,
    at: usize,
    width: usize,
    big_endian: bool,
}

const fn metadata(what: &'static str, at: usize, width: usize) -> Field {
    Field { what, metadata: true, at, width, big_endian: false }
}

const fn data(what: &'static str, at: usize, width: usize) -> Field {
    Field { what, metadata: false, at, width, big_endian: false }
}

const fn big(mut field: Field) -> Field {
    field.big_endian = true;
    field
}

/// An encoded chunk of one filter.
struct Sample {
    pipeline: Pipeline,
    context: TileContext,
    metadata: Vec<u8>,
    data: Vec<u8>,
    len: usize,
}

fn key() -> Option<crate::Key> {
    cfg!(feature = "encryption").then(|| crate::Key::new([7; 32]))
}

/// A chunk of a filter of the registry on its natural type, and the fields in it that can be wrong.
fn sample(row: &registry::Row) -> (Sample, Vec<Field>) {
    let part_lengths = || vec![metadata("part count", 0, 4), metadata("part length", 4, 4)];
    let compressor = || {
        vec![
            metadata("metadata part count", 0, 4),
            metadata("data part count", 4, 4),
            metadata("original length", 8, 4),
            metadata("compressed length", 12, 4),
        ]
    };
    let strings = || {
        let names =
            ["metadata part count", "data part count", "original bytes", "encoded bytes", "offsets bytes"];
        let mut fields: Vec<Field> =
            names.into_iter().enumerate().map(|(i, what)| metadata(what, 4 * i, 4)).collect();
        fields.push(metadata("string length width", 21, 1));
        fields
    };
    let mut datatype = Datatype::Int32;
    let mut var = false;
    let fields = match row.name {
        "none" => Vec::new(),
        "gzip" | "zstd" | "lz4" | "bzip2" => compressor(),
        "rle" => [compressor(), vec![big(data("run length", 4, 2))]].concat(),
        "delta" => [compressor(), vec![data("value count", 0, 8)]].concat(),
        "double-delta" => [compressor(), vec![data("value count", 1, 8)]].concat(),
        "bit-width-reduction" => vec![
            metadata("input length", 0, 4),
            metadata("window count", 4, 4),
            metadata("bit width", 12, 1),
            metadata("window length", 13, 4),
        ],
        "positive-delta" => vec![metadata("window count", 0, 4), metadata("window length", 8, 4)],
        "bitshuffle" | "byteshuffle" | "xor" => part_lengths(),
        "scale-float" => {
            datatype = Datatype::Float64;
            part_lengths()
        }
        "webp" => {
            datatype = Datatype::Uint8;
            part_lengths()
        }
        "checksum-md5" | "checksum-sha256" => vec![
            metadata("metadata checksum count", 0, 4),
            metadata("data checksum count", 4, 4),
            metadata("covered length", 8, 8),
            metadata("digest", 16, 4),
        ],
        "aes-256-gcm" => vec![
            metadata("metadata part count", 0, 4),
            metadata("data part count", 4, 4),
            metadata("plaintext length", 8, 4),
            metadata("ciphertext length", 12, 4),
            metadata("nonce", 16, 4),
            metadata("tag", 28, 4),
            data("ciphertext", 0, 4),
        ],
        "dictionary" => {
            (datatype, var) = (Datatype::StringAscii, true);
            let more = vec![
                metadata("id width", 20, 1),
                metadata("dictionary length", 22, 4),
                big(metadata("entry length", 26, 1)),
                big(data("id", 0, 1)),
            ];
            [strings(), more].concat()
        }
        name => panic!("a filter without a list of fields: {name}"),
    };
    let version = FormatVersion::CURRENT;
    let context = if var { TileContext::values(datatype, version) } else { context(datatype) };
    (encoded(row.pipeline(), context), fields)
}

fn encoded(pipeline: Pipeline, context: TileContext) -> Sample {
    let key = key().filter(|_| pipeline.filters.contains(&Filter::Aes256Gcm));
    let encoder = pipeline.encoder_with_key(context, key.as_ref()).unwrap();
    let mut scratch = Scratch::new().with_nonces(|| [9; 12]);
    let (mut metadata, mut data) = (Vec::new(), Vec::new());
    let len;
    if encoder.encodes_strings() {
        let values = b"abcabcdefgabc";
        len = values.len();
        let starts = [0, 3, 6, 10];
        encoder.encode_string_chunk(values, &starts, &mut scratch, &mut metadata, &mut data).unwrap();
    } else {
        let input = match context.datatype {
            Datatype::Float64 => (0..96u8).flat_map(|i| f64::from(i).to_le_bytes()).collect(),
            datatype => gentle(datatype, 768, 3),
        };
        len = input.len();
        encoder.encode_chunk(&input, &mut scratch, &mut metadata, &mut data).unwrap();
    }
    Sample { pipeline, context, metadata, data, len }
}

/// The most memory that any correct chunk here needs.
const BUDGET: u64 = 64 << 10;

impl Sample {
    /// Decodes, and checks that no more memory was held than the budget allows.
    fn decode(&self) -> Result<Vec<u8>, Error> {
        let key = key().filter(|_| self.pipeline.filters.contains(&Filter::Aes256Gcm));
        let decoder = self.pipeline.decoder_with_key(self.context, key.as_ref()).unwrap();
        if !decoder.decodes_strings() && key.is_none() {
            return decode(&decoder, &self.metadata, &self.data, self.len);
        }
        let (budget, mut scratch) = (Budget::new(BUDGET), Scratch::new());
        let mut out = vec![0; self.len];
        let result = if decoder.decodes_strings() {
            let (mut values, mut starts) = (Vec::new(), Vec::new());
            let (metadata, data) = (&self.metadata, &self.data);
            let result =
                decoder.decode_string_chunk(metadata, data, &mut values, &mut starts, &mut scratch, &budget);
            out = values;
            result
        } else {
            decoder.decode_chunk(&self.metadata, &self.data, &mut out, &mut scratch, &budget)
        };
        assert_eq!(budget.available(), BUDGET);
        assert!(scratch.capacity() as u64 <= 2 * BUDGET);
        result.map(|()| out)
    }

    fn bytes(&mut self, field: &Field) -> &mut [u8] {
        let side = if field.metadata { &mut self.metadata } else { &mut self.data };
        &mut side[field.at..field.at + field.width]
    }

    fn get(&mut self, field: &Field) -> u64 {
        let mut wide = [0; 8];
        wide[..field.width].copy_from_slice(self.bytes(field));
        if field.big_endian {
            u64::from_be_bytes(wide) >> (64 - 8 * field.width)
        } else {
            u64::from_le_bytes(wide)
        }
    }

    fn set(&mut self, field: &Field, value: u64) {
        let bits = 8 * field.width;
        let wide = if field.big_endian { (value << (64 - bits)).to_be_bytes() } else { value.to_le_bytes() };
        let width = field.width;
        self.bytes(field).copy_from_slice(&wide[..width]);
    }
}

#[test]
fn no_filter_believes_a_field_that_lies() {
    let mut lies = 0;
    for row in registry::all().iter().filter(|row| row.available) {
        let (mut sample, fields) = sample(row);
        let honest = sample.decode().unwrap();
        for field in &fields {
            let truth = sample.get(field);
            let max = u64::MAX >> (64 - 8 * field.width);
            let wrong = [0, 1, 2, truth.wrapping_add(1), truth.wrapping_sub(1), max / 2 + 1, max - 7, max];
            for value in wrong.into_iter().map(|value| value & max).filter(|value| *value != truth) {
                sample.set(field, value);
                let error = sample.decode().expect_err(&format!("{}: {} = {value}", row.name, field.what));
                assert!(error.filter == row.name || error.position == 0, "{error}");
                lies += 1;
            }
            sample.set(field, truth);
        }
        assert_eq!(sample.decode().unwrap(), honest, "{}", row.name);
    }
    assert!(lies > 100, "only {lies} lies");
}

#[test]
fn runs_of_strings_that_lie_are_refused() {
    let context = TileContext::values(Datatype::StringAscii, FormatVersion::CURRENT);
    let mut sample = encoded(Pipeline::new(vec![Filter::Rle { level: -1 }]), context);
    assert_eq!(sample.decode().unwrap(), b"abcabcdefgabc");
    let fields = [
        big(data("run length", 0, 1)),
        big(data("string length", 1, 1)),
        metadata("run length width", 20, 1),
        metadata("string length width", 21, 1),
        metadata("offsets bytes", 16, 4),
    ];
    for field in fields {
        let truth = sample.get(&field);
        for value in [0, 1, 2, 4, 5, 0x7f, 0xff].into_iter().filter(|value| *value != truth) {
            sample.set(&field, value);
            assert!(sample.decode().is_err(), "{} = {value}", field.what);
        }
        sample.set(&field, truth);
    }
}

#[test]
fn a_stream_that_makes_far_more_than_the_chunk_says_is_stopped_there() {
    let zeros = vec![0; 8 << 20];
    for row in registry::all().iter().filter(|row| row.available) {
        if !matches!(row.name, "gzip" | "zstd" | "lz4" | "bzip2" | "rle") {
            continue;
        }
        let whole = encode_whole(row, &zeros);
        assert!(whole.1.len() < zeros.len() / 200, "{} makes {} bytes", row.name, whole.1.len());
        // The chunk's length is 100 bytes; its stream would produce 8 MiB.
        let block = [0, 1, 100, u32::try_from(whole.1.len()).unwrap()].map(u32::to_le_bytes).concat();
        let sample = Sample {
            pipeline: row.pipeline(),
            context: context(Datatype::Int32),
            metadata: block,
            data: whole.1,
            len: 100,
        };
        let started = Instant::now();
        let error = sample.decode().unwrap_err();
        assert_eq!(error.filter, row.name);
        assert!(started.elapsed() < Duration::from_secs(2), "{} went on", row.name);
    }
}

fn encode_whole(row: &registry::Row, input: &[u8]) -> (Vec<u8>, Vec<u8>) {
    super::encode(&row.pipeline(), context(Datatype::Int32), input).unwrap()
}

#[test]
fn a_chunk_that_claims_gigabytes_between_two_filters_is_over_the_budget() {
    for row in registry::all().iter().filter(|row| row.available && row.compressor.is_some()) {
        if row.name == "dictionary" {
            continue;
        }
        // The filter follows a byteshuffle, whose metadata and data are both claimed to be 4 GiB.
        // With RLE or a dictionary of strings, the same lengths are claims about the caller's
        // vectors; the tests above cover them.
        for at in [8, 16] {
            let pipeline = Pipeline::new(vec![Filter::ByteShuffle, row.sample()]);
            let mut sample = encoded(pipeline, context(Datatype::Int32));
            sample.metadata[at..at + 4].copy_from_slice(&u32::MAX.to_le_bytes());
            let error = sample.decode().unwrap_err();
            assert_eq!(error.kind, ErrorKind::OverBudget { size: u64::from(u32::MAX) }, "{} {at}", row.name);
        }
    }
}

#[test]
fn counts_of_parts_and_windows_are_compared_with_the_bytes_there_are() {
    // A kilobyte of parts that each claim 4 GiB: the sum is over any budget, and no list is
    // allocated for them.
    for row in registry::all().iter().filter(|row| row.available && row.compressor.is_some()) {
        if row.name == "dictionary" {
            continue;
        }
        let mut metadata = [0u32, 127].map(u32::to_le_bytes).concat();
        metadata.extend([[0xff; 4], [0; 4]].concat().repeat(127));
        let decoder = row.pipeline().decoder(context(Datatype::Int32)).unwrap();
        assert!(decode(&decoder, &metadata, &[], 16).is_err(), "{}", row.name);
    }
}

#[cfg(feature = "encryption")]
#[test]
fn a_tag_that_does_not_verify_names_the_part() {
    let row = registry::by_name("aes-256-gcm").unwrap();
    let (mut sample, _) = sample(row);
    sample.data[3] ^= 1;
    assert_eq!(sample.decode().unwrap_err().kind, ErrorKind::Decryption { part: 0 });
}
