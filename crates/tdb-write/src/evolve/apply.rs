//! The schema that results from an evolution, and the rules that it must keep.

use tdb_codec::{ArrayType, Datatype, FormatVersion, Gate};
use tdb_filters::Filter;
use tdb_schema::{ArraySchema, Attribute, CurrentDomain, Enumeration, EnumerationName, Field, SchemaProblem};

use super::extend::{expand, united};
use super::{SchemaEvolution, WHAT};
use crate::{Error, Result, names};

fn refuse<T>(why: String) -> Result<T> {
    Err(Error::refused(WHAT, why))
}

/// The position of an enumeration in the schema's list.
fn position_of(schema: &ArraySchema, name: &str) -> Option<usize> {
    schema.enumerations.iter().position(|entry| entry.name == name)
}

impl SchemaEvolution {
    /// The schema that results from evolving `old`, and the enumerations whose files it needs.
    pub(super) fn apply(
        &self,
        old: &ArraySchema,
        load: &dyn Fn(&EnumerationName) -> Result<Enumeration>,
        any_filters: bool,
    ) -> Result<(ArraySchema, Vec<Enumeration>)> {
        let mut new = old.clone();
        if self.upgrade {
            // The version after it is never written.
            if new.version == FormatVersion::CURRENT || new.version.has(Gate::OptionalSections) {
                return refuse(format!("the array already has version {}", new.version));
            }
            new.version = FormatVersion::CURRENT;
        }
        let mut files = self.add_enumerations(&mut new)?;
        self.extend(old, &mut new, &mut files, load)?;
        self.drop_attributes(old, &mut new)?;
        self.add_attributes(&mut new)?;
        self.drop_enumerations(&mut new)?;
        if let Some(ranges) = &self.current_domain {
            let ranges = if self.where_needed { united(old, ranges) } else { ranges.clone() };
            expand(old, &ranges)?;
            new.current_domain = Some(CurrentDomain::new(ranges));
        }
        self.check(old, &new, &files, load, any_filters)?;
        if new == *old && !self.where_needed {
            return refuse("it changes nothing".to_owned());
        }
        Ok((new, files))
    }

    /// Adds new enumerations to the schema; returns them with the names of their files.
    fn add_enumerations(&self, new: &mut ArraySchema) -> Result<Vec<Enumeration>> {
        let mut files = Vec::new();
        for enumeration in &self.enumerations {
            if position_of(new, &enumeration.name).is_some() {
                return refuse(format!("there is an enumeration \"{}\" already", enumeration.name));
            }
            let file_name = names::enumeration_file_name()?;
            new.enumerations
                .push(EnumerationName { name: enumeration.name.clone(), file_name: file_name.clone() });
            let mut enumeration = enumeration.clone();
            enumeration.file_name = file_name;
            files.push(enumeration);
        }
        Ok(files)
    }

    fn drop_attributes(&self, old: &ArraySchema, new: &mut ArraySchema) -> Result<()> {
        for name in &self.dropped {
            if self.added.iter().any(|attribute| attribute.name == *name) {
                return refuse(format!(
                    "attribute \"{name}\" cannot be dropped and added in the same change"
                ));
            }
            let Some(at) = new.attributes.iter().position(|attribute| attribute.name == *name) else {
                let why = if old.dimension(name).is_some() {
                    "is a dimension, which cannot be dropped"
                } else {
                    "is not there"
                };
                return refuse(format!("attribute \"{name}\" {why}"));
            };
            new.attributes.remove(at);
        }
        if new.attributes.is_empty() && self.added.is_empty() && !self.dropped.is_empty() {
            return refuse("the last attribute cannot be dropped".to_owned());
        }
        Ok(())
    }

    fn add_attributes(&self, new: &mut ArraySchema) -> Result<()> {
        for attribute in &self.added {
            if new.field(&attribute.name).is_some() {
                return refuse(format!("there is a field \"{}\" already", attribute.name));
            }
            let mut attribute = attribute.clone();
            if new.array_type == ArrayType::Dense {
                let settled = attribute.set_image_extents(&new.domain);
                settled.map_err(|problem| Error::refused(WHAT, problem.to_string()))?;
            }
            new.attributes.push(attribute);
        }
        Ok(())
    }

    fn drop_enumerations(&self, new: &mut ArraySchema) -> Result<()> {
        for name in &self.dropped_enumerations {
            let Some(at) = position_of(new, name) else {
                return refuse(format!("there is no enumeration \"{name}\""));
            };
            let uses = |attribute: &&Attribute| attribute.enumeration.as_ref() == Some(name);
            if let Some(attribute) = new.attributes.iter().find(uses) {
                return refuse(format!("attribute \"{}\" uses enumeration \"{name}\"", attribute.name));
            }
            new.enumerations.remove(at);
        }
        Ok(())
    }

    /// Checks the schema that results from evolving `old`, with the enumerations whose files it
    /// adds.
    fn check(
        &self,
        old: &ArraySchema,
        new: &ArraySchema,
        files: &[Enumeration],
        load: &dyn Fn(&EnumerationName) -> Result<Enumeration>,
        any_filters: bool,
    ) -> Result<()> {
        let refuse = |problem: SchemaProblem| Error::refused(WHAT, problem.to_string());
        // An old array may break a rule for new ones, but must not break more of them.
        let rules = |schema: &ArraySchema| {
            if any_filters { schema.check_new_but_filters() } else { schema.check_new() }
        };
        let checked = match rules(old) {
            Ok(()) => rules(new),
            Err(_) => new.check().and_then(|()| {
                self.added.iter().try_for_each(|attribute| attribute.check_known(new.version))
            }),
        };
        let check = |enumeration: &Enumeration| {
            let is_old = old.enumerations.iter().any(|entry| entry.name == enumeration.name);
            if is_old { new.check_extended(enumeration) } else { new.check_enumeration(enumeration) }
        };
        let checked = checked.and_then(|()| files.iter().try_for_each(check));
        checked.map_err(refuse)?;
        for attribute in &self.added {
            let uses = |entry: &&EnumerationName| Some(&entry.name) == attribute.enumeration.as_ref();
            let is_there =
                |entry: &&EnumerationName| !files.iter().any(|file| file.file_name == entry.file_name);
            if let Some(entry) = new.enumerations.iter().filter(is_there).find(uses) {
                attribute.check_indexes(&load(entry)?).map_err(refuse)?;
            }
        }
        Ok(())
    }
}

/// A field whose strings are stored in another form in the version of `new`. libtiledb takes the
/// form from the array's newest schema, whatever the fragment's own version.
pub(super) fn stored_otherwise<'a>(old: &'a ArraySchema, new: &ArraySchema) -> Option<&'a str> {
    let turns = |field: &Field<'_>, filter: &Filter| {
        let gate = match (filter, field.datatype) {
            (Filter::Rle { .. }, Datatype::StringAscii) => Gate::AsciiRleStrings,
            (Filter::Dictionary { .. }, Datatype::StringAscii) => Gate::AsciiDictionaryStrings,
            (Filter::Rle { .. } | Filter::Dictionary { .. }, Datatype::StringUtf8) => Gate::Utf8Strings,
            _ => return false,
        };
        !old.version.has(gate) && new.version.has(gate)
    };
    let other = |field: &Field<'_>| {
        let filters = &old.filters_in(field, old.version).filters;
        field.is_var() && filters.iter().any(|filter| turns(field, filter))
    };
    old.fields().filter(other).map(|field| field.name).find(|name| new.field(name).is_some())
}
