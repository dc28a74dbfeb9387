//! Random dimensions: domains and extents up to the limits of every type.

use tdb_array::schema::Datatype;
use tdb_codec::{FormatVersion, Gate};
use tdb_schema::Dimension;

use super::schemas::{bytes_pipeline, integers_pipeline};
use crate::conform::random::Random;

/// Largest number of cells along a tile of a dense array, because tiles are stored whole.
const DENSE_TILE: i128 = 30;

/// A random dimension; `longest` is the length of an ordinary integral domain.
pub(super) fn draw(
    random: &mut Random,
    version: FormatVersion,
    dense: bool,
    index: usize,
    datatype: Datatype,
    longest: usize,
) -> Option<Dimension> {
    let name = if random.one_in(8) { format!("dim {index}") } else { format!("d{index}") };
    let dimension = if datatype == Datatype::StringAscii {
        Dimension::string(name)
    } else if datatype.physical().is_float() {
        real(random, name, datatype)?
    } else {
        integral(random, name, dense, datatype, longest)?
    };
    if !version.has(Gate::DimensionFiles) || random.one_in(2) {
        return Some(dimension);
    }
    let pipeline = if datatype.physical().is_float() || datatype.is_string() {
        bytes_pipeline(random, version)
    } else {
        integers_pipeline(random, version)
    };
    Some(if dense { dimension } else { dimension.with_filters(pipeline) })
}

/// The bytes of a real number of a type.
pub(super) fn real_bytes(datatype: Datatype, value: f64) -> Vec<u8> {
    match datatype {
        #[expect(clippy::cast_possible_truncation, reason = "the nearest value is needed")]
        Datatype::Float32 => (value as f32).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    }
}

fn real(random: &mut Random, name: String, datatype: Datatype) -> Option<Dimension> {
    let max = if datatype == Datatype::Float32 { f64::from(f32::MAX) } else { f64::MAX };
    let ends = [
        (-10.0, 10.0),
        (-100.0, 100.0),
        (0.0, 1.0),
        (-1e30, 1e30),
        (-max, max),
        (0.0, max),
        (-max, 0.0),
        (1.0, 1.000_001),
        (-1e-30, 1e-30),
    ];
    let (low, high) = *random.pick(&ends)?;
    let dimension = Dimension::fixed(name, datatype, real_bytes(datatype, low), real_bytes(datatype, high));
    // Computed with halves, because the whole may overflow.
    let half = high / 2.0 - low / 2.0;
    let share = *random.pick(&[None, None, Some(0.2), Some(0.6), Some(1.5), Some(2.0)])?;
    let extent = share.map(|share: f64| half * share).filter(|extent| *extent <= max);
    Some(match extent {
        Some(extent) => dimension.with_tile_bytes(real_bytes(datatype, extent)),
        None => dimension,
    })
}

fn integral(
    random: &mut Random,
    name: String,
    dense: bool,
    datatype: Datatype,
    longest: usize,
) -> Option<Dimension> {
    let size = datatype.size();
    let signed = datatype.physical().is_signed_integer();
    let bits = u32::try_from(size * 8).ok()?;
    let top: i128 = if signed { (1 << (bits - 1)) - 1 } else { (1 << bits) - 1 };
    let bottom: i128 = if signed { -(1 << (bits - 1)) } else { 0 };
    let (low, high) = if random.one_in(4) {
        // As wide as possible; only parts of it are written.
        let lows = [bottom, bottom + 1, bottom / 2, 0, 1];
        let highs = [top, top - 1, top - 2, top - 30, top / 2 + 1];
        (*random.pick(&lows)?, *random.pick(&highs)?)
    } else {
        let longest = longest.min(if size == 1 { 90 } else { usize::MAX });
        let cells = i128::try_from(random.length(1, longest)).ok()?;
        let lows =
            [0, 1, 10, -cells / 2, bottom, bottom + 1, top / 2, bottom / 2, top - cells, top - cells + 1];
        let low = (*random.pick(&lows)?).max(bottom);
        (low, low + cells - 1)
    };
    let cells = high - low + 1;
    let small = i128::try_from(random.length(1, 30)).ok()?.min(cells);
    let extents = [small, small, small, 1, cells, cells / 2 + 1, cells / 3 + 1, 4_000_000];
    let max = if dense { DENSE_TILE } else { top };
    let drawn = (*random.pick(&extents)?).min(cells);
    let extent = if drawn > max { small } else { drawn };
    let bytes = |value: i128| value.to_le_bytes().get(..size).map(<[u8]>::to_vec);
    let dimension = Dimension::fixed(name, datatype, bytes(low)?, bytes(high)?);
    let none = random.one_in(5) && (!dense || cells <= i128::try_from(longest).ok()?);
    Some(if none { dimension } else { dimension.with_tile_bytes(bytes(extent)?) })
}
