//! Numbers along one axis: histograms and profiles.

use crate::axis::Axis;
use crate::color::Color;
use crate::frame::{self, EDGE};
use crate::number::{number, real};
use crate::picture::{Box4, Picture, Size};

/// How many values are in each interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The title.
    pub title: String,
    /// More about it, in one line.
    pub note: String,
    /// The axis of values: a part for each count.
    pub x: Axis,
    /// The unit that is counted.
    pub unit: String,
    /// A count for each part.
    pub counts: Vec<u64>,
}

/// Least, mean and greatest value along an axis. NaN is no data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The title.
    pub title: String,
    /// More about it, in one line.
    pub note: String,
    /// The axis: a part for each value.
    pub x: Axis,
    /// The unit of the values.
    pub unit: String,
    /// The mean of each part.
    pub means: Vec<f64>,
    /// The least and the greatest value of each part.
    pub spans: Vec<(f64, f64)>,
}

/// The data's room in a picture, with its axes drawn.
fn canvas(size: Size, title: &str, note: &str, x: &Axis, y: &Axis) -> (Picture, Box4) {
    let (width, height) = (f64::from(size.width), f64::from(size.height));
    let (top, left, bottom) = (frame::head_height(note), frame::left_room(y), frame::bottom_room(x));
    let at = [left, top, (width - left - EDGE).max(40.0).floor(), (height - top - bottom).max(40.0).floor()];
    let [_, _, wide, high] = at;
    let mut picture = Picture::new(title, left + wide + EDGE, top + high + bottom);
    frame::head(&mut picture, title, note);
    frame::left(&mut picture, at, y, true, true);
    frame::bottom(&mut picture, at, x);
    (picture, at)
}

impl Histogram {
    pub(crate) fn most(&self) -> u64 {
        self.counts.iter().copied().max().unwrap_or(0)
    }

    /// Draws the histogram in a picture of this size.
    #[must_use]
    pub fn picture(&self, size: Size) -> Picture {
        let most = (self.most() as f64).max(1.0);
        let y = Axis {
            name: self.unit.clone(),
            ticks: Axis::ticks_between(0.0, most, 5)
                .into_iter()
                .filter(|tick| !tick.text.contains('.'))
                .collect(),
            parts: Vec::new(),
        };
        let (mut picture, [left, top, width, height]) = canvas(size, &self.title, &self.note, &self.x, &y);
        let parts = self.counts.len();
        for (part, count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let from = frame::edge(left, width, part, parts);
            let to = frame::edge(left, width, part.saturating_add(1), parts);
            // The smallest count is still seen.
            let tall = (height * (*count as f64) / most).max(1.0);
            let gap = if to - from > 4.0 { 1.0 } else { 0.0 };
            let title = format!("{}: {count}", self.x.part(part));
            picture.boxes(vec![[from, top + height - tall, to - from - gap, tall]], Color::BLUE, Some(title));
        }
        picture.boxes(vec![[left, top + height - 0.5, width, 1.0]], Color::LINE, None);
        picture
    }
}

impl Profile {
    /// The least and the greatest value.
    pub(crate) fn bounds(&self) -> Option<(f64, f64)> {
        let finite = self.spans.iter().filter(|(low, high)| low.is_finite() && high.is_finite());
        finite.copied().reduce(|(low, high), (least, greatest)| (low.min(least), high.max(greatest)))
    }

    /// Draws the profile in a picture of this size.
    #[must_use]
    pub fn picture(&self, size: Size) -> Picture {
        let (low, high) = self.bounds().unwrap_or((0.0, 1.0));
        // A line does not run along the border.
        let rim = if high > low { (high / 2.0 - low / 2.0) * 0.08 } else { low.abs().max(1.0) * 0.5 };
        let (low, high) = ((low - rim).max(f64::MIN), (high + rim).min(f64::MAX));
        let y = Axis { name: self.unit.clone(), ticks: Axis::ticks_between(low, high, 6), parts: Vec::new() };
        let (mut picture, [left, top, width, height]) = canvas(size, &self.title, &self.note, &self.x, &y);
        let at = |value: f64| top + height * (1.0 - (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0));
        let parts = self.means.len();
        let mut line: Vec<Box4> = Vec::new();
        let mut before: Option<f64> = None;
        for (part, (mean, (least, greatest))) in self.means.iter().zip(&self.spans).enumerate() {
            if !mean.is_finite() || !least.is_finite() || !greatest.is_finite() {
                before = None;
                continue;
            }
            let from = left + width * real(part) / real(parts.max(1));
            let wide = width / real(parts.max(1));
            let (low_at, high_at, mean_at) = (at(*least), at(*greatest), at(*mean));
            let title = if least == greatest {
                format!("{}: {}", self.x.part(part), number(*mean))
            } else {
                format!(
                    "{}: {} ({} to {})",
                    self.x.part(part),
                    number(*mean),
                    number(*least),
                    number(*greatest)
                )
            };
            let span = [from, high_at - 0.75, wide, (low_at - high_at) + 1.5];
            picture.boxes(vec![span], Color::LIGHT_BLUE, Some(title));
            if let Some(before) = before {
                line.push([from - 0.75, before.min(mean_at) - 0.75, 1.5, (before - mean_at).abs() + 1.5]);
            }
            line.push([from, mean_at - 0.75, wide, 1.5]);
            before = Some(mean_at);
        }
        picture.boxes(line, Color::BLUE, None);
        picture.boxes(vec![[left, top + height - 0.5, width, 1.0]], Color::LINE, None);
        picture
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 400, height: 300 };

    fn titles(picture: &Picture) -> Vec<String> {
        let svg = picture.svg();
        let parsed = roxmltree::Document::parse(&svg).unwrap();
        let found = parsed.descendants().filter(|node| node.has_tag_name("title"));
        found.skip(1).map(|node| node.text().unwrap().to_owned()).collect()
    }

    #[test]
    fn bars_say_how_many_they_are() {
        let x = Axis::numbered("v", 0.0, 3.0, 3);
        let histogram = Histogram { x, counts: vec![5, 0, u64::MAX], ..Histogram::default() };
        assert_eq!(titles(&histogram.picture(SIZE)), ["0..1: 5".to_owned(), format!("2..3: {}", u64::MAX)]);
        assert_eq!(titles(&Histogram::default().picture(SIZE)), [""; 0]);
    }

    #[test]
    fn a_profile_leaves_out_what_is_missing() {
        let x = Axis::numbered("t", 0.0, 3.0, 3);
        let nan = f64::NAN;
        let profile = Profile {
            x,
            means: vec![1.0, nan, 4.0],
            spans: vec![(1.0, 1.0), (nan, nan), (3.0, 5.0)],
            ..Profile::default()
        };
        assert_eq!(titles(&profile.picture(SIZE)), ["0..1: 1", "2..3: 4 (3 to 5)"]);
        assert_eq!(profile.bounds(), Some((1.0, 5.0)));
        assert_eq!(titles(&Profile::default().picture(SIZE)), [""; 0]);
    }
}
