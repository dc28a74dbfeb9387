//! Pictures of characters, for terminals and for text files.

use crate::axis::Tick;
use crate::bars::{Histogram, Profile};
use crate::color::Color;
use crate::number::{number, real, whole};
use crate::plane::{Plane, Scale};

/// Which colours a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Colors {
    /// None, and no characters but ASCII.
    Plain,
    /// 256 colours.
    Cube,
    /// 24 bits.
    True,
}

/// A terminal, or what text is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    /// Characters in a line.
    pub columns: usize,
    /// Lines.
    pub lines: usize,
    /// Its colours.
    pub colors: Colors,
}

/// Characters from low to high.
const SHADES: [char; 10] = ['.', ':', '-', '=', '+', '*', 'o', '#', '%', '@'];
/// Parts of a block, from one to eight eighths.
const EIGHTHS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];
/// Longer texts at the left are cut.
const MOST_LABEL: usize = 16;
/// Lines for the title, a note, the texts below, and the scale.
const OTHER_LINES: usize = 5;
/// The end of a colour.
const RESET: &str = "\x1b[0m";

impl Screen {
    /// How many columns and rows of a grid have room.
    #[must_use]
    pub const fn cells(self) -> (usize, usize) {
        let columns = self.columns.saturating_sub(MOST_LABEL + 2);
        let lines = self.lines.saturating_sub(OTHER_LINES + 1);
        let lines = if lines < 4 { 4 } else { lines };
        (if columns < 8 { 8 } else { columns }, lines.saturating_mul(self.pixels()))
    }

    /// How many lines of a histogram have room.
    #[must_use]
    pub const fn bars(self) -> usize {
        let lines = self.lines.saturating_sub(4);
        if lines < 4 { 4 } else { lines }
    }

    /// How many values lie above each other in a character.
    const fn pixels(self) -> usize {
        match self.colors {
            Colors::Plain => 1,
            Colors::Cube | Colors::True => 2,
        }
    }

    fn cut(self, text: &str) -> String {
        cut(text, self.columns)
    }

    fn code(self, color: Color, layer: u8) -> String {
        match self.colors {
            Colors::Plain => String::new(),
            Colors::Cube => format!("\x1b[{layer};5;{}m", color.of_256()),
            Colors::True => {
                let Color(red, green, blue) = color;
                format!("\x1b[{layer};2;{red};{green};{blue}m")
            }
        }
    }

    /// The code for letters, and the one for what is behind them.
    fn ink(self, color: Color) -> String {
        self.code(color, 38)
    }

    fn paper(self, color: Color) -> String {
        self.code(color, 48)
    }
}

/// A text without control characters, and with a sign in place of what does not fit.
fn cut(text: &str, room: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { '?' } else { c }).collect();
    if text.chars().count() <= room {
        return text;
    }
    text.chars().take(room.saturating_sub(2)).chain("..".chars()).take(room).collect()
}

fn add(out: &mut String, line: &str) {
    out.push_str(line.trim_end());
    out.push('\n');
}

/// The first lines of each picture.
fn heading(title: &str, note: &str, screen: Screen) -> String {
    let mut out = String::new();
    add(&mut out, &screen.cut(title));
    if !note.is_empty() {
        add(&mut out, &screen.cut(note));
    }
    out
}

/// How often each column and row is repeated, so that a small grid is not tiny.
struct Zoom {
    across: usize,
    down: usize,
}

impl Plane {
    /// The plane as lines of text.
    #[must_use]
    pub fn text(&self, screen: Screen) -> String {
        let mut out = heading(&self.title, &self.note, screen);
        let (columns, rows) = (self.grid.columns(), self.grid.rows());
        let zoom = self.zoom(screen);
        let lines = rows.saturating_mul(zoom.down).div_ceil(screen.pixels());
        let label = label_width(&self.y.ticks);
        let labels = beside(&self.y.ticks, lines, self.up);
        let scale = self.scale();
        for line in 0..lines {
            let text = labels.get(line).map_or("", String::as_str);
            out.push_str(&format!("{text:>label$} "));
            let mut pen = Pen::new(screen);
            for column in 0..columns.saturating_mul(zoom.across) {
                let color = |above: usize| {
                    let row = line.saturating_mul(screen.pixels()).saturating_add(above) / zoom.down;
                    let row = if self.up { rows.checked_sub(row.checked_add(1)?)? } else { row };
                    self.grid.value(column / zoom.across, row)
                };
                match scale {
                    Some(scale) if screen.colors == Colors::Plain => pen.shade(color(0), &scale),
                    Some(scale) => {
                        pen.halves(
                            color(0).map(|value| scale.color(value)),
                            color(1).map(|value| scale.color(value)),
                        );
                    }
                    None => pen.text.push(' '),
                }
            }
            add(&mut out, &pen.finish());
        }
        let wide = columns.saturating_mul(zoom.across);
        add(&mut out, &format!("{:label$} {}", "", below(&self.x.ticks, wide)));
        add(&mut out, &self.scale_line(screen, scale));
        out
    }

    /// As large as there is room for, with nearly square cells.
    fn zoom(&self, screen: Screen) -> Zoom {
        let room = screen.columns.saturating_sub(label_width(&self.y.ticks).saturating_add(1));
        let lines = screen.lines.saturating_sub(OTHER_LINES + 1).max(4);
        let across = (room / self.grid.columns().max(1)).clamp(1, 16);
        let down = (lines.saturating_mul(screen.pixels()) / self.grid.rows().max(1)).clamp(1, 16);
        if screen.pixels() == 1 {
            // A character is twice as high as wide.
            let down = down.min(across.div_ceil(2)).min(4);
            return Zoom { across: across.min(down.saturating_mul(4)), down };
        }
        let down = down.min(across.saturating_mul(2));
        Zoom { across: across.min(down.saturating_mul(2)), down }
    }

    fn scale_line(&self, screen: Screen, scale: Option<Scale>) -> String {
        let names = [("x", &self.x.name), ("y", &self.y.name)];
        let names = names.into_iter().filter(|(_, name)| !name.is_empty());
        let names =
            names.map(|(axis, name)| format!("{axis}: {}", cut(name, 24))).collect::<Vec<_>>().join(", ");
        let Some((low, high)) = scale.and(self.grid.bounds()) else {
            return screen.cut(&format!("{names}; no data"));
        };
        let low = if self.roots { low.min(0.0) } else { low };
        let (low, high, unit) = (number(low), number(high), cut(&self.unit, 24));
        let around = [&names, &low, &high, &unit].into_iter().map(|text| text.chars().count()).sum::<usize>();
        let bar = match screen.colors {
            Colors::Plain => SHADES.iter().collect(),
            _ => {
                let mut pen = Pen::new(screen);
                (0..SHADES.len()).for_each(|step| {
                    let share = (real(step) + 0.5) / real(SHADES.len());
                    let color = self.ramp.at(share);
                    pen.halves(Some(color), Some(color));
                });
                pen.finish()
            }
        };
        if around.saturating_add(SHADES.len() + 6) > screen.columns {
            return screen.cut(&format!("{unit}: {low} to {high}"));
        }
        format!("{names}; {unit} {low} {bar} {high}")
    }
}

impl Histogram {
    /// The histogram as lines of text, one for each part.
    #[must_use]
    pub fn text(&self, screen: Screen) -> String {
        let mut out = heading(&self.title, &self.note, screen);
        let widest = self.x.parts.iter().map(|part| part.chars().count()).max().unwrap_or(0);
        let label = widest.min(screen.columns / 3);
        let digits = self.most().to_string().len();
        let room = screen.columns.saturating_sub(label.saturating_add(digits).saturating_add(2));
        let most = (self.most() as f64).max(1.0);
        for (part, count) in self.counts.iter().enumerate() {
            let name = cut(self.x.part(part), label);
            let length = real(room) * (*count as f64) / most;
            let bar = match screen.colors {
                Colors::Plain => "#".repeat(whole(length).max(usize::from(*count > 0)).min(room)),
                _ if *count == 0 => String::new(),
                _ => {
                    let eighths = whole(length * 8.0).max(1);
                    let part = (eighths % 8).checked_sub(1).and_then(|part| EIGHTHS.get(part));
                    let full = "█".repeat(eighths / 8);
                    let part = part.map_or(String::new(), char::to_string);
                    format!("{}{full}{part}{RESET}", screen.ink(Color::BLUE))
                }
            };
            add(&mut out, &format!("{name:>label$} {count:>digits$} {bar}"));
        }
        out
    }
}

impl Profile {
    /// The profile as lines of text, one character for each part.
    #[must_use]
    pub fn text(&self, screen: Screen) -> String {
        let mut out = heading(&self.title, &self.note, screen);
        let Some((low, high)) = self.bounds() else {
            add(&mut out, "no data");
            return out;
        };
        let lines = screen.lines.saturating_sub(OTHER_LINES).max(4);
        let label = [low, high].map(|value| number(value).len()).into_iter().max().unwrap_or(0);
        let room = screen.columns.saturating_sub(label.saturating_add(1));
        let wide = (room / self.means.len().max(1)).clamp(1, 4);
        let line_of = |value: f64| {
            let share = (value / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0);
            let share = if share.is_nan() { 0.5 } else { share };
            whole(((1.0 - share) * real(lines.saturating_sub(1))).round())
        };
        let (mean_sign, span_sign) = if screen.colors == Colors::Plain { ('*', ':') } else { ('●', '│') };
        for line in 0..lines {
            let text = match line {
                0 => number(high),
                line if line.saturating_add(1) == lines => number(low),
                _ => String::new(),
            };
            let mut chart = String::new();
            for (mean, (least, greatest)) in self.means.iter().zip(&self.spans) {
                let sign = match (mean.is_finite(), line_of(*greatest)..=line_of(*least)) {
                    (true, _) if line_of(*mean) == line => mean_sign,
                    (true, span) if span.contains(&line) => span_sign,
                    _ => ' ',
                };
                chart.extend(core::iter::repeat_n(sign, wide));
            }
            let chart = chart.trim_end();
            let colored = if screen.colors == Colors::Plain || chart.is_empty() {
                chart.to_owned()
            } else {
                format!("{}{chart}{RESET}", screen.ink(Color::BLUE))
            };
            add(&mut out, &format!("{text:>label$} {colored}"));
        }
        let ticks = below(&self.x.ticks, self.means.len().saturating_mul(wide));
        add(&mut out, &format!("{:label$} {ticks}", ""));
        add(&mut out, &screen.cut(&format!("x: {}; y: {}", self.x.name, self.unit)));
        out
    }
}

/// Writes characters, and changes colours only where they change.
struct Pen {
    screen: Screen,
    text: String,
    /// The colours in force.
    now: (Option<Color>, Option<Color>),
}

impl Pen {
    const fn new(screen: Screen) -> Self {
        Self { screen, text: String::new(), now: (None, None) }
    }

    fn shade(&mut self, value: Option<f64>, scale: &Scale) {
        let sign = |value| {
            let at = whole(scale.share(value) * real(SHADES.len())).min(SHADES.len() - 1);
            SHADES.get(at).copied().unwrap_or('?')
        };
        self.text.push(value.map_or(' ', sign));
    }

    /// One character with two halves.
    fn halves(&mut self, above: Option<Color>, below: Option<Color>) {
        let (sign, wanted) = match (above, below) {
            (None, None) => (' ', (None, None)),
            (Some(above), None) => ('▀', (Some(above), None)),
            (None, Some(below)) => ('▄', (Some(below), None)),
            (Some(above), Some(below)) => ('▀', (Some(above), Some(below))),
        };
        if wanted != self.now {
            if self.now != (None, None) {
                self.text.push_str(RESET);
            }
            let (ink, paper) = wanted;
            ink.iter().for_each(|color| self.text.push_str(&self.screen.ink(*color)));
            paper.iter().for_each(|color| self.text.push_str(&self.screen.paper(*color)));
            self.now = wanted;
        }
        self.text.push(sign);
    }

    fn finish(mut self) -> String {
        if self.now != (None, None) {
            self.text.push_str(RESET);
        }
        self.text
    }
}

fn label_width(ticks: &[Tick]) -> usize {
    ticks.iter().map(|tick| tick.text.chars().count()).max().unwrap_or(0).min(MOST_LABEL)
}

/// The texts beside lines.
fn beside(ticks: &[Tick], lines: usize, up: bool) -> Vec<String> {
    let mut found = vec![String::new(); lines];
    for tick in ticks {
        let at = if up { 1.0 - tick.at } else { tick.at };
        let line = whole((at * real(lines)).floor()).min(lines.saturating_sub(1));
        if let Some(place) = found.get_mut(line).filter(|place| place.is_empty()) {
            *place = cut(&tick.text, MOST_LABEL);
        }
    }
    found
}

/// The texts below columns, in one line that is as wide as they are.
fn below(ticks: &[Tick], columns: usize) -> String {
    let mut line = String::new();
    for tick in ticks {
        let text = cut(&tick.text, MOST_LABEL);
        let length = text.chars().count();
        let at = whole(tick.at * real(columns)).min(columns.saturating_sub(length));
        let used = line.chars().count();
        if at < used.saturating_add(usize::from(used > 0)) || at.saturating_add(length) > columns {
            continue;
        }
        line.extend(core::iter::repeat_n(' ', at.saturating_sub(used)));
        line.push_str(&text);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::axis::Axis;
    use crate::plane::Grid;

    const PLAIN: Screen = Screen { columns: 40, lines: 12, colors: Colors::Plain };

    fn plane() -> Plane {
        let mut plane =
            Plane::new("title", Axis::numbered("x", 0.0, 4.0, 4), Axis::numbered("y", 0.0, 2.0, 2));
        plane.grid = Grid::new(4, 2, vec![0.0, 1.0, 2.0, 3.0, f64::NAN, 4.5, 9.0, 9.0]);
        plane.unit = "v".to_owned();
        plane
    }

    /// Text without colours.
    fn bare(text: &str) -> String {
        let mut out = String::new();
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            if c == '\x1b' {
                let _ = chars.by_ref().find(|c| *c == 'm');
            } else {
                out.push(c);
            }
        }
        out
    }

    #[test]
    fn plain_text_is_ascii_and_fits() {
        let text = plane().text(PLAIN);
        assert!(text.is_ascii(), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
        let cells: Vec<&str> = text.lines().filter(|line| line.contains('@')).collect();
        assert!(cells[0].contains("++++") || cells[0].contains("**"), "{text}");
        assert!(cells.last().unwrap().starts_with("x: x, y: y; v 0 .:-=+*o#%@ 9"), "{text}");
    }

    #[test]
    fn half_blocks_show_two_rows_in_a_line() {
        let screen = Screen { colors: Colors::True, columns: 6, lines: 6 };
        let mut small = plane();
        small.y.ticks.clear();
        small.grid = Grid::new(6, 8, (0..48).map(f64::from).collect());
        let text = small.text(screen);
        assert_eq!(bare(&text).lines().filter(|line| line.contains('▀')).count(), 4);
        assert!(text.contains("\x1b[38;2;") && text.contains("\x1b[48;2;") && text.contains("\x1b[0m"));
        let cube = small.text(Screen { colors: Colors::Cube, ..screen });
        assert!(cube.contains("\x1b[38;5;"), "{cube}");
    }

    #[test]
    fn no_data_and_no_cells_are_text_too() {
        let mut none = plane();
        none.grid = Grid::new(4, 2, Vec::new());
        assert!(none.text(PLAIN).ends_with("x: x, y: y; no data\n"));
        none.grid = Grid::default();
        for colors in [Colors::Plain, Colors::Cube, Colors::True] {
            assert!(none.text(Screen { colors, ..PLAIN }).contains("no data"));
        }
        assert_eq!(Profile::default().text(PLAIN), "\nno data\n");
    }

    #[test]
    fn bars_have_their_counts_and_fit() {
        let x = Axis::numbered("v", 0.0, 3.0, 3);
        let histogram =
            Histogram { title: "t".to_owned(), x, counts: vec![40, 0, 20], ..Histogram::default() };
        let text = histogram.text(PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with("0..1 40 ###"), "{text}");
        assert_eq!(lines[1].len(), 40);
        assert_eq!(lines[2], "1..2  0");
        let colored = histogram.text(Screen { colors: Colors::True, ..PLAIN });
        assert!(bare(&colored).lines().all(|line| line.chars().count() <= 40));
    }

    #[test]
    fn a_profile_has_a_mark_in_each_column() {
        let profile = Profile {
            title: "t".to_owned(),
            x: Axis::numbered("time", 0.0, 30.0, 30),
            unit: "v".to_owned(),
            means: (0..30).map(f64::from).collect(),
            spans: (0..30).map(|at| (f64::from(at) - 1.0, f64::from(at) + 1.0)).collect(),
            ..Profile::default()
        };
        let text = profile.text(PLAIN);
        assert_eq!(text.matches('*').count(), 30, "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("30 "), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 40), "{text}");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let mut evil = plane();
        evil.title = "a\x1b[31mb\n".to_owned();
        assert!(evil.text(PLAIN).starts_with("a?[31mb?\n"));
    }
}
