//! Pictures as SVG.

use std::fmt::Write as _;

use crate::number::place;
use crate::picture::{Anchor, Box4, Picture, Shape, Text};

/// The fonts of the systems that show the picture.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Helvetica,Arial,sans-serif";

impl Picture {
    /// The picture as SVG.
    #[must_use]
    pub fn svg(&self) -> String {
        write(self)
    }
}

fn write(picture: &Picture) -> String {
    let (width, height) = (place(picture.width), place(picture.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"{FONTS}\">\n"
    );
    out += &title(Some(&picture.title));
    out.push('\n');
    for shape in &picture.shapes {
        match shape {
            Shape::Boxes { boxes, fill, opacity, title: own } => {
                // Edges that meet leave no gap between them.
                let _ = write!(
                    out,
                    "<path fill=\"{fill}\"{} shape-rendering=\"crispEdges\" d=\"",
                    see_through(*opacity)
                );
                boxes.iter().for_each(|at| path(&mut out, *at));
                out += &closed("path", &title(own.as_deref()));
            }
            Shape::Frame { at: [x, y, width, height], color, width: line, opacity, title: own } => {
                let [x, y, width, height, line] = [*x, *y, *width, *height, *line].map(place);
                let _ = write!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"{color}\" \
                     stroke-width=\"{line}\" stroke-opacity=\"{}",
                    place(*opacity)
                );
                out += &closed("rect", &title(own.as_deref()));
            }
            Shape::Text(text) => write_text(&mut out, text),
        }
    }
    out += "</svg>\n";
    out
}

fn see_through(opacity: f64) -> String {
    if opacity < 1.0 { format!(" opacity=\"{}\"", place(opacity)) } else { String::new() }
}

/// The end of an element whose last attribute is open.
fn closed(name: &str, inside: &str) -> String {
    if inside.is_empty() { "\"/>\n".to_owned() } else { format!("\">{inside}</{name}>\n") }
}

fn path(out: &mut String, [x, y, width, height]: Box4) {
    let [x, y, width, height] = [x, y, width, height].map(place);
    let _ = write!(out, "M{x} {y}h{width}v{height}h-{width}z");
}

fn title(text: Option<&str>) -> String {
    text.map_or_else(String::new, |text| format!("<title>{}</title>", escaped(text)))
}

fn write_text(out: &mut String, text: &Text) {
    let Text { x, y, text, anchor, size, color, bold, turned } = text;
    let (x, y) = (place(*x), place(*y));
    let anchor = match anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let bold = if *bold { " font-weight=\"600\"" } else { "" };
    let turn = if *turned { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let size = place(*size);
    let _ = writeln!(
        out,
        "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" fill=\"{color}\"{anchor}{bold}{turn}>{}</text>",
        escaped(text)
    );
}

/// Text in XML: without the characters that have a meaning there, and those that may not be there.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\n' | '\t' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::color::Color;

    #[test]
    fn any_text_becomes_valid_xml() {
        let mut picture = Picture::new("a < b & \"c\" \u{1}\u{ffff}", 10.0, 20.5);
        picture.text(Text::new(1.0, 2.0, "</text>\0", Anchor::End).turned());
        picture.frame([1.0, 2.0, 3.0, 4.0], Color::RED, 1.5, 0.25, Some("<".to_owned()));
        picture.frame([1.0, 2.0, 3.0, 4.0], Color::RED, 1.5, 1.0, None);
        picture.shade([0.0; 4], Color::BLUE, 0.5);
        let svg = write(&picture);
        let parsed = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<_> = parsed.descendants().filter_map(|node| node.text()).map(str::trim).collect();
        assert!(texts.contains(&"a < b & \"c\" \u{fffd}\u{fffd}"), "{texts:?}");
        assert!(texts.contains(&"</text>\u{fffd}"), "{texts:?}");
        let frame = parsed.descendants().find(|node| node.attribute("stroke-opacity").is_some()).unwrap();
        assert_eq!(frame.attribute("stroke-opacity"), Some("0.25"));
        assert_eq!(frame.attribute("stroke-width"), Some("1.5"));
    }
}
