//! A pipeline with every type resolved, which the decoder and the encoder run.

use tdb_codec::{Datatype, Gate, Physical, to_usize};

use crate::checksum::Hash;
use crate::compress::Codec;
use crate::encryption::Cipher;
use crate::error::{Error, ErrorKind, Kind};
use crate::filter::ScaleFloat;
use crate::kernels::Float;
use crate::webp::Image;
use crate::{
    Filter, Key, Pipeline, TileContext, bit_width_reduction, double_delta, positive_delta, registry,
};

/// A filter that changes the data of this tile or checks it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) op: Op,
    name: &'static str,
    code: u8,
    position: usize,
    count: usize,
    /// Whether the filter directly before this one does nothing.
    pub(crate) behind_idle: bool,
}

impl Step {
    /// Whether this step is a compressor and the error comes from it.
    pub(crate) const fn compresses(&self, error: &Error) -> bool {
        matches!(self.op, Op::Compress(_)) && self.position == error.position
    }

    /// Whether libtiledb passes the input of this step on unchanged. In that case, empty data is
    /// lost when decoding.
    pub(crate) const fn views(&self) -> bool {
        self.behind_idle || matches!(self.op, Op::Checksum(_))
    }

    /// Adds the filter's name and position to an error.
    pub(crate) const fn error(&self, kind: ErrorKind) -> Error {
        Error { filter: self.name, code: self.code, position: self.position, count: self.count, kind }
    }
}

/// The work of a step.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Compress(Codec),
    ByteShuffle { size: usize },
    BitShuffle { size: usize },
    BitWidthReduction { physical: Physical, max_window: usize },
    PositiveDelta { physical: Physical, max_window: usize },
    Checksum(Hash),
    Xor { size: usize },
    ScaleFloat { float: Float, options: ScaleFloat },
    WebP(Image),
    Encrypt(Cipher),
    RleStrings,
    Dictionary,
}

impl Op {
    /// Whether decoding can happen in place.
    pub(crate) const fn in_place(&self) -> bool {
        matches!(self, Self::PositiveDelta { .. } | Self::Checksum(_) | Self::Xor { .. })
    }

    /// Whether the filter keeps the length of the data.
    pub(crate) const fn keeps_sizes(&self) -> bool {
        match self {
            Self::ByteShuffle { .. }
            | Self::BitShuffle { .. }
            | Self::PositiveDelta { .. }
            | Self::Checksum(_)
            | Self::Xor { .. } => true,
            // Encryption moves earlier metadata into the data.
            Self::Encrypt(_)
            | Self::Compress(_)
            | Self::BitWidthReduction { .. }
            | Self::ScaleFloat { .. }
            | Self::WebP(_)
            | Self::RleStrings
            | Self::Dictionary => false,
        }
    }

    /// Whether empty data counts as a part here, as it does in libtiledb. It does not count where
    /// libtiledb cannot read such a part: if a value is missing (delta filters), or if libtiledb's
    /// list of buffers has no entry left (after metadata that became part of the data, or before a
    /// filter that passes its input on unchanged).
    pub(crate) const fn lists_nothing(&self, metadata: bool, next_views: bool) -> bool {
        match self {
            Self::Compress(Codec::Delta { .. } | Codec::DoubleDelta { .. }) => false,
            Self::Compress(Codec::Rle { .. }) => !metadata && !next_views,
            Self::Encrypt(_) => !metadata,
            Self::ByteShuffle { .. }
            | Self::BitShuffle { .. }
            | Self::Xor { .. }
            | Self::ScaleFloat { .. } => !next_views,
            _ => true,
        }
    }

    /// Whether it stores the lengths of strings.
    pub(crate) const fn holds_strings(&self) -> bool {
        matches!(self, Self::RleStrings | Self::Dictionary)
    }
}

/// A pipeline resolved for a kind of tile.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    /// Number of filters, including those that do nothing.
    pub(crate) count: usize,
    /// Whether a tile is one chunk.
    pub(crate) whole_tiles: bool,
}

impl Plan {
    /// Resolves `pipeline` for tiles of `context`; filters that do nothing to them are left out.
    /// With a key, encryption is the last step whether or not the pipeline contains it.
    pub(crate) fn new(pipeline: &Pipeline, context: &TileContext, key: Option<&Key>) -> Result<Self, Error> {
        let appended =
            key.filter(|_| pipeline.filters.last() != Some(&Filter::Aes256Gcm)).map(|_| &Filter::Aes256Gcm);
        let count = pipeline.filters.len().saturating_add(usize::from(appended.is_some()));
        let mut steps: Vec<Step> = Vec::with_capacity(count);
        let mut datatype = context.datatype;
        let mut behind_idle = false;
        for (index, filter) in pipeline.filters.iter().chain(appended).enumerate() {
            let position = index.saturating_add(1);
            let (name, code) = (filter.name(), filter.code());
            let op = resolve(filter, datatype, context, key)
                .and_then(|op| match op {
                    // Not allowed even after a filter that does nothing: libtiledb refuses to
                    // create such a schema, and crashes when reading one.
                    Some(op) if op.holds_strings() && index > 0 => Err(ErrorKind::NotFirst),
                    op => Ok(op),
                })
                .map_err(|kind| Error { filter: name, code, position, count, kind })?;
            let idle = op.is_none();
            steps.extend(op.map(|op| Step { op, name, code, position, count, behind_idle }));
            behind_idle = idle;
            if context.propagates_types() {
                datatype = filter.output_type(datatype);
            }
        }
        let whole = |step: &Step| step.op.holds_strings() || matches!(step.op, Op::WebP(_));
        let whole_tiles = pipeline.max_chunk_size == 0 || steps.iter().any(whole);
        Ok(Self { steps, count, whole_tiles })
    }

    /// Whether the data of a chunk has the length of its cells.
    pub(crate) fn keeps_sizes(&self) -> bool {
        self.steps.iter().all(|step| step.op.keeps_sizes())
    }

    /// The step that stores the strings' lengths, and the steps after it.
    pub(crate) fn split_strings(&self) -> Option<(&Step, &[Step])> {
        self.steps.split_first().filter(|(step, _)| step.op.holds_strings())
    }
}

/// Resolves the work of `filter` on values of `datatype`; `None` if there is none.
fn resolve(
    filter: &Filter,
    datatype: Datatype,
    context: &TileContext,
    key: Option<&Key>,
) -> Kind<Option<Op>> {
    if let Some(row) = registry::by_code(filter.code())
        && let Some(feature) = row.feature
        && !row.available
    {
        return Err(ErrorKind::FeatureMissing { feature });
    }
    let size = datatype.size();
    let window = |max_window: u32| to_usize(u64::from(max_window)).unwrap_or(usize::MAX);
    let delta_type = |reinterpret: Option<Datatype>| {
        let datatype = reinterpret.unwrap_or(datatype);
        double_delta::integers(datatype).ok_or(ErrorKind::InputType { datatype })
    };
    Ok(Some(match filter {
        Filter::None => return Ok(None),
        Filter::Gzip { level } => Op::Compress(Codec::Gzip { level: *level }),
        Filter::Zstd { level } => Op::Compress(Codec::Zstd { level: *level }),
        Filter::Lz4 { .. } => Op::Compress(Codec::Lz4),
        Filter::Bzip2 { level } => Op::Compress(Codec::Bzip2 { level: *level }),
        Filter::Rle { .. } if context.string_mode(Gate::AsciiRleStrings, Gate::Utf8Strings) => Op::RleStrings,
        Filter::Rle { .. } => match to_usize(context.cell_size) {
            Some(cell) if cell > 0 => Op::Compress(Codec::Rle { cell }),
            _ => return Err(ErrorKind::InvalidValue { value: context.cell_size }),
        },
        Filter::Dictionary { .. } if context.string_mode(Gate::AsciiDictionaryStrings, Gate::Utf8Strings) => {
            Op::Dictionary
        }
        Filter::Dictionary { .. } => return Err(ErrorKind::InputType { datatype }),
        Filter::DoubleDelta { reinterpret, .. } => {
            Op::Compress(Codec::DoubleDelta { physical: delta_type(*reinterpret)? })
        }
        Filter::Delta { reinterpret, .. } => {
            Op::Compress(Codec::Delta { size: delta_type(*reinterpret)?.size() })
        }
        Filter::BitWidthReduction { max_window } => {
            match bit_width_reduction::integers(datatype, context.fragment_version) {
                Some(physical) => Op::BitWidthReduction { physical, max_window: window(*max_window) },
                None => return Ok(None),
            }
        }
        Filter::PositiveDelta { max_window } => {
            match positive_delta::integers(datatype, context.fragment_version) {
                Some(physical) => Op::PositiveDelta { physical, max_window: window(*max_window) },
                None => return Ok(None),
            }
        }
        Filter::BitShuffle => Op::BitShuffle { size },
        Filter::ByteShuffle => Op::ByteShuffle { size },
        Filter::ChecksumMd5 => Op::Checksum(Hash::Md5),
        Filter::ChecksumSha256 => Op::Checksum(Hash::Sha256),
        Filter::Xor => Op::Xor { size },
        Filter::ScaleFloat(options) => {
            let float = Float::of_size(size).ok_or(ErrorKind::InputType { datatype })?;
            Op::ScaleFloat { float, options: *options }
        }
        // An image is one tile of bytes: no other type is allowed, and no cells of variable length.
        Filter::WebP(_) if datatype != Datatype::Uint8 || context.var => {
            return Err(ErrorKind::InputType { datatype });
        }
        Filter::WebP(options) => Op::WebP(Image::new(options)?),
        Filter::Aes256Gcm => Op::Encrypt(Cipher::new(key.ok_or(ErrorKind::KeyMissing)?)?),
        Filter::Unknown { code, .. } => return Err(ErrorKind::UnknownFilter { code: *code }),
    }))
}
