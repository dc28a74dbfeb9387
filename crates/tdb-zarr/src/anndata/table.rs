//! Tables of SOMA as those of AnnData.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::json;
use tdb_array::Array;
use tdb_array::query::Aggregate;
use tdb_array::schema::{Attribute, CellValNum, Datatype, DatatypeClass};
use tdb_cells::OrInternal;

use super::whole::index_of;
use super::{ID, Making, UNNAMED};
use crate::chunk::{Content, Part};
use crate::column::Rows;
use crate::described::{content, values, widest};
use crate::encoded::{column, encoding, node};
use crate::form::{Form, Shown};
use crate::node::{Group, Node, Source};
use crate::{Refusal, Result};

impl Making<'_> {
    /// A table, and the number of its rows, whose ids have to count from 0.
    pub(super) fn frame(&mut self, names: &[&str], index: &str) -> Result<Result<(Group, u64), String>> {
        let path = names.join("/");
        let (home, array) = match self.array(names)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let schema = array.schema();
        let [dimension] = schema.domain.dimensions.as_slice() else {
            return Ok(Err(format!("{path} has several dimensions, where AnnData has rows")));
        };
        if dimension.name != ID || dimension.datatype != Datatype::Int64 {
            return Ok(Err(format!("{path} is ordered by {}, and not by {ID}", dimension.name)));
        }
        if schema.allows_duplicates {
            return Ok(Err(format!(
                "several rows of {path} may have the same {ID}, and AnnData counts rows"
            )));
        }
        let found = array.read().aggregate([Aggregate::count(), Aggregate::min(ID), Aggregate::max(ID)])?;
        let [count, first, last] = found.as_slice() else {
            return Err(tdb_array::Error::internal("three aggregates have not three values").into());
        };
        let count = count.as_u64().or_internal("a count is no number")?;
        // As many different numbers as there are between the first and the last are all of them.
        let ends = first.as_i64().zip(last.as_i64());
        let (first, last) = ends.unwrap_or((0, -1));
        if first != 0 || last.checked_add(1).and_then(|rows| u64::try_from(rows).ok()) != Some(count) {
            let why = format!(
                "the {ID}s of the {count} rows of {path} do not count from 0, but go from {first} to {last}"
            );
            return Ok(Err(why));
        }
        let rows = &Arc::new(Rows::new(self.options, widest(schema)));
        let mut group = Group::default();
        let own = names.last().copied().unwrap_or_default();
        let complete = self.complete(&array)?;
        // As tiledbsoma does it: the index is what the metadata says, and else the usual column.
        let had = index_of(&array)?;
        let id = had.as_deref().and_then(|name| schema.attribute(name)).or_else(|| schema.attribute(index));
        let mut named = None;
        if let Some(attribute) = id {
            match self.column(home, &array, attribute, rows, &complete)? {
                Ok(node) => named = Some((attribute.name.as_str(), node)),
                Err(reason) => {
                    self.refused.push(Refusal { path: format!("{own}/{}", attribute.name), reason });
                }
            }
        }
        let (name, node) = match named {
            Some(found) => found,
            None => match Shown::of(dimension.datatype, dimension.cell_val_num) {
                Ok(shown) => (ID, Node::Array(column(home, rows, content(ID, shown, &shown.zeros())))),
                Err(why) => return Ok(Err(format!("{path}: {ID}: {why}"))),
            },
        };
        // AnnData gives the index back the name that it had, or none.
        let mut name = if self.options.for_anndata && had.as_deref() != Some(name) { UNNAMED } else { name };
        if let Err(why) = group.may_have(name) {
            let reason = format!("this name of the index: {why}");
            self.refused.push(Refusal { path: format!("{own}/{name}"), reason });
            name = UNNAMED;
        }
        // Columns come later: one that is called as the index is would hide it.
        self.shown(&mut group, own, name, Ok(node));
        let mut columns = Vec::new();
        for attribute in schema.attributes.iter().filter(|one| id.is_none_or(|id| id.name != one.name)) {
            let node = self.column(home, &array, attribute, rows, &complete)?;
            if self.shown(&mut group, own, &attribute.name, node) {
                columns.push(attribute.name.as_str());
            }
        }
        group.attributes = encoding("dataframe", "0.2.0");
        group.attributes.insert("_index".to_owned(), json!(name));
        group.attributes.insert("column-order".to_owned(), json!(columns));
        Ok(Ok((group, count)))
    }

    /// A column of a table, or why it cannot be shown.
    fn column(
        &self,
        home: usize,
        array: &Array,
        attribute: &Attribute,
        rows: &Arc<Rows>,
        complete: &HashSet<String>,
    ) -> Result<Result<Node, String>> {
        let shown = match Shown::of(attribute.datatype, attribute.cell_val_num) {
            Ok(shown) => shown,
            Err(why) => return Ok(Err(why)),
        };
        let part = |shown: Shown, part: Part| {
            let own = content(&attribute.name, shown, &shown.zeros());
            Node::Array(column(home, rows, Content { part, ..own }))
        };
        if let Some(name) = &attribute.enumeration {
            let enumeration = array.enumeration(name)?.or_internal("an enumeration has no values")?;
            let (content, source) = match values(&enumeration)? {
                Ok(found) => found,
                Err(why) => return Ok(Err(why)),
            };
            let Source::Values(count, _) = source else {
                return Err(tdb_array::Error::internal("categories are no values").into());
            };
            let stored = attribute.datatype.physical();
            let codes = match Shown::codes(stored) {
                Ok(codes) if attribute.cell_val_num == CellValNum::ONE => codes,
                Ok(_) => return Ok(Err("a cell has several categories".to_owned())),
                Err(why) => return Ok(Err(why)),
            };
            let mut own = encoding("categorical", "0.2.0");
            own.insert("ordered".to_owned(), json!(enumeration.ordered));
            let mut group = Group::new(own);
            let added = group.add("codes", part(codes, Part::Codes { stored, count }));
            let categories = node(home, content, source, &["category"]);
            let added = added.and_then(|()| group.add("categories", Node::Array(categories)));
            return Ok(added.map(|()| Node::Group(group)));
        }
        let has_mark = attribute.datatype.physical().is_float() || matches!(shown.form, Form::Time { .. });
        let of_nulls = if attribute.nullable && has_mark { Part::Marked } else { Part::Values };
        let kind = match (attribute.datatype.class(), shown.form) {
            (_, Form::Bool) => "nullable-boolean",
            (DatatypeClass::Integer, _) => "nullable-integer",
            // Older releases of AnnData do not read it, and viewers show an empty text as well.
            (_, Form::Text) if self.options.for_anndata => "nullable-string-array",
            _ => return Ok(Ok(part(shown, of_nulls))),
        };
        if !attribute.nullable || complete.contains(&attribute.name) {
            return Ok(Ok(part(shown, Part::Values)));
        }
        let mut group = Group::new(encoding(kind, "0.1.0"));
        let added = group.add("values", part(shown, Part::Values));
        let added = added.and_then(|()| group.add("mask", part(Shown::validity(), Part::Nulls)));
        Ok(added.map(|()| Node::Group(group)))
    }
}
