//! Codecs that make other values of the values of a chunk.

use serde_json::{Map, Value};
use tdb_array::schema::{Datatype, Physical};

use crate::element::Element;
use crate::error::Problem;
use crate::number::{Number, Wide, converted, read, real, single, write};
use crate::transpose::{order, transposed, transposed_texts};

/// A codec from arrays to arrays.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ArrayCodec {
    /// The axes in another order: at each place of the stored one, the axis that it was.
    Transpose(Vec<usize>),
    /// Differences to the value before.
    Delta { from: Number, to: Number },
    /// Integers for real numbers.
    Scaled { offset: f64, scale: f64, from: Number, to: Number },
    /// Values of another type.
    Cast { from: Number, to: Number },
    /// Truth values as bits, the highest first, behind the number of bits that are too many.
    PackBits,
    /// Values that were rounded, as they are.
    Rounded,
}

/// What a value of a chunk is on its way through codecs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) element: Element,
    /// Whether documents of version 2 say that its values begin with the highest byte.
    pub(crate) is_big: bool,
}

/// The type that a configuration gives; `usual` if it does not.
fn number(configuration: &Map<String, Value>, key: &str, usual: Stage) -> Result<Number, Problem> {
    let (element, is_big) = match configuration.get(key) {
        None | Some(Value::Null) => (usual.element, usual.is_big),
        // numpy's names, with or without an order of bytes, or those of version 3.
        Some(Value::String(text)) => {
            let old = |text: String| Element::v2(&Value::String(text)).ok();
            match old(text.clone()).or_else(|| old(format!("<{text}"))) {
                Some(found) => found,
                None => (Element::v3(&Value::String(text.clone()))?, false),
            }
        }
        Some(other) => return Err(Problem::damaged(format!("a codec's {key} is {other}"))),
    };
    let physical = element.datatype.physical();
    let of_numbers = element.size() == Some(physical.size())
        && !matches!(element.datatype, Datatype::Char | Datatype::Blob | Datatype::StringUtf32);
    if !of_numbers {
        return Err(Problem::unsupported(format!("a codec for numbers is used for {}", element.datatype)));
    }
    Ok(Number { physical, is_big })
}

/// The type that a codec has for the values that come to it. It has as many bytes as these: if not,
/// each of several codecs could say that there are eight times as many bytes.
fn own(name: &str, configuration: &Map<String, Value>, key: &str, stage: Stage) -> Result<Number, Problem> {
    let own = number(configuration, key, stage)?;
    let given = stage.element.size();
    if given != Some(own.size()) {
        let given = given.map_or_else(|| "of any length".to_owned(), |size| format!("of a width of {size}"));
        let own = own.size();
        let what = format!("the codec {name} is for cells of a width of {own}, and those here are {given}");
        return Err(Problem::unsupported(what));
    }
    Ok(own)
}

impl ArrayCodec {
    /// The codec of this name, and what it makes of values; `None` if the name is that of no codec
    /// from arrays to arrays.
    pub(crate) fn parse(
        name: &str,
        configuration: &Map<String, Value>,
        stage: Stage,
        axes: usize,
    ) -> Result<Option<(Self, Stage)>, Problem> {
        let real_of = |key: &str| configuration.get(key).and_then(Value::as_f64);
        let stage_of = |number: Number| Stage { element: plain(number.physical), is_big: number.is_big };
        Ok(Some(match name {
            "transpose" => (Self::Transpose(order(configuration.get("order"), axes)?), stage),
            "delta" => {
                let from = own(name, configuration, "dtype", stage)?;
                let to = number(configuration, "astype", stage_of(from))?;
                // Of these, numcodecs loses some itself.
                if stage.element.datatype == Datatype::Bool {
                    return Err(Problem::unsupported("the codec delta is used for booleans"));
                }
                if from.physical.is_float() != to.physical.is_float() {
                    return Err(Problem::unsupported("the codec delta makes real numbers of integers"));
                }
                (Self::Delta { from, to }, stage_of(to))
            }
            "fixedscaleoffset" => {
                let from = own(name, configuration, "dtype", stage)?;
                let to = number(configuration, "astype", stage_of(from))?;
                let numbers = real_of("offset").zip(real_of("scale"));
                let (offset, scale) = numbers.ok_or_else(|| {
                    Problem::damaged("the codec fixedscaleoffset has no offset or no scale")
                })?;
                if !from.physical.is_float() {
                    return Err(Problem::unsupported("the codec fixedscaleoffset is used for integers"));
                }
                (Self::Scaled { offset, scale, from, to }, stage_of(to))
            }
            "astype" => {
                let from = own(name, configuration, "decode_dtype", stage)?;
                let to = number(configuration, "encode_dtype", stage)?;
                if to.physical.is_float() && !from.physical.is_float() {
                    return Err(Problem::unsupported("the codec astype makes real numbers of integers"));
                }
                (Self::Cast { from, to }, stage_of(to))
            }
            "quantize" => {
                let from = own(name, configuration, "dtype", stage)?;
                let to = number(configuration, "astype", stage_of(from))?;
                (Self::Cast { from, to }, stage_of(to))
            }
            "bitround" => (Self::Rounded, stage),
            "packbits" => {
                if stage.element.datatype != Datatype::Bool {
                    return Err(Problem::unsupported(
                        "the codec packbits is used for other values than booleans",
                    ));
                }
                (Self::PackBits, stage_of(Number { physical: Physical::U8, is_big: false }))
            }
            _ => return Ok(None),
        }))
    }

    /// Its name, if what is stored are other values.
    pub(crate) const fn name(&self) -> Option<&'static str> {
        match self {
            Self::Transpose(_) | Self::Rounded => None,
            Self::Delta { .. } => Some("delta"),
            Self::Scaled { .. } => Some("fixedscaleoffset"),
            Self::Cast { .. } => Some("a change of types"),
            Self::PackBits => Some("packbits"),
        }
    }

    /// Bytes of a chunk of so many cells when it is encoded, if these are bytes of its cells.
    pub(crate) fn stored_bytes(&self, bytes: usize) -> Option<usize> {
        match self {
            Self::Transpose(_) | Self::Rounded => Some(bytes),
            Self::Delta { from, to } | Self::Scaled { from, to, .. } | Self::Cast { from, to } => {
                (bytes / from.size()).checked_mul(to.size())
            }
            Self::PackBits => Some(bytes.div_ceil(8) + 1),
        }
    }

    /// The values before the codec. `shape` is that of the chunk before it, `size` that of a cell.
    pub(crate) fn decode(&self, stored: Vec<u8>, shape: &[u64], size: usize) -> Result<Vec<u8>, Problem> {
        let wrong = || Problem::damaged("a chunk has other values than its codecs say");
        match self {
            Self::Rounded => Ok(stored),
            Self::Transpose(order) => transposed(&stored, shape, order, size).ok_or_else(wrong),
            Self::PackBits => unpacked(&stored, shape).ok_or_else(wrong),
            Self::Delta { from, to } => {
                let mut out = Vec::with_capacity(stored.len() / to.size() * from.size());
                let (mut whole, mut sum) = (0u64, 0f64);
                for value in stored.chunks_exact(to.size()) {
                    let value = read(*to, value).ok_or_else(wrong)?;
                    let value = match value {
                        Wide::Whole(value) => {
                            whole = whole.wrapping_add(value);
                            Wide::Whole(whole)
                        }
                        // numpy adds up in the wider of the two types.
                        Wide::Real(_) if from.physical == Physical::F32 && to.physical == Physical::F32 => {
                            let total = single(*from, Wide::Real(sum)) + single(*to, value);
                            sum = f64::from(total);
                            Wide::Real(sum)
                        }
                        Wide::Real(value) => {
                            sum += value;
                            Wide::Real(sum)
                        }
                    };
                    write(*from, value, *from, &mut out).ok_or_else(wrong)?;
                }
                Ok(out)
            }
            Self::Scaled { offset, scale, from, to } => {
                let scaled = |value| match to.physical {
                    // numpy computes in the type of what is stored, if that is one of real numbers.
                    Physical::F32 => {
                        let of = |number: f64| single(*from, Wide::Real(number));
                        Wide::Real(f64::from(single(*to, value) / of(*scale) + of(*offset)))
                    }
                    _ => Wide::Real(real(*to, value) / scale + offset),
                };
                converted(&stored, *to, *from, scaled).ok_or_else(wrong)
            }
            Self::Cast { from, to } => converted(&stored, *to, *from, |value| value).ok_or_else(wrong),
        }
    }

    /// The texts, or bytes of any length, before the codec: the values, and where each begins and
    /// the last ends. `shape` is that of the chunk before it.
    pub(crate) fn decode_texts(
        &self,
        values: Vec<u8>,
        offsets: Vec<usize>,
        shape: &[u64],
    ) -> Result<(Vec<u8>, Vec<usize>), Problem> {
        match self {
            Self::Transpose(order) => transposed_texts(&values, &offsets, shape, order)
                .ok_or_else(|| Problem::damaged("a chunk has other values than its codecs say")),
            _ => Err(Problem::unsupported("a codec for numbers is used for cells of any length")),
        }
    }
}

const fn plain(number: Physical) -> Element {
    let datatype = match number {
        Physical::I8 => Datatype::Int8,
        Physical::U8 => Datatype::Uint8,
        Physical::I16 => Datatype::Int16,
        Physical::U16 => Datatype::Uint16,
        Physical::I32 => Datatype::Int32,
        Physical::U32 => Datatype::Uint32,
        Physical::I64 => Datatype::Int64,
        Physical::U64 => Datatype::Uint64,
        Physical::F32 => Datatype::Float32,
        Physical::F64 => Datatype::Float64,
    };
    Element { datatype, count: tdb_array::schema::CellValNum::ONE }
}

fn unpacked(stored: &[u8], shape: &[u64]) -> Option<Vec<u8>> {
    let cells = shape.iter().try_fold(1u64, |cells, side| cells.checked_mul(*side))?;
    let cells = usize::try_from(cells).ok()?;
    let (padding, bytes) = stored.split_first()?;
    if bytes.len() != cells.div_ceil(8) || usize::from(*padding) != bytes.len() * 8 - cells {
        return None;
    }
    let bits = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    Some(bits.take(cells).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parsed(
        name: &str,
        configuration: &Value,
        stage: Stage,
        axes: usize,
    ) -> Result<Option<(ArrayCodec, Stage)>, Problem> {
        ArrayCodec::parse(name, configuration.as_object().unwrap(), stage, axes)
    }

    fn of(datatype: Datatype) -> Stage {
        Stage { element: Element { datatype, count: tdb_array::schema::CellValNum::ONE }, is_big: false }
    }

    #[test]
    fn differences_become_sums_which_wrap_around() {
        let (codec, stage) =
            parsed("delta", &json!({"dtype": "<i2", "astype": "|i1"}), of(Datatype::Int16), 1)
                .unwrap()
                .unwrap();
        assert_eq!((codec.stored_bytes(6), stage.element.datatype), (Some(3), Datatype::Int8));
        let values = codec.decode(vec![5, 0xff, 3], &[3], 2).unwrap();
        assert_eq!(values, [5, 0, 4, 0, 7, 0]);
    }

    /// Bytes of hexadecimal digits.
    fn hex(digits: &str) -> Vec<u8> {
        let pairs = digits.as_bytes().chunks(2);
        pairs.map(|pair| u8::from_str_radix(core::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    #[test]
    fn numbers_are_what_numcodecs_decodes_bit_by_bit() {
        // What numcodecs 0.15.2 and 0.16.6 decode with numpy 2: name, configuration, type, what is
        // stored, what is decoded. Computed with 64 bits, the last bits would be others.
        let cases = [
            (
                "fixedscaleoffset",
                json!({"offset": 1000.1, "scale": 0.3, "dtype": "<f4", "astype": "<f4"}),
                Datatype::Float32,
                "000000410000803f",
                "88588044bbdb7a44",
            ),
            (
                "fixedscaleoffset",
                json!({"offset": 0.1, "scale": 3, "dtype": "<f8", "astype": "<f4"}),
                Datatype::Float64,
                "0070474500904045",
                "00000000119f904000000060660c9040",
            ),
            (
                "delta",
                json!({"dtype": "<f4"}),
                Datatype::Float32,
                "0f29a1bf41c8c13fa545ac3f0604483fba66873e7ebaa0be6ca0ba3fbfe9fa3f",
                "0f29a1bfc87c823ed7e4cc3f6d73184044602940f44815402a9972400507b840",
            ),
            (
                "delta",
                json!({"dtype": "<f4", "astype": "<f8"}),
                Datatype::Float32,
                "1588d6157fd3fc3fed16c63eaa0af53f94b8001652dfd63f3fca0ceb4555f3bf\
                 6a1953417f3e72bfa17d19b9d701e53f48b203e9209df4bf4c3b9a09ae49d93f",
                "f99be63fa5784740f7575e40e0021140e6b9104095bd3a402392d03fc0920140",
            ),
            (
                "delta",
                json!({"dtype": "<f8", "astype": "<f4"}),
                Datatype::Float64,
                "1817dc3edb2f323f2d9197bf576529bf7174dfbe12bc95bf9ba3de3f03e8fdbe",
                "00000000e382db3f00000070b603f23f00000000e6cdadbf000000408909e7bf\
                 000000286880f2bf00000034f59b02c000000010eec6e2bf00000020b752f1bf",
            ),
        ];
        for (name, configuration, datatype, stored, decoded) in cases {
            let (codec, _) = parsed(name, &configuration, of(datatype), 1).unwrap().unwrap();
            let found = codec.decode(hex(stored), &[1], datatype.size()).unwrap();
            assert_eq!(found, hex(decoded), "{name} {configuration}");
        }
        // A whole number becomes one of 32 bits at once, not by way of 64.
        let configuration = json!({"encode_dtype": "<i8", "decode_dtype": "<f4"});
        let (codec, _) = parsed("astype", &configuration, of(Datatype::Float32), 1).unwrap().unwrap();
        let stored = [9_007_199_791_611_905i64, 1_152_921_573_326_323_713].map(i64::to_le_bytes).concat();
        assert_eq!(codec.decode(stored, &[2], 4).unwrap(), hex("0100005a0100805d"));
    }

    #[test]
    fn codecs_are_for_as_many_bytes_as_they_get() {
        for (name, configuration, datatype) in [
            ("delta", json!({"dtype": "|i1", "astype": "<i8"}), Datatype::Int64),
            ("delta", json!({"dtype": "<i8", "astype": "|i1"}), Datatype::Int8),
            ("fixedscaleoffset", json!({"offset": 0, "scale": 1, "dtype": "<f4"}), Datatype::Float64),
            ("quantize", json!({"dtype": "<f8", "astype": "<f4"}), Datatype::Float32),
            ("astype", json!({"decode_dtype": "<i4", "encode_dtype": "<i8"}), Datatype::Int16),
        ] {
            let refused = parsed(name, &configuration, of(datatype), 1).unwrap_err().to_string();
            assert!(refused.contains(name) && refused.contains("of a width of"), "{refused}");
        }
        // The same bytes may be read as other values: numcodecs does so, too.
        let (codec, _) =
            parsed("delta", &json!({"dtype": "<i8"}), of(Datatype::Float64), 1).unwrap().unwrap();
        assert_eq!(codec.stored_bytes(16), Some(16));
        let of_times = of(Datatype::DatetimeNs);
        assert!(parsed("delta", &json!({"dtype": "<i8", "astype": "<i2"}), of_times, 1).unwrap().is_some());
        let refused = parsed("delta", &json!({"dtype": "|b1"}), of(Datatype::Bool), 1).unwrap_err();
        assert!(refused.to_string().contains("booleans"));
    }

    #[test]
    fn bits_become_truth_values_if_there_are_as_many_as_cells() {
        let codec = ArrayCodec::PackBits;
        assert_eq!(
            codec.decode(vec![6, 0b1000_0000, 0b0100_0000], &[10], 1).unwrap(),
            [1, 0, 0, 0, 0, 0, 0, 0, 0, 1]
        );
        for wrong in [vec![], vec![6, 1], vec![5, 1, 1], vec![6, 1, 1, 1]] {
            assert!(codec.decode(wrong, &[10], 1).is_err());
        }
    }

    #[test]
    fn scaled_numbers_are_as_numpy_computes_them_and_what_is_not_is_refused() {
        let configuration = json!({"offset": 1000, "scale": 10, "dtype": "<f8", "astype": "<u2"});
        let (codec, stage) =
            parsed("fixedscaleoffset", &configuration, of(Datatype::Float64), 1).unwrap().unwrap();
        assert_eq!(stage.element.datatype, Datatype::Uint16);
        assert_eq!(codec.decode(vec![7, 0], &[1], 8).unwrap(), (7f64 / 10. + 1000.).to_le_bytes());
        for (name, configuration) in [
            ("fixedscaleoffset", json!({"offset": 1, "scale": 1, "dtype": "<i4"})),
            ("fixedscaleoffset", json!({"dtype": "<f4"})),
            ("delta", json!({"dtype": "<i4", "astype": "<f4"})),
            ("delta", json!({"dtype": "|S3"})),
            ("delta", json!({"dtype": 3})),
            ("packbits", json!({})),
        ] {
            assert!(parsed(name, &configuration, of(Datatype::Int32), 1).is_err(), "{name} {configuration}");
        }
        assert!(parsed("other", &json!({}), of(Datatype::Int32), 1).unwrap().is_none());
    }
}
