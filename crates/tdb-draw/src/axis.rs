//! The labels of an axis.

use crate::number::{number, real, steps};

/// An axis: its name, the places with a text, and what each of its equal parts is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Places with a text.
    pub ticks: Vec<Tick>,
    /// The description of each part, for those who ask: a value, or an interval.
    pub parts: Vec<String>,
}

/// A place on an axis with a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Tick {
    /// From 0 (the begin of the axis) to 1 (its end).
    pub at: f64,
    /// The text.
    pub text: String,
}

impl Axis {
    /// An axis of numbers from `low` to `high` in equal parts.
    #[must_use]
    pub fn numbered(name: impl Into<String>, low: f64, high: f64, parts: usize) -> Self {
        // Not from their difference, which may be more than any number.
        let at = |part: usize| {
            let share = real(part) / real(parts.max(1));
            number(low * (1.0 - share) + high * share)
        };
        let part = |part: usize| format!("{}..{}", at(part), at(part.saturating_add(1)));
        Self {
            name: name.into(),
            ticks: Self::ticks_between(low, high, 6),
            parts: (0..parts).map(part).collect(),
        }
    }

    /// Round numbers between `low` and `high`.
    #[must_use]
    pub fn ticks_between(low: f64, high: f64, most: usize) -> Vec<Tick> {
        let length = high / 2.0 - low / 2.0;
        let at = |value: f64| if length > 0.0 { (value / 2.0 - low / 2.0) / length } else { 0.5 };
        steps(low, high, most).into_iter().map(|(value, text)| Tick { at: at(value), text }).collect()
    }

    /// The description of a part.
    pub(crate) fn part(&self, part: usize) -> &str {
        self.parts.get(part).map_or("", String::as_str)
    }
}
