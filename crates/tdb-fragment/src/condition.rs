//! Delete conditions: the serialized tree of comparisons in a `.del` file (version 16 on).

use tdb_codec::{
    Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u64,
};

/// The table of a delete file.
pub(crate) static TABLE: Structure = Structure::new(
    "delete condition",
    &[FieldRow::new("condition", Wire::Structure(&NODE)).note("the negation of the user's condition")],
)
.since(Gate::DeleteFiles)
.code("Condition::parse", "Condition::to_bytes");

/// The table of a node of the tree.
pub(crate) static NODE: Structure = Structure::new(
    "condition node",
    &[
        FieldRow::new("condition node", Wire::U8).note("0 expression, 1 value"),
        FieldRow::new("condition operator", Wire::U8)
            .note("expression: 0 AND, 1 OR, 2 NOT; value: 0 <, 1 ≤, 2 >, 3 ≥, 4 =, 5 ≠, 6 IN, 7 NOT IN"),
        FieldRow::new("condition child count", Wire::U64).when("expression"),
        FieldRow::new("children", Wire::Structure(&NODE)).each("child of an expression"),
        FieldRow::new("condition field name", Wire::String32).when("value"),
        FieldRow::new("condition value", Wire::String64).when("value").note("empty for null"),
        FieldRow::new("condition value offsets size", Wire::U64).when("IN, NOT IN").note("bytes"),
        FieldRow::new("condition value offsets", Wire::Words).when("IN, NOT IN").note("starts; no end"),
    ],
);

/// How an expression combines its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Junction {
    /// All children are true.
    And,
    /// At least one child is true.
    Or,
    /// The only child is false.
    Not,
}

impl Junction {
    const TABLE: [(u8, Self); 3] = [(0, Self::And), (1, Self::Or), (2, Self::Not)];

    fn from_code(code: u8) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.0 == code).map(|row| row.1)
    }

    fn code(self) -> u8 {
        Self::TABLE.iter().find(|row| row.1 == self).map_or(0, |row| row.0)
    }
}

/// How a field's value is compared with the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say what they are")]
pub enum Comparison {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    In,
    NotIn,
    AlwaysTrue,
    AlwaysFalse,
}

impl Comparison {
    const TABLE: [(u8, Self); 10] = [
        (0, Self::Less),
        (1, Self::LessOrEqual),
        (2, Self::Greater),
        (3, Self::GreaterOrEqual),
        (4, Self::Equal),
        (5, Self::NotEqual),
        (6, Self::In),
        (7, Self::NotIn),
        (253, Self::AlwaysTrue),
        (254, Self::AlwaysFalse),
    ];

    /// From the code in files.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::TABLE.iter().find(|row| row.0 == code).map(|row| row.1)
    }

    /// The code in files.
    #[must_use]
    pub fn code(self) -> u8 {
        Self::TABLE.iter().find(|row| row.1 == self).map_or(0, |row| row.0)
    }

    /// Whether the operand is a list.
    #[must_use]
    pub const fn takes_list(self) -> bool {
        matches!(self, Self::In | Self::NotIn)
    }

    /// The comparison that is true exactly where this one is false (for values that are not null).
    #[must_use]
    pub const fn negated(self) -> Self {
        match self {
            Self::Less => Self::GreaterOrEqual,
            Self::LessOrEqual => Self::Greater,
            Self::Greater => Self::LessOrEqual,
            Self::GreaterOrEqual => Self::Less,
            Self::Equal => Self::NotEqual,
            Self::NotEqual => Self::Equal,
            Self::In => Self::NotIn,
            Self::NotIn => Self::In,
            Self::AlwaysTrue => Self::AlwaysFalse,
            Self::AlwaysFalse => Self::AlwaysTrue,
        }
    }

    /// The sign of the comparison, as written between a field and its operand.
    #[must_use]
    pub const fn sign(self) -> &'static str {
        match self {
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::In => "in",
            Self::NotIn => "not in",
            Self::AlwaysTrue => "true",
            Self::AlwaysFalse => "false",
        }
    }
}

/// A condition on the cells of an array: a tree in prefix order.
///
/// The table of its fields is "condition node" in [`STRUCTURES`](crate::STRUCTURES).
///
/// **Delete files contain the negation of the condition that the user deleted by**: a cell stays if
/// and only if the stored condition is true. The operand null has no data.
///
/// ```
/// use tdb_fragment::{Comparison, Condition};
///
/// // a <= 20, as a delete of "a > 20" stores it
/// let mut bytes = vec![1, 1, 1, 0, 0, 0, b'a', 4, 0, 0, 0, 0, 0, 0, 0];
/// bytes.extend(20i32.to_le_bytes());
/// let Condition::Value { field, comparison, operands } = Condition::parse(&bytes)? else { panic!() };
/// assert_eq!((field.as_str(), comparison), ("a", Comparison::LessOrEqual));
/// assert_eq!(operands, [20i32.to_le_bytes()]);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Several conditions, combined.
    Expression {
        /// How they are combined.
        junction: Junction,
        /// The conditions.
        children: Vec<Self>,
    },
    /// A comparison.
    Value {
        /// The field's name.
        field: String,
        /// How the field's value is compared.
        comparison: Comparison,
        /// The operands: one value, or a list for IN and NOT IN. An empty operand may mean null.
        operands: Vec<Vec<u8>>,
    },
}

/// The largest depth of a tree that is read: conditions are evaluated recursively, and a file must
/// not exhaust the stack.
const MAX_DEPTH: usize = 64;
/// Number of bytes of the smallest node.
const MIN_NODE: usize = 10;

impl Condition {
    /// Reads the payload of a `.del` file.
    ///
    /// # Errors
    /// If the payload is truncated, bytes are left over, a code is unknown, or the tree is over 64
    /// levels deep.
    pub fn parse(payload: &[u8]) -> Result<Self> {
        Self::parse_from(Reader::new(payload))
    }

    /// Reads the payload with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>) -> Result<Self> {
        let condition = Self::parse_tree(&mut reader)?;
        reader.finish("condition")?;
        Ok(condition)
    }

    /// Reads one tree and does not read the bytes after it: updates have values there.
    pub(crate) fn parse_tree(reader: &mut Reader<'_>) -> Result<Self> {
        Self::node(reader, MAX_DEPTH)
    }

    fn node(reader: &mut Reader<'_>, depth: usize) -> Result<Self> {
        let start = *reader;
        let Some(depth) = depth.checked_sub(1) else {
            let kind = ErrorKind::LimitExceeded { size: to_u64(MAX_DEPTH) };
            return Err(start.error("condition depth", kind));
        };
        if reader.code("condition node", |code| (code <= 1).then_some(code == 0))? {
            let junction = reader.code("condition operator", Junction::from_code)?;
            let start = *reader;
            let count = reader.count_u64(MIN_NODE, "condition child count")?;
            if count == 0 || (junction == Junction::Not && count != 1) {
                let kind = ErrorKind::InvalidValue { value: to_u64(count) };
                return Err(start.error("condition child count", kind));
            }
            let children = (0..count).map(|_| Self::node(reader, depth)).collect::<Result<_>>()?;
            return Ok(Self::Expression { junction, children });
        }
        let comparison = reader.code("condition operator", Comparison::from_code)?;
        let field = reader.string_u32("condition field name")?;
        let data = reader.bytes_u64("condition value")?;
        let operands = if comparison.takes_list() {
            let start = *reader;
            let len = reader.u64("condition value offsets size")?;
            let mut offsets = reader.sub(len, "condition value offsets")?;
            let wrong = |value| start.error("condition value offsets", ErrorKind::WrongLength { value });
            let starts = offsets.u64s(offsets.remaining() / 8, "condition value offsets")?;
            offsets.finish("condition value offsets")?;
            let ends = starts.iter().skip(1).copied().chain([to_u64(data.len())]);
            starts
                .iter()
                .zip(ends)
                .map(|(start, end)| {
                    let range = usize::try_from(*start).ok()?..usize::try_from(end).ok()?;
                    data.get(range).map(<[u8]>::to_vec)
                })
                .collect::<Option<_>>()
                .ok_or_else(|| wrong(len))?
        } else {
            vec![data.to_vec()]
        };
        Ok(Self::Value { field, comparison, operands })
    }

    /// The payload that [`Self::parse`] reads, for a delete file of `version`.
    ///
    /// # Errors
    /// [`ErrorKind::NotInVersion`] if `version` has no delete files; an error for a condition that
    /// [`Self::parse`] would reject: an expression without children, NOT with several children, a
    /// comparison with a wrong number of operands, or a tree over 64 levels deep; and for a name of
    /// 4 GiB or more.
    pub fn to_bytes(&self, version: FormatVersion) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        self.write_to(&mut writer, version)?;
        Ok(writer.into_vec())
    }

    pub(crate) fn write_to(&self, writer: &mut Writer, version: FormatVersion) -> Result<()> {
        if !version.has(Gate::DeleteFiles) {
            return Err(Error::not_in_version("condition", version));
        }
        self.write(writer, MAX_DEPTH)
    }

    fn write(&self, writer: &mut Writer, depth: usize) -> Result<()> {
        let wrong = |what, value: usize| {
            Err(Error::new(what, to_u64(writer.len()), ErrorKind::InvalidValue { value: to_u64(value) }))
        };
        let Some(depth) = depth.checked_sub(1) else { return wrong("condition depth", MAX_DEPTH) };
        match self {
            Self::Expression { junction, children } => {
                let count = children.len();
                if count == 0 || (*junction == Junction::Not && count != 1) {
                    return wrong("condition child count", count);
                }
                writer.u8(0);
                writer.u8(junction.code());
                writer.u64(to_u64(children.len()));
                children.iter().try_for_each(|child| child.write(writer, depth))
            }
            Self::Value { field, comparison, operands } => {
                if !comparison.takes_list() && operands.len() != 1 {
                    return wrong("condition value", operands.len());
                }
                writer.u8(1);
                writer.u8(comparison.code());
                writer.bytes_u32(field.as_bytes(), "condition field name")?;
                writer.bytes_u64(&operands.concat());
                if comparison.takes_list() {
                    writer.u64(to_u64(operands.len()).saturating_mul(8));
                    let mut start = 0u64;
                    for operand in operands {
                        writer.u64(start);
                        start = start.saturating_add(to_u64(operand.len()));
                    }
                }
                Ok(())
            }
        }
    }

    /// Calls `visit` with the name of every field in the condition, including repetitions.
    pub fn for_each_field(&self, visit: &mut impl FnMut(&str)) {
        match self {
            Self::Expression { children, .. } => {
                children.iter().for_each(|child| child.for_each_field(visit));
            }
            Self::Value { field, .. } => visit(field),
        }
    }
}

#[cfg(test)]
mod tests;
