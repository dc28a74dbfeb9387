//! Files of `NumPy`: a header in Python's notation, then the cells.

use serde_json::{Value, json};
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_array::{ArrayWriter, Layout, Write, WriteColumn};
use tdb_codec::{Datatype, to_u64};

use crate::buffers::Buffers;
use crate::thresholds::NPY_TILE_CELLS;

/// The first bytes of every file.
const MAGIC: &[u8] = b"\x93NUMPY";
/// The name of the attribute of a new array.
const NAME: &str = "a";

/// The array in a file.
#[derive(Debug)]
pub(super) struct Npy {
    datatype: Datatype,
    order: Layout,
    shape: Vec<u64>,
    bytes: Vec<u8>,
    /// The offset of the cells.
    start: usize,
}

impl Npy {
    pub(super) fn parse(mut bytes: Vec<u8>) -> Result<Self, String> {
        let cut = || "the file ends inside its header".to_owned();
        let rest = bytes.strip_prefix(MAGIC).ok_or("this is not an NPY file")?;
        let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(cut)?;
        let (len, rest) = match version {
            [1, _] => {
                let (len, rest) = rest.split_first_chunk().ok_or_else(cut)?;
                (usize::from(u16::from_le_bytes(*len)), rest)
            }
            [2 | 3, _] => {
                let (len, rest) = rest.split_first_chunk().ok_or_else(cut)?;
                (usize::try_from(u32::from_le_bytes(*len)).unwrap_or(usize::MAX), rest)
            }
            [version, _] => return Err(format!("version {version} of NPY is not supported")),
        };
        let (header, cells) = rest.split_at_checked(len).ok_or_else(cut)?;
        let header = str::from_utf8(header).map_err(|error| error.to_string())?;
        let descr = entry(header, "descr")?;
        let quoted = descr.strip_prefix(['\'', '"']).and_then(|rest| rest.split(['\'', '"']).next());
        let descr = quoted.ok_or("records are not supported")?;
        let (datatype, is_big) = datatype(descr).ok_or_else(|| unsupported(descr))?;
        let is_fortran = entry(header, "fortran_order")?.starts_with("True");
        let order = if is_fortran { Layout::ColMajor } else { Layout::RowMajor };
        let shape = entry(header, "shape")?.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (shape, _) = shape.ok_or("the header's shape is not a tuple")?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty()).map(str::parse);
        let shape: Vec<u64> =
            sizes.collect::<Result<_, _>>().map_err(|_| "the header's shape is not a tuple")?;
        let count = shape.iter().try_fold(to_u64(datatype.size()), |all, size| all.checked_mul(*size));
        if count != Some(to_u64(cells.len())) {
            return Err(format!(
                "{} bytes of cells do not match the shape {shape:?} and the type {datatype}",
                cells.len()
            ));
        }
        if shape.is_empty() || cells.is_empty() {
            return Err("an array without cells or without dimensions cannot be imported".to_owned());
        }
        let start = bytes.len().saturating_sub(cells.len());
        if is_big {
            let cells = bytes.get_mut(start..).unwrap_or_default();
            cells.chunks_exact_mut(datatype.size()).for_each(<[u8]>::reverse);
        }
        Ok(Self { datatype, order, shape, start, bytes })
    }

    pub(super) fn len(&self) -> u64 {
        self.shape.iter().fold(1, |cells, size| cells.saturating_mul(*size))
    }

    /// The schema of an array for the cells.
    pub(super) fn schema(&self) -> Value {
        let mut room = NPY_TILE_CELLS;
        let mut dimensions: Vec<Value> = Vec::with_capacity(self.shape.len());
        for (index, size) in self.shape.iter().enumerate().rev() {
            let extent = (*size).min(room.max(1));
            room = room.checked_div(extent).unwrap_or(1);
            let domain = [0, size.saturating_sub(1)];
            let dimension =
                json!({"name": format!("d{index}"), "datatype": "INT64", "domain": domain, "extent": extent});
            dimensions.push(dimension);
        }
        dimensions.reverse();
        let filters = json!([{"name": "zstd", "level": 3}]);
        let attribute = json!({"name": NAME, "datatype": self.datatype.name(), "filters": filters});
        json!({"type": ArrayType::Dense.name(), "dimensions": dimensions, "attributes": [attribute]})
    }

    /// The first cells, as they are in the file.
    pub(super) fn sample(&self, most: usize) -> Buffers {
        let cells = self.bytes.get(self.start..).unwrap_or_default();
        let data = cells.get(..most.saturating_mul(self.datatype.size())).unwrap_or(cells).to_vec();
        Buffers { name: NAME.to_owned(), data, offsets: None, validity: None }
    }

    /// The number of cells along each dimension.
    pub(super) fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Returns an error if an array cannot take the cells.
    pub(super) fn check(&self, schema: &ArraySchema) -> Result<(), String> {
        let [attribute] = schema.attributes.as_slice() else {
            return Err(format!(
                "the array has {} attributes, but the file has one",
                schema.attributes.len()
            ));
        };
        if schema.array_type != ArrayType::Dense || schema.domain.dimensions.len() != self.shape.len() {
            return Err(format!("the file needs a dense array with {} dimensions", self.shape.len()));
        }
        if attribute.datatype != self.datatype {
            return Err(format!("the file contains {}, but the array {}", self.datatype, attribute.datatype));
        }
        Ok(())
    }

    /// Returns an error if an array has an enumeration whose values the cells might be.
    pub(super) fn check_codes(schema: &ArraySchema, codes: bool) -> Result<(), String> {
        let enumerated = schema.attributes.iter().find(|attribute| attribute.enumeration.is_some());
        match enumerated.filter(|_| !codes) {
            Some(attribute) => Err(format!(
                "attribute {:?} has an enumeration: --codes takes the numbers of the file for positions of its values",
                attribute.name
            )),
            None => Ok(()),
        }
    }

    /// The write of the cells, starting at the low end of the array's domain.
    pub(super) fn write<'a>(&'a self, writer: &'a ArrayWriter) -> Result<Write<'a>, String> {
        let schema = writer.schema();
        self.check(schema)?;
        let name = schema.attributes.first().map_or(NAME, |attribute| attribute.name.as_str());
        let cells = self.bytes.get(self.start..).unwrap_or_default();
        let mut write = writer.write().order(self.order).column(WriteColumn::bytes(name, cells));
        for (dimension, size) in schema.domain.dimensions.iter().zip(&self.shape) {
            let last = size.saturating_sub(1);
            let fits = dimension.last_ordinal().is_some_and(|max| last <= max);
            let ends = dimension.coordinate(0).zip(dimension.coordinate(last)).filter(|_| fits);
            let (low, high) =
                ends.ok_or_else(|| format!("{size} cells do not fit in dimension {:?}", dimension.name))?;
            write = write.range_bytes(&dimension.name, Some(low), Some(high));
        }
        Ok(write)
    }
}

/// The text after a key of the header.
fn entry<'h>(header: &'h str, key: &str) -> Result<&'h str, String> {
    let quoted =
        |quote: char| header.split_once(&format!("{quote}{key}{quote}:")).map(|(_, rest)| rest.trim_start());
    quoted('\'').or_else(|| quoted('"')).ok_or_else(|| format!("the header has no {key:?}"))
}

/// The error of a type whose cells cannot be imported.
fn unsupported(descr: &str) -> String {
    let remedy = match descr.get(1..).unwrap_or_default() {
        time if time.starts_with("m8[") => {
            "; durations may have the units h, m, s, ms, us, ns, ps, fs and as"
        }
        text if text.starts_with(['U', 'S', 'O']) => "; texts can be imported from a CSV file",
        _ => "",
    };
    format!("cells of type {descr:?} are not supported{remedy}")
}

/// The type of cells, and whether they are big-endian.
fn datatype(descr: &str) -> Option<(Datatype, bool)> {
    let is_big = descr.starts_with('>');
    let name = match descr.strip_prefix(['<', '|', '=', '>'])? {
        "b1" => "BOOL".to_owned(),
        "i1" => "INT8".to_owned(),
        "u1" => "UINT8".to_owned(),
        "i2" => "INT16".to_owned(),
        "u2" => "UINT16".to_owned(),
        "i4" => "INT32".to_owned(),
        "u4" => "UINT32".to_owned(),
        "i8" => "INT64".to_owned(),
        "u8" => "UINT64".to_owned(),
        "f4" => "FLOAT32".to_owned(),
        "f8" => "FLOAT64".to_owned(),
        time => {
            // Dates are counted since 1970; durations have no calendar units.
            let (kind, unit) = match (time.strip_prefix("M8["), time.strip_prefix("m8[")) {
                (Some(unit), _) => ("DATETIME", unit),
                (_, Some(unit)) => ("TIME", unit),
                _ => return None,
            };
            let unit = match unit.strip_suffix(']')? {
                "Y" => "YEAR",
                "M" => "MONTH",
                "W" => "WEEK",
                "D" => "DAY",
                "h" => "HR",
                "m" => "MIN",
                "s" => "SEC",
                unit @ ("ms" | "us" | "ns" | "ps" | "fs" | "as") => unit,
                _ => return None,
            };
            format!("{kind}_{}", unit.to_ascii_uppercase())
        }
    };
    Some((Datatype::from_name(&name)?, is_big))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, cells: &[u8]) -> Vec<u8> {
        let len = u16::try_from(header.len()).unwrap().to_le_bytes();
        [MAGIC, &[1, 0], &len, header.as_bytes(), cells].concat()
    }

    #[test]
    fn a_header_says_type_order_and_shape() {
        let header = "{'descr': '<i2', 'fortran_order': True, 'shape': (2, 3), }  \n";
        let npy = Npy::parse(file(header, &[0; 12])).unwrap();
        assert_eq!(
            (npy.datatype, npy.order, &npy.shape[..]),
            (Datatype::Int16, Layout::ColMajor, &[2, 3][..])
        );
        assert_eq!(npy.bytes.len() - npy.start, 12);
        let dates = "{'descr': '<M8[ns]', 'fortran_order': False, 'shape': (1,), }";
        assert_eq!(Npy::parse(file(dates, &[0; 8])).unwrap().datatype, Datatype::DatetimeNs);
    }

    #[test]
    fn big_endian_cells_and_durations_are_understood() {
        let cells = [0x0102u16, 0xff00].map(u16::to_be_bytes).concat();
        let header = |descr: &str, len: u32| {
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({len},), }}")
        };
        let npy = Npy::parse(file(&header(">u2", 2), &cells)).unwrap();
        assert_eq!((npy.datatype, &npy.bytes[npy.start..]), (Datatype::Uint16, &[2, 1, 0, 0xff][..]));
        let npy = Npy::parse(file(&header(">m8[ms]", 1), &7i64.to_be_bytes())).unwrap();
        assert_eq!((npy.datatype, &npy.bytes[npy.start..]), (Datatype::TimeMs, &7i64.to_le_bytes()[..]));
        assert_eq!(Npy::parse(file(&header("<m8[h]", 1), &[0; 8])).unwrap().datatype, Datatype::TimeHr);
        assert_eq!(Npy::parse(file(&header(">M8[D]", 1), &[0; 8])).unwrap().datatype, Datatype::DatetimeDay);
    }

    #[test]
    fn what_cannot_be_imported_is_refused() {
        let parse = |header: &str, cells: &[u8]| Npy::parse(file(header, cells)).unwrap_err();
        for (descr, why) in [("<c8", "\"<c8\""), ("<m8[D]", "units h, m, s"), ("<U4", "CSV")] {
            let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,)}}");
            assert!(parse(&header, &[0; 8]).contains(why), "{}", parse(&header, &[0; 8]));
        }
        assert!(
            parse("{'descr': '<i2', 'fortran_order': False, 'shape': (2,)}", &[0; 2]).contains("2 bytes")
        );
        assert!(parse("{'descr': '<i2', 'fortran_order': False, 'shape': ()}", &[0; 2]).contains("without"));
        assert!(parse("{'descr': [('a', '<i2')], 'shape': (1,)}", &[0; 2]).contains("records"));
        assert!(Npy::parse(b"PK".to_vec()).is_err());
        let good = file("{'descr': '<i2', 'fortran_order': False, 'shape': (1,)}", &[0; 2]);
        for len in 0..good.len() {
            assert!(Npy::parse(good[..len].to_vec()).is_err(), "{len}");
        }
    }
}
