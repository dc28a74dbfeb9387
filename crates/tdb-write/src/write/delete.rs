//! Deletes by condition.

use tdb_codec::{ArrayType, Datatype, Gate};
use tdb_fragment::{CommitKind, Comparison, Condition, Junction};
use tdb_schema::ArraySchema;

use super::ArrayWriter;
use super::create::generic_tile;
use super::names::{self, Nonces};
use super::put::{ensure_folder, put};
use crate::directory::Directory;
use crate::paths::COMMITS;
use crate::storage::join;
use crate::{Error, Result};

const WHAT: &str = "delete";

impl ArrayWriter {
    /// Deletes the cells of a sparse array that satisfy a condition, at the writer's time: reads at earlier times still
    /// see them. Returns the new file's key.
    ///
    /// A delete is applied to the newest version of each cell. As in libtiledb, cells that are null in a field of the
    /// condition are deleted too, and so are cells written before the array had the field: the file states which cells
    /// stay, and no comparison is true for these cells.
    ///
    /// # Errors
    /// A dense array, an array of a version before 16, a time within that of a fragment that does not record when its
    /// cells were written, a condition that does not fit the schema, or any I/O error of the storage.
    pub fn delete(&self, condition: &Condition) -> Result<String> {
        let schema = &self.schema;
        let time = self.check_delete(condition)?;
        let payload = staying(condition)
            .to_bytes(schema.version)
            .map_err(|error| Error::refused(WHAT, error.to_string()))?;
        let mut scratch = Nonces::new()?.scratch();
        let bytes = generic_tile(&payload, self.context.key.as_ref(), &mut scratch)?;
        let name = names::unique(time, Some(schema.version))?;
        let key = join(COMMITS, &format!("{name}{}", CommitKind::Delete.suffix()));
        ensure_folder(&*self.storage, COMMITS, self.options.durability)?;
        put(&*self.storage, &key, &bytes, self.options.durability)?;
        self.renew_manifest(&[])?;
        Ok(key)
    }

    /// Whether [`Self::delete`] would accept a condition, without deleting anything; returns the time that it would
    /// use.
    ///
    /// # Errors
    /// As for [`Self::delete`].
    pub fn check_delete(&self, condition: &Condition) -> Result<u64> {
        let schema = &self.schema;
        if schema.array_type != ArrayType::Sparse {
            return Err(Error::refused(WHAT, "cells can be deleted from sparse arrays only"));
        }
        if !schema.version.has(Gate::DeleteFiles) {
            let why = format!(
                "arrays of version {} do not support deletes; upgrade the array first",
                schema.version
            );
            return Err(Error::refused(WHAT, why));
        }
        check(schema, condition)?;
        let time = self.time()?;
        let directory = Directory::load(&*self.context.storage)?;
        let within = |(first, last): (u64, u64)| first <= time && time <= last;
        let old = |entry: &&crate::directory::FragmentEntry| {
            !entry.version().has(Gate::DeleteMetadata) && within(entry.parsed.timestamps)
        };
        if let Some(entry) = directory.fragments.iter().find(old) {
            let why = format!(
                "time {time} is within the time range of fragment {}, of version {}, which does not record when its cells were written",
                entry.name,
                entry.version()
            );
            return Err(Error::refused(WHAT, why));
        }
        Ok(time)
    }
}

/// The condition that a delete file contains: the negation of the caller's condition, without NOT. This is the only
/// place where conditions of callers become those of files.
pub(crate) fn staying(condition: &Condition) -> Condition {
    without_not(condition, true)
}

fn without_not(condition: &Condition, negated: bool) -> Condition {
    match condition {
        Condition::Expression { junction: Junction::Not, children } => match children.as_slice() {
            [child] => without_not(child, !negated),
            // Such a tree is never written: `to_bytes` returns an error for it.
            _ => condition.clone(),
        },
        Condition::Expression { junction, children } => {
            let junction = match (junction, negated) {
                (Junction::And, true) => Junction::Or,
                (Junction::Or, true) => Junction::And,
                (junction, _) => *junction,
            };
            let children = children.iter().map(|child| without_not(child, negated)).collect();
            Condition::Expression { junction, children }
        }
        Condition::Value { field, comparison, operands } => {
            let comparison = if negated { opposite(*comparison) } else { *comparison };
            // libtiledb refuses to read a set that has no byte.
            let (comparison, count) = match comparison {
                Comparison::In if operands.iter().all(Vec::is_empty) => (Comparison::Equal, 1),
                Comparison::NotIn if operands.iter().all(Vec::is_empty) => (Comparison::NotEqual, 1),
                other => (other, operands.len()),
            };
            let operands = operands.iter().take(count).cloned().collect();
            Condition::Value { field: field.clone(), comparison, operands }
        }
    }
}

const fn opposite(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::In => Comparison::NotIn,
        Comparison::NotIn => Comparison::In,
        Comparison::AlwaysTrue => Comparison::AlwaysFalse,
        Comparison::AlwaysFalse => Comparison::AlwaysTrue,
    }
}

/// Returns an error for a condition that no reader could apply.
fn check(schema: &ArraySchema, condition: &Condition) -> Result<()> {
    let (name, comparison, operands) = match condition {
        Condition::Expression { children, .. } => {
            return children.iter().try_for_each(|child| check(schema, child));
        }
        Condition::Value { field, comparison, operands } => (field, *comparison, operands),
    };
    let refuse = |why: &str| Err(Error::refused(WHAT, format!("field \"{name}\" {why}")));
    let Some(field) = schema.field(name) else { return refuse("is not a field of the array") };
    if matches!(comparison, Comparison::AlwaysTrue | Comparison::AlwaysFalse) {
        return Ok(());
    }
    let string = matches!(field.datatype, Datatype::Char | Datatype::StringAscii | Datatype::StringUtf8);
    let number = field.datatype.physical().is_float()
        || matches!(
            field.datatype.class(),
            tdb_codec::DatatypeClass::Integer
                | tdb_codec::DatatypeClass::Datetime
                | tdb_codec::DatatypeClass::Time
        );
    let single = number && field.cell_val_num == tdb_codec::CellValNum::ONE;
    if !(string || single) {
        return refuse("has cells of a type that conditions cannot compare");
    }
    if operands.is_empty() {
        return refuse("is compared without a value");
    }
    if matches!(comparison, Comparison::In | Comparison::NotIn) && !schema.version.has(Gate::SetConditions) {
        return refuse(&format!(
            "is compared with a set, which deletes of version {} do not support",
            schema.version
        ));
    }
    // An operand without bytes means null if a value cannot be empty, and libtiledb cannot read a file with such an
    // operand.
    let wrong = |operand: &Vec<u8>| !string && operand.len() != field.datatype.size();
    if operands.iter().any(wrong) || (!field.is_var() && operands.iter().any(Vec::is_empty)) {
        return refuse("is compared with null or a value of another size, which delete files cannot contain");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(field: &str, comparison: Comparison, operand: i32) -> Condition {
        Condition::Value { field: field.into(), comparison, operands: vec![operand.to_le_bytes().to_vec()] }
    }

    #[test]
    fn the_file_holds_the_negation_without_not() {
        let both = |a, b, junction| Condition::Expression { junction, children: vec![a, b] };
        let asked = both(
            value("a", Comparison::Greater, 20),
            Condition::Expression {
                junction: Junction::Not,
                children: vec![value("a", Comparison::GreaterOrEqual, 32)],
            },
            Junction::And,
        );
        let stored = both(
            value("a", Comparison::LessOrEqual, 20),
            value("a", Comparison::GreaterOrEqual, 32),
            Junction::Or,
        );
        assert_eq!(staying(&asked), stored);
        assert_eq!(staying(&staying(&stored)), stored);
    }

    #[test]
    fn a_set_of_nothing_but_empty_strings_becomes_a_comparison_with_one() {
        let value = |comparison, operands: &[&str]| Condition::Value {
            field: "s".into(),
            comparison,
            operands: operands.iter().map(|operand| operand.as_bytes().to_vec()).collect(),
        };
        let stored = |comparison, operands: &[&str]| staying(&value(comparison, operands));
        assert_eq!(stored(Comparison::In, &[""]), value(Comparison::NotEqual, &[""]));
        assert_eq!(stored(Comparison::NotIn, &["", ""]), value(Comparison::Equal, &[""]));
        assert_eq!(stored(Comparison::In, &["", "q"]), value(Comparison::NotIn, &["", "q"]));
    }
}
