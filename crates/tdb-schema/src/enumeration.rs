//! Enumerations: lists of named values; an integer attribute contains indices into one (version 20
//! on).

use std::collections::HashSet;

use tdb_codec::{
    CellValNum, Datatype, Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire,
    Writer, to_u64, to_usize,
};

use crate::SchemaProblem;

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

/// An enumeration: the payload of a file in `__schema/__enumerations`. The table of its fields is
/// in [`STRUCTURES`](crate::STRUCTURES).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Enumeration {
    /// The name by which attributes refer to the enumeration.
    pub name: String,
    /// The name of the enumeration's file.
    pub file_name: String,
    /// Type of the values.
    pub datatype: Datatype,
    /// Number of values in an entry.
    pub cell_val_num: CellValNum,
    /// Whether the order of the entries has a meaning.
    pub ordered: bool,
    /// The entries, one directly after another.
    pub data: Vec<u8>,
    /// Start of each entry in `data`; `None` for fixed-size entries.
    pub offsets: Option<Vec<u64>>,
}

impl Enumeration {
    /// Reads the payload of an enumeration file.
    ///
    /// ```
    /// use tdb_schema::Enumeration;
    ///
    /// let payload = [
    ///     &[0, 0, 0, 0][..],            // structure version
    ///     &[1, 0, 0, 0, b'e'],          // name
    ///     &[1, 0, 0, 0, b'f'],          // file name
    ///     &[6, 1, 0, 0, 0, 1],          // UINT8, 1 value per entry, ordered
    ///     &[2, 0, 0, 0, 0, 0, 0, 0, 7, 9], // 2 bytes of data
    /// ]
    /// .concat();
    /// let enumeration = Enumeration::parse(&payload)?;
    /// assert_eq!((enumeration.len(), enumeration.value(1)), (2, Some(&[9][..])));
    /// # Ok::<(), tdb_codec::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this build does not know the structure version, the payload is truncated, bytes are left
    /// over, or offsets decrease or are past the end of the data.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        Self::parse_from(Reader::new(payload))
    }

    /// Reads the payload with a reader from the caller, for example a traced one.
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

    /// The payload that [`Self::parse`] reads, for an array of `version`.
    ///
    /// # Errors
    /// [`ErrorKind::NotInVersion`] if `version` has no enumerations; an error if the offsets do not
    /// match the cell val num, or if a name is 4 GiB or more.
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

    /// An enumeration of values of fixed size or, with [`CellValNum::Var`], of any size.
    ///
    /// ```
    /// use tdb_codec::{CellValNum, Datatype};
    /// use tdb_schema::Enumeration;
    ///
    /// let colours = ["red", "green"];
    /// let colours = Enumeration::new("colours", "__0123_0", Datatype::StringUtf8, CellValNum::Var, colours)?;
    /// assert_eq!(colours.value(1), Some(&b"green"[..]));
    /// # Ok::<(), tdb_schema::SchemaProblem>(())
    /// ```
    ///
    /// # Errors
    /// If a value occurs twice, or its size is not that of the type.
    pub fn new<T: AsRef<[u8]>>(
        name: impl Into<String>,
        file_name: impl Into<String>,
        datatype: Datatype,
        cell_val_num: CellValNum,
        values: impl IntoIterator<Item = T>,
    ) -> core::result::Result<Self, SchemaProblem> {
        let (mut data, mut offsets) = (Vec::new(), Vec::new());
        let name = name.into();
        let size = entry_size(datatype, cell_val_num);
        for value in values {
            let value = value.as_ref();
            if size.is_some_and(|size| size != value.len()) {
                return Err(problem(&name, "has a value whose size is not that of its type"));
            }
            offsets.push(to_u64(data.len()));
            data.extend_from_slice(value);
        }
        let offsets = cell_val_num.is_var().then_some(offsets);
        let file_name = file_name.into();
        let enumeration = Self { name, file_name, datatype, cell_val_num, ordered: false, data, offsets };
        enumeration.check()?;
        Ok(enumeration)
    }

    /// Checks that all values are different, as a new enumeration requires. Reading one does not
    /// require it.
    ///
    /// # Errors
    /// [`SchemaProblem::EnumerationValues`].
    pub fn check(&self) -> core::result::Result<(), SchemaProblem> {
        let mut seen = HashSet::with_capacity(self.len());
        if (0..self.len()).filter_map(|index| self.value(index)).all(|value| seen.insert(value)) {
            Ok(())
        } else {
            Err(problem(&self.name, "has a value twice"))
        }
    }

    /// Checks that this enumeration may replace `old`: it must have the same properties and begin
    /// with the same values. The extended enumeration is stored in a separate file.
    ///
    /// # Errors
    /// [`SchemaProblem::EnumerationValues`].
    pub fn check_extends(&self, old: &Self) -> core::result::Result<(), SchemaProblem> {
        let same = self.name == old.name
            && self.datatype == old.datatype
            && self.cell_val_num == old.cell_val_num
            && self.ordered == old.ordered;
        if !same {
            return Err(problem(
                &self.name,
                "has another name, type or order than the enumeration it extends",
            ));
        }
        if (0..old.len()).any(|index| self.value(index) != old.value(index)) {
            return Err(problem(&self.name, "does not begin with the values of the enumeration it extends"));
        }
        if self.file_name == old.file_name {
            return Err(problem(&self.name, "has the same file name as the enumeration it extends"));
        }
        Ok(())
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

fn problem(enumeration: &str, reason: &'static str) -> SchemaProblem {
    SchemaProblem::EnumerationValues { enumeration: enumeration.to_owned(), reason }
}

fn entry_size(datatype: Datatype, cell_val_num: CellValNum) -> Option<usize> {
    match cell_val_num {
        CellValNum::Fixed(count) => usize::try_from(count.get()).ok()?.checked_mul(datatype.size()),
        CellValNum::Var => None,
    }
}

#[cfg(test)]
mod tests {
    use core::result::Result;

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

    fn colours(values: &[&str]) -> Result<Enumeration, SchemaProblem> {
        Enumeration::new("color", "__0_0", Datatype::StringAscii, CellValNum::Var, values)
    }

    #[test]
    fn values_differ_and_have_the_size_of_their_type() {
        let reason = |problem| match problem {
            SchemaProblem::EnumerationValues { reason, .. } => reason,
            other => panic!("{other}"),
        };
        assert_eq!(reason(colours(&["red", "", "red"]).unwrap_err()), "has a value twice");
        let odd = Enumeration::new("e", "f", Datatype::Int32, CellValNum::ONE, [[1u8, 2, 3]]);
        assert_eq!(reason(odd.unwrap_err()), "has a value whose size is not that of its type");
        assert_eq!(colours(&["red", ""]).unwrap().len(), 2);
        let bytes = colours(&[]).unwrap().to_bytes(FormatVersion::CURRENT).unwrap();
        assert_eq!(Enumeration::parse(&bytes).unwrap().len(), 0, "an enumeration may be empty");
    }

    #[test]
    fn an_enumeration_is_extended_at_its_end_only() {
        let old = colours(&["red", "green"]).unwrap();
        let with_file =
            |values: &[&str]| Enumeration { file_name: "__1_0".into(), ..colours(values).unwrap() };
        assert_eq!(with_file(&["red", "green", "blue"]).check_extends(&old), Ok(()));
        for bad in [
            with_file(&["green", "red", "blue"]),
            with_file(&["red"]),
            Enumeration { ordered: true, ..with_file(&["red", "green"]) },
            colours(&["red", "green", "blue"]).unwrap(),
        ] {
            assert!(bad.check_extends(&old).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn enumerations_of_versions_before_them_and_offsets_of_fixed_sizes_are_not_written() {
        let old = FormatVersion::OLDEST;
        assert_eq!(sample().to_bytes(old), Err(Error::not_in_version("enumeration", old)));
        let bad = Enumeration { cell_val_num: CellValNum::ONE, ..sample() };
        assert_eq!(bad.to_bytes(FormatVersion::CURRENT).unwrap_err().what, "enumeration offsets");
    }

    #[test]
    fn hostile_sizes_trailing_bytes_and_unknown_codes_are_refused_where_they_stand() {
        let good = sample().to_bytes(FormatVersion::CURRENT).unwrap();
        // version, name, file name; then type at 25, cell val num at 26, ordered at 30, data length
        // at 31
        for (at, byte, what, kind) in [
            (0, 1, "enumeration version", ErrorKind::UnsupportedVersion { version: 1 }),
            (25, 200, "enumeration datatype", ErrorKind::InvalidValue { value: 200 }),
            (30, 2, "enumeration is ordered", ErrorKind::InvalidValue { value: 2 }),
        ] {
            let mut bytes = good.clone();
            bytes[at] = byte;
            let error = Enumeration::parse(&bytes).unwrap_err();
            assert_eq!((error.what, error.offset, error.kind), (what, to_u64(at), kind));
        }
        let mut bytes = good.clone();
        bytes[31..39].fill(0xff);
        let error = Enumeration::parse(&bytes).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::UnexpectedEnd { .. }) && error.offset == 39, "{error}");
        let mut bytes = good;
        bytes.push(0);
        let error = Enumeration::parse(&bytes).unwrap_err();
        assert_eq!(error.kind, ErrorKind::TrailingBytes { count: 1 });
    }

    #[test]
    fn offsets_past_the_data_are_refused() {
        let mut bad = sample();
        bad.offsets = Some(vec![0, 9, 8]);
        let error = Enumeration::parse(&bad.to_bytes(FormatVersion::CURRENT).unwrap()).unwrap_err();
        assert_eq!(error.kind, ErrorKind::WrongLength { value: 9 });
    }

    #[test]
    fn values_of_fixed_size_are_found_by_their_place() {
        let numbers = Enumeration::new("e", "f", Datatype::Int16, CellValNum::ONE, [[1, 0], [2, 0]]).unwrap();
        assert_eq!((numbers.len(), numbers.is_empty()), (2, false));
        assert_eq!((numbers.value(1), numbers.value(2)), (Some(&[2, 0][..]), None));
        let bytes = numbers.to_bytes(FormatVersion::CURRENT).unwrap();
        assert_eq!(Enumeration::parse(&bytes).unwrap(), numbers);
        let odd = Enumeration { data: vec![1, 0, 2], ..numbers };
        let error = Enumeration::parse(&odd.to_bytes(FormatVersion::CURRENT).unwrap()).unwrap_err();
        assert_eq!((error.what, error.kind), ("enumeration data", ErrorKind::WrongLength { value: 3 }));
        assert!(colours(&[]).unwrap().is_empty());
    }

    #[test]
    fn offsets_that_are_no_whole_words_are_refused() {
        let mut bytes = sample().to_bytes(FormatVersion::CURRENT).unwrap();
        let at = bytes.len() - 3 * 8 - 8;
        bytes[at] = 23;
        let error = Enumeration::parse(&bytes).unwrap_err();
        assert_eq!((error.what, error.offset), ("enumeration offsets", to_u64(at)));
        assert_eq!(error.kind, ErrorKind::WrongLength { value: 23 });
    }

    #[test]
    fn an_extended_enumeration_keeps_name_type_count_and_order() {
        let old = colours(&["red"]).unwrap();
        let good = Enumeration { file_name: "__1_0".into(), ..colours(&["red", "green"]).unwrap() };
        assert_eq!(good.check_extends(&old), Ok(()));
        let two = CellValNum::from_code(2).unwrap();
        for bad in [
            Enumeration { name: "other".into(), ..good.clone() },
            Enumeration { datatype: Datatype::StringUtf8, ..good.clone() },
            Enumeration { cell_val_num: two, ..good.clone() },
            Enumeration { ordered: true, ..good.clone() },
        ] {
            let reason = "has another name, type or order than the enumeration it extends";
            assert_eq!(bad.check_extends(&old), Err(problem(&bad.name, reason)));
        }
    }
}
