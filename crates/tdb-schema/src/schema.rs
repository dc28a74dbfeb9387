//! The array schema itself.

use tdb_codec::{
    ArrayType, CellValNum, Datatype, ErrorKind, FieldRow, FormatVersion, Gate, Layout, Reader, Structure,
    Wire, Writer,
};
use tdb_filters::Pipeline;

use crate::{
    Attribute, CurrentDomain, Dimension, DimensionLabel, Domain, OLD_ANONYMOUS, Result, attribute,
    current_domain, domain, label, pipeline,
};

/// The table of a schema file's payload.
pub(crate) static TABLE: Structure = Structure::new(
    "array schema",
    &[
        FieldRow::new("schema version", Wire::U32),
        FieldRow::new("allows duplicates", Wire::U8).since(Gate::AllowsDuplicates),
        FieldRow::new("array type", Wire::U8).note("0 dense, 1 sparse"),
        FieldRow::new("tile order", Wire::U8),
        FieldRow::new("cell order", Wire::U8).note("0 row-major, 1 column-major, 4 Hilbert"),
        FieldRow::new("capacity", Wire::U64),
        FieldRow::new("coords filters", Wire::Structure(&pipeline::TABLE)),
        FieldRow::new("offsets filters", Wire::Structure(&pipeline::TABLE)),
        FieldRow::new("validity filters", Wire::Structure(&pipeline::TABLE)).since(Gate::Nullable),
        FieldRow::new("domain", Wire::Structure(&domain::TABLE)),
        FieldRow::new("attribute count", Wire::U32),
        FieldRow::new("attributes", Wire::Structure(&attribute::TABLE)).each("attribute"),
        FieldRow::new("dimension label count", Wire::U32).since(Gate::DimensionLabels),
        FieldRow::new("dimension labels", Wire::Structure(&label::TABLE))
            .since(Gate::DimensionLabels)
            .each("label"),
        FieldRow::new("enumeration count", Wire::U32).since(Gate::Enumerations),
        FieldRow::new("enumerations", Wire::Structure(&ENUMERATION_NAME))
            .since(Gate::Enumerations)
            .each("enumeration, in no particular order"),
        FieldRow::new("current domain", Wire::Structure(&current_domain::TABLE)).since(Gate::CurrentDomain),
    ],
)
.code("ArraySchema::parse", "ArraySchema::to_bytes");

static ENUMERATION_NAME: Structure = Structure::new(
    "enumeration name",
    &[
        FieldRow::new("enumeration name", Wire::String32),
        FieldRow::new("enumeration file name", Wire::String32).note("in `__schema/__enumerations`"),
    ],
);

/// The capacity that libtiledb uses for schemas that do not set one.
const DEFAULT_CAPACITY: u64 = 10_000;

/// An enumeration's name and its file in `__schema/__enumerations`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumerationName {
    /// The name by which attributes refer to the enumeration.
    pub name: String,
    /// The file's name.
    pub file_name: String,
}

/// An array schema: the contents of one schema file. The front page of the crate shows the order of
/// the fields in the file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ArraySchema {
    /// Format version of the schema, which decides the version of fragments written with it.
    pub version: FormatVersion,
    /// Whether several cells may have the same coordinates (sparse arrays only).
    pub allows_duplicates: bool,
    /// Dense or sparse.
    pub array_type: ArrayType,
    /// Order of space tiles.
    pub tile_order: Layout,
    /// Order of cells in a space tile, or [`Layout::Hilbert`].
    pub cell_order: Layout,
    /// Number of cells in a sparse data tile.
    pub capacity: u64,
    /// Filters of coordinates: of `__coords` before version 5, and of dimensions without filters
    /// from version 5 on.
    pub coords_filters: Pipeline,
    /// Filters of the offsets of var-length fields.
    pub offsets_filters: Pipeline,
    /// Filters of the validity bytes of nullable attributes.
    pub validity_filters: Pipeline,
    /// The dimensions.
    pub domain: Domain,
    /// The attributes, in the order of their indices.
    pub attributes: Vec<Attribute>,
    /// Dimension labels.
    pub labels: Vec<DimensionLabel>,
    /// The names and files of the enumerations.
    pub enumerations: Vec<EnumerationName>,
    /// The part of the domain that may be written; `None` for all of it.
    pub current_domain: Option<CurrentDomain>,
}

/// Identifies a field of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FieldKind {
    /// The attribute of this index.
    Attribute(usize),
    /// The dimension of this index.
    Dimension(usize),
}

/// The common properties of attributes and dimensions that are needed to read their cells.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    /// Which field of the schema this is.
    pub kind: FieldKind,
    /// Name.
    pub name: &'a str,
    /// Type of the values.
    pub datatype: Datatype,
    /// Number of values in a cell.
    pub cell_val_num: CellValNum,
    /// Whether cells may be null.
    pub nullable: bool,
    /// The filters in effect (a dimension without its own has the schema's coords filters).
    pub filters: &'a Pipeline,
}

impl Field<'_> {
    /// Number of bytes in a cell; `None` for var-length fields.
    #[must_use]
    pub fn cell_size(&self) -> Option<usize> {
        match self.cell_val_num {
            CellValNum::Fixed(count) => usize::try_from(count.get()).ok()?.checked_mul(self.datatype.size()),
            CellValNum::Var => None,
        }
    }

    /// Whether cells are of variable length.
    #[must_use]
    pub const fn is_var(&self) -> bool {
        self.cell_val_num.is_var()
    }
}

impl ArraySchema {
    /// A schema of the current version with libtiledb's defaults: row-major, capacity 10,000, no
    /// filters.
    #[must_use]
    pub fn new(array_type: ArrayType, domain: Domain) -> Self {
        Self {
            version: FormatVersion::CURRENT,
            allows_duplicates: false,
            array_type,
            tile_order: Layout::RowMajor,
            cell_order: Layout::RowMajor,
            capacity: DEFAULT_CAPACITY,
            coords_filters: Pipeline::default(),
            offsets_filters: Pipeline::default(),
            validity_filters: Pipeline::default(),
            domain,
            attributes: Vec::new(),
            labels: Vec::new(),
            enumerations: Vec::new(),
            current_domain: None,
        }
    }

    /// The same schema with one more attribute.
    #[must_use]
    pub fn with_attribute(mut self, attribute: Attribute) -> Self {
        self.attributes.push(attribute);
        self
    }

    /// Reads the unfiltered payload of a schema file, of any version.
    ///
    /// ```
    /// use tdb_codec::{ArrayType, Datatype};
    /// use tdb_schema::ArraySchema;
    ///
    /// let no_filters = [0, 0, 1, 0, 0, 0, 0, 0]; // chunks of 65536 bytes, 0 filters
    /// let payload = [
    ///     &[1, 0, 0, 0, 1, 0, 0][..], // version 1, sparse, row-major, row-major
    ///     &[2, 0, 0, 0, 0, 0, 0, 0],  // capacity 2
    ///     &no_filters,                // coords
    ///     &no_filters,                // offsets
    ///     &[6, 1, 0, 0, 0],           // UINT8, 1 dimension
    ///     &[1, 0, 0, 0, b'x', 1, 9, 0, 3], // "x", 1 to 9, has an extent: 3
    ///     &[1, 0, 0, 0],              // 1 attribute
    ///     &[1, 0, 0, 0, b'a', 0, 1, 0, 0, 0], // "a", INT32, 1 value per cell
    ///     &no_filters,
    /// ]
    /// .concat();
    /// let schema = ArraySchema::parse(&payload)?;
    /// assert_eq!((schema.array_type, schema.capacity), (ArrayType::Sparse, 2));
    /// assert_eq!(schema.dimension("x").unwrap().extent_cells(), Some(3));
    /// assert_eq!(schema.attribute("a").unwrap().datatype, Datatype::Int32);
    /// assert_eq!(schema.to_bytes(schema.version)?, payload);
    /// # Ok::<(), tdb_schema::Error>(())
    /// ```
    ///
    /// # Errors
    /// If this build does not read the version, the payload is truncated, bytes are left over, a
    /// code is unknown, or the schema contradicts itself ([`Self::check`]).
    pub fn parse(payload: &[u8]) -> Result<Self> {
        Self::parse_from(Reader::new(payload))
    }

    /// Reads the payload with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>) -> Result<Self> {
        let start = reader;
        let number = reader.u32("schema version")?;
        let version = FormatVersion::parse(number).map_err(|error| {
            start.error("schema version", ErrorKind::UnsupportedVersion { version: error.0 })
        })?;
        let reader = &mut reader;
        let allows_duplicates = version.has(Gate::AllowsDuplicates) && reader.bool("allows duplicates")?;
        let array_type = reader.code("array type", ArrayType::from_code)?;
        let tile_order = reader.code("tile order", Layout::from_code)?;
        let cell_order = reader.code("cell order", Layout::from_code)?;
        let capacity = reader.u64("capacity")?;
        let coords_filters = Pipeline::parse(reader, version)?;
        let offsets_filters = Pipeline::parse(reader, version)?;
        let validity_filters =
            if version.has(Gate::Nullable) { Pipeline::parse(reader, version)? } else { Pipeline::default() };
        let domain = Domain::parse(reader, version)?;
        // An attribute takes at least a name length, a type, a cell val num and an empty pipeline.
        let count = reader.count_u32(17, "attribute count")?;
        let mut attributes = Vec::with_capacity(count);
        for _ in 0..count {
            attributes.push(Attribute::parse(reader, version)?);
        }
        let mut labels = Vec::new();
        if version.has(Gate::DimensionLabels) {
            let count = reader.count_u32(28, "dimension label count")?;
            for _ in 0..count {
                labels.push(DimensionLabel::parse(reader)?);
            }
        }
        let mut enumerations = Vec::new();
        if version.has(Gate::Enumerations) {
            let count = reader.count_u32(8, "enumeration count")?;
            for _ in 0..count {
                let name = reader.string_u32("enumeration name")?;
                let file_name = reader.string_u32("enumeration file name")?;
                enumerations.push(EnumerationName { name, file_name });
            }
        }
        let current_domain =
            if version.has(Gate::CurrentDomain) { CurrentDomain::parse(reader, &domain)? } else { None };
        reader.finish("array schema")?;
        let schema = Self {
            version,
            allows_duplicates,
            array_type,
            tile_order,
            cell_order,
            capacity,
            coords_filters,
            offsets_filters,
            validity_filters,
            domain,
            attributes,
            labels,
            enumerations,
            current_domain,
        };
        schema.check()?;
        Ok(schema)
    }

    /// The payload of a schema file of `version`.
    ///
    /// # Errors
    /// If the schema breaks a rule ([`Self::check`]) or uses a feature that `version` does not have
    /// ([`Self::check_version`]), if `version` cannot store a filter option, or if a name or list
    /// is too long for its length field.
    pub fn to_bytes(&self, version: FormatVersion) -> Result<Vec<u8>> {
        self.check()?;
        self.check_version(version)?;
        let mut writer = Writer::new();
        let out = &mut writer;
        out.u32(version.number());
        if version.has(Gate::AllowsDuplicates) {
            out.bool(self.allows_duplicates);
        }
        out.u8(self.array_type.code());
        out.u8(self.tile_order.code());
        out.u8(self.cell_order.code());
        out.u64(self.capacity);
        self.coords_filters.write(out, version)?;
        self.offsets_filters.write(out, version)?;
        if version.has(Gate::Nullable) {
            self.validity_filters.write(out, version)?;
        }
        self.domain.write(out, version)?;
        out.len_u32(self.attributes.len(), "attribute count")?;
        self.attributes.iter().try_for_each(|attribute| attribute.write(out, version))?;
        if version.has(Gate::DimensionLabels) {
            out.len_u32(self.labels.len(), "dimension label count")?;
            self.labels.iter().try_for_each(|label| label.write(out))?;
        }
        if version.has(Gate::Enumerations) {
            out.len_u32(self.enumerations.len(), "enumeration count")?;
            for EnumerationName { name, file_name } in &self.enumerations {
                out.bytes_u32(name.as_bytes(), "enumeration name")?;
                out.bytes_u32(file_name.as_bytes(), "enumeration file name")?;
            }
        }
        if version.has(Gate::CurrentDomain) {
            CurrentDomain::write(self.current_domain.as_ref(), out, &self.domain);
        }
        Ok(writer.into_vec())
    }

    /// The attribute with this name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The dimension with this name.
    #[must_use]
    pub fn dimension(&self, name: &str) -> Option<&Dimension> {
        self.domain.dimensions.iter().find(|dimension| dimension.name == name)
    }

    /// The index of the dimension with this name.
    #[must_use]
    pub fn dimension_index(&self, name: &str) -> Option<usize> {
        self.domain.dimensions.iter().position(|dimension| dimension.name == name)
    }

    /// The field with this name; an attribute takes precedence over a dimension with the same name.
    /// The anonymous attribute is found by the empty name, also in arrays of 1.x, whose schemas
    /// call it [`OLD_ANONYMOUS`].
    #[must_use]
    pub fn field(&self, name: &str) -> Option<Field<'_>> {
        let named = |name: &str| self.attributes.iter().position(|attribute| attribute.name == name);
        let old = name.is_empty() && !self.version.has(Gate::DimensionFiles);
        let attribute = named(name).or_else(|| named(OLD_ANONYMOUS).filter(|_| old));
        match attribute {
            Some(index) => self.field_of(FieldKind::Attribute(index)),
            None => self.field_of(FieldKind::Dimension(self.dimension_index(name)?)),
        }
    }

    /// The filters of a field's values in a fragment of `version`. Before
    /// [`Gate::UnfilteredOldDimensions`] these are not always the field's own filters: schemas from
    /// before dimension files do not contain filters for dimensions, and the library that wrote the
    /// fragment decides which filters are used.
    #[must_use]
    pub fn filters_in<'a>(&'a self, field: &Field<'a>, version: FormatVersion) -> &'a Pipeline {
        let inherits = matches!(field.kind, FieldKind::Dimension(_))
            && !(self.version.has(Gate::DimensionFiles) && version.has(Gate::DimensionFiles))
            && !version.has(Gate::UnfilteredOldDimensions);
        if inherits { &self.coords_filters } else { field.filters }
    }

    /// The field with this kind and index.
    #[must_use]
    pub fn field_of(&self, kind: FieldKind) -> Option<Field<'_>> {
        Some(match kind {
            FieldKind::Attribute(index) => {
                let attribute = self.attributes.get(index)?;
                Field {
                    kind,
                    name: &attribute.name,
                    datatype: attribute.datatype,
                    cell_val_num: attribute.cell_val_num,
                    nullable: attribute.nullable,
                    filters: &attribute.filters,
                }
            }
            FieldKind::Dimension(index) => {
                let dimension = self.domain.dimensions.get(index)?;
                // Dimensions in schemas before version 5 have no pipeline, not even an inherited
                // one: the newest fragments in such arrays contain unfiltered coordinates
                // (`Gate::UnfilteredOldDimensions`).
                let inherits = dimension.filters.filters.is_empty() && self.version.has(Gate::DimensionFiles);
                Field {
                    kind,
                    name: &dimension.name,
                    datatype: dimension.datatype,
                    cell_val_num: dimension.cell_val_num,
                    nullable: false,
                    filters: if inherits { &self.coords_filters } else { &dimension.filters },
                }
            }
        })
    }

    /// The dimensions, then the attributes, in schema order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        let dimensions = (0..self.domain.dimensions.len()).map(FieldKind::Dimension);
        let attributes = (0..self.attributes.len()).map(FieldKind::Attribute);
        dimensions.chain(attributes).filter_map(|kind| self.field_of(kind))
    }
}

#[cfg(test)]
mod tests;
