//! The data files of a field that is being written.

use tdb_codec::{Gate, to_u64};
use tdb_fragment::{DataFile, DataFilePart};
use tdb_schema::FieldKind;

use crate::ArrayWriter;
use crate::fragment_metadata::{FieldSummary, TileList};
use crate::merged;
use crate::storage::{Durability, FileWriter, join};
use crate::tile::{EncodedTile, FieldEncoder};
use crate::{Error, Result};

/// The files of one field.
#[derive(Debug)]
pub(super) struct Output<'a> {
    fixed: DataOutput<'a>,
    values: Option<DataOutput<'a>>,
    validity: Option<DataOutput<'a>>,
}

/// A data file to which tiles are appended.
#[derive(Debug)]
pub(super) struct DataOutput<'a> {
    path: String,
    file: Box<dyn FileWriter + 'a>,
}

impl<'a> Output<'a> {
    pub(super) fn begin(array: &'a ArrayWriter, folder: &str, encoder: &FieldEncoder) -> Result<Self> {
        let schema = array.schema();
        let open = |part| -> Result<DataOutput<'a>> {
            let file = match encoder.kind {
                FieldKind::Dimension(_) if !schema.version.has(Gate::DimensionFiles) => DataFile::Coords,
                kind => merged::data_file(schema, kind).unwrap_or(DataFile::Field(kind, part)),
            };
            let name = file.name(schema, schema.version);
            let name = name.filter(|name| tdb_fragment::is_plain_name(name)).ok_or_else(|| {
                let what = "the name of a field cannot be used as a file name, which this version requires";
                Error::unsupported(array.describe(&array.schema_key), what)
            })?;
            let key = join(folder, &name);
            let path = array.describe(&key);
            let file = array.storage.create_file(&key).map_err(|error| Error::io(&path, error))?;
            Ok(DataOutput { path, file })
        };
        let fixed = open(DataFilePart::Fixed)?;
        let values = encoder.cell_size.is_none().then(|| open(DataFilePart::Var)).transpose()?;
        let validity = encoder.is_nullable().then(|| open(DataFilePart::Validity)).transpose()?;
        Ok(Self { fixed, values, validity })
    }

    pub(super) fn append(&mut self, tile: &EncodedTile, summary: &mut FieldSummary) -> Result<()> {
        self.fixed.append(&tile.fixed, &mut summary.fixed)?;
        match (&mut self.values, &tile.values) {
            (Some(output), Some((bytes, size))) => {
                output.append(bytes, &mut summary.values)?;
                summary.var_sizes.push(*size);
            }
            (None, None) => {}
            _ => return Err(Error::internal("values without a file, or a file without values")),
        }
        match (&mut self.validity, &tile.validity) {
            (Some(output), Some(bytes)) => output.append(bytes, &mut summary.validity)?,
            (None, None) => {}
            _ => return Err(Error::internal("validity without a file, or a file without validity")),
        }
        summary.note(tile.cells, &tile.statistics)
    }

    /// Nothing more is appended: all files are being transferred before the first is waited for.
    pub(super) fn end(&mut self) {
        let Self { fixed, values, validity } = self;
        [Some(fixed), values.as_mut(), validity.as_mut()]
            .into_iter()
            .flatten()
            .for_each(|output| output.file.end());
    }

    pub(super) fn finish(self, durability: Durability) -> Result<()> {
        let Self { fixed, values, validity } = self;
        fixed.finish(durability)?;
        values.into_iter().chain(validity).try_for_each(|output| output.finish(durability))
    }
}

impl<'a> DataOutput<'a> {
    /// A file with all of its bytes, whose transfer has begun.
    pub(super) fn whole(array: &'a ArrayWriter, key: &str, bytes: &[u8]) -> Result<Self> {
        let path = array.describe(key);
        let written = array.storage.create_file(key).and_then(|mut file| {
            file.append(bytes)?;
            file.end();
            Ok(file)
        });
        let file = written.map_err(|error| Error::io(&path, error))?;
        Ok(Self { path, file })
    }

    /// Appends a tile and records where it begins.
    fn append(&mut self, tile: &[u8], tiles: &mut TileList) -> Result<()> {
        self.file.append(tile).map_err(|error| Error::io(&self.path, error))?;
        tiles.push(to_u64(tile.len()));
        Ok(())
    }

    pub(super) fn finish(self, durability: Durability) -> Result<()> {
        self.file.finish(durability).map_err(|error| Error::io(&self.path, error))
    }
}
