//! The names of the nodes of an array's fields.

use std::collections::HashSet;

use tdb_array::schema::ArraySchema;

/// The name of an attribute that has none.
const ANONYMOUS: &str = "values";
/// The name that libtiledb 1.x stores for such an attribute.
const OLD_ANONYMOUS: &str = "__attr";
/// The group of the values of enumerations.
const ENUMERATIONS: &str = "enumerations";

/// The names of an array's fields, and names beside them that no field has.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    /// Of all fields that have one.
    fields: HashSet<&'a str>,
    /// Of attributes.
    attributes: HashSet<&'a str>,
    /// Of the attribute without a name.
    anonymous: String,
    /// Of the group of the values of enumerations.
    pub(crate) enumerations: String,
}

fn is_anonymous(field: &str) -> bool {
    matches!(field, "" | OLD_ANONYMOUS)
}

impl<'a> Names<'a> {
    /// The names of the fields of a schema.
    pub(crate) fn of(schema: &'a ArraySchema) -> Self {
        let named = |name: &&str| !is_anonymous(name);
        let attributes = schema.attributes.iter().map(|one| one.name.as_str()).filter(named);
        let attributes: HashSet<&str> = attributes.collect();
        let dimensions = schema.domain.dimensions.iter().map(|one| one.name.as_str());
        let labels = schema.labels.iter().map(|one| one.name.as_str());
        let fields = dimensions.chain(labels).filter(named).chain(attributes.iter().copied()).collect();
        let mut names = Self { fields, attributes, anonymous: String::new(), enumerations: String::new() };
        (names.anonymous, names.enumerations) = (names.free(ANONYMOUS), names.free(ENUMERATIONS));
        names
    }

    /// The name of a field's node.
    pub(crate) fn of_field<'n>(&'n self, field: &'n str) -> &'n str {
        if is_anonymous(field) { &self.anonymous } else { field }
    }

    /// Whether an attribute has this name. In old arrays a dimension may have it, too, and what
    /// reads the name reads the attribute.
    pub(crate) fn is_attribute(&self, name: &str) -> bool {
        self.attributes.contains(name)
    }

    /// The name of the validity of the field whose node has this name.
    pub(crate) fn validity(&self, name: &str) -> String {
        self.free(&format!("{name}_validity"))
    }

    /// The name of an axis beside those of an array's own dimensions.
    pub(crate) fn axis(&self, name: String) -> String {
        self.free(&name)
    }

    /// This name, or if a field has it, the first of it with a number that none has.
    fn free(&self, name: &str) -> String {
        let mut free = name.to_owned();
        let mut number = 2u64;
        while self.fields.contains(free.as_str()) {
            free = format!("{name}_{number}");
            number += 1;
        }
        free
    }
}

#[cfg(test)]
mod tests {
    use tdb_array::schema::{Attribute, Dimension, SchemaBuilder};

    use super::*;

    fn schema(attributes: &[&str]) -> ArraySchema {
        let schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i64..=9).with_tile(10i64));
        let all = attributes.iter().map(|name| Attribute::of::<i32>(*name));
        all.fold(schema, SchemaBuilder::attribute).build().unwrap()
    }

    #[test]
    fn an_attribute_without_a_name_is_called_values() {
        let schema = schema(&["", "a"]);
        let names = Names::of(&schema);
        assert_eq!(["", "__attr", "a"].map(|field| names.of_field(field)), ["values", "values", "a"]);
        assert_eq!(
            (names.enumerations.as_str(), names.validity("a")),
            ("enumerations", "a_validity".to_owned())
        );
        assert!(names.is_attribute("a") && !names.is_attribute("x") && !names.is_attribute(""));
    }

    #[test]
    fn names_that_fields_have_are_left_to_them() {
        let schema = schema(&["", "values", "values_2", "enumerations", "a", "a_validity", "x_validity"]);
        let names = Names::of(&schema);
        assert_eq!((names.of_field(""), names.enumerations.as_str()), ("values_3", "enumerations_2"));
        assert_eq!(
            (names.validity("a"), names.validity("x")),
            ("a_validity_2".to_owned(), "x_validity_2".to_owned())
        );
    }
}
