//! Chains of two, three and four filters: every pair and every triple of the registry, compressors,
//! checksums and encryption in every position, and a sample of fours. If a chain fails, the error
//! is compared with the types that the reference passes from filter to filter, and with the actual
//! output of the filters before it.

use std::collections::BTreeMap;

use tdb_codec::{Datatype, FormatVersion};
use tdb_filters::{Error, ErrorKind, Filter, Pipeline, Scratch, TileContext};

use crate::common::cells::{Values, starts};
use crate::common::rules::{
    decreases, holds_strings, positive_delta_integers, refuses_type, rescaled, type_after,
};
use crate::common::{Random, Tile, key_for, registry_filters, scratch, there_and_back, version};

/// The outcomes of chains, and the number of each.
type Counts = BTreeMap<&'static str, usize>;

/// A chain that runs on one kind of tile.
struct Chain<'a> {
    filters: &'a [Filter],
    context: TileContext,
}

impl Chain<'_> {
    /// The type that each filter sees according to the reference.
    fn types(&self) -> Vec<Datatype> {
        let mut datatype = self.context.datatype;
        self.filters
            .iter()
            .map(|filter| {
                let seen = datatype;
                datatype = type_after(filter, datatype, &self.context);
                seen
            })
            .collect()
    }

    /// The position and the kind of the error that follows from the types alone.
    fn refusal_by_type(&self) -> Option<(usize, ErrorKind)> {
        for (position, (filter, datatype)) in self.filters.iter().zip(self.types()).enumerate() {
            if refuses_type(filter, datatype, &self.context) {
                return Some((position + 1, ErrorKind::InputType { datatype }));
            }
            if holds_strings(filter, &self.context) && position > 0 {
                return Some((position + 1, ErrorKind::NotFirst));
            }
        }
        None
    }

    fn pipeline(&self) -> Pipeline {
        Pipeline::new(self.filters.to_vec())
    }

    /// The output of the first `count` filters for a tile that is one chunk: metadata and data.
    fn front(&self, count: usize, tile: &Tile<'_>, scratch: &mut Scratch) -> (Vec<u8>, Vec<u8>) {
        let pipeline = Pipeline::new(self.filters[..count].to_vec());
        let key = key_for(&pipeline.filters);
        let encoder = pipeline.encoder_with_key(self.context, key.as_ref()).unwrap();
        let (mut metadata, mut data) = (Vec::new(), Vec::new());
        if encoder.encodes_strings() {
            let starts = tile.starts.unwrap();
            encoder.encode_string_chunk(tile.input, starts, scratch, &mut metadata, &mut data).unwrap();
        } else {
            encoder.encode_chunk(tile.input, scratch, &mut metadata, &mut data).unwrap();
        }
        (metadata, data)
    }

    /// Checks that an encoding error matches the output of the filters before it.
    fn check_refusal(&self, error: &Error, tile: &Tile<'_>, scratch: &mut Scratch) {
        let what = || format!("{:?} of {:?}: {error}", self.filters, self.context);
        let front = error.position - 1;
        let (metadata, data) = self.front(front, tile, scratch);
        // Encryption in the middle: the front alone would be encrypted again at its end, including
        // the metadata.
        let encrypted = key_for(&self.filters[..front]).is_some();
        let datatype = self.types()[front];
        match (&self.filters[front], error.kind) {
            (
                Filter::Rle { .. }
                | Filter::Xor
                | Filter::Delta { .. }
                | Filter::DoubleDelta { .. }
                | Filter::ScaleFloat(_),
                ErrorKind::PartialValue { bytes, size },
            ) => {
                assert!(!bytes.is_multiple_of(size), "{}", what());
                let is_data = bytes == data.len() as u64;
                let is_metadata = bytes <= metadata.len() as u64;
                assert!(is_data || is_metadata || encrypted, "{}", what());
            }
            (Filter::PositiveDelta { max_window }, ErrorKind::Decreasing { .. }) => {
                let integers = positive_delta_integers(datatype, &self.context).unwrap();
                assert!(encrypted || decreases(&data, integers, *max_window), "{}", what());
            }
            (Filter::ScaleFloat(options), ErrorKind::OutOfRange { .. }) => {
                assert!(encrypted || rescaled(options, datatype.size(), &data).is_none(), "{}", what());
            }
            (Filter::WebP(options), ErrorKind::WrongLength { expected, .. }) => {
                assert_eq!(expected, u64::from(options.x_extent) * u64::from(options.y_extent));
                assert!(encrypted || data.len() as u64 != expected, "{}", what());
            }
            _ => panic!("not an error that the documents describe: {}", what()),
        }
    }

    /// Whether scaled floats in the chain are unchanged after decoding, if this can be determined.
    fn keeps_bits(&self, tile: &Tile<'_>, scratch: &mut Scratch) -> Option<bool> {
        let scaling = |filter: &Filter| matches!(filter, Filter::ScaleFloat(_));
        let Some(at) = self.filters.iter().position(scaling) else { return Some(true) };
        // A second one sees the first one's integers as floats.
        if self.filters[at + 1..].iter().any(scaling) || key_for(&self.filters[..at]).is_some() {
            return None;
        }
        let Filter::ScaleFloat(options) = &self.filters[at] else { return None };
        let (_, data) = self.front(at, tile, scratch);
        rescaled(options, self.types()[at].size(), &data).map(|rounded| rounded == data)
    }

    /// Encodes and decodes a tile with the chain.
    fn check(&self, tile: &Tile<'_>, scratch: &mut Scratch, counts: &mut Counts) {
        let what = || format!("{:?} of {:?}", self.filters, self.context);
        let found = there_and_back(&self.pipeline(), tile, scratch);
        let by_type = self.refusal_by_type();
        let outcome = match (found, by_type) {
            (Err(error), Some(expected)) => {
                assert_eq!((error.position, error.kind), expected, "{}", what());
                assert_eq!(error.filter, self.filters[error.position - 1].name());
                "refused by type"
            }
            (_, Some(expected)) => panic!("{}: should be refused with {expected:?}", what()),
            (Err(error), None) => {
                self.check_refusal(&error, tile, scratch);
                "refused for the data"
            }
            (Ok(back), None) => match (self.keeps_bits(tile, scratch), back) {
                (Some(true), Ok(back)) => {
                    assert_eq!(back.cells, tile.input, "{}", what());
                    if let Some(starts) = back.starts {
                        assert_eq!(Some(starts.as_slice()), tile.starts, "{}", what());
                    }
                    "came back"
                }
                (Some(true), Err(error)) => panic!("{}: {error}", what()),
                // Rounding changes bytes that an earlier filter decodes: the result is other cells,
                // or an error of that filter.
                (Some(false), Ok(back)) => {
                    assert_ne!(back.cells, tile.input, "{}", what());
                    "rounded"
                }
                (Some(false), Err(_)) => "rounded",
                (None, _) => "rounded more than once",
            },
        };
        *counts.entry(outcome).or_default() += 1;
    }
}

/// 768 bytes of numbers that never decrease: an image of the registry's sample, and whole floats.
fn tile_input(datatype: Datatype, values: Values) -> (Vec<u8>, Option<Vec<u64>>) {
    let count = 768 / datatype.size();
    let starts = datatype.is_string().then(|| starts(count, datatype.size()));
    (values.bytes(datatype, count), starts)
}

fn check_all<'f>(
    chains: impl Iterator<Item = Vec<&'f Filter>> + Clone,
    datatypes: impl Iterator<Item = Datatype>,
    version: FormatVersion,
    values: Values,
) -> Counts {
    let (mut scratch, mut counts) = (scratch(), Counts::new());
    for datatype in datatypes {
        let (input, starts) = tile_input(datatype, values);
        let context = match starts {
            Some(_) => TileContext::values(datatype, version),
            None => TileContext::new(datatype, datatype.size() as u64, version),
        };
        let tile = Tile { context, input: &input, starts: starts.as_deref() };
        for filters in chains.clone() {
            let filters: Vec<Filter> = filters.into_iter().cloned().collect();
            Chain { filters: &filters, context }.check(&tile, &mut scratch, &mut counts);
        }
    }
    println!("{values:?} at version {}: {counts:?}", version.number());
    counts
}

#[test]
fn every_pair_of_filters_works_on_every_datatype_or_is_refused_as_documented() {
    let filters = registry_filters();
    let pairs = filters.iter().flat_map(|a| filters.iter().map(move |b| vec![a, b]));
    for (number, values) in [
        (22, Values::Sorted),
        (22, Values::FullRange),
        (22, Values::Constant),
        (19, Values::Sorted),
        (11, Values::Sorted),
    ] {
        let counts = check_all(pairs.clone(), Datatype::all(), version(number), values);
        assert_eq!(counts.values().sum::<usize>(), 19 * 19 * 44);
        assert!(counts["came back"] > 7_000, "{counts:?}");
    }
}

#[test]
fn every_triple_of_filters_works_or_is_refused_as_documented() {
    let filters = registry_filters();
    let triples = filters.iter().flat_map(|a| {
        let filters = &filters;
        filters.iter().flat_map(move |b| filters.iter().map(move |c| vec![a, b, c]))
    });
    let datatypes = [
        Datatype::Uint8,
        Datatype::Int16,
        Datatype::Int32,
        Datatype::Float32,
        Datatype::Float64,
        Datatype::DatetimeMs,
        Datatype::StringAscii,
    ];
    let counts = check_all(triples, datatypes.into_iter(), FormatVersion::CURRENT, Values::Sorted);
    assert_eq!(counts.values().sum::<usize>(), 19 * 19 * 19 * 7);
    assert!(counts["came back"] > 15_000, "{counts:?}");
}

#[test]
fn a_sample_of_fours_works_or_is_refused_as_documented() {
    let filters = registry_filters();
    let mut random = Random(4);
    let fours: Vec<Vec<&Filter>> =
        (0..3000).map(|_| (0..4).map(|_| &filters[random.below(filters.len())]).collect()).collect();
    let datatypes = [Datatype::Uint8, Datatype::Int64, Datatype::Float64, Datatype::StringUtf8];
    let counts = check_all(fours.into_iter(), datatypes.into_iter(), FormatVersion::CURRENT, Values::Sorted);
    assert_eq!(counts.values().sum::<usize>(), 4 * 3000);
    assert!(counts["came back"] > 2_000, "{counts:?}");
}

#[test]
fn encryption_and_checksums_stand_anywhere_between_compressors() {
    let filters = registry_filters();
    let named = |name: &str| filters.iter().find(|filter| filter.name() == name).unwrap();
    let compressors = ["gzip", "zstd", "lz4", "bzip2"].map(named);
    let guards = ["aes-256-gcm", "checksum-md5", "checksum-sha256"].map(named);
    let mut chains = Vec::new();
    for a in compressors {
        for b in compressors {
            for guard in guards {
                for other in guards {
                    chains.extend([
                        vec![guard, a, other, b],
                        vec![a, guard, b, other],
                        vec![a, b, guard, other],
                        vec![guard, other, a, b],
                    ]);
                }
            }
        }
    }
    let datatypes = [Datatype::Int32, Datatype::Float64, Datatype::StringAscii];
    let counts =
        check_all(chains.into_iter(), datatypes.into_iter(), FormatVersion::CURRENT, Values::FullRange);
    // None of these filters depends on types or values, so none may fail.
    assert_eq!(counts, Counts::from([("came back", 16 * 9 * 4 * 3)]));
}
