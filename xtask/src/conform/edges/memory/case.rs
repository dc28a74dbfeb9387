//! Random arrays whose cells are read within little memory.

use std::ops::RangeInclusive;
use std::path::Path;

use tdb_array::schema::{ArraySchema, Attribute, CellValNum, Datatype, Dimension, Filter, Pipeline};
use tdb_array::storage::Durability;
use tdb_array::{Layout, WriteColumn, WriteOptions};

use super::super::super::random::Random;

/// An array of two dimensions, and the part of it that is asked for.
#[derive(Debug)]
pub(super) struct Case {
    dense: bool,
    duplicates: bool,
    sides: [u64; 2],
    tile: [u64; 2],
    capacity: u64,
    orders: [Layout; 2],
    attributes: Vec<(&'static str, Vec<Filter>)>,
    writes: Vec<[RangeInclusive<u64>; 2]>,
    /// Whether the array is much larger than what reading it takes.
    large: bool,
    asked: Vec<String>,
    seed: u64,
}

const NAMES: [&str; 4] = ["byte", "number", "maybe", "text"];

/// Filters that a field may have.
fn filters(random: &mut Random) -> Vec<Filter> {
    match random.below(5) {
        0 => Vec::new(),
        1 => vec![Filter::Zstd { level: 1 }],
        2 => vec![Filter::ByteShuffle, Filter::Zstd { level: 1 }],
        3 => vec![Filter::BitShuffle, Filter::Lz4 { level: 1 }],
        _ => vec![Filter::Gzip { level: 1 }],
    }
}

/// A part of `0..side`: all of it, or any.
fn part(random: &mut Random, side: u64) -> RangeInclusive<u64> {
    if random.one_in(2) {
        return 0..=side.saturating_sub(1);
    }
    let (one, other) = (random.below(side), random.below(side));
    one.min(other)..=one.max(other)
}

impl Case {
    pub(super) fn draw(random: &mut Random, large: bool) -> Self {
        let (sides, tile) = match (large, random.below(4)) {
            (true, 0) => ([128, 60_000], [128, 60_000]),
            (true, 1) => ([3000, 2000], [1000, 2000]),
            (true, _) => ([1, 6_000_000], [1, 6_000_000]),
            (false, 0) => ([60, 50], [20, 25]),
            (false, 1) => ([300, 400], [150, 400]),
            (false, 2) => ([40, 9000], [40, 9000]),
            (false, _) => ([1, 200_000], [1, 200_000]),
        };
        let order = |random: &mut Random| if random.one_in(2) { Layout::RowMajor } else { Layout::ColMajor };
        let orders = [order(random), order(random)];
        let mut attributes: Vec<_> =
            NAMES.into_iter().filter(|_| random.one_in(2)).map(|name| (name, Vec::new())).collect();
        // Tiles of texts are never read chunk by chunk.
        attributes.retain(|(name, _)| !large || *name != "text");
        if attributes.is_empty() {
            attributes.push(("byte", Vec::new()));
        }
        attributes.iter_mut().for_each(|(_, own)| *own = filters(random));
        let count = if large { 1 } else { random.length(1, 3) };
        let write = |random: &mut Random| match large {
            true => sides.map(|side: u64| 0..=side.saturating_sub(1)),
            false => sides.map(|side| part(random, side)),
        };
        let writes = (0..count).map(|_| write(random)).collect();
        let mut asked = Vec::new();
        for (name, side) in ["y", "x"].into_iter().zip(sides) {
            if random.one_in(3) {
                let part = part(random, side);
                asked.push(format!("{name}={}..{}", part.start(), part.end()));
            }
        }
        let (dense, duplicates) = (random.one_in(2), random.one_in(2));
        let capacity = random.pick(&[7, 500, 20_000]).copied().unwrap_or(500);
        Self {
            dense,
            duplicates,
            sides,
            tile,
            capacity: if large { 100_000 } else { capacity },
            orders,
            attributes,
            writes,
            large,
            asked,
            seed: random.next(),
        }
    }

    pub(super) const fn is_large(&self) -> bool {
        self.large
    }

    /// Whether several cells may have the same coordinates.
    pub(super) const fn has_duplicates(&self) -> bool {
        !self.dense && self.duplicates
    }

    /// Whether it is a dense array with values of variable length.
    pub(super) fn has_texts_in_boxes(&self) -> bool {
        self.dense && self.attributes.iter().any(|(name, _)| *name == "text")
    }

    /// The kind of picture that is drawn of it.
    pub(super) fn picture(&self) -> &'static str {
        let numbers = self.attributes.iter().any(|(name, _)| *name != "text");
        if self.dense && numbers { "heat" } else { "density" }
    }

    /// The ranges that are asked for.
    pub(super) fn ranges(&self) -> &[String] {
        &self.asked
    }

    /// Writes the array; or one of the same schema that has but a few cells.
    pub(super) fn write(&self, path: &Path, tiny: bool) -> tdb_array::Result<()> {
        let dimension = |name: &str, side: u64, tile: u64| {
            Dimension::new(name, 0..=side.saturating_sub(1)).with_tile(tile)
        };
        let (sides, tile) = if tiny { ([10, 10], [10, 10]) } else { (self.sides, self.tile) };
        let schema = if self.dense { ArraySchema::dense() } else { ArraySchema::sparse() };
        let mut schema = ["y", "x"]
            .into_iter()
            .zip(sides.into_iter().zip(tile))
            .fold(schema, |schema, (name, (side, tile))| schema.dimension(dimension(name, side, tile)));
        let [tiles, cells] = self.orders;
        schema = schema.tile_order(tiles).cell_order(cells);
        schema = self.attributes.iter().fold(schema, |schema, (name, filters)| {
            let filters = Pipeline::new(filters.clone());
            schema.attribute(attribute(name).with_filters(filters))
        });
        if !self.dense {
            schema = schema.capacity(self.capacity);
            schema = if self.duplicates { schema.allow_duplicates() } else { schema };
        }
        let options = || WriteOptions::new().durability(Durability::Buffered);
        options().create(
            path,
            &schema
                .build()
                .map_err(|error| std::io::Error::other(error.to_string()))
                .map_err(|error| tdb_array::Error::io(path.display().to_string(), error))?,
        )?;
        let tiny_write = [[0..=9, 0..=9]];
        let writes = if tiny { &tiny_write[..] } else { &self.writes };
        for (time, sides) in (1u64..).zip(writes) {
            self.write_part(options().timestamp(time).open(path)?, time, sides)?;
        }
        Ok(())
    }

    fn write_part(
        &self,
        writer: tdb_array::ArrayWriter,
        time: u64,
        [rows, columns]: &[RangeInclusive<u64>; 2],
    ) -> tdb_array::Result<()> {
        let mut random = Random::new(self.seed ^ time);
        let places = rows.clone().flat_map(|y| columns.clone().map(move |x| (y, x)));
        let all = places.clone().count();
        // Of sparse arrays, not all.
        let most = if self.large { 600_000 } else { 3000 };
        let step = if self.dense { 1 } else { all.checked_div(most).unwrap_or(0).saturating_add(1) };
        let kept: Vec<(u64, u64)> = places.step_by(step).collect();
        let (y, x): (Vec<u64>, Vec<u64>) = kept.iter().copied().unzip();
        let bytes: Vec<u8> = kept.iter().map(|_| u8::try_from(random.below(40)).unwrap_or(0)).collect();
        let numbers: Vec<i64> = bytes.iter().map(|byte| i64::from(*byte) * 1000).collect();
        let maybe: Vec<i32> = bytes.iter().map(|byte| i32::from(*byte)).collect();
        let valid: Vec<u8> = bytes.iter().map(|byte| u8::from(byte % 5 != 0)).collect();
        let (mut text, mut offsets) = (Vec::new(), vec![0u64]);
        for byte in &bytes {
            let len = if random.one_in(3000) { 4000 } else { usize::from(byte % 9) };
            text.resize(text.len().saturating_add(len), b'a');
            offsets.push(tdb_codec::to_u64(text.len()));
        }
        let mut write = writer.write();
        write = if self.dense {
            write.range("y", rows.clone()).range("x", columns.clone())
        } else {
            let write = write.order(Layout::Unordered);
            write.column(WriteColumn::fixed("y", &y)).column(WriteColumn::fixed("x", &x))
        };
        for (name, _) in &self.attributes {
            write = write.column(match *name {
                "byte" => WriteColumn::fixed(name, &bytes),
                "number" => WriteColumn::fixed(name, &numbers),
                "maybe" => WriteColumn::fixed(name, &maybe).nullable(&valid),
                _ => WriteColumn::var(name, &text, &offsets),
            });
        }
        write.commit().map(drop)
    }
}

fn attribute(name: &str) -> Attribute {
    match name {
        "byte" => Attribute::new(name, Datatype::Uint8, CellValNum::ONE),
        "number" => Attribute::new(name, Datatype::Int64, CellValNum::ONE),
        "maybe" => Attribute::new(name, Datatype::Int32, CellValNum::ONE).with_nulls(),
        _ => Attribute::new(name, Datatype::StringAscii, CellValNum::Var),
    }
}
