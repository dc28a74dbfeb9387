//! Rectangles of tiles: within those above them, no larger than their cells need, and together
//! equal to the area of the fragment.

use tdb_fragment::{RTree, Section};
use tdb_schema::{Field, FieldKind, Range};

use super::Verifier;
use super::known::{Finding, FindingValues, known};
use super::report::{Check, Problem};
use crate::coordinate::show_value;
use crate::fragment::Fragment;

impl Verifier {
    /// Compares rectangles with those above them, and all of them with the fragment's non-empty
    /// domain.
    pub(super) fn rectangles(&mut self, fragment: &Fragment, rtree: &RTree) {
        for field in dimensions(fragment) {
            let FieldKind::Dimension(index) = field.kind else { continue };
            for (level, nodes) in rtree.levels().iter().enumerate().skip(1) {
                for node in 0..nodes.len() {
                    let above = node.checked_div(rtree.fanout()).unwrap_or(0);
                    let range = |level, node| range(rtree, level, node, index);
                    let (Some(own), Some(above)) =
                        (range(level, node), range(level.saturating_sub(1), above))
                    else {
                        continue;
                    };
                    if !above.covers(field.datatype, &own) {
                        let of = if level.saturating_add(1) == rtree.levels().len() {
                            format!("the rectangle of tile {node}")
                        } else {
                            format!("rectangle {node} of level {level} of the R-tree")
                        };
                        let what = format!("{of} is {}, outside the one above it,", show(&field, &own));
                        self.rectangle(
                            fragment,
                            (&field, &above),
                            Check::Parent,
                            &format!("{what} {}", show(&field, &above)),
                        );
                    }
                }
            }
            let Some(covered) = fragment.non_empty_domain().and_then(|domain| domain.get(index)) else {
                continue;
            };
            let leaves = (0..rtree.leaf_count()).filter_map(|tile| leaf(rtree, tile, index));
            let all = leaves.reduce(|mut all, leaf| {
                all.unite(field.datatype, &leaf);
                all
            });
            if let Some(all) = all.filter(|all| !same(&field, all, covered)) {
                let what = format!(
                    "the fragment's non-empty domain is {}, but its tiles' rectangles span",
                    show(&field, covered)
                );
                self.rectangle(
                    fragment,
                    (&field, covered),
                    Check::Domain,
                    &format!("{what} {}", show(&field, &all)),
                );
            }
        }
    }

    /// Compares a tile's rectangle with the interval that its cells span.
    pub(super) fn tight(
        &mut self,
        fragment: &Fragment,
        (field, tile): (&Field<'_>, usize),
        rtree: &RTree,
        cells: &(Vec<u8>, Vec<u8>),
    ) {
        let FieldKind::Dimension(index) = field.kind else { return };
        let Some(leaf) = leaf(rtree, tile, index) else { return };
        let cells = Range::new(cells.0.clone(), cells.1.clone());
        // Cells outside it are reported individually.
        if leaf.covers(field.datatype, &cells) && !same(field, &leaf, &cells) {
            let what = format!(
                "the rectangle of tile {tile} is {}, but its cells span {}",
                show(field, &leaf),
                show(field, &cells)
            );
            self.rectangle(fragment, (field, &leaf), Check::Tight, &what);
        }
    }

    /// Reports an interval of a dimension.
    fn rectangle(
        &mut self,
        fragment: &Fragment,
        (field, range): (&Field<'_>, &Range),
        check: Check,
        what: &str,
    ) {
        let values = FindingValues { empty: range.low.is_empty(), ..FindingValues::default() };
        let known = known(check, &Finding { fragment, field: Some(field), values });
        let path = self.context.describe(fragment.metadata_key());
        let offset = fragment.footer().sections.get(Section::RTree);
        let what = format!("{what} in dimension {:?}", field.name);
        self.findings.add(check, known, || Problem { path, offset, what });
    }
}

/// The dimensions as fields.
pub(super) fn dimensions(fragment: &Fragment) -> impl Iterator<Item = Field<'_>> {
    fragment.schema().fields().filter(|field| matches!(field.kind, FieldKind::Dimension(_)))
}

/// A tile's interval in a dimension.
pub(super) fn leaf(rtree: &RTree, tile: usize, dimension: usize) -> Option<Range> {
    range(rtree, rtree.levels().len().checked_sub(1)?, tile, dimension)
}

fn range(rtree: &RTree, level: usize, node: usize, dimension: usize) -> Option<Range> {
    let (low, high) = rtree.node(level, node)?.range(dimension)?;
    Some(Range::new(low, high))
}

fn same(field: &Field<'_>, a: &Range, b: &Range) -> bool {
    a.covers(field.datatype, b) && b.covers(field.datatype, a)
}

/// An interval as a text for a message.
pub(super) fn show(field: &Field<'_>, range: &Range) -> String {
    let show = |end: &[u8]| show_value(field.datatype, field.is_var(), end);
    format!("{} to {}", show(&range.low), show(&range.high))
}
