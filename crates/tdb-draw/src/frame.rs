//! The frame that all pictures have around their data: a title, a note, and axes.

use crate::axis::Axis;
use crate::color::Color;
use crate::number::real;
use crate::picture::{Anchor, Box4, LARGE, Picture, SMALL, Text, fitting, width_of};

/// Space at the borders.
pub(crate) const EDGE: f64 = 14.0;
/// The height of a line of text.
pub(crate) const LINE: f64 = 16.0;

/// The height of title and note.
pub(crate) fn head_height(note: &str) -> f64 {
    EDGE + LARGE + if note.is_empty() { 0.0 } else { LINE } + 12.0
}

/// Writes title and note.
pub(crate) fn head(picture: &mut Picture, title: &str, note: &str) {
    let room = picture.width - 2.0 * EDGE;
    picture.text(Text::new(EDGE, EDGE + LARGE - 2.0, fitting(title, room, LARGE), Anchor::Start).large());
    if !note.is_empty() {
        let note = fitting(note, room, SMALL);
        picture.text(Text::new(EDGE, EDGE + LARGE - 1.0 + LINE, note, Anchor::Start));
    }
}

/// The room that an axis at the left needs: for its name, and its widest text.
pub(crate) fn left_room(axis: &Axis) -> f64 {
    let widest = axis.ticks.iter().map(|tick| width_of(&tick.text, SMALL)).fold(0.0, f64::max);
    let name = if axis.name.is_empty() { 0.0 } else { LINE };
    (EDGE + name + widest.min(MOST_LEFT) + 8.0).ceil()
}

/// The room that an axis at the bottom needs.
pub(crate) fn bottom_room(axis: &Axis) -> f64 {
    let name = if axis.name.is_empty() { 0.0 } else { LINE + 2.0 };
    8.0 + LINE + name + EDGE - 6.0
}

/// Longer texts at the left are cut.
const MOST_LEFT: f64 = 150.0;

/// Writes the axis below a box. Texts that would touch the one before are left out.
pub(crate) fn bottom(picture: &mut Picture, [x, y, width, height]: Box4, axis: &Axis) {
    let base = y + height;
    let mut free = f64::NEG_INFINITY;
    for tick in &axis.ticks {
        let middle = x + tick.at * width;
        let half = width_of(&tick.text, SMALL) / 2.0;
        // A text at the border moves inwards.
        let middle_of_text = middle.max(half + 4.0).min(picture.width - half - 4.0);
        if middle_of_text - half < free {
            continue;
        }
        free = middle_of_text + half + 8.0;
        picture.boxes(vec![[middle - 0.5, base, 1.0, 4.0]], Color::LINE, None);
        picture.text(Text::new(middle_of_text, base + LINE, tick.text.clone(), Anchor::Middle));
    }
    if !axis.name.is_empty() {
        let name = fitting(&axis.name, width, SMALL);
        picture.text(bold(Text::new(x + width / 2.0, base + 2.0 * LINE + 2.0, name, Anchor::Middle)));
    }
}

/// Writes the axis at the left of a box; `up` has its begin at the bottom.
pub(crate) fn left(picture: &mut Picture, [x, y, width, height]: Box4, axis: &Axis, up: bool, lines: bool) {
    let mut free = f64::NEG_INFINITY;
    let mut ticks: Vec<(f64, &str)> = axis
        .ticks
        .iter()
        .map(|tick| (if up { 1.0 - tick.at } else { tick.at }, tick.text.as_str()))
        .collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    for (at, text) in ticks {
        let middle = y + at * height;
        if middle < free {
            continue;
        }
        free = middle + SMALL + 2.0;
        if lines {
            picture.boxes(vec![[x, middle - 0.5, width, 1.0]], Color::PALE, None);
        } else {
            picture.boxes(vec![[x - 4.0, middle - 0.5, 4.0, 1.0]], Color::LINE, None);
        }
        let text = fitting(text, MOST_LEFT, SMALL);
        picture.text(Text::new(x - 8.0, middle + 4.0, text, Anchor::End));
    }
    if !axis.name.is_empty() {
        let name = fitting(&axis.name, height, SMALL);
        picture.text(bold(Text::new(EDGE + SMALL - 2.0, y + height / 2.0, name, Anchor::Middle).turned()));
    }
}

/// A text as a name.
pub(crate) fn bold(text: Text) -> Text {
    Text { bold: true, color: Color::INK, ..text }
}

/// The edges of `parts` equal parts of a length, on whole pixels where there are enough.
pub(crate) fn edge(start: f64, length: f64, part: usize, parts: usize) -> f64 {
    let at = length * real(part) / real(parts.max(1));
    start + if length >= real(parts) { at.round() } else { at }
}
