//! `--compress`: filters that are chosen by datatype, and by what a sample of the data becomes with
//! them.

use clap::ValueEnum;
use tdb_array::schema::{ArraySchema, ArrayType};
use tdb_codec::{CellValNum, Datatype, DatatypeClass, FormatVersion, Gate, to_u64, to_usize};
use tdb_filters::{Filter, Pipeline, Scratch, TileContext};
use tdb_schema::{Field, FieldKind};
use tdb_text::json::Json;
use tdb_text::pipeline::{pipeline_json, pipeline_text};

use crate::buffers::Buffers;
use crate::thresholds::{MAX_SAMPLE_CELLS, MIN_SAMPLE_CELLS, SMALL_ZSTD_LEVEL};

/// The goal for which filters are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Compress {
    /// Small files: Zstandard, behind a filter that suits the datatype and the data; or a
    /// dictionary of strings.
    Small,
    /// Fast reading and writing: LZ4.
    Fast,
    /// No filters.
    None,
}

/// Removes the filters of attributes from a schema in JSON, so that [`Compress::fill`] chooses
/// them.
pub(crate) fn forget(json: &mut Json) {
    let attributes = json.get_mut("attributes").and_then(Json::as_list_mut).into_iter().flatten();
    attributes.for_each(|attribute| attribute.remove("filters"));
}

impl Compress {
    /// Sets the filters of a schema in JSON where it does not state any; `schema` is what it
    /// describes. Returns the field and the filters of each choice.
    pub(crate) fn fill(
        self,
        json: &mut Json,
        schema: &ArraySchema,
        samples: &[Buffers],
    ) -> Vec<(String, String)> {
        let mut chosen = Vec::new();
        // Dense arrays store no coordinates, and those of old versions are all in one file.
        let has_dimensions =
            schema.array_type == ArrayType::Sparse && schema.version.has(Gate::DimensionFiles);
        for (key, pipeline) in
            [("coords_filters", self.plain(schema)), ("offsets_filters", self.plain(schema))]
        {
            // A dimension without filters has those of coordinates.
            if self != Self::Small && json.get(key).is_none() {
                json.insert(key, pipeline_json(&pipeline));
            }
        }
        let keys: &[&str] = if has_dimensions { &["dimensions", "attributes"] } else { &["attributes"] };
        for key in keys.iter().copied() {
            let fields = json.get_mut(key).and_then(Json::as_list_mut).into_iter().flatten();
            for object in fields.filter(|own| own.get("filters").is_none()) {
                let name = object.get("name").and_then(Json::as_str).unwrap_or_default();
                let Some(field) = schema.field(name) else { continue };
                let sample = samples.iter().find(|sample| sample.name == name);
                let pipeline = self.choose(&field, schema, sample);
                chosen.push((name.to_owned(), pipeline_text(&pipeline)));
                object.insert("filters", pipeline_json(&pipeline));
            }
        }
        chosen
    }

    /// The filters of bytes of any kind.
    fn plain(self, schema: &ArraySchema) -> Pipeline {
        let filters = match self {
            Self::Small => vec![Filter::Zstd { level: SMALL_ZSTD_LEVEL }],
            Self::Fast => vec![Filter::Lz4 { level: -1 }],
            Self::None => Vec::new(),
        };
        let pipeline = Pipeline::new(filters);
        let works = pipeline.validate(TileContext::offsets(schema.version)).is_ok();
        if works { pipeline } else { Pipeline::default() }
    }

    /// The filters of a field: those that make the least of a sample, or without one those that
    /// usually do.
    fn choose(self, field: &Field<'_>, schema: &ArraySchema, sample: Option<&Buffers>) -> Pipeline {
        let version = schema.version;
        let context = context(field, version);
        let fits = |pipeline: &Pipeline| {
            let known = |filter: &Filter| filter.gate(field.datatype).is_none_or(|gate| version.has(gate));
            pipeline.filters.iter().all(known) && pipeline.validate(context).is_ok()
        };
        let fitting = self.candidates(field, version).into_iter().filter(fits);
        let sample = sample.filter(|sample| cells(field, sample) >= MIN_SAMPLE_CELLS);
        let size = |pipeline: &Pipeline| {
            sample.and_then(|sample| encoded(pipeline, context, sample, schema)).unwrap_or(u64::MAX)
        };
        // The first one of those with the least size: without a sample all are equal.
        fitting.min_by_key(size).unwrap_or_default()
    }

    /// The pipelines that may suit a field; the first one usually does. Only filters that every
    /// libtiledb reads with any cells, also those that come later: positive delta takes no values
    /// that fall, double delta of 64 bits loses some.
    fn candidates(self, field: &Field<'_>, version: FormatVersion) -> Vec<Pipeline> {
        let last = match self {
            Self::Small => Filter::Zstd { level: SMALL_ZSTD_LEVEL },
            Self::Fast => Filter::Lz4 { level: -1 },
            Self::None => return Vec::new(),
        };
        let is_wide = field.datatype.size() > 1 && !field.cell_val_num.is_var();
        let is_single = field.cell_val_num == CellValNum::ONE;
        let class = field.datatype.class();
        let is_date = matches!(class, DatatypeClass::Datetime | DatatypeClass::Time);
        let is_counted = is_date || class == DatatypeClass::Integer;
        let mut first: Vec<Filter> = Vec::new();
        if self == Self::Small && is_wide && is_single && is_counted {
            // Older libraries leave dates as they are.
            if !is_date || version.has(Gate::FilterDates) {
                first.push(Filter::BitWidthReduction { max_window: 256 });
            }
            first.push(Filter::Delta { level: -1, reinterpret: None });
        }
        if is_wide {
            first.push(Filter::ByteShuffle);
        }
        let mut pipelines: Vec<Pipeline> =
            first.into_iter().map(|filter| Pipeline::new(vec![filter, last.clone()])).collect();
        pipelines.push(Pipeline::new(vec![last]));
        let is_attribute = !matches!(field.kind, FieldKind::Dimension(_));
        let is_text = matches!(field.datatype, Datatype::StringAscii | Datatype::StringUtf8);
        if self == Self::Small && is_attribute && is_text && field.cell_val_num.is_var() {
            // Alone: libtiledb does not read all of what is behind it.
            pipelines.push(Pipeline::new(vec![Filter::Dictionary { level: -1 }]));
        }
        pipelines
    }
}

/// The number of cells of a sample.
fn cells(field: &Field<'_>, sample: &Buffers) -> usize {
    match (&sample.offsets, field.cell_size()) {
        (Some(offsets), _) => offsets.len().saturating_sub(1),
        (None, Some(size)) => sample.data.len().checked_div(size).unwrap_or(0),
        (None, None) => 0,
    }
}

fn context(field: &Field<'_>, version: FormatVersion) -> TileContext {
    match field.cell_size() {
        Some(size) => TileContext::new(field.datatype, to_u64(size), version),
        None => TileContext::values(field.datatype, version),
    }
}

/// The number of bytes that the first cells of a sample become; `None` if the pipeline cannot take
/// them.
fn encoded(pipeline: &Pipeline, context: TileContext, sample: &Buffers, schema: &ArraySchema) -> Option<u64> {
    let encoder = pipeline.encoder(context).ok()?;
    let (mut scratch, mut metadata, mut data) = (Scratch::new(), Vec::new(), Vec::new());
    let Some(offsets) = &sample.offsets else {
        let most = MAX_SAMPLE_CELLS.saturating_mul(to_usize(context.cell_size)?);
        return chunks(pipeline, context, sample.data.get(..most).unwrap_or(&sample.data));
    };
    let cells = offsets.len().saturating_sub(1).min(MAX_SAMPLE_CELLS);
    let values = sample.data.get(..to_usize(*offsets.get(cells)?)?)?;
    let offsets = offsets.get(..cells)?;
    if encoder.encodes_strings() {
        encoder.encode_string_chunk(values, offsets, &mut scratch, &mut metadata, &mut data).ok()?;
        return Some(to_u64(metadata.len().saturating_add(data.len())));
    }
    let places: Vec<u8> = offsets.iter().flat_map(|offset| offset.to_le_bytes()).collect();
    let places = chunks(&schema.offsets_filters, TileContext::offsets(schema.version), &places)?;
    Some(places.saturating_add(chunks(pipeline, context, values)?))
}

/// The number of bytes that the chunks of a tile become.
fn chunks(pipeline: &Pipeline, context: TileContext, bytes: &[u8]) -> Option<u64> {
    let encoder = pipeline.encoder(context).ok()?;
    let (mut scratch, mut metadata, mut data) = (Scratch::new(), Vec::new(), Vec::new());
    let size = to_usize(context.cell_size)?.max(1);
    let chunk =
        to_usize(u64::from(Pipeline::DEFAULT_CHUNK_SIZE))?.checked_div(size)?.max(1).checked_mul(size)?;
    let mut all = 0u64;
    for part in bytes.chunks(chunk) {
        encoder.encode_chunk(part, &mut scratch, &mut metadata, &mut data).ok()?;
        all = all.saturating_add(to_u64(metadata.len().saturating_add(data.len())));
    }
    Some(all)
}
