//! Every filter with every type, shape and kind of data.

use serde_json::{Value, json};
use tdb_array::schema::{ArraySchema, ArrayType, CellValNum, Datatype};
use tdb_codec::{Layout, to_u64};
use tdb_filters::{ByteWidth, Filter, Pipeline, PixelFormat, ScaleFloat, WebP};
use tdb_schema::{Attribute, Dimension, Domain};

use super::data::{GRID, Pattern, coordinates, values};

/// The key of encrypted arrays.
pub(super) const KEY: &str = "0123456789abcdeF0123456789abcdeF";

/// A chain of filters under test.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub(super) name: String,
    filters: Vec<Filter>,
    /// The filters in the form of the peer's API.
    peer: Vec<Value>,
    pub(super) encrypted: bool,
}

/// The shape of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Fixed,
    Pair,
    Nullable,
    Var,
    VarNullable,
    /// The type is that of the only dimension of a sparse array, which also has an attribute of
    /// integers.
    Dimension,
    /// A dense image, in bytes.
    Image,
}

/// One field's cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cells {
    pub(super) name: &'static str,
    pub(super) data: Vec<u8>,
    /// One more than there are cells.
    pub(super) offsets: Option<Vec<u64>>,
    pub(super) validity: Option<Vec<u8>>,
}

/// One array with its cells.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub(super) chain: Chain,
    datatype: Datatype,
    form: Form,
    pattern: Pattern,
    count: usize,
}

const CHUNK: usize = 65536;

/// Types that represent all types of their kind; fewer patterns are tested for the others.
const REPRESENTATIVE: [Datatype; 19] = [
    Datatype::Int8,
    Datatype::Uint8,
    Datatype::Int16,
    Datatype::Uint16,
    Datatype::Int32,
    Datatype::Uint32,
    Datatype::Int64,
    Datatype::Uint64,
    Datatype::Float32,
    Datatype::Float64,
    Datatype::Char,
    Datatype::StringAscii,
    Datatype::StringUtf8,
    Datatype::StringUtf16,
    Datatype::StringUtf32,
    Datatype::DatetimeMs,
    Datatype::TimeNs,
    Datatype::Blob,
    Datatype::Bool,
];

/// All cases.
pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for chain in single() {
        for datatype in Datatype::all() {
            for form in
                [Form::Fixed, Form::Pair, Form::Nullable, Form::Var, Form::VarNullable, Form::Dimension]
            {
                add(&mut cases, &chain, datatype, form, REPRESENTATIVE.contains(&datatype));
            }
        }
    }
    for chain in chains() {
        for datatype in REPRESENTATIVE {
            for form in [Form::Fixed, Form::Nullable, Form::Var] {
                add(&mut cases, &chain, datatype, form, false);
            }
        }
    }
    for chain in images() {
        for pattern in [Pattern::Constant, Pattern::Sorted, Pattern::FullRange] {
            let (form, count) = (Form::Image, IMAGE.0 * IMAGE.1);
            cases.push(Case { chain: chain.clone(), datatype: Datatype::Uint8, form, pattern, count });
        }
    }
    cases
}

fn add(cases: &mut Vec<Case>, chain: &Chain, datatype: Datatype, form: Form, every: bool) {
    if datatype == Datatype::Any && !matches!(form, Form::Var | Form::VarNullable) {
        return;
    }
    if form == Form::Dimension && !is_dimension(datatype) {
        return;
    }
    let chunk = CHUNK / datatype.size() / if form == Form::Pair { 2 } else { 1 };
    let mut tried = vec![(Pattern::Sorted, 100), (Pattern::Sorted, chunk + 1), (Pattern::Extremes, 50)];
    if every {
        tried.extend([
            (Pattern::Constant, 1000),
            (Pattern::FullRange, 1000),
            (Pattern::Sorted, 1),
            (Pattern::Sorted, chunk - 1),
            (Pattern::Sorted, chunk),
            (Pattern::FullRange, 2 * chunk + 77),
        ]);
        if datatype.physical().is_float() {
            tried.push((Pattern::Odd, 200));
        }
        if matches!(form, Form::Var | Form::VarNullable) {
            // No cell has a value: see `cells`.
            tried.push((Pattern::Constant, 5));
        }
    }
    if chain.filters.iter().any(|filter| matches!(filter, Filter::ScaleFloat(_))) {
        // Other values are rounded, which is correct.
        tried = vec![
            (Pattern::Grid, 1),
            (Pattern::Grid, 100),
            (Pattern::Grid, chunk),
            (Pattern::Grid, chunk + 1),
        ];
        if !datatype.physical().is_float() {
            tried.truncate(1);
        }
    }
    if form == Form::Dimension {
        let max = if datatype.size() == 1 { 100 } else { usize::MAX };
        tried =
            vec![(Pattern::Sorted, 1), (Pattern::Sorted, 100), (Pattern::Sorted, (chunk / 2 + 1).min(max))];
    }
    let of = |(pattern, count)| Case { chain: chain.clone(), datatype, form, pattern, count };
    cases.extend(tried.into_iter().map(of));
}

fn is_dimension(datatype: Datatype) -> bool {
    use tdb_codec::DatatypeClass::{Datetime, Integer, Real, Time};
    matches!(datatype.class(), Integer | Real | Datetime | Time) && datatype != Datatype::Bool
}

fn chain(name: &str, parts: Vec<(Filter, Value)>) -> Chain {
    let (filters, peer) = parts.into_iter().unzip();
    Chain { name: name.to_owned(), filters, peer, encrypted: false }
}

fn named(name: &str) -> (Filter, Value) {
    let level = -1;
    let filter = match name {
        "gzip" => Filter::Gzip { level },
        "zstd" => Filter::Zstd { level },
        "lz4" => Filter::Lz4 { level },
        "rle" => Filter::Rle { level },
        "bzip2" => Filter::Bzip2 { level: 1 },
        "double_delta" => Filter::DoubleDelta { level, reinterpret: None },
        "delta" => Filter::Delta { level, reinterpret: None },
        "dictionary" => Filter::Dictionary { level },
        "bit_width_reduction" => Filter::BitWidthReduction { max_window: 256 },
        "positive_delta" => Filter::PositiveDelta { max_window: 1024 },
        "bitshuffle" => Filter::BitShuffle,
        "byteshuffle" => Filter::ByteShuffle,
        "checksum_md5" => Filter::ChecksumMd5,
        "checksum_sha256" => Filter::ChecksumSha256,
        "xor" => Filter::Xor,
        "scale_float" => {
            Filter::ScaleFloat(ScaleFloat { scale: GRID.0, offset: GRID.1, byte_width: ByteWidth::Four })
        }
        _ => Filter::None,
    };
    let peer = match name {
        "bit_width_reduction" => json!({"type": name, "bit_width_max_window": 256}),
        "positive_delta" => json!({"type": name, "positive_delta_max_window": 1024}),
        "scale_float" => json!({
            "type": name, "scale_float_bytewidth": 4, "scale_float_factor": GRID.0, "scale_float_offset": GRID.1,
        }),
        "bzip2" => json!({"type": name, "level": 1}),
        _ => json!({"type": name}),
    };
    (filter, peer)
}

const SINGLE: [&str; 17] = [
    "none",
    "gzip",
    "zstd",
    "lz4",
    "rle",
    "bzip2",
    "double_delta",
    "delta",
    "dictionary",
    "bit_width_reduction",
    "positive_delta",
    "bitshuffle",
    "byteshuffle",
    "checksum_md5",
    "checksum_sha256",
    "xor",
    "scale_float",
];

/// Filters alone.
fn single() -> Vec<Chain> {
    let mut all: Vec<Chain> = SINGLE.iter().map(|name| chain(name, vec![named(name)])).collect();
    for (name, reinterpret) in [("delta", Datatype::Uint8), ("double_delta", Datatype::Int16)] {
        let filter = match name {
            "delta" => Filter::Delta { level: -1, reinterpret: Some(reinterpret) },
            _ => Filter::DoubleDelta { level: -1, reinterpret: Some(reinterpret) },
        };
        let peer = json!({"type": name, "reinterpret_datatype": reinterpret.name()});
        all.push(chain(&format!("{name} as {reinterpret}"), vec![(filter, peer)]));
    }
    all.push(Chain { encrypted: true, ..chain("aes-256-gcm", Vec::new()) });
    all
}

/// Chains of two, three and four.
fn chains() -> Vec<Chain> {
    let list: [&[&str]; 18] = [
        &["byteshuffle", "zstd"],
        &["bitshuffle", "lz4"],
        &["gzip", "checksum_sha256"],
        &["checksum_md5", "zstd"],
        &["double_delta", "bzip2"],
        &["delta", "bitshuffle", "zstd"],
        &["positive_delta", "bit_width_reduction", "zstd"],
        &["bit_width_reduction", "rle", "checksum_md5"],
        &["xor", "byteshuffle", "lz4"],
        &["zstd", "gzip", "lz4"],
        &["rle", "gzip", "checksum_sha256"],
        &["checksum_md5", "byteshuffle", "checksum_sha256", "zstd"],
        &["positive_delta", "bitshuffle", "bzip2", "checksum_md5"],
        &["dictionary", "zstd"],
        // How a chunk of no bytes is listed: see `docs/format/filters.md`.
        &["byteshuffle", "checksum_md5"],
        &["bitshuffle", "rle"],
        &["xor", "rle", "checksum_sha256"],
        &["none", "byteshuffle", "gzip"],
    ];
    let mut all = Vec::new();
    for names in list {
        let name = names.join(" > ");
        let plain = chain(&name, names.iter().map(|name| named(name)).collect());
        all.push(Chain { name: format!("{name} > aes"), encrypted: true, ..plain.clone() });
        all.push(plain);
    }
    all
}

/// Number of rows, and of pixels in a row, of an image.
const IMAGE: (usize, usize) = (24, 40);

fn images() -> Vec<Chain> {
    let formats = [PixelFormat::Rgb, PixelFormat::Bgr, PixelFormat::Rgba, PixelFormat::Bgra];
    let of = |format: PixelFormat| {
        let depth = format.depth().unwrap_or(1);
        let extent = |extent: usize| u16::try_from(extent).unwrap_or(0);
        let filter = Filter::WebP(WebP {
            quality: 100.0,
            format,
            lossless: true,
            y_extent: extent(IMAGE.0),
            x_extent: extent(IMAGE.1 * depth),
        });
        let peer = json!({
            "type": "webp", "webp_quality": 100.0, "webp_input_format": format.code(), "webp_lossless": 1,
        });
        chain(&format!("webp {format:?}").to_lowercase(), vec![(filter, peer)])
    };
    formats.map(of).to_vec()
}

impl Chain {
    /// Whether the chain contains the filter with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.filters.iter().any(|filter| filter.name() == name)
            || self.encrypted && name == Filter::Aes256Gcm.name()
    }
}

impl Case {
    /// The name by which the case can be chosen.
    pub(super) fn name(&self) -> String {
        let Self { chain, datatype, form, pattern, count } = self;
        format!("{} {datatype} {form:?} {pattern:?} {count}", chain.name)
    }

    /// The name for the count of similar cases.
    pub(super) fn group(&self) -> &str {
        &self.chain.name
    }

    pub(super) const fn is_dense(&self) -> bool {
        !matches!(self.form, Form::Dimension)
    }

    /// Sizes of the dense array.
    fn sides(&self) -> Vec<usize> {
        if self.form == Form::Image { vec![IMAGE.0, IMAGE.1 * self.depth()] } else { vec![self.count] }
    }

    fn depth(&self) -> usize {
        match self.chain.filters.first() {
            Some(Filter::WebP(webp)) => webp.format.depth().unwrap_or(1),
            _ => 1,
        }
    }

    /// The cells of every field that is written.
    pub(super) fn cells(&self) -> Vec<Cells> {
        let Self { datatype, form, pattern, count, .. } = *self;
        let mut cells = Cells { name: "a", ..Cells::default() };
        match form {
            Form::Fixed | Form::Nullable => cells.data = values(datatype, pattern, count),
            Form::Pair => cells.data = values(datatype, pattern, count * 2),
            Form::Image => {
                cells.data = values(datatype, pattern, IMAGE.0 * IMAGE.1 * self.depth());
                if self.depth() == 4 {
                    // The format does not keep the colours of transparent pixels.
                    cells.data.chunks_exact_mut(4).for_each(|pixel| {
                        if let [.., alpha] = pixel {
                            *alpha |= 1;
                        }
                    });
                }
            }
            Form::Var | Form::VarNullable => {
                // One value per cell around the ends of chunks, 0 to 4 values elsewhere; in arrays
                // of 5 cells, no cell has a value.
                let len = |index: usize| match count {
                    5 => 0,
                    1 => 3,
                    100 | 1000 => index * 7 % 5,
                    _ => 1,
                };
                let mut offsets = vec![0u64];
                let mut end = 0usize;
                for index in 0..count {
                    end += len(index);
                    offsets.push(to_u64(end * datatype.size()));
                }
                cells.data = values(datatype, pattern, end);
                cells.offsets = Some(offsets);
            }
            Form::Dimension => {
                let data = coordinates(datatype, count);
                cells.data = values(Datatype::Int32, pattern, count);
                return vec![Cells { name: "i", data, ..Cells::default() }, cells];
            }
        }
        if matches!(form, Form::Nullable | Form::VarNullable) {
            cells.validity = Some((0..count).map(|index| u8::from(index % 3 != 1)).collect());
        }
        vec![cells]
    }

    /// The schema in the form of tdb.
    pub(super) fn schema(&self) -> ArraySchema {
        let pipeline = Pipeline::new(self.chain.filters.clone());
        let values = match self.form {
            Form::Var | Form::VarNullable => CellValNum::Var,
            Form::Pair => CellValNum::from_code(2).unwrap_or(CellValNum::ONE),
            _ => CellValNum::ONE,
        };
        if self.form == Form::Dimension {
            let (low, high, _) = self.dimension();
            let mut dimension = Dimension::fixed("i", self.datatype, low, high);
            dimension.filters = pipeline;
            let attribute = Attribute::new("a", Datatype::Int32, CellValNum::ONE);
            let domain = Domain::new(vec![dimension]);
            let mut schema = ArraySchema::new(ArrayType::Sparse, domain).with_attribute(attribute);
            schema.capacity = 1 << 20;
            return schema;
        }
        let dimension = |(name, side): (&str, &usize)| {
            let (low, high, extent) = ends(*side);
            Dimension::fixed(name, Datatype::Int32, low, high).with_tile_bytes(extent)
        };
        let domain = Domain::new(["y", "x"].into_iter().zip(&self.sides()).map(dimension).collect());
        let mut attribute = Attribute::new("a", self.datatype, values);
        attribute.filters = pipeline;
        attribute.nullable = matches!(self.form, Form::Nullable | Form::VarNullable);
        let mut schema = ArraySchema::new(ArrayType::Dense, domain).with_attribute(attribute);
        schema.cell_order = Layout::RowMajor;
        schema
    }

    /// The schema and the cells to write, in the form of the peer.
    pub(super) fn for_peer(&self) -> Value {
        let mut attribute = json!({"name": "a", "type": self.datatype.name(), "filters": self.chain.peer});
        match self.form {
            Form::Var | Form::VarNullable => set(&mut attribute, "cell_val_num", json!("var")),
            Form::Pair => set(&mut attribute, "cell_val_num", json!(2)),
            _ => {}
        }
        if matches!(self.form, Form::Nullable | Form::VarNullable) {
            set(&mut attribute, "nullable", json!(true));
        }
        if self.form == Form::Dimension {
            let (low, high, _) = self.dimension();
            let dimension = json!({
                "name": "i", "type": self.datatype.name(), "domain": [hex(&low), hex(&high)],
                "filters": self.chain.peer,
            });
            let attribute = json!({"name": "a", "type": "INT32"});
            let schema = json!({
                "array_type": "sparse", "dimensions": [dimension], "attributes": [attribute], "capacity": 1 << 20,
            });
            return json!({"schema": schema, "subarray": null});
        }
        let (mut dimensions, mut subarray) = (Vec::new(), Vec::new());
        for (name, side) in ["y", "x"].into_iter().zip(&self.sides()) {
            let (low, high, extent) = ends(*side);
            let domain = [hex(&low), hex(&high)];
            dimensions
                .push(json!({"name": name, "type": "INT32", "domain": domain, "tile_extent": hex(&extent)}));
            subarray.push(domain);
        }
        let schema = json!({"array_type": "dense", "dimensions": dimensions, "attributes": [attribute]});
        json!({"schema": schema, "subarray": subarray})
    }

    /// The ends and the extent of the sparse dimension.
    fn dimension(&self) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
        let all = coordinates(self.datatype, self.count.max(2));
        let size = self.datatype.size();
        let low = all.get(..size).unwrap_or_default().to_vec();
        let high = all.get(all.len().saturating_sub(size)..).unwrap_or_default().to_vec();
        (low, high.clone(), high)
    }
}

fn set(object: &mut Value, key: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

fn ends(side: usize) -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX).to_le_bytes().to_vec();
    (number(0), number(side.saturating_sub(1)), number(side))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
