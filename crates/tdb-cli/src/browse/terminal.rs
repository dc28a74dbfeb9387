//! The terminal: keys that are typed, and the screen.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};

use super::ask::{Answer, Ask, What};
use super::frame;
use super::load::Loader;
use super::state::{Reaction, State};
use crate::failure::{Failure, Result};
use crate::screen::Screen;
use crate::thresholds::BROWSE_TICK;
use crate::tree::Object;

/// Shows an object until the user quits.
pub(super) fn run(
    object: Object,
    loader: impl FnOnce() -> Loader + Send + 'static,
    screen: Screen,
    out: &mut dyn Write,
) -> Result {
    let [columns, rows] = [screen.columns, screen.rows].map(|side| u16::try_from(side).unwrap_or(u16::MAX));
    let interrupts = Interrupts::new()?;
    let panics = Panics::note();
    let (asks, inbox) = channel();
    let (outbox, answers) = channel();
    // It is not joined: a store that does not answer must not keep the user from quitting.
    thread::Builder::new().spawn(move || read(loader(), &inbox, &outbox)).map_err(failed)?;
    let (state, first) = State::new(object, columns, rows);
    let mut opened = Opened::new(out, columns, rows, panics.clone())?;
    let reader = Reader { asks, answers };
    let result = opened.show(state, first, &reader, &interrupts, &panics);
    drop(opened);
    // The hook that prints is there again.
    drop(panic::take_hook());
    result
}

/// Answers questions until nobody asks any more.
fn read(mut loader: Loader, inbox: &Receiver<Ask>, outbox: &Sender<Answer>) {
    while let Ok(first) = inbox.recv() {
        let asks: Vec<Ask> = core::iter::once(first).chain(inbox.try_iter()).collect();
        let is_shown = |ask: &Ask| ask.what != What::Inside;
        // Who moves on quickly wants to see only the last one.
        let last = asks.iter().rposition(is_shown);
        for (place, ask) in asks.iter().enumerate() {
            if is_shown(ask) && Some(place) != last {
                continue;
            }
            if outbox.send(loader.answer(ask)).is_err() {
                return;
            }
        }
    }
}

/// The thread that reads.
struct Reader {
    asks: Sender<Ask>,
    answers: Receiver<Answer>,
}

/// The screen of the browser, until it is dropped: however that happens, the terminal is then as it
/// was.
struct Opened<'o> {
    terminal: Terminal<CrosstermBackend<&'o mut dyn Write>>,
    panics: Panics,
}

impl<'o> Opened<'o> {
    fn new(out: &'o mut dyn Write, columns: u16, rows: u16, panics: Panics) -> Result<Self> {
        // In tests there is no terminal, and nothing to change in it.
        if !cfg!(test) {
            enable_raw_mode().map_err(failed)?;
        }
        let viewport = Viewport::Fixed(Rect::new(0, 0, columns, rows));
        let terminal = Terminal::with_options(CrosstermBackend::new(out), TerminalOptions { viewport });
        let terminal = terminal.inspect_err(|_| drop(disable_raw_mode())).map_err(failed)?;
        let mut opened = Self { terminal, panics };
        execute!(opened.terminal.backend_mut(), EnterAlternateScreen).map_err(failed)?;
        opened.terminal.hide_cursor().map_err(failed)?;
        Ok(opened)
    }

    fn show(
        &mut self,
        mut state: State,
        first: Vec<Ask>,
        reader: &Reader,
        interrupts: &Interrupts,
        panics: &Panics,
    ) -> Result {
        let mut reaction = Reaction::Asks(first);
        loop {
            match reaction {
                Reaction::Quits => return Ok(()),
                Reaction::Asks(asks) => {
                    for ask in asks {
                        reader.asks.send(ask).map_err(|_| panics.failure())?;
                    }
                }
                Reaction::Nothing => {}
            }
            loop {
                match reader.answers.try_recv() {
                    Ok(answer) => drop(state.answer(answer)),
                    Err(TryRecvError::Empty) => break,
                    Err(TryRecvError::Disconnected) => return Err(panics.failure()),
                }
            }
            let draw = |frame: &mut ratatui::Frame<'_>| frame::draw(&state, frame.area(), frame.buffer_mut());
            self.terminal.draw(draw).map_err(failed)?;
            reaction = Reaction::Nothing;
            if interrupts.is_set() {
                return Err(Failure::Failed("interrupted".to_owned()));
            }
            if event::poll(BROWSE_TICK).map_err(failed)? {
                reaction = match event::read().map_err(failed)? {
                    Event::Key(key) if key.kind != KeyEventKind::Release => state.press(key),
                    Event::Resize(columns, rows) => {
                        self.terminal.resize(Rect::new(0, 0, columns, rows)).map_err(failed)?;
                        state.resize(columns, rows)
                    }
                    _ => Reaction::Nothing,
                };
            }
        }
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        // Nothing more can be done if the terminal is gone.
        let _ = execute!(self.terminal.backend_mut(), LeaveAlternateScreen, Show);
        let _ = disable_raw_mode();
        if thread::panicking() {
            // The message would have been on the screen that is gone now.
            let _ = writeln!(io::stderr(), "{}", self.panics.text());
        }
    }
}

fn failed(error: io::Error) -> Failure {
    Failure::Failed(format!("terminal: {error}"))
}

/// What a panic says, kept until the terminal can show it.
#[derive(Clone)]
struct Panics(Arc<Mutex<String>>);

impl Panics {
    /// Notes panics instead of printing them.
    fn note() -> Self {
        let panics = Self(Arc::default());
        let noted = panics.clone();
        panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if let Ok(mut text) = noted.0.lock() {
                *text = info.to_string();
            }
        }));
        panics
    }

    fn text(&self) -> String {
        self.0.lock().map(|text| text.clone()).unwrap_or_default()
    }

    /// The failure of the thread that reads.
    fn failure(&self) -> Failure {
        Failure::Fault(format!("{} (please report this)", self.text()))
    }
}

/// Signals that end the program.
struct Interrupts(#[cfg(unix)] Arc<std::sync::atomic::AtomicBool>);

impl Interrupts {
    #[cfg(unix)]
    fn new() -> Result<Self> {
        use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

        let interrupts = Self(Arc::default());
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&interrupts.0)).map_err(failed)?;
        }
        Ok(interrupts)
    }

    #[cfg(unix)]
    fn is_set(&self) -> bool {
        self.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[cfg(not(unix))]
    fn new() -> Result<Self> {
        Ok(Self())
    }

    #[cfg(not(unix))]
    fn is_set(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_leaves_the_terminal_as_it_was() {
        let mut shown = Vec::new();
        let panics = Panics(Arc::default());
        let result = panic::catch_unwind(panic::AssertUnwindSafe(|| {
            let _opened = Opened::new(&mut shown, 80, 24, panics).unwrap();
            panic!("this is a test");
        }));
        assert!(result.is_err());
        let shown = String::from_utf8(shown).unwrap();
        let [entered, left] = ["\u{1b}[?1049h", "\u{1b}[?1049l"].map(|code| shown.find(code));
        assert!(entered.is_some() && entered < left, "{shown:?}");
        assert!(shown.ends_with("\u{1b}[?25h"), "the cursor is shown again: {shown:?}");
    }
}
