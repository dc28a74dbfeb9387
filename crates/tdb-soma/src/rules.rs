//! The rules of SOMA, and what breaks them.

mod matrices;
mod types;

use core::fmt;
use std::collections::HashMap;

use crate::ids::Ids;
use crate::{Kind, Object, Result};

/// A rule of SOMA. The same object may break several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rule {
    /// The metadata says what the object is, and this is what it is.
    Type,
    /// The metadata says a version of the encoding that is known.
    EncodingVersion,
    /// Collections have the members that they must have, of the kinds that belong there.
    Members,
    /// Tables have a column of ids, which are not negative, and of `obs` and `var` unique.
    JoinId,
    /// Matrices have the axes and the attribute that they must have.
    Matrix,
    /// The shapes of tables and matrices agree.
    Shape,
    /// The coordinates of matrices are ids of `obs` and `var`.
    Coordinates,
}

impl Rule {
    /// A word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Type => "type",
            Self::EncodingVersion => "encoding-version",
            Self::Members => "members",
            Self::JoinId => "joinid",
            Self::Matrix => "matrix",
            Self::Shape => "shape",
            Self::Coordinates => "coordinates",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// A rule is broken.
    Problem,
    /// Odd, but harmless; or something that was not checked.
    Note,
}

/// Something that was found about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The names on the way to the object; of the first one, nothing.
    pub path: String,
    /// The rule that it is about.
    pub rule: Rule,
    /// How much it matters.
    pub weight: Weight,
    /// What is the case.
    pub what: String,
}

/// How deep to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Metadata, ids of tables, and the boxes around the cells of matrices. Where the ids have no
    /// gaps, this says all about coordinates.
    Boxes,
    /// Also every coordinate of matrices whose ids have gaps.
    EveryCell,
}

/// Checks an object, and everything below it, by the rules of SOMA. What is wrong with the files of
/// arrays is not looked at: [`verify`](tdb_array::maintain::verify) does that.
///
/// # Errors
/// The ids of a table, or with [`Depth::EveryCell`] the coordinates of a matrix, cannot be read.
pub fn verify(object: &Object, depth: Depth) -> Result<Vec<Finding>> {
    let mut found = Found { all: Vec::new() };
    for one in object.all() {
        types::check(one, &mut found);
    }
    let mut ids = TableIds::new();
    for one in object.all().into_iter().filter(|one| one.kind.is_some_and(Kind::is_table)) {
        if let Some(array) = one.array()
            && let Some(own) = Ids::of(array)?
        {
            ids.insert(one.path.as_str(), own);
        }
    }
    // A measurement alone has no obs to agree with.
    let is_whole = |one: &&Object| match one.kind {
        Some(Kind::Experiment) => true,
        Some(Kind::Measurement) => one.path.is_empty(),
        _ => false,
    };
    for one in object.all().into_iter().filter(is_whole) {
        matrices::check(one, &ids, depth, &mut found)?;
    }
    for one in object.all().into_iter().filter(|one| one.kind.is_some_and(Kind::is_table)) {
        check_ids(one, ids.get(one.path.as_str()), &mut found);
    }
    Ok(found.all)
}

/// The ids of tables, by the paths of these: each is read once.
type TableIds<'a> = HashMap<&'a str, Ids>;

/// What was found so far.
struct Found {
    all: Vec<Finding>,
}

impl Found {
    fn problem(&mut self, object: &Object, rule: Rule, what: impl Into<String>) {
        let (path, weight) = (object.path.clone(), Weight::Problem);
        self.all.push(Finding { path, rule, weight, what: what.into() });
    }

    fn note(&mut self, object: &Object, rule: Rule, what: impl Into<String>) {
        let (path, weight) = (object.path.clone(), Weight::Note);
        self.all.push(Finding { path, rule, weight, what: what.into() });
    }
}

/// Ids of a table are not negative. Those of obs and var are unique; elsewhere a row is found by
/// something else, too.
fn check_ids(table: &Object, ids: Option<&Ids>, found: &mut Found) {
    let Some(ids) = ids else { return };
    if let Some((first, _)) = ids.ends().filter(|(first, _)| *first < 0) {
        found.problem(table, Rule::JoinId, format!("the id {first} is negative"));
    }
    if let Some(id) = ids.repeated.filter(|_| matches!(table.name.as_str(), "obs" | "var")) {
        found.problem(table, Rule::JoinId, format!("two rows have the id {id}"));
    }
}
