//! A measurement of an experiment of SOMA in the layout of AnnData: tables of observations and
//! variables, and matrices over both.

mod members;
mod table;
mod whole;

use std::sync::Arc;

use tdb_array::group::{Found, ObjectType, Places};
use tdb_array::schema::{ArrayType, Datatype};
use tdb_array::storage::{Storage, location_without_secrets};
use tdb_array::{Array, OpenOptions};

use self::members::Members;
use self::whole::width;
use crate::csr::csr;
use crate::described::content;
use crate::encoded::{encoding, node};
use crate::form::Shown;
use crate::grid::{Grid, Side, fitted, sides};
use crate::matrix::Matrix;
use crate::node::{Group, Node, Source};
use crate::thresholds::MATRIX_MEMORY;
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
    members: Members,
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
        let (members, refused) = Members::of(group.walk());
        let mut making = Making { places, open, options, members, arrays: Vec::new(), refused };
        let none = |why: String| Error::NoExperiment {
            location: location_without_secrets(location).into_owned(),
            why,
        };
        let prefix = ["ms", measurement];
        if making.members.get(&prefix).is_none() {
            let known = match making.members.inside(&["ms"]).join(", ") {
                known if known.is_empty() => "there is none".to_owned(),
                known => format!("there is {known}"),
            };
            return Err(none(format!("it has no measurement \"{measurement}\": {known}")));
        }
        let mut root = Group::new(encoding("anndata", "0.1.0"));
        let (obs, rows) = making.frame(&["obs"], "obs_id")?.map_err(none)?;
        let (var, columns) = making.frame(&["ms", measurement, "var"], "var_id")?.map_err(none)?;
        making.add(&mut root, "obs", Node::Group(obs));
        making.add(&mut root, "var", Node::Group(var));
        making.layers(&mut root, &["ms", measurement, "X"], [rows, columns])?.map_err(none)?;
        for (name, is_of_obs) in MATRICES {
            let mut found = Group::new(encoding("dict", "0.1.0"));
            for own in making.members.inside(&["ms", measurement, name]) {
                let count = if is_of_obs { rows } else { columns };
                let matrix = making.matrix(&["ms", measurement, name, &own], count, None, false)?;
                making.shown(&mut found, name, &own, matrix);
            }
            making.add(&mut root, name, Node::Group(found));
        }
        for (name, count) in [("obsp", rows), ("varp", columns)] {
            let mut found = Group::new(encoding("dict", "0.1.0"));
            let inside = making.members.inside(&["ms", measurement, name]);
            for own in inside.into_iter().filter(|_| options.for_anndata) {
                let matrix = making.matrix(&["ms", measurement, name, &own], count, Some(count), true)?;
                making.shown(&mut found, name, &own, matrix);
            }
            making.add(&mut root, name, Node::Group(found));
        }
        making.add(&mut root, "uns", Node::Group(Group::new(encoding("dict", "0.1.0"))));
        if options.for_anndata {
            making.left_out(&["ms", measurement, "uns"]);
            making.raw(&mut root, measurement, rows)?.map_err(none)?;
        }
        let Making { arrays, refused, .. } = making;
        Ok(Self::of(arrays, root, options, refused, group.window()))
    }
}

impl Making<'_> {
    fn add(&mut self, group: &mut Group, name: &str, node: Node) {
        if let Err(reason) = group.add(name, node) {
            self.refused.push(Refusal { path: name.to_owned(), reason });
        }
    }

    /// Adds a node, or notes why there is none. Returns whether there is.
    fn shown(&mut self, group: &mut Group, path: &str, name: &str, node: Result<Node, String>) -> bool {
        let added = node.and_then(|node| group.add(name, node));
        let is_there = added.is_ok();
        if let Err(reason) = added {
            self.refused.push(Refusal { path: format!("{path}/{name}"), reason });
        }
        is_there
    }

    /// Opens a member; its number among the arrays.
    fn array(&mut self, names: &[&str]) -> Result<Result<(usize, Array), String>> {
        let path = names.join("/");
        let Some(member) = self.members.get(names) else { return Ok(Err(format!("it has no {path}"))) };
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

    /// The matrices over observations and variables.
    fn layers(
        &mut self,
        root: &mut Group,
        path: &[&str; 3],
        [rows, columns]: [u64; 2],
    ) -> Result<Result<(), String>> {
        let mut layers = Group::new(encoding("dict", "0.1.0"));
        let names = self.members.inside(path);
        let main = self.main(&names);
        if let Some(wanted) = self.options.layer.as_ref().filter(|wanted| !names.contains(wanted)) {
            return Ok(Err(format!("it has no layer {wanted:?}: there is {}", names.join(", "))));
        }
        for name in names {
            let [ms, measurement, group] = *path;
            let below = [ms, measurement, group, &name];
            let matrix = self.matrix(&below, rows, Some(columns), true)?;
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
        path: &[&str],
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
            let columns = match columns {
                Some(columns) => columns,
                None => width(&array)?,
            };
            let names = [row.name.clone(), other.name.clone(), DATA.to_owned()];
            if may_be_sparse && self.options.for_anndata {
                let made = csr(home, &array, &names, shown, [rows, columns], self.options);
                return Ok(made.map(Node::Group));
            }
            let sides = Matrix::sides(rows, columns);
            let memory = self.options.memory.unwrap_or(MATRIX_MEMORY);
            let source = Source::Matrix(Matrix { names, sides, memory });
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
