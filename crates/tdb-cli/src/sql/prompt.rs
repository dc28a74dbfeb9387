//! The prompt: statements over several lines until a semicolon, with a history.

use std::io::Write;
use std::path::PathBuf;

use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::history::FileHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Config, Editor, Helper};

use super::formats::Results;
use super::session::Session;
use super::{SqlArgs, error, statements};
use crate::failure::{Failure, Result};
use crate::place::Stores;
use crate::screen::Screen;

const PROMPT: &str = "tdb> ";
const HELP: &str = "\
Statements end with a semicolon and may have several lines. Arrays are tables: SELECT * FROM 'path or URL' LIMIT 10;
DESCRIBE 'path'; shows columns, EXPLAIN SELECT …; what a query reads. Ctrl-C ends a query, quit or Ctrl-D the prompt.";

/// A source of lines.
trait Lines {
    /// The next text that ends where a statement ends; `None` at the end of the input.
    fn next(&mut self) -> Result<Option<String>>;
}

/// Runs statements from a terminal until its user ends the prompt.
pub(super) fn run(
    args: &SqlArgs,
    stores: Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let mut session = Session::new(args, stores)?.interruptible();
    let mut lines = Terminal::new()?;
    answer(&mut lines, &mut session, &mut Results::new(args, screen, out), err)
}

/// A mistake in a statement is shown, and the next one may be better.
fn answer(
    lines: &mut dyn Lines,
    session: &mut Session,
    results: &mut Results<'_>,
    err: &mut dyn Write,
) -> Result {
    loop {
        results.pause()?;
        let Some(text) = lines.next()? else { return Ok(()) };
        match text.trim().trim_end_matches(';').trim().to_ascii_lowercase().as_str() {
            "quit" | "exit" | "\\q" => return Ok(()),
            "help" | "\\?" => {
                results.plain(HELP)?;
                continue;
            }
            _ => {}
        }
        match run_all(&text, session, results, err) {
            Ok(()) => {}
            Err(Failure::Closed) => return Err(Failure::Closed),
            Err(failure) => {
                failure.report(err);
            }
        }
    }
}

fn run_all(text: &str, session: &mut Session, results: &mut Results<'_>, err: &mut dyn Write) -> Result {
    for statement in statements::parse(text).map_err(|error| error::failure(error, text))? {
        session.run(statement, results, err).map_err(|error| error.failure(text))?;
    }
    Ok(())
}

/// The user's terminal.
struct Terminal {
    editor: Editor<Statements, FileHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    fn new() -> Result<Self> {
        let config = Config::builder().auto_add_history(true).build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Statements));
        let history = history();
        if let Some(file) = &history {
            // There is none before the first time.
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }
}

impl Lines for Terminal {
    fn next(&mut self) -> Result<Option<String>> {
        loop {
            match self.editor.readline(PROMPT) {
                Ok(text) => {
                    if let Some(file) = &self.history {
                        let folder = file.parent().map(std::fs::create_dir_all);
                        // A prompt without a history is better than none.
                        let _ = folder.map(|made| made.map(|()| self.editor.append_history(file)));
                    }
                    return Ok(Some(text));
                }
                Err(ReadlineError::Interrupted) => {}
                Err(ReadlineError::Eof) => return Ok(None),
                Err(error) => return Err(failed(error)),
            }
        }
    }
}

fn failed(error: ReadlineError) -> Failure {
    Failure::Failed(format!("the terminal: {error}"))
}

/// The file of the history, in the user's folder for the state of programs.
fn history() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|path| !path.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| folder("LOCALAPPDATA"));
    let state = state.or_else(|| std::env::home_dir().map(|home| home.join(".local/state")))?;
    Some(state.join("tdb").join("sql_history"))
}

/// Whether what is typed is a whole statement.
struct Statements;

impl Validator for Statements {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let is_whole = is_command(context.input()) || statements::is_complete(context.input());
        Ok(if is_whole { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

impl Completer for Statements {
    type Candidate = String;
}
impl Hinter for Statements {
    type Hint = String;
}
impl Highlighter for Statements {}
impl Helper for Statements {}

/// Words for the prompt itself, which need no semicolon.
fn is_command(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "quit" | "exit" | "help" | "\\q" | "\\?")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::command::{Args, Command};

    struct Typed(Vec<&'static str>);

    impl Lines for Typed {
        fn next(&mut self) -> Result<Option<String>> {
            Ok(if self.0.is_empty() { None } else { Some(self.0.remove(0).to_owned()) })
        }
    }

    fn typed(lines: &[&'static str]) -> (String, String) {
        let parsed = Args::try_parse_from(["tdb", "sql"]).unwrap();
        let Command::Sql(args) = parsed.command else { panic!("not SQL") };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let stores = Stores::new(&parsed.stores).unwrap();
        let mut session = Session::new(&args, stores).unwrap().interruptible();
        let mut results = Results::new(&args, None, &mut out);
        answer(&mut Typed(lines.to_vec()), &mut session, &mut results, &mut err).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_mistake_does_not_end_the_prompt_and_a_table_stays_until_its_end() {
        let (out, err) = typed(&[
            "CREATE TABLE t AS VALUES (1), (2);",
            "SELECT oops FROM t;",
            "SELECT sum(column1) AS s\nFROM t;",
            "quit",
            "SELECT 'never';",
        ]);
        assert_eq!(out, "s\n3\n");
        assert!(err.starts_with("error: ") && err.contains("oops"), "{err}");
        assert!(typed(&["help"]).0.contains("semicolon"));
    }

    #[test]
    fn words_for_the_prompt_need_no_semicolon() {
        assert!(is_command("quit") && is_command(" EXIT ") && !is_command("quit now"));
    }
}
