//! Every data tile of the fixtures, decoded and encoded again, has the bytes libtiledb wrote.
//!
//! If the pipeline has a library's codec, other releases of the codec may choose other bytes; then
//! only the decoded cells must be the same. Every other difference is a row of [`exception`].

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests: a panic is a failure"
)]

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tdb_array::stored::Fragment;
use tdb_array::{Array, Key, OpenOptions};
use tdb_codec::{Budget, Datatype, Gate, Limits, Reader};
use tdb_filters::{Filter, Pipeline, Scratch, TileContext};
use tdb_fragment::{DataFile, DataFilePart, LegacyMetadata, Section, parse_u64_list};
use tdb_schema::{Field, FieldKind};
use tdb_tile::split::Cells;
use tdb_tile::{EMPTY_TILE, GenericTile, TileChunks, encode_string_tile, encode_tile};

/// Why the bytes of a tile may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Exception {
    /// gzip, zstd, lz4, bzip2, webp: the bytes depend on the codec's release and its choices.
    LibraryCodec,
    /// libtiledb 2.16 wrote one difference too many, from memory after its buffer. The bytes before
    /// it are equal.
    SurplusDifference,
    /// A difference of differences of −2⁶³, which libtiledb up to 2.28 stores as a sign without a
    /// magnitude: tdb stores such values as they are, with a bitsize of 63.
    LostDifference,
    /// Values of cells that are all empty: libraries without whole-cell chunks stored no chunk,
    /// later ones an empty one.
    NoChunk,
    /// A lossy image does not decode to the cells it was made from; see the last test.
    LossyImage,
}

/// The table of exceptions: the only allowed differences of a tile's bytes.
fn exception(source: &Source<'_>, pipeline: &Pipeline, tile: &[u8], encoded: &[u8]) -> Option<Exception> {
    let has = |test: fn(&Filter) -> bool| pipeline.filters.iter().any(test);
    let library = |filter: &Filter| {
        matches!(
            filter,
            Filter::Gzip { .. }
                | Filter::Zstd { .. }
                | Filter::Lz4 { .. }
                | Filter::Bzip2 { .. }
                | Filter::WebP(_)
        )
    };
    let version = source.fragment.version();
    if has(library) {
        return Some(Exception::LibraryCodec);
    }
    if tile == EMPTY_TILE && !version.has(Gate::WholeCellChunks) {
        return Some(Exception::NoChunk);
    }
    let data = |bytes| TileChunks::parse(bytes, 0).unwrap().chunks().next().unwrap().data;
    if has(|filter| matches!(filter, Filter::Delta { .. })) && source.writer == (2, 16) {
        return data(tile).starts_with(data(encoded)).then_some(Exception::SurplusDifference);
    }
    if has(|filter| matches!(filter, Filter::DoubleDelta { .. })) && source.writer <= (2, 28) {
        let (theirs, ours) = (data(tile).first(), data(encoded).first());
        return (ours == Some(&63) && theirs < ours).then_some(Exception::LostDifference);
    }
    None
}

#[derive(Debug, Default)]
struct Tally {
    equal: usize,
    equal_by_filters: BTreeMap<String, usize>,
    excepted: BTreeMap<Exception, usize>,
    wrong: Vec<String>,
}

/// One fragment's files.
struct Source<'a> {
    folder: PathBuf,
    fragment: &'a Fragment,
    /// Major and minor number of the library that wrote it.
    writer: (u32, u32),
    key: Option<&'a Key>,
    metadata: Vec<u8>,
    legacy: Option<LegacyMetadata>,
}

impl<'a> Source<'a> {
    fn new(array: &Path, fragment: &'a Fragment, writer: (u32, u32), key: Option<&'a Key>) -> Self {
        let metadata = fs::read(array.join(fragment.metadata_key())).unwrap();
        let legacy = (!fragment.version().has(Gate::FragmentFooter)).then(|| {
            let payload = payload(&metadata, key);
            LegacyMetadata::parse(&payload, fragment.schema()).unwrap()
        });
        Self { folder: array.join(fragment.folder()), fragment, writer, key, metadata, legacy }
    }

    fn list(&self, section: Section) -> Vec<u64> {
        if let Some(legacy) = &self.legacy {
            return match section {
                Section::TileOffsets(slot) => legacy.tile_offsets[slot].clone(),
                Section::VarOffsets(slot) => legacy.var_offsets[slot].clone(),
                section => panic!("no {section:?} in this version"),
            };
        }
        let range = self.fragment.footer().section(section).unwrap().unwrap();
        let bytes = &self.metadata[usize::try_from(range.start).unwrap()..];
        parse_u64_list(Reader::new(&payload(bytes, self.key)), section.name()).unwrap()
    }

    /// The tiles of a data file, as stored.
    fn tiles(&self, file: DataFile, section: Section) -> Vec<Vec<u8>> {
        let name = file.name(self.fragment.schema(), self.fragment.version()).unwrap();
        let Ok(bytes) = fs::read(self.folder.join(&name)) else { return Vec::new() };
        let mut bounds: Vec<usize> =
            self.list(section).into_iter().map(|at| usize::try_from(at).unwrap()).collect();
        // Some of libtiledb 2.2's lists continue after the last tile.
        if self.fragment.is_dense() {
            let count = self.fragment.footer().tile_count(self.fragment.schema()).unwrap();
            bounds.truncate(usize::try_from(count).unwrap());
        }
        bounds.push(bytes.len());
        bounds.windows(2).map(|pair| bytes[pair[0]..pair[1]].to_vec()).collect()
    }

    fn context(&self, datatype: Datatype, cell_size: usize) -> TileContext {
        let mut context = TileContext::new(datatype, cell_size as u64, self.fragment.version());
        context.schema_version = self.fragment.schema().version;
        context.writer_version = GenericTile::parse(&self.metadata, 0).unwrap().version;
        context
    }
}

/// `(2, 30)` for "libtiledb 2.30.0".
fn release(writer: &str) -> (u32, u32) {
    let mut numbers =
        writer.trim_start_matches("libtiledb ").split('.').map(|number| number.parse().unwrap());
    (numbers.next().unwrap(), numbers.next().unwrap())
}

fn payload(bytes: &[u8], key: Option<&Key>) -> Vec<u8> {
    let tile = GenericTile::parse(bytes, 0).unwrap();
    tile.decode(key, &Limits::default(), &Budget::unlimited()).unwrap()
}

/// The nonces of an encrypted tile in the order they were used: the last 28 of each 36 bytes of
/// chunk metadata.
fn nonces(tile: &[u8]) -> VecDeque<[u8; 12]> {
    let chunks = TileChunks::parse(tile, 0).unwrap();
    let parts = |chunk: tdb_tile::Chunk<'_>| {
        let entries = chunk.metadata[8..].as_chunks::<36>().0.to_vec();
        entries.into_iter().map(|entry| entry[8..20].try_into().unwrap())
    };
    chunks.chunks().flat_map(parts).collect()
}

fn is_lossy(pipeline: &Pipeline) -> bool {
    pipeline.filters.iter().any(|filter| matches!(filter, Filter::WebP(options) if !options.lossless))
}

fn decodes(pipeline: &Pipeline, context: TileContext, tile: &[u8]) -> bool {
    let chunks = TileChunks::parse(tile, 0).unwrap();
    let mut out = vec![0; usize::try_from(chunks.original_len()).unwrap()];
    let decoder = pipeline.decoder(context).unwrap();
    chunks.decode(&decoder, &mut out, &mut Scratch::new(), &Budget::unlimited()).is_ok()
}

/// The result of decoding a tile and encoding it again.
struct Round {
    cells: Vec<u8>,
    encoded: Vec<u8>,
    /// The cells of the encoded bytes.
    again: Vec<u8>,
}

/// Decodes a stored tile and encodes it anew.
fn round(
    source: &Source<'_>,
    pipeline: &Pipeline,
    context: TileContext,
    tile: &[u8],
    cells: Cells<'_>,
) -> Round {
    let key = source.key;
    let decoder = pipeline.decoder_with_key(context, key).unwrap();
    let encoder = pipeline.encoder_with_key(context, key).unwrap();
    let unused = Arc::new(Mutex::new(if key.is_some() { nonces(tile) } else { VecDeque::new() }));
    let mut scratch = Scratch::new().with_nonces(move || unused.lock().unwrap().pop_front().unwrap());
    let budget = Budget::unlimited();
    let chunks = TileChunks::parse(tile, 0).unwrap();
    if decoder.decodes_strings() {
        let (values, starts) = chunks.decode_strings(&decoder, &mut scratch, &budget).unwrap();
        let encoded = encode_string_tile(&encoder, &values, &starts, &mut scratch).unwrap();
        let again = TileChunks::parse(&encoded, 0).unwrap();
        let (back, back_starts) = again.decode_strings(&decoder, &mut scratch, &budget).unwrap();
        assert_eq!(back_starts, starts);
        return Round { cells: values, encoded, again: back };
    }
    let len = usize::try_from(chunks.original_len()).unwrap();
    let (mut decoded, mut again) = (vec![0; len], vec![0; len]);
    chunks.decode(&decoder, &mut decoded, &mut scratch, &budget).unwrap();
    let encoded = encode_tile(&encoder, &decoded, cells, &mut scratch).unwrap();
    TileChunks::parse(&encoded, 0).unwrap().decode(&decoder, &mut again, &mut scratch, &budget).unwrap();
    Round { cells: decoded, encoded, again }
}

fn check(
    source: &Source<'_>,
    what: &str,
    (pipeline, context): (&Pipeline, TileContext),
    tile: &[u8],
    cells: Cells<'_>,
    tally: &mut Tally,
) -> Vec<u8> {
    if is_lossy(pipeline) {
        *tally.excepted.entry(Exception::LossyImage).or_default() += 1;
        return Vec::new();
    }
    let Round { cells, encoded, again } = round(source, pipeline, context, tile, cells);
    assert_eq!(again, cells, "{what}");
    let cuts = |tile| TileChunks::parse(tile, 0).unwrap().chunks().map(|chunk| chunk.original_len).collect();
    let (ours, theirs): (Vec<u32>, Vec<u32>) = (cuts(&encoded), cuts(tile));
    assert!(ours == theirs || tile == EMPTY_TILE, "{what}: cut into {ours:?}, not {theirs:?}");
    let names: Vec<&str> = pipeline.filters.iter().map(Filter::name).collect();
    if encoded == tile {
        tally.equal += 1;
        *tally.equal_by_filters.entry(names.join(" ")).or_default() += 1;
    } else if let Some(exception) = exception(source, pipeline, tile, &encoded) {
        *tally.excepted.entry(exception).or_default() += 1;
    } else {
        let at = encoded.iter().zip(tile).position(|(a, b)| a != b);
        tally.wrong.push(format!(
            "{what} {names:?} {}: {} bytes became {}, first difference at {at:?}\n file {:02x?}\n ours {:02x?}",
            context.datatype,
            tile.len(),
            encoded.len(),
            &tile[..tile.len().min(80)],
            &encoded[..encoded.len().min(80)],
        ));
    }
    cells
}

fn check_field(source: &Source<'_>, field: &Field<'_>, tally: &mut Tally) {
    let (fragment, schema) = (source.fragment, source.fragment.schema());
    let slot = fragment.footer().slots.field(field.kind);
    let what = format!("{} field {:?}", source.folder.display(), field.name);
    let size = field.datatype.size();
    let filters = schema.filters_in(field, fragment.version());
    let file = |part| DataFile::Field(field.kind, part);
    let fixed = source.tiles(file(DataFilePart::Fixed), Section::TileOffsets(slot));
    if let Some(cell_size) = field.cell_size() {
        let context = source.context(field.datatype, cell_size);
        for tile in &fixed {
            let cells = Cells::Fixed { size: cell_size as u64 };
            check(source, &what, (filters, context), tile, cells, tally);
        }
    } else {
        let values = source.tiles(file(DataFilePart::Var), Section::VarOffsets(slot));
        assert_eq!(values.len(), fixed.len(), "{what}");
        for (offsets, values) in fixed.iter().zip(&values) {
            let mut context = source.context(field.datatype, size);
            context.var = true;
            let held = offsets == &EMPTY_TILE && values.len() > EMPTY_TILE.len();
            context.string_mode = Some(held);
            if held {
                check(source, &what, (filters, context), values, Cells::Whole, tally);
                continue;
            }
            let (pipeline, cells) = (&schema.offsets_filters, Cells::Fixed { size: 8 });
            let of = source.context(Datatype::Uint64, 8);
            let starts = check(source, &format!("{what} offsets"), (pipeline, of), offsets, cells, tally);
            let starts: Vec<u64> =
                starts.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes)).collect();
            let cells = if fragment.version().has(Gate::WholeCellChunks) {
                Cells::Var { offsets: &starts, value_size: size as u64 }
            } else {
                Cells::Slices { len: slice_len(source) }
            };
            check(source, &format!("{what} values"), (filters, context), values, cells, tally);
        }
    }
    if field.nullable {
        let context = source.context(Datatype::Uint8, 1);
        for tile in source.tiles(file(DataFilePart::Validity), Section::ValidityOffsets(slot)) {
            let cells = Cells::Fixed { size: 1 };
            // Some releases filtered certain validity tiles as values of the attribute's type.
            let typed = context.typed_validity(field.datatype).filter(|_| source.fragment.is_dense());
            let context =
                typed.filter(|typed| decodes(&schema.validity_filters, *typed, &tile)).unwrap_or(context);
            check(
                source,
                &format!("{what} validity"),
                (&schema.validity_filters, context),
                &tile,
                cells,
                tally,
            );
        }
    }
}

/// The length of a slice of values before cells were kept whole: from libtiledb 2.0 to 2.2 as long
/// as a tile's offsets.
fn slice_len(source: &Source<'_>) -> u64 {
    let (version, schema) = (source.fragment.version(), source.fragment.schema());
    if !version.has(Gate::DimensionFiles) || version.has(Gate::IndexedFileNames) {
        return 65536;
    }
    let cells = if source.fragment.is_dense() {
        schema.domain.dimensions.iter().map(|dimension| dimension.extent_cells().unwrap()).product()
    } else {
        schema.capacity
    };
    65536.min(cells * 8)
}

/// Coordinates that share a file.
fn check_coords(source: &Source<'_>, tally: &mut Tally) {
    let schema = source.fragment.schema();
    let (dimensions, datatype) = (schema.domain.dimensions.len(), schema.domain.dimensions[0].datatype);
    let slot = source.fragment.footer().slots.coords();
    let context = source.context(datatype, dimensions * datatype.size());
    let what = format!("{} coordinates", source.folder.display());
    let cells = Cells::Coordinates { dimensions: dimensions as u64, size: datatype.size() as u64 };
    for tile in source.tiles(DataFile::Coords, Section::TileOffsets(slot)) {
        check(source, &what, (&schema.coords_filters, context), &tile, cells, tally);
    }
}

fn check_times(source: &Source<'_>, tally: &mut Tally) {
    let slots = &source.fragment.footer().slots;
    let files =
        [(DataFile::Timestamps, slots.timestamps()), (DataFile::DeleteTimestamps, slots.delete_timestamps())];
    for (file, slot) in files {
        let Some(slot) = slot else { continue };
        let context = source.context(Datatype::Uint64, 8);
        for tile in source.tiles(file, Section::TileOffsets(slot)) {
            let what = format!("{} {file:?}", source.folder.display());
            let pipeline = &source.fragment.schema().coords_filters;
            check(source, &what, (pipeline, context), &tile, Cells::Fixed { size: 8 }, tally);
        }
    }
}

#[test]
fn every_tile_is_encoded_to_the_bytes_libtiledb_wrote() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures");
    let manifest = fs::read(fixtures.join("manifest.json")).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).unwrap();
    let mut tally = Tally::default();
    // Groups and key-value objects have no tiles that tdb reads.
    for entry in manifest.as_array().unwrap().iter().filter(|entry| entry["object"].is_null()) {
        let key = entry["key"].as_str().map(|key| Key::new(key.as_bytes().try_into().unwrap()));
        let folder = fixtures.join("arrays").join(entry["id"].as_str().unwrap());
        let writer = release(entry["writer"].as_str().unwrap());
        let mut options = OpenOptions::new().threads(1);
        if let Some(key) = &key {
            options = options.key(key.clone());
        }
        let array: Array = options.open(&folder).unwrap();
        for fragment in array.fragments() {
            let source = Source::new(&folder, fragment, writer, key.as_ref());
            let own_files = fragment.version().has(Gate::DimensionFiles);
            if !own_files && !fragment.is_dense() {
                check_coords(&source, &mut tally);
            }
            for field in fragment.schema().fields() {
                let dimension = matches!(field.kind, FieldKind::Dimension(_));
                if !dimension || (own_files && !fragment.is_dense()) {
                    check_field(&source, &field, &mut tally);
                }
            }
            check_times(&source, &mut tally);
        }
    }
    println!("{} tiles are equal, {:?} excepted", tally.equal, tally.excepted);
    println!("equal, by filters: {:#?}", tally.equal_by_filters);
    assert!(tally.wrong.is_empty(), "{} differ:\n{}", tally.wrong.len(), tally.wrong.join("\n"));
    assert!(tally.equal > 10_000, "only {} tiles", tally.equal);
    // Every row of the table is needed, and applies to exactly as many tiles as today; for codecs,
    // the number may change.
    assert_eq!(tally.excepted.remove(&Exception::SurplusDifference), Some(10));
    assert_eq!(tally.excepted.remove(&Exception::LostDifference), Some(2));
    assert_eq!(tally.excepted.remove(&Exception::NoChunk), Some(4));
    assert_eq!(tally.excepted.remove(&Exception::LossyImage), Some(8));
    assert!(tally.excepted.remove(&Exception::LibraryCodec).is_some_and(|tiles| tiles < 6_000));
    assert!(tally.excepted.is_empty());
}

#[cfg(feature = "webp-lossy")]
#[test]
fn lossy_images_are_the_files_libtiledb_wrote() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../xtask/fixtures/arrays/2.30.0");
    // The cells of these arrays ("wave" in xtask/peer/cases.py), row by row; a tile is half of each
    // row.
    let cell = |i: usize| u8::try_from(100 + (i * i / 7) % 23).unwrap();
    for format in ["rgb", "bgr", "rgba", "bgra"] {
        let folder = fixtures.join(format!("filter_webp_lossy_{format}"));
        let array = Array::open(&folder).unwrap();
        let fragment = &array.fragments()[0];
        let source = Source::new(&folder, fragment, (2, 30), None);
        let field = fragment.schema().field("p").unwrap();
        let slot = fragment.footer().slots.field(field.kind);
        let file = DataFile::Field(field.kind, DataFilePart::Fixed);
        let tiles = source.tiles(file, Section::TileOffsets(slot));
        assert_eq!(tiles.len(), 2);
        let encoder = field.filters.encoder(source.context(Datatype::Uint8, 1)).unwrap();
        for (number, tile) in tiles.iter().enumerate() {
            let pixels: Vec<u8> =
                (0..16).flat_map(|row| (0..48).map(move |at| cell(row * 96 + number * 48 + at))).collect();
            let encoded = encode_tile(&encoder, &pixels, Cells::Whole, &mut Scratch::new()).unwrap();
            assert!(&encoded == tile, "{format} tile {number}: {} bytes, not {}", encoded.len(), tile.len());
        }
    }
}
