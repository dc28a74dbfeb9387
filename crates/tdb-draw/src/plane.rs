//! A grid of values, as a heat map or a density, with rectangles over it.

use std::collections::BTreeMap;

use crate::axis::Axis;
use crate::color::{Color, Ramp};
use crate::frame::{self, EDGE};
use crate::number::{number, real};
use crate::picture::{Anchor, Box4, Picture, SMALL, Size, Text, width_of};

/// Values in columns and rows, row by row. NaN is no data.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grid {
    columns: usize,
    rows: usize,
    values: Vec<f64>,
}

/// A plane: a grid of values and what lies over it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plane {
    /// The title.
    pub title: String,
    /// More about it, in one line.
    pub note: String,
    /// The axis from left to right: a part for each column.
    pub x: Axis,
    /// The other axis: a part for each row.
    pub y: Axis,
    /// Whether the first row is at the bottom.
    pub up: bool,
    /// The values.
    pub grid: Grid,
    /// The unit of the values.
    pub unit: String,
    /// The colours of values.
    pub ramp: Ramp,
    /// Whether colours show square roots, so that small counts differ, too.
    pub roots: bool,
    /// Whether cells are squares.
    pub square: bool,
    /// Rectangles over the grid.
    pub footprints: Vec<Footprint>,
}

/// A rectangle over a plane, in shares of its axes from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// From left to right.
    pub x: [f64; 2],
    /// Along the other axis.
    pub y: [f64; 2],
    /// How it is drawn.
    pub outline: Outline,
    /// Its description.
    pub title: String,
}

/// How a footprint is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outline {
    /// Thin, and under the others.
    Thin,
    /// Thick.
    Thick,
}

/// Up to this many cells, each says what it is; of more, those of one colour are one shape.
const MOST_TITLES: usize = 2500;

impl Grid {
    /// A grid of these values, row by row; what is missing has no data.
    #[must_use]
    pub fn new(columns: usize, rows: usize, mut values: Vec<f64>) -> Self {
        values.resize(columns.saturating_mul(rows), f64::NAN);
        Self { columns, rows, values }
    }

    /// From left to right.
    #[must_use]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// From first to last.
    #[must_use]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn value(&self, column: usize, row: usize) -> Option<f64> {
        let value = self.values.get(row.checked_mul(self.columns)?.checked_add(column)?);
        value.copied().filter(|value| value.is_finite())
    }

    /// The least and the greatest value; `None` if there is none.
    #[must_use]
    pub fn bounds(&self) -> Option<(f64, f64)> {
        let finite = self.values.iter().copied().filter(|value| value.is_finite());
        finite.fold(None, |bounds, value| {
            let (low, high) = bounds.unwrap_or((value, value));
            Some((low.min(value), high.max(value)))
        })
    }
}

/// Which colour a value has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    ramp: Ramp,
    roots: bool,
}

impl Scale {
    pub(crate) fn color(&self, value: f64) -> Color {
        self.ramp.at(self.share(value))
    }

    /// The place of a value on the scale, from 0 to 1.
    pub(crate) fn share(&self, value: f64) -> f64 {
        // Halves, because the distance of the ends may be infinite.
        let share = (value / 2.0 - self.low / 2.0) / (self.high / 2.0 - self.low / 2.0);
        match share {
            share if share.is_nan() => 0.5,
            share if self.roots => share.max(0.0).sqrt(),
            share => share,
        }
    }
}

impl Plane {
    /// A plane without values.
    #[must_use]
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, ..Self::default() }
    }

    /// The scale of the values. Counts begin at zero.
    pub(crate) fn scale(&self) -> Option<Scale> {
        let (low, high) = self.grid.bounds()?;
        let low = if self.roots { low.min(0.0) } else { low };
        Some(Scale { low, high, ramp: self.ramp, roots: self.roots })
    }

    /// Draws the plane in a picture of at most this size.
    #[must_use]
    pub fn picture(&self, size: Size) -> Picture {
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        let (top, left) = (frame::head_height(&self.note), frame::left_room(&self.y));
        let legend = self.scale().map_or(EDGE, |scale| legend_room(&scale, &self.unit));
        let bottom = frame::bottom_room(&self.x);
        let room = [(width - left - legend).max(40.0), (height - top - bottom).max(40.0)];
        let [wide, high] = self.fit(room);
        let mut picture = Picture::new(&self.title, left + wide + legend, top + high + bottom);
        frame::head(&mut picture, &self.title, &self.note);
        let at = [left, top, wide, high];
        picture.boxes(vec![at], Color::BLANK, None);
        self.cells(&mut picture, at);
        picture.frame(at, Color::LINE, 1.0, 1.0, None);
        self.outlines(&mut picture, at);
        frame::bottom(&mut picture, at, &self.x);
        frame::left(&mut picture, at, &self.y, self.up, false);
        if let Some(scale) = self.scale() {
            self.legend(&mut picture, at, &scale);
        }
        picture
    }

    /// The size of the plane in a room: squares if they are asked for, and whole pixels for each
    /// cell where they fit.
    fn fit(&self, [width, height]: [f64; 2]) -> [f64; 2] {
        let (columns, rows) = (real(self.grid.columns.max(1)), real(self.grid.rows.max(1)));
        if !self.square {
            return [width.floor(), height.floor()];
        }
        let side = (width / columns).min(height / rows);
        let side = if side >= 1.0 { side.floor() } else { side };
        [(side * columns).max(40.0), (side * rows).max(40.0)]
    }

    fn cells(&self, picture: &mut Picture, [x, y, width, height]: Box4) {
        let Some(scale) = self.scale() else { return };
        let Grid { columns, rows, .. } = self.grid;
        let one_by_one = columns.saturating_mul(rows) <= MOST_TITLES;
        let column_edge = |column| frame::edge(x, width, column, columns);
        let mut by_color: BTreeMap<Color, Vec<Box4>> = BTreeMap::new();
        for row in 0..rows {
            let place = if self.up { rows.saturating_sub(row).saturating_sub(1) } else { row };
            let (top, end) =
                (frame::edge(y, height, place, rows), frame::edge(y, height, place.saturating_add(1), rows));
            let mut run: Option<(Color, usize)> = None;
            for column in 0..=columns {
                let value = self.grid.value(column, row).filter(|_| column < columns);
                let color = value.map(|value| scale.color(value));
                if one_by_one && let (Some(value), Some(color)) = (value, color) {
                    let (left, right) = (column_edge(column), column_edge(column.saturating_add(1)));
                    let title = self.title_of(column, row, value);
                    picture.boxes(vec![[left, top, right - left, end - top]], color, Some(title));
                }
                // Neighbours of one colour are one box.
                if run.map(|(color, _)| color) != color {
                    if let Some((color, from)) = run {
                        let (left, right) = (column_edge(from), column_edge(column));
                        by_color.entry(color).or_default().push([left, top, right - left, end - top]);
                    }
                    run = color.map(|color| (color, column));
                }
            }
        }
        if !one_by_one {
            by_color.into_iter().for_each(|(color, boxes)| picture.boxes(boxes, color, None));
        }
    }

    fn title_of(&self, column: usize, row: usize, value: f64) -> String {
        let part = |axis: &Axis, part| {
            if axis.name.is_empty() {
                axis.part(part).to_owned()
            } else {
                format!("{} {}", axis.name, axis.part(part))
            }
        };
        format!("{}, {}: {}", part(&self.x, column), part(&self.y, row), number(value))
    }

    fn outlines(&self, picture: &mut Picture, [x, y, width, height]: Box4) {
        let mut sorted: Vec<&Footprint> = self.footprints.iter().collect();
        sorted.sort_by_key(|footprint| footprint.outline);
        for Footprint { x: [left, right], y: [from, to], outline, title } in sorted {
            let (from, to) = if self.up { (1.0 - to, 1.0 - from) } else { (*from, *to) };
            let (left, right) = (x + left * width, x + right * width);
            let (top, bottom) = (y + from * height, y + to * height);
            // One point is still seen.
            let at = [left, top, (right - left).max(1.0), (bottom - top).max(1.0)];
            let (line, opacity, color) = match outline {
                Outline::Thin => (0.75, 0.7, Color::GREY),
                Outline::Thick => (1.5, 0.9, Color::ORANGE),
            };
            picture.frame(at, color, line, opacity, Some(title.clone()));
        }
    }

    fn legend(&self, picture: &mut Picture, [x, y, width, height]: Box4, scale: &Scale) {
        const STEPS: usize = 64;
        let left = x + width + 18.0;
        let tall = height.min(220.0);
        for step in 0..STEPS {
            let (low, high) =
                (frame::edge(y, tall, step, STEPS), frame::edge(y, tall, step.saturating_add(1), STEPS));
            let share = 1.0 - (real(step) + 0.5) / real(STEPS);
            picture.boxes(vec![[left, low, 12.0, high - low]], self.ramp.at(share), None);
        }
        picture.frame([left, y, 12.0, tall], Color::LINE, 1.0, 1.0, None);
        for (value, text) in scale_texts(scale) {
            let at = y + tall * (1.0 - scale.share(value));
            picture.text(Text::new(left + 18.0, at + 4.0, text, Anchor::Start));
        }
        let name = crate::picture::fitting(&self.unit, tall.max(80.0), SMALL);
        let across = picture.width - EDGE + 4.0;
        picture.text(frame::bold(Text::new(across, y + tall / 2.0, name, Anchor::Middle).turned()));
    }
}

/// The numbers at a scale: its ends, and round ones that are not too near to each other.
fn scale_texts(scale: &Scale) -> Vec<(f64, String)> {
    let mut found = vec![(scale.low, number(scale.low))];
    if scale.high > scale.low {
        found.push((scale.high, number(scale.high)));
        for (value, text) in crate::number::steps(scale.low, scale.high, 5) {
            let share = scale.share(value);
            let near = |other: &(f64, String)| (scale.share(other.0) - share).abs() < 0.12;
            if !found.iter().any(near) {
                found.push((value, text));
            }
        }
    }
    found
}

fn legend_room(scale: &Scale, unit: &str) -> f64 {
    let widest = scale_texts(scale).iter().map(|(_, text)| width_of(text, SMALL)).fold(0.0, f64::max);
    let name = if unit.is_empty() { 0.0 } else { 18.0 };
    (18.0 + 12.0 + 6.0 + widest + name + EDGE).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { width: 400, height: 300 };

    fn plane(values: Vec<f64>) -> Plane {
        let mut plane = Plane::new("t", Axis::numbered("x", 0.0, 2.0, 2), Axis::numbered("y", 0.0, 2.0, 2));
        plane.grid = Grid::new(2, 2, values);
        plane
    }

    fn titles(svg: &str) -> Vec<String> {
        let parsed = roxmltree::Document::parse(svg).unwrap();
        let found = parsed.descendants().filter(|node| node.has_tag_name("title"));
        found.skip(1).map(|node| node.text().unwrap().to_owned()).collect()
    }

    #[test]
    fn each_cell_says_what_it_is_and_no_data_is_blank() {
        let svg = plane(vec![1.0, f64::NAN, -2.5, f64::INFINITY]).picture(SIZE).svg();
        assert_eq!(titles(&svg), ["x 0..1, y 0..1: 1", "x 0..1, y 1..2: -2.5"]);
        let empty = plane(Vec::new()).picture(SIZE).svg();
        assert_eq!(titles(&empty), [""; 0]);
    }

    #[test]
    fn the_first_row_is_above_or_below() {
        let top = |up| {
            let picture = Plane { up, ..plane(vec![0.0, 0.0, 9.0, 9.0]) }.picture(SIZE);
            let found = picture.shapes.iter().find_map(|shape| match shape {
                crate::picture::Shape::Boxes { boxes, title: Some(title), .. } if title.ends_with(" 9") => {
                    Some(boxes[0][1])
                }
                _ => None,
            });
            found.unwrap()
        };
        assert!(top(true) < top(false));
    }

    #[test]
    fn many_cells_are_one_shape_for_each_colour() {
        let mut large = plane(Vec::new());
        large.grid = Grid::new(100, 100, (0..10_000).map(f64::from).collect());
        let svg = large.picture(SIZE).svg();
        assert!(svg.len() < 100_000, "{}", svg.len());
        assert_eq!(titles(&svg).len(), 0);
    }

    #[test]
    fn extreme_values_have_colours() {
        let scale = |low, high| plane(vec![low, high]).scale().unwrap();
        assert!((scale(f64::MIN, f64::MAX).share(0.0) - 0.5).abs() < 1e-9);
        assert!((scale(3.0, 3.0).share(3.0) - 0.5).abs() < 1e-9);
        let roots = Plane { roots: true, ..plane(vec![25.0, 100.0]) };
        assert!((roots.scale().unwrap().share(25.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn footprints_lie_over_the_cells_and_fragments_over_tiles() {
        let mut plane = plane(vec![1.0; 4]);
        let print = |outline, title: &str| Footprint {
            x: [0.0, 0.5],
            y: [0.5, 0.5],
            outline,
            title: title.to_owned(),
        };
        plane.footprints = vec![print(Outline::Thick, "fragment"), print(Outline::Thin, "tile")];
        let svg = plane.picture(SIZE).svg();
        assert_eq!(titles(&svg)[4..], ["tile", "fragment"]);
    }
}
