//! Data types: which type of TileDB has the values of one of Zarr.

use core::num::NonZeroU32;

use serde_json::Value;
use tdb_array::schema::{CellValNum, Datatype};

use crate::error::Problem;
use crate::thresholds::MAX_CELL_BYTES;

/// What a cell is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    /// The type of its values.
    pub(crate) datatype: Datatype,
    /// How many of them a cell has.
    pub(crate) count: CellValNum,
}

/// The units of dates and times, as numpy calls them, with the types of TileDB.
const UNITS: [(&str, Datatype, Option<Datatype>); 13] = [
    ("Y", Datatype::DatetimeYear, None),
    ("M", Datatype::DatetimeMonth, None),
    ("W", Datatype::DatetimeWeek, None),
    ("D", Datatype::DatetimeDay, None),
    ("h", Datatype::DatetimeHr, Some(Datatype::TimeHr)),
    ("m", Datatype::DatetimeMin, Some(Datatype::TimeMin)),
    ("s", Datatype::DatetimeSec, Some(Datatype::TimeSec)),
    ("ms", Datatype::DatetimeMs, Some(Datatype::TimeMs)),
    ("us", Datatype::DatetimeUs, Some(Datatype::TimeUs)),
    ("ns", Datatype::DatetimeNs, Some(Datatype::TimeNs)),
    ("ps", Datatype::DatetimePs, Some(Datatype::TimePs)),
    ("fs", Datatype::DatetimeFs, Some(Datatype::TimeFs)),
    ("as", Datatype::DatetimeAs, Some(Datatype::TimeAs)),
];

impl Element {
    const fn one(datatype: Datatype) -> Self {
        Self { datatype, count: CellValNum::ONE }
    }

    const fn var(datatype: Datatype) -> Self {
        Self { datatype, count: CellValNum::Var }
    }

    fn several(datatype: Datatype, count: u64, name: &str) -> Result<Self, Problem> {
        let count = u32::try_from(count).ok().and_then(NonZeroU32::new);
        let count = count.ok_or_else(|| unsupported(name, "arrays have no cells of this length"))?;
        let element = Self { datatype, count: CellValNum::Fixed(count) };
        if element.size().is_none_or(|size| size > MAX_CELL_BYTES) {
            let why = format!("a cell has more than {MAX_CELL_BYTES} bytes, which are the most");
            return Err(unsupported(name, &why));
        }
        Ok(element)
    }

    /// Bytes of a cell, if all have as many.
    pub(crate) fn size(self) -> Option<usize> {
        match self.count {
            CellValNum::Fixed(count) => self.datatype.size().checked_mul(usize::try_from(count.get()).ok()?),
            CellValNum::Var => None,
        }
    }

    /// Bytes of a value, which come in either order.
    pub(crate) fn word(self) -> usize {
        self.datatype.size()
    }

    /// The type that `data_type` of `zarr.json` says.
    pub(crate) fn v3(value: &Value) -> Result<Self, Problem> {
        let (name, configuration) = match value {
            Value::String(name) => (name.as_str(), None),
            Value::Object(object) => {
                let name = object.get("name").and_then(Value::as_str);
                (name.unwrap_or(""), object.get("configuration"))
            }
            _ => ("", None),
        };
        let bytes = |configuration: Option<&Value>| {
            let length = configuration.and_then(|own| own.get("length_bytes")).and_then(Value::as_u64);
            length
                .ok_or_else(|| Problem::damaged(format!("data type {name:?} does not say its length_bytes")))
        };
        Ok(match name {
            "bool" => Self::one(Datatype::Bool),
            "int8" => Self::one(Datatype::Int8),
            "int16" => Self::one(Datatype::Int16),
            "int32" => Self::one(Datatype::Int32),
            "int64" => Self::one(Datatype::Int64),
            "uint8" => Self::one(Datatype::Uint8),
            "uint16" => Self::one(Datatype::Uint16),
            "uint32" => Self::one(Datatype::Uint32),
            "uint64" => Self::one(Datatype::Uint64),
            "float32" => Self::one(Datatype::Float32),
            "float64" => Self::one(Datatype::Float64),
            "string" => Self::var(Datatype::StringUtf8),
            "bytes" | "variable_length_bytes" => Self::var(Datatype::Blob),
            "numpy.datetime64" | "numpy.timedelta64" => {
                let unit =
                    configuration.and_then(|own| own.get("unit")).and_then(Value::as_str).unwrap_or("");
                let unit = if unit == "μs" { "us" } else { unit };
                let factor = configuration.and_then(|own| own.get("scale_factor"));
                if factor.is_some_and(|factor| factor.as_u64() != Some(1)) {
                    return Err(unsupported(name, "units of arrays have no factor"));
                }
                time(unit, name == "numpy.timedelta64", name)?
            }
            "null_terminated_bytes" => Self::several(Datatype::Char, bytes(configuration)?, name)?,
            "raw_bytes" => Self::several(Datatype::Blob, bytes(configuration)?, name)?,
            "fixed_length_utf32" => {
                let length = bytes(configuration)?;
                if !length.is_multiple_of(4) {
                    return Err(Problem::damaged(format!("data type {name:?} has {length} bytes")));
                }
                Self::several(Datatype::StringUtf32, length / 4, name)?
            }
            _ => match name.strip_prefix('r').and_then(|bits| bits.parse::<u64>().ok()) {
                Some(bits) if bits.is_multiple_of(8) => Self::several(Datatype::Blob, bits / 8, name)?,
                _ => return Err(unsupported(&shown(value), "arrays have no such type")),
            },
        })
    }

    /// The type that `dtype` of `.zarray` says, and whether the bytes of values begin with the
    /// highest.
    pub(crate) fn v2(value: &Value) -> Result<(Self, bool), Problem> {
        let Value::String(name) = value else {
            return Err(unsupported(&shown(value), "records are not imported"));
        };
        let wrong = || unsupported(name, "arrays have no such type");
        let (order, rest) = name.split_at_checked(1).ok_or_else(wrong)?;
        let (kind, size) = rest.split_at_checked(1).ok_or_else(wrong)?;
        if !matches!(order, "<" | ">" | "|") {
            return Err(wrong());
        }
        let count = || size.parse::<u64>().map_err(|_| wrong());
        let element = match (kind, size) {
            ("b", "1") => Self::one(Datatype::Bool),
            ("i", "1") => Self::one(Datatype::Int8),
            ("i", "2") => Self::one(Datatype::Int16),
            ("i", "4") => Self::one(Datatype::Int32),
            ("i", "8") => Self::one(Datatype::Int64),
            ("u", "1") => Self::one(Datatype::Uint8),
            ("u", "2") => Self::one(Datatype::Uint16),
            ("u", "4") => Self::one(Datatype::Uint32),
            ("u", "8") => Self::one(Datatype::Uint64),
            ("f", "4") => Self::one(Datatype::Float32),
            ("f", "8") => Self::one(Datatype::Float64),
            ("S", _) => Self::several(Datatype::Char, count()?, name)?,
            ("V", _) => Self::several(Datatype::Blob, count()?, name)?,
            ("U", _) => Self::several(Datatype::StringUtf32, count()?, name)?,
            ("M" | "m", _) => {
                let unit = size.strip_prefix("8[").and_then(|rest| rest.strip_suffix(']'));
                time(unit.unwrap_or("generic"), kind == "m", name)?
            }
            // Which objects they are, a filter says.
            ("O", "") => Self::var(Datatype::StringUtf8),
            _ => return Err(wrong()),
        };
        Ok((element, order == ">"))
    }

    /// Objects that are bytes, not texts.
    pub(crate) const fn objects_of_bytes() -> Self {
        Self::var(Datatype::Blob)
    }
}

fn time(unit: &str, is_span: bool, name: &str) -> Result<Element, Problem> {
    let found = UNITS.iter().find(|(known, ..)| *known == unit);
    let datatype = found.and_then(|(_, point, span)| if is_span { *span } else { Some(*point) });
    let unit = if unit.is_empty() { "none" } else { unit };
    let kind = if is_span { "spans of time" } else { "dates" };
    let datatype =
        datatype.ok_or_else(|| unsupported(name, &format!("arrays have no {kind} of the unit {unit}")))?;
    Ok(Element::one(datatype))
}

fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => {
            let text = other.to_string();
            text.chars().take(200).collect()
        }
    }
}

fn unsupported(name: &str, why: &str) -> Problem {
    Problem::unsupported(format!("data type {name:?}: {why}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn both_versions_name_the_same_types() {
        let pairs = [
            (json!("bool"), "|b1", Datatype::Bool, Some(1)),
            (json!("int16"), "<i2", Datatype::Int16, Some(2)),
            (json!("float64"), ">f8", Datatype::Float64, Some(8)),
            (
                json!({"name": "numpy.datetime64", "configuration": {"unit": "ns", "scale_factor": 1}}),
                "<M8[ns]",
                Datatype::DatetimeNs,
                Some(8),
            ),
            (
                json!({"name": "numpy.timedelta64", "configuration": {"unit": "h"}}),
                "<m8[h]",
                Datatype::TimeHr,
                Some(8),
            ),
            (
                json!({"name": "null_terminated_bytes", "configuration": {"length_bytes": 5}}),
                "|S5",
                Datatype::Char,
                Some(5),
            ),
            (json!("r16"), "|V2", Datatype::Blob, Some(2)),
            (
                json!({"name": "fixed_length_utf32", "configuration": {"length_bytes": 8}}),
                "<U2",
                Datatype::StringUtf32,
                Some(8),
            ),
            (json!("string"), "|O", Datatype::StringUtf8, None),
        ];
        for (v3, v2, datatype, size) in pairs {
            let (old, is_big) = Element::v2(&json!(v2)).unwrap();
            assert_eq!(Element::v3(&v3).unwrap(), old, "{v2}");
            assert_eq!((old.datatype, old.size(), is_big), (datatype, size, v2.starts_with('>')), "{v2}");
        }
    }

    #[test]
    fn types_that_arrays_do_not_have_are_refused_by_name() {
        let v3 = |value: Value| Element::v3(&value).unwrap_err().to_string();
        assert_eq!(v3(json!("float16")), "data type \"float16\": arrays have no such type");
        assert!(v3(json!({"name": "struct", "configuration": {}})).contains("struct"));
        assert!(v3(json!(7)).contains("\"7\""));
        let scaled = json!({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}});
        assert!(v3(scaled).contains("no factor"));
        assert!(v3(json!({"name": "raw_bytes"})).contains("length_bytes"));
        assert!(v3(json!({"name": "raw_bytes", "configuration": {"length_bytes": 0}})).contains("length"));
        assert!(
            v3(json!({"name": "raw_bytes", "configuration": {"length_bytes": 1u64 << 40}}))
                .contains("length")
        );
        for (name, most) in
            [("|S1048576", true), ("|V1048577", false), ("<U262144", true), ("<U262145", false)]
        {
            let found = Element::v2(&json!(name));
            assert_eq!(found.is_ok(), most, "{name}");
            let refused = found.map_or_else(|error| error.to_string(), |_| String::new());
            assert!(most || refused.contains("more than 1048576 bytes"), "{refused}");
        }
        // A text of such a length would be 16 GiB of zeros, as the fill value alone.
        let huge = Element::v2(&json!("<U4294967295")).unwrap_err().to_string();
        assert!(huge.contains("\"<U4294967295\": a cell has more than"), "{huge}");
        for name in ["<c8", "<f2", "<m8[D]", "<M8", "<i3", "", "é", "|S", "|S99999999999", "=i4"] {
            let error = Element::v2(&json!(name)).unwrap_err().to_string();
            assert!(error.contains(&format!("{name:?}")), "{error}");
        }
        assert!(Element::v2(&json!([["a", "<i4"]])).unwrap_err().to_string().contains("records"));
    }
}
