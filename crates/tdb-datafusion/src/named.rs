//! Tables that no statement has made: arrays and files, named by their places, and the arrays of
//! groups.

mod grouped;

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{DynamicFileCatalog, TableProvider, UrlTableFactory};
use datafusion::common::plan_err;
use datafusion::datasource::dynamic_file::DynamicListTableFactory;
use datafusion::prelude::SessionContext;

use crate::error::of_array;
use crate::tasks::blocking;
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
        let array = self.array(name).await;
        if !has_ending(name) || matches!(array, Ok(Some(_))) {
            return array;
        }
        match (self.files.try_new(name).await?, array) {
            (Some(table), _) => Ok(Some(table)),
            // A table that a statement makes may have the name of a file.
            (None, Ok(none)) if !is_place(name) => Ok(none),
            (None, array) => {
                let why =
                    array.err().map_or_else(|| "there is no such file".to_owned(), |error| error.to_string());
                plan_err!(
                    "{name}: {why}. Of files, SQL reads those that end with .csv, .json, .parquet or .arrow; CREATE EXTERNAL TABLE \
                     names the format of others, and `tdb import` makes an array of them"
                )
            }
        }
    }
}

impl Named {
    /// The array at a place, if there is one.
    async fn array(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
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

/// Whether a name is that of local files: it ends as names of files do, or has a pattern.
fn has_ending(name: &str) -> bool {
    let last = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let ends = last.rsplit_once('.').is_some_and(|(stem, ending)| !stem.is_empty() && !ending.is_empty());
    !name.contains("://") && (ends || name.contains('*'))
}

/// Whether a name can only be a path or a URL: tables are rarely named so.
fn is_place(name: &str) -> bool {
    name.contains(['/', '\\'])
}
