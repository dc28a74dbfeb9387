//! Codecs from bytes to bytes.

use core::ops::RangeInclusive;

use serde_json::{Map, Value, json};
use tdb_filters::{shuffle_bytes, unshuffle_bytes};

use crate::blosc::{self, Inner, Shuffle};
use crate::checksum::Checksum;
use crate::compressed::{
    Limit, deflate, inflate, lz4_block, to_bzip2, to_lz4_block, to_zstd, unbzip2, unzstd,
};
use crate::error::Problem;
use crate::options::Version;

/// A codec from bytes to bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PackedCodec {
    Gzip {
        level: i32,
    },
    Zlib {
        level: i32,
    },
    Zstd {
        level: i32,
    },
    Bzip2 {
        level: i32,
    },
    /// A block behind the number of its bytes, as numcodecs writes it.
    Lz4,
    Blosc {
        inner: Inner,
        level: i32,
        shuffle: Shuffle,
        size: u8,
    },
    Shuffle {
        size: usize,
    },
    Sum {
        kind: Checksum,
        at_end: bool,
    },
}

impl PackedCodec {
    /// The codec of this name; `None` if there is no such codec. `size` is that of a value.
    pub(crate) fn parse(
        name: &str,
        configuration: &Map<String, Value>,
        size: usize,
    ) -> Result<Option<Self>, Problem> {
        let number = |key: &str, usual: i32| match configuration.get(key) {
            None | Some(Value::Null) => Ok(usual),
            Some(value) => value
                .as_i64()
                .and_then(|number| i32::try_from(number).ok())
                .ok_or_else(|| Problem::damaged(format!("the {key} of codec {name} is {value}"))),
        };
        let meaningless = |key: &str, value: &Value| {
            Problem::damaged(format!("the {key} of codec {name} is {value}, which means nothing"))
        };
        let sum = |kind: Checksum, at_end: bool| {
            let at_end = match configuration.get("location") {
                None | Some(Value::Null) => at_end,
                Some(Value::String(place)) if place == "start" => false,
                Some(Value::String(place)) if place == "end" => true,
                Some(other) => return Err(meaningless("location", other)),
            };
            Ok(Self::Sum { kind, at_end })
        };
        Ok(Some(match name {
            "gzip" => Self::Gzip { level: number("level", 1)? },
            "zlib" => Self::Zlib { level: number("level", 1)? },
            "zstd" => Self::Zstd { level: number("level", 0)? },
            "bz2" => Self::Bzip2 { level: number("level", 1)? },
            "lz4" => Self::Lz4,
            "blosc" => {
                let inner = match configuration.get("cname") {
                    None | Some(Value::Null) => Inner::Lz4,
                    Some(value) => match value.as_str() {
                        Some("lz4" | "lz4hc") => Inner::Lz4,
                        Some("zlib") => Inner::Zlib,
                        Some("zstd") => Inner::Zstd,
                        Some("blosclz") => Inner::BloscLz,
                        Some("snappy") => return Err(Problem::unsupported("blosc with snappy is not read")),
                        _ => return Err(meaningless("cname", value)),
                    },
                };
                let shuffle = match configuration.get("shuffle") {
                    None | Some(Value::Null) => Shuffle::Bytes,
                    Some(value) => match (value.as_str(), value.as_i64()) {
                        (Some("noshuffle"), _) | (_, Some(0)) => Shuffle::None,
                        (Some("shuffle"), _) | (_, Some(1)) => Shuffle::Bytes,
                        (Some("bitshuffle"), _) | (_, Some(2)) => Shuffle::Bits,
                        // By itself, numcodecs chooses by the size of values.
                        (_, Some(-1)) if size == 1 => Shuffle::Bits,
                        (_, Some(-1)) => Shuffle::Bytes,
                        _ => return Err(meaningless("shuffle", value)),
                    },
                };
                let within = |key: &str, usual: i32, range: RangeInclusive<i32>| {
                    let found = number(key, usual)?;
                    range.contains(&found).then_some(found).ok_or_else(|| meaningless(key, &json!(found)))
                };
                let own = within("typesize", i32::try_from(size).unwrap_or(1), 1..=i32::MAX)?;
                // So does blosc itself where values are longer than its format can say.
                let size = u8::try_from(own).unwrap_or(1);
                Self::Blosc { inner, level: within("clevel", 5, 0..=9)?, shuffle, size }
            }
            "shuffle" => {
                let size = usize::try_from(number("elementsize", 4)?).ok().filter(|size| *size > 0);
                Self::Shuffle { size: size.ok_or_else(|| Problem::damaged("the codec shuffle has no size"))? }
            }
            "crc32c" => sum(Checksum::Crc32c, true)?,
            "crc32" => sum(Checksum::Crc32, false)?,
            "adler32" => sum(Checksum::Adler32, false)?,
            "fletcher32" => sum(Checksum::Fletcher32, true)?,
            _ => return Ok(None),
        }))
    }

    /// Bytes of what is encoded, if these are known before.
    pub(crate) const fn stored_bytes(&self, bytes: usize) -> Option<usize> {
        match self {
            Self::Shuffle { .. } => Some(bytes),
            Self::Sum { .. } => bytes.checked_add(4),
            _ => None,
        }
    }

    /// The bytes before the codec.
    pub(crate) fn decode(&self, stored: Vec<u8>, limit: Limit) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Gzip { .. } => inflate(&stored, limit, true),
            Self::Zlib { .. } => inflate(&stored, limit, false),
            Self::Zstd { .. } => unzstd(&stored, limit),
            Self::Bzip2 { .. } => unbzip2(&stored, limit),
            Self::Lz4 => {
                let short = || Problem::damaged("a chunk of lz4 ends early");
                let (len, block) = stored.split_first_chunk::<4>().ok_or_else(short)?;
                let len = usize::try_from(u32::from_le_bytes(*len)).map_err(|_| short())?;
                limit.check(len)?;
                lz4_block(block, len)
            }
            Self::Blosc { .. } => blosc::decode(&stored, limit),
            Self::Shuffle { size } => {
                limit.check(stored.len())?;
                let mut out = Vec::with_capacity(stored.len());
                unshuffle_bytes(*size, &stored, &mut out);
                Ok(out)
            }
            Self::Sum { kind, at_end } => {
                let parts = if *at_end {
                    stored.split_last_chunk::<4>().map(|(bytes, sum)| (sum, bytes))
                } else {
                    stored.split_first_chunk::<4>()
                };
                let (sum, bytes) =
                    parts.ok_or_else(|| Problem::damaged("a chunk is shorter than its checksum"))?;
                limit.check(bytes.len())?;
                if kind.of(bytes) != u32::from_le_bytes(*sum) {
                    return Err(Problem::damaged("a chunk has another checksum than is stored with it"));
                }
                Ok(bytes.to_vec())
            }
        }
    }

    /// What a document says about it.
    pub(crate) fn document(&self, version: Version) -> Value {
        let (name, configuration) = match self {
            Self::Gzip { level } => ("gzip", json!({"level": level})),
            Self::Zlib { level } => ("numcodecs.zlib", json!({"level": level})),
            Self::Zstd { level } if version == Version::V3 => {
                ("zstd", json!({"level": level, "checksum": false}))
            }
            Self::Zstd { level } => ("zstd", json!({"level": level})),
            Self::Bzip2 { level } => ("numcodecs.bz2", json!({"level": level})),
            Self::Lz4 => ("numcodecs.lz4", json!({"acceleration": 1})),
            Self::Blosc { inner, level, shuffle, size } => {
                let cname = match inner {
                    Inner::Lz4 => "lz4",
                    Inner::Zlib => "zlib",
                    Inner::Zstd => "zstd",
                    Inner::BloscLz => "blosclz",
                };
                let (number, word) = match shuffle {
                    Shuffle::None => (0, "noshuffle"),
                    Shuffle::Bytes => (1, "shuffle"),
                    Shuffle::Bits => (2, "bitshuffle"),
                };
                let shuffle = if version == Version::V3 { json!(word) } else { json!(number) };
                let mut configuration =
                    json!({"cname": cname, "clevel": level, "shuffle": shuffle, "blocksize": 0});
                if let Some(object) = configuration.as_object_mut().filter(|_| version == Version::V3) {
                    object.insert("typesize".to_owned(), json!(size));
                }
                ("blosc", configuration)
            }
            Self::Shuffle { size } => ("numcodecs.shuffle", json!({"elementsize": size})),
            Self::Sum { kind: Checksum::Crc32c, .. } => ("crc32c", json!({})),
            Self::Sum { .. } => ("numcodecs.crc32", json!({})),
        };
        match version {
            Version::V3 => json!({"name": name, "configuration": configuration}),
            Version::V2 => {
                let mut object = Map::new();
                object.insert("id".to_owned(), json!(name.strip_prefix("numcodecs.").unwrap_or(name)));
                object.extend(configuration.as_object().cloned().unwrap_or_default());
                Value::Object(object)
            }
        }
    }

    /// What is stored of bytes.
    pub(crate) fn encode(&self, bytes: &[u8]) -> Result<Vec<u8>, Problem> {
        match self {
            Self::Gzip { level } => deflate(bytes, *level, true),
            Self::Zlib { level } => deflate(bytes, *level, false),
            Self::Zstd { level } => to_zstd(bytes, *level),
            Self::Bzip2 { level } => to_bzip2(bytes, *level),
            Self::Lz4 => {
                let len = u32::try_from(bytes.len());
                let len = len.map_err(|_| Problem::unsupported("lz4 holds less than 4 GiB at once"))?;
                Ok([&len.to_le_bytes()[..], &to_lz4_block(bytes)?].concat())
            }
            Self::Blosc { inner, level, shuffle, size } => {
                blosc::encode(bytes, *inner, *level, *shuffle, *size)
            }
            Self::Shuffle { size } => {
                let mut out = Vec::with_capacity(bytes.len());
                shuffle_bytes(*size, bytes, &mut out);
                Ok(out)
            }
            Self::Sum { kind, at_end } => {
                let sum = kind.of(bytes).to_le_bytes();
                Ok(if *at_end { [bytes, &sum].concat() } else { [&sum, bytes].concat() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn codec(name: &str, configuration: &Value) -> PackedCodec {
        PackedCodec::parse(name, configuration.as_object().unwrap(), 4).unwrap().unwrap()
    }

    #[test]
    fn what_was_encoded_is_decoded_and_only_as_long_as_it_may_be() {
        let bytes: Vec<u8> = (0..50_000u32).flat_map(|number| (number / 3).to_le_bytes()).collect();
        let codecs = [
            codec("gzip", &json!({"level": 5})),
            codec("zlib", &json!({"level": 1})),
            codec("zstd", &json!({"level": 3, "checksum": true})),
            codec("bz2", &json!({"level": 9})),
            codec("lz4", &json!({"acceleration": 1})),
            codec("blosc", &json!({"cname": "zstd", "clevel": 5, "shuffle": "bitshuffle", "typesize": 4})),
            codec("shuffle", &json!({"elementsize": 4})),
            codec("crc32c", &json!({})),
            codec("crc32", &json!({})),
            codec("adler32", &json!({"location": "end"})),
            codec("fletcher32", &json!({})),
        ];
        for codec in codecs {
            let stored = codec.encode(&bytes).unwrap();
            assert_eq!(
                codec.decode(stored.clone(), Limit::exactly(bytes.len())).unwrap(),
                bytes,
                "{codec:?}"
            );
            assert!(codec.decode(stored.clone(), Limit::exactly(bytes.len() + 1)).is_err(), "{codec:?}");
            assert!(codec.decode(stored.clone(), Limit::at_most(bytes.len() - 1)).is_err(), "{codec:?}");
            if !matches!(codec, PackedCodec::Shuffle { .. }) {
                let mut changed = stored;
                let middle = changed.len() / 2;
                changed[middle] ^= 0x55;
                let found = codec.decode(changed, Limit::exactly(bytes.len()));
                assert!(found.is_err() || found.unwrap() != bytes, "{codec:?}");
            }
        }
    }

    #[test]
    fn configurations_of_other_kinds_are_refused_and_other_names_are_not_known() {
        assert!(PackedCodec::parse("lzma", &Map::new(), 4).unwrap().is_none());
        let wrong = json!({"level": "high"});
        assert!(PackedCodec::parse("gzip", wrong.as_object().unwrap(), 4).is_err());
        let wrong = json!({"elementsize": 0});
        assert!(PackedCodec::parse("shuffle", wrong.as_object().unwrap(), 4).is_err());
    }

    #[test]
    fn words_that_mean_nothing_are_refused_by_name() {
        let cases = [
            ("crc32", "location", json!("middle")),
            ("crc32c", "location", json!(1)),
            ("blosc", "cname", json!("lz5")),
            ("blosc", "cname", json!(1)),
            ("blosc", "cname", json!("snappy")),
            ("blosc", "shuffle", json!("sometimes")),
            ("blosc", "shuffle", json!(3)),
            ("blosc", "shuffle", json!(true)),
            ("blosc", "typesize", json!(0)),
            ("blosc", "typesize", json!("4")),
            ("blosc", "clevel", json!(10)),
        ];
        for (name, key, value) in cases {
            let mut configuration = Map::new();
            configuration.insert(key.to_owned(), value.clone());
            let refused = PackedCodec::parse(name, &configuration, 4).unwrap_err().to_string();
            let named = if value == "snappy" { "snappy" } else { key };
            assert!(refused.contains(named) && refused.contains(name), "{name} {key} {value}: {refused}");
        }
        let auto = |size: usize| {
            let configuration = json!({"shuffle": -1});
            PackedCodec::parse("blosc", configuration.as_object().unwrap(), size).unwrap().unwrap()
        };
        assert!(matches!(auto(1), PackedCodec::Blosc { shuffle: Shuffle::Bits, .. }));
        assert!(matches!(auto(4), PackedCodec::Blosc { shuffle: Shuffle::Bytes, size: 4, .. }));
    }
}
