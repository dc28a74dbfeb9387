//! Names of the data files in a fragment's folder.

use tdb_codec::{FormatVersion, Gate};
use tdb_schema::{ArraySchema, FieldKind};

/// The kind of a field's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataFilePart {
    /// Values of a fixed-size field, or offsets of a var-length one.
    Fixed,
    /// Values of a var-length field.
    Var,
    /// Validity bytes of a nullable attribute.
    Validity,
}

/// A data file of a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataFile {
    /// A file of an attribute or (version 5 on) a dimension.
    Field(FieldKind, DataFilePart),
    /// All coordinates, up to version 4.
    Coords,
    /// A timestamp for each cell.
    Timestamps,
    /// The time at which each cell was deleted.
    DeleteTimestamps,
    /// The index of the condition that deleted each cell.
    DeleteConditionIndex,
}

impl DataFile {
    /// The file's name in a fragment of `version` written with `schema`; `None` for a field that
    /// the schema does not have.
    ///
    /// Up to version 7, files have the unchanged name of the field; in version 8, the name is
    /// percent-encoded (with four codes that are wrong by the rules of URLs, but are used on disk);
    /// from version 9 on, files have the field's index in the fragment's own schema.
    #[must_use]
    pub fn name(self, schema: &ArraySchema, version: FormatVersion) -> Option<String> {
        let (kind, part) = match self {
            Self::Field(kind, part) => (kind, part),
            Self::Coords => return Some("__coords.tdb".to_owned()),
            Self::Timestamps => return Some("t.tdb".to_owned()),
            Self::DeleteTimestamps => return Some("dt.tdb".to_owned()),
            Self::DeleteConditionIndex => return Some("dci.tdb".to_owned()),
        };
        let stem = if version.has(Gate::IndexedFileNames) {
            match kind {
                FieldKind::Attribute(index) => format!("a{index}"),
                FieldKind::Dimension(index) => format!("d{index}"),
            }
        } else {
            let name = schema.field_of(kind)?.name;
            if version.has(Gate::PercentEncodedFileNames) { percent_encode(name) } else { name.to_owned() }
        };
        Some(match part {
            DataFilePart::Fixed => stem + ".tdb",
            DataFilePart::Var => stem + "_var.tdb",
            DataFilePart::Validity => stem + "_validity.tdb",
        })
    }
}

/// The encoding of field names in version 8. The last four rows are what libtiledb 2.2.3 to 2.2.9
/// actually write.
const ENCODED: [(char, &str); 24] = [
    ('!', "%21"),
    ('#', "%23"),
    ('$', "%24"),
    ('%', "%25"),
    ('&', "%26"),
    ('\'', "%27"),
    ('(', "%28"),
    (')', "%29"),
    ('*', "%2A"),
    ('+', "%2B"),
    (',', "%2C"),
    ('/', "%2F"),
    (':', "%3A"),
    (';', "%3B"),
    ('=', "%3D"),
    ('?', "%3F"),
    ('@', "%40"),
    ('[', "%5B"),
    (']', "%5D"),
    ('"', "%22"),
    ('<', "%20"),
    ('>', "%2D"),
    ('\\', "%30"),
    ('|', "%3C"),
];

fn percent_encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match ENCODED.iter().find(|(plain, _)| *plain == c) {
            Some((_, code)) => out.push_str(code),
            None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use tdb_codec::{ArrayType, CellValNum, Datatype};
    use tdb_schema::{Attribute, Dimension, Domain};

    use super::*;

    #[test]
    fn each_era_names_its_files_its_own_way() {
        let schema = ArraySchema::new(ArrayType::Sparse, Domain::new(vec![Dimension::string("d<")]))
            .with_attribute(Attribute::new("a|b c", Datatype::Int32, CellValNum::ONE))
            .with_attribute(Attribute::new("", Datatype::Char, CellValNum::Var));
        let name = |version, kind, part| {
            let version = FormatVersion::parse(version).unwrap();
            DataFile::Field(kind, part).name(&schema, version).unwrap()
        };
        let (first, second) = (FieldKind::Attribute(0), FieldKind::Attribute(1));
        assert_eq!(name(7, first, DataFilePart::Fixed), "a|b c.tdb");
        assert_eq!(name(8, first, DataFilePart::Validity), "a%3Cb c_validity.tdb");
        assert_eq!(name(8, FieldKind::Dimension(0), DataFilePart::Var), "d%20_var.tdb");
        assert_eq!(name(5, second, DataFilePart::Fixed), ".tdb");
        assert_eq!(name(5, second, DataFilePart::Var), "_var.tdb");
        assert_eq!(name(9, second, DataFilePart::Var), "a1_var.tdb");
        assert_eq!(name(22, FieldKind::Dimension(0), DataFilePart::Fixed), "d0.tdb");
        assert_eq!(DataFile::Coords.name(&schema, FormatVersion::OLDEST).unwrap(), "__coords.tdb");
        let missing = DataFile::Field(FieldKind::Attribute(9), DataFilePart::Fixed);
        assert_eq!(missing.name(&schema, FormatVersion::OLDEST), None);
    }
}
