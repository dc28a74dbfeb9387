//! Pictures as pixels, and as PNG.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, get_raster, get_raster_width};

use crate::color::Color;
use crate::number::{real, whole};
use crate::picture::{Anchor, Box4, Picture, Shape, Text};

/// Pixels for each pixel of the picture.
const SCALE: f64 = 2.0;
const FONT: (FontWeight, RasterHeight) = (FontWeight::Regular, RasterHeight::Size20);

/// Why a picture could not become a PNG file.
#[derive(Debug, thiserror::Error)]
#[error("the picture cannot be encoded as PNG: {0}")]
pub struct PngError(#[from] png::EncodingError);

struct Canvas {
    width: usize,
    height: usize,
    /// Red, green, blue of each pixel, line by line.
    pixels: Vec<u8>,
}

impl Picture {
    /// The picture as PNG, with two pixels for each of the picture's.
    ///
    /// # Errors
    /// The picture is empty, or larger than PNG allows.
    pub fn png(&self) -> Result<Vec<u8>, PngError> {
        png(self)
    }
}

fn png(picture: &Picture) -> Result<Vec<u8>, PngError> {
    let canvas = Canvas::of(picture);
    let [width, height] = [canvas.width, canvas.height].map(|side| u32::try_from(side).unwrap_or(u32::MAX));
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&canvas.pixels)?;
    writer.finish()?;
    Ok(out)
}

impl Canvas {
    fn of(picture: &Picture) -> Self {
        let [width, height] = [picture.width, picture.height].map(|side| whole((side * SCALE).round()));
        let mut canvas =
            Self { width, height, pixels: vec![255; width.saturating_mul(height).saturating_mul(3)] };
        for shape in &picture.shapes {
            match shape {
                Shape::Boxes { boxes, fill, opacity, .. } => {
                    boxes.iter().for_each(|at| canvas.fill(*at, *fill, *opacity));
                }
                Shape::Frame { at, color, width, opacity, .. } => canvas.frame(*at, *width, *color, *opacity),
                Shape::Text(text) => canvas.text(text),
            }
        }
        canvas
    }

    fn fill(&mut self, [x, y, width, height]: Box4, color: Color, opacity: f64) {
        let pixel = |at: f64| whole((at * SCALE).round());
        let (left, right) = (pixel(x).min(self.width), pixel(x + width).min(self.width));
        let lines = pixel(y).min(self.height)..pixel(y + height).min(self.height);
        for line in lines {
            let start = line.saturating_mul(self.width).saturating_add(left).saturating_mul(3);
            let end = start.saturating_add(right.saturating_sub(left).saturating_mul(3));
            let (pixels, _) = self.pixels.get_mut(start..end).unwrap_or_default().as_chunks_mut::<3>();
            pixels.iter_mut().for_each(|pixel| mix(pixel, color, opacity));
        }
    }

    /// The four sides, with the line half inside and half outside.
    fn frame(&mut self, [x, y, width, height]: Box4, line: f64, color: Color, opacity: f64) {
        let half = line / 2.0;
        let (wide, high) = (width + line, (height - line).max(0.0));
        self.fill([x - half, y - half, wide, line], color, opacity);
        self.fill([x - half, y + height - half, wide, line], color, opacity);
        self.fill([x - half, y + half, line, high], color, opacity);
        self.fill([x + width - half, y + half, line, high], color, opacity);
    }

    fn text(&mut self, text: &Text) {
        let (weight, size) = FONT;
        let letter = get_raster_width(weight, size);
        let length = real(letter.saturating_mul(text.text.chars().count()));
        let before = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => length / 2.0,
            Anchor::End => length,
        };
        // The line that letters stand on is about four fifths down.
        let above = real(size.val()) * 0.78;
        for (index, c) in text.text.chars().enumerate() {
            let Some(raster) = get_raster(c, weight, size).or_else(|| get_raster('?', weight, size)) else {
                continue;
            };
            for (down, line) in raster.rows().enumerate() {
                for (along, ink) in line.iter().enumerate() {
                    let along = real(index.saturating_mul(letter).saturating_add(along)) - before;
                    let down = real(down) - above;
                    let (x, y) = (text.x * SCALE, text.y * SCALE);
                    let (x, y) = if text.turned { (x + down, y - along) } else { (x + along, y + down) };
                    // A bold letter is drawn twice.
                    for shift in 0..=usize::from(text.bold) {
                        self.ink(x + real(shift), y, text.color, f64::from(*ink) / 255.0);
                    }
                }
            }
        }
    }

    fn ink(&mut self, x: f64, y: f64, color: Color, opacity: f64) {
        let (x, y) = (x.round(), y.round());
        if opacity <= 0.0 || x < 0.0 || y < 0.0 || whole(x) >= self.width {
            return;
        }
        let start = whole(y).saturating_mul(self.width).saturating_add(whole(x)).saturating_mul(3);
        let pixel =
            self.pixels.get_mut(start..start.saturating_add(3)).and_then(|pixel| pixel.try_into().ok());
        if let Some(pixel) = pixel {
            mix(pixel, color, opacity);
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates, as it should")]
fn mix(pixel: &mut [u8; 3], color: Color, opacity: f64) {
    let Color(red, green, blue) = color;
    for (old, new) in pixel.iter_mut().zip([red, green, blue]) {
        *old = (f64::from(*old) * (1.0 - opacity) + f64::from(new) * opacity).round() as u8;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixel(canvas: &Canvas, x: usize, y: usize) -> [u8; 3] {
        canvas.pixels[(y * canvas.width + x) * 3..][..3].try_into().unwrap()
    }

    #[test]
    fn boxes_frames_and_texts_are_where_they_should_be() {
        let mut picture = Picture::new("", 20.0, 10.0);
        picture.boxes(vec![[1.0, 1.0, 2.0, 2.0]], Color(255, 0, 0), None);
        picture.shade([2.0, 1.0, 100.0, 1.0], Color(0, 0, 0), 0.5);
        picture.frame([10.0, 4.0, 4.0, 4.0], Color(0, 0, 255), 1.0, 1.0, None);
        let canvas = Canvas::of(&picture);
        assert_eq!((canvas.width, canvas.height), (40, 20));
        assert_eq!(pixel(&canvas, 2, 2), [255, 0, 0]);
        assert_eq!(pixel(&canvas, 4, 2), [128, 0, 0]);
        assert_eq!(pixel(&canvas, 39, 2), [128, 128, 128]);
        assert_eq!(pixel(&canvas, 1, 1), [255, 255, 255]);
        assert_eq!(pixel(&canvas, 20, 12), [0, 0, 255]);
        assert_eq!(pixel(&canvas, 24, 12), [255, 255, 255]);
        picture.text(Text::new(0.0, 9.0, "ÄW√", Anchor::Start));
        picture.text(Text::new(-50.0, 900.0, "outside", Anchor::Start).turned());
        assert_ne!(Canvas::of(&picture).pixels, canvas.pixels);
    }

    #[test]
    fn a_png_has_the_pixels() {
        let mut picture = Picture::new("", 3.0, 2.0);
        picture.boxes(vec![[0.0, 0.0, 1.0, 1.0]], Color(1, 2, 3), None);
        let bytes = png(&picture).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(&bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (6, 4));
        assert_eq!((&pixels[..3], &pixels[6..9]), (&[1, 2, 3][..], &[255, 255, 255][..]));
        assert_eq!(png(&picture).unwrap(), bytes);
        assert!(png(&Picture::new("", 0.0, 0.0)).unwrap_err().to_string().contains("cannot be encoded"));
    }
}
