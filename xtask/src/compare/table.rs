//! The results as text and as Markdown.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::SUBSTANTIAL;
use super::workers::Worker;

const BEGIN: &str = "<!-- compare:begin -->";
const END: &str = "<!-- compare:end -->";

const INTRODUCTION: &str = "\
# Performance

`cargo xtask compare` times tdb and libtiledb on the same reads and writes the table below. Both sides are long-running
processes that have read the array once before. The runs alternate, with the same number of threads, and each is timed
from opening the array to results in memory. libtiledb is called through its C API on buffers that already have the
result's size, so neither Python nor a retry is in its time; tdb allocates its results itself. Files are in the page
cache: these are times of decoding and assembling cells, not of a disk or a network. Each case's cells are compared: a
sum of hashes over all columns, with positions where the order is defined (duplicates at the same coordinates may come
in any order).

Ratios are libtiledb's median time divided by tdb's: above 1, tdb is faster. Cases below 50 ms are run ten times as
often; cases that take libtiledb minutes are run once by it. A cell's time is tdb's,
for results of many cells: it should not depend on how many. The copy column is the time to copy as many bytes as the
result has into fresh memory with the same threads, which is about the least a read can take. The limit column is, for
uncompressed arrays, the time to copy the files out of the page cache into fresh memory; for others, that of the codecs
and shuffles alone over the same chunks, which lie in memory, into memory that each thread uses over and over; of
limit is its share of tdb's time. Peak memory is what a process had resident at most during the reads beyond what it
had before the first one; memory that an allocator kept from an earlier case counts.
";

/// Times and peak memory of one side.
#[derive(Default)]
pub(crate) struct Sample {
    seconds: Vec<f64>,
    peak: Option<u64>,
}

impl Sample {
    /// Adds a run; `peak` is in KiB.
    pub(crate) fn add(&mut self, seconds: f64, peak: Option<u64>) {
        self.seconds.push(seconds);
        self.peak = self.peak.max(peak);
    }

    /// The highest peak of memory, in KiB.
    pub(crate) const fn peak(&self) -> Option<u64> {
        self.peak
    }

    /// The median time; `None` without runs.
    pub(crate) fn median(&self) -> Option<f64> {
        median(&self.seconds)
    }
}

/// The median; `None` if there are no values.
pub(crate) fn median(seconds: &[f64]) -> Option<f64> {
    let mut sorted = seconds.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len().is_multiple_of(2) {
        Some((sorted.get(middle.checked_sub(1)?)? + upper) / 2.0)
    } else {
        Some(upper)
    }
}

/// The measurements of one case.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) cells: u64,
    pub(crate) bytes: u64,
    pub(crate) tdb: Sample,
    pub(crate) peer: Sample,
    pub(crate) copy: Sample,
    pub(crate) limit: Sample,
    /// The difference between the two sides' cells; `None` if they are equal.
    pub(crate) wrong: Option<String>,
}

impl Row {
    /// A row without runs.
    pub(crate) fn new(name: String, cells: u64, bytes: u64) -> Self {
        let sample = Sample::default;
        Self {
            name,
            cells,
            bytes,
            tdb: sample(),
            peer: sample(),
            copy: sample(),
            limit: sample(),
            wrong: None,
        }
    }

    fn columns(&self) -> [String; 12] {
        let dash = || "–".to_owned();
        let time = |sample: &Sample| sample.median().map_or_else(dash, duration);
        let peak = |sample: &Sample| sample.peak.map_or_else(dash, |kib| format!("{} MiB", kib / 1024));
        let (ours, theirs) = (self.tdb.median(), self.peer.median());
        let ratio = match (ours, theirs, &self.wrong) {
            (_, _, Some(_)) => "WRONG".to_owned(),
            (Some(tdb), Some(peer), None) if tdb > 0.0 => format!("{:.2}", peer / tdb),
            _ => dash(),
        };
        let speed = ours.filter(|tdb| self.bytes >= SUBSTANTIAL && *tdb > 0.0);
        let speed = speed.map_or_else(dash, |tdb| format!("{:.2} GB/s", as_f64(self.bytes) / tdb / 1e9));
        let share = ours.zip(self.limit.median()).filter(|(tdb, _)| *tdb > 0.0);
        let share = share.map_or_else(dash, |(tdb, limit)| format!("{:.2}", limit / tdb));
        let (tdb, peer) = (&self.tdb, &self.peer);
        let each = ours.filter(|_| self.cells >= MANY);
        let each = each.map_or_else(dash, |tdb| format!("{:.2} ns", tdb * 1e9 / as_f64(self.cells)));
        let cells = if self.cells == 0 { dash() } else { self.cells.to_string() };
        [
            self.name.clone(),
            cells,
            time(tdb),
            each,
            time(peer),
            ratio,
            speed,
            time(&self.copy),
            time(&self.limit),
            share,
            peak(tdb),
            peak(peer),
        ]
    }
}

/// The smallest number of cells for which a time per cell is meaningful.
const MANY: u64 = 100_000;

const HEADINGS: [&str; 12] = [
    "case",
    "cells",
    "tdb",
    "a cell",
    "libtiledb",
    "ratio",
    "tdb speed",
    "copy",
    "limit",
    "of limit",
    "tdb peak",
    "libtiledb peak",
];

/// The machine and the settings of a measurement.
pub(crate) struct Conditions(String);

impl Conditions {
    /// As lines of a page.
    pub(crate) fn text(&self) -> String {
        format!("{}\n", crate::markdown::wrap(&self.0))
    }

    /// Describes this machine and this run.
    pub(crate) fn new(tdb: &Worker, peer: &Worker, threads: usize, runs: usize) -> Self {
        Self(format!("{}; libtiledb {}.", Self::without_others(tdb, threads, runs), peer.version))
    }

    /// Describes this machine and a run in which tdb is alone or beside others that the caller
    /// names.
    pub(crate) fn without_others(tdb: &Worker, threads: usize, runs: usize) -> String {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
        let model = model.map_or("unknown processor", |(_, model)| model.trim());
        let date = said("date", &["-u", "+%Y-%m-%d"]);
        let rustc = said("rustc", &["--version"]);
        format!(
            "{date}; {cores} cores ({model}), {threads} threads; medians of {runs} runs; tdb {}, {rustc}",
            tdb.version
        )
    }
}

fn said(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map_or_else(|_| "?".into(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[allow(clippy::cast_precision_loss, reason = "for display")]
fn as_f64(bytes: u64) -> f64 {
    bytes as f64
}

pub(crate) fn duration(seconds: f64) -> String {
    let (value, unit) = if seconds < 1e-3 {
        (seconds * 1e6, "µs")
    } else if seconds < 1.0 {
        (seconds * 1e3, "ms")
    } else {
        (seconds, "s")
    };
    let digits = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.digits$} {unit}")
}

/// Lines of columns for a terminal: the first column is left-aligned, the others right-aligned.
pub(crate) fn aligned<L: AsRef<[String]>>(lines: &[L]) -> String {
    let mut widths: Vec<usize> = Vec::new();
    for line in lines.iter().map(AsRef::as_ref) {
        widths.resize(widths.len().max(line.len()), 0);
        for (width, cell) in widths.iter_mut().zip(line) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for line in lines.iter().map(AsRef::as_ref) {
        for (index, (cell, width)) in line.iter().zip(&widths).enumerate() {
            text += &if index == 0 { format!("{cell:width$}") } else { format!("  {cell:>width$}") };
        }
        text.push('\n');
    }
    text
}

/// The table for a terminal.
pub(crate) fn text<'r>(rows: impl IntoIterator<Item = &'r Row> + Clone, conditions: &Conditions) -> String {
    let lines: Vec<[String; 12]> =
        std::iter::once(HEADINGS.map(Into::into)).chain(rows.clone().into_iter().map(Row::columns)).collect();
    let mut text = aligned(&lines);
    for row in rows {
        if let Some(wrong) = &row.wrong {
            text += &format!("WRONG {}: {wrong}\n", row.name);
        }
    }
    text + &conditions.0 + "\n"
}

fn markdown(rows: &[Row], conditions: &Conditions) -> String {
    let lines: Vec<[String; 12]> =
        std::iter::once(HEADINGS.map(Into::into)).chain(rows.iter().map(Row::columns)).collect();
    markdown_of(&lines) + "\n" + &conditions.0 + "\n"
}

/// Lines of columns as a Markdown table; the first line is its head.
pub(crate) fn markdown_of<L: AsRef<[String]>>(lines: &[L]) -> String {
    let mut text = String::new();
    for (index, line) in lines.iter().map(AsRef::as_ref).enumerate() {
        text += &format!("| {} |\n", line.join(" | "));
        if index == 0 {
            text += &format!("|---|{}\n", "---:|".repeat(line.len().saturating_sub(1)));
        }
    }
    text
}

/// Writes the table between the marks of the page; the page is created if it does not exist.
pub(crate) fn write_docs(page: &Path, rows: &[Row], conditions: &Conditions) -> Result<(), String> {
    put_between(page, (BEGIN, END), INTRODUCTION, &markdown(rows, conditions))
}

/// Writes a text between two marks of a page. If the page does not have these marks, they are
/// appended after `introduction`.
pub(crate) fn put_between(
    page: &Path,
    (begin, end): (&str, &str),
    introduction: &str,
    text: &str,
) -> Result<(), String> {
    let mut old = if page.exists() {
        fs::read_to_string(page).map_err(|e| format!("cannot read {}: {e}", page.display()))?
    } else {
        String::new()
    };
    if !old.contains(begin) {
        let introduction = crate::markdown::wrap_prose(introduction);
        old += &format!("{introduction}\n{begin}\n{end}\n");
    }
    let marks = || format!("{} has no {begin} … {end}", page.display());
    let (before, rest) = old.split_once(begin).ok_or_else(marks)?;
    let (_, after) = rest.split_once(end).ok_or_else(marks)?;
    let text = crate::markdown::wrap_prose(text);
    let new = format!("{before}{begin}\n{text}{end}{after}");
    fs::write(page, new).map_err(|e| format!("cannot write {}: {e}", page.display()))
}
