//! Axes of pictures: the part of an axis that a value is in, and the texts at its ticks.

use tdb_array::schema::Range;
use tdb_codec::{CellValNum, Datatype};
use tdb_draw::{Axis, Tick, round_step};
use tdb_schema::Dimension;
use tdb_text::calendar;
use tdb_text::value::cell_text;

use super::dates;
use super::value::Value;
use crate::thresholds::AXIS_LABELS;

/// An axis of equal parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BinnedAxis {
    /// Integers, dates and times: each part has `width` of them, or `only` its first one.
    Whole { datatype: Datatype, low: i128, width: i128, parts: usize, only: bool },
    /// Real numbers. Where parts begin at round numbers, `round` is the width of a part and the
    /// number of the first one.
    Real { low: f64, high: f64, parts: usize, round: Option<(f64, f64)> },
    /// Texts, in their order: each part has `per` of them.
    Texts { datatype: Datatype, words: Vec<Vec<u8>>, per: usize },
}

impl BinnedAxis {
    /// An axis from one value to another, in at most `most` parts. With `round`, parts begin at
    /// round numbers.
    pub(super) fn between(datatype: Datatype, low: Value, high: Value, most: usize, round: bool) -> Self {
        let most = most.max(1);
        match (low, high) {
            (Value::Whole(low), Value::Whole(high)) => {
                let high = high.max(low);
                let many = i128::try_from(most).unwrap_or(1);
                let wide = |least| dates::round_part(datatype, least).unwrap_or_else(|| round_width(least));
                let mut width = wide((high - low + many) / many);
                // Parts that begin at round numbers may be one more.
                while round && (high.div_euclid(width) - low.div_euclid(width)) >= many {
                    width = wide(width + 1);
                }
                let low = if round { low.div_euclid(width) * width } else { low };
                let parts = usize::try_from((high - low) / width + 1).unwrap_or(most);
                Self::Whole { datatype, low, width, parts, only: width == 1 }
            }
            (low, high) => {
                let (low, high) = (low.real(), high.real());
                // A single value is in the middle.
                let pad = if high > low { 0.0 } else { low.abs().max(1.0) * 0.1 };
                let (low, high) = ((low - pad).max(f64::MIN), (high + pad).min(f64::MAX));
                if !round {
                    return Self::Real { low, high, parts: most, round: None };
                }
                let half = (high / 2.0 - low / 2.0) / most as f64;
                // Twice of it may be more than any number.
                let step = round_step(half.min(f64::MAX / 8.0) * 2.0);
                let (first, last) = (steps_to(low, step), steps_to(high, step) + 1.0);
                let edge = |steps: f64| times_step(steps, step).clamp(f64::MIN, f64::MAX);
                let (low, high) = (edge(first).min(low), edge(last).max(high));
                Self::Real { low, high, parts: floor(last - first).max(1), round: Some((step, first)) }
            }
        }
    }

    /// An axis over a range of a dimension; `None` for texts.
    pub(crate) fn of_range(dimension: &Dimension, range: &Range) -> Option<Self> {
        let (low, high) = match dimension.is_var() {
            true => return None,
            false => {
                (Value::of(dimension.datatype, &range.low)?, Value::of(dimension.datatype, &range.high)?)
            }
        };
        // Nobody counts the parts.
        Some(Self::between(dimension.datatype, low, high, 1000, false))
    }

    /// An axis of texts, which are sorted and differ.
    pub(super) fn of_texts(datatype: Datatype, words: Vec<Vec<u8>>, most: usize) -> Self {
        let per = words.len().div_ceil(most.max(1)).max(1);
        Self::Texts { datatype, words, per }
    }

    /// The number of parts.
    pub(super) fn parts(&self) -> usize {
        match self {
            Self::Whole { parts, .. } | Self::Real { parts, .. } => *parts,
            Self::Texts { words, per, .. } => words.len().div_ceil(*per),
        }
    }

    /// The part that a value of this type is in.
    pub(super) fn part(&self, datatype: Datatype, bytes: &[u8]) -> Option<usize> {
        let part = match self {
            Self::Texts { words, per, .. } => {
                words.binary_search_by(|word| word.as_slice().cmp(bytes)).ok()?.checked_div(*per)
            }
            Self::Whole { low, width, .. } => match Value::of(datatype, bytes)? {
                Value::Whole(value) => usize::try_from(value.checked_sub(*low)?.div_euclid(*width)).ok(),
                Value::Real(_) => None,
            },
            Self::Real { low, high, parts, round } => {
                let value = Value::of(datatype, bytes)?.real();
                let place = match round {
                    Some((step, first)) => steps_to(value, *step) - first,
                    None => (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0) * *parts as f64,
                };
                // The greatest value belongs to the last part.
                let last = parts.saturating_sub(1);
                (*low..=*high).contains(&value).then(|| floor(place).min(last))
            }
        };
        part.filter(|part| *part < self.parts())
    }

    /// The place of an interval, in shares of the axis; `None` if it lies outside.
    pub(crate) fn extent(&self, datatype: Datatype, low: &[u8], high: &[u8]) -> Option<[f64; 2]> {
        let [from, to] = match self {
            Self::Texts { words, per, .. } => {
                let all = self.parts().saturating_mul(*per).max(1) as f64;
                let from = words.partition_point(|word| word.as_slice() < low) as f64;
                let to = words.partition_point(|word| word.as_slice() <= high) as f64;
                [from / all, to / all]
            }
            Self::Whole { low: start, width, parts, .. } => {
                let (Value::Whole(low), Value::Whole(high)) =
                    (Value::of(datatype, low)?, Value::of(datatype, high)?)
                else {
                    return None;
                };
                let all = *width as f64 * *parts as f64;
                [(low - start) as f64 / all, (high - start + 1) as f64 / all]
            }
            Self::Real { low: start, high: end, .. } => {
                let share = |bytes| {
                    Some((Value::of(datatype, bytes)?.real() / 2.0 - start / 2.0) / (end / 2.0 - start / 2.0))
                };
                [share(low)?, share(high)?]
            }
        };
        (to >= 0.0 && from <= 1.0).then_some([from.max(0.0), to.min(1.0)])
    }

    /// The same axis, if all values are `step` apart and that is more than a part: with a part for
    /// each value. Returns for each part which part it was before.
    pub(super) fn stepped(&self, step: i128) -> Option<(Self, Vec<usize>)> {
        let Self::Whole { datatype, low, width, parts, .. } = self else { return None };
        if step <= *width {
            return None;
        }
        let before = (0..).map_while(|part: i128| usize::try_from(part.checked_mul(step)? / width).ok());
        let before: Vec<usize> = before.take_while(|part| part < parts).collect();
        let axis =
            Self::Whole { datatype: *datatype, low: *low, width: step, parts: before.len(), only: true };
        Some((axis, before))
    }

    /// The greatest number of which this value's distance from the first one, and `step`, are
    /// multiples.
    pub(super) fn common_step(&self, step: i128, datatype: Datatype, bytes: &[u8]) -> i128 {
        // Most values have been seen to change nothing.
        if step == 1 {
            return 1;
        }
        let (Self::Whole { low, .. }, Some(Value::Whole(value))) = (self, Value::of(datatype, bytes)) else {
            return 1;
        };
        let (mut a, mut b) = (step, value.saturating_sub(*low).abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    }

    /// The text of the axis.
    pub(crate) fn axis(&self, name: &str) -> Axis {
        let parts = match self {
            // All at once, because each needs them all.
            Self::Real { low, high, parts, .. } => Axis::numbered("", *low, *high, *parts).parts,
            _ => (0..self.parts()).map(|part| self.part_text(part)).collect(),
        };
        Axis { name: name.to_owned(), ticks: self.ticks(), parts }
    }

    /// The first whole number of a part.
    fn first(&self, part: usize) -> Option<i128> {
        let Self::Whole { low, width, .. } = self else { return None };
        low.checked_add(width.checked_mul(i128::try_from(part).ok()?)?)
    }

    fn part_text(&self, part: usize) -> String {
        match self {
            Self::Texts { datatype, words, per } => {
                let start = part.saturating_mul(*per);
                let own = words.get(start..words.len().min(start.saturating_add(*per))).unwrap_or_default();
                let text = |word: &Vec<u8>| cell_text(*datatype, CellValNum::Var, word);
                match own {
                    [] => String::new(),
                    [one] => text(one),
                    [first, .., last] => format!("{}..{}", text(first), text(last)),
                }
            }
            Self::Whole { datatype, low, width, only, .. } => {
                let first = self.first(part).unwrap_or(*low);
                let text = |value: i128| whole_text(*datatype, value);
                if *only { text(first) } else { format!("{}..{}", text(first), text(first + width - 1)) }
            }
            Self::Real { low, high, parts, .. } => {
                let axis = Axis::numbered("", *low, *high, *parts);
                axis.parts.get(part).cloned().unwrap_or_default()
            }
        }
    }

    fn ticks(&self) -> Vec<Tick> {
        match self {
            Self::Texts { .. } => {
                let parts = self.parts();
                // More than this touch each other in any picture.
                let every = parts.div_ceil(60).max(1);
                let middle = |part: usize| (part as f64 + 0.5) / parts.max(1) as f64;
                let tick = |part| Tick { at: middle(part), text: self.part_text(part) };
                (0..parts).step_by(every).map(tick).collect()
            }
            Self::Real { low, high, .. } => Axis::ticks_between(*low, *high, AXIS_LABELS),
            Self::Whole { datatype, low, width, parts, only } => {
                let all = *width as f64 * *parts as f64;
                // A value is in the middle of what it takes.
                let middle = if *only { *width as f64 / 2.0 } else { 0.0 };
                let at = |value: i128| ((value - low) as f64 + middle) / all;
                let high = low.saturating_add(width.saturating_mul(i128::try_from(*parts).unwrap_or(0))) - 1;
                let mut ticks =
                    dates::round(*datatype, *low, high, 5).unwrap_or_else(|| whole_steps(*low, high));
                if *only && *width > 1 {
                    ticks.retain(|(value, _)| (value - low) % width == 0);
                    if ticks.len() < 2 {
                        let every = parts.div_ceil(AXIS_LABELS).max(1);
                        ticks = (0..*parts)
                            .step_by(every)
                            .filter_map(|part| Some((self.first(part)?, self.part_text(part))))
                            .collect();
                    }
                }
                ticks.into_iter().map(|(value, text)| Tick { at: at(value), text }).collect()
            }
        }
    }
}

/// The number of whole steps below a number. A step below 1 is not exact, while its inverse is.
fn steps_to(value: f64, step: f64) -> f64 {
    (if step < 1.0 { value * inverse(step) } else { value / step }).floor()
}

/// A number of steps.
fn times_step(steps: f64, step: f64) -> f64 {
    if step < 1.0 { steps / inverse(step) } else { steps * step }
}

/// The number of round steps below 1 that make 1; for tiny ones, about.
fn inverse(step: f64) -> f64 {
    (1.0 / step).min(f64::MAX).round()
}

/// Round whole numbers from one to another.
fn whole_steps(low: i128, high: i128) -> Vec<(i128, String)> {
    let texts = i128::try_from(AXIS_LABELS).unwrap_or(1);
    let step = round_width((high - low) / texts + 1);
    let first = (low + step - 1).div_euclid(step);
    let all = (first..).map_while(|at| at.checked_mul(step)).take_while(|value| *value <= high);
    // A long number has a short text, because it is round.
    let text = |value: i128| {
        if step < 1_000_000 || value == 0 { value.to_string() } else { format!("{:e}", value as f64) }
    };
    all.map(|value| (value, text(value))).collect()
}

/// The least round number (1, 2 or 5, and zeros) that is not less.
pub(super) fn round_width(least: i128) -> i128 {
    let mut power = 1i128;
    loop {
        for digit in [1, 2, 5] {
            if digit * power >= least {
                return digit * power;
            }
        }
        power = power.saturating_mul(10);
    }
}

fn whole_text(datatype: Datatype, value: i128) -> String {
    let date = i64::try_from(value).ok().and_then(|ticks| calendar::format(datatype, ticks));
    date.unwrap_or_else(|| value.to_string())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates: a small number of parts"
)]
fn floor(value: f64) -> usize {
    value as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(low: i128, high: i128, most: usize, round: bool) -> BinnedAxis {
        BinnedAxis::between(Datatype::Int64, Value::Whole(low), Value::Whole(high), most, round)
    }

    #[test]
    fn every_integer_is_in_one_part_of_the_same_width() {
        let axis = whole(1, 4, 10, false);
        assert_eq!(axis.parts(), 4);
        assert_eq!(
            (1..=5i64).map(|v| axis.part(Datatype::Int64, &v.to_le_bytes())).collect::<Vec<_>>(),
            [Some(0), Some(1), Some(2), Some(3), None]
        );
        assert_eq!(axis.axis("x").parts, ["1", "2", "3", "4"]);
        let axis = whole(-7, 93, 10, true);
        assert_eq!((axis.axis("x").parts[0].as_str(), axis.parts()), ("-20..-1", 6));
        assert_eq!(axis.part(Datatype::Int64, &93i64.to_le_bytes()), Some(5));
        let all = whole(0, i128::from(u64::MAX), 100, false);
        assert!((2..=100).contains(&all.parts()));
        assert_eq!(all.part(Datatype::Uint64, &u64::MAX.to_le_bytes()), Some(all.parts() - 1));
        assert_eq!(whole(5, 5, 10, true).parts(), 1);
    }

    #[test]
    fn reals_and_texts_are_in_their_parts() {
        let axis = BinnedAxis::between(Datatype::Float64, Value::Real(0.13), Value::Real(0.98), 10, true);
        let BinnedAxis::Real { low, high, parts, .. } = axis else { panic!("{axis:?}") };
        assert!(low <= 0.13 && high > 0.98 && (3..=20).contains(&parts), "{low} {high} {parts}");
        assert_eq!(axis.part(Datatype::Float64, &f64::NAN.to_le_bytes()), None);
        let one = BinnedAxis::between(Datatype::Float64, Value::Real(2.0), Value::Real(2.0), 10, true);
        assert!(one.part(Datatype::Float64, &2f64.to_le_bytes()).is_some());
        let tenths = BinnedAxis::between(Datatype::Float64, Value::Real(43.8), Value::Real(44.0), 10, true);
        let part = |value: f64| tenths.part(Datatype::Float64, &value.to_le_bytes()).unwrap();
        let texts = tenths.axis("v").parts;
        assert!(texts[part(43.8)].starts_with("43.8.."), "{texts:?}");
        assert!(texts[part(43.9)].starts_with("43.9.."), "{texts:?}");
        assert!(texts[part(44.0)].starts_with("44.."), "{texts:?}");
        let words = ["a", "b", "c", "d", "e"].map(|word| word.as_bytes().to_vec()).to_vec();
        let axis = BinnedAxis::of_texts(Datatype::StringAscii, words, 3);
        assert_eq!(axis.axis("w").parts, ["a..b", "c..d", "e"]);
        assert_eq!(axis.part(Datatype::StringAscii, b"d"), Some(1));
        assert_eq!(axis.part(Datatype::StringAscii, b"bb"), None);
        assert_eq!(axis.extent(Datatype::StringAscii, b"b", b"c"), Some([1.0 / 6.0, 0.5]));
    }

    #[test]
    fn every_real_is_in_a_part_and_the_parts_have_ends() {
        let ends = [
            f64::MIN,
            -1e308,
            -1.7,
            -1e-300,
            0.0,
            5e-324,
            0.0461,
            0.046_211_73,
            1.0,
            43.8,
            1e15,
            1.7e308,
            f64::MAX,
        ];
        for (at, low) in ends.iter().enumerate() {
            for high in &ends[at..] {
                for round in [false, true] {
                    let axis = BinnedAxis::between(
                        Datatype::Float64,
                        Value::Real(*low),
                        Value::Real(*high),
                        10,
                        round,
                    );
                    for value in [low, high] {
                        let part = axis.part(Datatype::Float64, &value.to_le_bytes());
                        assert!(part.is_some(), "{value} of {low}..{high}: {axis:?}");
                    }
                    let shown = axis.axis("x");
                    assert!(
                        shown.parts.iter().all(|text| !text.contains("inf") && !text.contains("NaN")),
                        "{shown:?}"
                    );
                    assert!(shown.ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.at)), "{shown:?}");
                }
            }
        }
    }

    #[test]
    fn values_with_gaps_between_them_get_parts_of_their_own() {
        let axis = whole(0, 99, 50, false);
        assert_eq!(axis.parts(), 50);
        let steps = [0i64, 30, 90]
            .iter()
            .fold(0, |step, value| axis.common_step(step, Datatype::Int64, &value.to_le_bytes()));
        assert_eq!(steps, 30);
        let (axis, before) = axis.stepped(steps).unwrap();
        assert_eq!(before, [0, 15, 30, 45]);
        assert_eq!(axis.axis("x").parts, ["0", "30", "60", "90"]);
        let texts: Vec<String> = axis.axis("x").ticks.into_iter().map(|tick| tick.text).collect();
        assert_eq!(texts, ["0", "60"], "round ones, and none between the parts");
        assert_eq!(axis.part(Datatype::Int64, &90i64.to_le_bytes()), Some(3));
        assert!(whole(0, 9, 50, false).stepped(1).is_none());
    }

    #[test]
    fn parts_of_time_are_those_of_clocks() {
        let hours = |hours: i128| hours * 3_600_000;
        let width = |high: i128, most| match BinnedAxis::between(
            Datatype::DatetimeMs,
            Value::Whole(0),
            Value::Whole(high),
            most,
            false,
        ) {
            BinnedAxis::Whole { width, .. } => width,
            axis => panic!("{axis:?}"),
        };
        assert_eq!(width(hours(47), 52), hours(1));
        assert_eq!(width(hours(24 * 100) - 1, 50), hours(48));
        assert_eq!(width(hours(1), 70), 60_000);
    }

    #[test]
    fn intervals_have_places() {
        let axis = whole(0, 9, 10, false);
        let extent =
            |low: i64, high: i64| axis.extent(Datatype::Int64, &low.to_le_bytes(), &high.to_le_bytes());
        assert_eq!(extent(0, 9), Some([0.0, 1.0]));
        assert_eq!(extent(5, 5), Some([0.5, 0.6]));
        assert_eq!(extent(-5, 1), Some([0.0, 0.2]));
        assert_eq!(extent(20, 30), None);
    }
}
