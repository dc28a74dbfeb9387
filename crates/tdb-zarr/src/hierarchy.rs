//! Hierarchies: what keys there are, and their bytes.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use tdb_array::schema::Pipeline;
use tdb_array::{Array, TimeWindow};
use tdb_cells::OrInternal;

use crate::chunk::Part;
use crate::column::Rows;
use crate::described::described;
use crate::document::{array_v2, array_v3, attributes_v2, consolidated, group_v2, group_v3};
use crate::grid::Grid;
use crate::key::{Asked, Found, Notation, find, node};
use crate::listing::Keys;
use crate::node::{ArrayNode, Group, Node, Source};
use crate::{Error, Formats, Options, Refusal, Result, Span};

/// An array or a group as a Zarr hierarchy. Clones are cheap, and share what was found out about
/// the arrays.
#[derive(Clone, Debug)]
pub struct Hierarchy(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    arrays: Vec<Array>,
    root: Group,
    formats: Formats,
    refused: Vec<Refusal>,
    window: TimeWindow,
}

/// The opened arrays: `awaited` is the one array of a hierarchy that is asked in an awaited way.
struct Homes<'a> {
    all: &'a [Array],
    awaited: Option<&'a Array>,
}

impl<'a> Homes<'a> {
    fn of(&self, node: &ArrayNode) -> Result<&'a Array> {
        let array = self.awaited.or_else(|| self.all.get(node.home));
        Ok(array.or_internal("a node is of no array")?)
    }
}

/// Asks a function of an array, for callers that await the answer.
async fn awaited<T: Send + 'static>(
    array: &Array,
    ask: impl Fn(&Array) -> Result<T> + Send + 'static,
) -> Result<T> {
    let asked = array.run_async(move |array| match ask(array) {
        // What has not arrived yet is an error of the array, and is asked for again.
        Err(Error::Array(error)) => Err(error),
        other => Ok(other),
    });
    asked.await?
}

/// Rows of which more has to be known, the number of their array, and whether chunks will be read.
type Unknown = (usize, Arc<Rows>, bool);

/// Counts rows, for callers that await it.
async fn count_async(array: &Array, unknown: Vec<Unknown>) -> Result<()> {
    for (_, rows, chunks) in unknown {
        if rows.is_unknown(chunks) {
            let own = Arc::clone(&rows);
            rows.keep(awaited(array, move |array| own.find(array, chunks)).await?);
        }
    }
    Ok(())
}

impl Hierarchy {
    /// Shows an array, at the time at which it was opened. Reads its metadata and the values of its
    /// enumerations.
    ///
    /// # Errors
    /// Metadata, an enumeration or a label that cannot be read.
    pub fn new(array: &Array, options: &Options) -> Result<Self> {
        let (root, refused) = described(array, 0, "", options)?;
        Ok(Self::of(vec![array.clone()], root, options, refused, array.window()))
    }

    /// [`Self::new`] of an array in an asynchronous storage.
    ///
    /// # Errors
    /// As [`Self::new`].
    pub async fn new_async(array: &Array, options: &Options) -> Result<Self> {
        let own = options.clone();
        let (root, refused) = awaited(array, move |array| described(array, 0, "", &own)).await?;
        Ok(Self::of(vec![array.clone()], root, options, refused, array.window()))
    }

    pub(crate) fn of(
        arrays: Vec<Array>,
        root: Group,
        options: &Options,
        refused: Vec<Refusal>,
        window: TimeWindow,
    ) -> Self {
        Self(Arc::new(Shared { arrays, root, formats: options.formats, refused, window }))
    }

    /// The window in which the array or group was opened.
    #[must_use]
    pub fn window(&self) -> TimeWindow {
        self.0.window
    }

    /// What cannot be shown, and why.
    #[must_use]
    pub fn refused(&self) -> &[Refusal] {
        &self.0.refused
    }

    /// The bytes of a key; `None` if there is no such key. A chunk whose cells were never written
    /// has no key: readers take the fill value.
    ///
    /// # Errors
    /// Cells that cannot be read, or that are not the text that their type says.
    pub fn get(&self, key: &str, span: Span) -> Result<Option<Bytes>> {
        self.0.count(self.0.rows_of_key(key))?;
        let homes = Homes { all: &self.0.arrays, awaited: None };
        Ok(self.0.get(key, &homes)?.map(|bytes| span.of(&bytes)))
    }

    /// [`Self::get`] of an array in an asynchronous storage.
    ///
    /// # Errors
    /// As [`Self::get`].
    pub async fn get_async(&self, key: &str, span: Span) -> Result<Option<Bytes>> {
        let [array] = self.0.arrays.as_slice() else { return self.get(key, span) };
        count_async(array, self.0.rows_of_key(key)).await?;
        let (shared, key) = (Arc::clone(&self.0), key.to_owned());
        let ask = move |array: &Array| shared.get(&key, &Homes { all: &[], awaited: Some(array) });
        Ok(awaited(array, ask).await?.map(|bytes| span.of(&bytes)))
    }

    /// The keys that begin with a prefix, sorted. Chunks of dense arrays are listed where a write
    /// may have been.
    ///
    /// # Errors
    /// [`Error::TooManyKeys`], or metadata that cannot be read.
    pub fn list(&self, prefix: &str) -> Result<Vec<String>> {
        self.0.count(self.0.rows_of_prefix(prefix))?;
        self.0.list(prefix, &Homes { all: &self.0.arrays, awaited: None })
    }

    /// [`Self::list`] of an array in an asynchronous storage.
    ///
    /// # Errors
    /// As [`Self::list`].
    pub async fn list_async(&self, prefix: &str) -> Result<Vec<String>> {
        let [array] = self.0.arrays.as_slice() else { return self.list(prefix) };
        count_async(array, self.0.rows_of_prefix(prefix)).await?;
        let (shared, prefix) = (Arc::clone(&self.0), prefix.to_owned());
        awaited(array, move |array| shared.list(&prefix, &Homes { all: &[], awaited: Some(array) })).await
    }

    /// The filters of the field that a path shows, which chunks do not have; `None` for what is no
    /// field of an array, such as coordinates.
    #[must_use]
    pub fn filters(&self, path: &str) -> Option<Pipeline> {
        let Some(Found::Array(node)) = node(&self.0.root, path) else { return None };
        let schema = self.0.arrays.get(node.home)?.schema();
        let field = match &node.source {
            Source::Grid(Grid { label: None, field, .. }) | Source::Column(field, _) => field,
            _ => return None,
        };
        match node.content.part {
            Part::Validity => Some(schema.validity_filters.clone()),
            // What is stored is the contrary.
            Part::Nulls => None,
            Part::Values | Part::Marked | Part::Codes { .. } => Some(match schema.attribute(field) {
                Some(attribute) => attribute.filters.clone(),
                None => {
                    let own = &schema.dimension(field)?.filters;
                    if own.filters.is_empty() { schema.coords_filters.clone() } else { own.clone() }
                }
            }),
        }
    }

    /// The names of what lies directly below a path: documents, and nodes of a group.
    ///
    /// # Errors
    /// As [`Self::list`], for an array.
    pub fn children(&self, path: &str) -> Result<Vec<String>> {
        match node(&self.0.root, path) {
            Some(Found::Group(group)) => {
                let documents = self.0.documents(true, path.is_empty());
                let nodes = group.children().map(|(name, _)| name.to_owned());
                Ok(documents.iter().map(|name| (*name).to_owned()).chain(nodes).collect())
            }
            Some(Found::Array(node)) => {
                self.0.count(node.rows(false).into_iter().collect())?;
                self.0.names_in(node, path, &Homes { all: &self.0.arrays, awaited: None })
            }
            None => Ok(Vec::new()),
        }
    }
}

impl Shared {
    /// Counts rows.
    fn count(&self, unknown: Vec<Unknown>) -> Result<()> {
        for (home, rows, chunks) in unknown {
            if !rows.is_unknown(chunks) {
                continue;
            }
            let _counting = rows.counting();
            if rows.is_unknown(chunks) {
                let array = self.arrays.get(home).or_internal("a node is of no array")?;
                rows.keep(rows.find(array, chunks)?);
            }
        }
        Ok(())
    }

    /// The rows that a key needs to be counted.
    fn rows_of_key(&self, key: &str) -> Vec<Unknown> {
        let mut found = Vec::new();
        match find(&self.root, key, self.formats) {
            Some(Asked::ArrayV3(node) | Asked::ArrayV2(node)) => found.extend(node.rows(false)),
            Some(Asked::Chunk(node, _)) => found.extend(node.rows(true)),
            Some(Asked::Consolidated(group)) => group.rows_below("", "", &mut found),
            _ => {}
        }
        found
    }

    /// The rows that a listing needs to be counted.
    fn rows_of_prefix(&self, prefix: &str) -> Vec<Unknown> {
        let mut found = Vec::new();
        self.root.rows_below("", prefix, &mut found);
        found
    }

    fn get(&self, key: &str, homes: &Homes<'_>) -> Result<Option<Bytes>> {
        let Some(asked) = find(&self.root, key, self.formats) else { return Ok(None) };
        let document = match asked {
            Asked::GroupV3(group) => group_v3(group),
            Asked::GroupV2 => group_v2(),
            Asked::GroupAttributes(group) => Value::Object(group.attributes.clone()),
            Asked::Consolidated(group) => {
                let mut documents = Map::new();
                consolidate(group, "", &mut documents)?;
                consolidated(documents)
            }
            Asked::ArrayV3(node) => array_v3(node, &node.sizes()?),
            Asked::ArrayV2(node) => array_v2(node, &node.sizes()?),
            Asked::ArrayAttributes(node) => attributes_v2(node),
            Asked::Chunk(node, index) => return node.chunk(homes.of(node)?, &index),
        };
        Ok(Some(Bytes::from(document.to_string())))
    }

    /// The names of the documents of a group or an array.
    fn documents(&self, is_group: bool, is_root: bool) -> Vec<&'static str> {
        let mut names = Vec::new();
        if self.formats.v3() {
            names.push("zarr.json");
        }
        if self.formats.v2() {
            names.push(".zattrs");
            names.push(if is_group { ".zgroup" } else { ".zarray" });
        }
        if self.formats.v2() && is_root {
            names.push(".zmetadata");
        }
        names
    }

    fn list(&self, prefix: &str, homes: &Homes<'_>) -> Result<Vec<String>> {
        let mut keys = Keys::new(prefix);
        for name in self.documents(true, true) {
            keys.add(name.to_owned())?;
        }
        self.list_group(&self.root, "", homes, &mut keys)?;
        Ok(keys.sorted().collect())
    }

    fn list_group(&self, group: &Group, path: &str, homes: &Homes<'_>, keys: &mut Keys<'_>) -> Result<()> {
        for (name, node) in group.children() {
            let path = format!("{path}{name}/");
            if !keys.may_be_below(&path) {
                continue;
            }
            for document in self.documents(matches!(node, Node::Group(_)), false) {
                keys.add(format!("{path}{document}"))?;
            }
            match node {
                Node::Group(group) => self.list_group(group, &path, homes, keys)?,
                Node::Array(node) => {
                    // Where chunks are is not asked if the prefix is that of a document.
                    if Notation::of(self.formats).any(|one| keys.may_be_chunks(&path, one)) {
                        let boxes = node.chunks(homes.of(node)?)?;
                        for notation in Notation::of(self.formats) {
                            keys.add_chunks(&path, &boxes, notation)?;
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The names directly below an array.
    fn names_in(&self, node: &ArrayNode, path: &str, homes: &Homes<'_>) -> Result<Vec<String>> {
        let boxes = node.chunks(homes.of(node)?)?;
        let prefix = format!("{}/", path.trim_matches('/'));
        let mut keys = Keys::new(&prefix);
        for notation in Notation::of(self.formats) {
            match notation {
                // One name has all chunks below it.
                Notation::V3 if boxes.is_empty() => {}
                Notation::V3 => keys.add(format!("{prefix}c"))?,
                Notation::V2 => keys.add_chunks(&prefix, &boxes, notation)?,
            }
        }
        for name in self.documents(false, false) {
            keys.add(format!("{prefix}{name}"))?;
        }
        Ok(keys.sorted().filter_map(|key| Some(key.strip_prefix(&prefix)?.to_owned())).collect())
    }
}

/// The documents of version 2 of a group and all below it.
fn consolidate(group: &Group, path: &str, documents: &mut Map<String, Value>) -> Result<()> {
    documents.insert(format!("{path}.zgroup"), group_v2());
    documents.insert(format!("{path}.zattrs"), Value::Object(group.attributes.clone()));
    for (name, node) in group.children() {
        let path = format!("{path}{name}/");
        match node {
            Node::Group(child) => consolidate(child, &path, documents)?,
            Node::Array(node) => {
                let sizes = node.sizes()?;
                documents.insert(format!("{path}.zarray"), array_v2(node, &sizes));
                documents.insert(format!("{path}.zattrs"), attributes_v2(node));
            }
        }
    }
    Ok(())
}
