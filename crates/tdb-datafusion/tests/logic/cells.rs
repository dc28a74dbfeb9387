//! The cells of fixtures as libtiledb 2.30.0 read them (`xtask/fixtures/expected`), as batches of
//! Arrow. No code of tdb reads them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayData, ArrayRef, AsArray, BooleanArray, Int32Array, Int64Array, RecordBatch, UInt64Array, make_array,
};
use datafusion::arrow::buffer::{Buffer, NullBuffer};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{ArrowNativeType, DataType, Int64Type, SchemaRef};
use serde_json::Value;

/// A window that ends here or later has no end in the recorded queries.
const NO_END: u64 = 1_000_000;

/// The fixtures.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures")
}

/// What libtiledb says about a fixture.
pub(crate) struct Recorded(Value);

impl Recorded {
    pub(crate) fn of(name: &str) -> Result<Self, String> {
        let path = root().join("expected/2.30.0").join(name).with_extension("json");
        let text = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self(serde_json::from_slice(&text).map_err(|error| format!("{}: {error}", path.display()))?))
    }

    /// All cells at a time, or in a window of two times, with the columns of a table.
    pub(crate) fn batch(&self, window: Option<&str>, schema: &SchemaRef) -> Result<RecordBatch, String> {
        let (query, domain) = self.query(window)?;
        let count = usize::try_from(query["cells"].as_u64().unwrap_or(0)).unwrap_or(0);
        let coordinates = query["ranges"].as_array().map(|ranges| self.coordinates(ranges, domain));
        let columns = schema.fields().iter().enumerate().map(|(index, field)| {
            let recorded = &query["fields"][field.name().as_str()];
            match &coordinates {
                // The coordinates of a dense array are not recorded: they follow from its box.
                Some(axes) if recorded.is_null() => {
                    coordinates_of(axes.iter().map(|cell| cell.numbers[index]), field.data_type())
                }
                _ => self.column(field.name(), recorded, field.data_type(), count),
            }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        let batch = RecordBatch::try_new(schema.clone(), columns).map_err(|error| error.to_string())?;
        let Some(cells) = coordinates else { return Ok(batch) };
        // Rows of a dense array are the cells of its non-empty domain.
        let inside: BooleanArray = cells.iter().map(|cell| Some(cell.is_inside)).collect();
        datafusion::arrow::compute::filter_record_batch(&batch, &inside).map_err(|error| error.to_string())
    }

    /// The recorded query of everything in a window, and the non-empty domain in it.
    fn query(&self, window: Option<&str>) -> Result<(&Value, &Value), String> {
        let times = match window.map(|window| window.split_once('-').unwrap_or(("", window))) {
            None => Value::Array(vec![Value::Null, Value::Null]),
            Some((start, end)) => {
                let end = end.parse::<u64>().ok().filter(|end| *end < NO_END);
                Value::Array(vec![start.parse::<u64>().ok().into(), end.into()])
            }
        };
        let kind = if window.is_some() { "time-travel" } else { "full" };
        let is = |query: &&Value| {
            let ordered = matches!(query["layout"].as_str(), Some("row-major" | "unordered"));
            query["kind"] == kind && query["timestamps"] == times && ordered
        };
        let found = self.0["queries"].as_array().and_then(|queries| queries.iter().find(is));
        let found = found.ok_or_else(|| format!("no query is recorded at {times}"))?;
        let mut domains = self.0["time_travel"].as_array().into_iter().flatten();
        let domain = match window {
            None => &self.0["non_empty_domain"],
            Some(_) => domains
                .find(|state| state["timestamps"] == times)
                .map_or(&self.0["non_empty_domain"], |state| &state["non_empty_domain"]),
        };
        Ok((found, domain))
    }

    /// The cells of a box in row-major order.
    fn coordinates(&self, ranges: &[Value], domain: &Value) -> Vec<Cell> {
        let dimensions = self.0["schema"]["dimensions"].as_array().unwrap();
        let mut cells = vec![Cell { numbers: Vec::new(), is_inside: true }];
        for (index, (range, dimension)) in ranges.iter().zip(dimensions).enumerate() {
            let (low, high) = ends(range, dimension);
            let inside = if domain.is_null() { (0, -1) } else { ends(&domain[index], dimension) };
            let next = cells.iter().flat_map(|cell| {
                (low..=high).map(move |number| Cell {
                    numbers: cell.numbers.iter().copied().chain([number]).collect(),
                    is_inside: cell.is_inside && (inside.0..=inside.1).contains(&number),
                })
            });
            cells = next.collect();
        }
        cells
    }

    fn column(
        &self,
        name: &str,
        recorded: &Value,
        data_type: &DataType,
        count: usize,
    ) -> Result<ArrayRef, String> {
        let made = match data_type {
            DataType::Dictionary(keys, values) => {
                let keys = column(recorded, keys, count)?;
                self.enumerated(name, &keys, values)?
            }
            data_type => column(recorded, data_type, count)?,
        };
        Ok(made)
    }

    /// Numbers of an enumeration as its values. Numbers that it does not have are null.
    fn enumerated(&self, name: &str, keys: &ArrayRef, values: &DataType) -> Result<ArrayRef, String> {
        let schema = &self.0["schema"];
        let named = |list: &Value, name: &Value| {
            list.as_array().into_iter().flatten().find(|entry| entry["name"] == *name).cloned()
        };
        let attribute = named(&schema["attributes"], &name.into()).ok_or("no such attribute")?;
        let of = named(&schema["enumerations"], &attribute["enumeration"]).ok_or("no enumeration")?;
        let width = match values {
            DataType::FixedSizeList(child, length) => {
                child.data_type().primitive_width().unwrap_or(1) * length.as_usize()
            }
            DataType::FixedSizeBinary(length) => length.as_usize(),
            values => values.primitive_width().unwrap_or(1),
        };
        let count = match of["offsets"].as_str() {
            Some(offsets) => base64(offsets).len() / 8,
            None => base64(of["data"].as_str().unwrap_or("")).len() / width,
        };
        let values = column(&of, values, count)?;
        let numbers = cast(keys, &DataType::Int64).map_err(|error| error.to_string())?;
        let numbers = numbers.as_primitive::<Int64Type>();
        let known = numbers.iter().map(|number| number.filter(|number| (0..count as i64).contains(number)));
        let known =
            cast(&known.collect::<Int64Array>(), keys.data_type()).map_err(|error| error.to_string())?;
        let data_type =
            DataType::Dictionary(keys.data_type().clone().into(), values.data_type().clone().into());
        let made = known.to_data().into_builder().data_type(data_type).add_child_data(values.to_data());
        Ok(make_array(made.build().map_err(|error| error.to_string())?))
    }
}

struct Cell {
    numbers: Vec<i128>,
    is_inside: bool,
}

fn coordinates_of(numbers: impl Iterator<Item = i128>, data_type: &DataType) -> Result<ArrayRef, String> {
    if data_type == &DataType::UInt64 {
        return Ok(Arc::new(numbers.map(|number| u64::try_from(number).ok()).collect::<UInt64Array>()));
    }
    let numbers: Int64Array = numbers.map(|number| Some(number as i64)).collect();
    cast(&numbers, data_type).map_err(|error| error.to_string())
}

/// The ends of a range of integers.
fn ends(range: &Value, dimension: &Value) -> (i128, i128) {
    let unsigned = dimension["type"].as_str().is_some_and(|name| name.starts_with('U'));
    let number = |value: &Value| {
        let text = value.as_str().unwrap();
        let bytes: Vec<u8> =
            (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect();
        let fill = if !unsigned && bytes[bytes.len() - 1] > 127 { 255 } else { 0 };
        let mut wide = [fill; 16];
        wide[..bytes.len()].copy_from_slice(&bytes);
        i128::from_le_bytes(wide)
    };
    (number(&range[0]), number(&range[1]))
}

/// A column from its recorded bytes.
fn column(recorded: &Value, data_type: &DataType, count: usize) -> Result<ArrayRef, String> {
    let text = recorded["data"].as_str().ok_or("a column is not recorded")?;
    let data = base64(text);
    let nulls = recorded["validity"].as_str().map(|validity| {
        NullBuffer::from(base64(validity).into_iter().map(|byte| byte != 0).collect::<Vec<_>>())
    });
    let offsets = || {
        let mut offsets = base64(recorded["offsets"].as_str().unwrap_or(""));
        offsets.extend_from_slice(&(data.len() as u64).to_le_bytes());
        offsets
    };
    let built = |data_type: &DataType, buffers: Vec<Vec<u8>>, children: Vec<ArrayData>| {
        let buffers = buffers.into_iter().map(Buffer::from_vec).collect();
        let builder = ArrayData::builder(data_type.clone()).len(count).nulls(nulls.clone());
        builder.buffers(buffers).child_data(children).align_buffers(true).build().map(make_array)
    };
    let made = match data_type {
        DataType::Boolean => {
            let values = data.iter().map(|byte| Some(*byte != 0)).collect::<BooleanArray>();
            Ok(Arc::new(BooleanArray::new(values.values().clone(), nulls.clone())) as ArrayRef)
        }
        DataType::LargeUtf8 | DataType::LargeBinary => built(data_type, vec![offsets(), data], vec![]),
        // Days are stored in 64 bits.
        DataType::Date32 => {
            let days = data.chunks_exact(8).map(|day| i64::from_le_bytes(day.try_into().unwrap()) as i32);
            let days = Int32Array::new(days.collect(), nulls.clone());
            cast(&days, data_type)
        }
        DataType::FixedSizeList(child, length) => {
            let values = serde_json::json!({ "data": text });
            let values = column(&values, child.data_type(), count * length.as_usize())?;
            built(data_type, vec![], vec![values.to_data()])
        }
        DataType::LargeList(child) => {
            let width = child.data_type().primitive_width().unwrap_or(1);
            let starts = offsets();
            let starts = starts.chunks_exact(8).map(|at| u64::from_le_bytes(at.try_into().unwrap()));
            let starts = starts.flat_map(|at| (at / width as u64).to_le_bytes()).collect();
            let values = column(&serde_json::json!({ "data": text }), child.data_type(), data.len() / width)?;
            built(data_type, vec![starts], vec![values.to_data()])
        }
        data_type => built(data_type, vec![data], vec![]),
    };
    made.map_err(|error| format!("{data_type}: {error}"))
}

/// Bytes from base64.
fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => panic!("{byte} is no digit of base64"),
    };
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'=').map(digit).collect();
    let bytes = digits.chunks(4).flat_map(|group| {
        let number = group.iter().fold(0u32, |number, digit| number << 6 | u32::from(*digit));
        let number = number << (6 * (4 - group.len()));
        number.to_be_bytes().into_iter().skip(1).take(group.len() - 1)
    });
    bytes.collect()
}
