//! The nodes of a hierarchy: groups and arrays.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Map, Value};
use tdb_array::Array;

use crate::Result;
use crate::chunk::Content;
use crate::column::{self, Rows};
use crate::ends::Ends;
use crate::grid::{Coordinates, Grid};
use crate::matrix::Matrix;

/// A group or an array.
#[derive(Debug)]
pub(crate) enum Node {
    /// A group.
    Group(Group),
    /// An array.
    Array(ArrayNode),
}

/// A group: attributes, and named nodes.
#[derive(Debug, Default)]
pub(crate) struct Group {
    /// The attributes.
    pub(crate) attributes: Map<String, Value>,
    /// The nodes, in the order of the array's fields or of the group's members.
    children: Vec<(Arc<str>, Node)>,
    /// The numbers of the nodes by their names: there may be many thousands.
    names: HashMap<Arc<str>, usize>,
}

/// An array: what its documents say, and where its chunks come from.
#[derive(Debug)]
pub(crate) struct ArrayNode {
    /// The number of the opened array that is asked.
    pub(crate) home: usize,
    /// The attributes.
    pub(crate) attributes: Map<String, Value>,
    /// The names of the axes.
    pub(crate) dimensions: Vec<String>,
    /// What its cells are.
    pub(crate) content: Content,
    /// Where they come from.
    pub(crate) source: Source,
}

/// Where cells come from.
#[derive(Debug)]
pub(crate) enum Source {
    /// A field of a dense array.
    Grid(Grid),
    /// The coordinates of a dimension of a dense array.
    Coordinates(Coordinates),
    /// A field of a sparse array.
    Column(String, Arc<Rows>),
    /// A field of a sparse matrix, with zeros where no cell is.
    Matrix(Matrix),
    /// Where the rows of a sparse matrix end.
    Ends(Arc<Ends>),
    /// Values that are known: their number, and the only chunk.
    Values(u64, Bytes),
}

/// The sizes of an array and of its chunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Of the array.
    pub(crate) shape: Vec<u64>,
    /// Of a chunk.
    pub(crate) chunks: Vec<u64>,
}

/// Names that documents have.
pub(crate) const DOCUMENTS: [&str; 5] = ["zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"];

impl Group {
    /// A group without nodes.
    pub(crate) fn new(attributes: Map<String, Value>) -> Self {
        Self { attributes, ..Self::default() }
    }

    /// The node of a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Node> {
        self.children.get(*self.names.get(name)?).map(|(_, node)| node)
    }

    /// The nodes and their names, in order.
    pub(crate) fn children(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.children.iter().map(|(name, node)| (&**name, node))
    }

    /// The rows of columns whose paths may begin with a prefix, with the numbers of their arrays.
    pub(crate) fn rows_below(&self, path: &str, prefix: &str, found: &mut Vec<(usize, Arc<Rows>, bool)>) {
        for (name, node) in self.children() {
            let path = format!("{path}{name}/");
            match node {
                _ if !path.starts_with(prefix) && !prefix.starts_with(&path) => {}
                Node::Group(group) => group.rows_below(&path, prefix, found),
                Node::Array(node) => found.extend(node.rows(false)),
            }
        }
    }

    /// Adds a node, or says why none can have this name.
    pub(crate) fn add(&mut self, name: &str, node: Node) -> Result<(), String> {
        self.may_have(name)?;
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name), self.children.len());
        self.children.push((name, node));
        Ok(())
    }

    /// Whether a node of this name may be added, or why not.
    pub(crate) fn may_have(&self, name: &str) -> Result<(), &'static str> {
        match name {
            "" => Err("it has no name"),
            "." | ".." => Err("Zarr gives this name a meaning of its own"),
            _ if DOCUMENTS.contains(&name) => Err("it has the name of one of Zarr's documents"),
            _ if name.contains('/') => Err("its name has a slash, which separates the names of Zarr's keys"),
            _ if name.starts_with("__") => Err("Zarr reserves names that begin with two underscores"),
            _ if self.names.contains_key(name) => Err("there is another node of this name"),
            _ => Ok(()),
        }
    }
}

impl ArrayNode {
    /// The rows that have to be counted before documents, or chunks, too, can be made, and the
    /// number of their array.
    pub(crate) fn rows(&self, chunks: bool) -> Option<(usize, Arc<Rows>, bool)> {
        match &self.source {
            Source::Column(_, rows) => Some((self.home, Arc::clone(rows), chunks)),
            _ => None,
        }
    }

    /// The sizes of the array and of its chunks.
    pub(crate) fn sizes(&self) -> Result<Sizes> {
        let (mut shape, mut chunks) = match &self.source {
            Source::Grid(grid) => grid.sides.iter().map(|side| (side.count, side.chunk)).unzip(),
            Source::Matrix(matrix) => matrix.sides.iter().map(|side| (side.count, side.chunk)).unzip(),
            Source::Coordinates(Coordinates { side, .. }) => (vec![side.count], vec![side.chunk]),
            Source::Column(_, rows) => (vec![rows.total()?], vec![rows.chunk()?]),
            Source::Ends(ends) => (vec![ends.count()], vec![ends.in_chunk()]),
            Source::Values(count, _) => (vec![*count], vec![(*count).max(1)]),
        };
        if let Some(inner) = self.content.shown.inner {
            shape.push(inner.into());
            chunks.push(inner.into());
        }
        Ok(Sizes { shape, chunks })
    }

    /// The bytes of a chunk; `None` if there is no such chunk, or it has fill values only.
    pub(crate) fn chunk(&self, array: &Array, index: &[u64]) -> Result<Option<Bytes>> {
        let outer = match (self.content.shown.inner, index) {
            (None, outer) => outer,
            (Some(_), [outer @ .., 0]) => outer,
            _ => return Ok(None),
        };
        match (&self.source, outer) {
            (Source::Grid(grid), outer) if outer.len() == grid.sides.len() => {
                grid.chunk(array, outer, &self.content)
            }
            (Source::Matrix(matrix), outer) => matrix.chunk(array, outer, &self.content),
            (Source::Coordinates(coordinates), outer) => coordinates.chunk(array, outer, &self.content),
            (Source::Column(field, rows), [index]) => {
                column::chunk(rows, array, field, *index, &self.content)
            }
            (Source::Ends(ends), [index]) => ends.chunk(array, *index, &self.content),
            (Source::Values(1.., chunk), [0]) => Ok(Some(chunk.clone())),
            _ => Ok(None),
        }
    }

    /// Boxes of chunks that together have all chunks that there are: along each axis the first and
    /// the last.
    pub(crate) fn chunks(&self, array: &Array) -> Result<Vec<Vec<(u64, u64)>>> {
        let mut boxes = match &self.source {
            Source::Grid(grid) if self.content.shown.says_all(&self.content.fill) => grid.written(array)?,
            _ => {
                let sizes = self.sizes()?;
                let last = |(shape, chunk): (&u64, &u64)| Some((0, shape.checked_sub(1)? / chunk));
                let all = sizes.shape.iter().zip(&sizes.chunks).map(last).collect::<Option<Vec<_>>>();
                return Ok(all.into_iter().collect());
            }
        };
        if self.content.shown.inner.is_some() {
            boxes.iter_mut().for_each(|one| one.push((0, 0)));
        }
        Ok(boxes)
    }
}
