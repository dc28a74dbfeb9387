//! What an array is.

use tdb_codec::FormatVersion;
use tdb_schema::{ArraySchema, Enumeration, GroupDetails, GroupMembers, MetadataEntry};

use crate::assert_same;

/// Array schemas of every version: read, written in its own version, read again; writing in another
/// version succeeds, and is read, or is refused.
pub fn array_schema(data: &[u8]) {
    let Ok(schema) = ArraySchema::parse(data) else { return };
    let written = schema.to_bytes(schema.version).map(|bytes| ArraySchema::parse(&bytes));
    match written {
        Ok(Ok(again)) => assert_same(&again, &schema),
        // What a version can say twice, or not at all, is checked when writing.
        Ok(Err(error)) => assert_eq!(error.to_string(), "", "a schema was written that cannot be read"),
        Err(error) => assert_eq!(error.to_string(), "", "a schema was read that cannot be written"),
    }
    // One other version an input: all of them would make the target slow.
    let Some(version) = FormatVersion::all().nth(data.len() % FormatVersion::all().count()) else { return };
    if let Ok(bytes) = schema.to_bytes(version) {
        let read = ArraySchema::parse(&bytes);
        assert!(read.is_ok(), "a schema was written at version {version} that cannot be read: {read:?}");
    }
}

/// Enumerations: read, every entry looked at, written, read again.
pub fn enumeration(data: &[u8]) {
    let Ok(enumeration) = Enumeration::parse(data) else { return };
    for index in 0..=enumeration.len() {
        assert_eq!(enumeration.value(index).is_some(), index < enumeration.len(), "entry {index}");
    }
    let again = enumeration.to_bytes(FormatVersion::CURRENT).map(|bytes| Enumeration::parse(&bytes));
    assert_same(&again, &Ok(Ok(enumeration)));
}

/// Array metadata: read, written, read again.
pub fn array_metadata(data: &[u8]) {
    let Ok(entries) = MetadataEntry::parse_all(data) else { return };
    let again = MetadataEntry::write_all(&entries).map(|bytes| MetadataEntry::parse_all(&bytes));
    assert_same(&again, &Ok(Ok(entries)));
}

/// Group details: read, written as the same bytes, applied.
pub fn group_details(data: &[u8]) {
    let Ok(details) = GroupDetails::parse(data) else { return };
    assert_same(&details.to_bytes().as_deref(), &Ok(data));
    let mut members = GroupMembers::default();
    let count = details.members.len();
    members.apply(details);
    assert!(members.iter().count() <= count, "more members than entries");
}
