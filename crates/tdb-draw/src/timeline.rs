//! Bars in time, one a row, and where each of them is on one or two other axes.

use crate::axis::{Axis, Tick};
use crate::color::Color;
use crate::frame::{self, EDGE, LINE};
use crate::number::real;
use crate::picture::{Anchor, Box4, Picture, SMALL, Size, Text, fitting, width_of};

/// Bars in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline {
    /// The title.
    pub title: String,
    /// More about it, in one line.
    pub note: String,
    /// Round times.
    pub times: Vec<Tick>,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
    /// The unit of the numbers of the bars.
    pub unit: String,
    /// Where the bars are on other axes: none, one or two axes.
    pub places: Vec<Axis>,
}

/// A bar of a timeline: a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Begin and end in time, in shares of the whole.
    pub time: Extent,
    /// How much it is.
    pub amount: f64,
    /// The amount as text.
    pub text: String,
    /// Its meaning for the reader of the picture.
    pub mark: Mark,
    /// Where it is on each of the other axes, in shares; empty if that is not known.
    pub places: Vec<Extent>,
    /// Its description.
    pub title: String,
}

/// Begin and end, in shares from 0 to 1.
pub type Extent = [f64; 2];

/// How a bar is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// It counts.
    Live,
    /// It counts, and was made of others.
    Merged,
    /// It was replaced.
    Replaced,
    /// It is damaged.
    Damaged,
}

impl Mark {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Live, "in use"),
        (Self::Merged, "in use, made of others"),
        (Self::Replaced, "replaced"),
        (Self::Damaged, "damaged"),
    ];

    const fn color(self) -> Color {
        match self {
            Self::Live => Color::BLUE,
            Self::Merged => Color::ORANGE,
            Self::Replaced => Color::LINE,
            Self::Damaged => Color::RED,
        }
    }
}

/// The parts of the picture.
struct Rooms {
    time: Box4,
    amount: Box4,
    place: Option<Box4>,
}

impl Timeline {
    /// Draws the timeline in a picture of this width; its height follows from the number of bars.
    #[must_use]
    pub fn picture(&self, size: Size) -> Picture {
        let width = f64::from(size.width).max(320.0);
        let top = frame::head_height(&self.note) + LINE + 4.0;
        let rows = real(self.bars.len().max(1));
        let least = f64::from(size.height) - top - 3.0 * LINE - EDGE;
        let row = (least / rows).clamp(2.0, 18.0);
        let plane = self.places.len() >= 2;
        let tall = if plane { (row * rows).max(least.min(260.0)) } else { row * rows }.max(24.0).round();
        let height = top + tall + frame::bottom_room(&Axis { name: "x".to_owned(), ..Axis::default() });
        let rooms = self.rooms(width, top, tall);
        let mut picture = Picture::new(&self.title, width, height);
        frame::head(&mut picture, &self.title, &self.note);
        self.key(&mut picture, top);
        self.rows(&mut picture, &rooms, row);
        if let (Some(at), [x, y, ..]) = (rooms.place, self.places.as_slice()) {
            self.plane(&mut picture, at, x, y);
        }
        picture
    }

    fn rooms(&self, width: f64, top: f64, tall: f64) -> Rooms {
        let room = width - 2.0 * EDGE;
        let texts = self.bars.iter().map(|bar| width_of(&bar.text, SMALL)).fold(0.0, f64::max);
        let amount = (texts + 60.0).min(room * 0.3);
        let (time, place) = match self.places.as_slice() {
            [] => (room - amount - 12.0, None),
            [_] => {
                let time = ((room - amount) * 0.5 - 24.0).floor();
                let left = EDGE + time + 12.0 + amount + 24.0;
                (time, Some([left, top, (width - left - EDGE).floor(), tall]))
            }
            [_, y, ..] => {
                let time = ((room - amount) * 0.42 - 24.0).floor();
                let left = EDGE + time + 12.0 + amount + frame::left_room(y) + 6.0;
                (time, Some([left, top, (width - left - EDGE).floor(), tall]))
            }
        };
        let after = EDGE + time + 12.0;
        Rooms { time: [EDGE, top, time, tall], amount: [after, top, amount, tall], place }
    }

    /// The meaning of the colours.
    fn key(&self, picture: &mut Picture, top: f64) {
        let mut x = EDGE;
        for (mark, word) in Mark::ALL {
            if self.bars.iter().any(|bar| bar.mark == mark) {
                picture.boxes(vec![[x, top - 18.0, 9.0, 9.0]], mark.color(), None);
                picture.text(Text::new(x + 14.0, top - 10.0, word, Anchor::Start));
                x += 14.0 + width_of(word, SMALL) + 14.0;
            }
        }
    }

    fn rows(&self, picture: &mut Picture, rooms: &Rooms, row: f64) {
        let most = self.bars.iter().map(|bar| bar.amount).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
        let [x, top, width, tall] = rooms.time;
        let [side, _, side_width, _] = rooms.amount;
        let texts = self.bars.iter().map(|bar| width_of(&bar.text, SMALL)).fold(0.0, f64::max);
        picture.boxes(vec![rooms.time], Color::BLANK, None);
        let line = self.places.len() == 1;
        if let Some(at) = rooms.place.filter(|_| line) {
            picture.boxes(vec![at], Color::BLANK, None);
        }
        let thick = (row - if row > 6.0 { 3.0 } else { 0.5 }).max(1.0);
        for (index, bar) in self.bars.iter().enumerate() {
            let y = top + row * real(index) + (row - thick) / 2.0;
            let color = bar.mark.color();
            let [from, to] = bar.time.map(|share| x + share * width);
            // An event of one instant is still seen, and stays inside.
            let long = (to - from).max(4.0);
            let from = from.min(x + width - long);
            picture.boxes(vec![[from, y, long, thick]], color, Some(bar.title.clone()));
            let long = ((side_width - texts - 8.0).max(0.0) * bar.amount / most).max(1.0);
            picture.boxes(vec![[side, y, long, thick]], color, Some(format!("{} {}", bar.text, self.unit)));
            if row >= 10.0 {
                let text =
                    Text::new(side + long + 5.0, y + thick / 2.0 + 4.0, bar.text.clone(), Anchor::Start);
                picture.text(text);
            }
            if let (Some([left, _, wide, _]), Some([from, to]), true) =
                (rooms.place, bar.places.first(), line)
            {
                let at = [left + from * wide, y, ((to - from) * wide).max(2.0), thick];
                picture.boxes(vec![at], color, Some(bar.title.clone()));
            }
        }
        picture.frame(rooms.time, Color::LINE, 1.0, 1.0, None);
        let times = Axis { name: "time written".to_owned(), ticks: self.times.clone(), parts: Vec::new() };
        frame::bottom(picture, rooms.time, &times);
        let name = Text::new(
            side,
            top + tall + 2.0 * LINE + 2.0,
            fitting(&self.unit, side_width, SMALL),
            Anchor::Start,
        );
        picture.text(frame::bold(name));
        if let (Some(at), Some(axis), true) = (rooms.place, self.places.first(), line) {
            picture.frame(at, Color::LINE, 1.0, 1.0, None);
            frame::bottom(picture, at, axis);
        }
    }

    /// Footprints: what counts over what was replaced; where many overlap, colours are deep.
    fn plane(&self, picture: &mut Picture, at: Box4, across: &Axis, along: &Axis) {
        let [x, y, width, height] = at;
        picture.boxes(vec![at], Color::BLANK, None);
        let mut sorted: Vec<&Bar> = self.bars.iter().collect();
        sorted.sort_by_key(|bar| bar.mark != Mark::Replaced);
        for bar in sorted {
            let [[left, right], [top, bottom]] = match bar.places.as_slice() {
                [across, along, ..] => [*across, *along],
                _ => continue,
            };
            let at = [
                x + left * width,
                y + (1.0 - bottom) * height,
                ((right - left) * width).max(2.0),
                ((bottom - top) * height).max(2.0),
            ];
            picture.shade(at, bar.mark.color(), 0.14);
            picture.frame(at, bar.mark.color(), 1.2, 0.9, Some(bar.title.clone()));
        }
        picture.frame(at, Color::LINE, 1.0, 1.0, None);
        frame::bottom(picture, at, across);
        // The name of this axis is beside it, not at the border of the picture.
        frame::left(picture, at, &Axis { name: String::new(), ..along.clone() }, true, false);
        let name = fitting(&along.name, height, SMALL);
        let beside = x - frame::left_room(along) + EDGE + SMALL;
        picture.text(frame::bold(Text::new(beside, y + height / 2.0, name, Anchor::Middle).turned()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(mark: Mark, places: &[Extent]) -> Bar {
        Bar {
            time: [0.25, 0.25],
            amount: 10.0,
            text: "10".to_owned(),
            mark,
            places: places.to_vec(),
            title: format!("{mark:?}"),
        }
    }

    fn svg(bars: Vec<Bar>, axes: usize) -> String {
        let places = (0..axes).map(|index| Axis::numbered(format!("d{index}"), 0.0, 9.0, 0)).collect();
        let timeline = Timeline { bars, places, unit: "cells".to_owned(), ..Timeline::default() };
        timeline.picture(Size { width: 600, height: 300 }).svg()
    }

    fn count(svg: &str, title: &str) -> usize {
        let parsed = roxmltree::Document::parse(svg).unwrap();
        parsed.descendants().filter(|node| node.has_tag_name("title") && node.text() == Some(title)).count()
    }

    #[test]
    fn each_bar_is_in_time_and_on_each_plane() {
        let two = [[0.0, 0.5], [0.0, 1.0]];
        for (axes, shown) in [(0, 1), (1, 2), (2, 2)] {
            let bars = vec![bar(Mark::Live, &two), bar(Mark::Replaced, &two), bar(Mark::Merged, &[])];
            let svg = svg(bars, axes);
            assert_eq!(count(&svg, "Live"), shown, "{axes}");
            assert_eq!(count(&svg, "Merged"), 1, "where it is nobody knows");
            assert!(svg.contains(">replaced<") && !svg.contains(">damaged<"));
        }
    }

    #[test]
    fn no_bars_and_many_bars_are_pictures_too() {
        assert_eq!(count(&svg(Vec::new(), 2), "Live"), 0);
        assert_eq!(count(&svg(vec![bar(Mark::Live, &[[0.0, 1.0]]); 500], 1), "Live"), 1000);
    }
}
