//! What AnnData itself wants, and viewers do without.

use std::collections::HashSet;

use serde_json::Value;
use tdb_array::Array;
use tdb_array::query::Aggregate;
use tdb_array::schema::Datatype;

use super::{MAIN, Making, number};
use crate::encoded::encoding;
use crate::node::{Group, Node};
use crate::{Refusal, Result};

/// The measurement that AnnData has as `raw`.
const RAW: &str = "raw";
/// The entry of the metadata that says, as JSON, which column was the index of a table.
const INDEX: &str = "soma_dataframe_original_index_name";
/// The entry of the metadata that says which column of a matrix is the last, if no schema does.
const LAST_COLUMN: &str = "soma_dim_1_domain_upper";

impl Making<'_> {
    /// The measurement that was `raw`, if there is one: the layer of the same name as X, or the
    /// first one.
    pub(super) fn raw(
        &mut self,
        root: &mut Group,
        measurement: &str,
        rows: u64,
    ) -> Result<Result<(), String>> {
        if measurement == RAW {
            return Ok(Ok(()));
        }
        let wanted = self.options.layer.as_deref().unwrap_or(MAIN);
        let names = self.members.inside(&["ms", RAW, "X"]);
        let Some(name) = names.iter().find(|name| *name == wanted).or_else(|| names.first()) else {
            return Ok(Ok(()));
        };
        let (var, columns) = match self.frame(&["ms", RAW, "var"], "var_id")? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let mut raw = Group::new(encoding("raw", "0.1.0"));
        let matrix = self.matrix(&["ms", RAW, "X", name], rows, Some(columns), true)?;
        self.shown(&mut raw, RAW, "X", matrix);
        let empty = Group::new(encoding("dict", "0.1.0"));
        self.shown(&mut raw, RAW, "var", Ok(Node::Group(var)));
        self.shown(&mut raw, RAW, "varm", Ok(Node::Group(empty)));
        self.add(root, RAW, Node::Group(raw));
        Ok(Ok(()))
    }

    /// Notes all that is directly in a collection.
    pub(super) fn left_out(&mut self, group: &[&str]) {
        for name in self.members.inside(group) {
            let reason = "what has no axis is not shown".to_owned();
            self.refused.push(Refusal { path: format!("uns/{name}"), reason });
        }
    }

    /// The columns of which no cell is missing, if that has to be known.
    pub(super) fn complete(&self, array: &Array) -> Result<HashSet<String>> {
        let schema = array.schema();
        let names = schema.attributes.iter().filter(|one| one.nullable && one.enumeration.is_none());
        let names: Vec<&str> =
            names.map(|one| one.name.as_str()).filter(|_| self.options.for_anndata).collect();
        if names.is_empty() {
            return Ok(HashSet::new());
        }
        let counted = array.read().aggregate(names.iter().map(|name| Aggregate::null_count(*name)))?;
        let none = names.iter().zip(&counted).filter(|(_, count)| count.as_u64() == Some(0));
        Ok(none.map(|(name, _)| (*name).to_owned()).collect())
    }
}

/// The name that the index of a table had, if it had one of its own.
pub(super) fn index_of(array: &Array) -> Result<Option<String>> {
    let metadata = array.metadata()?;
    let said = metadata.get(INDEX.as_bytes()).and_then(|value| serde_json::from_slice(&value.data).ok());
    Ok(match said {
        Some(Value::String(name)) => Some(name),
        _ => None,
    })
}

/// The number of columns of a sparse matrix that no table has: those that there can be now, or in
/// matrices of older releases, those up to the last one with a value, or as many as the metadata
/// says.
pub(super) fn width(array: &Array) -> Result<u64> {
    let schema = array.schema();
    let last = match &schema.current_domain {
        Some(current) => current.ranges.get(1).and_then(|range| number(&range.high)),
        None => {
            let written = array.non_empty_domain().and_then(|ends| number(&ends.get(1)?.high));
            let metadata = array.metadata()?;
            let said = metadata.get(LAST_COLUMN.as_bytes());
            let said = said.filter(|said| said.datatype == Datatype::Int64);
            let said = said.and_then(|said| number(&said.data));
            let most = schema.domain.dimensions.get(1).and_then(|one| number(&one.domain.as_ref()?.1));
            written.max(said).map(|last| last.min(most.unwrap_or(last)))
        }
    };
    Ok(last.and_then(|last| u64::try_from(last.checked_add(1)?).ok()).unwrap_or(0))
}
