//! How the bytes of an input are shared out, and the other way round for seeds.

use tdb_codec::{ArrayType, CellValNum, Datatype, FormatVersion, to_u64};
use tdb_filters::TileContext;
use tdb_schema::{ArraySchema, Attribute, Dimension, Domain};

/// A cursor that never fails: where bytes are missing there are zeros.
pub(crate) struct Input<'a>(&'a [u8]);

impl<'a> Input<'a> {
    pub(crate) const fn new(data: &'a [u8]) -> Self {
        Self(data)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub(crate) fn u16(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.u8(), self.u8()]))
    }

    pub(crate) fn u24(&mut self) -> usize {
        self.u16() | (usize::from(self.u8()) << 16)
    }

    /// The next `len` bytes, or all there are.
    pub(crate) fn take(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at_checked(len).unwrap_or((self.0, &[]));
        self.0 = rest;
        taken
    }

    /// One of the versions, by a byte.
    pub(crate) fn version(&mut self) -> FormatVersion {
        let wanted = usize::from(self.u8());
        let count = FormatVersion::all().count();
        FormatVersion::all().nth(wanted.checked_rem(count).unwrap_or(0)).unwrap_or(FormatVersion::CURRENT)
    }

    /// One of the datatypes, by a byte.
    pub(crate) fn datatype(&mut self) -> Datatype {
        let wanted = usize::from(self.u8());
        let count = Datatype::all().count();
        Datatype::all().nth(wanted.checked_rem(count).unwrap_or(0)).unwrap_or(Datatype::Any)
    }

    /// A schema: a byte for one that is built in, or [`INLINE`] before the length and payload of
    /// another.
    pub(crate) fn schema(&mut self) -> Option<ArraySchema> {
        match self.u8() {
            INLINE => {
                let len = self.u16();
                ArraySchema::parse(self.take(len)).ok()
            }
            index => Some(built_in(index)),
        }
    }
}

const INLINE: u8 = 0xff;

/// A few schemas that differ in what a footer and an R-tree depend on.
fn built_in(index: u8) -> ArraySchema {
    let int = |name: &str| {
        Dimension::fixed(name, Datatype::Int32, 1i32.to_le_bytes(), 100i32.to_le_bytes())
            .with_tile_bytes(10i32.to_le_bytes())
    };
    let time = Dimension::fixed("time", Datatype::DatetimeMs, 0i64.to_le_bytes(), i64::MAX.to_le_bytes());
    let real = Dimension::fixed("real", Datatype::Float64, (-1f64).to_le_bytes(), 1f64.to_le_bytes());
    let value = Attribute::new("value", Datatype::Float64, CellValNum::ONE);
    let text = Attribute::new("text", Datatype::StringUtf8, CellValNum::Var);
    match index % 4 {
        0 => ArraySchema::new(ArrayType::Dense, Domain::new(vec![int("rows"), int("columns")]))
            .with_attribute(value)
            .with_attribute(text),
        1 => ArraySchema::new(ArrayType::Sparse, Domain::new(vec![int("rows"), int("columns")]))
            .with_attribute(value),
        2 => ArraySchema::new(ArrayType::Sparse, Domain::new(vec![time, real])).with_attribute(text),
        _ => ArraySchema::new(ArrayType::Sparse, Domain::new(vec![real])),
    }
}

/// An input of a body that needs a schema: the schema's payload, then `rest`. `None` if the payload
/// is too long.
#[must_use]
pub fn with_schema(payload: &[u8], rest: &[u8]) -> Option<Vec<u8>> {
    let len = u16::try_from(payload.len()).ok()?;
    let mut input = vec![INLINE];
    input.extend_from_slice(&len.to_le_bytes());
    input.extend_from_slice(payload);
    input.extend_from_slice(rest);
    Some(input)
}

/// The byte by which bodies choose a version.
#[must_use]
pub fn version_byte(version: FormatVersion) -> u8 {
    let index = FormatVersion::all().position(|other| other == version);
    index.and_then(|index| u8::try_from(index).ok()).unwrap_or(0)
}

/// The input of [`whole_array`](crate::whole_array): for each file a `u16` length and its key, a
/// `u24` length and its bytes. `None` if something is too long.
#[must_use]
pub fn pack_files(files: &[(String, Vec<u8>)]) -> Option<Vec<u8>> {
    let mut input = Vec::new();
    for (key, bytes) in files {
        input.extend_from_slice(&u16::try_from(key.len()).ok()?.to_le_bytes());
        input.extend_from_slice(key.as_bytes());
        let [low, middle, high, 0] = u32::try_from(bytes.len()).ok()?.to_le_bytes() else { return None };
        input.extend_from_slice(&[low, middle, high]);
        input.extend_from_slice(bytes);
    }
    Some(input)
}

/// The other way round.
pub(crate) fn unpack_files(data: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut input = Input::new(data);
    let mut files = Vec::new();
    while !input.is_empty() {
        let len = input.u16();
        let key = String::from_utf8_lossy(input.take(len)).into_owned();
        let len = input.u24();
        files.push((key, input.take(len).to_vec()));
    }
    files
}

/// The input of a filter's body.
///
/// | Field | Type |
/// |---|---|
/// | datatype, version, flags | u8 each; flags: 1 = var-length, 2 = propagate types, upper bits vary options |
/// | length of the result | u24, at most 1 MiB counts |
/// | metadata length | u16 |
/// | metadata, data | bytes |
#[derive(Clone, Copy, Debug)]
pub struct FilterInput<'a> {
    /// Type of the tile's values.
    pub datatype: Datatype,
    /// Version of schema and fragment.
    pub version: FormatVersion,
    /// 1 = values of a var-length field, 2 = propagate types; the upper four bits vary the filter's
    /// options.
    pub flags: u8,
    /// Length of the chunk's cells.
    pub out_len: usize,
    /// The chunk's metadata.
    pub metadata: &'a [u8],
    /// The chunk's data.
    pub data: &'a [u8],
}

impl<'a> FilterInput<'a> {
    /// Most bytes a chunk decodes to.
    const MAX_OUT: usize = 1 << 20;

    pub(crate) fn parse(data: &'a [u8]) -> Self {
        let mut input = Input::new(data);
        let (datatype, version, flags) = (input.datatype(), input.version(), input.u8());
        let out_len = input.u24().min(Self::MAX_OUT);
        let metadata_len = input.u16();
        Self { datatype, version, flags, out_len, metadata: input.take(metadata_len), data: input.rest() }
    }

    /// As bytes; `None` if something is too long.
    #[must_use]
    pub fn pack(&self) -> Option<Vec<u8>> {
        let [low, middle, high, 0] = u32::try_from(self.out_len).ok()?.to_le_bytes() else { return None };
        let metadata_len = u16::try_from(self.metadata.len()).ok()?.to_le_bytes();
        let mut input = vec![self.datatype.code(), version_byte(self.version), self.flags, low, middle, high];
        input.extend_from_slice(&metadata_len);
        input.extend_from_slice(self.metadata);
        input.extend_from_slice(self.data);
        Some(input)
    }

    pub(crate) fn context(&self) -> TileContext {
        let mut context = TileContext::new(self.datatype, to_u64(self.datatype.size()), self.version);
        context.var = self.flags & 1 != 0;
        if self.flags & 2 != 0 {
            context.writer_version = FormatVersion::CURRENT;
        }
        context
    }
}
