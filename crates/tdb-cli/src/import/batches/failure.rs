//! Failures of importing a Parquet or Arrow file, with remedies.

use tdb_array::MemoryBudget;
use tdb_array::schema::ArraySchema;
use tdb_convert::{Error, FileProblem};
use tdb_text::suggest::hint;

use super::BatchFile;
use crate::condition;
use crate::failure::Failure;
use crate::thresholds::IMPORT_MEMORY_DIVISOR;

/// What the user can do about a column of a type that arrays do not have.
fn remedy(error: &tdb_arrow::Error) -> String {
    match error {
        tdb_arrow::Error::Refused { column, .. } => {
            format!(
                " (--types '{column}=TYPE' casts it, where there is a way; --drop '{column}' leaves it out)"
            )
        }
        _ => String::new(),
    }
}

impl BatchFile<'_> {
    /// The failure of an error, with what its user can do about it.
    pub(super) fn failed(&self, error: Error) -> Failure {
        let args = self.args;
        match error {
            Error::Array(error) => condition::failed(&args.array, None, error),
            Error::File { problem: FileProblem::TooLarge { bytes, .. }, .. } => {
                let size = MemoryBudget::from_bytes(bytes.saturating_mul(IMPORT_MEMORY_DIVISOR));
                args.usage(format!("--memory: a batch of the file needs at least {size}"))
            }
            Error::Outside { ref dimension, .. } => {
                let remedy = format!(
                    "; a domain cannot grow: import all cells into a new array with --domain '{dimension}=LO..HI'"
                );
                Failure::Failed(format!("{error}{remedy}"))
            }
            Error::NoPlace { .. } => args.wrong(
                "it does not say to which part of a dense array its cells belong: import it into a sparse array, with --dims",
            ),
            Error::Arrow(error) => args.wrong(format!("{error}{}", remedy(&error))),
            Error::Cells { ref why, .. } => Failure::Failed(format!("{error}{}", remedy(why))),
            // These name the file.
            other => Failure::Failed(other.to_string()),
        }
    }

    /// The same for a column that an array does not have.
    pub(super) fn unknown(&self, error: Error, schema: &ArraySchema) -> Failure {
        if let Error::Cells { why, .. } = &error
            && let tdb_arrow::Error::UnknownColumn { column } = &**why
        {
            let known = || schema.fields().map(|field| field.name);
            let list = known().collect::<Vec<_>>().join(", ");
            let hint = hint(column, known());
            return self.args.wrong(format!("the array has no field {column:?} (it has {list}){hint}"));
        }
        self.failed(error)
    }

    /// The failure of `--dims`.
    pub(super) fn bad_dims(&self, error: Error) -> Failure {
        match error {
            Error::Arrow(error) => match *error {
                tdb_arrow::Error::UnknownColumn { column } => {
                    let columns = self.columns();
                    let hint = hint(&column, columns.iter().map(String::as_str));
                    let there = columns.join(", ");
                    self.args
                        .usage(format!("--dims: there is no column {column:?} (there are {there}){hint}"))
                }
                other => self.args.usage(format!("--dims: {other}")),
            },
            other => self.failed(other),
        }
    }
}
