//! Features of a schema that an older format version cannot store, or that libraries of that
//! version do not know.

use tdb_codec::{ArrayType, DataOrder, Datatype, FormatVersion, Gate, Layout};
use tdb_filters::{Filter, Pipeline};

use crate::{ArraySchema, Attribute, Dimension, Enumeration, SchemaProblem};

impl ArraySchema {
    /// Checks that a schema file of `version` can store this schema. Properties without effect are
    /// ignored, for example the validity filters of an array without nullable attributes.
    ///
    /// # Errors
    /// [`SchemaProblem::NotInVersion`] with the first property that would be lost.
    pub fn check_version(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        if self.allows_duplicates {
            require(version, Gate::AllowsDuplicates, "allows duplicates", "")?;
        }
        for dimension in &self.domain.dimensions {
            self.check_dimension_version(dimension, version)?;
        }
        self.attributes.iter().try_for_each(|attribute| attribute.check_version(version))?;
        for label in &self.labels {
            require(version, Gate::DimensionLabels, "dimension label", &label.name)?;
        }
        for enumeration in &self.enumerations {
            require(version, Gate::Enumerations, "enumeration", &enumeration.name)?;
        }
        if self.current_domain.is_some() {
            require(version, Gate::CurrentDomain, "current domain", "")?;
        }
        Ok(())
    }

    /// Checks that every release that wrote arrays of `version` knows the datatypes, filters,
    /// orders and domains of this schema. Given later features, some releases crash, and others
    /// read wrong values.
    ///
    /// # Errors
    /// [`SchemaProblem::DatatypeNotInVersion`] and similar errors, with the first feature that came
    /// later.
    pub fn check_known(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        if self.cell_order == Layout::Hilbert {
            require(version, Gate::HilbertOrder, "order of cells", "hilbert")?;
        }
        for dimension in &self.domain.dimensions {
            if self.array_type == ArrayType::Dense {
                check_domain_known(dimension, version)?;
            }
            if is_past_sign(dimension, dimension.extent_cells()) {
                let what = "tile extent (longer than the maximum of its type) of dimension";
                require(version, Gate::WideTiles, what, &dimension.name)?;
            }
            require_datatype(version, dimension.datatype, &dimension.name)?;
            let (filters, name) = match dimension.filters.filters.as_slice() {
                [] => (&self.coords_filters, "coords"),
                _ => (&dimension.filters, dimension.name.as_str()),
            };
            require_filters(version, filters, dimension.datatype, name)?;
            if dimension.is_var() {
                require_chain(version, filters, dimension.datatype, &dimension.name)?;
            }
        }
        self.check_tile_cells(version)?;
        self.check_file_names(version)?;
        self.attributes.iter().try_for_each(|attribute| attribute.check_known(version))?;
        // Pipelines that no field uses are stored too, and libraries do not open an array with a
        // filter that they do not know.
        let coordinates = self.domain.dimensions.first().map_or(Datatype::Uint8, |first| first.datatype);
        require_filters(version, &self.coords_filters, coordinates, "coords")?;
        require_filters(version, &self.offsets_filters, Datatype::Uint64, "offsets")?;
        if version.has(Gate::Nullable) {
            require_filters(version, &self.validity_filters, Datatype::Uint8, "validity")?;
        }
        self.labels.iter().try_for_each(|label| require_datatype(version, label.datatype, &label.name))
    }

    /// The same schema in another version, without what that version cannot store and what makes no
    /// difference: filters that no field uses are left out if libraries of the version do not know
    /// them, and where dimensions have no filters of their own, those that all dimensions have
    /// become the filters of coordinates.
    #[must_use]
    pub fn in_version(&self, version: FormatVersion) -> Self {
        let mut schema = Self { version, ..self.clone() };
        let filters_of = |dimension: &Dimension| match dimension.filters.filters.as_slice() {
            [] => self.coords_filters.clone(),
            _ => dimension.filters.clone(),
        };
        let mut pipelines = self.domain.dimensions.iter().map(filters_of);
        if let Some(first) = pipelines.next().filter(|_| !version.has(Gate::DimensionFiles))
            && pipelines.all(|other| other == first)
        {
            schema.coords_filters = first;
            schema.domain.dimensions.iter_mut().for_each(|own| own.filters.filters.clear());
        }
        let uses_coords = schema.domain.dimensions.iter().any(|own| own.filters.filters.is_empty());
        let (has_var, has_null) =
            (self.fields().any(|own| own.is_var()), self.fields().any(|own| own.nullable));
        for (is_used, pipeline, datatype) in [
            (uses_coords, &mut schema.coords_filters, Datatype::Uint8),
            (has_var, &mut schema.offsets_filters, Datatype::Uint64),
            (has_null, &mut schema.validity_filters, Datatype::Uint8),
        ] {
            if !is_used && require_filters(version, pipeline, datatype, "").is_err() {
                pipeline.filters.clear();
            }
        }
        schema
    }

    /// Checks that libraries of this version can count the cells of a dense tile.
    fn check_tile_cells(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        let Some(first) = self.domain.dimensions.first().filter(|_| self.array_type == ArrayType::Dense)
        else {
            return Ok(());
        };
        let extents = self.domain.dimensions.iter().filter_map(Dimension::extent_cells);
        let cells = extents.fold(1, u64::saturating_mul);
        let bits = u32::try_from(first.datatype.size().saturating_mul(8)).unwrap_or(u64::BITS);
        let bits = bits.saturating_sub(u32::from(first.datatype.physical().is_signed_integer()));
        let more = 1u64.checked_shl(bits).is_some_and(|numbers| cells >= numbers);
        if more && version.has(Gate::NarrowTileCells) {
            let what = "tiles of more cells than fit the type of dimension";
            require(version, Gate::WideTileCells, what, &first.name)?;
        }
        Ok(())
    }

    /// Checks that fields can have files named after them.
    fn check_file_names(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        let sparse = self.array_type == ArrayType::Sparse && version.has(Gate::DimensionFiles);
        let dimensions = self.domain.dimensions.iter().filter(|_| sparse).map(|dimension| &dimension.name);
        let mut names = dimensions.chain(self.attributes.iter().map(|attribute| &attribute.name));
        match names.find(|name| name.contains(['/', '\0'])) {
            Some(name) => require(version, Gate::PercentEncodedFileNames, "field name", name),
            None => Ok(()),
        }
    }

    fn check_dimension_version(
        &self,
        dimension: &Dimension,
        version: FormatVersion,
    ) -> Result<(), SchemaProblem> {
        // Up to version 4 a domain has one type of fixed size, and one pipeline for all
        // coordinates.
        let first = self.domain.dimensions.first();
        let own_type = first.is_some_and(|first| first.datatype != dimension.datatype);
        for (what, said) in [
            ("dimension of variable length", dimension.is_var()),
            ("dimension with a different type", own_type),
            ("dimension filters", !dimension.filters.filters.is_empty()),
        ] {
            if said {
                require(version, Gate::DimensionFiles, what, &dimension.name)?;
            }
        }
        Ok(())
    }
}

impl Attribute {
    /// As [`ArraySchema::check_version`], for a single attribute.
    ///
    /// # Errors
    /// [`SchemaProblem::NotInVersion`].
    pub fn check_version(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        let default = self.datatype.default_fill();
        let filled = self.fill_value.chunks(default.len().max(1)).any(|value| value != default);
        for (gate, what, said) in [
            (Gate::FillValues, "fill value", filled),
            (Gate::Nullable, "nullable attribute", self.nullable),
            (Gate::OrderedAttributes, "order of the attribute", self.order != DataOrder::Unordered),
            (Gate::Enumerations, "enumeration of the attribute", self.enumeration.is_some()),
        ] {
            if said {
                require(version, gate, what, &self.name)?;
            }
        }
        Ok(())
    }

    /// As [`ArraySchema::check_known`], for a single attribute.
    ///
    /// # Errors
    /// As [`ArraySchema::check_known`].
    pub fn check_known(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        require_datatype(version, self.datatype, &self.name)?;
        require_filters(version, &self.filters, self.datatype, &self.name)?;
        if self.cell_val_num.is_var() {
            require_chain(version, &self.filters, self.datatype, &self.name)?;
        }
        Ok(())
    }
}

impl Enumeration {
    /// Checks that every release that wrote arrays of `version` can read this enumeration.
    ///
    /// # Errors
    /// [`SchemaProblem::EnumerationValues`] if it has no name, and otherwise as
    /// [`ArraySchema::check_known`].
    pub fn check_known(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        if self.name.is_empty() {
            let reason = "has an empty name, with which libtiledb reads none; give it a name";
            return Err(SchemaProblem::EnumerationValues { enumeration: String::new(), reason });
        }
        require_datatype(version, self.datatype, &self.name)?;
        if self.data.is_empty() {
            require(version, Gate::EmptyEnumerations, "enumeration (its values have no bytes)", &self.name)?;
        }
        if self.name.contains('/') {
            require(version, Gate::SlashedEnumerations, "enumeration (its name has a slash)", &self.name)?;
        }
        Ok(())
    }
}

/// Checks that libraries of this version can compute with the domain of a dense dimension.
fn check_domain_known(dimension: &Dimension, version: FormatVersion) -> Result<(), SchemaProblem> {
    if is_past_sign(dimension, dimension.last_ordinal()) {
        let what = "domain (longer than the maximum of its type) of dimension";
        require(version, Gate::WideDomains, what, &dimension.name)?;
    }
    let negative = |(low, _): &(Vec<u8>, Vec<u8>)| low.last().is_some_and(|low| low & 0x80 != 0);
    let small = matches!(dimension.datatype, Datatype::Int8 | Datatype::Int16);
    if small && dimension.domain.as_ref().is_some_and(negative) && version.has(Gate::BrokenSmallIntegers) {
        require(version, Gate::MendedSmallIntegers, "negative coordinates of dimension", &dimension.name)?;
    }
    Ok(())
}

/// Whether a number of cells is more than the maximum of a dimension's signed type.
fn is_past_sign(dimension: &Dimension, cells: Option<u64>) -> bool {
    let bits = dimension.datatype.size().saturating_mul(8).saturating_sub(1);
    let past = u32::try_from(bits).ok().and_then(|bits| 1u64.checked_shl(bits));
    dimension.datatype.physical().is_signed_integer() && past.is_some_and(|past| cells >= Some(past))
}

fn require(version: FormatVersion, gate: Gate, what: &'static str, name: &str) -> Result<(), SchemaProblem> {
    if version.has(gate) {
        Ok(())
    } else {
        Err(SchemaProblem::NotInVersion { what, name: name.to_owned(), version })
    }
}

/// Returns an error if a datatype came after a version.
fn require_datatype(version: FormatVersion, datatype: Datatype, name: &str) -> Result<(), SchemaProblem> {
    match datatype.gate().filter(|gate| !version.has(*gate)) {
        Some(_) => Err(SchemaProblem::DatatypeNotInVersion { name: name.to_owned(), datatype, version }),
        None => Ok(()),
    }
}

fn require_filters(
    version: FormatVersion,
    pipeline: &Pipeline,
    datatype: Datatype,
    field: &str,
) -> Result<(), SchemaProblem> {
    let late = |filter: &&Filter| filter.gate(datatype).is_some_and(|gate| !version.has(gate));
    match pipeline.filters.iter().find(late) {
        Some(filter) => {
            let (field, filter) = (field.to_owned(), filter.name());
            Err(SchemaProblem::FilterNotInVersion { field, filter, version })
        }
        None => Ok(()),
    }
}

/// Returns an error if a filter that stores strings has others beside it in a version whose
/// libraries refuse that.
fn require_chain(
    version: FormatVersion,
    pipeline: &Pipeline,
    datatype: Datatype,
    field: &str,
) -> Result<(), SchemaProblem> {
    let stores_strings = |filter: &Filter| match filter {
        Filter::Rle { .. } => version.has(Gate::AsciiRleStrings),
        Filter::Dictionary { .. } => version.has(Gate::AsciiDictionaryStrings),
        _ => false,
    };
    let is_chain = datatype == Datatype::StringAscii && pipeline.filters.len() > 1;
    if is_chain && pipeline.filters.iter().any(stores_strings) {
        let what = "RLE or dictionary filter of strings, together with other filters, of field";
        require(version, Gate::ChainedStrings, what, field)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tdb_codec::CellValNum;

    fn version(number: u32) -> FormatVersion {
        FormatVersion::parse(number).unwrap()
    }

    fn schema() -> ArraySchema {
        let gzip = || Pipeline::new(vec![Filter::Gzip { level: 1 }]);
        ArraySchema::sparse()
            .dimension(Dimension::new("x", 1i32..=9).with_tile(3i32).with_filters(gzip()))
            .dimension(Dimension::new("y", 1i32..=9).with_tile(3i32).with_filters(gzip()))
            .attribute(Attribute::new("a", Datatype::Int32, CellValNum::ONE))
            .offsets_filters(Pipeline::new(vec![Filter::ChecksumMd5]))
            .build()
            .unwrap()
    }

    #[test]
    fn filters_that_no_field_uses_must_be_known_too() {
        let own = ArraySchema { version: version(3), ..schema() };
        let mut own = own.in_version(version(3));
        own.offsets_filters = schema().offsets_filters;
        let error = own.check_known(version(3)).unwrap_err();
        assert!(
            matches!(&error, SchemaProblem::FilterNotInVersion { field, .. } if field == "offsets"),
            "{error:?}"
        );
        own.check_known(version(5)).unwrap();
    }

    #[test]
    fn what_makes_no_difference_is_left_out_where_it_cannot_be_stored() {
        let own = schema();
        assert_eq!(own.in_version(own.version), own);
        let old = own.in_version(version(4));
        old.check_version(version(4)).unwrap();
        old.check_known(version(4)).unwrap();
        assert_eq!(old.coords_filters, own.domain.dimensions[0].filters);
        assert!(old.offsets_filters.filters.is_empty());

        // Different filters are not made the same.
        let mut own = own;
        own.domain.dimensions[0].filters = Pipeline::new(vec![Filter::Gzip { level: 2 }]);
        assert!(own.in_version(version(4)).check_version(version(4)).is_err());
        // Filters that a field uses stay.
        own.domain.dimensions[0].filters = own.domain.dimensions[1].filters.clone();
        own.attributes[0].cell_val_num = CellValNum::Var;
        assert!(own.in_version(version(3)).check_known(version(3)).is_err());
    }

    #[test]
    fn a_schema_in_another_version_has_that_version() {
        let old = schema().in_version(version(4));
        assert_eq!((old.version, old.attributes), (version(4), schema().attributes));
    }

    #[test]
    fn a_dimension_without_filters_is_checked_with_those_of_coordinates() {
        let zstd = || Pipeline::new(vec![Filter::Zstd { level: 1 }]);
        let chain = vec![Filter::Dictionary { level: -1 }, Filter::Zstd { level: 1 }];
        let built = |number, dimension: Dimension, filters: Vec<Filter>| {
            ArraySchema::sparse()
                .dimension(Dimension::new("x", 1i32..=9).with_filters(zstd()))
                .dimension(dimension)
                .coords_filters(Pipeline::new(filters))
                .version(version(number))
                .build()
        };
        // Filters beside one that stores strings came with version 16.
        assert!(built(16, Dimension::string("s"), chain.clone()).is_ok());
        let error = built(15, Dimension::string("s"), chain.clone()).unwrap_err();
        assert!(matches!(&error, SchemaProblem::NotInVersion { name, .. } if name == "s"), "{error:?}");
        let own = Dimension::string("s").with_filters(zstd());
        assert!(built(15, own, chain).is_ok());
    }
}
