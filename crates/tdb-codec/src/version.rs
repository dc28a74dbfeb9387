//! The version gate table: the only place in the project that contains version numbers.

use core::fmt;

use thiserror::Error as ThisError;

/// A storage format version (1 to 23).
///
/// It deliberately has no ordering and cannot be compared with integers: code calls
/// [`FormatVersion::has`], so every version condition is a named row of [`Gate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FormatVersion(u32);

/// A version number that this build does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ThisError)]
#[error("{} is not supported (this build reads {oldest} to {newest})", version_text(*.0),
    oldest = FormatVersion::OLDEST, newest = FormatVersion::NEWEST)]
pub struct UnsupportedVersion(
    /// The number as read.
    pub u32,
);

impl FormatVersion {
    /// The first version with a version field (libtiledb 1.4.0).
    pub const OLDEST: Self = Self(1);
    /// The newest version this build reads: 23, which no released libtiledb writes.
    pub const NEWEST: Self = Self(23);
    /// The version that libtiledb 2.25 to 2.30 write.
    pub const CURRENT: Self = Self(22);

    /// Checks a number read from a file.
    ///
    /// # Errors
    /// [`UnsupportedVersion`] for 0, for anything newer than [`Self::NEWEST`], and for the numbers
    /// of experimental builds (high bit set).
    pub const fn parse(number: u32) -> Result<Self, UnsupportedVersion> {
        if number < Self::OLDEST.0 || number > Self::NEWEST.0 {
            return Err(UnsupportedVersion(number));
        }
        Ok(Self(number))
    }

    /// The number, for writing it into a header or showing it.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// Whether this version has the feature of `gate`.
    #[inline]
    #[must_use]
    pub const fn has(self, gate: Gate) -> bool {
        self.0 >= gate.since()
    }

    /// The last version without the feature of `gate`; the oldest version if all have it.
    #[must_use]
    pub const fn before(gate: Gate) -> Self {
        let since = gate.since();
        if since > Self::OLDEST.0 { Self(since - 1) } else { Self::OLDEST }
    }

    /// Every version this build reads, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::OLDEST.0..=Self::NEWEST.0).map(Self)
    }
}

impl fmt::Display for FormatVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The bit that libtiledb 2.12 to 2.28, when built with experimental features, sets in the version
/// numbers it writes.
const EXPERIMENTAL: u32 = 1 << 31;

/// Describes a version number, whether or not this build reads it.
pub(crate) fn version_text(number: u32) -> String {
    if number == u32::MAX {
        "a format version of an experimental build of libtiledb".to_owned()
    } else if number & EXPERIMENTAL != 0 {
        format!("format version {} of an experimental build of libtiledb", number & !EXPERIMENTAL)
    } else {
        format!("format version {number}")
    }
}

macro_rules! gates {
    ($($(#[$doc:meta])* $name:ident = $since:literal, $text:literal;)*) => {
        /// A feature that a format version introduced. Each row is one "new in version N" of the
        /// specification.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Gate {
            $(#[doc = $text] $name,)*
        }

        impl Gate {
            /// Every gate, in version order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The first version that has it.
            #[must_use]
            pub const fn since(self) -> u32 {
                match self { $(Self::$name => $since,)* }
            }

            /// A description in one line.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// The gate's name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }
    };
}

gates! {
    SplitCoordinates = 2, "A `__coords` tile always holds all values of dimension 0, then of dimension 1, …";
    FragmentFooter = 3, "Fragment metadata is a run of generic tiles and a raw footer; names are `__t1_t2_uuid`; R-tree";
    ArrayMetadata = 4, "Arrays have metadata, in `__meta`";
    Checksums = 5, "MD5 and SHA-256 filters (of the libraries that write version 4, 1.7.0 does not have them)";
    DimensionFiles = 5, "One data file for each dimension; heterogeneous and string dimensions; each dimension stores its own datatype";
    DateRectangles = 5, "Bounding rectangles and non-empty domains of date dimensions contain their cells";
    CommitFiles = 5, "A fragment is visible once its commit file exists (`.ok`, later `.wrt`); fragment names end in the version";
    AllowsDuplicates = 5, "The schema says whether coordinates may repeat";
    FillValues = 6, "Attributes store their fill value";
    Nullable = 7, "Nullable attributes, validity files and validity filters";
    HilbertOrder = 7, "Cells in Hilbert order";
    WideTiles = 7, "Tile extents above the maximum of a signed type, as needed for domains that span the whole type (earlier libraries read them as negative)";
    PercentEncodedFileNames = 8, "Data files are named after the percent-encoded field";
    IndexedFileNames = 9, "Data files are named after the field's index (`a0.tdb`, `d1_var.tdb`, …)";
    RelativeConsolidatedNames = 9, "Consolidated fragment metadata contains fragment names without a path";
    NarrowTileCells = 9, "Libraries (2.3 to 2.14) count the cells of a dense tile in the type of its dimensions, and crash if the count does not fit that type";
    TimeTypes = 9, "`TIME_*` datatypes";
    WideDomains = 9, "Dense dimensions of a signed type with more cells than the type's maximum (in earlier libraries the computation overflows)";
    BrokenSmallIntegers = 9, "Libraries (2.3 to 2.9) fail or hang on dense `INT8` and `INT16` dimensions with negative coordinates";
    GrownTiles = 10, "Where libraries (2.5 to 2.7) count too few cells of a dense tile, they store it up to the last cell of the box that is written";
    SchemaFolder = 10, "Schemas live in `__schema`; a fragment's footer names its schema and is followed by its length";
    TypedValidity = 10, "Libraries (2.6 to 2.10) filter validity tiles of dense cells in row- or column-major order as if they contained the attribute's values";
    StringRectangles = 11, "Bounding rectangles and non-empty domains of string dimensions contain their cells where the low end is the empty string (libtiledb 2.1 to 2.4.1 forget the high end before each next string)";
    TileStatistics = 11, "Fragment metadata holds each tile's min, max, sum and null count";
    NoLockFile = 11, "Arrays are created without an empty `__lock.tdb`";
    WholeCellChunks = 11, "Chunks of var-length values begin at the start of a cell";
    BlobType = 11, "`BLOB` datatype";
    CountedTiles = 12, "Where libraries (2.8 to 2.14) count too few cells of a dense tile, they store as many as they count, and refuse others";
    FragmentFolders = 12, "`__fragments`, `__commits` (`.wrt`) and `__fragment_meta` folders";
    Groups = 12, "Groups list their members in `__group`, in files that have a separate version number";
    FragmentStatistics = 12, "Fragment metadata holds the whole fragment's min, max, sum and null count";
    AsciiRleStrings = 12, "RLE on var-length `STRING_ASCII` holds the strings' lengths; the offsets tile is empty";
    AsciiDictionaryStrings = 13, "DICTIONARY on var-length `STRING_ASCII` holds the strings' lengths";
    CellTimestamps = 14, "Footer flag: the fragment has a timestamp for each cell";
    MendedSmallIntegers = 14, "Libraries accept dense `INT8` and `INT16` dimensions with negative coordinates again";
    BoolType = 14, "`BOOL` datatype";
    ByteValidity = 15, "Libraries filter all validity tiles as bytes again";
    ScaleFloatFilter = 15, "SCALE_FLOAT filter";
    DeleteMetadata = 15, "Footer flag: the fragment has a delete timestamp for each cell";
    OverlappingTimeWindows = 15, "A sparse fragment is read if its time range overlaps the window (before: only if it is inside the window)";
    TrustedTileStatistics = 16, "Statistics of dense tiles do not include the padding";
    DeleteFiles = 16, "Delete and update commit files; the footer locates the processed conditions";
    ChainedStrings = 16, "RLE and DICTIONARY on var-length `STRING_ASCII` may stand with other filters (libtiledb 2.8 to 2.11 refuses that)";
    XorFilter = 16, "XOR filter";
    OrderedAttributes = 17, "Attributes have a data order";
    Utf8Strings = 17, "RLE and DICTIONARY on var-length `STRING_UTF8` hold the strings' lengths";
    WebPFilter = 17, "WEBP filter";
    Utf8Conditions = 17, "Libraries apply delete conditions on `STRING_UTF8` (2.12 and 2.13 fail to read the array)";
    WideTileCells = 18, "Libraries count the cells of a dense tile in 64 bits again";
    DimensionLabels = 18, "The schema lists dimension labels";
    TimeConditions = 18, "Libraries apply delete conditions on `TIME_*` (2.12 to 2.14 fail to read the array)";
    DeltaFilter = 19, "DELTA filter";
    DeltaReinterpret = 19, "DELTA options end in a reinterpret datatype";
    RelativeVacuumFiles = 19, "Vacuum files hold array-relative paths";
    BoolConditions = 19, "Libraries apply delete conditions on `BOOL` (up to 2.15.1 they fail in some orders, and 2.12 in all)";
    Enumerations = 20, "The schema lists enumerations; attributes name theirs";
    DoubleDeltaReinterpret = 20, "DOUBLE_DELTA options end in a reinterpret datatype";
    TypePropagation = 20, "Libraries use each filter's output type as the next filter's input type";
    UnfilteredOldDimensions = 20, "Dimension files of arrays created before `DimensionFiles` are unfiltered (before: the coords filters)";
    FilterDates = 20, "Bit-width reduction and positive delta work on date and time types";
    SetConditions = 20, "Delete conditions IN and NOT IN";
    EmptyEnumerations = 21, "Enumerations whose values have no bytes: without values, or of one empty value (2.17.0 to 2.17.2 do not read them)";
    SlashedEnumerations = 21, "Names of enumerations may contain `/` (2.17.0 to 2.17.5 do not read them)";
    NullableStringStatistics = 21, "Statistics of nullable fixed-length strings in dense arrays are correct";
    CurrentDomain = 22, "The schema holds the current domain";
    HilbertTies = 22, "Cells with the same Hilbert value are in row-major order (libraries up to 2.22 sort them by their last dimension first)";
    GeometryTypes = 22, "`GEOM_WKB` and `GEOM_WKT` datatypes";
    OptionalSections = 23, "The footer ends in optional sections (global-order bounds)";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_outside_the_known_range_are_refused_with_their_number() {
        for number in [0, 24, 0x8000_0016, u32::MAX] {
            assert_eq!(FormatVersion::parse(number), Err(UnsupportedVersion(number)));
        }
        for version in [1, 2, 22, 23] {
            assert_eq!(FormatVersion::parse(version).map(FormatVersion::number), Ok(version));
        }
        assert!(UnsupportedVersion(24).to_string().contains("version 24 is not supported"));
        let experimental = UnsupportedVersion(0x8000_0016).to_string();
        assert!(experimental.contains("version 22 of an experimental build"), "{experimental}");
        assert!(UnsupportedVersion(u32::MAX).to_string().contains("experimental"));
    }

    #[test]
    fn the_gate_table_is_in_version_order_and_gates_open_at_their_version() {
        let mut last = 0;
        for gate in Gate::ALL {
            assert!(gate.since() >= last, "{gate:?}");
            last = gate.since();
            for version in FormatVersion::all() {
                assert_eq!(version.has(*gate), version.number() >= gate.since());
            }
        }
    }

    #[test]
    fn the_version_before_a_gate_lacks_it_unless_every_version_has_it() {
        assert_eq!(FormatVersion::before(Gate::Nullable).number(), Gate::Nullable.since() - 1);
        assert_eq!(FormatVersion::before(Gate::SplitCoordinates), FormatVersion::OLDEST);
        assert!(Gate::ALL.iter().all(|gate| !FormatVersion::before(*gate).has(*gate)));
    }

    #[test]
    fn gates_and_versions_have_a_text() {
        assert_eq!((FormatVersion::CURRENT.to_string(), FormatVersion::CURRENT.number()), ("22".into(), 22));
        assert_eq!(Gate::CurrentDomain.name(), "CurrentDomain");
        assert_eq!(Gate::CurrentDomain.text(), "The schema holds the current domain");
        assert_eq!(version_text(7), "format version 7");
    }
}
