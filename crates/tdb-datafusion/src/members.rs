//! The members of groups: `SELECT * FROM tiledb_members('path/to/group')`.

use std::sync::Arc;

use datafusion::arrow::array::{BooleanArray, RecordBatch, UInt64Array};
use datafusion::catalog::{MemTable, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{ScalarValue, plan_err};
use datafusion::logical_expr::Expr;
use tdb_array::group::{Group, GroupMember, LocalPlaces, Places, Visited};
use tdb_array::storage::{Storage, location_without_secrets};

use crate::batch::{batch, texts};
use crate::error::of_array;
use crate::{Locate, Result, TableOptions};

/// The word that also asks for the members of member groups.
const NESTED: &str = "nested";

/// The table function of a group.
#[derive(Debug)]
pub(crate) struct GroupFunction {
    pub(crate) name: &'static str,
    pub(crate) places: Arc<dyn Locate>,
    pub(crate) options: TableOptions,
}

impl TableFunctionImpl for GroupFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let text = |expr: &Expr| match expr {
            Expr::Literal(ScalarValue::Utf8(Some(text)), _) => Some(text.clone()),
            _ => None,
        };
        let words: Option<Vec<String>> = args.exprs().iter().map(text).collect();
        let (location, nested) = match words.as_deref() {
            Some([location]) => (location, false),
            Some([location, word]) if word == NESTED => (location, true),
            _ => {
                return plan_err!(
                    "{0} takes the location of a group: {0}('path/to/group'), or {0}('path/to/group', '{NESTED}') for \
                     the members of its groups too",
                    self.name
                );
            }
        };
        let batch = self.members(location, nested)?;
        Ok(Arc::new(MemTable::try_new(batch.schema(), vec![vec![batch]])?))
    }
}

impl GroupFunction {
    fn members(&self, location: &str, nested: bool) -> Result<RecordBatch> {
        // A place that the session does not know has an error of its own.
        self.places.storage(location)?;
        let location = location.strip_prefix("file://").unwrap_or(location);
        // Looking for members in stores takes requests, which a list of a local group alone should
        // not.
        let stores = nested || location.contains("://");
        let places = Arc::new(SessionPlaces { places: self.places.clone(), stores });
        let group = self.options.open_options().open_group_in(places, location).map_err(of_array)?;
        let members = if nested { group.walk() } else { direct(&group) };
        rows(&members)
    }
}

/// The group's own members.
fn direct(group: &Group) -> Vec<Visited> {
    let visit = |member: &GroupMember| Visited {
        depth: 1,
        member: member.clone(),
        location: group.location_of(member),
        found: group.look(member),
    };
    group.members().map(visit).collect()
}

/// The keys of the groups that each member is in, and its own.
pub(crate) fn paths(members: &[Visited], separator: &str) -> Vec<String> {
    let mut above: Vec<&str> = Vec::new();
    let mut all = Vec::new();
    for visited in members {
        above.truncate(visited.depth.saturating_sub(1));
        above.push(visited.member.key());
        all.push(above.join(separator));
    }
    all
}

fn rows(members: &[Visited]) -> Result<RecordBatch> {
    let paths = paths(members, "/");
    let depths = members.iter().map(|visited| u64::try_from(visited.depth).ok());
    batch(vec![
        ("path", texts(paths.iter().map(Some))),
        ("name", texts(members.iter().map(|visited| visited.member.name.as_deref()))),
        ("type", texts(members.iter().map(|visited| Some(visited.member.object.name())))),
        ("uri", texts(members.iter().map(|visited| Some(location_without_secrets(&visited.member.uri))))),
        (
            "relative",
            Arc::new(members.iter().map(|visited| Some(visited.member.relative)).collect::<BooleanArray>()),
        ),
        ("depth", Arc::new(depths.collect::<UInt64Array>())),
        ("location", texts(members.iter().map(|visited| Some(location_without_secrets(&visited.location))))),
        ("there", texts(members.iter().map(|visited| Some(visited.found.word())))),
    ])
}

/// Finds the places of members as the session does.
#[derive(Debug)]
pub(crate) struct SessionPlaces {
    pub(crate) places: Arc<dyn Locate>,
    /// Whether members in stores are looked for.
    pub(crate) stores: bool,
}

impl Places for SessionPlaces {
    fn storage(&self, location: &str) -> Option<Box<dyn Storage>> {
        if !self.stores && location.contains("://") {
            return None;
        }
        let storage = self.places.storage(location).ok()?;
        Some(Box::new(storage))
    }

    fn identity(&self, location: &str) -> String {
        LocalPlaces.identity(location)
    }
}
