//! Files as arrays: a dense array of bytes, and what its metadata says about the file.

use tdb_array::schema::{ArrayType, Attribute, CellValNum, Datatype, Dimension, Domain};
use tdb_array::write::MetadataChanges;
use tdb_array::{Array, WriteColumn};

use crate::array_schema::SchemaObject;
use crate::context::{Context, Ctx};
use crate::enums::MIME_TYPES;
use crate::ffi::{Data, Failure, Out, OutHandle, Outcome, Text};
use crate::misc::now;
use crate::object::check_exists;
use crate::place::{self, Place};
use crate::vfs::FileHandle;

/// The names of the dimension and the attribute.
const POSITION: &str = "position";
const CONTENTS: &str = "contents";

/// The keys of the metadata.
const SIZE: &str = "file_size";
const MIME_TYPE: &str = "mime_type";
const MIME_ENCODING: &str = "mime_encoding";
const FILE_NAME: &str = "original_file_name";
const EXTENSION: &str = "file_extension";

/// The tile extents of arrays, in bytes, for files of more bytes than these.
const EXTENTS: [(u64, u64); 3] = [(1 << 30, 100 << 20), (100 << 20, 1 << 20), (1 << 20, 256 << 10)];
/// That for smaller files.
const MIN_EXTENT: u64 = 1 << 10;

/// The least memory for tiles that are being written.
const WRITE_MEMORY: u64 = 64 << 20;

fn extent_for(size: u64) -> u64 {
    EXTENTS.iter().find(|(least, _)| size > *least).map_or(MIN_EXTENT, |(_, extent)| *extent)
}

/// How many bytes are read or written at once: whole tiles.
fn buffer_size(context: &Context, extent: u64) -> Result<u64, Failure> {
    let size = context.config().parsed::<u64>("filestore.buffer_size").unwrap_or(0);
    let tiles = size.checked_div(extent).filter(|tiles| *tiles > 0);
    let tiles = tiles.ok_or_else(|| {
        Failure::new(format!(
            "The buffer size configured via filestore.buffer_size is smaller than current {extent} tile extent"
        ))
    })?;
    Ok(tiles.saturating_mul(extent))
}

/// A number of bytes in memory.
fn in_memory(size: u64) -> Result<usize, Failure> {
    usize::try_from(size).map_err(|_| "no memory is that large".into())
}

fn schema(extent: u64) -> Result<SchemaObject, Failure> {
    let object = SchemaObject::new(ArrayType::Dense, None);
    {
        let mut schema = object.0.lock();
        let last = u64::MAX.saturating_sub(extent).saturating_sub(1);
        let dimension = Dimension::new(POSITION, 0..=last).with_tile(extent);
        schema.schema.domain = Domain { dimensions: vec![dimension] };
        schema.schema.attributes.push(Attribute::new(CONTENTS, Datatype::Blob, CellValNum::ONE));
    }
    Ok(object)
}

fn mime_word(number: u32) -> Result<&'static str, Failure> {
    let known = MIME_TYPES.word(number).ok_or("Invalid mime type")?;
    // A type is not found out any more.
    Ok(if known.contains('/') { known } else { "application/octet-stream" })
}

/// The name of a file and its extension.
fn name_and_extension(uri: &str) -> (&str, &str) {
    let name = uri.rsplit('/').next().unwrap_or(uri);
    match uri.rfind('.') {
        Some(dot) => {
            let extension = uri.get(dot.saturating_add(1)..).unwrap_or_default();
            (name.strip_suffix(extension).and_then(|name| name.strip_suffix('.')).unwrap_or(name), extension)
        }
        // As libtiledb has it.
        None => (name, uri),
    }
}

/// The metadata of a file.
fn metadata(size: u64, mime_type: &str, (name, extension): (&str, &str)) -> MetadataChanges {
    MetadataChanges::new()
        .put_values(SIZE, Datatype::Uint64, &[size])
        .put_text(MIME_ENCODING, "binary")
        .put_text(MIME_TYPE, mime_type)
        .put_text(FILE_NAME, name)
        .put_text(EXTENSION, extension)
}

/// Writes the first cells of an array, which a function reads into a buffer, and its metadata, both
/// at the same time.
fn import(
    context: &Context,
    uri: &str,
    cells: u64,
    buffer: u64,
    metadata: &MetadataChanges,
    mut read: impl FnMut(u64, &mut [u8]) -> Outcome,
) -> Outcome {
    let place = Place::of(context, uri)?;
    check_exists(&place)?;
    let options = place::write_options(context, context.config())?.timestamp(now());
    let writer = options.open_storage(place.storage()?)?;
    let extent = writer.schema().domain.dimensions.first().and_then(Dimension::extent_cells);
    let memory = extent.unwrap_or(0).saturating_mul(4).max(WRITE_MEMORY);
    let range = 0..=cells.saturating_sub(1);
    let mut stream = writer.write().range(POSITION, range).stream(in_memory(memory)?)?;
    let mut bytes = vec![0; in_memory(buffer.min(cells))?];
    let mut start = 0u64;
    while start < cells {
        let length = buffer.min(cells.saturating_sub(start));
        let part = bytes.get_mut(..in_memory(length)?).unwrap_or_default();
        read(start, part)?;
        stream.append(&[WriteColumn::bytes(CONTENTS, part)])?;
        start = start.saturating_add(length);
    }
    stream.commit()?;
    writer.write_metadata(metadata)?;
    Ok(())
}

/// Opens an array with a file for reading.
fn open(context: &Context, uri: &str) -> Result<Array, Failure> {
    let place = Place::of(context, uri)?;
    check_exists(&place)?;
    Ok(place::open_options(context, context.config())?.open_storage(place.storage()?)?)
}

/// The size of the file in an array.
fn file_size(array: &Array) -> Result<u64, Failure> {
    let metadata = array.metadata()?;
    let bytes = metadata.get(SIZE).and_then(|value| <[u8; 8]>::try_from(&*value.data).ok());
    let size = bytes.map(u64::from_le_bytes);
    size.ok_or_else(|| {
        Failure::new(format!("Filestore size key not found: the array metadata doesn't contain '{SIZE}'"))
    })
}

/// Reads bytes of a file.
fn read(array: &Array, start: u64, out: &mut [u8]) -> Outcome {
    let length = crate::number(out.len());
    if length == 0 {
        return Ok(());
    }
    let last = start.saturating_add(length).saturating_sub(1);
    let cells = array.read().fields([CONTENTS]).range(POSITION, start..=last).collect()?;
    let found = cells.field(CONTENTS)?.bytes();
    if found.len() != out.len() {
        return Err("Error whilst reading the file".into());
    }
    out.copy_from_slice(found);
    Ok(())
}

exported! {
    fn tiledb_filestore_schema_create(ctx: Ctx, uri: Text, schema_out: OutHandle<SchemaObject>) -> Code for ctx {
        let size = match uri.optional("uri")? {
            Some(uri) => Place::of(ctx.get()?, uri)?.size()?,
            None => 0,
        };
        schema_out.put(schema(extent_for(size))?)
    }

    fn tiledb_filestore_uri_import(ctx: Ctx, array: Text, file: Text, mime_type: u32) -> Code for ctx {
        let (context, uri) = (ctx.get()?, file.get("file_uri")?);
        let (array, mime_type) = (array.get("filestore_array_uri")?, mime_word(mime_type)?);
        let place = Place::of(context, uri)?;
        let size = place.size()?;
        if size == 0 {
            return Ok(());
        }
        let extent = extent_for(size);
        let buffer = buffer_size(context, extent)?;
        // Whole tiles, the last of which ends with zeros.
        let cells = size.div_ceil(extent).saturating_mul(extent);
        let metadata = metadata(size, mime_type, name_and_extension(uri));
        import(context, array, cells, buffer, &metadata, |start, out| {
            let inside = in_memory(size.saturating_sub(start))?.min(out.len());
            let (file, rest) = out.split_at_mut(inside);
            rest.fill(0);
            place.read_into(start, file)
        })
    }

    fn tiledb_filestore_uri_export(ctx: Ctx, file: Text, array: Text) -> Code for ctx {
        let context = ctx.get()?;
        let place = Place::of(context, file.get("file_uri")?)?;
        let array = open(context, array.get("filestore_array_uri")?)?;
        let size = file_size(&array)?;
        let buffer = buffer_size(context, extent_for(size))?;
        let mut bytes = vec![0; in_memory(buffer.min(size))?];
        FileHandle::create(place, |file| {
            let mut start = 0u64;
            while start < size {
                let length = buffer.min(size.saturating_sub(start));
                let part = bytes.get_mut(..in_memory(length)?).unwrap_or_default();
                read(&array, start, part)?;
                file.write(part)?;
                start = start.saturating_add(length);
            }
            Ok(())
        })
    }

    fn tiledb_filestore_buffer_import(ctx: Ctx, array: Text, buffer: Data, size: u64, mime_type: u32) -> Code for ctx {
        let (context, array) = (ctx.get()?, array.get("filestore_array_uri")?);
        let mime_type = mime_word(mime_type)?;
        if buffer.is_null() {
            return Err("Invalid pointer".into());
        }
        let bytes = buffer.bytes(size)?;
        if bytes.is_empty() {
            return Ok(());
        }
        let metadata = metadata(size, mime_type, ("", ""));
        import(context, array, size, size, &metadata, |_, out| {
            out.copy_from_slice(bytes);
            Ok(())
        })
    }

    fn tiledb_filestore_buffer_export(ctx: Ctx, array: Text, offset: u64, buffer: Out<u8>, size: u64) -> Code for ctx {
        let array = open(ctx.get()?, array.get("filestore_array_uri")?)?;
        let end = offset.checked_add(size);
        if end.is_none_or(|end| file_size(&array).is_ok_and(|size| end > size)) {
            return Err("The number of bytes requested is bigger than the array".into());
        }
        file_size(&array)?;
        buffer.with_bytes(size, |out| read(&array, offset, out))
    }

    fn tiledb_filestore_size(ctx: Ctx, array: Text, size: Out<u64>) -> Code for ctx {
        size.set(file_size(&open(ctx.get()?, array.get("filestore_array_uri")?)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_the_tile_extent_for_its_size() {
        let sizes = [0, 1 << 20, (1 << 20) + 1, (100 << 20) + 1, (1 << 30) + 1];
        assert_eq!(sizes.map(extent_for), [1 << 10, 1 << 10, 256 << 10, 1 << 20, 100 << 20]);
    }

    #[test]
    fn the_name_of_a_file_ends_before_its_last_dot() {
        assert_eq!(name_and_extension("file:///a.b/name.tar.gz"), ("name.tar", "gz"));
        assert_eq!(name_and_extension("dir/name"), ("name", "dir/name"));
        assert_eq!(name_and_extension("dir/.hidden"), ("", "hidden"));
    }
}
