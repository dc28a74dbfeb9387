//! The facts about a tile that a pipeline depends on.

use tdb_codec::{Datatype, FormatVersion, Gate};

/// Everything that a pipeline knows about a tile; filters get no other information.
///
/// | Tile | `datatype` | `cell_size` |
/// |---|---|---|
/// | fixed attribute, dimension | its own | datatype size × values in a cell |
/// | values of a var-length field | its own | datatype size (`var` is true) |
/// | offsets | `UINT64` | 8 |
/// | validity | `UINT8`; in some dense fragments the attribute's ([`TileContext::typed_validity`]) | 1 |
/// | zipped coordinates (before [`Gate::DimensionFiles`]) | the domain's | dimensions × datatype size |
/// | generic tile | `CHAR` | 1 |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileContext {
    /// Type of the tile's values.
    pub datatype: Datatype,
    /// Size of a whole cell in bytes. Run-length encoding counts cells of this size, and chunks
    /// never split them.
    pub cell_size: u64,
    /// Version of the schema; decides whether string filters replace the offsets tile.
    pub schema_version: FormatVersion,
    /// Version of the fragment; decides the filters' rule for dates.
    pub fragment_version: FormatVersion,
    /// Newest version known to the library that wrote the tile, from the headers of the fragment's
    /// metadata. It is newer than the fragment's version if the library wrote to an older array.
    /// Decides type propagation, and the type of validity tiles.
    pub writer_version: FormatVersion,
    /// Whether this is the values tile of a var-length field.
    pub var: bool,
    /// Whether RLE and dictionary on strings store the strings' lengths. If unset, the schema's
    /// version decides. Set it to true if the offsets tile has no chunks although the field has
    /// cells.
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

    /// A validity tile.
    #[must_use]
    pub const fn validity(version: FormatVersion) -> Self {
        Self::new(Datatype::Uint8, 1, version)
    }

    /// This validity tile, as libtiledb 2.6 to 2.10 filtered it when writing the cells of a dense
    /// array in row- or column-major order: those releases passed its bytes to the filters as
    /// values of the attribute's type. `None` if the writer did not do this. In fragments that
    /// those releases wrote in global order, in sparse arrays and in consolidated fragments,
    /// validity tiles are filtered as bytes.
    ///
    /// ```
    /// use tdb_filters::{Datatype, FormatVersion, TileContext};
    ///
    /// let seen = |version| TileContext::validity(version).typed_validity(Datatype::Int32).map(|tile| tile.datatype);
    /// assert_eq!(FormatVersion::parse(12).map(seen), Ok(Some(Datatype::Int32)));
    /// assert_eq!(seen(FormatVersion::CURRENT), None);
    /// ```
    #[must_use]
    pub fn typed_validity(self, attribute: Datatype) -> Option<Self> {
        let typed =
            self.writer_version.has(Gate::TypedValidity) && !self.writer_version.has(Gate::ByteValidity);
        typed.then_some(Self { datatype: attribute, ..self })
    }

    /// The body of a generic tile.
    #[must_use]
    pub const fn generic(version: FormatVersion) -> Self {
        Self::new(Datatype::Char, 1, version)
    }

    pub(crate) fn propagates_types(&self) -> bool {
        self.writer_version.has(Gate::TypePropagation)
    }

    /// Whether a filter with these gates for ASCII and UTF-8 stores this tile's string lengths.
    pub(crate) fn string_mode(&self, ascii: Gate, utf8: Gate) -> bool {
        let gate = match self.datatype {
            Datatype::StringAscii if self.var => ascii,
            Datatype::StringUtf8 if self.var => utf8,
            _ => return false,
        };
        self.string_mode.unwrap_or_else(|| self.schema_version.has(gate))
    }
}
