//! Deletes by condition.

use tdb_codec::{ArrayType, Datatype, Gate};
use tdb_fragment::{CommitKind, Comparison, Condition, Junction, TimestampedName};
use tdb_schema::{ArraySchema, Field};

use crate::ArrayWriter;
use crate::create::generic_tile;
use crate::directory::Directory;
use crate::names::{Nonces, uuid};
use crate::operands::members;
use crate::paths::COMMITS;
use crate::put::{ensure_folder, put};
use crate::storage::join;
use crate::{Error, Result, clock};

const WHAT: &str = "delete";

impl ArrayWriter {
    /// Deletes the cells of a sparse array that satisfy a condition, at the writer's time: reads at
    /// earlier times still see them. Returns the new file's key.
    ///
    /// A delete is applied to the newest version of each cell. As in libtiledb, cells that are null
    /// in a field of the condition are deleted too, and so are cells written before the array had
    /// the field: the file states which cells stay, and no comparison is true for these cells.
    ///
    /// # Errors
    /// A dense array, an array of a version before 16, a time within that of a fragment that does
    /// not record when its cells were written, a condition that does not fit the schema, or any I/O
    /// error of the storage.
    pub fn delete(&self, condition: &Condition) -> Result<String> {
        let schema = &self.schema;
        let time = self.check_delete(condition)?;
        let payload = staying(schema, condition)
            .to_bytes(schema.version)
            .map_err(|error| Error::refused(WHAT, error.to_string()))?;
        let mut scratch = Nonces::new()?.scratch();
        let bytes = generic_tile(&payload, self.context.key.as_ref(), &mut scratch)?;
        // Deletes of one time have no order: a cell that one of them concerns is deleted.
        let name = TimestampedName::new((time, time), uuid()?, Some(schema.version));
        let key = join(COMMITS, &format!("{name}{}", CommitKind::Delete.suffix()));
        ensure_folder(&*self.storage, COMMITS, self.options.durability)?;
        put(&*self.storage, &key, &bytes, self.options.durability)?;
        if self.options.given_time().is_none() {
            // A delete concerns all cells of its time, also those that are written after it.
            clock::leave(time);
        }
        self.renew_manifest(&[])?;
        Ok(key)
    }

    /// Whether [`Self::delete`] would accept a condition, without deleting anything; returns the
    /// time that it would use.
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
        let time = self.when()?.time;
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

/// The condition that a delete file contains: the negation of the caller's condition, without NOT.
/// This is the only place where conditions of callers become those of files.
pub(crate) fn staying(schema: &ArraySchema, condition: &Condition) -> Condition {
    without_not(schema, condition, true)
}

fn without_not(schema: &ArraySchema, condition: &Condition, negated: bool) -> Condition {
    match condition {
        Condition::Expression { junction: Junction::Not, children } => match children.as_slice() {
            [child] => without_not(schema, child, !negated),
            // Such a tree is never written: `to_bytes` returns an error for it.
            _ => condition.clone(),
        },
        Condition::Expression { junction, children } => {
            let junction = match (junction, negated) {
                (Junction::And, true) => Junction::Or,
                (Junction::Or, true) => Junction::And,
                (junction, _) => *junction,
            };
            let children = children.iter().map(|child| without_not(schema, child, negated)).collect();
            Condition::Expression { junction, children }
        }
        Condition::Value { field, comparison, operands } => {
            let comparison = if negated { opposite(*comparison) } else { *comparison };
            value(schema, field, comparison, operands)
        }
    }
}

/// A comparison that every libtiledb of the array's version evaluates as the caller means it.
fn value(schema: &ArraySchema, name: &str, comparison: Comparison, operands: &[Vec<u8>]) -> Condition {
    use Comparison::{Equal, In, NotEqual, NotIn};
    let with = |comparison, operands| Condition::Value { field: name.to_owned(), comparison, operands };
    let field = schema.field(name);
    let cell_size = field.as_ref().and_then(Field::cell_size);
    let fits = |operand: &&Vec<u8>| cell_size.is_none_or(|size| operand.len() == size);
    let datatype = field.as_ref().map(|field| field.datatype);
    let char_size = cell_size.filter(|_| datatype == Some(Datatype::Char));
    if let Some(size) = char_size
        && matches!(comparison, Equal | NotEqual | In | NotIn)
        && !operands.iter().any(|operand| fits(&operand))
    {
        // No cell equals a value of another size, but libtiledb looks at the first byte of one. Any
        // value of the right size will do.
        let mut any = operands.first().cloned().unwrap_or_default();
        any.resize(size, 0);
        let junction = if matches!(comparison, Equal | In) { Junction::And } else { Junction::Or };
        let pair = if size > 1 { [In, NotIn] } else { [Equal, NotEqual] };
        let children = pair.map(|comparison| with(comparison, vec![any.clone()])).to_vec();
        return Condition::Expression { junction, children };
    }
    let comparison = if char_size.is_some_and(|size| size > 1) { as_set(comparison) } else { comparison };
    let one = match comparison {
        In => Equal,
        NotIn => NotEqual,
        other => return with(other, operands.to_vec()),
    };
    // libtiledb reads nothing of an array with a set that has no byte, or that has members of
    // another size than the field. No cell equals such a member.
    let fitting: Vec<_> = operands.iter().filter(fits).cloned().collect();
    // A condition on an unknown field, which `check` refuses, stays as it is.
    let Some(datatype) = datatype else { return with(comparison, operands.to_vec()) };
    let members = members(datatype, &fitting);
    if members.iter().all(Vec::is_empty) {
        with(one, operands.iter().take(1).cloned().collect())
    } else {
        with(comparison, members)
    }
}

const fn as_set(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Equal => Comparison::In,
        Comparison::NotEqual => Comparison::NotIn,
        other => other,
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

/// Since when each release of a version can apply deletes that test a type; `None` for types that
/// all can test. The others fail to read the whole array.
const fn conditions_on(datatype: Datatype) -> Option<Gate> {
    match datatype {
        Datatype::Bool => Some(Gate::BoolConditions),
        Datatype::StringUtf8 => Some(Gate::Utf8Conditions),
        _ if datatype.is_time() => Some(Gate::TimeConditions),
        _ => None,
    }
}

/// Why libtiledb would read a condition on `CHAR` of fixed size otherwise: it compares the first
/// value of such cells only, as a signed number, except with a set.
fn misread(schema: &ArraySchema, field: &Field<'_>, comparison: Comparison) -> Option<&'static str> {
    use Comparison::{Equal, In, NotEqual, NotIn};
    let size = field.cell_size().filter(|_| field.datatype == Datatype::Char)?;
    if !matches!(comparison, Equal | NotEqual | In | NotIn) {
        return Some(
            "is CHAR of fixed size, of which libtiledb compares the first value only, as a signed number; test whether it \
             equals a value, or test other fields",
        );
    }
    if size > 1 && !schema.version.has(Gate::SetConditions) {
        return Some(
            "is CHAR with several values in a cell, of which libtiledb compares the first one only, except with sets, which \
             this version does not have; upgrade the array first, or test other fields",
        );
    }
    None
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
        return refuse(
            "is in a condition that is always true or always false: libtiledb up to 2.20 cannot read an array with such a \
             delete; compare the field with a value",
        );
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
    if conditions_on(field.datatype).is_some_and(|gate| !schema.version.has(gate)) {
        return refuse(&format!(
            "is {}, and some releases of libtiledb that read version {} cannot read an array with a delete that compares it; \
             upgrade the array first, or test other fields",
            field.datatype, schema.version
        ));
    }
    let is_set = matches!(comparison, Comparison::In | Comparison::NotIn);
    if is_set && !schema.version.has(Gate::SetConditions) {
        return refuse(&format!(
            "is compared with a set, which deletes of version {} do not support",
            schema.version
        ));
    }
    if let Some(why) = misread(schema, &field, comparison) {
        return refuse(why);
    }
    // An operand without bytes means null if a value cannot be empty, and libtiledb cannot read a
    // file with such an operand.
    let wrong = |operand: &Vec<u8>| !string && operand.len() != field.datatype.size();
    if operands.iter().any(wrong) || (!field.is_var() && operands.iter().any(Vec::is_empty)) {
        return refuse("is compared with null or a value of another size, which delete files cannot contain");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use core::num::NonZeroU32;

    use tdb_codec::{CellValNum, FormatVersion};
    use tdb_schema::{Attribute, Dimension};

    use super::*;

    fn value(field: &str, comparison: Comparison, operand: i32) -> Condition {
        Condition::Value { field: field.into(), comparison, operands: vec![operand.to_le_bytes().to_vec()] }
    }

    /// A sparse array of a version with attributes of these types.
    fn array(version: u32, attributes: &[(&str, Datatype, CellValNum)]) -> ArraySchema {
        let mut schema = ArraySchema::sparse().dimension(Dimension::new("x", 0i32..=9));
        for (name, datatype, cells) in attributes {
            schema = schema.attribute(Attribute::new(*name, *datatype, *cells));
        }
        schema.version(FormatVersion::parse(version).unwrap()).build().unwrap()
    }

    #[test]
    fn a_type_is_tested_only_where_all_releases_of_the_version_can_test_it() {
        let types = [
            ("bool", Datatype::Bool, 19, 1),
            ("utf8", Datatype::StringUtf8, 17, 3),
            ("time", Datatype::TimeSec, 18, 8),
            ("ascii", Datatype::StringAscii, 16, 3),
            ("date", Datatype::DatetimeDay, 16, 8),
            ("real", Datatype::Float32, 16, 4),
        ];
        for (name, datatype, since, bytes) in types {
            let cells = if datatype.is_string() { CellValNum::Var } else { CellValNum::ONE };
            let (field, operands) = (name.to_owned(), vec![vec![1; bytes]]);
            let condition = Condition::Value { field, comparison: Comparison::Equal, operands };
            for version in 16..=22 {
                let checked = check(&array(version, &[(name, datatype, cells)]), &condition);
                match checked {
                    Ok(()) => assert!(version >= since, "{name} {version}"),
                    Err(error) => {
                        assert!(version < since, "{name} {version}: {error}");
                        assert!(error.to_string().contains("upgrade the array first"), "{error}");
                    }
                }
            }
        }
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
        let schema = array(22, &[("a", Datatype::Int32, CellValNum::ONE)]);
        assert_eq!(staying(&schema, &asked), stored);
        assert_eq!(staying(&schema, &staying(&schema, &stored)), stored);
    }

    #[test]
    fn a_set_of_nothing_but_empty_strings_becomes_a_comparison_with_one() {
        let value = |comparison, operands: &[&str]| Condition::Value {
            field: "s".into(),
            comparison,
            operands: operands.iter().map(|operand| operand.as_bytes().to_vec()).collect(),
        };
        let schema = array(22, &[("s", Datatype::StringAscii, CellValNum::Var)]);
        let stored = |comparison, operands: &[&str]| staying(&schema, &value(comparison, operands));
        assert_eq!(stored(Comparison::In, &[""]), value(Comparison::NotEqual, &[""]));
        assert_eq!(stored(Comparison::NotIn, &["", ""]), value(Comparison::Equal, &[""]));
        assert_eq!(stored(Comparison::In, &["", "q"]), value(Comparison::NotIn, &["", "q"]));
    }

    #[test]
    fn members_of_a_set_that_no_cell_can_equal_are_left_out() {
        let four = CellValNum::Fixed(NonZeroU32::new(4).unwrap());
        let schema = array(20, &[("s", Datatype::StringAscii, four), ("c", Datatype::Char, four)]);
        let value = |field: &str, comparison, operands: &[&str]| Condition::Value {
            field: field.into(),
            comparison,
            operands: operands.iter().map(|operand| operand.as_bytes().to_vec()).collect(),
        };
        for field in ["s", "c"] {
            let asked = value(field, Comparison::In, &["ab", "abcd", "abcde", "wxyz"]);
            check(&schema, &asked).unwrap();
            assert_eq!(staying(&schema, &asked), value(field, Comparison::NotIn, &["abcd", "wxyz"]));
        }
        // If nothing is left, any comparison with a member says the same.
        for (asked, stored) in
            [(Comparison::In, Comparison::NotEqual), (Comparison::NotIn, Comparison::Equal)]
        {
            let asked = value("s", asked, &["ab", "abcde"]);
            check(&schema, &asked).unwrap();
            assert_eq!(staying(&schema, &asked), value("s", stored, &["ab"]));
        }
    }

    #[test]
    fn chars_that_equal_no_value_are_asked_what_is_never_or_always_true() {
        let four = CellValNum::Fixed(NonZeroU32::new(4).unwrap());
        let fields = [("c", Datatype::Char, four), ("one", Datatype::Char, CellValNum::ONE)];
        let schema = array(20, &fields);
        let value = |field: &str, comparison, operand: &str| Condition::Value {
            field: field.into(),
            comparison,
            operands: vec![operand.into()],
        };
        let (first, second) = (Comparison::In, Comparison::NotIn);
        let (equal, other) = (Comparison::Equal, Comparison::NotEqual);
        for (field, operand, pair, cut) in
            [("c", "abcde", [first, second], "abcd"), ("one", "ab", [equal, other], "a")]
        {
            let children = pair.map(|comparison| value(field, comparison, cut)).to_vec();
            for comparison in [equal, other, first, second] {
                let asked = value(field, comparison, operand);
                check(&schema, &asked).unwrap();
                // What is equal to the value stays deleted: all other cells stay.
                let junction = if matches!(comparison, Comparison::Equal | Comparison::In) {
                    Junction::Or
                } else {
                    Junction::And
                };
                let stored = Condition::Expression { junction, children: children.clone() };
                assert_eq!(staying(&schema, &asked), stored, "{field} {comparison:?}");
            }
        }
    }

    #[test]
    fn sets_of_reals_are_stored_with_both_zeros_and_without_nan() {
        let reals =
            |values: &[f32]| values.iter().map(|value| value.to_le_bytes().to_vec()).collect::<Vec<_>>();
        let value = |comparison, values: &[f32]| Condition::Value {
            field: "r".into(),
            comparison,
            operands: reals(values),
        };
        let schema = array(20, &[("r", Datatype::Float32, CellValNum::ONE)]);
        let stored = |comparison, values: &[f32]| staying(&schema, &value(comparison, values));
        for zero in [0.0, -0.0] {
            assert_eq!(
                stored(Comparison::In, &[1.5, zero, f32::NAN]),
                value(Comparison::NotIn, &[1.5, -zero, zero])
            );
        }
        assert_eq!(stored(Comparison::NotIn, &[2.0]), value(Comparison::In, &[2.0]));
        let one = |condition| match condition {
            Condition::Value { comparison, operands, .. } => (comparison, operands),
            other => panic!("{other:?}"),
        };
        let nan = reals(&[f32::NAN]);
        assert_eq!(one(stored(Comparison::In, &[f32::NAN])), (Comparison::NotEqual, nan.clone()));
        assert_eq!(one(stored(Comparison::NotIn, &[f32::NAN, f32::NAN])), (Comparison::Equal, nan));
    }

    #[test]
    fn chars_of_fixed_size_are_compared_whole_or_not_at_all() {
        let four = CellValNum::Fixed(NonZeroU32::new(4).unwrap());
        let fields = [("c", Datatype::Char, four), ("one", Datatype::Char, CellValNum::ONE)];
        let value = |field: &str, comparison, operand: &str| Condition::Value {
            field: field.into(),
            comparison,
            operands: vec![operand.into()],
        };
        let (new, old) = (array(20, &fields), array(19, &fields));
        for (asked, set, other) in [
            (Comparison::Equal, Comparison::NotIn, Comparison::NotEqual),
            (Comparison::NotEqual, Comparison::In, Comparison::Equal),
        ] {
            check(&new, &value("c", asked, "abcd")).unwrap();
            assert_eq!(staying(&new, &value("c", asked, "abcd")), value("c", set, "abcd"));
            // The first value is all there is.
            check(&old, &value("one", asked, "a")).unwrap();
            assert_eq!(staying(&old, &value("one", asked, "a")), value("one", other, "a"));
        }
        for (schema, field, comparison, operand, why) in [
            (&old, "c", Comparison::Equal, "abcd", "upgrade the array"),
            (&new, "c", Comparison::Less, "abcd", "the first value only"),
            (&new, "one", Comparison::GreaterOrEqual, "a", "as a signed number"),
        ] {
            let refused = check(schema, &value(field, comparison, operand)).unwrap_err().to_string();
            assert!(refused.contains(why), "{refused}");
        }
    }

    #[test]
    fn conditions_without_a_comparison_are_refused() {
        let schema = array(22, &[("a", Datatype::Int32, CellValNum::ONE)]);
        for comparison in [Comparison::AlwaysTrue, Comparison::AlwaysFalse] {
            let error = check(&schema, &value("a", comparison, 0)).unwrap_err().to_string();
            assert!(error.contains("always true or always false"), "{error}");
        }
    }
}
