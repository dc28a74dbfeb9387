//! Conditions and aggregates as callers write them, in Rust or as text, before they are checked
//! against an array.

mod aggregate;
mod display;
mod error;
mod numbers;
mod pattern;
mod spans;
mod text;
mod tokens;
mod wire;

#[cfg(test)]
mod tests;

use core::ops::{self, RangeInclusive};
use core::str::FromStr;

use tdb_fragment::Comparison;

pub use self::aggregate::{Aggregate, AggregateError, AggregateFunction};
pub use self::error::{ConditionError, ConditionErrorKind};
pub(crate) use self::numbers::MAX_INTEGER;
pub use self::pattern::Pattern;
use crate::Coordinate;

/// A condition on the cells of a query.
///
/// ```
/// use tdb_array::query::QueryCondition;
/// use tdb_array::field;
///
/// let built = field("k").eq(7).and(field("v").gt(1.0).or(field("name").is_in(["x", "y"])));
/// let parsed: QueryCondition = "k == 7 and (v > 1.0 or name in ('x', 'y'))".parse()?;
/// assert_eq!(built, parsed);
/// assert_eq!((!built).to_string(), "not (k = 7 and (v > 1.0 or name in ('x', 'y')))");
/// # Ok::<(), tdb_array::error::ConditionError>(())
/// ```
///
/// Null cells do not satisfy any comparison, including `!=`, `not in` and negations: only `is null`
/// finds them. A NaN satisfies only `!=`, `not in` and `is nan`. `in` and `not in` are what `=` and
/// `!=` say of each value, so 0.0 is in (-0.0), and nothing is in (nan). Strings are compared as
/// unsigned bytes. Where cells have a fixed size, a shorter string is filled up with zero bytes, as
/// cells are, and a longer one equals no cell. A field with an enumeration is compared with the
/// enumeration's values: by order if the enumeration is ordered.
///
/// Cells of fragments that were written before the field existed satisfy no test of that field,
/// also not `is null`, as in libtiledb. A read returns the field's fill value for them, aggregates
/// count that, and consolidation writes it: from then on, tests see it, too.
///
/// # The text form
///
/// Comparisons `field = value` (or `==`), `!=` (or `<>`), `<`, `<=`, `>`, `>=`, `field in (value,
/// …)`, `field not in (…)`, `field like 'pattern'`, `field not like 'pattern'`, `field between
/// value and value`, `field is null`, `field is not null`, `field is nan`, `field is not nan`,
/// joined by `and`, `or`, `not` and parentheses; words in any case. A field's name must be in
/// quotes if it is not a plain word. `field between a and b` is `field >= a and field <= b`. In
/// `field like 'pattern'`, for text, `%` stands for any characters and `_` for one, unless a
/// backslash is before it (`'100\\%'`); upper and lower case differ. Values are integers (`-7`,
/// `0xff`), reals (`1.0`, `1e-3`, `nan`, `inf`), `true`, `false`, and strings in single or double
/// quotes with `\\`, `\'`, `\"`, `\n`, `\r`, `\t` and `\xNN` for any byte. Dates are integers in
/// the field's unit. Reals mean the nearest value of the field's type.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a condition does nothing until it is given to a query"]
pub struct QueryCondition {
    #[doc(hidden)]
    pub tree: Tree,
}

/// A value that a field is compared with.
#[derive(Clone, Debug)]
pub enum Operand {
    /// An integer; also for dates and times, in the field's unit.
    Int(i128),
    /// A real number.
    Float(f64),
    /// A number as it is written, where its nearest `f64` is not what it means for every type of
    /// field.
    Decimal(String),
    /// A string.
    Bytes(Vec<u8>),
    /// A boolean.
    Bool(bool),
}

/// A field that a condition is being built on; see [`field`].
#[derive(Clone, Debug)]
#[must_use = "a field is not a condition yet"]
pub struct ConditionField {
    name: String,
}

/// The tree of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// All of them hold.
    And(Vec<Self>),
    /// At least one of them holds.
    Or(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// A test of one field.
    Test {
        /// The field.
        name: String,
        /// The position of its name in the text.
        place: Place,
        /// The test.
        predicate: Predicate,
    },
}

/// A test of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Predicate {
    /// A comparison with one operand, or with a list for `in` and `not in`.
    Compare {
        /// How to compare.
        comparison: Comparison,
        /// The operands, each with its position in the text.
        operands: Vec<(Operand, Place)>,
    },
    /// Whether the cell is null, or is not.
    Null {
        /// Whether the test is for null.
        is: bool,
    },
    /// Whether a real number is NaN, or is not; null cells satisfy neither.
    Nan {
        /// Whether the test is for NaN.
        is: bool,
    },
    /// Whether a text is like a pattern, or is not; null cells satisfy neither.
    Like {
        /// The pattern.
        pattern: Pattern,
        /// Whether the text must be like it.
        is: bool,
    },
}

/// A position in a condition's text: byte offset, and column starting at 1. Conditions are compared
/// by their meaning, so all positions are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Place(Option<(usize, usize)>);

impl PartialEq for Place {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Place {}

/// Begins a condition on a field: an attribute, or a dimension.
pub fn field(name: impl Into<String>) -> ConditionField {
    ConditionField { name: name.into() }
}

impl ConditionField {
    /// The field is equal to the value.
    pub fn eq(self, value: impl Into<Operand>) -> QueryCondition {
        self.compare(Comparison::Equal, value)
    }

    /// The field is not equal to the value.
    pub fn ne(self, value: impl Into<Operand>) -> QueryCondition {
        self.compare(Comparison::NotEqual, value)
    }

    /// The field is less than the value.
    pub fn lt(self, value: impl Into<Operand>) -> QueryCondition {
        self.compare(Comparison::Less, value)
    }

    /// The field is less than or equal to the value.
    pub fn le(self, value: impl Into<Operand>) -> QueryCondition {
        self.compare(Comparison::LessOrEqual, value)
    }

    /// The field is greater than the value.
    pub fn gt(self, value: impl Into<Operand>) -> QueryCondition {
        self.compare(Comparison::Greater, value)
    }

    /// The field is greater than or equal to the value.
    pub fn ge(self, value: impl Into<Operand>) -> QueryCondition {
        self.compare(Comparison::GreaterOrEqual, value)
    }

    /// The field is equal to one of these values.
    pub fn is_in<V: Into<Operand>>(self, values: impl IntoIterator<Item = V>) -> QueryCondition {
        self.list(Comparison::In, values)
    }

    /// The field is equal to none of these values.
    pub fn not_in<V: Into<Operand>>(self, values: impl IntoIterator<Item = V>) -> QueryCondition {
        self.list(Comparison::NotIn, values)
    }

    /// The field is null.
    pub fn is_null(self) -> QueryCondition {
        self.test(Predicate::Null { is: true })
    }

    /// The field is not null.
    pub fn is_not_null(self) -> QueryCondition {
        self.test(Predicate::Null { is: false })
    }

    /// The field is NaN; a field of real numbers only.
    pub fn is_nan(self) -> QueryCondition {
        self.test(Predicate::Nan { is: true })
    }

    /// The field is neither NaN nor null; a field of real numbers only.
    pub fn is_not_nan(self) -> QueryCondition {
        self.test(Predicate::Nan { is: false })
    }

    /// The field's text is like the pattern: `%` stands for any characters, and `_` for one, unless
    /// a backslash is before it. Upper and lower case differ.
    ///
    /// ```
    /// use tdb_array::field;
    ///
    /// assert_eq!(field("name").like("JF%").to_string(), "name like 'JF%'");
    /// ```
    pub fn like(self, pattern: impl Into<Vec<u8>>) -> QueryCondition {
        self.test(Predicate::Like { pattern: Pattern::new(pattern), is: true })
    }

    /// The field's text is neither null nor like the pattern.
    pub fn not_like(self, pattern: impl Into<Vec<u8>>) -> QueryCondition {
        self.test(Predicate::Like { pattern: Pattern::new(pattern), is: false })
    }

    fn compare(self, comparison: Comparison, value: impl Into<Operand>) -> QueryCondition {
        self.test(Predicate::Compare { comparison, operands: vec![(value.into(), Place::default())] })
    }

    fn list<V: Into<Operand>>(
        self,
        comparison: Comparison,
        values: impl IntoIterator<Item = V>,
    ) -> QueryCondition {
        let operands = values.into_iter().map(|value| (value.into(), Place::default())).collect();
        self.test(Predicate::Compare { comparison, operands })
    }

    fn test(self, predicate: Predicate) -> QueryCondition {
        QueryCondition { tree: Tree::Test { name: self.name, place: Place::default(), predicate } }
    }
}

impl QueryCondition {
    /// Parses a condition's text form.
    ///
    /// ```
    /// let error = tdb_array::query::QueryCondition::parse("k == 7 and v >").unwrap_err();
    /// assert_eq!(error.column(), Some(15));
    /// assert_eq!(error.to_string(), "column 15: a value is expected, not the end");
    /// ```
    ///
    /// # Errors
    /// A text that is not a condition; the error contains the column.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        text::parse(text).map(|tree| Self { tree })
    }

    /// Both conditions hold.
    pub fn and(self, other: Self) -> Self {
        Self { tree: join(self.tree, other.tree, Tree::And) }
    }

    /// At least one of the conditions holds.
    pub fn or(self, other: Self) -> Self {
        Self { tree: join(self.tree, other.tree, Tree::Or) }
    }

    /// The names of the fields in the condition, each once, in the order of their first use.
    #[must_use]
    pub fn fields(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.tree.for_each_test(&mut |name, _| {
            if !names.contains(&name) {
                names.push(name);
            }
        });
        names
    }

    /// Replaces operands before the condition is used: for the caller's own notations, such as
    /// dates as text. `replace` gets the field and the operand, and returns another operand, or
    /// `None` to keep it. What it returns may stand for several values, from a first one to a last
    /// one, such as the seconds of a day: `=` and `in` are true inside, `!=` and `not in` outside,
    /// `<` and `>=` are about the first one, `<=` and `>` about the last one.
    ///
    /// ```
    /// use tdb_array::query::{Operand, QueryCondition};
    ///
    /// let condition = QueryCondition::parse("day = 'Monday' and day < 'Monday'")?;
    /// let hours = |_: &str, _: &Operand| Ok(Some(Operand::Int(0)..=Operand::Int(23)));
    /// assert_eq!(condition.map_operands(hours)?.to_string(), "day >= 0 and day <= 23 and day < 0");
    /// # Ok::<(), tdb_array::error::ConditionError>(())
    /// ```
    ///
    /// # Errors
    /// The error that `replace` returns for an operand, with the operand's place in the text.
    pub fn map_operands(
        self,
        mut replace: impl FnMut(&str, &Operand) -> Result<Option<RangeInclusive<Operand>>, String>,
    ) -> Result<Self, ConditionError> {
        Ok(Self { tree: spans::map_operands(self.tree, &mut replace)? })
    }
}

impl ops::Not for QueryCondition {
    type Output = Self;

    fn not(self) -> Self {
        Self { tree: negate(self.tree) }
    }
}

impl FromStr for QueryCondition {
    type Err = ConditionError;

    fn from_str(text: &str) -> Result<Self, ConditionError> {
        Self::parse(text)
    }
}

/// Joins two trees; conditions joined in the same way become one list, so that long chains stay
/// flat.
fn join(first: Tree, second: Tree, make: fn(Vec<Tree>) -> Tree) -> Tree {
    let mut list = flattened(first, make);
    list.extend(flattened(second, make));
    make(list)
}

/// The list of a tree of the kind that `make` makes; for any other tree, a list with this tree
/// alone.
fn flattened(tree: Tree, make: fn(Vec<Tree>) -> Tree) -> Vec<Tree> {
    match (tree, make(Vec::new())) {
        (Tree::And(list), Tree::And(_)) | (Tree::Or(list), Tree::Or(_)) => list,
        (other, _) => vec![other],
    }
}

fn negate(tree: Tree) -> Tree {
    match tree {
        Tree::Not(inner) => *inner,
        other => Tree::Not(Box::new(other)),
    }
}

impl Tree {
    fn for_each_test<'t>(&'t self, visit: &mut impl FnMut(&'t str, &'t Predicate)) {
        match self {
            Self::And(list) | Self::Or(list) => list.iter().for_each(|tree| tree.for_each_test(visit)),
            Self::Not(inner) => inner.for_each_test(visit),
            Self::Test { name, predicate, .. } => visit(name, predicate),
        }
    }
}

impl<V: Into<Coordinate>> From<V> for Operand {
    fn from(value: V) -> Self {
        match value.into() {
            Coordinate::Int(value) => Self::Int(value),
            Coordinate::Float(value) => Self::Float(value),
            Coordinate::Bytes(value) => Self::Bytes(value),
        }
    }
}

impl From<bool> for Operand {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl PartialEq for Operand {
    /// Reals are equal if they print the same: NaN equals itself, and -0.0 is not 0.0.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Int(a), Self::Int(b)) => a == b,
            (Self::Float(a), Self::Float(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
            (Self::Decimal(a), Self::Decimal(b)) => a == b,
            (Self::Bytes(a), Self::Bytes(b)) => a == b,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Operand {}
