//! Codecs as filters, and filters as codecs.

use tdb_array::schema::{Filter, Pipeline};

use crate::blosc::{Inner, Shuffle};
use crate::chain::Chain;
use crate::element::Element;
use crate::options::Version;
use crate::packed::PackedCodec;

/// What is used where the other side has nothing of the kind.
const LEVEL: i32 = 3;

/// The filters of an array whose chunks have these codecs, and what is otherwise.
pub(crate) fn of_codecs(chain: &Chain, element: Element) -> (Pipeline, Option<String>) {
    let mut filters = Vec::new();
    let mut others: Vec<&str> = chain.changes().collect();
    for codec in &chain.packed {
        match codec {
            PackedCodec::Gzip { level } | PackedCodec::Zlib { level } => {
                filters.push(Filter::Gzip { level: (*level).clamp(-1, 9) });
            }
            PackedCodec::Zstd { level: 0 } => filters.push(Filter::Zstd { level: LEVEL }),
            PackedCodec::Zstd { level } => filters.push(Filter::Zstd { level: (*level).clamp(-7, 22) }),
            PackedCodec::Bzip2 { level } => filters.push(Filter::Bzip2 { level: (*level).clamp(1, 9) }),
            PackedCodec::Lz4 => filters.push(Filter::Lz4 { level: -1 }),
            PackedCodec::Blosc { inner, level, shuffle, .. } => {
                match shuffle {
                    Shuffle::Bytes if element.word() > 1 => filters.push(Filter::ByteShuffle),
                    Shuffle::Bits => filters.push(Filter::BitShuffle),
                    _ => {}
                }
                match inner {
                    _ if *level == 0 => {}
                    Inner::Lz4 => filters.push(Filter::Lz4 { level: -1 }),
                    Inner::Zlib => filters.push(Filter::Gzip { level: *level }),
                    Inner::Zstd => filters.push(Filter::Zstd { level: *level }),
                    Inner::BloscLz => {
                        others.push("blosc with another codec than lz4, zlib and zstd");
                        filters.push(Filter::Zstd { level: LEVEL });
                    }
                }
            }
            PackedCodec::Shuffle { size } if *size == element.word() => filters.push(Filter::ByteShuffle),
            PackedCodec::Shuffle { .. } => others.push("shuffle"),
            PackedCodec::Sum { .. } => filters.push(Filter::ChecksumMd5),
        }
    }
    if !others.is_empty() && filters.is_empty() {
        filters.push(Filter::Zstd { level: LEVEL });
    }
    let note = (!others.is_empty()).then(|| {
        let names = filters.iter().map(name).collect::<Vec<_>>().join(", ");
        format!("arrays have no filter for {}: the filters are {names}", others.join(", "))
    });
    (Pipeline::new(filters), note)
}

/// The codecs of a field whose tiles have these filters, and what is otherwise. `size` is that of a
/// value, 1 for texts and bytes of any length.
pub(crate) fn of_filters(
    pipeline: Option<&Pipeline>,
    size: u8,
    version: Version,
) -> (Vec<PackedCodec>, Option<String>) {
    let usual = || usual(size);
    let Some(pipeline) = pipeline else { return (usual(), None) };
    let (mut shuffle, mut packed, mut others, mut sum) = (Shuffle::None, None, Vec::new(), false);
    for filter in &pipeline.filters {
        match filter {
            Filter::None => {}
            Filter::ByteShuffle if packed.is_none() => shuffle = Shuffle::Bytes,
            Filter::BitShuffle if packed.is_none() => shuffle = Shuffle::Bits,
            Filter::Gzip { .. } | Filter::Zstd { .. } | Filter::Lz4 { .. } | Filter::Bzip2 { .. }
                if packed.is_none() =>
            {
                packed = Some(filter);
            }
            // Version 2 has no checksum that all of its readers know.
            Filter::ChecksumMd5 | Filter::ChecksumSha256 if version == Version::V3 => sum = true,
            other => others.push(name(other)),
        }
    }
    let blosc =
        |inner, level: i32| vec![PackedCodec::Blosc { inner, level: level.clamp(1, 9), shuffle, size }];
    let level = |level: i32, usual: i32| if level < 0 { usual } else { level };
    let mut codecs = match (packed, shuffle) {
        _ if !others.is_empty() => usual(),
        (None, Shuffle::None) => Vec::new(),
        // Blosc alone shuffles bits.
        (None, _) => blosc(Inner::Lz4, 1),
        (Some(Filter::Gzip { level: own }), Shuffle::None) => {
            vec![PackedCodec::Gzip { level: level(*own, 6) }]
        }
        (Some(Filter::Zstd { level: own }), Shuffle::None) => vec![PackedCodec::Zstd { level: *own }],
        (Some(Filter::Gzip { level: own }), _) => blosc(Inner::Zlib, level(*own, 6)),
        (Some(Filter::Zstd { level: own }), _) => blosc(Inner::Zstd, level(*own, LEVEL)),
        (Some(Filter::Lz4 { .. }), _) => blosc(Inner::Lz4, 5),
        (Some(Filter::Bzip2 { level }), Shuffle::None) => {
            vec![PackedCodec::Bzip2 { level: (*level).clamp(1, 9) }]
        }
        _ => {
            others.push("a shuffle before bzip2");
            usual()
        }
    };
    if sum {
        codecs.push(PackedCodec::Sum { kind: crate::checksum::Checksum::Crc32c, at_end: true });
    }
    let note = (!others.is_empty()).then(|| {
        let kind = if size > 1 { "blosc with zstd" } else { "zstd" };
        format!("Zarr has no codec for {}: the chunks are compressed with {kind}", others.join(", "))
    });
    (codecs, note)
}

fn usual(size: u8) -> Vec<PackedCodec> {
    match size {
        0 | 1 => vec![PackedCodec::Zstd { level: LEVEL }],
        size => {
            vec![PackedCodec::Blosc { inner: Inner::Zstd, level: LEVEL, shuffle: Shuffle::Bytes, size }]
        }
    }
}

/// The name of a filter in messages.
fn name(filter: &Filter) -> &'static str {
    match filter {
        Filter::None => "none",
        Filter::Gzip { .. } => "gzip",
        Filter::Zstd { .. } => "zstd",
        Filter::Lz4 { .. } => "lz4",
        Filter::Rle { .. } => "rle",
        Filter::Bzip2 { .. } => "bzip2",
        Filter::DoubleDelta { .. } => "double-delta",
        Filter::BitWidthReduction { .. } => "bit-width reduction",
        Filter::BitShuffle => "bitshuffle",
        Filter::ByteShuffle => "byteshuffle",
        Filter::PositiveDelta { .. } => "positive delta",
        Filter::ChecksumMd5 | Filter::ChecksumSha256 => "a checksum",
        Filter::Dictionary { .. } => "dictionary",
        Filter::ScaleFloat(_) => "scale-float",
        Filter::Xor => "xor",
        Filter::WebP(_) => "webp",
        Filter::Delta { .. } => "delta",
        _ => "a filter",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;
    use crate::chain::v3_codecs;

    fn filters(codecs: &serde_json::Value, element: &str) -> (Vec<Filter>, Option<String>) {
        let none = Map::new();
        let element = Element::v3(&json!(element)).unwrap();
        let chain = Chain::v3(&v3_codecs(codecs, &none).unwrap(), element, 1).unwrap();
        let (pipeline, note) = of_codecs(&chain, element);
        (pipeline.filters, note)
    }

    #[test]
    fn codecs_become_the_filters_that_do_the_same() {
        let blosc = |cname: &str, shuffle: &str| json!(["bytes", {"name": "blosc", "configuration": {"cname": cname, "clevel": 5, "shuffle": shuffle, "typesize": 4}}]);
        assert_eq!(
            filters(&blosc("zstd", "shuffle"), "int32").0,
            [Filter::ByteShuffle, Filter::Zstd { level: 5 }]
        );
        assert_eq!(
            filters(&blosc("lz4", "bitshuffle"), "int32").0,
            [Filter::BitShuffle, Filter::Lz4 { level: -1 }]
        );
        assert_eq!(filters(&blosc("zlib", "shuffle"), "int8").0, [Filter::Gzip { level: 5 }]);
        assert!(filters(&blosc("blosclz", "noshuffle"), "int32").1.unwrap().contains("the filters are zstd"));
        let sum = json!(["bytes", {"name": "gzip", "configuration": {"level": 9}}, "crc32c"]);
        assert_eq!(filters(&sum, "int32"), (vec![Filter::Gzip { level: 9 }, Filter::ChecksumMd5], None));
        assert_eq!(filters(&json!(["bytes"]), "int32"), (Vec::new(), None));
        let delta = json!([{"name": "numcodecs.delta", "configuration": {"dtype": "<i4"}}, "bytes"]);
        assert!(filters(&delta, "int32").1.unwrap().contains("delta"));
    }

    #[test]
    fn filters_become_the_codecs_that_do_the_same() {
        let codecs = |filters: Vec<Filter>, version| of_filters(Some(&Pipeline::new(filters)), 8, version);
        let zstd = Filter::Zstd { level: 7 };
        assert_eq!(codecs(vec![zstd.clone()], Version::V3), (vec![PackedCodec::Zstd { level: 7 }], None));
        let shuffled = PackedCodec::Blosc { inner: Inner::Zstd, level: 7, shuffle: Shuffle::Bits, size: 8 };
        assert_eq!(codecs(vec![Filter::BitShuffle, zstd.clone()], Version::V3), (vec![shuffled], None));
        assert_eq!(codecs(vec![], Version::V2), (Vec::new(), None));
        assert_eq!(codecs(vec![Filter::ChecksumMd5], Version::V3).0.len(), 1);
        assert!(codecs(vec![Filter::ChecksumMd5], Version::V2).1.unwrap().contains("checksum"));
        let (found, note) = codecs(vec![Filter::Xor, zstd], Version::V3);
        assert_eq!(found, usual(8));
        assert!(note.unwrap().contains("xor"));
        assert_eq!(of_filters(None, 1, Version::V3), (vec![PackedCodec::Zstd { level: 3 }], None));
    }
}
