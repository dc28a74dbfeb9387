//! Tables that no statement has made: arrays and files, named by their places.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::common::plan_err;
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::prelude::SessionContext;

use crate::error::of_array;
use crate::factory::blocking;
use crate::{Result, TdbTableFactory};

impl TdbTableFactory {
    /// Makes locations names of tables in a session: `SELECT … FROM 'path/to/array'`, also those of
    /// local files that DataFusion reads (`'trips.csv'`, `'data/*.parquet'`).
    ///
    /// A table that is registered under the name comes first. Each statement opens the array once,
    /// however often it names it, and sees one state of it. A name without a slash that is no array
    /// either is a table that does not exist.
    pub fn register_names(self, session: &SessionContext) {
        let files = DynamicListTableFactory::default();
        files.session_store().with_state(session.state_weak_ref());
        let tables = session.state().catalog_list().clone();
        let named = Named { arrays: self, files };
        session.register_catalog_list(Arc::new(DynamicFileCatalog::new(tables, Arc::new(named))));
    }
}

#[derive(Debug)]
struct Named {
    arrays: TdbTableFactory,
    files: DynamicListTableFactory,
}

#[async_trait]
impl UrlTableFactory for Named {
    async fn try_new(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        if Path::new(name).is_file() || name.contains('*') {
            return match self.files.try_new(name).await? {
                Some(table) => Ok(Some(table)),
                // A table that a statement makes may have the name of a file.
                None if !is_place(name) && Path::new(name).extension().is_none() => Ok(None),
                None => plan_err!(
                    "{name} is no file that SQL can read by its name: these end with .csv, .json, .parquet or .arrow; \
                     CREATE EXTERNAL TABLE names the format of others, and `tdb import` makes an array of them"
                ),
            };
        }
        let (places, options) = (self.arrays.places.clone(), self.arrays.options.clone());
        let name = name.to_owned();
        blocking(move || {
            let storage = places.storage(&name)?;
            match options.location(places.absolute(&name)).open_or_missing(&storage)? {
                Ok(table) => Ok(Some(Arc::new(table) as Arc<dyn TableProvider>)),
                Err(missing) if is_place(&name) => Err(of_array(missing)),
                Err(_) => Ok(None),
            }
        })
        .await
    }
}

/// Whether a name can only be a path or a URL: tables are rarely named so.
fn is_place(name: &str) -> bool {
    name.contains(['/', '\\'])
}
