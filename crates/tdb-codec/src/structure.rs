//! Tables of fields: the byte layout of each structure, for the documentation and for a test that
//! checks it.

use core::fmt;

use crate::{FormatVersion, Gate, TracedField};

/// How a field is encoded.
#[derive(Clone, Copy, Debug)]
pub enum Wire {
    /// One byte.
    U8,
    /// A 32-bit integer.
    U32,
    /// A 64-bit integer.
    U64,
    /// Bytes; the number of bytes follows from earlier fields.
    Bytes,
    /// A 32-bit length and that many bytes.
    String32,
    /// A 64-bit length and that many bytes.
    String64,
    /// 64-bit integers; the number of integers follows from earlier fields.
    Words,
    /// A 64-bit count and that many 64-bit integers.
    List,
    /// Intervals: the low and the high end, both of fixed size; for strings, two 64-bit lengths and
    /// both ends.
    Ranges,
    /// Fields that depend on another field; each has one of these names.
    OneOf(&'static [&'static str]),
    /// A structure that has its own table.
    Structure(&'static Structure),
}

impl Wire {
    /// The encoding in the words of the documentation.
    #[must_use]
    pub fn text(self) -> String {
        match self {
            Self::U8 => "u8".to_owned(),
            Self::U32 => "u32".to_owned(),
            Self::U64 => "u64".to_owned(),
            Self::Bytes => "bytes".to_owned(),
            Self::String32 => "u32 length, bytes".to_owned(),
            Self::String64 => "u64 length, bytes".to_owned(),
            Self::Words => "u64 × n".to_owned(),
            Self::List => "u64 count, u64 × count".to_owned(),
            Self::Ranges => "ranges".to_owned(),
            Self::OneOf(names) => names.join(", "),
            Self::Structure(structure) => format!("*{}*", structure.name),
        }
    }

    /// Lengths of the entries that a trace has for one such field; `None` allows any length.
    const fn notes(self) -> &'static [Option<u64>] {
        match self {
            Self::U8 => &[Some(1)],
            Self::U32 => &[Some(4)],
            Self::U64 => &[Some(8)],
            Self::Bytes | Self::Words => &[None],
            Self::String32 => &[Some(4), None],
            Self::String64 | Self::List => &[Some(8), None],
            Self::Ranges | Self::OneOf(_) | Self::Structure(_) => &[],
        }
    }
}

/// How often a field occurs.
#[derive(Clone, Copy, Debug)]
pub enum Times {
    /// Once.
    Once,
    /// Once if the condition in the text is true, otherwise not at all.
    If(&'static str),
    /// Any number of times: once for each item that the text names.
    Each(&'static str),
}

/// A row of a [`Structure`]'s table.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    /// The field's name: the one its parser gives to the [`Reader`](crate::Reader).
    pub name: &'static str,
    /// How it is encoded.
    pub wire: Wire,
    /// How often.
    pub times: Times,
    /// The gate that introduced it; `None` for a field that the structure always had.
    pub since: Option<Gate>,
    /// The gate that removed it.
    pub until: Option<Gate>,
    /// A remark, or an empty text.
    pub note: &'static str,
}

impl FieldRow {
    /// A field that occurs once, in every version.
    #[must_use]
    pub const fn new(name: &'static str, wire: Wire) -> Self {
        Self { name, wire, times: Times::Once, since: None, until: None, note: "" }
    }

    /// The same field, present from the version of `gate` on.
    #[must_use]
    pub const fn since(self, gate: Gate) -> Self {
        Self { since: Some(gate), ..self }
    }

    /// The same field, present only before the version of `gate`.
    #[must_use]
    pub const fn until(self, gate: Gate) -> Self {
        Self { until: Some(gate), ..self }
    }

    /// The same field, present only if `condition` is true.
    #[must_use]
    pub const fn when(self, condition: &'static str) -> Self {
        Self { times: Times::If(condition), ..self }
    }

    /// The same field, once for each `item`.
    #[must_use]
    pub const fn each(self, item: &'static str) -> Self {
        Self { times: Times::Each(item), ..self }
    }

    /// The same field with a remark.
    #[must_use]
    pub const fn note(self, note: &'static str) -> Self {
        Self { note, ..self }
    }

    /// Whether `version` has the field.
    #[must_use]
    pub fn is_in(&self, version: FormatVersion) -> bool {
        is_open(version, self.since, self.until)
    }
}

/// The table of a structure's fields, in the order of the bytes.
///
/// The table is kept next to the parser and does not drive it. `tdb-array`'s test of all fixtures
/// compares the fields that the parser records in a [`Trace`](crate::Trace) with the table of that
/// version.
///
/// ```
/// use tdb_codec::{FieldRow, FormatVersion, Gate, Reader, Structure, Trace, Wire};
///
/// static ROWS: [FieldRow; 2] = [
///     FieldRow::new("name", Wire::String32),
///     FieldRow::new("nullable", Wire::U8).since(Gate::Nullable),
/// ];
/// static FIELD: Structure = Structure::new("field", &ROWS);
///
/// let trace = Trace::new();
/// let mut reader = Reader::new(&[1, 0, 0, 0, b'a', 1]).traced(&trace);
/// reader.string_u32("name")?;
/// reader.bool("nullable")?;
/// assert_eq!(FIELD.check(FormatVersion::CURRENT, &trace.fields()), Ok(()));
/// // Version 1 has no second field.
/// assert_eq!(FIELD.check(FormatVersion::OLDEST, &trace.fields()).unwrap_err().found, Some("nullable"));
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// Its name.
    pub name: &'static str,
    /// Its fields.
    pub rows: &'static [FieldRow],
    /// The gate that introduced it.
    pub since: Option<Gate>,
    /// The gate that removed it.
    pub until: Option<Gate>,
    /// The functions that read and write it; empty for a part of another structure.
    pub code: (&'static str, &'static str),
}

/// The first place where a trace differs from a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableMismatch {
    /// Index in the trace.
    pub at: usize,
    /// Name of the field the table has there; `None` at its end.
    pub expected: Option<&'static str>,
    /// Name of the field the parser read there; `None` at the end.
    pub found: Option<&'static str>,
}

impl fmt::Display for TableMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |name: Option<&'static str>| name.unwrap_or("the end");
        let (expected, found) = (name(self.expected), name(self.found));
        write!(f, "field {}: the table has {expected}, the parser read {found}", self.at)
    }
}

impl Structure {
    /// A structure that every version has.
    #[must_use]
    pub const fn new(name: &'static str, rows: &'static [FieldRow]) -> Self {
        Self { name, rows, since: None, until: None, code: ("", "") }
    }

    /// The same structure, present from the version of `gate` on.
    #[must_use]
    pub const fn since(self, gate: Gate) -> Self {
        Self { since: Some(gate), ..self }
    }

    /// The same structure, present only before the version of `gate`.
    #[must_use]
    pub const fn until(self, gate: Gate) -> Self {
        Self { until: Some(gate), ..self }
    }

    /// The same structure with the names of the functions that read and write it.
    #[must_use]
    pub const fn code(self, read: &'static str, write: &'static str) -> Self {
        Self { code: (read, write), ..self }
    }

    /// Whether `version` has the structure.
    #[must_use]
    pub fn is_in(&self, version: FormatVersion) -> bool {
        is_open(version, self.since, self.until)
    }

    /// Whether the structure, or a part of it, has another layout in one version than in the other.
    #[must_use]
    pub fn differs(&self, one: FormatVersion, other: FormatVersion) -> bool {
        self.rows.iter().any(|row| {
            let part = match row.wire {
                Wire::Structure(part) if !core::ptr::eq(part, self) => Some(part),
                _ => None,
            };
            row.is_in(one) != row.is_in(other)
                || row.is_in(one) && part.is_some_and(|part| part.differs(one, other))
        })
    }

    /// Compares the fields that a parser recorded with the table of `version`: names, order, and
    /// lengths.
    ///
    /// # Errors
    /// The first field that differs.
    pub fn check(&self, version: FormatVersion, fields: &[TracedField]) -> Result<(), TableMismatch> {
        let mut walk = Walk { version, fields, at: 0 };
        walk.structure(self)?;
        if walk.at < fields.len() { Err(walk.mismatch(None)) } else { Ok(()) }
    }
}

fn is_open(version: FormatVersion, since: Option<Gate>, until: Option<Gate>) -> bool {
    since.is_none_or(|gate| version.has(gate)) && until.is_none_or(|gate| !version.has(gate))
}

/// A place in a trace.
struct Walk<'a> {
    version: FormatVersion,
    fields: &'a [TracedField],
    at: usize,
}

impl Walk<'_> {
    fn next(&self) -> Option<TracedField> {
        self.fields.get(self.at).copied()
    }

    fn mismatch(&self, expected: Option<&'static str>) -> TableMismatch {
        TableMismatch { at: self.at, expected, found: self.next().map(|field| field.what) }
    }

    fn structure(&mut self, structure: &Structure) -> Result<(), TableMismatch> {
        let version = self.version;
        for row in structure.rows.iter().filter(|row| row.is_in(version)) {
            match row.times {
                Times::Once => self.field(row)?,
                Times::If(_) if self.begins(row) => self.field(row)?,
                Times::Each(_) => {
                    while self.begins(row) {
                        self.field(row)?;
                    }
                }
                Times::If(_) => {}
            }
        }
        Ok(())
    }

    /// Whether the next field is the first one of this row.
    fn begins(&self, row: &FieldRow) -> bool {
        let Some(next) = self.next() else { return false };
        match row.wire {
            Wire::OneOf(names) => names.contains(&next.what),
            Wire::Structure(part) => {
                for row in part.rows.iter().filter(|row| row.is_in(self.version)) {
                    if self.begins(row) {
                        return true;
                    }
                    if matches!(row.times, Times::Once) {
                        return false;
                    }
                }
                false
            }
            _ => row.name == next.what,
        }
    }

    fn field(&mut self, row: &FieldRow) -> Result<(), TableMismatch> {
        if let Wire::Structure(part) = row.wire {
            return self.structure(part);
        }
        if !self.begins(row) {
            return Err(self.mismatch(Some(row.name)));
        }
        if matches!(row.wire, Wire::Ranges | Wire::OneOf(_)) {
            while self.begins(row) {
                self.at = self.at.saturating_add(1);
            }
            return Ok(());
        }
        for len in row.wire.notes() {
            match self.next() {
                Some(field) if field.what == row.name && len.is_none_or(|len| len == field.len) => {
                    self.at = self.at.saturating_add(1);
                }
                _ => return Err(self.mismatch(Some(row.name))),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    static PART: Structure = Structure::new(
        "part",
        &[FieldRow::new("key", Wire::String32), FieldRow::new("value", Wire::U8).when("there is one")],
    );
    static WHOLE: Structure = Structure::new(
        "whole",
        &[
            FieldRow::new("count", Wire::U32),
            FieldRow::new("parts", Wire::Structure(&PART)).each("part"),
            FieldRow::new("old", Wire::U8).until(Gate::Nullable),
            FieldRow::new("new", Wire::U64).since(Gate::Nullable),
        ],
    );

    fn trace(fields: &[(&'static str, u64)]) -> Vec<TracedField> {
        fields.iter().map(|(what, len)| TracedField { offset: 0, len: *len, what }).collect()
    }

    #[test]
    fn repeated_optional_and_versioned_fields_are_followed() {
        let parts = [("count", 4), ("key", 4), ("key", 2), ("value", 1), ("key", 4), ("key", 0)];
        let old = trace(&[&parts[..], &[("old", 1)]].concat());
        let new = trace(&[&parts[..], &[("new", 8)]].concat());
        assert_eq!(WHOLE.check(FormatVersion::OLDEST, &old), Ok(()));
        assert_eq!(WHOLE.check(FormatVersion::CURRENT, &new), Ok(()));
        let error = WHOLE.check(FormatVersion::CURRENT, &old).unwrap_err();
        assert_eq!((error.at, error.expected, error.found), (6, Some("new"), Some("old")));
    }

    #[test]
    fn a_missing_a_further_and_a_field_of_another_size_are_found() {
        let missing = trace(&[("count", 4)]);
        let error = WHOLE.check(FormatVersion::OLDEST, &missing).unwrap_err();
        assert_eq!((error.expected, error.found), (Some("old"), None));
        let further = trace(&[("count", 4), ("old", 1), ("old", 1)]);
        let error = WHOLE.check(FormatVersion::OLDEST, &further).unwrap_err();
        assert_eq!((error.at, error.expected), (2, None));
        let wide = trace(&[("count", 8), ("old", 1)]);
        assert_eq!(WHOLE.check(FormatVersion::OLDEST, &wide).unwrap_err().at, 0);
        assert!(error.to_string().contains("the table has the end, the parser read old"));
    }

    #[test]
    fn layouts_change_where_a_row_or_a_part_of_it_comes_or_goes() {
        // Only its part has rows that come and go.
        static HOLDER: Structure =
            Structure::new("holder", &[FieldRow::new("whole", Wire::Structure(&WHOLE))]);
        let versions: Vec<FormatVersion> = FormatVersion::all().collect();
        for structure in [&WHOLE, &HOLDER] {
            let changed: Vec<u32> = versions
                .windows(2)
                .filter(|pair| structure.differs(pair[0], pair[1]))
                .map(|pair| pair[1].number())
                .collect();
            assert_eq!(changed, [Gate::Nullable.since()]);
        }
    }

    #[test]
    fn encodings_have_a_text() {
        static NAMES: [&str; 2] = ["level", "window"];
        for (wire, text) in [
            (Wire::U8, "u8"),
            (Wire::U32, "u32"),
            (Wire::U64, "u64"),
            (Wire::Bytes, "bytes"),
            (Wire::String32, "u32 length, bytes"),
            (Wire::String64, "u64 length, bytes"),
            (Wire::Words, "u64 × n"),
            (Wire::List, "u64 count, u64 × count"),
            (Wire::Ranges, "ranges"),
            (Wire::OneOf(&NAMES), "level, window"),
            (Wire::Structure(&PART), "*part*"),
        ] {
            assert_eq!(wire.text(), text);
        }
    }

    #[test]
    fn structures_and_fields_are_there_between_two_gates() {
        static ROWS: [FieldRow; 1] =
            [FieldRow::new("flag", Wire::U8).since(Gate::Nullable).until(Gate::CurrentDomain).note("0")];
        static PASSING: Structure = Structure::new("passing", &ROWS)
            .since(Gate::FillValues)
            .until(Gate::Enumerations)
            .code("read", "write");
        let versions = |is_in: fn(FormatVersion) -> bool| -> Vec<u32> {
            FormatVersion::all().filter(|version| is_in(*version)).map(FormatVersion::number).collect()
        };
        assert_eq!(versions(|version| ROWS[0].is_in(version)), (7..22).collect::<Vec<_>>());
        assert_eq!(versions(|version| PASSING.is_in(version)), (6..20).collect::<Vec<_>>());
        assert_eq!((PASSING.code, ROWS[0].note), (("read", "write"), "0"));
    }

    #[test]
    fn ranges_and_options_take_any_number_of_fields_of_their_names() {
        static NAMES: [&str; 2] = ["level", "window"];
        static OPTIONS: Structure = Structure::new(
            "options",
            &[
                FieldRow::new("options", Wire::OneOf(&NAMES)).when("there are some"),
                FieldRow::new("domain", Wire::Ranges),
                FieldRow::new("words", Wire::Words),
                FieldRow::new("list", Wire::List),
            ],
        );
        let version = FormatVersion::CURRENT;
        let end = [("words", 24), ("list", 8), ("list", 16)];
        let few = [&[("domain", 2)][..], &end].concat();
        let many = [&[("level", 4), ("window", 4), ("level", 1), ("domain", 2), ("domain", 2)][..], &end];
        assert_eq!(OPTIONS.check(version, &trace(&few)), Ok(()));
        assert_eq!(OPTIONS.check(version, &trace(&many.concat())), Ok(()));
        let error = OPTIONS.check(version, &trace(&[("level", 4), ("words", 8)])).unwrap_err();
        assert_eq!((error.at, error.expected, error.found), (1, Some("domain"), Some("words")));
        let error = OPTIONS.check(version, &trace(&few[..3])).unwrap_err();
        assert_eq!((error.at, error.expected, error.found), (3, Some("list"), None));
    }

    #[test]
    fn a_part_that_contains_itself_has_the_layout_of_its_rows() {
        static NODE: Structure = Structure::new(
            "node",
            &[
                FieldRow::new("kind", Wire::U8),
                FieldRow::new("children", Wire::Structure(&NODE)).each("child"),
                FieldRow::new("late", Wire::U8).since(Gate::CurrentDomain),
            ],
        );
        let (old, new) = (FormatVersion::OLDEST, FormatVersion::CURRENT);
        assert!(NODE.differs(old, new) && NODE.differs(new, old));
        assert!(!NODE.differs(new, new) && !NODE.differs(old, old));
    }
}
