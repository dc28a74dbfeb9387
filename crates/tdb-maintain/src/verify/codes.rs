//! Codes of enumerated attributes that are past the end of their enumeration: they read as null,
//! which is worth a note.

use core::ops::Range as Cells;
use std::sync::Arc;

use tdb_codec::{CellValNum, to_u64};
use tdb_schema::{ArraySchema, Attribute, Codes, FieldKind};

use super::Verifier;
use super::data::Column;
use super::report::{Check, Problem};
use crate::coordinate::show_value;
use crate::fragment::Fragment;
use crate::paths::OLD_SCHEMA;

const WHY: &str = "codes past the end of an enumeration read as null";

impl Verifier {
    /// The codes that a field of a fragment may have: those of the newest schema that has it,
    /// because readers use that one.
    pub(super) fn codes_of(&self, fragment: &Fragment, column: &Column<'_>) -> Option<Codes> {
        let field = column.subject.field.filter(|field| matches!(field.kind, FieldKind::Attribute(_)))?;
        let own = fragment.schema().attribute(field.name)?;
        let newest = self.schemas.iter().max_by_key(|(key, _)| (*key != OLD_SCHEMA, *key));
        let newest = newest.map(|(_, schema)| schema);
        let same = |attribute: &&Attribute| {
            attribute.enumeration == own.enumeration && attribute.datatype == own.datatype
        };
        let found = newest.filter(|schema| schema.attribute(field.name).as_ref().is_some_and(same));
        let schema: &ArraySchema = found.map_or_else(|| fragment.schema(), Arc::as_ref);
        let single = own.cell_val_num == CellValNum::ONE;
        let entry = schema.enumerations.iter().find(|entry| Some(&entry.name) == own.enumeration.as_ref());
        let values = self.enumerations.get(&entry.filter(|_| single)?.file_name)?;
        Some(Codes::new(own, values))
    }

    /// Notes the codes of a decoded tile that are past the end. `runs` are the cells that belong to
    /// the fragment.
    pub(super) fn note_codes(
        &mut self,
        fragment: &Fragment,
        column: &Column<'_>,
        codes: &Codes,
        (tile, count): (usize, usize),
        runs: Option<&[Cells<usize>]>,
    ) {
        let cells = column.cells(count, runs);
        let mut from = 0;
        while let Some(cell) = codes.past_end(cells.values, cells.validity, from) {
            from = cell.saturating_add(1);
            if runs.is_some_and(|runs| !runs.iter().any(|run| run.contains(&cell))) {
                continue;
            }
            let describe = || {
                let attribute = codes.attribute();
                let size = attribute.datatype.size();
                let start = cell.saturating_mul(size);
                let code = cells.values.get(start..start.saturating_add(size)).unwrap_or_default();
                let code = show_value(attribute.datatype, false, code);
                let name = attribute.enumeration.as_deref().unwrap_or_default();
                let (tile, values) = (to_u64(tile), codes.values());
                let what = format!(
                    "cell {cell} of tile {tile} of {} has the code {code}, but enumeration {name:?} has {values} values",
                    column.subject.name
                );
                Problem { path: self.context.describe(fragment.folder()), offset: None, what }
            };
            self.findings.add(Check::Codes, Some(WHY), describe);
        }
    }
}
