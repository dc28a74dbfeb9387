//! The codecs of a chunk, one after the other.

use serde_json::{Map, Value};
use tdb_array::schema::Datatype;

use crate::arrays::{ArrayCodec, Stage};
use crate::compressed::Limit;
use crate::element::Element;
use crate::error::Problem;
use crate::packed::PackedCodec;
use crate::thresholds::MAX_CODECS;
use crate::transpose::transposed_shape;

/// How the values of a chunk become bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serial {
    /// Back to back; whether each begins with the highest byte.
    Plain { is_big: bool },
    /// Texts or bytes of any length: their number, and before each its length, in four bytes each.
    Var,
}

/// The codecs of chunks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Chain {
    arrays: Vec<ArrayCodec>,
    serial: Serial,
    /// The type of the values that become bytes.
    stored: Element,
    /// Bytes of a cell before the codec, or behind the one, where it has the most; 0 for cells of
    /// any length.
    pub(crate) widest: usize,
    /// From bytes to bytes.
    pub(crate) packed: Vec<PackedCodec>,
    /// Whether the values of cells begin with the highest byte: codecs of version 2 work on them
    /// so.
    is_big: bool,
}

/// The cells of a chunk in row-major order, the lowest byte of each value first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cells {
    /// As many bytes each.
    Fixed(Vec<u8>),
    /// Cell `i` is the bytes from offset `i` to the next.
    Var(Vec<u8>, Vec<usize>),
}

/// A codec's name and configuration.
pub(crate) struct Named<'v> {
    pub(crate) name: &'v str,
    pub(crate) configuration: &'v Map<String, Value>,
}

/// Codecs as `zarr.json` lists them.
pub(crate) fn v3_codecs<'v>(
    list: &'v Value,
    none: &'v Map<String, Value>,
) -> Result<Vec<Named<'v>>, Problem> {
    let wrong = || Problem::damaged("the codecs are not a list of names with configurations");
    let codec = |value: &'v Value| match value {
        Value::String(name) => Some(Named { name, configuration: none }),
        Value::Object(object) => {
            let configuration = object.get("configuration").and_then(Value::as_object);
            Some(Named { name: object.get("name")?.as_str()?, configuration: configuration.unwrap_or(none) })
        }
        _ => None,
    };
    list.as_array().ok_or_else(wrong)?.iter().map(|value| codec(value).ok_or_else(wrong)).collect()
}

impl Chain {
    /// The codecs of version 3.
    pub(crate) fn v3(codecs: &[Named<'_>], element: Element, axes: usize) -> Result<Self, Problem> {
        let mut making = Making::new(codecs, element, false, axes)?;
        for codec in codecs {
            // Codecs of numcodecs have the same names as in version 2 behind this.
            let name = codec.name.strip_prefix("numcodecs.").unwrap_or(codec.name);
            match name {
                "bytes" => {
                    let is_big = match codec.configuration.get("endian").and_then(Value::as_str) {
                        Some("big") => true,
                        Some("little") | None => false,
                        Some(other) => {
                            return Err(Problem::damaged(format!("values begin with the {other} byte")));
                        }
                    };
                    making.serial(Serial::Plain { is_big }, name)?;
                }
                "vlen-utf8" | "vlen-bytes" => making.serial(Serial::Var, name)?,
                "packbits" if codec.name == name => return Err(unknown(name)),
                // Version 3's own is at the end always, and its readers look nowhere else.
                "crc32c" if codec.name == name && codec.configuration.contains_key("location") => {
                    return Err(Problem::unsupported(
                        "the codec crc32c has a location, which only numcodecs.crc32c has",
                    ));
                }
                "sharding_indexed" => {
                    return Err(Problem::unsupported(
                        "shards are read only where they are the only codec of an array",
                    ));
                }
                name => making.add(name, codec.configuration)?,
            }
        }
        making.finish(false)
    }

    /// The filters and the compressor of version 2.
    pub(crate) fn v2(
        filters: &[Named<'_>],
        stage: Stage,
        axes: usize,
        is_fortran: bool,
    ) -> Result<Self, Problem> {
        let mut making = Making::new(filters, stage.element, stage.is_big, axes)?;
        if is_fortran {
            making.arrays.push(ArrayCodec::Transpose((0..axes).rev().collect()));
        }
        for codec in filters {
            match codec.name {
                "vlen-utf8" | "vlen-bytes" => making.serial(Serial::Var, codec.name)?,
                name => making.add(name, codec.configuration)?,
            }
        }
        making.finish(stage.is_big)
    }

    /// The names of codecs that store other values.
    pub(crate) fn changes(&self) -> impl Iterator<Item = &'static str> {
        self.arrays.iter().filter_map(ArrayCodec::name)
    }

    /// The cells of a chunk of this shape. At most `memory` bytes are made for what has no size of
    /// its own.
    pub(crate) fn decode(
        &self,
        stored: Vec<u8>,
        shape: &[u64],
        element: Element,
        memory: usize,
    ) -> Result<Cells, Problem> {
        let too_many = || Problem::damaged("a chunk has more cells than memory has bytes");
        let cells = shape.iter().try_fold(1u64, |cells, side| cells.checked_mul(*side));
        let cells = cells.and_then(|cells| usize::try_from(cells).ok()).ok_or_else(too_many)?;
        let size = element.size();
        // The shapes and the bytes before each codec.
        let mut shapes = vec![shape.to_vec()];
        let mut bytes = size.map(|size| cells.checked_mul(size).ok_or_else(too_many)).transpose()?;
        for codec in &self.arrays {
            let shape = shapes.last().cloned().unwrap_or_default();
            shapes.push(match codec {
                ArrayCodec::Transpose(order) => transposed_shape(&shape, order).ok_or_else(too_many)?,
                _ => shape,
            });
            bytes = bytes.map(|bytes| codec.stored_bytes(bytes).ok_or_else(too_many)).transpose()?;
        }
        let serial = bytes;
        let mut limits = Vec::with_capacity(self.packed.len());
        for codec in &self.packed {
            limits.push(bytes.map_or(Limit::at_most(memory), Limit::exactly));
            bytes = bytes.and_then(|bytes| codec.stored_bytes(bytes));
        }
        let mut decoded = stored;
        for (codec, limit) in self.packed.iter().zip(limits).rev() {
            decoded = codec.decode(decoded, limit)?;
        }
        let is_big = match self.serial {
            Serial::Var => {
                let (mut values, mut offsets) = separated(decoded, cells)?;
                for (codec, shape) in self.arrays.iter().zip(&shapes).rev() {
                    (values, offsets) = codec.decode_texts(values, offsets, shape)?;
                }
                return Ok(Cells::Var(values, offsets));
            }
            Serial::Plain { is_big } => is_big,
        };
        let serial =
            serial.ok_or_else(|| Problem::damaged("cells of any length have no codec that cuts them"))?;
        Limit::exactly(serial).check(decoded.len())?;
        if is_big && self.stored.word() > 1 {
            decoded.chunks_exact_mut(self.stored.word()).for_each(<[u8]>::reverse);
        }
        for (codec, shape) in self.arrays.iter().zip(&shapes).rev() {
            decoded = codec.decode(decoded, shape, size.unwrap_or(1))?;
        }
        let expected = size.and_then(|size| cells.checked_mul(size)).ok_or_else(too_many)?;
        Limit::exactly(expected).check(decoded.len())?;
        if self.is_big && element.word() > 1 {
            decoded.chunks_exact_mut(element.word()).for_each(<[u8]>::reverse);
        }
        if element.datatype == Datatype::Bool {
            decoded.iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
        Ok(Cells::Fixed(decoded))
    }
}

/// The values of texts and bytes of any length in the order in which they are stored, and where
/// each begins and the last ends.
fn separated(decoded: Vec<u8>, cells: usize) -> Result<(Vec<u8>, Vec<usize>), Problem> {
    let short = || Problem::damaged("a chunk of texts or bytes ends early");
    let (count, mut rest) = decoded.split_first_chunk::<4>().ok_or_else(short)?;
    if usize::try_from(u32::from_le_bytes(*count)).ok() != Some(cells) {
        return Err(Problem::damaged(format!("a chunk does not have {cells} texts")));
    }
    // Each has its length in four bytes.
    if rest.len() / 4 < cells {
        return Err(short());
    }
    let mut values = Vec::with_capacity(rest.len() - cells * 4);
    let mut offsets = Vec::with_capacity(cells + 1);
    offsets.push(0);
    for _ in 0..cells {
        let (len, behind) = rest.split_first_chunk::<4>().ok_or_else(short)?;
        let len = usize::try_from(u32::from_le_bytes(*len)).map_err(|_| short())?;
        let (cell, behind) = behind.split_at_checked(len).ok_or_else(short)?;
        values.extend_from_slice(cell);
        offsets.push(values.len());
        rest = behind;
    }
    if !rest.is_empty() {
        return Err(Problem::damaged("a chunk has bytes behind its last text"));
    }
    Ok((values, offsets))
}

/// A chain that is being made.
struct Making {
    arrays: Vec<ArrayCodec>,
    serial: Option<Serial>,
    stage: Stage,
    widest: usize,
    packed: Vec<PackedCodec>,
    axes: usize,
}

impl Making {
    /// Begins a chain of these codecs.
    fn new(codecs: &[Named<'_>], element: Element, is_big: bool, axes: usize) -> Result<Self, Problem> {
        if codecs.len() > MAX_CODECS {
            let what = format!("there are {} codecs; {MAX_CODECS} are the most", codecs.len());
            return Err(Problem::unsupported(what));
        }
        let (stage, widest) = (Stage { element, is_big }, element.size().unwrap_or(0));
        Ok(Self { arrays: Vec::new(), serial: None, stage, widest, packed: Vec::new(), axes })
    }

    fn serial(&mut self, serial: Serial, name: &str) -> Result<(), Problem> {
        let fits = (serial == Serial::Var) == self.stage.element.size().is_none();
        if self.serial.is_some() || !self.packed.is_empty() || !fits {
            return Err(Problem::damaged(format!("the codec {name} is not for values at its place")));
        }
        self.serial = Some(serial);
        Ok(())
    }

    fn add(&mut self, name: &str, configuration: &Map<String, Value>) -> Result<(), Problem> {
        if let Some((codec, stage)) = ArrayCodec::parse(name, configuration, self.stage, self.axes)? {
            let moves = matches!(codec, ArrayCodec::Transpose(_));
            if self.serial.is_some() || !self.packed.is_empty() || stage.element.size().is_none() && !moves {
                return Err(Problem::unsupported(format!(
                    "the codec {name} comes behind one that makes bytes"
                )));
            }
            if self.stage.element.size().is_none() {
                return Err(Problem::unsupported(format!(
                    "the codec {name} is used for cells of any length"
                )));
            }
            // Behind bits there are no axes.
            if moves && self.arrays.contains(&ArrayCodec::PackBits) {
                return Err(Problem::unsupported("the codec transpose comes behind packbits"));
            }
            self.arrays.push(codec);
            self.stage = stage;
            self.widest = self.widest.max(stage.element.size().unwrap_or(0));
            return Ok(());
        }
        let packed = PackedCodec::parse(name, configuration, self.stage.element.word())?;
        self.packed.push(packed.ok_or_else(|| unknown(name))?);
        Ok(())
    }

    fn finish(self, is_big: bool) -> Result<Chain, Problem> {
        let serial = match (self.serial, self.stage.element.size()) {
            (Some(serial), _) => serial,
            (None, Some(_)) => Serial::Plain { is_big: false },
            (None, None) => {
                return Err(Problem::unsupported(
                    "objects are read only as texts (vlen-utf8) and bytes (vlen-bytes)",
                ));
            }
        };
        let Self { arrays, stage, widest, packed, .. } = self;
        Ok(Chain { arrays, serial, stored: stage.element, widest, packed, is_big })
    }
}

fn unknown(name: &str) -> Problem {
    Problem::unsupported(format!("the codec {name:?} is not read"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chain(codecs: &Value, element: &Value, axes: usize) -> Result<(Chain, Element), Problem> {
        let none = Map::new();
        let element = Element::v3(element)?;
        Ok((Chain::v3(&v3_codecs(codecs, &none)?, element, axes)?, element))
    }

    #[test]
    fn a_chunk_is_decoded_from_the_last_codec_to_the_first() {
        let codecs = json!([
            {"name": "transpose", "configuration": {"order": [1, 0]}},
            {"name": "bytes", "configuration": {"endian": "big"}},
            {"name": "gzip", "configuration": {"level": 1}},
            "crc32c",
        ]);
        let (chain, element) = chain(&codecs, &json!("int16"), 2).unwrap();
        let mut stored: Vec<u8> = [1i16, 3, 2, 4].iter().flat_map(|value| value.to_be_bytes()).collect();
        for codec in &chain.packed {
            stored = codec.encode(&stored).unwrap();
        }
        let cells = chain.decode(stored.clone(), &[2, 2], element, 1000).unwrap();
        assert_eq!(cells, Cells::Fixed(vec![1, 0, 2, 0, 3, 0, 4, 0]));
        assert!(chain.decode(stored, &[2, 3], element, 1000).is_err());
        assert!(chain.decode(Vec::new(), &[1 << 62, 1 << 62], element, 1000).is_err());
    }

    #[test]
    fn texts_have_the_lengths_that_are_there() {
        let (chain, element) = chain(&json!(["vlen-utf8"]), &json!("string"), 1).unwrap();
        let stored = [2, 0, 0, 0, 1, 0, 0, 0, b'a', 2, 0, 0, 0, b'b', b'c'];
        assert_eq!(
            chain.decode(stored.to_vec(), &[2], element, 100).unwrap(),
            Cells::Var(b"abc".to_vec(), vec![0, 1, 3])
        );
        for len in 0..stored.len() {
            assert!(chain.decode(stored[..len].to_vec(), &[2], element, 100).is_err());
        }
        let mut long = stored;
        long[7] = 0xff;
        assert!(chain.decode(long.to_vec(), &[2], element, 100).is_err());
        let count = [0xff; 4];
        assert!(chain.decode(count.to_vec(), &[0xffff_ffff], element, 100).is_err());
    }

    #[test]
    fn texts_of_order_f_are_put_into_row_major_order() {
        let (element, is_big) = Element::v2(&json!("|O")).unwrap();
        let none = Map::new();
        let filters = [Named { name: "vlen-utf8", configuration: &none }];
        let chain = Chain::v2(&filters, Stage { element, is_big }, 3, true).unwrap();
        // What numcodecs makes of np.array([[["a", "bb"], ["", "d"]]], order="F"), of which the
        // first axis is the fastest.
        let texts = ["a", "", "bb", "d"];
        let mut stored = 4u32.to_le_bytes().to_vec();
        for text in texts {
            stored.extend(u32::try_from(text.len()).unwrap().to_le_bytes());
            stored.extend(text.as_bytes());
        }
        assert_eq!(
            chain.decode(stored.clone(), &[1, 2, 2], element, 100).unwrap(),
            Cells::Var(b"abbd".to_vec(), vec![0, 1, 3, 3, 4])
        );
        assert_eq!(
            chain.decode(stored.clone(), &[2, 2, 1], element, 100).unwrap(),
            Cells::Var(b"abbd".to_vec(), vec![0, 1, 3, 3, 4])
        );
        assert!(chain.decode(stored, &[2, 2, 2], element, 100).is_err());
    }

    #[test]
    fn codecs_know_how_wide_a_cell_becomes_and_are_not_too_many() {
        let delta = |from: &str, to: &str| json!({"name": "numcodecs.delta", "configuration": {"dtype": from, "astype": to}});
        let (wide, element) = chain(&json!([delta("|i1", "<i8"), "bytes"]), &json!("int8"), 1).unwrap();
        assert_eq!((wide.widest, element.size()), (8, Some(1)));
        let narrow = json!([delta("<i8", "|i1"), "bytes"]);
        assert_eq!(chain(&narrow, &json!("int64"), 1).unwrap().0.widest, 8);
        // The second one would be for bytes of values, eight for each, and so would the next.
        let often = json!([delta("|i1", "<i8"), delta("|i1", "<i8"), "bytes"]);
        let error = chain(&often, &json!("int8"), 1).unwrap_err().to_string();
        assert!(
            error.contains("delta is for cells of a width of 1, and those here are of a width of 8"),
            "{error}"
        );
        let many = |count: usize| {
            let codecs: Vec<Value> =
                core::iter::once(json!("bytes")).chain((1..count).map(|_| json!("crc32c"))).collect();
            chain(&json!(codecs), &json!("int8"), 1).map(drop)
        };
        assert!(many(64).is_ok());
        assert!(many(65).unwrap_err().to_string().contains("65 codecs; 64 are the most"));
    }

    #[test]
    fn codecs_that_cannot_be_are_refused_by_name() {
        let error = |codecs: Value, element: Value| chain(&codecs, &element, 1).unwrap_err().to_string();
        assert!(error(json!(["bytes", "lzma"]), json!("int8")).contains("\"lzma\""));
        assert!(error(json!(["bytes", "packbits"]), json!("bool")).contains("packbits"));
        assert!(error(json!(["bytes", "bytes"]), json!("int8")).contains("bytes"));
        assert!(error(json!(["vlen-utf8"]), json!("int8")).contains("vlen-utf8"));
        assert!(error(json!(["bytes"]), json!("string")).contains("bytes"));
        assert!(error(json!(["gzip"]), json!("string")).contains("texts"));
        assert!(
            error(json!(["bytes", {"name": "transpose", "configuration": {"order": [0]}}]), json!("int8"))
                .contains("transpose")
        );
        assert!(error(json!("bytes"), json!("int8")).contains("list"));
        assert!(error(json!([3]), json!("int8")).contains("list"));
        assert!(error(json!(["sharding_indexed"]), json!("int8")).contains("shards"));
        let sum = |name: &str| json!(["bytes", {"name": name, "configuration": {"location": "start"}}]);
        assert!(error(sum("crc32c"), json!("int8")).contains("location"));
        assert!(chain(&sum("numcodecs.crc32c"), &json!("int8"), 1).is_ok());
    }
}
