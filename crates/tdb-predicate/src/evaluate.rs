//! Evaluates conditions over columns. The mask has a byte per cell, which is cleared if the cell
//! fails.

use tdb_codec::{Native, PhysicalVisitor};
use tdb_fragment::Comparison;

use super::comparison::{Test, holds};
use super::program::{Node, Program};
use super::prune::Verdict;
use super::view::{ColumnView, typed};
use crate::facts::FieldFacts;
use crate::operands::unpadded;
use crate::{Error, OrInternal, Result};

/// Provides the cells that a program looks at. Cells have the same numbers as in the mask.
pub trait Columns {
    /// The cells of a field of the program; `None` if the field does not exist for them. Only cells
    /// whose `mask` is not 0 must be correct, now and in later calls.
    fn column(&mut self, field: usize, mask: &[u8]) -> Result<Option<ColumnView<'_>>>;

    /// The facts about the field's cells that need no reading.
    fn facts(&self, field: usize) -> FieldFacts<'_>;
}

impl Test {
    /// Clears `mask` where the test fails.
    fn apply(&self, view: ColumnView<'_>, cell_size: Option<usize>, mask: &mut [u8]) -> Result<()> {
        let view = view.complete(mask.len(), cell_size)?;
        if let Some(present) = view.present {
            each(present, mask, |present| present != 0);
        }
        match self {
            Self::Always(true) => return Ok(()),
            Self::Always(false) => {
                mask.fill(0);
                return Ok(());
            }
            Self::Null(is) => {
                match view.validity {
                    Some(validity) => each(validity, mask, |valid| (valid == 0) == *is),
                    None if *is => mask.fill(0),
                    None => {}
                }
                return Ok(());
            }
            _ => {}
        }
        if let Some(validity) = view.validity {
            each(validity, mask, |valid| valid != 0);
        }
        match self {
            Self::Number { comparison, operand, physical } => {
                physical.visit(CompareNumbers {
                    comparison: *comparison,
                    operand,
                    values: view.values,
                    mask,
                })?;
            }
            Self::Bytes { comparison, operand, .. } => {
                let (operand, comparison) = (operand.as_slice(), *comparison);
                match view.offsets {
                    Some(_) => {
                        view.test_strings(mask, |strings, mask| strings.compare(comparison, operand, mask))?;
                    }
                    None => {
                        each_cell(view, cell_size, mask, |cell| holds(comparison, Some(cell.cmp(operand))));
                    }
                }
            }
            Self::Like { pattern, is, padded } => {
                let text = |cell: &[u8]| pattern.matches(if *padded { unpadded(cell) } else { cell });
                let keep = |cell: &[u8]| text(cell) == *is;
                match view.offsets {
                    Some(_) => view.test_strings(mask, |strings, mask| strings.each(mask, keep))?,
                    None => each_cell(view, cell_size, mask, keep),
                }
            }
            Self::List { is_in, operands, .. } => match (view.offsets, cell_size) {
                (None, Some(1)) => in_list::<1>(view.values, operands, *is_in, mask),
                (None, Some(2)) => in_list::<2>(view.values, operands, *is_in, mask),
                (None, Some(4)) => in_list::<4>(view.values, operands, *is_in, mask),
                (None, Some(8)) => in_list::<8>(view.values, operands, *is_in, mask),
                _ => {
                    let keep = |cell: &[u8]| {
                        operands.binary_search_by(|operand| operand.as_slice().cmp(cell)).is_ok() == *is_in
                    };
                    match view.offsets {
                        Some(_) => view.test_strings(mask, |strings, mask| strings.each(mask, keep))?,
                        None => each_cell(view, cell_size, mask, keep),
                    }
                }
            },
            Self::Nan { is, physical } => physical.visit(FindNans { is: *is, values: view.values, mask })?,
            Self::Always(_) | Self::Null(_) => {}
        }
        Ok(())
    }
}

/// One loop over a slice, in a form that compilers vectorise.
#[inline]
fn each<T: Copy>(values: &[T], mask: &mut [u8], keep: impl Fn(T) -> bool) {
    for (slot, value) in mask.iter_mut().zip(values) {
        *slot &= u8::from(keep(*value));
    }
}

/// Tests the cells that are still wanted; they all have the same size.
fn each_cell(view: ColumnView<'_>, cell_size: Option<usize>, mask: &mut [u8], keep: impl Fn(&[u8]) -> bool) {
    let Some(size) = cell_size.filter(|size| *size > 0) else { return mask.fill(0) };
    let cells = mask.iter_mut().zip(view.values.chunks_exact(size));
    for (slot, cell) in cells.filter(|(slot, _)| **slot != 0) {
        *slot = u8::from(keep(cell));
    }
}

/// A comparison of numbers with a number.
struct CompareNumbers<'a> {
    comparison: Comparison,
    operand: &'a [u8],
    values: &'a [u8],
    mask: &'a mut [u8],
}

impl PhysicalVisitor for CompareNumbers<'_> {
    type Output = Result<()>;

    fn visit<T: Native>(self) -> Result<()> {
        let Self { comparison, operand, values, mask } = self;
        let operand = T::from_le(operand).or_internal("an operand is no value of its field")?;
        let values: &[T] = typed(values)?;
        match comparison {
            Comparison::Less => each(values, mask, |value| value < operand),
            Comparison::LessOrEqual => each(values, mask, |value| value <= operand),
            Comparison::Greater => each(values, mask, |value| value > operand),
            Comparison::GreaterOrEqual => each(values, mask, |value| value >= operand),
            Comparison::Equal => each(values, mask, |value| value == operand),
            Comparison::NotEqual => each(values, mask, |value| value != operand),
            Comparison::In | Comparison::NotIn | Comparison::AlwaysTrue | Comparison::AlwaysFalse => {
                return Err(Error::internal("a list is compared as one number"));
            }
        }
        Ok(())
    }
}

/// A test for NaN.
struct FindNans<'a> {
    is: bool,
    values: &'a [u8],
    mask: &'a mut [u8],
}

impl PhysicalVisitor for FindNans<'_> {
    type Output = Result<()>;

    fn visit<T: Native>(self) -> Result<()> {
        // Only a NaN is incomparable with itself.
        each(typed::<T>(self.values)?, self.mask, |value| value.partial_cmp(&value).is_none() == self.is);
        Ok(())
    }
}

/// The length of lists up to which operands are compared one by one, in a loop that vectorises;
/// chosen, not measured.
const MAX_COMPARED_ONE_BY_ONE: usize = 8;

/// A test for membership in a list, of cells with `N` bytes.
fn in_list<const N: usize>(values: &[u8], operands: &[Vec<u8>], is_in: bool, mask: &mut [u8]) {
    // An operand of another size cannot equal any cell.
    let operands: Vec<[u8; N]> =
        operands.iter().filter_map(|operand| operand.as_slice().try_into().ok()).collect();
    let values = values.as_chunks::<N>().0;
    if operands.len() <= MAX_COMPARED_ONE_BY_ONE {
        each(values, mask, |value| {
            operands.iter().fold(false, |found, operand| found | (*operand == value)) == is_in
        });
    } else {
        each(values, mask, |value| operands.binary_search(&value).is_ok() == is_in);
    }
}

/// Cells that columns must be correct for although the present test looks at fewer: other tests
/// will look at the others.
struct Base<'b> {
    outer: Option<&'b Self>,
    mask: &'b [u8],
    /// The fields that are looked at again; `None` for all.
    fields: Option<Vec<usize>>,
}

impl Base<'_> {
    /// The cells that a field's column must be correct for. The outermost base has the most.
    fn of(&self, field: usize) -> Option<&[u8]> {
        let outer = self.outer.and_then(|outer| outer.of(field));
        outer.or_else(|| {
            self.fields.as_ref().is_none_or(|fields| fields.contains(&field)).then_some(self.mask)
        })
    }
}

impl Node {
    /// Adds the fields that it looks at.
    fn add_fields(&self, fields: &mut Vec<usize>) {
        match self {
            Self::All(nodes) | Self::Any(nodes) => nodes.iter().for_each(|node| node.add_fields(fields)),
            Self::Not(node) => node.add_fields(fields),
            Self::Test { field, .. } => fields.push(*field),
        }
    }
}

/// The fields that more than one of some nodes looks at.
fn shared(nodes: &[Node]) -> Vec<usize> {
    let (mut once, mut again) = (Vec::new(), Vec::new());
    for node in nodes {
        let mut own = Vec::new();
        node.add_fields(&mut own);
        own.sort_unstable();
        own.dedup();
        again.extend(own.iter().copied().filter(|field| once.contains(field)));
        once.append(&mut own);
    }
    again
}

impl Program {
    /// Clears `mask` where the condition fails. Columns that facts or earlier tests make
    /// unnecessary are not requested.
    pub fn apply(&self, root: usize, columns: &mut dyn Columns, mask: &mut [u8]) -> Result<()> {
        self.run(self.root(root)?, columns, None, mask)
    }

    /// As [`Self::apply`], if the same columns will be used again for other cells: those of `base`.
    pub fn apply_within(
        &self,
        root: usize,
        columns: &mut dyn Columns,
        base: &[u8],
        mask: &mut [u8],
    ) -> Result<()> {
        let base = Base { outer: None, mask: base, fields: None };
        self.run(self.root(root)?, columns, Some(&base), mask)
    }

    fn root(&self, root: usize) -> Result<&Node> {
        self.roots.get(root).or_internal("a program has no condition with this number")
    }

    /// A column is requested for the cells of its base, or if it has none, for those of `mask`:
    /// later masks only ever get smaller.
    fn run(
        &self,
        node: &Node,
        columns: &mut dyn Columns,
        base: Option<&Base<'_>>,
        mask: &mut [u8],
    ) -> Result<()> {
        match self.verdict_of(node, &|field| columns.facts(field)) {
            Verdict::All => return Ok(()),
            Verdict::None => {
                mask.fill(0);
                return Ok(());
            }
            Verdict::Some => {}
        }
        match node {
            Node::All(nodes) => {
                // The later parts of a disjunction are asked about fewer cells than the tests after
                // the disjunction.
                let plain = nodes.iter().all(|node| matches!(node, Node::Test { .. }));
                let before = if plain { Vec::new() } else { mask.to_vec() };
                let own = Base { outer: base, mask: &before, fields: Some(shared(nodes)) };
                let base = if plain { base } else { Some(&own) };
                for node in nodes {
                    self.run(node, columns, base, mask)?;
                    if !mask.contains(&1) {
                        break;
                    }
                }
                Ok(())
            }
            Node::Any(nodes) => {
                let before = mask.to_vec();
                let own = Base { outer: base, mask: &before, fields: Some(shared(nodes)) };
                mask.fill(0);
                for node in nodes {
                    // Cells that already satisfy a test need no further one.
                    let mut rest: Vec<u8> =
                        before.iter().zip(mask.iter()).map(|(wanted, held)| wanted & !held).collect();
                    if !rest.contains(&1) {
                        break;
                    }
                    self.run(node, columns, Some(&own), &mut rest)?;
                    mask.iter_mut().zip(&rest).for_each(|(held, more)| *held |= more);
                }
                Ok(())
            }
            Node::Not(node) => {
                let before = mask.to_vec();
                let mut held = mask.to_vec();
                // The cells that fail the negated node are left.
                let mut fields = Vec::new();
                node.add_fields(&mut fields);
                let own = Base { outer: base, mask: &before, fields: Some(fields) };
                self.run(node, columns, Some(&own), &mut held)?;
                mask.iter_mut().zip(&held).for_each(|(slot, held)| *slot &= 1 ^ held);
                Ok(())
            }
            Node::Test { field, test } => {
                let view = match base.and_then(|base| base.of(*field)) {
                    Some(base) => columns.column(*field, base)?,
                    None => columns.column(*field, mask)?,
                };
                let cell_size = self.fields.get(*field).and_then(|field| field.spec.cell_size);
                match view {
                    Some(view) => test.apply(view, cell_size, mask)?,
                    None => mask.fill(0),
                }
                Ok(())
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
