//! What a query would do, as JSON.

use std::collections::BTreeMap;

use tdb_array::Layout;
use tdb_array::schema::ArrayType;

use super::{Kind, Query, QueryObject, failure};
use crate::context::Ctx;
use crate::enums::{ARRAY_TYPES, LAYOUTS};
use crate::ffi::{Failure, In, OutHandle};
use crate::json::Json;
use crate::string::StringObject;

impl Query {
    /// The name that libtiledb has for the way in which the query is done.
    fn strategy(&self) -> &'static str {
        let dense = self.schema.array_type == ArrayType::Dense;
        match (self.kind, self.layout) {
            (Kind::Delete, _) => "DeletesAndUpdates",
            (Kind::Read, _) if dense => "DenseReader",
            (Kind::Read, Layout::Unordered) if self.schema.allows_duplicates => {
                "SparseUnorderedWithDupsReader<h>"
            }
            (Kind::Read, Layout::GlobalOrder | Layout::Unordered) => "SparseGlobalOrderReader<h>",
            (Kind::Read, _) => "LegacyReader",
            (_, Layout::GlobalOrder) => "GlobalOrderWriter",
            (_, Layout::Unordered) => "UnorderedWriter",
            _ => "OrderedWriter",
        }
    }

    fn plan(&self) -> Result<Json, Failure> {
        if self.kind != Kind::Delete && self.buffers.is_empty() {
            return Err(failure("Cannot initialize query; Buffers not set"));
        }
        let text = |text: &str| Json::Text(text.to_owned());
        let dense = self.schema.array_type == ArrayType::Dense;
        let (dimensions, attributes): (Vec<&String>, Vec<&String>) =
            self.buffers.keys().partition(|name| self.schema.dimension(name).is_some());
        let mut dimensions: Vec<String> = dimensions.into_iter().cloned().collect();
        if dense {
            dimensions = self.schema.domain.dimensions.iter().map(|one| one.name.clone()).collect();
        }
        dimensions.sort_unstable();
        let mut attributes: Vec<String> = attributes.into_iter().cloned().collect();
        attributes.sort_unstable();
        let list = |names: Vec<String>| Json::List(names.into_iter().map(Json::Text).collect());
        let uri = self.array.place().uri();
        let backend = uri.split_once("://").map_or("file", |(scheme, _)| scheme).to_owned();
        let layout = LAYOUTS.word(u32::from(self.layout.code())).unwrap_or("");
        let array_type = ARRAY_TYPES.word(u32::from(self.schema.array_type.code())).unwrap_or("");
        let plan = BTreeMap::from([
            ("Array.URI".to_owned(), Json::Text(uri)),
            ("Array.Type".to_owned(), text(array_type)),
            ("VFS.Backend".to_owned(), Json::Text(backend)),
            ("Query.Layout".to_owned(), text(layout)),
            ("Query.Strategy.Name".to_owned(), text(self.strategy())),
            ("Query.Attributes".to_owned(), list(attributes)),
            ("Query.Dimensions".to_owned(), list(dimensions)),
        ]);
        Ok(Json::Object(BTreeMap::from([("TileDB Query Plan".to_owned(), Json::Object(plan))])))
    }
}

exported! {
    fn tiledb_query_get_plan(ctx: Ctx, query: In<QueryObject>, plan: OutHandle<StringObject>) -> Code for ctx {
        plan.put(StringObject(query.get()?.0.lock().plan()?.pretty(4)))
    }
}
