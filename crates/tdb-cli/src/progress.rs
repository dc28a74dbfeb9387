//! Progress on the terminal: how far a long command is, how fast, and how long it still takes.

use core::fmt;
use std::borrow::Cow;
use std::io::{self, IsTerminal};
use std::time::Instant;

use clap::Args as Group;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use tdb_array::query::Progress;

use crate::thresholds::{MIN_PROGRESS_TIME, PROGRESS_TICK};

/// Whether to show progress.
#[derive(Clone, Copy, Debug, Default, Group)]
pub(crate) struct ProgressArgs {
    /// Show no progress on the terminal.
    #[arg(long)]
    no_progress: bool,
}

/// The unit that a bar counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Bytes,
    Cells,
    Rows,
    /// Cells or files: the step decides.
    Parts,
    /// Parts of a whole that has this many ([`Meter::WHOLE`]); the message says the rest.
    Share,
}

/// Progress of a command on standard error, if that is a terminal. It is removed when it is
/// dropped.
#[derive(Debug)]
pub(crate) struct Meter {
    /// None where nothing is shown.
    bar: Option<ProgressBar>,
    begun: Instant,
}

impl ProgressArgs {
    /// A bar for an amount of work. Without a total it shows how much is done.
    pub(crate) fn bar(self, what: &'static str, unit: Unit, total: Option<u64>) -> Meter {
        Meter::new((!self.no_progress && is_shown()).then(|| {
            let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden());
            bar.set_style(styled(template(unit, total.is_some())));
            bar.with_message(what)
        }))
    }

    /// A sign that the command works, where nobody knows how far it is.
    pub(crate) fn wait(self, what: &'static str) -> Meter {
        Meter::new((!self.no_progress && is_shown()).then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            bar.set_style(styled("{spinner} {msg}, {elapsed}"));
            bar.enable_steady_tick(PROGRESS_TICK);
            bar.with_message(what)
        }))
    }
}

impl Meter {
    /// The total of a share.
    pub(crate) const WHOLE: u64 = 1_000_000;

    fn new(bar: Option<ProgressBar>) -> Self {
        Self { bar, begun: Instant::now() }
    }

    /// A meter that shows nothing.
    pub(crate) fn none() -> Self {
        Self::new(None)
    }

    /// Shows the amount of work that is done, and all of it.
    pub(crate) fn of(&self, done: u64, total: u64) {
        if let Some(bar) = &self.bar {
            bar.set_length(total);
            self.set(done);
        }
    }

    /// Shows the amount of work that is done.
    pub(crate) fn set(&self, done: u64) {
        let Some(bar) = &self.bar else { return };
        bar.set_position(done);
        if bar.is_hidden() && self.begun.elapsed() >= MIN_PROGRESS_TIME {
            bar.set_draw_target(ProgressDrawTarget::stderr());
            bar.tick();
        }
    }

    /// Adds to the amount of work that is done.
    pub(crate) fn add(&self, more: u64) {
        if let Some(bar) = &self.bar {
            self.set(bar.position().saturating_add(more));
        }
    }

    /// Shows the progress of a read.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share from 0 to 1 of a whole number"
    )]
    pub(crate) fn show(&self, progress: &Progress) {
        if self.is_seen() {
            self.say(format!("{} cells, {} MiB", progress.cells, progress.bytes / (1 << 20)));
            self.set((progress.fraction() * Self::WHOLE as f64) as u64);
        }
    }

    /// Shows what is being done.
    pub(crate) fn say(&self, what: impl Into<Cow<'static, str>>) {
        if let Some(bar) = &self.bar {
            bar.set_message(what);
        }
    }

    /// Whether it is shown, so that it is worth finding out the total.
    pub(crate) const fn is_seen(&self) -> bool {
        self.bar.is_some()
    }

    /// Removes it from the terminal.
    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Whether standard error is a terminal that can write over a line.
fn is_shown() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// One line without colours, so NO_COLOR changes nothing.
const fn template(unit: Unit, has_total: bool) -> &'static str {
    match (unit, has_total) {
        (Unit::Bytes, true) => "{msg} [{wide_bar}] {percent:>3} %  {bytes}, {bytes_per_sec}, {eta} left",
        (Unit::Bytes, false) => "{msg}: {bytes}, {bytes_per_sec}",
        (Unit::Cells, true) => "{msg} [{wide_bar}] {percent:>3} %  {human_pos} cells, {rate}, {eta} left",
        (Unit::Cells, false) => "{msg}: {human_pos} cells, {rate}",
        (Unit::Rows, true) => "{msg} [{wide_bar}] {percent:>3} %  {human_pos} rows, {rate}, {eta} left",
        (Unit::Rows, false) => "{msg}: {human_pos} rows, {rate}",
        (Unit::Parts, _) => "{msg} [{wide_bar}] {percent:>3} %  {human_pos}, {rate}, {eta} left",
        (Unit::Share, _) => "[{wide_bar}] {percent:>3} %  {msg}, {eta} left",
    }
}

fn styled(template: &str) -> ProgressStyle {
    // A test makes each of them.
    let style = ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar());
    // The rate of the crate has four decimals.
    let rate = |state: &ProgressState, out: &mut dyn fmt::Write| {
        let _ = write!(out, "{:.0}/s", state.per_sec());
    };
    style.with_key("rate", rate).progress_chars("##.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_valid_and_has_what_is_done_and_what_is_left() {
        for unit in [Unit::Bytes, Unit::Cells, Unit::Rows, Unit::Parts, Unit::Share] {
            for has_total in [false, true] {
                let template = template(unit, has_total);
                assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
                assert!(!has_total || template.contains("{eta} left"), "{template}");
            }
        }
    }

    #[test]
    fn where_nobody_looks_nothing_is_counted() {
        let meter = Meter::none();
        meter.add(5);
        meter.of(5, 10);
        assert!(!meter.is_seen());
    }
}
