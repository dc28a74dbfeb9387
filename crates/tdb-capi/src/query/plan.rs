//! How a query is going to be run, as words.

use serde_json::json;
use tdb_array::Layout;
use tdb_array::query::Outcome;
use tdb_array::schema::ArrayType;

use super::buffers::Origin;
use super::{Kind, Query, QueryObject, failure};
use crate::context::Ctx;
use crate::enums::LAYOUTS;
use crate::ffi::{Failure, In, Out, OutHandle};
use crate::string::StringObject;

impl Query {
    /// The name of the part of libtiledb that would run the query.
    fn strategy(&self) -> &'static str {
        let is_dense = self.schema.array_type == ArrayType::Dense;
        match (self.kind, self.layout) {
            (Kind::Delete, _) => "DeletesAndUpdates",
            (Kind::Write | Kind::ModifyExclusive, Layout::GlobalOrder) => "GlobalOrderWriter",
            (Kind::Write | Kind::ModifyExclusive, Layout::Unordered) => "UnorderedWriter",
            (Kind::Write | Kind::ModifyExclusive, _) => "OrderedWriter",
            (Kind::Read, _) if is_dense => "DenseReader",
            (Kind::Read, Layout::Unordered) if self.schema.allows_duplicates => {
                "SparseUnorderedWithDupsReader<h>"
            }
            (Kind::Read, Layout::Unordered | Layout::GlobalOrder) => "SparseGlobalOrderReader<h>",
            (Kind::Read, _) => "LegacyReader",
        }
    }

    /// The plan as JSON.
    fn plan(&self) -> Result<String, Failure> {
        if self.kind != Kind::Delete && self.buffers.is_empty() {
            return Err(failure("Cannot initialize query; Buffers not set"));
        }
        let names = |wanted: Origin| {
            let own = self
                .buffers
                .keys()
                .filter(move |name| self.known_field(name).is_some_and(|field| field.origin == wanted));
            own.map(String::as_str)
        };
        let is_dense = self.schema.array_type == ArrayType::Dense;
        let mut dimensions: Vec<&str> = match is_dense {
            true => self.schema.domain.dimensions.iter().map(|one| one.name.as_str()).collect(),
            false => names(Origin::Dimension).collect(),
        };
        dimensions.sort_unstable();
        let uri = self.array.place().uri();
        let plan = json!({
            "TileDB Query Plan": {
                "Array.Type": if is_dense { "dense" } else { "sparse" },
                "Array.URI": uri,
                "Query.Attributes": names(Origin::Attribute).collect::<Vec<_>>(),
                "Query.Dimensions": dimensions,
                "Query.Layout": LAYOUTS.word(u32::from(self.layout.code())).unwrap_or(""),
                "Query.Strategy.Name": self.strategy(),
                "VFS.Backend": uri.split(':').next().unwrap_or(""),
            },
        });
        let text = serde_json::to_string_pretty(&plan).map_err(failure)?;
        // libtiledb has four spaces for each level, not two.
        let indented = text.lines().map(|line| {
            let spaces = line.len().saturating_sub(line.trim_start().len());
            format!("{}{line}", " ".repeat(spaces))
        });
        Ok(indented.collect::<Vec<_>>().join("\n"))
    }

    /// The number of fragments that may have cells in the ranges.
    fn relevant_fragments(&self) -> Result<u64, Failure> {
        if self.kind != Kind::Read {
            return Err(failure("Cannot get relevant fragments; Applicable only to reads"));
        }
        let what = "Cannot get relevant fragments";
        let array = self.array.with_open(what, |open| Ok(open.reading(what)?.clone()))?;
        let found = self.narrow(&array).explain()?;
        let counts = |outcome: &Outcome| {
            matches!(outcome, Outcome::Read { .. } | Outcome::Hidden | Outcome::OutsideCondition)
        };
        let relevant = found.fragments.iter().filter(|fragment| counts(&fragment.outcome));
        Ok(crate::number(relevant.count()))
    }
}

exported! {
    fn tiledb_query_get_plan(ctx: Ctx, query: In<QueryObject>, plan: OutHandle<StringObject>) -> Code for ctx {
        let text = query.get()?.0.lock().plan()?;
        plan.put(StringObject(text))
    }

    fn tiledb_query_get_relevant_fragment_num(ctx: Ctx, query: In<QueryObject>, count: Out<u64>) -> Code for ctx {
        let found = query.get()?.0.lock().relevant_fragments()?;
        count.set(found)
    }
}
