//! The R-tree: minimum bounding rectangles (MBRs) of all data tiles, and of groups of them.

use tdb_codec::{
    Error, ErrorKind, FieldRow, FormatVersion, Gate, Reader, Result, Structure, Wire, Writer, to_u32, to_u64,
};
use tdb_schema::{Domain, Range};

/// The table of an R-tree.
pub(crate) static TABLE: Structure = Structure::new(
    "R-tree",
    &[
        FieldRow::new("R-tree dimension count", Wire::U32).until(Gate::DimensionFiles),
        FieldRow::new("R-tree fanout", Wire::U32).note("always 10"),
        FieldRow::new("R-tree domain datatype", Wire::U8).until(Gate::DimensionFiles),
        FieldRow::new("R-tree level count", Wire::U32),
        FieldRow::new("levels", Wire::Structure(&LEVEL)).each("level, root first"),
    ],
)
.since(Gate::FragmentFooter)
.code("RTree::parse", "RTree::to_bytes");

static LEVEL: Structure = Structure::new(
    "R-tree level",
    &[
        FieldRow::new("MBR count", Wire::U64),
        FieldRow::new("MBRs", Wire::Bytes).note("for each MBR, one range for each dimension"),
    ],
);

/// Number of children of a node in every tree that libtiledb writes.
const FANOUT: u32 = 10;

/// The MBRs of one level, as bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Level {
    bytes: Vec<u8>,
    /// Start of each interval (for each MBR and dimension); empty if all dimensions are of fixed
    /// size.
    starts: Vec<usize>,
    count: usize,
}

/// Sizes of the dimensions' coordinates; `None` for strings.
type Sizes = Vec<Option<usize>>;

/// An R-tree over the data tiles of a sparse fragment. Leaf `i` is the MBR of data tile `i`.
///
/// The table of its fields is "R-tree" in [`STRUCTURES`](crate::STRUCTURES). The root is the first
/// level. Dense fragments have a tree without levels.
///
/// ```
/// use tdb_codec::{Datatype, FormatVersion};
/// use tdb_fragment::RTree;
/// use tdb_schema::{Dimension, Domain};
///
/// let low = 0u8.to_le_bytes();
/// let domain = Domain::new(vec![Dimension::fixed("x", Datatype::Uint8, low, 99u8.to_le_bytes())]);
/// // fanout 10, 1 level, 1 MBR: 3 to 7
/// let payload = [10, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 7];
/// let tree = RTree::parse(&payload, FormatVersion::CURRENT, &domain)?;
/// assert_eq!(tree.leaf_count(), 1);
/// assert_eq!(tree.search(|_, low, high| low <= &[5][..] && high >= &[5][..]), [0]);
/// # Ok::<(), tdb_codec::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RTree {
    levels: Vec<Level>,
    fanout: usize,
    sizes: Sizes,
}

/// One MBR: an interval for each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Mbr<'a> {
    level: &'a Level,
    sizes: &'a [Option<usize>],
    index: usize,
}

impl<'a> Mbr<'a> {
    /// The low and the high end in dimension `dimension`.
    #[must_use]
    pub fn range(&self, dimension: usize) -> Option<(&'a [u8], &'a [u8])> {
        self.level.range(self.sizes, self.index, dimension)
    }

    /// The intervals of all dimensions.
    pub fn ranges(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        let this = *self;
        (0..this.sizes.len()).filter_map(move |dimension| this.range(dimension))
    }
}

impl Level {
    fn parse(reader: &mut Reader<'_>, sizes: &[Option<usize>]) -> Result<Self> {
        let fixed: Option<usize> =
            sizes.iter().try_fold(0usize, |sum, size| sum.checked_add((*size)?.checked_mul(2)?));
        match fixed {
            Some(stride) => {
                let count = reader.count_u64(stride, "MBR count")?;
                let bytes = reader.take(count.saturating_mul(stride), "MBRs")?.to_vec();
                Ok(Self { bytes, starts: Vec::new(), count })
            }
            None => {
                let min = sizes.iter().map(|size| size.map_or(16, |size| size.saturating_mul(2))).sum();
                let count = reader.count_u64(min, "MBR count")?;
                // A trace records all MBRs of a level as one field, as for dimensions of fixed
                // size.
                let mut walk = reader.untraced();
                let mut starts = Vec::with_capacity(count.saturating_mul(sizes.len()));
                let base = walk.remaining();
                for _ in 0..count {
                    for size in sizes {
                        starts.push(base.saturating_sub(walk.remaining()));
                        match size {
                            Some(size) => {
                                walk.take(size.saturating_mul(2), "MBR")?;
                            }
                            None => {
                                let at = walk;
                                let total = walk.u64("MBR")?;
                                let low = walk.u64("MBR")?;
                                if low > total {
                                    return Err(at.error("MBR", ErrorKind::WrongLength { value: low }));
                                }
                                walk.take_u64(total, "MBR")?;
                            }
                        }
                    }
                }
                let used = base.saturating_sub(walk.remaining());
                let bytes = reader.take(used, "MBRs")?.to_vec();
                Ok(Self { bytes, starts, count })
            }
        }
    }

    /// Number of MBRs.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Whether there are no MBRs.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn range(&self, sizes: &[Option<usize>], index: usize, dimension: usize) -> Option<(&[u8], &[u8])> {
        let size = *sizes.get(dimension)?;
        let start = if self.starts.is_empty() {
            let width = |sizes: &[Option<usize>]| -> Option<usize> {
                sizes.iter().try_fold(0usize, |sum, size| sum.checked_add((*size)?.checked_mul(2)?))
            };
            index.checked_mul(width(sizes)?)?.checked_add(width(sizes.get(..dimension)?)?)?
        } else {
            *self.starts.get(index.checked_mul(sizes.len())?.checked_add(dimension)?)?
        };
        let bytes = self.bytes.get(start..)?;
        match size {
            Some(size) => {
                let (low, rest) = bytes.split_at_checked(size)?;
                Some((low, rest.get(..size)?))
            }
            None => {
                let mut reader = Reader::new(bytes);
                let total = reader.u64("").ok()?;
                let low_len = reader.u64("").ok()?;
                let low = reader.take_u64(low_len, "").ok()?;
                let high = reader.take_u64(total.checked_sub(low_len)?, "").ok()?;
                Some((low, high))
            }
        }
    }
}

impl RTree {
    /// Reads the payload of the R-tree section of a fragment of `version`.
    ///
    /// # Errors
    /// If the payload is truncated, bytes are left over, the fanout is below 2, or the counts of
    /// the levels do not match each other.
    pub fn parse(payload: &[u8], version: FormatVersion, domain: &Domain) -> Result<Self> {
        Self::parse_from(Reader::new(payload), version, domain)
    }

    /// Reads the payload with a reader from the caller, for example a traced one.
    ///
    /// # Errors
    /// As [`Self::parse`].
    pub fn parse_from(mut reader: Reader<'_>, version: FormatVersion, domain: &Domain) -> Result<Self> {
        let sizes = sizes_of(domain);
        let start = reader;
        let len = reader.remaining();
        if !version.has(Gate::DimensionFiles) {
            let count = reader.u32("R-tree dimension count")?;
            // Trees without levels may have any value here.
            if to_u64(sizes.len()) != u64::from(count) && len > 13 {
                let kind = ErrorKind::InvalidValue { value: u64::from(count) };
                return Err(start.error("R-tree dimension count", kind));
            }
        }
        let at = reader;
        let fanout = reader.u32("R-tree fanout")?;
        if !version.has(Gate::DimensionFiles) {
            reader.u8("R-tree domain datatype")?;
        }
        let level_count = reader.count_u32(8, "R-tree level count")?;
        if fanout < 2 && level_count != 0 {
            let kind = ErrorKind::InvalidValue { value: u64::from(fanout) };
            return Err(at.error("R-tree fanout", kind));
        }
        let fanout = usize::try_from(fanout).unwrap_or(usize::MAX);
        let mut levels: Vec<Level> = Vec::with_capacity(level_count);
        for _ in 0..level_count {
            let at = reader;
            let level = Level::parse(&mut reader, &sizes)?;
            let fits = match levels.last() {
                None => level.count <= 1,
                Some(above) => above.count == level.count.div_ceil(fanout),
            };
            if !fits {
                let kind = ErrorKind::CountTooLarge { count: to_u64(level.count) };
                return Err(at.error("MBR count", kind));
            }
            levels.push(level);
        }
        reader.finish("R-tree")?;
        Ok(Self { levels, fanout, sizes })
    }

    /// Builds a tree over the MBRs of all data tiles in order (each has one [`Range`] for each
    /// dimension), as libtiledb does: the fanout is 10, and each parent is the union of up to 10
    /// consecutive children.
    ///
    /// # Errors
    /// If the ranges of a leaf do not match the domain.
    pub fn build(leaves: &[Vec<Range>], domain: &Domain) -> Result<Self> {
        let sizes = sizes_of(domain);
        let mut levels = Vec::new();
        let mut current = leaves.to_vec();
        while !current.is_empty() {
            let mut writer = Writer::new();
            writer.u64(to_u64(current.len()));
            for (range, dimension) in current.iter().flat_map(|mbr| mbr.iter().zip(&domain.dimensions)) {
                range.write(&mut writer, dimension);
            }
            let bytes = writer.into_vec();
            levels.push(Level::parse(&mut Reader::new(&bytes), &sizes)?);
            if current.len() == 1 {
                break;
            }
            let fanout = usize::try_from(FANOUT).unwrap_or(usize::MAX);
            current = current.chunks(fanout).filter_map(|children| unite(children, domain)).collect();
        }
        levels.reverse();
        Ok(Self { levels, fanout: usize::try_from(FANOUT).unwrap_or(usize::MAX), sizes })
    }

    /// The payload that [`Self::parse`] reads.
    ///
    /// # Errors
    /// If a count does not fit 32 bits.
    pub fn to_bytes(&self, version: FormatVersion, domain: &Domain) -> Result<Vec<u8>> {
        let mut writer = Writer::new();
        let old = !version.has(Gate::DimensionFiles);
        if old {
            writer.len_u32(self.sizes.len(), "R-tree dimension count")?;
        }
        let fanout = to_u32(self.fanout).ok_or(Error::new(
            "R-tree fanout",
            0,
            ErrorKind::Overflow { value: to_u64(self.fanout) },
        ))?;
        writer.u32(fanout);
        if old {
            writer.u8(domain.dimensions.first().map_or(0, |dimension| dimension.datatype.code()));
        }
        writer.len_u32(self.levels.len(), "R-tree level count")?;
        for level in &self.levels {
            writer.u64(to_u64(level.count));
            writer.bytes(&level.bytes);
        }
        Ok(writer.into_vec())
    }

    /// Number of leaves: the number of data tiles, or 0 for dense fragments.
    #[must_use]
    pub fn leaf_count(&self) -> usize {
        self.levels.last().map_or(0, Level::len)
    }

    /// The levels, root first.
    #[must_use]
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// Number of children of a node; the last node of a level may have fewer.
    #[must_use]
    pub const fn fanout(&self) -> usize {
        self.fanout
    }

    /// An MBR of a level; the root is level 0.
    #[must_use]
    pub fn node(&self, level: usize, index: usize) -> Option<Mbr<'_>> {
        let level = self.levels.get(level)?;
        (index < level.count).then_some(Mbr { level, sizes: &self.sizes, index })
    }

    /// The MBR of data tile `tile`.
    #[must_use]
    pub fn leaf(&self, tile: usize) -> Option<Mbr<'_>> {
        self.node(self.levels.len().checked_sub(1)?, tile)
    }

    /// Data tiles whose MBR satisfies `overlaps(dimension, low, high)` in every dimension, in
    /// ascending order. The search starts at the root, so it skips whole subtrees.
    pub fn search(&self, overlaps: impl Fn(usize, &[u8], &[u8]) -> bool) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        for (depth, level) in self.levels.iter().enumerate() {
            let candidates: Vec<usize> = if depth == 0 {
                (0..level.count).collect()
            } else {
                let children = |parent: &usize| {
                    let start = parent.saturating_mul(self.fanout);
                    start..start.saturating_add(self.fanout).min(level.count)
                };
                found.iter().flat_map(children).collect()
            };
            found = candidates
                .into_iter()
                .filter(|index| {
                    (0..self.sizes.len()).all(|dimension| {
                        level
                            .range(&self.sizes, *index, dimension)
                            .is_none_or(|(low, high)| overlaps(dimension, low, high))
                    })
                })
                .collect();
        }
        found
    }
}

fn sizes_of(domain: &Domain) -> Sizes {
    let size = |dimension: &tdb_schema::Dimension| (!dimension.is_var()).then(|| dimension.datatype.size());
    domain.dimensions.iter().map(size).collect()
}

fn unite(children: &[Vec<Range>], domain: &Domain) -> Option<Vec<Range>> {
    let (first, rest) = children.split_first()?;
    let mut union = first.clone();
    for child in rest {
        for ((range, other), dimension) in union.iter_mut().zip(child).zip(&domain.dimensions) {
            range.unite(dimension.datatype, other);
        }
    }
    Some(union)
}

#[cfg(test)]
mod tests;
