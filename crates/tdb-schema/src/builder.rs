//! Builds schemas.

use tdb_codec::{ArrayType, FormatVersion, Layout, to_u64};
use tdb_filters::{Filter, Pipeline};

use crate::{
    ArraySchema, Attribute, CurrentDomain, Dimension, DimensionLabel, Domain, Enumeration, EnumerationName,
    Range, SchemaProblem,
};

/// Builds an [`ArraySchema`], or returns an error with the reason if it is invalid.
///
/// The defaults are those of libtiledb: row-major orders, a capacity of 10,000, Zstandard for
/// coordinates and offsets, RLE for validity, and the whole domain as the tile extent of a
/// dimension without one (not in Hilbert order).
///
/// ```
/// use tdb_codec::{CellValNum, Datatype, Layout};
/// use tdb_schema::{ArraySchema, Attribute, Dimension, SchemaProblem};
///
/// let schema = ArraySchema::sparse()
///     .dimension(Dimension::new("x", 1i32..=1000).with_tile(10i32))
///     .dimension(Dimension::string("name"))
///     .attribute(Attribute::new("a", Datatype::Float64, CellValNum::ONE).with_nulls())
///     .cell_order(Layout::Hilbert)
///     .capacity(500)
///     .build()?;
/// assert_eq!(schema.domain.dimensions.len(), 2);
///
/// let twice = ArraySchema::dense()
///     .dimension(Dimension::new("x", 1i32..=1000))
///     .attribute(Attribute::new("x", Datatype::Float64, CellValNum::ONE));
/// assert_eq!(twice.build(), Err(SchemaProblem::DuplicateName("x".into())));
/// # Ok::<(), SchemaProblem>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct SchemaBuilder {
    schema: ArraySchema,
    enumerations: Vec<Enumeration>,
}

impl ArraySchema {
    /// Begins the schema of a dense array.
    pub fn dense() -> SchemaBuilder {
        SchemaBuilder::new(ArrayType::Dense)
    }

    /// Begins the schema of a sparse array.
    pub fn sparse() -> SchemaBuilder {
        SchemaBuilder::new(ArrayType::Sparse)
    }
}

impl SchemaBuilder {
    fn new(array_type: ArrayType) -> Self {
        let mut schema = ArraySchema::new(array_type, Domain::default());
        schema.coords_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
        schema.offsets_filters = Pipeline::new(vec![Filter::Zstd { level: -1 }]);
        schema.validity_filters = Pipeline::new(vec![Filter::Rle { level: -1 }]);
        Self { schema, enumerations: Vec::new() }
    }

    /// Adds a dimension; in row-major order, the first one changes slowest.
    pub fn dimension(mut self, dimension: Dimension) -> Self {
        self.schema.domain.dimensions.push(dimension);
        self
    }

    /// Adds an attribute.
    pub fn attribute(mut self, attribute: Attribute) -> Self {
        self.schema.attributes.push(attribute);
        self
    }

    /// Adds an enumeration. Its file must be written in addition to the schema's file.
    pub fn enumeration(mut self, enumeration: &Enumeration) -> Self {
        let (name, file_name) = (enumeration.name.clone(), enumeration.file_name.clone());
        self.schema.enumerations.push(EnumerationName { name, file_name });
        self.enumerations.push(enumeration.clone());
        self
    }

    /// Adds a dimension label. Its array must be created below the array's folder.
    pub fn label(mut self, label: DimensionLabel) -> Self {
        self.schema.labels.push(label);
        self
    }

    /// Sets the part of the domain that may be written: one interval for each dimension.
    pub fn current_domain(mut self, ranges: Vec<Range>) -> Self {
        self.schema.current_domain = Some(CurrentDomain { ranges });
        self
    }

    /// Sets the order of space tiles.
    pub fn tile_order(mut self, order: Layout) -> Self {
        self.schema.tile_order = order;
        self
    }

    /// Sets the order of cells in a space tile.
    pub fn cell_order(mut self, order: Layout) -> Self {
        self.schema.cell_order = order;
        self
    }

    /// Sets the number of cells in a sparse data tile.
    pub fn capacity(mut self, cells: u64) -> Self {
        self.schema.capacity = cells;
        self
    }

    /// Allows several cells to have the same coordinates.
    pub fn allow_duplicates(mut self) -> Self {
        self.schema.allows_duplicates = true;
        self
    }

    /// Sets the filters of dimensions without their own.
    pub fn coords_filters(mut self, filters: Pipeline) -> Self {
        self.schema.coords_filters = filters;
        self
    }

    /// Sets the filters of the offsets of cells of variable length.
    pub fn offsets_filters(mut self, filters: Pipeline) -> Self {
        self.schema.offsets_filters = filters;
        self
    }

    /// Sets the filters of the validity of nullable attributes.
    pub fn validity_filters(mut self, filters: Pipeline) -> Self {
        self.schema.validity_filters = filters;
        self
    }

    /// Sets the format version, for deployments with older libraries.
    pub fn version(mut self, version: FormatVersion) -> Self {
        self.schema.version = version;
        self
    }

    /// Returns the schema, after filling in the tile extents that were not set, and those of images
    /// (WebP) that are 0.
    ///
    /// # Errors
    /// The first rule that is broken ([`ArraySchema::check_new`]).
    pub fn build(mut self) -> Result<ArraySchema, SchemaProblem> {
        if self.schema.cell_order != Layout::Hilbert {
            self.schema.domain.dimensions.iter_mut().try_for_each(Dimension::fill_extent)?;
        }
        self.schema.check_image_extents()?;
        self.schema.set_image_extents()?;
        self.schema.check_new()?;
        self.enumerations.iter().try_for_each(|enumeration| self.schema.check_enumeration(enumeration))?;
        let mut seen = std::collections::HashSet::new();
        match self.enumerations.iter().find(|enumeration| !seen.insert(&enumeration.name)) {
            Some(enumeration) => Err(SchemaProblem::DuplicateName(enumeration.name.clone())),
            None => Ok(self.schema),
        }
    }
}

impl Dimension {
    /// Sets the tile extent of a dimension that has none to the whole domain: its number of cells,
    /// or the difference of the ends of a real domain. [`SchemaBuilder::build`] calls this.
    ///
    /// # Errors
    /// [`SchemaProblem::WholeType`] if the number of cells does not fit the dimension's type.
    pub fn fill_extent(&mut self) -> Result<(), SchemaProblem> {
        if self.tile_extent.is_some() {
            return Ok(());
        }
        let Some(last) = self.last_ordinal() else {
            self.tile_extent = self.real_length();
            return Ok(());
        };
        let size = self.datatype.size();
        let cells = u128::from(last).saturating_add(1);
        if cells >> to_u64(size).saturating_mul(8) != 0 {
            return Err(SchemaProblem::WholeType(self.name.clone()));
        }
        // Unsigned even in signed types, as libtiledb stores it.
        self.tile_extent = cells.to_le_bytes().get(..size).map(<[u8]>::to_vec);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
