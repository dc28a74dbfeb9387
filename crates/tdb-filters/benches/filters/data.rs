//! The data on which each filter is measured: data that the filter is used for, and data that it
//! cannot compress.

use tdb_codec::{Datatype, FormatVersion, to_u64};
use tdb_filters::{ByteWidth, Filter, Key, Pipeline, ScaleFloat, TileContext, registry};

/// Length of the chunks that libtiledb writes.
pub(crate) const CHUNK: usize = 64 << 10;
/// Number of different chunks; further chunks repeat these.
pub(crate) const CHUNKS: usize = 16;

/// The kind of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Realistic,
    Incompressible,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Realistic, Self::Incompressible];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Realistic => "realistic",
            Self::Incompressible => "incompressible",
        }
    }
}

/// One chunk before it is filtered.
pub(crate) struct Cells {
    pub(crate) bytes: Vec<u8>,
    /// The starts of strings, for filters that store strings.
    pub(crate) offsets: Option<Vec<u64>>,
}

/// Filters, the type they see, and chunks for them.
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) width: usize,
    pub(crate) pipeline: Pipeline,
    pub(crate) context: TileContext,
    pub(crate) key: Option<Key>,
    pub(crate) chunks: Vec<Cells>,
}

impl Case {
    /// The filter of a row on values of `width` bytes; `None` if the filter does not accept such
    /// values.
    pub(crate) fn of_row(row: &registry::Row, kind: Kind, width: usize) -> Option<Self> {
        let datatype = match (row.name, width) {
            _ if !row.available => return None,
            ("dictionary", 1) => Datatype::StringAscii,
            ("webp", 1) => Datatype::Uint8,
            ("scale-float", 4) => Datatype::Float32,
            ("scale-float", 8) => Datatype::Float64,
            ("dictionary" | "webp" | "scale-float", _) => return None,
            _ => integer(width),
        };
        let filter = match row.sample() {
            Filter::WebP(mut options) => {
                (options.y_extent, options.x_extent) = (128, 510);
                Filter::WebP(options)
            }
            // Two decimals, in half the width.
            Filter::ScaleFloat(options) => Filter::ScaleFloat(ScaleFloat {
                scale: 0.01,
                byte_width: if width == 8 { ByteWidth::Four } else { ByteWidth::Two },
                ..options
            }),
            other => other,
        };
        let context = if row.name == "dictionary" {
            TileContext::values(datatype, FormatVersion::CURRENT)
        } else {
            context(datatype)
        };
        Some(Self {
            name: row.name.to_owned(),
            kind,
            width,
            pipeline: Pipeline::new(vec![filter]),
            context,
            key: (row.feature == Some("encryption")).then(|| Key::new([7; 32])),
            chunks: (1..=CHUNKS).map(|seed| chunk(row.name, kind, width, to_u64(seed))).collect(),
        })
    }

    /// A chain of filters on the data of the first filter.
    pub(crate) fn chain(filters: Vec<Filter>, kind: Kind, width: usize) -> Self {
        let names: Vec<_> = filters.iter().map(Filter::name).collect();
        let first = names.first().copied().unwrap_or_default();
        Self {
            name: names.join(" + "),
            kind,
            width,
            chunks: (1..=CHUNKS).map(|seed| chunk(first, kind, width, to_u64(seed))).collect(),
            pipeline: Pipeline::new(filters),
            context: context(integer(width)),
            key: None,
        }
    }
}

const fn integer(width: usize) -> Datatype {
    match width {
        1 => Datatype::Int8,
        2 => Datatype::Int16,
        4 => Datatype::Int32,
        _ => Datatype::Int64,
    }
}

const fn context(datatype: Datatype) -> TileContext {
    TileContext::new(datatype, datatype.size() as u64, FormatVersion::CURRENT)
}

/// A xorshift generator.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }
}

/// The low bytes of each value, one after another.
fn narrow(values: impl Iterator<Item = u64>, width: usize) -> Vec<u8> {
    values.flat_map(|value| value.to_le_bytes().into_iter().take(width)).collect()
}

/// A chunk that suits the filter, the same in every run.
fn chunk(filter: &str, kind: Kind, width: usize, seed: u64) -> Cells {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let count = CHUNK / width;
    let bytes = match (filter, kind) {
        ("dictionary", _) => return strings(kind, &mut random),
        ("webp", _) => image(kind, &mut random),
        ("scale-float", _) => hundredths(kind, width, count, &mut random),
        ("double-delta" | "delta" | "positive-delta", Kind::Realistic) => {
            sorted(width, count, 16, &mut random)
        }
        // Random values in order: these filters reject unordered values, or are not meant for them.
        ("positive-delta", Kind::Incompressible) => sorted(width, count, u64::MAX, &mut random),
        ("rle", Kind::Realistic) => runs(width, count, &mut random),
        (_, Kind::Realistic) => sensor(width, count, &mut random),
        (_, Kind::Incompressible) => narrow((0..count).map(|_| random.next()), width),
    };
    Cells { bytes, offsets: None }
}

/// Readings of a sensor: a slow wave with noise of 32 steps (of 4 in single bytes).
fn sensor(width: usize, count: usize, random: &mut Random) -> Vec<u8> {
    let (swing, noise) = if width == 1 { (60.0, 4) } else { (6000.0, 32) };
    let wave = |index: usize| (swing * (1.5 + (index as f64 / 2000.0).sin())) as u64;
    narrow((0..count).map(|index| wave(index) / if width == 1 { 2 } else { 1 } + random.below(noise)), width)
}

/// Values that never decrease, with irregular steps below `step` and small enough to fit the type:
/// time stamps.
fn sorted(width: usize, count: usize, step: u64, random: &mut Random) -> Vec<u8> {
    let largest = (1u64 << (8 * width - 1)) - 1;
    let most = (largest / count as u64).min(step);
    let mut value = 0u64;
    // Single bytes have so few values that they can only increase now and then.
    narrow(
        (0..count).map(|index| {
            value =
                if most == 0 { index as u64 * largest / count as u64 } else { value + random.below(most) };
            value
        }),
        width,
    )
}

/// Runs of 8 to 71 equal cells.
fn runs(width: usize, count: usize, random: &mut Random) -> Vec<u8> {
    let (mut left, mut value) = (0, 0);
    narrow(
        (0..count).map(|_| {
            if left == 0 {
                (left, value) = (8 + random.below(64), random.next());
            }
            left -= 1;
            value
        }),
        width,
    )
}

/// Floats with two decimals: around 20, or any value that fits half the width.
fn hundredths(kind: Kind, width: usize, count: usize, random: &mut Random) -> Vec<u8> {
    let bits = 8 * width as u32 / 2 - 1;
    (0..count)
        .flat_map(|index| {
            let value = match kind {
                Kind::Realistic => 2000 + random.below(800) + (index as u64 / 64) % 100,
                Kind::Incompressible => random.below(1 << bits),
            };
            let value = value as f64 * 0.01;
            if width == 8 { value.to_le_bytes().to_vec() } else { (value as f32).to_le_bytes().to_vec() }
        })
        .collect()
}

/// 128 rows of 170 RGB pixels: gradients with noise in the two lowest bits, or noise.
fn image(kind: Kind, random: &mut Random) -> Vec<u8> {
    (0..128 * 170u64)
        .flat_map(|pixel| {
            let (x, y) = (pixel % 170, pixel / 170);
            let noise = random.next();
            let smooth = [x + y, 255 - x, y].map(|value| (value & 0xfc) as u8);
            let noisy = [0, 8, 16].map(|shift| (noise >> shift) as u8);
            [0, 1, 2].map(|channel| match kind {
                Kind::Realistic => smooth[channel] | (noisy[channel] & 3),
                Kind::Incompressible => noisy[channel],
            })
        })
        .collect()
}

/// One of 100 labels of 6 to 13 letters in each cell, or random letters.
fn strings(kind: Kind, random: &mut Random) -> Cells {
    let word = |random: &mut Random| {
        let len = 6 + random.below(8);
        (0..len).map(|_| b'a' + random.below(26) as u8).collect::<Vec<u8>>()
    };
    let labels: Vec<_> = (0..100).map(|_| word(random)).collect();
    let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
    while bytes.len() < CHUNK {
        offsets.push(to_u64(bytes.len()));
        match kind {
            Kind::Realistic => bytes.extend_from_slice(&labels[random.below(100) as usize]),
            Kind::Incompressible => bytes.extend(word(random)),
        }
    }
    Cells { bytes, offsets: Some(offsets) }
}
