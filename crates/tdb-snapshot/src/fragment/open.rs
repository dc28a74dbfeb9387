//! Opens a fragment: reads its footer, or, in versions 1 and 2, all of its metadata.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock};

use bytes::Bytes;
use tdb_codec::{Gate, to_u64};
use tdb_fragment::{Footer, FooterLocation, LegacyMetadata, RTree, Section, Slots};
use tdb_schema::ArraySchema;

use super::bounds::beyond;
use super::{COORDS, Fragment, MetadataFile, read_range};
use crate::context::Context;
use crate::directory::FragmentEntry;
use crate::paths::FRAGMENT_METADATA;
use crate::storage::join;
use crate::{Error, OrInternal, Result};

/// The offset of a footer whose position in the fragment's own file is not known.
pub(super) const ELSEWHERE: u64 = u64::MAX;

impl Fragment {
    /// Reads a fragment's footer. `schemas` loads a schema by its file's name.
    #[doc(hidden)]
    pub fn open(
        context: &Context,
        entry: FragmentEntry,
        schemas: &dyn Fn(Option<&str>) -> Result<Arc<ArraySchema>>,
    ) -> Result<Self> {
        let metadata_key = join(&entry.folder, FRAGMENT_METADATA);
        let path = || context.describe(&metadata_key);
        let version = entry.version();
        if !version.has(Gate::FragmentFooter) {
            let (size, tail) = context
                .storage
                .read_tail(&metadata_key, u64::MAX)
                .map_err(|error| Error::io(path(), error))?;
            return Self::open_legacy(context, entry, schemas, metadata_key, size, tail);
        }
        let corrupt = |error: tdb_codec::Error| Error::corrupt(path(), error);
        let old_schema = if version.has(Gate::SchemaFolder) { None } else { Some(schemas(None)?) };
        let location = FooterLocation::of(version, old_schema.as_deref()).map_err(corrupt)?;
        let own = MetadataFile::read(context, &metadata_key, location)?;
        let read;
        let bytes = match own.cached(&own.footer) {
            Some(bytes) => bytes,
            None => {
                read = read_range(context, &metadata_key, own.footer.clone())?;
                &read
            }
        };
        let (_, name) = Footer::parse_head(bytes, own.footer.start).map_err(corrupt)?;
        let schema = schemas(name.as_deref())?;
        let footer = Footer::parse(bytes, own.footer.start, &schema).map_err(corrupt)?;
        Ok(Self {
            entry,
            beyond: beyond(&footer, &schema),
            schema,
            footer,
            metadata_key,
            own: OnceLock::from(Arc::new(own)),
            writer: OnceLock::new(),
            lists: Mutex::default(),
            rtree: Mutex::default(),
            infers: true,
        })
    }

    /// A fragment whose footer is in consolidated metadata: its own file is read when a section is
    /// needed. `None` if the footer cannot belong to this fragment.
    pub(crate) fn from_consolidated(
        entry: &FragmentEntry,
        bytes: &[u8],
        schemas: &dyn Fn(Option<&str>) -> Result<Arc<ArraySchema>>,
    ) -> Option<Self> {
        let (version, name) = Footer::parse_head(bytes, 0).ok()?;
        // In older versions the position of the footer depends on the schema, and names have
        // another form.
        if version != entry.version() || !version.has(Gate::SchemaFolder) {
            return None;
        }
        let schema = schemas(name.as_deref()).ok()?;
        let mut footer = Footer::parse(bytes, 0, &schema).ok()?;
        footer.offset = ELSEWHERE;
        let metadata_key = join(&entry.folder, FRAGMENT_METADATA);
        let (own, writer) = (OnceLock::new(), OnceLock::new());
        let (lists, rtree) = (Mutex::default(), Mutex::default());
        let beyond = beyond(&footer, &schema);
        let entry = entry.clone();
        Some(Self { entry, schema, footer, beyond, metadata_key, own, writer, lists, rtree, infers: true })
    }

    /// Versions 1 and 2: one generic tile contains everything, so all sections are known at once.
    fn open_legacy(
        context: &Context,
        entry: FragmentEntry,
        schemas: &dyn Fn(Option<&str>) -> Result<Arc<ArraySchema>>,
        metadata_key: String,
        metadata_size: u64,
        tail: Bytes,
    ) -> Result<Self> {
        let schema = schemas(None)?;
        let corrupt = |error: tdb_codec::Error| Error::corrupt(context.describe(&metadata_key), error);
        let payload = context.generic_tile(&metadata_key, &tail, 0)?;
        let legacy = LegacyMetadata::parse(&payload, &schema).map_err(corrupt)?;
        let slots = Slots::new(&schema, legacy.version, false, false);
        let coords = join(&entry.folder, COORDS);
        let dense = match context.storage.size(&coords) {
            Ok(_) => false,
            Err(error) if error.kind() == io::ErrorKind::NotFound => true,
            Err(error) => return Err(Error::io(context.describe(&coords), error)),
        };
        let tiles =
            legacy.tile_offsets.get(slots.coords()).or_internal("a fragment without coordinates")?.len();
        let mut footer = Footer::new(legacy.version, slots, metadata_size);
        footer.dense = dense;
        footer.non_empty_domain = legacy.non_empty_domain;
        footer.sparse_tile_num = if dense { 0 } else { to_u64(tiles) };
        footer.last_tile_cell_num = legacy.last_tile_cell_num;
        footer.file_sizes = legacy.file_sizes;
        footer.file_var_sizes = legacy.file_var_sizes;
        let own = MetadataFile { size: metadata_size, tail, footer: metadata_size..metadata_size };
        let mut lists = HashMap::new();
        type Make = fn(usize) -> Section;
        let groups: [(Make, Vec<Vec<u64>>); 3] = [
            (Section::TileOffsets, legacy.tile_offsets),
            (Section::VarOffsets, legacy.var_offsets),
            (Section::VarSizes, legacy.var_sizes),
        ];
        for (make, group) in groups {
            lists.extend(group.into_iter().enumerate().map(|(slot, list)| (make(slot), Arc::new(list))));
        }
        let rtree = RTree::build(&legacy.mbrs, &schema.domain).map_err(corrupt)?;
        Ok(Self {
            entry,
            // These versions have no dates.
            beyond: None,
            schema,
            footer,
            metadata_key,
            own: OnceLock::from(Arc::new(own)),
            writer: OnceLock::from(legacy.version),
            lists: Mutex::new(lists),
            rtree: Mutex::new(Some(Arc::new(rtree))),
            infers: false,
        })
    }
}
