//! Sparse matrices as AnnData keeps them: values and columns row by row, and where rows end.

use std::sync::Arc;

use serde_json::json;
use tdb_array::Array;
use tdb_array::schema::{CellValNum, Datatype};

use crate::Options;
use crate::column::Rows;
use crate::described::{content, widest};
use crate::encoded::{column, encoding, node};
use crate::ends::Ends;
use crate::form::Shown;
use crate::node::{Group, Node, Source};

/// The group of a sparse matrix of so many rows and columns, whose dimensions and field have these
/// names, or why there is none.
pub(crate) fn csr(
    home: usize,
    array: &Array,
    [row, other, data]: &[String; 3],
    shown: Shown,
    sizes: [u64; 2],
    options: &Options,
) -> Result<Group, String> {
    let whole = Shown::of(Datatype::Int64, CellValNum::ONE)?;
    let rows = Arc::new(Rows::new(options, widest(array.schema())));
    let mut group = Group::new(encoding("csr_matrix", "0.1.0"));
    group.attributes.insert("shape".to_owned(), json!(sizes));
    let ends = Ends::new([row.clone(), other.clone()], sizes, options.memory);
    let ends = node(home, content(row, whole, &whole.zeros()), Source::Ends(Arc::new(ends)), &["end"]);
    // The cells of the array in row-major order are those of the matrix.
    group.add("data", Node::Array(column(home, &rows, content(data, shown, &shown.zeros()))))?;
    group.add("indices", Node::Array(column(home, &rows, content(other, whole, &whole.zeros()))))?;
    group.add("indptr", Node::Array(ends))?;
    Ok(group)
}
