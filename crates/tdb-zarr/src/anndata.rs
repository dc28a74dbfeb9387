//! A measurement of an experiment of SOMA in the layout of AnnData: tables of observations and
//! variables, and matrices over both.

mod whole;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use serde_json::json;
use tdb_array::group::{Found, ObjectType, Places, Visited};
use tdb_array::query::Aggregate;
use tdb_array::schema::{ArrayType, Attribute, CellValNum, Datatype, DatatypeClass};
use tdb_array::storage::{Storage, location_without_secrets};
use tdb_array::{Array, OpenOptions};
use tdb_cells::OrInternal;

use self::whole::{index_of, width};
use crate::chunk::{Content, Part};
use crate::column::Rows;
use crate::csr::csr;
use crate::described::{content, values, widest};
use crate::encoded::{column, encoding, node};
use crate::form::{Form, Shown};
use crate::grid::{Grid, Side, fitted, sides};
use crate::group::node_name;
use crate::matrix::Matrix;
use crate::node::{Group, Node, Source};
use crate::{Error, Hierarchy, Options, Refusal, Result};

/// What SOMA calls the dimensions and the values of its arrays.
const ID: &str = "soma_joinid";
const DATA: &str = "soma_data";
/// The layer that is `X`; others are in `layers`.
const MAIN: &str = "data";
/// What AnnData calls an index without a name.
const UNNAMED: &str = "_index";
/// The groups of matrices: in SOMA and in AnnData, and whether they are of observations.
const MATRICES: [(&str, bool); 2] = [("obsm", true), ("varm", false)];

/// What is collected on the way.
struct Making<'a> {
    places: &'a Arc<dyn Places>,
    open: OpenOptions,
    options: &'a Options,
    /// The members by their paths.
    members: BTreeMap<String, Visited>,
    arrays: Vec<Array>,
    refused: Vec<Refusal>,
}

impl Hierarchy {
    /// Shows a measurement of the experiment of SOMA at a location in the layout of AnnData: `obs`,
    /// `var`, `X`, `layers`, `obsm`, `varm`. Sparse matrices are dense arrays, whose chunks are
    /// read when they are asked for. With [`Options::for_anndata`], they are sparse, and there are
    /// `obsp`, `varp` and `raw`, too.
    ///
    /// # Errors
    /// [`Error::NoExperiment`], and what cannot be read of `obs` and `var`.
    pub fn of_experiment(
        places: &Arc<dyn Places>,
        location: &str,
        measurement: &str,
        open: OpenOptions,
        options: &Options,
    ) -> Result<Self> {
        let group = open.clone().open_group_in(Arc::clone(places), location)?;
        let open = open.window(group.window());
        let members = paths(group.walk());
        let mut making = Making { places, open, options, members, arrays: Vec::new(), refused: Vec::new() };
        let none = |why: String| Error::NoExperiment {
            location: location_without_secrets(location).into_owned(),
            why,
        };
        let prefix = format!("ms/{measurement}");
        if !making.members.contains_key(&prefix) {
            let known = match making.inside("ms").join(", ") {
                known if known.is_empty() => "there is none".to_owned(),
                known => format!("there is {known}"),
            };
            return Err(none(format!("it has no measurement \"{measurement}\": {known}")));
        }
        let mut root = Group::new(encoding("anndata", "0.1.0"));
        let (obs, rows) = making.frame("obs", "obs_id")?.map_err(none)?;
        let (var, columns) = making.frame(&format!("{prefix}/var"), "var_id")?.map_err(none)?;
        making.add(&mut root, "obs", Node::Group(obs));
        making.add(&mut root, "var", Node::Group(var));
        making.layers(&mut root, &format!("{prefix}/X"), [rows, columns])?.map_err(none)?;
        for (name, is_of_obs) in MATRICES {
            let path = format!("{prefix}/{name}");
            let mut found = Group::new(encoding("dict", "0.1.0"));
            for own in making.inside(&path) {
                let count = if is_of_obs { rows } else { columns };
                let matrix = making.matrix(&format!("{path}/{own}"), count, None, false)?;
                making.shown(&mut found, name, &own, matrix);
            }
            making.add(&mut root, name, Node::Group(found));
        }
        for (name, count) in [("obsp", rows), ("varp", columns)] {
            let path = format!("{prefix}/{name}");
            let mut found = Group::new(encoding("dict", "0.1.0"));
            for own in making.inside(&path).into_iter().filter(|_| options.for_anndata) {
                let matrix = making.matrix(&format!("{path}/{own}"), count, Some(count), true)?;
                making.shown(&mut found, name, &own, matrix);
            }
            making.add(&mut root, name, Node::Group(found));
        }
        making.add(&mut root, "uns", Node::Group(Group::new(encoding("dict", "0.1.0"))));
        if options.for_anndata {
            making.left_out(&format!("{prefix}/uns"));
            making.raw(&mut root, measurement, rows)?.map_err(none)?;
        }
        let Making { arrays, refused, .. } = making;
        Ok(Self::of(arrays, root, options, refused, group.window()))
    }
}

/// The members of a group by their paths.
fn paths(visited: Vec<Visited>) -> BTreeMap<String, Visited> {
    let (mut above, mut found) = (Vec::<String>::new(), BTreeMap::new());
    for member in visited {
        above.truncate(member.depth.saturating_sub(1));
        above.push(node_name(member.member.key()).to_owned());
        found.insert(above.join("/"), member);
    }
    found
}

impl Making<'_> {
    /// The names directly below a path.
    fn inside(&self, path: &str) -> Vec<String> {
        let prefix = format!("{path}/");
        let names = self.members.keys().filter_map(|member| member.strip_prefix(&prefix));
        names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    fn add(&mut self, group: &mut Group, name: &str, node: Node) {
        if let Err(reason) = group.add(name, node) {
            self.refused.push(Refusal { path: name.to_owned(), reason });
        }
    }

    /// Adds a node, or notes why there is none.
    fn shown(&mut self, group: &mut Group, path: &str, name: &str, node: Result<Node, String>) {
        if let Err(reason) = node.and_then(|node| group.add(name, node)) {
            self.refused.push(Refusal { path: format!("{path}/{name}"), reason });
        }
    }

    /// Opens a member; its number among the arrays.
    fn array(&mut self, path: &str) -> Result<Result<(usize, Array), String>> {
        let Some(member) = self.members.get(path) else { return Ok(Err(format!("it has no {path}"))) };
        if !matches!(member.found, Found::Object(ObjectType::Array)) {
            return Ok(Err(format!("{path} is no array that can be opened")));
        }
        let Some(storage) = self.places.storage(&member.location) else {
            return Ok(Err(format!("{path} is at a place of an unknown kind")));
        };
        let array = self.open.clone().open_storage(Arc::<dyn Storage>::from(storage))?;
        self.arrays.push(array.clone());
        Ok(Ok((self.arrays.len() - 1, array)))
    }

    /// A table, and the number of its rows, whose ids have to count from 0.
    fn frame(&mut self, path: &str, index: &str) -> Result<Result<(Group, u64), String>> {
        let (home, array) = match self.array(path)? {
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
        let rows = &Arc::new(Rows::new(self.options.rows, widest(schema)));
        let mut group = Group::default();
        let mut names = Vec::new();
        let own = path.rsplit('/').next().unwrap_or(path);
        let had = index_of(&array)?;
        let of_name = |name: &str| schema.attributes.iter().find(|one| one.name == name);
        let id = of_name(index).or_else(|| of_name(had.as_deref()?)).map_or(ID, |one| &one.name);
        // AnnData gives the index back the name that it had, or none.
        let own_name = if self.options.for_anndata && had.as_deref() != Some(id) { UNNAMED } else { id };
        if id == ID {
            let shown = Shown::of(dimension.datatype, dimension.cell_val_num);
            let node = shown.map(|shown| column(home, rows, content(ID, shown, &shown.zeros())));
            self.shown(&mut group, own, own_name, node.map(Node::Array));
        }
        let complete = self.complete(&array)?;
        for attribute in &schema.attributes {
            let node = self.column(home, &array, attribute, rows, &complete)?;
            let is_index = attribute.name == id;
            if node.is_ok() && !is_index {
                names.push(attribute.name.clone());
            }
            self.shown(&mut group, own, if is_index { own_name } else { &attribute.name }, node);
        }
        group.attributes = encoding("dataframe", "0.2.0");
        group.attributes.insert("_index".to_owned(), json!(own_name));
        group.attributes.insert("column-order".to_owned(), json!(names));
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

    /// The matrices over observations and variables.
    fn layers(
        &mut self,
        root: &mut Group,
        path: &str,
        [rows, columns]: [u64; 2],
    ) -> Result<Result<(), String>> {
        let mut layers = Group::new(encoding("dict", "0.1.0"));
        let names = self.inside(path);
        let main = self.main(&names);
        if let Some(wanted) = self.options.layer.as_ref().filter(|wanted| !names.contains(wanted)) {
            return Ok(Err(format!("it has no layer {wanted:?}: there is {}", names.join(", "))));
        }
        for name in names {
            let matrix = self.matrix(&format!("{path}/{name}"), rows, Some(columns), true)?;
            if Some(&name) == main.as_ref() {
                self.shown(root, "", "X", matrix);
            } else {
                self.shown(&mut layers, "layers", &name, matrix);
            }
        }
        self.add(root, "layers", Node::Group(layers));
        Ok(Ok(()))
    }

    /// The layer that is `X`.
    fn main(&self, names: &[String]) -> Option<String> {
        let wanted = self.options.layer.as_deref().unwrap_or(MAIN);
        let found = names.iter().find(|name| *name == wanted);
        // AnnData may be without X.
        let any = self.options.layer.is_none() && !self.options.for_anndata;
        found.or_else(|| names.first().filter(|_| any)).cloned()
    }

    /// A matrix with this number of rows, and of columns if that is known, or why it is not shown.
    /// A sparse one `may_be_sparse`, as AnnData wants it.
    fn matrix(
        &mut self,
        path: &str,
        rows: u64,
        columns: Option<u64>,
        may_be_sparse: bool,
    ) -> Result<Result<Node, String>> {
        let (home, array) = match self.array(path)? {
            Ok(found) => found,
            Err(why) => return Ok(Err(why)),
        };
        let schema = array.schema();
        let [row, other] = schema.domain.dimensions.as_slice() else {
            return Ok(Err("it has not two dimensions".to_owned()));
        };
        let is_counted = |name: &str, datatype| name.starts_with("soma_dim_") && datatype == Datatype::Int64;
        let Some(attribute) = schema.attributes.iter().find(|one| one.name == DATA) else {
            return Ok(Err(format!("it has no {DATA}")));
        };
        if !is_counted(&row.name, row.datatype) || !is_counted(&other.name, other.datatype) {
            return Ok(Err("its dimensions are not those of a matrix of SOMA".to_owned()));
        }
        let shown = match Shown::of(attribute.datatype, attribute.cell_val_num) {
            Ok(shown) if shown.inner.is_some() => {
                return Ok(Err("it has several values at each place".to_owned()));
            }
            Ok(shown) if shown.is_of_numbers() && !attribute.nullable => shown,
            Ok(_) => return Ok(Err("its values are no numbers".to_owned())),
            Err(why) => return Ok(Err(why)),
        };
        let axes = ["row", "column"];
        if schema.array_type == ArrayType::Sparse {
            let columns = columns.unwrap_or_else(|| width(&array));
            let names = [row.name.clone(), other.name.clone(), DATA.to_owned()];
            if may_be_sparse && self.options.for_anndata {
                let made = csr(home, &array, &names, shown, [rows, columns], self.options);
                return Ok(made.map(Node::Group));
            }
            let sides = Matrix::sides(rows, columns);
            let source = Source::Matrix(Matrix { names, sides });
            return Ok(Ok(Node::Array(node(home, content(DATA, shown, &shown.zeros()), source, &axes))));
        }
        let content = content(DATA, shown, &attribute.fill_value);
        let sides = match sides(schema) {
            Ok(sides) => sides,
            Err(why) => return Ok(Err(why)),
        };
        // The domain may have room for more.
        let counts = [Some(rows), columns];
        let cut = |(side, count): (Side, Option<u64>)| {
            let count = count.unwrap_or(side.count);
            (count <= side.count).then(|| Side { count, chunk: side.chunk.clamp(1, count.max(1)) })
        };
        let cut: Option<Vec<Side>> = sides.into_iter().zip(counts).map(cut).collect();
        let Some(cut) = cut else {
            return Ok(Err("it has fewer rows or columns than the table".to_owned()));
        };
        let sides = fitted(cut, &content);
        let source = Source::Grid(Grid { label: None, field: DATA.to_owned(), sides });
        Ok(Ok(Node::Array(node(home, content, source, &axes))))
    }
}

/// A coordinate of SOMA.
fn number(bytes: &[u8]) -> Option<i64> {
    bytes.try_into().ok().map(i64::from_le_bytes)
}
