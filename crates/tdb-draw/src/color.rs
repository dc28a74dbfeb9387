//! Colours, and ramps of colours from low to high.

use core::fmt;

/// A colour: red, green, blue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Color(pub u8, pub u8, pub u8);

impl Color {
    pub(crate) const WHITE: Self = Self(255, 255, 255);
    /// Titles.
    pub(crate) const INK: Self = Self(31, 35, 40);
    /// Texts at axes.
    pub(crate) const PENCIL: Self = Self(89, 99, 110);
    /// Lines of axes.
    pub(crate) const LINE: Self = Self(175, 184, 193);
    /// Lines behind the data, and what was replaced.
    pub(crate) const PALE: Self = Self(225, 230, 235);
    /// Where there is no data.
    pub(crate) const BLANK: Self = Self(246, 248, 250);
    /// The colour that stands out.
    pub(crate) const ORANGE: Self = Self(217, 72, 1);
    pub(crate) const BLUE: Self = Self(33, 113, 181);
    pub(crate) const LIGHT_BLUE: Self = Self(198, 219, 239);
    pub(crate) const GREY: Self = Self(140, 149, 159);
    pub(crate) const RED: Self = Self(207, 34, 46);

    /// The nearest of the 216 colours of a terminal's cube, by its number.
    #[must_use]
    pub(crate) fn of_256(self) -> u8 {
        // The levels of the cube: 0, 95, 135, 175, 215, 255.
        let level = |part: u8| match part {
            0..48 => 0u8,
            48..115 => 1,
            _ => part.saturating_sub(35) / 40,
        };
        let Self(red, green, blue) = self;
        16u8.saturating_add(level(red).saturating_mul(36))
            .saturating_add(level(green).saturating_mul(6))
            .saturating_add(level(blue))
    }
}

impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(red, green, blue) = self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

/// Colours from low to high.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ramp {
    /// From dark violet over green to yellow: for values. Its steps look equally large, also to the
    /// colour-blind.
    #[default]
    Viridis,
    /// From light to dark blue: for counts, under other colours.
    Blues,
}

/// How many colours a ramp has: pictures stay small, and nobody sees more.
const LEVELS: f64 = 64.0;

impl Ramp {
    /// The colour at `share`, from 0 to 1.
    pub(crate) fn at(self, share: f64) -> Color {
        let share = (share.clamp(0.0, 1.0) * (LEVELS - 1.0)).round() / (LEVELS - 1.0);
        match self {
            Self::Viridis => VIRIDIS.color(share),
            Self::Blues => blues(share),
        }
    }
}

/// Three polynomials.
struct Polynomials([[f64; 3]; 7]);

/// An approximation of matplotlib's colour map "viridis" (CC0) by polynomials, constant terms
/// first.
const VIRIDIS: Polynomials = Polynomials([
    [0.277_727_327_223_417_7, 0.005_407_344_544_966_578, 0.334_099_805_335_306_1],
    [0.105_093_043_108_577_4, 1.404_613_529_898_575, 1.384_590_162_594_685],
    [-0.330_861_828_725_556_3, 0.214_847_559_468_213, 0.095_095_163_028_236_59],
    [-4.634_230_498_983_486, -5.799_100_973_351_585, -19.332_440_956_279_87],
    [6.228_269_936_347_081, 14.179_933_366_805_09, 56.690_552_600_681_05],
    [4.776_384_997_670_288, -13.745_145_377_746_01, -65.353_032_633_372_34],
    [-5.435_455_855_934_631, 4.645_852_612_178_535, 26.312_435_249_583_2],
]);

impl Polynomials {
    fn color(&self, at: f64) -> Color {
        let [red, green, blue] = self.0.iter().rev().fold([0.0f64; 3], |[r, g, b], [x, y, z]| {
            // Not `mul_add`, which rounds differently where a processor has it.
            [r * at + x, g * at + y, b * at + z]
        });
        Color(part(red), part(green), part(blue))
    }
}

fn blues(at: f64) -> Color {
    const STOPS: [(f64, [f64; 3]); 5] = [
        (0.0, [0.83, 0.90, 0.96]),
        (0.25, [0.62, 0.79, 0.88]),
        (0.5, [0.32, 0.61, 0.80]),
        (0.75, [0.11, 0.40, 0.69]),
        (1.0, [0.02, 0.18, 0.40]),
    ];
    let pair = STOPS.windows(2).find_map(|pair| match pair {
        [low, high] if at <= high.0 => Some((*low, *high)),
        _ => None,
    });
    let Some(((from, [r, g, b]), (to, [x, y, z]))) = pair else { return Color::WHITE };
    let share = (at - from) / (to - from);
    let mix = |low: f64, high: f64| part(low + (high - low) * share);
    Color(mix(r, x), mix(g, y), mix(b, z))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, as it should")]
fn part(share: f64) -> u8 {
    (share * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ramps_go_from_one_end_to_the_other() {
        assert_eq!(Ramp::Viridis.at(0.0).to_string(), "#470155");
        assert_eq!(Ramp::Viridis.at(1.0), Ramp::Viridis.at(7.0));
        assert_eq!(Ramp::Blues.at(f64::NAN.max(0.0)), Color(212, 230, 245));
        let light = |color: Color| u32::from(color.0) + u32::from(color.1) + u32::from(color.2);
        let shades: Vec<u32> = (0..=20).map(|at| light(Ramp::Blues.at(f64::from(at) / 20.0))).collect();
        assert!(shades.is_sorted_by(|a, b| a > b), "{shades:?}");
    }

    #[test]
    fn a_terminal_with_256_colours_gets_the_nearest_one() {
        assert_eq!(Color(0, 0, 0).of_256(), 16);
        assert_eq!(Color(255, 255, 255).of_256(), 231);
        assert_eq!(Color(95, 135, 175).of_256(), 67);
    }
}
