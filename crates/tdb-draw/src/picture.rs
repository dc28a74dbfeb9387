//! Pictures as lists of shapes.

use crate::color::Color;
use crate::number::real;

/// The size of a picture, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// From left to right.
    pub width: u32,
    /// From top to bottom.
    pub height: u32,
}

/// A picture that can be written.
#[derive(Clone, Debug, PartialEq)]
pub struct Picture {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Its description, for those who cannot see it.
    pub(crate) title: String,
    pub(crate) shapes: Vec<Shape>,
}

/// A rectangle: left, top, width, height.
pub(crate) type Box4 = [f64; 4];

/// A part of a picture; later parts lie over earlier ones.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Shape {
    /// Filled rectangles of one colour.
    Boxes { boxes: Vec<Box4>, fill: Color, opacity: f64, title: Option<String> },
    /// The border of a rectangle.
    Frame { at: Box4, color: Color, width: f64, opacity: f64, title: Option<String> },
    /// A line of text.
    Text(Text),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Text {
    pub(crate) x: f64,
    /// The line that the letters stand on.
    pub(crate) y: f64,
    pub(crate) text: String,
    pub(crate) anchor: Anchor,
    pub(crate) size: f64,
    pub(crate) color: Color,
    pub(crate) bold: bool,
    /// From bottom to top.
    pub(crate) turned: bool,
}

/// Which end of a text is at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The size of texts at axes.
pub(crate) const SMALL: f64 = 11.0;
/// The size of titles.
pub(crate) const LARGE: f64 = 14.0;

/// About how wide a text is.
pub(crate) fn width_of(text: &str, size: f64) -> f64 {
    // Letters of a PNG, all of one width; those of most fonts are narrower.
    real(text.chars().count()) * size * 0.56
}

/// A text with dots in place of what does not fit.
pub(crate) fn fitting(text: &str, room: f64, size: f64) -> String {
    if width_of(text, size) <= room {
        return text.to_owned();
    }
    let most = crate::number::whole(room / (size * 0.56)).saturating_sub(1);
    text.chars().take(most).chain(['…']).collect()
}

impl Picture {
    pub(crate) fn new(title: &str, width: f64, height: f64) -> Self {
        let background = Shape::Boxes {
            boxes: vec![[0.0, 0.0, width, height]],
            fill: Color::WHITE,
            opacity: 1.0,
            title: None,
        };
        Self { width, height, title: title.to_owned(), shapes: vec![background] }
    }

    pub(crate) fn boxes(&mut self, boxes: Vec<Box4>, fill: Color, title: Option<String>) {
        self.shapes.push(Shape::Boxes { boxes, fill, opacity: 1.0, title });
    }

    pub(crate) fn shade(&mut self, at: Box4, fill: Color, opacity: f64) {
        self.shapes.push(Shape::Boxes { boxes: vec![at], fill, opacity, title: None });
    }

    pub(crate) fn frame(&mut self, at: Box4, color: Color, width: f64, opacity: f64, title: Option<String>) {
        self.shapes.push(Shape::Frame { at, color, width, opacity, title });
    }

    pub(crate) fn text(&mut self, text: Text) {
        self.shapes.push(Shape::Text(text));
    }
}

impl Text {
    /// A small text in grey.
    pub(crate) fn new(x: f64, y: f64, text: impl Into<String>, anchor: Anchor) -> Self {
        Self {
            x,
            y,
            text: text.into(),
            anchor,
            size: SMALL,
            color: Color::PENCIL,
            bold: false,
            turned: false,
        }
    }

    /// The text as a title.
    pub(crate) fn large(self) -> Self {
        Self { size: LARGE, color: Color::INK, bold: true, ..self }
    }

    /// The text from bottom to top.
    pub(crate) fn turned(self) -> Self {
        Self { turned: true, ..self }
    }
}
