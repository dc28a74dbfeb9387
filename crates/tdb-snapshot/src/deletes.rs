//! Delete conditions as they are stored in files.

use tdb_fragment::{Condition, Update};

use crate::context::Context;
use crate::directory::{DeleteEntry, Directory};
use crate::{Error, Result};

/// A delete condition.
///
/// Updates (`.upd`) are in this list too: libtiledb 2.30 drops the cells that an update concerns
/// and never looks at the new values, so this is how every reader sees an array with updates.
#[derive(Debug)]
pub struct Delete {
    /// When cells were deleted.
    pub time: u64,
    /// The array-relative path of its file.
    pub path: String,
    /// The condition that cells must satisfy to stay.
    pub condition: Condition,
}

impl Delete {
    pub(crate) fn load(context: &Context, entry: &DeleteEntry) -> Result<Self> {
        let payload = match &entry.inside {
            Some((offset, bytes)) => context.generic_tile(&entry.key, bytes, *offset)?,
            None => context.generic_file(&entry.key)?,
        };
        let condition = if entry.is_update() {
            Update::parse(&payload).map(|update| update.condition)
        } else {
            Condition::parse(&payload)
        };
        let condition = condition.map_err(|error| Error::corrupt(context.describe(&entry.key), error))?;
        Ok(Self { time: entry.time, path: entry.path.clone(), condition })
    }
}

/// The first delete of an array whose condition tests one of these fields: its path, and the field.
///
/// # Errors
/// The file of a delete cannot be read.
pub fn first_that_tests(
    context: &Context,
    directory: &Directory,
    fields: &[String],
) -> Result<Option<(String, String)>> {
    for entry in &directory.deletes {
        let mut tested = None;
        Delete::load(context, entry)?.condition.for_each_field(&mut |name| {
            tested = tested.take().or_else(|| fields.iter().find(|field| *field == name).cloned());
        });
        if let Some(field) = tested {
            return Ok(Some((entry.path.clone(), field)));
        }
    }
    Ok(None)
}
