//! What each object says of itself, and which members and columns it has.

use tdb_array::Array;
use tdb_array::schema::{ArrayType, Datatype, Dimension};

use super::{Found, Rule};
use crate::facts::{DATA, JOINID, whole};
use crate::kind::{ENCODING_VERSIONS, SPATIAL_ENCODING_VERSIONS, SPATIAL_VERSION, TYPE, VERSION};
use crate::{Content, Kind, Object};

/// The column of the geometries of a table.
const GEOMETRY: &str = "soma_geometry";

/// The kinds that a member of a name may have in a collection of a kind.
const PLACES: [(Kind, &str, &[Kind]); 13] = [
    (Kind::Experiment, "obs", &[Kind::DataFrame]),
    (Kind::Experiment, "ms", &[Kind::Collection]),
    (Kind::Experiment, "spatial", &[Kind::Collection]),
    (Kind::Experiment, "obs_spatial_presence", &[Kind::DataFrame]),
    (Kind::Experiment, "uns", &[Kind::Collection]),
    (Kind::Measurement, "var", &[Kind::DataFrame]),
    (Kind::Measurement, "X", &[Kind::Collection]),
    (Kind::Measurement, "obsm", &[Kind::Collection]),
    (Kind::Measurement, "varm", &[Kind::Collection]),
    (Kind::Measurement, "obsp", &[Kind::Collection]),
    (Kind::Measurement, "varp", &[Kind::Collection]),
    (Kind::Measurement, "uns", &[Kind::Collection]),
    (Kind::Measurement, "var_spatial_presence", &[Kind::DataFrame]),
];

/// The kinds of all members of collections that have one.
const INSIDE: [(Kind, &str, &[Kind]); 7] = [
    (Kind::Experiment, "ms", &[Kind::Measurement]),
    (Kind::Experiment, "spatial", &[Kind::Scene]),
    (Kind::Measurement, "X", MATRICES),
    (Kind::Measurement, "obsm", MATRICES),
    (Kind::Measurement, "varm", MATRICES),
    (Kind::Measurement, "obsp", MATRICES),
    (Kind::Measurement, "varp", MATRICES),
];
const MATRICES: &[Kind] = &[Kind::SparseNdArray, Kind::DenseNdArray];

/// Checks an object without looking at others than its members.
pub(super) fn check(object: &Object, found: &mut Found) {
    if let Content::Unreadable(why) = &object.content {
        return found.problem(object, Rule::Members, format!("this member cannot be opened: {why}"));
    }
    check_type(object, found);
    check_version(object, found);
    check_members(object, found);
    let Some(array) = object.array() else { return };
    match object.kind {
        Some(kind) if kind.is_table() => check_table(object, kind, array, found),
        Some(kind) if kind.is_matrix() => check_matrix(object, array, found),
        _ => {}
    }
}

fn check_type(object: &Object, found: &mut Found) {
    let Some(kind) = object.kind else {
        return found.problem(
            object,
            Rule::Type,
            match object.kind_name() {
                Some(name) => format!("{TYPE} is {name:?}, which is no kind of object of SOMA"),
                None if object.metadata.get(TYPE).is_some() => format!("{TYPE} is not a text"),
                None => format!("the metadata has no {TYPE}"),
            },
        );
    };
    let is = match object.array() {
        None => "a group",
        Some(array) if array.schema().array_type == ArrayType::Dense => "a dense array",
        Some(_) => "a sparse array",
    };
    let must = match kind {
        _ if kind.is_collection() => "a group",
        Kind::DenseNdArray => "a dense array",
        _ => "a sparse array",
    };
    if is != must {
        found.problem(
            object,
            Rule::Type,
            format!("the metadata says {kind}, which is {must}, but this is {is}"),
        );
    }
}

fn check_version(object: &Object, found: &mut Found) {
    let mut check = |key: &str, version: Option<&str>, known: &[&str]| match version {
        None if object.metadata.get(key).is_some() => {
            found.problem(object, Rule::EncodingVersion, format!("{key} is not a text"));
        }
        None => found.problem(object, Rule::EncodingVersion, format!("the metadata has no {key}")),
        Some(other) if !known.contains(&other) => {
            let known = known.join(" and ");
            found.problem(object, Rule::EncodingVersion, format!("{key} is {other:?}; {known} are known"));
        }
        Some(_) => {}
    };
    check(VERSION, object.encoding_version(), &ENCODING_VERSIONS);
    if object.kind.is_some_and(Kind::is_spatial) {
        check(SPATIAL_VERSION, object.spatial_encoding_version(), &SPATIAL_ENCODING_VERSIONS);
    }
}

fn check_members(object: &Object, found: &mut Found) {
    let Some(own) = object.kind else { return };
    let needed: &[&str] = match own {
        Kind::Experiment => &["obs", "ms"],
        Kind::Measurement => &["var"],
        _ => &[],
    };
    for name in needed.iter().filter(|name| object.member(name).is_none()) {
        found.problem(object, Rule::Members, format!("{own} has no {name}"));
    }
    if own == Kind::Measurement && object.member("X").is_none() {
        found.note(object, Rule::Members, "there is no X: no layer was ever written");
    }
    let is_one_of = |member: &Object, kinds: &[Kind]| member.kind.is_none_or(|kind| kinds.contains(&kind));
    let words = |kinds: &[Kind]| kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join(" or ");
    for (kind, name, kinds) in PLACES {
        let Some(member) = object.member(name).filter(|_| kind == own) else { continue };
        if !is_one_of(member, kinds) {
            let (must, is) = (words(kinds), member.kind_name().unwrap_or_default());
            found.problem(member, Rule::Members, format!("{name} of {own} is a {must}, not a {is}"));
        }
    }
    for (kind, name, kinds) in INSIDE {
        let Some(collection) = object.member(name).filter(|_| kind == own) else { continue };
        for member in collection.members().iter().filter(|member| !is_one_of(member, kinds)) {
            let (must, is) = (words(kinds), member.kind_name().unwrap_or_default());
            found.problem(member, Rule::Members, format!("what is in {name} is a {must}, not a {is}"));
        }
    }
}

fn check_table(object: &Object, kind: Kind, array: &Array, found: &mut Found) {
    let schema = array.schema();
    match schema.field(JOINID) {
        None => found.problem(object, Rule::JoinId, format!("the table has no column {JOINID}")),
        Some(field) if field.datatype != Datatype::Int64 || field.nullable => {
            let (datatype, null) = (field.datatype, if field.nullable { ", and may be null" } else { "" });
            found.problem(
                object,
                Rule::JoinId,
                format!("{JOINID} is {datatype}{null}; it is INT64, never null"),
            );
        }
        Some(_) => {}
    }
    for field in schema.fields() {
        let own = field.name == JOINID || (field.name == GEOMETRY && kind == Kind::GeometryDataFrame);
        if field.name.starts_with("soma_") && !own {
            let what = format!("column {:?}: names that begin with soma_ are SOMA's own", field.name);
            found.problem(object, Rule::JoinId, what);
        }
    }
}

fn check_matrix(object: &Object, array: &Array, found: &mut Found) {
    let schema = array.schema();
    for (at, dimension) in schema.domain.dimensions.iter().enumerate() {
        if let Some(what) = wrong_axis(at, dimension) {
            found.problem(object, Rule::Matrix, what);
        }
    }
    let names: Vec<&str> = schema.attributes.iter().map(|attribute| attribute.name.as_str()).collect();
    if names != [DATA] {
        let what = format!("the attributes are {}; a matrix has one, {DATA}", names.join(", "));
        found.problem(object, Rule::Matrix, what);
    }
}

fn wrong_axis(at: usize, dimension: &Dimension) -> Option<String> {
    let name = &dimension.name;
    if *name != format!("soma_dim_{at}") {
        return Some(format!("dimension {at} is called {name:?}, not soma_dim_{at}"));
    }
    if dimension.datatype != Datatype::Int64 {
        return Some(format!("{name} is {}; axes are INT64", dimension.datatype));
    }
    let low = dimension.domain.as_ref().and_then(|(low, _)| whole(dimension.datatype, low));
    match low {
        Some(0) => None,
        Some(low) => Some(format!("{name} begins with {low}; axes begin with 0")),
        None => Some(format!("{name} has no domain; axes begin with 0")),
    }
}
