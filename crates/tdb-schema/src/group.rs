//! Groups: lists of arrays and other groups that belong together (specification, "Group file").

use core::fmt;
use std::collections::BTreeMap;

use tdb_codec::{ErrorKind, FieldRow, Gate, Reader, Result, Structure, Wire, Writer, to_u64};

/// The table of a file in `__group`.
pub(crate) static TABLE: Structure = Structure::new(
    "group details",
    &[
        FieldRow::new("group version", Wire::U32).note("of this structure: 1 or 2"),
        FieldRow::new("member count", Wire::U64),
        FieldRow::new("members", Wire::Structure(&MEMBER)).each("member, in no particular order"),
    ],
)
.since(Gate::Groups)
.code("GroupDetails::parse", "GroupDetails::to_bytes");

static MEMBER: Structure = Structure::new(
    "group member",
    &[
        FieldRow::new("member version", Wire::U32).note("of this structure: 1 or 2"),
        FieldRow::new("member object type", Wire::U8).note("0 invalid, 1 group, 2 array"),
        FieldRow::new("member is relative", Wire::U8)
            .note("whether the URI is relative to the group's folder"),
        FieldRow::new("member URI", Wire::String64),
        FieldRow::new("member has a name", Wire::U8),
        FieldRow::new("member name", Wire::String64).when("it has one"),
        FieldRow::new("member is deleted", Wire::U8).when("member version is 2"),
    ],
);

/// The layout of a group's file, or of one member in it. This number is separate from the format
/// version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GroupVersion {
    /// 1: only the newest file is used; it contains all members.
    V1,
    /// 2: members may be deleted; all files are applied, one after another.
    V2,
}

impl GroupVersion {
    const TABLE: [(u32, Self); 2] = [(1, Self::V1), (2, Self::V2)];

    /// The number in the file.
    #[must_use]
    pub fn number(self) -> u32 {
        Self::TABLE.iter().find(|row| row.1 == self).map_or(0, |row| row.0)
    }

    /// The version according to the name of a file in `__group`: `__t1_t2_uuid` and
    /// `__t1_t2_uuid_1` are version 1, every other name counts as version 2, as in libtiledb.
    ///
    /// ```
    /// use tdb_schema::GroupVersion;
    ///
    /// assert_eq!(GroupVersion::of_name("__5_5_0123456789abcdef0123456789abcdef"), GroupVersion::V1);
    /// assert_eq!(GroupVersion::of_name("__5_5_0123456789abcdef0123456789abcdef_2"), GroupVersion::V2);
    /// ```
    #[must_use]
    pub fn of_name(name: &str) -> Self {
        match name.matches('_').count() {
            4 => Self::V1,
            5 if name.ends_with("_1") => Self::V1,
            _ => Self::V2,
        }
    }

    fn parse(reader: &mut Reader<'_>, what: &'static str) -> Result<Self> {
        let start = *reader;
        let number = reader.u32(what)?;
        let known = Self::TABLE.iter().find(|row| row.0 == number);
        known
            .map(|row| row.1)
            .ok_or_else(|| start.error(what, ErrorKind::UnsupportedVersion { version: number }))
    }
}

impl fmt::Display for GroupVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// The kind of object of a group's member or of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectType {
    /// Neither a group nor an array.
    Invalid,
    /// A group.
    Group,
    /// An array.
    Array,
}

impl ObjectType {
    const TABLE: [(u8, Self, &'static str); 3] =
        [(0, Self::Invalid, "invalid"), (1, Self::Group, "group"), (2, Self::Array, "array")];

    /// From the code in a group's file.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.0 == code).map(|row| row.1)
    }

    /// The code in a group's file.
    #[must_use]
    pub fn code(self) -> u8 {
        Self::TABLE.iter().find(|row| row.1 == self).map_or(0, |row| row.0)
    }

    /// Its name, in lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::TABLE.iter().find(|row| row.1 == self).map_or("", |row| row.2)
    }
}

/// A member of a group.
///
/// | field | type |
/// |---|---|
/// | version | `u32`, [`GroupVersion`] |
/// | object type | `u8`, [`ObjectType`] |
/// | relative | `u8` |
/// | URI | `u64` length, bytes |
/// | has a name | `u8` |
/// | name | `u64` length, bytes; only if it has one |
/// | deleted | `u8`; only version 2 |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GroupMember {
    /// The layout of this entry.
    pub version: GroupVersion,
    /// The kind of object that the writer found at the URI.
    pub object: ObjectType,
    /// Whether the URI is relative to the group's folder.
    pub relative: bool,
    /// The URI of the member.
    pub uri: String,
    /// The member's name in the group; `None` if its URI identifies it.
    pub name: Option<String>,
    /// Whether the entry removes the member. Version 1 cannot store this.
    pub deleted: bool,
}

/// Number of bytes of the smallest member.
const MEMBER_BYTES: usize = 15;

impl GroupMember {
    /// A member in the current layout.
    pub fn new(object: ObjectType, uri: impl Into<String>) -> Self {
        let (uri, name) = (uri.into(), None);
        Self { version: GroupVersion::V2, object, relative: false, uri, name, deleted: false }
    }

    /// The same member with a name.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// The same member, with a URI that is relative to the group's folder.
    #[must_use]
    pub const fn with_relative_uri(mut self) -> Self {
        self.relative = true;
        self
    }

    /// The key of the member in the group: its name, or the stored URI if it has no name.
    #[must_use]
    pub fn key(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.uri)
    }

    fn parse(reader: &mut Reader<'_>) -> Result<Self> {
        let version = GroupVersion::parse(reader, "member version")?;
        let object = reader.code("member object type", ObjectType::from_code)?;
        let relative = reader.bool("member is relative")?;
        let uri = reader.string_u64("member URI")?;
        let named = reader.bool("member has a name")?;
        let name = if named { Some(reader.string_u64("member name")?) } else { None };
        let deleted = version == GroupVersion::V2 && reader.bool("member is deleted")?;
        Ok(Self { version, object, relative, uri, name, deleted })
    }

    fn write(&self, writer: &mut Writer) -> Result<()> {
        if self.deleted && self.version == GroupVersion::V1 {
            let kind = ErrorKind::InvalidValue { value: 1 };
            return Err(tdb_codec::Error::new("member is deleted", to_u64(writer.len()), kind));
        }
        writer.u32(self.version.number());
        writer.u8(self.object.code());
        writer.bool(self.relative);
        writer.bytes_u64(self.uri.as_bytes());
        writer.bool(self.name.is_some());
        if let Some(name) = &self.name {
            writer.bytes_u64(name.as_bytes());
        }
        if self.version == GroupVersion::V2 {
            writer.bool(self.deleted);
        }
        Ok(())
    }
}

/// The payload of a file in a group's `__group` folder.
///
/// | field | type |
/// |---|---|
/// | group version | `u32`, [`GroupVersion`] |
/// | member count | `u64` |
/// | members | [`GroupMember`] each, in no particular order |
///
/// ```
/// use tdb_schema::{GroupDetails, GroupVersion, ObjectType};
///
/// // What libtiledb 2.30.0 writes for one relative member: the group "deep", which also has the name "deep".
/// let payload = [
///     2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, // version, count
///     2, 0, 0, 0, 1, 1, 4, 0, 0, 0, 0, 0, 0, 0, b'd', b'e', b'e', b'p', // version, group, relative, URI
///     1, 4, 0, 0, 0, 0, 0, 0, 0, b'd', b'e', b'e', b'p', 0, // name, not deleted
/// ];
/// let details = GroupDetails::parse(&payload)?;
/// assert_eq!(details.version, GroupVersion::V2);
/// assert_eq!((details.members[0].object, details.members[0].key()), (ObjectType::Group, "deep"));
/// assert_eq!(details.to_bytes()?, payload);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupDetails {
    /// The layout of the file.
    pub version: GroupVersion,
    /// The members; in version 2 also the removed ones.
    pub members: Vec<GroupMember>,
}

impl GroupDetails {
    /// Reads the payload of a file in `__group`.
    ///
    /// # Errors
    /// If the payload is truncated, bytes are left over, a version, an object type or a flag is not
    /// defined by the format, or a count is more than the payload can contain.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        Self::parse_from(Reader::new(payload))
    }

    /// Reads the payload with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>) -> Result<Self> {
        let version = GroupVersion::parse(&mut reader, "group version")?;
        let count = reader.count_u64(MEMBER_BYTES, "member count")?;
        let members = (0..count).map(|_| GroupMember::parse(&mut reader)).collect::<Result<_>>()?;
        reader.finish("group")?;
        Ok(Self { version, members })
    }

    /// The payload that [`Self::parse`] reads.
    ///
    /// # Errors
    /// If a member of version 1 is deleted, because version 1 cannot store this.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        writer.u32(self.version.number());
        writer.u64(to_u64(self.members.len()));
        self.members.iter().try_for_each(|member| member.write(&mut writer))?;
        Ok(writer.into_vec())
    }
}

/// The members of a group by their keys: the result of applying its files in time order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupMembers {
    members: BTreeMap<String, GroupMember>,
}

impl GroupMembers {
    /// Applies one file: members replace earlier members with the same key, and deleted members
    /// remove them.
    pub fn apply(&mut self, details: GroupDetails) {
        for member in details.members {
            if member.deleted {
                self.members.remove(member.key());
            } else {
                self.members.insert(member.key().to_owned(), member);
            }
        }
    }

    /// The members in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &GroupMember> {
        self.members.values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(version: GroupVersion) -> GroupDetails {
        let named = GroupMember {
            version,
            relative: true,
            name: Some("first".into()),
            ..GroupMember::new(ObjectType::Array, "a")
        };
        let plain = GroupMember { version, ..GroupMember::new(ObjectType::Group, "file:///x/inner") };
        GroupDetails { version, members: vec![named, plain] }
    }

    #[test]
    fn both_versions_are_written_as_they_are_read_and_every_truncation_is_refused() {
        for version in [GroupVersion::V1, GroupVersion::V2] {
            let mut details = sample(version);
            details.members[0].deleted = version == GroupVersion::V2;
            let bytes = details.to_bytes().unwrap();
            assert_eq!(GroupDetails::parse(&bytes).unwrap(), details);
            for len in 0..bytes.len() {
                assert!(GroupDetails::parse(&bytes[..len]).is_err(), "{len} bytes of {version:?}");
            }
            let error = GroupDetails::parse(&[&bytes[..], &[0]].concat()).unwrap_err();
            assert_eq!(
                (error.offset, error.kind),
                (to_u64(bytes.len()), ErrorKind::TrailingBytes { count: 1 })
            );
        }
    }

    #[test]
    fn versions_may_differ_between_a_file_and_its_members() {
        let mut details = sample(GroupVersion::V2);
        details.members[1].version = GroupVersion::V1;
        let bytes = details.to_bytes().unwrap();
        assert_eq!(GroupDetails::parse(&bytes).unwrap(), details);
        details.members[1].deleted = true;
        assert_eq!(details.to_bytes().unwrap_err().kind, ErrorKind::InvalidValue { value: 1 });
    }

    #[test]
    fn hostile_counts_and_unknown_codes_are_refused_where_they_stand() {
        let bytes = sample(GroupVersion::V2).to_bytes().unwrap();
        let broken = |at: usize, value: &[u8]| {
            let mut bytes = bytes.clone();
            bytes[at..at + value.len()].copy_from_slice(value);
            let error = GroupDetails::parse(&bytes).unwrap_err();
            (error.offset, error.kind)
        };
        let version = ErrorKind::UnsupportedVersion { version: 3 };
        assert_eq!(broken(0, &[3]), (0, version));
        assert_eq!(broken(4, &[0xff; 8]), (4, ErrorKind::CountTooLarge { count: u64::MAX }));
        assert_eq!(broken(12, &[3]), (12, version));
        assert_eq!(broken(16, &[9]), (16, ErrorKind::InvalidValue { value: 9 }));
        assert_eq!(broken(17, &[2]), (17, ErrorKind::InvalidValue { value: 2 }));
        assert!(matches!(broken(18, &[0xff; 8]), (26, ErrorKind::UnexpectedEnd { .. })));
    }

    #[test]
    fn the_last_word_about_a_key_counts_and_a_member_without_name_is_its_uri() {
        let mut members = GroupMembers::default();
        members.apply(sample(GroupVersion::V2));
        let mut later = sample(GroupVersion::V2);
        later.members[0].deleted = true;
        later.members[1].object = ObjectType::Array;
        members.apply(later);
        let left: Vec<_> = members.iter().map(|member| (member.key(), member.object)).collect();
        assert_eq!(left, [("file:///x/inner", ObjectType::Array)]);
    }

    #[test]
    fn the_table_says_what_the_parser_reads() {
        for version in [GroupVersion::V1, GroupVersion::V2] {
            let bytes = sample(version).to_bytes().unwrap();
            let trace = tdb_codec::Trace::new();
            GroupDetails::parse_from(Reader::new(&bytes).traced(&trace)).unwrap();
            assert_eq!(TABLE.check(tdb_codec::FormatVersion::CURRENT, &trace.fields()), Ok(()));
        }
    }

    #[test]
    fn names_of_files_state_their_version() {
        for (suffix, version) in [("", GroupVersion::V1), ("_1", GroupVersion::V1), ("_2", GroupVersion::V2)]
        {
            let name = format!("__5_5_0123456789abcdef0123456789abcdef{suffix}");
            assert_eq!(GroupVersion::of_name(&name), version);
        }
    }

    #[test]
    fn kinds_of_members_and_versions_have_codes_and_names() {
        use ObjectType::{Array, Group, Invalid};
        for ((code, object), name) in (0..).zip([Invalid, Group, Array]).zip(["invalid", "group", "array"]) {
            assert_eq!(
                (ObjectType::from_code(code), object.code(), object.name()),
                (Some(object), code, name)
            );
        }
        assert_eq!(ObjectType::from_code(3), None);
        assert_eq!((GroupVersion::V1.to_string(), GroupVersion::V2.to_string()), ("1".into(), "2".into()));
        assert_eq!(GroupVersion::of_name("__5_5_x_1_1"), GroupVersion::V2, "six underscores");
    }
}
