//! How a query is going to be run, as words.

use std::fmt::Write as _;

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
    fn plan(&self) -> String {
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
        let layout = LAYOUTS.word(u32::from(self.layout.code())).unwrap_or("");
        let lines = [
            ("Array.Type", quoted(if is_dense { "dense" } else { "sparse" })),
            ("Array.URI", quoted(&uri)),
            ("Query.Attributes", list(names(Origin::Attribute))),
            ("Query.Dimensions", list(dimensions.into_iter())),
            ("Query.Layout", quoted(layout)),
            ("Query.Strategy.Name", quoted(self.strategy())),
            ("VFS.Backend", quoted(uri.split(':').next().unwrap_or(""))),
        ];
        let lines: Vec<String> =
            lines.iter().map(|(key, value)| format!("        \"{key}\": {value}")).collect();
        format!("{{\n    \"TileDB Query Plan\": {{\n{}\n    }}\n}}", lines.join(",\n"))
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

/// A text of JSON.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            // Writing to a text cannot fail.
            _ if letter.is_ascii_control() => drop(write!(quoted, "\\u{:04x}", u32::from(letter))),
            _ => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

/// A list of texts of JSON.
fn list<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let lines: Vec<String> = texts.map(|text| format!("            {}", quoted(text))).collect();
    if lines.is_empty() { "[]".to_owned() } else { format!("[\n{}\n        ]", lines.join(",\n")) }
}

exported! {
    fn tiledb_query_get_plan(ctx: Ctx, query: In<QueryObject>, plan: OutHandle<StringObject>) -> Code for ctx {
        let text = query.get()?.0.lock().plan();
        plan.put(StringObject(text))
    }

    fn tiledb_query_get_relevant_fragment_num(ctx: Ctx, query: In<QueryObject>, count: Out<u64>) -> Code for ctx {
        let found = query.get()?.0.lock().relevant_fragments()?;
        count.set(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_json_have_no_quotes_and_no_controls_of_their_own() {
        assert_eq!(quoted("a\"b\\c\nd\u{e9}"), "\"a\\\"b\\\\c\\u000ad\u{e9}\"");
        assert_eq!(list(["a", "b"].into_iter()), "[\n            \"a\",\n            \"b\"\n        ]");
        assert_eq!(list([].into_iter()), "[]");
    }
}
