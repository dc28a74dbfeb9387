//! A progress line on the terminal for long reads.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tdb_array::Progress;

/// Reads that finish within this time show nothing.
const PATIENCE: Duration = Duration::from_millis(400);
/// Minimum time between two updates.
const PAUSE: Duration = Duration::from_millis(100);
const WIDTH: usize = 30;

pub(crate) struct Bar {
    begun: Instant,
    state: Mutex<State>,
}

struct State {
    /// When the next update may be shown; `None` if no progress is shown.
    next: Option<Instant>,
    shown: bool,
}

impl Bar {
    /// A bar, if one is wanted, standard error is a terminal, and nothing else is printed over the bar.
    pub(crate) fn new(wanted: bool, goes_to_file: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let seen = io::stderr().is_terminal() && !dumb;
        let alone = goes_to_file || !io::stdout().is_terminal();
        let begun = Instant::now();
        let next = (seen && alone && wanted).then(|| begun.checked_add(PATIENCE)).flatten();
        Self { begun, state: Mutex::new(State { next, shown: false }) }
    }

    pub(crate) fn show(&self, progress: &Progress) {
        let now = Instant::now();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.next.is_none_or(|next| now < next) {
            return;
        }
        state.next = now.checked_add(PAUSE);
        state.shown = true;
        let line = line(progress, now.saturating_duration_since(self.begun));
        // If the terminal is closed, no bar is needed.
        let _ = write!(io::stderr(), "\r{line}\x1b[K");
    }

    pub(crate) fn clear(&self) {
        if self.state.lock().unwrap_or_else(PoisonError::into_inner).shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

fn line(progress: &Progress, elapsed: Duration) -> String {
    let fraction = progress.fraction();
    let full = (0..WIDTH).filter(|at| (*at as f64) < fraction * WIDTH as f64).count();
    let bar: String = (0..WIDTH).map(|at| if at < full { '#' } else { '.' }).collect();
    let rest = if fraction > 0.0 { elapsed.as_secs_f64() * (1.0 / fraction - 1.0) } else { 0.0 };
    let mebibytes = progress.bytes as f64 / f64::from(1u32 << 20);
    format!(
        "[{bar}] {:3.0} %  {} cells, {mebibytes:.0} MiB, {rest:.0} s left",
        fraction * 100.0,
        progress.cells
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_and_how_long() {
        let line = line(&Progress::default(), Duration::from_secs(3));
        assert_eq!(line, format!("[{}]   0 %  0 cells, 0 MiB, 0 s left", ".".repeat(WIDTH)));
    }
}
