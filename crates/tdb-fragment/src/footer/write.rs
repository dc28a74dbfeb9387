//! Writes footers as bytes.

use tdb_codec::{Error, ErrorKind, Gate, Result, Writer};
use tdb_schema::ArraySchema;

use super::Footer;
use crate::Slots;
use crate::legacy::check_len;

impl Footer {
    /// The footer's bytes, without the length that may follow it in the file
    /// ([`FooterLocation::end`]). The version that is written is that of the footer.
    ///
    /// # Errors
    /// [`ErrorKind::NotInVersion`] for a field that the version does not have;
    /// [`ErrorKind::WrongLength`] for a list whose length does not follow from the schema and the
    /// flags; an error if an optional section is 4 GiB or more.
    ///
    /// [`FooterLocation::end`]: crate::FooterLocation::end
    pub fn to_bytes(&self, schema: &ArraySchema) -> Result<Vec<u8>> {
        self.check_for_writing(schema)?;
        let mut writer = Writer::new();
        writer.u32(self.version.number());
        if let Some(name) = &self.schema_name {
            writer.bytes_u64(name.as_bytes());
        }
        writer.bool(self.dense);
        writer.bool(self.non_empty_domain.is_none());
        match &self.non_empty_domain {
            Some(ranges) => {
                for (range, dimension) in ranges.iter().zip(&schema.domain.dimensions) {
                    range.write(&mut writer, dimension);
                }
            }
            None => {
                let dimensions = &schema.domain.dimensions;
                let size = dimensions.first().map_or(0, |dimension| dimension.datatype.size());
                writer.bytes(&vec![0; size.saturating_mul(2).saturating_mul(dimensions.len())]);
            }
        }
        writer.u64(self.sparse_tile_num);
        writer.u64(self.last_tile_cell_num);
        if self.version.has(Gate::CellTimestamps) {
            writer.bool(self.has_timestamps);
        }
        if self.version.has(Gate::DeleteMetadata) {
            writer.bool(self.has_delete_metadata);
        }
        for sizes in [&self.file_sizes, &self.file_var_sizes, &self.file_validity_sizes] {
            sizes.iter().for_each(|size| writer.u64(*size));
        }
        self.sections.write(&mut writer);
        if self.version.has(Gate::OptionalSections) {
            writer.len_u32(self.optional.len(), "optional section count")?;
            for section in &self.optional {
                writer.u64(section.identifier);
                writer.bytes_u32(&section.data, "optional section")?;
            }
        }
        Ok(writer.into_vec())
    }

    /// Checks that the footer can be read back unchanged.
    fn check_for_writing(&self, schema: &ArraySchema) -> Result<()> {
        let version = self.version;
        for (what, said, gate) in [
            ("fragment version", true, Gate::FragmentFooter),
            ("schema name", self.schema_name.is_some(), Gate::SchemaFolder),
            ("has timestamps", self.has_timestamps, Gate::CellTimestamps),
            ("has delete metadata", self.has_delete_metadata, Gate::DeleteMetadata),
            ("optional section", !self.optional.is_empty(), Gate::OptionalSections),
        ] {
            if said && !version.has(gate) {
                return Err(Error::not_in_version(what, version));
            }
        }
        if self.schema_name.as_deref().unwrap_or_default().is_empty() && version.has(Gate::SchemaFolder) {
            return Err(Error::new("schema name", 0, ErrorKind::WrongLength { value: 0 }));
        }
        let dimensions = &schema.domain.dimensions;
        if let Some(ranges) = &self.non_empty_domain {
            check_len("non-empty domain", ranges.len(), dimensions.len())?;
            for (range, dimension) in
                ranges.iter().zip(dimensions).filter(|(_, dimension)| !dimension.is_var())
            {
                check_len("non-empty domain", range.low.len(), dimension.datatype.size())?;
                check_len("non-empty domain", range.high.len(), dimension.datatype.size())?;
            }
        }
        let slots = Slots::new(schema, version, self.has_timestamps, self.has_delete_metadata);
        let validity = if version.has(Gate::Nullable) { slots.len() } else { 0 };
        check_len("file sizes", self.file_sizes.len(), slots.len())?;
        check_len("file var sizes", self.file_var_sizes.len(), slots.var_len(version))?;
        check_len("file validity sizes", self.file_validity_sizes.len(), validity)?;
        let (found, expected) = self.sections.counts(version, slots);
        check_len("section offset", found, expected)
    }
}
