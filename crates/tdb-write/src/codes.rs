//! Codes of enumerated attributes: a write with one past the end of its enumeration is refused,
//! because nobody could read it.

use tdb_codec::{CellValNum, to_u64};
use tdb_schema::{ArraySchema, Codes, Enumeration, FieldKind};

use crate::column::{self, CheckedColumn};
use crate::coordinate::show_value;
use crate::operands::ConditionTarget;
use crate::schemas::load_enumeration;
use crate::{ArrayWriter, WriteColumn};
use crate::{OrInternal, Result, WriteError};

/// Conditions of deletes.
impl ConditionTarget for ArrayWriter {
    fn schema(&self) -> &ArraySchema {
        &self.schema
    }

    fn enumeration(&self, name: &str) -> Result<Option<Enumeration>> {
        Self::enumeration(self, name)
    }
}

impl ArrayWriter {
    /// Checks the columns of a write; returns them in the order of `kinds`, and the number of
    /// cells. `first` is the number of the first cell, for messages.
    pub(super) fn check<'a>(
        &self,
        kinds: &[FieldKind],
        columns: &[WriteColumn<'a>],
        first: u64,
    ) -> Result<(Vec<CheckedColumn<'a>>, usize)> {
        let (columns, cells) = column::check(self.schema(), kinds, columns)?;
        if !self.options.any_codes {
            self.check_codes(&columns, first)?;
        }
        Ok((columns, cells))
    }

    fn check_codes(&self, columns: &[CheckedColumn<'_>], first: u64) -> Result<()> {
        for (index, codes) in self.codes()? {
            let of = |column: &&CheckedColumn<'_>| column.kind == FieldKind::Attribute(*index);
            let Some(column) = columns.iter().find(of) else { continue };
            if let Some(cell) = codes.past_end(column.values, column.validity, 0) {
                let attribute = codes.attribute();
                let code = column.cell(cell).or_internal("a column without the cell whose code is wrong")?;
                let code = show_value(attribute.datatype, false, code);
                return Err(WriteError::PastEnumeration {
                    field: attribute.name.clone(),
                    cell: first.saturating_add(to_u64(cell)),
                    code,
                    enumeration: attribute.enumeration.clone().or_internal("codes without an enumeration")?,
                    values: codes.values(),
                }
                .into());
            }
        }
        Ok(())
    }

    /// The codes that each enumerated attribute may have. The enumerations are read when cells are
    /// first written.
    fn codes(&self) -> Result<&[(usize, Codes)]> {
        if let Some(codes) = self.codes.get() {
            return Ok(codes);
        }
        let mut found = Vec::new();
        for (index, attribute) in self.schema.attributes.iter().enumerate() {
            let single = attribute.cell_val_num == CellValNum::ONE;
            let name = attribute.enumeration.as_deref().filter(|_| single);
            let Some(name) = name else { continue };
            // Schemas whose attributes refer to other enumerations are refused.
            let enumeration = self
                .enumeration(name)?
                .or_internal("an attribute whose enumeration the schema does not have")?;
            found.push((index, Codes::new(attribute, &enumeration)));
        }
        Ok(self.codes.get_or_init(|| found))
    }

    /// Reads an enumeration of the schema, whose codes are written; `None` if there is none of this
    /// name.
    ///
    /// # Errors
    /// A missing or damaged enumeration file.
    pub fn enumeration(&self, name: &str) -> Result<Option<Enumeration>> {
        // An array that is not finished has no file of it yet.
        let mut given = self.options.enumerations.iter().filter(|_| self.is_new);
        if let Some(given) = given.find(|given| given.name == name) {
            return Ok(Some(given.clone()));
        }
        let entry = self.schema.enumerations.iter().find(|entry| entry.name == name);
        entry.map(|entry| load_enumeration(&self.context, &self.schema_key, entry)).transpose()
    }
}
