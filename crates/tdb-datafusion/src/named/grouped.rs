//! The arrays of a group as tables of a schema: `FROM e.obs`, `FROM e.rna.X.data`.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::common::{internal_datafusion_err, plan_err};
use datafusion::logical_expr::TableType;
use datafusion::prelude::SessionContext;
use tdb_array::group::{Found, ObjectType, object_type};
use tdb_array::storage::location_without_secrets;

use crate::error::of_array;
use crate::members::{SessionPlaces, paths};
use crate::tasks::blocking;
use crate::{Locate, Result, TableOptions, TdbTableFactory};

/// What the metadata of a group says that is an experiment of single cells. Its measurements are
/// the members of `ms`, a word that all their names would begin with.
const EXPERIMENT: (&str, &[u8], &str) = ("soma_object_type", b"SOMAExperiment", "ms.");
/// Names in a message.
const MAX_LISTED: usize = 20;

impl TdbTableFactory {
    /// Gives an array or a group a name in a session. An array is a table of this name. The arrays
    /// of a group, and those of the groups in it, are tables of a schema of this name, called as
    /// the members are, with dots between them: `e.obs`, `e.ms.RNA.var`. Of an experiment of
    /// single cells (SOMA), `ms` may be left out. Names are found in any case if only one is meant,
    /// and statements that [`plan_statement`](crate::plan_statement) plans may have any number of
    /// dots.
    ///
    /// Members are looked up now; each statement opens the arrays that it names.
    ///
    /// # Errors
    /// There is neither an array nor a group; any error of opening it; a name that the session has
    /// already.
    pub fn name_place(&self, session: &SessionContext, name: &str, location: &str) -> Result<()> {
        let storage = self.places.storage(location)?;
        let kind = object_type(&*storage)
            .map_err(|error| of_array(tdb_array::Error::Io { path: storage.describe(""), source: error }))?;
        let options = session.state().config().options().catalog.clone();
        let catalog = session
            .catalog(&options.default_catalog)
            .ok_or_else(|| internal_datafusion_err!("the session has no catalog"))?;
        let tables = catalog.schema(&options.default_schema);
        // Names are found in any case, so one in another case would be either.
        let lower = name.to_lowercase();
        let tables = tables.map_or_else(Vec::new, |tables| tables.table_names());
        let own = ["information_schema".to_owned()];
        let mut taken = tables.into_iter().chain(catalog.schema_names()).chain(own);
        match taken.find(|own| own.to_lowercase() == lower) {
            Some(own) if own == name => return plan_err!("{name} is a name already"),
            Some(own) => {
                return plan_err!(
                    "{own} is a name already, and names are found in any case: say another one"
                );
            }
            None => {}
        }
        match kind {
            ObjectType::Array => {
                let options = self.options.clone().location(self.places.absolute(location));
                session.register_table(
                    datafusion::common::TableReference::bare(name),
                    Arc::new(options.open_storage(storage)?),
                )?;
            }
            ObjectType::Group => {
                let tables = GroupTables::open(self, name, location)?;
                catalog.register_schema(name, Arc::new(tables))?;
            }
            ObjectType::Invalid => {
                let location = location_without_secrets(location);
                return plan_err!("{location}: this is neither an array nor a group");
            }
        }
        Ok(())
    }
}

/// The arrays of a group.
#[derive(Debug)]
struct GroupTables {
    /// The name of the group.
    name: String,
    places: Arc<dyn Locate>,
    options: TableOptions,
    /// The names of the arrays, and where they are.
    arrays: Vec<(String, String)>,
    /// What names may begin with, beside what they are called here.
    prefix: &'static str,
}

impl GroupTables {
    fn open(factory: &TdbTableFactory, name: &str, location: &str) -> Result<Self> {
        let (places, options) = (factory.places.clone(), factory.options.clone());
        let location = location.strip_prefix("file://").unwrap_or(location);
        let at = Arc::new(SessionPlaces { places: places.clone(), stores: true });
        let group = options.open_options().open_group_in(at, location).map_err(of_array)?;
        let (key, value, ms) = EXPERIMENT;
        let metadata = group.metadata().map_err(of_array)?;
        let is_experiment = metadata.get(key).is_some_and(|own| own.data == value);
        let prefix = if is_experiment { ms } else { "" };
        let visited = group.walk();
        let arrays = paths(&visited, ".").into_iter().zip(visited);
        let arrays = arrays.filter(|(_, one)| matches!(one.found, Found::Object(ObjectType::Array)));
        let arrays: Vec<(String, String)> = arrays.map(|(path, one)| (path, one.location)).collect();
        let all: HashSet<String> = arrays.iter().map(|(path, _)| path.to_lowercase()).collect();
        let arrays = arrays.into_iter().map(|(path, location)| {
            // The name without the prefix may be that of another array.
            let own = path.strip_prefix(prefix).filter(|own| !all.contains(&own.to_lowercase()));
            (own.map_or_else(|| path.clone(), str::to_owned), location)
        });
        Ok(Self { name: name.to_owned(), places, options, arrays: arrays.collect(), prefix })
    }

    /// The place of the array of this name: as it is written, or the only one in another case.
    fn find(&self, name: &str) -> Result<Option<&str>> {
        let named = |name: &str| {
            let lower = name.to_lowercase();
            let exact = self.arrays.iter().filter(|(own, _)| own == name);
            let same = self.arrays.iter().filter(|(own, _)| own.to_lowercase() == lower);
            let mut found = match exact.clone().next() {
                Some(_) => exact.collect::<Vec<_>>(),
                None => same.collect(),
            };
            match (found.pop(), found.pop()) {
                // Names of members may have dots.
                (Some((own, one)), Some((same, other))) if own == same => {
                    let [one, other] = [other, one].map(|place| location_without_secrets(place));
                    plan_err!(
                        "{}.{name} is two arrays, {one} and {other}: --table gives one of them a name of its own",
                        self.name
                    )
                }
                (Some((other, _)), Some((one, _))) => {
                    plan_err!("{}.{name} is {one} or {other}: put it in quotes", self.name)
                }
                (one, _) => Ok(one.map(|(_, location)| location.as_str())),
            }
        };
        let found = named(name)?;
        let rest = name.get(..self.prefix.len()).filter(|begin| begin.eq_ignore_ascii_case(self.prefix));
        match rest.and_then(|begin| name.get(begin.len()..)) {
            Some(rest) if found.is_none() && !self.prefix.is_empty() => named(rest),
            _ => Ok(found),
        }
    }
}

#[async_trait]
impl SchemaProvider for GroupTables {
    fn table_names(&self) -> Vec<String> {
        self.arrays.iter().map(|(name, _)| name.clone()).collect()
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let Some(location) = self.find(name)? else {
            let known = self.arrays.iter().take(MAX_LISTED).map(|(name, _)| name.as_str());
            let known = known.collect::<Vec<_>>().join(", ");
            let more = if self.arrays.len() > MAX_LISTED { ", …" } else { "" };
            return plan_err!("the group {} has no array {name}; it has {known}{more}", self.name);
        };
        let (places, options) = (self.places.clone(), self.options.clone());
        let location = location.to_owned();
        let open =
            move || options.location(places.absolute(&location)).open_storage(places.storage(&location)?);
        Ok(Some(Arc::new(blocking(open).await?)))
    }

    async fn table_type(&self, _: &str) -> Result<Option<TableType>> {
        Ok(Some(TableType::Base))
    }

    fn table_exist(&self, name: &str) -> bool {
        matches!(self.find(name), Ok(Some(_)))
    }
}
