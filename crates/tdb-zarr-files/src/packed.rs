//! Codecs from bytes to bytes.

use serde_json::{Map, Value, json};

use crate::blosc::{self, Inner, Shuffle};
use crate::checksum::Checksum;
use crate::compressed::{
    Limit, deflate, inflate, lz4_block, to_bzip2, to_lz4_block, to_zstd, unbzip2, unzstd,
};
use crate::error::Problem;
use crate::options::Version;
use crate::shuffle::{shuffled, unshuffled};

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
        inner: Option<Inner>,
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
        let sum = |kind: Checksum, at_end: bool| {
            let at_end = match configuration.get("location").and_then(Value::as_str) {
                Some("start") => false,
                Some("end") => true,
                _ => at_end,
            };
            Self::Sum { kind, at_end }
        };
        Ok(Some(match name {
            "gzip" => Self::Gzip { level: number("level", 1)? },
            "zlib" => Self::Zlib { level: number("level", 1)? },
            "zstd" => Self::Zstd { level: number("level", 0)? },
            "bz2" => Self::Bzip2 { level: number("level", 1)? },
            "lz4" => Self::Lz4,
            "blosc" => {
                let inner = match configuration.get("cname").and_then(Value::as_str).unwrap_or("lz4") {
                    "lz4" | "lz4hc" => Some(Inner::Lz4),
                    "zlib" => Some(Inner::Zlib),
                    "zstd" => Some(Inner::Zstd),
                    "blosclz" => Some(Inner::BloscLz),
                    _ => None,
                };
                let shuffle = match configuration.get("shuffle") {
                    Some(Value::String(text)) if text == "noshuffle" => Shuffle::None,
                    Some(Value::String(text)) if text == "bitshuffle" => Shuffle::Bits,
                    Some(Value::Number(number)) if number.as_i64() == Some(0) => Shuffle::None,
                    Some(Value::Number(number)) if number.as_i64() == Some(2) => Shuffle::Bits,
                    // By itself, numcodecs chooses by the size of values.
                    Some(Value::Number(number)) if number.as_i64() == Some(-1) && size == 1 => Shuffle::Bits,
                    _ => Shuffle::Bytes,
                };
                let size = number("typesize", i32::try_from(size).unwrap_or(1))?;
                let size = u8::try_from(size).unwrap_or(1);
                Self::Blosc { inner, level: number("clevel", 5)?, shuffle, size }
            }
            "shuffle" => {
                let size = usize::try_from(number("elementsize", 4)?).ok().filter(|size| *size > 0);
                Self::Shuffle { size: size.ok_or_else(|| Problem::damaged("the codec shuffle has no size"))? }
            }
            "crc32c" => sum(Checksum::Crc32c, true),
            "crc32" => sum(Checksum::Crc32, false),
            "adler32" => sum(Checksum::Adler32, false),
            "fletcher32" => sum(Checksum::Fletcher32, true),
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
                unshuffled(&stored, *size, &mut out);
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
                    Some(Inner::Lz4) => "lz4",
                    Some(Inner::Zlib) => "zlib",
                    Some(Inner::BloscLz) => "blosclz",
                    _ => "zstd",
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
                blosc::encode(bytes, inner.unwrap_or(Inner::Zstd), *level, *shuffle, *size)
            }
            Self::Shuffle { size } => {
                let mut out = Vec::with_capacity(bytes.len());
                shuffled(bytes, *size, &mut out);
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
}
