//! What a schema says that an older format version cannot.

use tdb_codec::{DataOrder, FormatVersion, Gate};

use crate::attribute::default_fill_cell;
use crate::{ArraySchema, Attribute, Dimension, SchemaProblem};

impl ArraySchema {
    /// Whether a schema file of `version` can say all of this. What has no effect does not count: the validity filters of an
    /// array without nullable attributes, for instance.
    ///
    /// # Errors
    /// [`SchemaProblem::NotInVersion`] with the first field that would be lost.
    pub fn check_version(&self, version: FormatVersion) -> Result<(), SchemaProblem> {
        if self.allows_duplicates {
            require(version, Gate::AllowsDuplicates, "allows duplicates", "")?;
        }
        for dimension in &self.domain.dimensions {
            self.check_dimension_version(dimension, version)?;
        }
        self.attributes.iter().try_for_each(|attribute| check_attribute_version(attribute, version))?;
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

    fn check_dimension_version(
        &self,
        dimension: &Dimension,
        version: FormatVersion,
    ) -> Result<(), SchemaProblem> {
        // Up to version 4 a domain has one type of fixed size, and one pipeline for all coordinates.
        let first = self.domain.dimensions.first();
        let own_type = first.is_some_and(|first| first.datatype != dimension.datatype);
        for (what, said) in [
            ("dimension of variable length", dimension.is_var()),
            ("dimension of a type of its own", own_type),
            ("dimension filters", !dimension.filters.filters.is_empty()),
        ] {
            if said {
                require(version, Gate::DimensionFiles, what, &dimension.name)?;
            }
        }
        Ok(())
    }
}

fn check_attribute_version(attribute: &Attribute, version: FormatVersion) -> Result<(), SchemaProblem> {
    let filled = attribute.fill_value != default_fill_cell(attribute.datatype, attribute.cell_val_num);
    for (gate, what, said) in [
        (Gate::FillValues, "fill value", filled),
        (Gate::Nullable, "nullable attribute", attribute.nullable),
        (Gate::OrderedAttributes, "order of the attribute", attribute.order != DataOrder::Unordered),
        (Gate::Enumerations, "enumeration of the attribute", attribute.enumeration.is_some()),
    ] {
        if said {
            require(version, gate, what, &attribute.name)?;
        }
    }
    Ok(())
}

fn require(version: FormatVersion, gate: Gate, what: &'static str, name: &str) -> Result<(), SchemaProblem> {
    if version.has(gate) {
        Ok(())
    } else {
        Err(SchemaProblem::NotInVersion { what, name: name.to_owned(), version })
    }
}
