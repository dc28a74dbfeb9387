//! What a pipeline is told about the tile it works on (specification, section 5.1).

use tdb_codec::{Datatype, FormatVersion, Gate};

/// What a pipeline needs to know about a tile: nothing else reaches a filter.
///
/// | Tile | `datatype` | `cell_size` |
/// |---|---|---|
/// | fixed attribute, dimension | its own | datatype size × values in a cell |
/// | values of a var-length field | its own | datatype size (`var` is true) |
/// | offsets | `UINT64` | 8 |
/// | validity | `UINT8`; the attribute's, if the writer had [`Gate::TypedValidity`] and not [`Gate::ByteValidity`] | 1 |
/// | zipped coordinates (before [`Gate::DimensionFiles`]) | the domain's | dimensions × datatype size |
/// | generic tile | `CHAR` | 1 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileContext {
    /// Type of the tile's values.
    pub datatype: Datatype,
    /// Size of a whole cell in bytes: what run-length encoding counts, and what chunks never split.
    pub cell_size: u64,
    /// Version of the schema; decides whether string filters replace the offsets tile (section 6.8).
    pub schema_version: FormatVersion,
    /// Version of the fragment; decides the filters' rule for dates.
    pub fragment_version: FormatVersion,
    /// Version that the library which wrote the tile knew, as the headers of the fragment's metadata say: not before that
    /// of the fragment, if the library went on with an older array. Decides type propagation, and the type of validity tiles.
    pub writer_version: FormatVersion,
    /// Whether this is the values tile of a var-length field.
    pub var: bool,
    /// Whether RLE and dictionary on strings hold the strings' lengths (section 6.8). Unset: by the schema's version. Set
    /// it to true where the offsets tile has no chunks although the field has cells.
    pub string_mode: Option<bool>,
}

impl TileContext {
    /// A tile of fixed-size cells in a fragment and schema of one version.
    #[must_use]
    pub const fn new(datatype: Datatype, cell_size: u64, version: FormatVersion) -> Self {
        Self {
            datatype,
            cell_size,
            schema_version: version,
            fragment_version: version,
            writer_version: version,
            var: false,
            string_mode: None,
        }
    }

    /// The values tile of a var-length field.
    #[must_use]
    pub const fn values(datatype: Datatype, version: FormatVersion) -> Self {
        let mut context = Self::new(datatype, datatype.size() as u64, version);
        context.var = true;
        context
    }

    /// An offsets tile.
    #[must_use]
    pub const fn offsets(version: FormatVersion) -> Self {
        Self::new(Datatype::Uint64, 8, version)
    }

    /// A validity tile of an attribute of some type. Its bytes are 0 or 1 whatever that is, but libtiledb 2.6 to 2.10 told
    /// the filters that they were values of it.
    ///
    /// ```
    /// use tdb_filters::{Datatype, FormatVersion, TileContext};
    ///
    /// let seen = |version| TileContext::validity(Datatype::Int32, version).datatype;
    /// assert_eq!(FormatVersion::parse(12).map(seen), Ok(Datatype::Int32));
    /// assert_eq!(seen(FormatVersion::CURRENT), Datatype::Uint8);
    /// ```
    #[must_use]
    pub const fn validity(attribute: Datatype, writer_version: FormatVersion) -> Self {
        let typed = writer_version.has(Gate::TypedValidity) && !writer_version.has(Gate::ByteValidity);
        Self::new(if typed { attribute } else { Datatype::Uint8 }, 1, writer_version)
    }

    /// The body of a generic tile.
    #[must_use]
    pub const fn generic(version: FormatVersion) -> Self {
        Self::new(Datatype::Char, 1, version)
    }

    pub(crate) fn propagates_types(&self) -> bool {
        self.writer_version.has(Gate::TypePropagation)
    }

    /// Whether a filter with these gates for ASCII and UTF-8 holds this tile's string lengths.
    pub(crate) fn string_mode(&self, ascii: Gate, utf8: Gate) -> bool {
        let gate = match self.datatype {
            Datatype::StringAscii if self.var => ascii,
            Datatype::StringUtf8 if self.var => utf8,
            _ => return false,
        };
        self.string_mode.unwrap_or_else(|| self.schema_version.has(gate))
    }
}
