//! Extends enumerations and the current domain in a schema evolution.

use std::collections::HashSet;

use tdb_schema::{ArraySchema, Dimension, Enumeration, EnumerationName, Range};

use super::{SchemaEvolution, WHAT};
use crate::names;
use crate::{Error, OrInternal, Result};

impl SchemaEvolution {
    /// Gives the extended enumerations new files.
    pub(super) fn extend(
        &self,
        old: &ArraySchema,
        new: &mut ArraySchema,
        files: &mut Vec<Enumeration>,
        load: &dyn Fn(&EnumerationName) -> Result<Enumeration>,
    ) -> Result<()> {
        for (name, values) in &self.extended {
            let Some(entry) = old.enumerations.iter().find(|entry| entry.name == *name) else {
                return Err(Error::refused(WHAT, format!("there is no enumeration \"{name}\"")));
            };
            let before = load(entry)?;
            let missing = if self.where_needed { missing(&before, values)? } else { values.clone() };
            if self.where_needed && missing.is_empty() {
                continue;
            }
            let file_name = names::enumeration_file_name()?;
            files.push(extended(&before, &missing, file_name.clone())?);
            for entry in new.enumerations.iter_mut().filter(|entry| entry.name == *name) {
                entry.file_name.clone_from(&file_name);
            }
        }
        Ok(())
    }
}

/// The values that an enumeration does not have, each once.
fn missing(before: &Enumeration, values: &[Vec<u8>]) -> Result<Vec<Vec<u8>>> {
    let mut known: HashSet<&[u8]> = values_of(before)?.into_iter().collect();
    Ok(values.iter().filter(|value| known.insert(value)).cloned().collect())
}

/// All values of an enumeration: one that was left out would shift the codes of those behind it.
fn values_of(enumeration: &Enumeration) -> Result<Vec<&[u8]>> {
    let values: Option<Vec<&[u8]>> = (0..enumeration.len()).map(|index| enumeration.value(index)).collect();
    values.or_internal("an enumeration without a value of each code")
}

/// An enumeration with more values, for a file of this name.
fn extended(before: &Enumeration, values: &[Vec<u8>], file_name: String) -> Result<Enumeration> {
    let all = values_of(before)?.into_iter().map(<[u8]>::to_vec);
    let extended = Enumeration::new(
        before.name.clone(),
        file_name,
        before.datatype,
        before.cell_val_num,
        all.chain(values.iter().cloned()),
    );
    let extended = extended.map(|mut extended| {
        extended.ordered = before.ordered;
        extended
    });
    let checked = extended.and_then(|extended| extended.check_extends(before).map(|()| extended));
    checked.map_err(|problem| Error::refused(WHAT, problem.to_string()))
}

/// The smallest ranges that contain both these ranges and the current domain. An empty high end of
/// strings means that the range is open.
pub(super) fn united(old: &ArraySchema, ranges: &[Range]) -> Vec<Range> {
    let Some(before) = &old.current_domain else { return ranges.to_vec() };
    if ranges.len() != before.ranges.len() {
        // As they are, they are refused.
        return ranges.to_vec();
    }
    let dimensions = old.domain.dimensions.iter().zip(&before.ranges);
    let unite = |((dimension, before), range): ((&Dimension, &Range), &Range)| {
        let open = dimension.is_var() && (before.high.is_empty() || range.high.is_empty());
        let mut all = before.clone();
        all.unite(dimension.datatype, range);
        if open {
            all.high.clear();
        }
        all
    };
    dimensions.zip(ranges).map(unite).collect()
}

/// A current domain can only grow.
pub(super) fn expand(old: &ArraySchema, ranges: &[Range]) -> Result<()> {
    let Some(before) = &old.current_domain else { return Ok(()) };
    let dimensions = old.domain.dimensions.iter();
    for (dimension, (before, after)) in dimensions.zip(before.ranges.iter().zip(ranges)) {
        let open = dimension.is_var() && after.high.is_empty();
        let below = Range::compare(dimension.datatype, &after.low, &before.low).is_le();
        if !(open && below || after.covers(dimension.datatype, before)) {
            let why = format!("the current domain of dimension \"{}\" would shrink", dimension.name);
            return Err(Error::refused(WHAT, why));
        }
    }
    Ok(())
}
