//! Fill values.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use tdb_array::schema::{Datatype, Physical};

use crate::element::Element;
use crate::error::Problem;
use crate::thresholds::MAX_CELL_BYTES;

/// The bytes of a cell that a fill value stands for.
pub(crate) fn bytes(value: &Value, element: Element) -> Result<Vec<u8>, Problem> {
    let Some(size) = element.size() else { return var(value, element) };
    let wrong = || Problem::damaged(format!("the fill value {value} is none of {}", element.datatype));
    let padded = |mut bytes: Vec<u8>| {
        let fits = bytes.len() <= size;
        bytes.resize(size, 0);
        fits.then_some(bytes).ok_or_else(wrong)
    };
    if value.is_null() {
        return Ok(vec![0; size]);
    }
    match element.datatype {
        Datatype::Char | Datatype::Blob => match value {
            Value::String(text) => padded(STANDARD.decode(text).map_err(|_| wrong())?),
            Value::Array(list) => padded(list_bytes(list).ok_or_else(wrong)?),
            // Version 2 has zero for all types.
            Value::Number(number) if number.as_f64() == Some(0.) => Ok(vec![0; size]),
            _ => Err(wrong()),
        },
        Datatype::StringUtf32 => match value {
            Value::String(text) => {
                padded(text.chars().flat_map(|one| u32::from(one).to_le_bytes()).collect())
            }
            Value::Number(number) if number.as_f64() == Some(0.) => Ok(vec![0; size]),
            _ => Err(wrong()),
        },
        Datatype::Bool => match value {
            Value::Bool(value) => Ok(vec![u8::from(*value)]),
            Value::Number(number) => match number.as_f64() {
                Some(0.) => Ok(vec![0]),
                Some(1.) => Ok(vec![1]),
                _ => Err(wrong()),
            },
            _ => Err(wrong()),
        },
        // Only times have a value that is none.
        datatype if value == "NaT" => {
            let is_of_time = datatype.is_datetime() || datatype.is_time();
            is_of_time.then(|| i64::MIN.to_le_bytes().to_vec()).ok_or_else(wrong)
        }
        datatype => number(datatype.physical(), value).ok_or_else(wrong),
    }
}

fn list_bytes(list: &[Value]) -> Option<Vec<u8>> {
    list.iter().map(|byte| byte.as_u64().and_then(|byte| u8::try_from(byte).ok())).collect()
}

/// The fill value of texts and bytes of any length.
fn var(value: &Value, element: Element) -> Result<Vec<u8>, Problem> {
    let wrong = || Problem::damaged(format!("the fill value {value} is none of {}", element.datatype));
    let fill = match value {
        Value::Null => Vec::new(),
        Value::String(text) if element.datatype == Datatype::Blob => {
            STANDARD.decode(text).map_err(|_| wrong())?
        }
        Value::String(text) => text.clone().into_bytes(),
        Value::Array(list) => list_bytes(list).ok_or_else(wrong)?,
        Value::Number(number) if number.as_f64() == Some(0.) => Vec::new(),
        _ => return Err(wrong()),
    };
    // All cells of a chunk that is not there have it.
    if fill.len() > MAX_CELL_BYTES {
        let what = format!("the fill value has {} bytes; {MAX_CELL_BYTES} are the most", fill.len());
        return Err(Problem::unsupported(what));
    }
    Ok(fill)
}

/// The bits that a text of hexadecimal digits says, the highest first.
fn bits(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
}

#[expect(clippy::cast_possible_truncation, reason = "a fill value of 32 bits is the nearest one")]
fn number(physical: Physical, value: &Value) -> Option<Vec<u8>> {
    let whole = || match value {
        Value::Number(number) => {
            // Some writers have 0.0 for integers.
            let real = || number.as_f64().filter(|real| real.fract() == 0. && real.abs() < 9e15);
            number
                .as_i64()
                .map(i128::from)
                .or_else(|| number.as_u64().map(i128::from))
                .or_else(|| Some(i128::from(real()? as i64)))
        }
        _ => None,
    };
    let real = || match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    };
    let stored = value.as_str().and_then(bits);
    Some(match physical {
        Physical::I8 => i8::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::U8 => u8::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::I16 => i16::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::U16 => u16::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::I32 => i32::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::U32 => u32::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::I64 => i64::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::U64 => u64::try_from(whole()?).ok()?.to_le_bytes().to_vec(),
        Physical::F32 => match stored {
            Some(bits) => u32::try_from(bits).ok()?.to_le_bytes().to_vec(),
            None => (real()? as f32).to_le_bytes().to_vec(),
        },
        Physical::F64 => match stored {
            Some(bits) => bits.to_le_bytes().to_vec(),
            None => real()?.to_le_bytes().to_vec(),
        },
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fill(dtype: &str, value: Value) -> Option<Vec<u8>> {
        bytes(&value, Element::v2(&json!(dtype)).unwrap().0).ok()
    }

    #[test]
    fn fill_values_are_exact() {
        assert_eq!(fill("<i8", json!(i64::MIN)), Some(i64::MIN.to_le_bytes().to_vec()));
        assert_eq!(fill("<u8", json!(u64::MAX)), Some(u64::MAX.to_le_bytes().to_vec()));
        assert_eq!(fill("<i2", json!(-7.0)), Some((-7i16).to_le_bytes().to_vec()));
        assert_eq!(fill("<f4", json!(0.1)), Some(0.1f32.to_le_bytes().to_vec()));
        assert_eq!(fill("<f8", json!("-Infinity")), Some(f64::NEG_INFINITY.to_le_bytes().to_vec()));
        assert_eq!(fill("<f4", json!("0x7fc00001")), Some(0x7fc0_0001u32.to_le_bytes().to_vec()));
        assert_eq!(fill("<M8[s]", json!("NaT")), Some(i64::MIN.to_le_bytes().to_vec()));
        assert_eq!(fill("<m8[ns]", json!("NaT")), Some(i64::MIN.to_le_bytes().to_vec()));
        assert_eq!(fill("<M8[s]", json!(5)), Some(5i64.to_le_bytes().to_vec()));
        assert_eq!(fill("|b1", json!(true)), Some(vec![1]));
        assert_eq!(fill("|S3", json!("Zm8=")), Some(b"fo\0".to_vec()));
        assert_eq!(fill("|V2", json!([1, 2])), Some(vec![1, 2]));
        assert_eq!(fill("<U2", json!("é")), Some(vec![0xe9, 0, 0, 0, 0, 0, 0, 0]));
        assert_eq!(fill("|O", json!("none")), Some(b"none".to_vec()));
        assert_eq!((fill("<i4", json!(null)), fill("|O", json!(0))), (Some(vec![0; 4]), Some(Vec::new())));
    }

    #[test]
    fn values_of_other_types_are_refused() {
        let wrong = [
            ("|i1", json!(300)),
            ("<u8", json!(-1)),
            ("<i4", json!("1")),
            ("<i8", json!("NaT")),
            ("<f8", json!("NaT")),
            ("|O", json!("a".repeat(MAX_CELL_BYTES + 1))),
            ("<i4", json!(1.5)),
            ("<i8", json!(1e300)),
            ("<f4", json!("0x1ffffffff")),
            ("<f8", json!("0x+1")),
            ("<f8", json!("nan")),
            ("|b1", json!(2)),
            ("|S1", json!("Zm8=")),
            ("|S1", json!("?")),
            ("|V2", json!([1, 256])),
            ("<U1", json!("ab")),
            ("|O", json!(true)),
            ("<f8", json!({})),
        ];
        for (dtype, value) in wrong {
            assert_eq!(fill(dtype, value.clone()), None, "{dtype} {value}");
        }
    }
}
