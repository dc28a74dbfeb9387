//! Consolidation of fragments: the parts common to dense and sparse ones.

use std::sync::Arc;

use tdb_codec::ArrayType;
use tdb_schema::ArraySchema;

use crate::fragment_commit::{commit, is_committed, marker_of, still_fits, verify};
use crate::job::{ConsolidationJob, open};
use crate::plan::{FragmentWork, ReportProgress};
use crate::schemas::Schemas;
use crate::write::{Transaction, fresh_uuid};
use crate::{ArrayWriter, Error, Result, eligibility, merge_dense, merge_sparse};

const WHAT: &str = "consolidation";

pub(super) fn run(writer: &ArrayWriter, work: &FragmentWork, tell: &mut ReportProgress<'_>) -> Result<()> {
    let array = open(writer)?;
    let schema: Arc<ArraySchema> = Schemas::new(array.context()).at(&work.schema_key)?;
    let target = writer.with_schema((*schema).clone(), work.schema_key.clone());
    let mut inputs = Vec::with_capacity(work.inputs.len());
    for folder in &work.inputs {
        let found = array.fragments().iter().find(|fragment| fragment.folder() == folder);
        let gone = || {
            Error::refused(
                WHAT,
                format!("{folder} is no longer visible: the array changed since the plan was made"),
            )
        };
        inputs.push(found.map(Arc::as_ref).ok_or_else(gone)?);
    }
    let Some(name) = eligibility::name(&array, &inputs, &schema, &fresh_uuid)? else {
        return Err(Error::refused(
            WHAT,
            "no name for the new fragment sorts correctly among other fragments of the same time",
        ));
    };
    let job = ConsolidationJob { array: &array, writer: &target, inputs, name, settings: work.settings };
    let mut written = NewFragments { writer: &target, folders: Vec::new(), keep: false };
    match schema.array_type {
        ArrayType::Sparse => merge_sparse::run(&job, &mut written.folders, tell)?,
        ArrayType::Dense => merge_dense::run(&job, &mut written.folders, tell)?,
    }
    if work.settings.verify {
        for folder in &written.folders {
            verify(&target, folder, &work.schema_key)?;
        }
    }
    tell(1, 1)?;
    let transaction = Transaction::begin(&**writer.storage(), writer.options())?;
    still_fits(writer, &array, work, &written.folders)?;
    // From here on the new fragments may be committed even if a step fails.
    written.keep = true;
    let done = commit(&target, &transaction, &written.folders, &work.inputs);
    if let Err(error) = &done {
        let marker = written.folders.first().map(|folder| marker_of(folder)).unwrap_or_default();
        let absent = transaction.never_put(&marker, error);
        // Fragments that may be committed, for all that is known, are kept.
        let mut counted = written.folders.iter().map(|folder| is_committed(writer, folder).unwrap_or(true));
        written.keep = !absent || counted.any(|counts| counts);
    }
    done
}

/// New fragments, which are removed again unless they are kept.
struct NewFragments<'a> {
    writer: &'a ArrayWriter,
    folders: Vec<String>,
    keep: bool,
}

impl Drop for NewFragments<'_> {
    fn drop(&mut self) {
        if !self.keep {
            for folder in &self.folders {
                // A folder that cannot be removed is not committed, and a vacuum of orphans finds
                // it.
                let _ = self.writer.storage().remove_folder(folder);
            }
        }
    }
}
