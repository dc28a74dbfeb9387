//! Enumerations: the named values that an integer attribute indexes (version 20 on).

use tdb_codec::{
    CellValNum, Datatype, Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire,
    Writer, to_u64, to_usize,
};

/// The table of an enumeration.
pub(crate) static TABLE: Structure = Structure::new(
    "enumeration",
    &[
        FieldRow::new("enumeration version", Wire::U32).note("of this structure: 0"),
        FieldRow::new("enumeration name", Wire::String32).note("what attributes refer to"),
        FieldRow::new("enumeration file name", Wire::String32).note("its own"),
        FieldRow::new("enumeration datatype", Wire::U8),
        FieldRow::new("enumeration cell val num", Wire::U32),
        FieldRow::new("enumeration is ordered", Wire::U8),
        FieldRow::new("enumeration data", Wire::String64),
        FieldRow::new("enumeration offsets size", Wire::U64).when("of variable length").note("bytes"),
        FieldRow::new("enumeration offsets", Wire::Words).when("of variable length").note("starts; no end"),
    ],
)
.since(Gate::Enumerations)
.code("Enumeration::parse", "Enumeration::to_bytes");

/// The format version of this structure itself; only 0 exists.
const STRUCTURE_VERSION: u32 = 0;

/// An enumeration: the payload of a file in `__schema/__enumerations`.
///
/// | field | type |
/// |---|---|
/// | structure version | `u32` = 0 |
/// | name | `u32` length, bytes |
/// | file name | `u32` length, bytes |
/// | datatype, cell val num, ordered | `u8`, `u32`, `u8` |
/// | data | `u64` length, bytes |
/// | offsets | `u64` length, `u64` starts; only if var-length; no trailing end |
#[derive(Clone, Debug, PartialEq)]
pub struct Enumeration {
    /// The name attributes refer to.
    pub name: String,
    /// The name of its own file.
    pub file_name: String,
    /// Type of the values.
    pub datatype: Datatype,
    /// Values an entry.
    pub cell_val_num: CellValNum,
    /// Whether the order of the entries means something.
    pub ordered: bool,
    /// The entries back to back.
    pub data: Vec<u8>,
    /// Start of each entry in `data`; `None` for fixed-size entries.
    pub offsets: Option<Vec<u64>>,
}

impl Enumeration {
    /// Reads the payload of an enumeration file.
    ///
    /// # Errors
    /// A structure version this build does not know, truncation, trailing bytes, or offsets that decrease or
    /// point past the data.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        Self::parse_from(Reader::new(payload))
    }

    /// Reads the payload with a reader of the caller's, e.g. a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>) -> Result<Self> {
        let version = reader.u32("enumeration version")?;
        if version != STRUCTURE_VERSION {
            let kind = ErrorKind::UnsupportedVersion { version };
            return Err(Error::new("enumeration version", 0, kind));
        }
        let name = reader.string_u32("enumeration name")?;
        let file_name = reader.string_u32("enumeration file name")?;
        let datatype = reader.datatype("enumeration datatype")?;
        let start = reader;
        let code = reader.u32("enumeration cell val num")?;
        let cell_val_num = CellValNum::from_code(code).ok_or_else(|| {
            start.error("enumeration cell val num", ErrorKind::InvalidValue { value: u64::from(code) })
        })?;
        let ordered = reader.bool("enumeration is ordered")?;
        let start = reader;
        let data = reader.bytes_u64("enumeration data")?.to_vec();
        let offsets = if cell_val_num.is_var() {
            let start = reader;
            let len = reader.u64("enumeration offsets size")?;
            let bad = |value| start.error("enumeration offsets", ErrorKind::WrongLength { value });
            let count = to_usize(len / 8).filter(|_| len % 8 == 0).ok_or_else(|| bad(len))?;
            let offsets = reader.u64s(count, "enumeration offsets")?;
            let ends = offsets.iter().skip(1).copied().chain([to_u64(data.len())]);
            if let Some((start, _)) = offsets.iter().zip(ends).find(|(start, end)| *start > end) {
                return Err(bad(*start));
            }
            Some(offsets)
        } else {
            let size = entry_size(datatype, cell_val_num);
            if size.is_none_or(|size| !data.len().is_multiple_of(size)) {
                let kind = ErrorKind::WrongLength { value: to_u64(data.len()) };
                return Err(start.error("enumeration data", kind));
            }
            None
        };
        reader.finish("enumeration")?;
        Ok(Self { name, file_name, datatype, cell_val_num, ordered, data, offsets })
    }

    /// The payload [`Self::parse`] reads, for an array of `version`.
    ///
    /// # Errors
    /// [`ErrorKind::NotInVersion`] before there were enumerations; offsets that do not go with the cell val num; a name of 4
    /// GiB or more.
    pub fn to_bytes(&self, version: FormatVersion) -> Result<Vec<u8>> {
        if !version.has(Gate::Enumerations) {
            return Err(Error::not_in_version("enumeration", version));
        }
        if self.cell_val_num.is_var() != self.offsets.is_some() {
            let value = to_u64(self.offsets.as_ref().map_or(0, Vec::len));
            return Err(Error::new("enumeration offsets", 0, ErrorKind::WrongLength { value }));
        }
        let mut writer = Writer::new();
        writer.u32(STRUCTURE_VERSION);
        writer.bytes_u32(self.name.as_bytes(), "enumeration name")?;
        writer.bytes_u32(self.file_name.as_bytes(), "enumeration file name")?;
        writer.u8(self.datatype.code());
        writer.u32(self.cell_val_num.code());
        writer.bool(self.ordered);
        writer.bytes_u64(&self.data);
        if let Some(offsets) = &self.offsets {
            writer.u64(to_u64(offsets.len().saturating_mul(8)));
            offsets.iter().for_each(|offset| writer.u64(*offset));
        }
        Ok(writer.into_vec())
    }

    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        match &self.offsets {
            Some(offsets) => offsets.len(),
            None => entry_size(self.datatype, self.cell_val_num)
                .and_then(|size| self.data.len().checked_div(size))
                .unwrap_or(0),
        }
    }

    /// Whether there are no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of an entry; `None` past the last one.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<&[u8]> {
        match &self.offsets {
            Some(offsets) => {
                let start = to_usize(*offsets.get(index)?)?;
                let end = match offsets.get(index.checked_add(1)?) {
                    Some(end) => to_usize(*end)?,
                    None => self.data.len(),
                };
                self.data.get(start..end)
            }
            None => {
                let size = entry_size(self.datatype, self.cell_val_num)?;
                let start = index.checked_mul(size)?;
                self.data.get(start..start.checked_add(size)?)
            }
        }
    }
}

fn entry_size(datatype: Datatype, cell_val_num: CellValNum) -> Option<usize> {
    match cell_val_num {
        CellValNum::Fixed(count) => usize::try_from(count.get()).ok()?.checked_mul(datatype.size()),
        CellValNum::Var => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Enumeration {
        Enumeration {
            name: "color".into(),
            file_name: "__0123_0".into(),
            datatype: Datatype::StringAscii,
            cell_val_num: CellValNum::Var,
            ordered: false,
            data: b"redgreen".to_vec(),
            offsets: Some(vec![0, 3, 8]),
        }
    }

    #[test]
    fn entries_read_back_and_the_last_may_be_empty() {
        let bytes = sample().to_bytes(FormatVersion::CURRENT).unwrap();
        let read = Enumeration::parse(&bytes).unwrap();
        assert_eq!(read, sample());
        assert_eq!(read.value(1), Some(&b"green"[..]));
        assert_eq!(read.value(2), Some(&b""[..]));
        assert_eq!(read.value(3), None);
        for len in 0..bytes.len() {
            assert!(Enumeration::parse(&bytes[..len]).is_err(), "{len}");
        }
    }

    #[test]
    fn offsets_past_the_data_are_refused() {
        let mut bad = sample();
        bad.offsets = Some(vec![0, 9, 8]);
        let error = Enumeration::parse(&bad.to_bytes(FormatVersion::CURRENT).unwrap()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::WrongLength { value: 9 });
    }
}
