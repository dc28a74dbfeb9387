//! The prompt: statements over several lines until a semicolon, with a history, and commands of its
//! own.

mod complete;
mod meta;

use std::io::Write;
use std::path::PathBuf;
use std::time::Instant;

use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{CompletionType, Config, Editor};

pub(super) use self::complete::Names;
use self::complete::Words;
use self::meta::{HELP, Meta};
use super::formats::Results;
use super::session::Session;
use super::{SqlArgs, error, statements};
use crate::failure::{Failure, Result};
use crate::place::Stores;
use crate::screen::Screen;

const PROMPT: &str = "tdb> ";
/// The prompt of the further lines of a statement.
const CONTINUATION: &str = " ..> ";

/// A source of lines.
trait Lines {
    /// The next line; `None` at the end of the input, and an empty one where the user gave up what
    /// was typed. `names` are those that can be completed.
    fn next(&mut self, is_first: bool, names: &dyn Fn() -> Names) -> Result<Typed>;

    /// Remembers a text.
    fn remember(&mut self, text: &str);
}

/// What was typed.
enum Typed {
    Line(String),
    /// The statement that was begun is given up.
    Interrupted,
    End,
}

/// Runs statements from a terminal until its user ends the prompt.
pub(super) fn run(
    args: &SqlArgs,
    stores: Stores,
    screen: Option<Screen>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> Result {
    let session = Session::new(args, stores)?.interruptible()?;
    let mut lines = Terminal::new()?;
    let mut results = Results::new(args, screen, out)?;
    let mut prompt = Prompt { session, timer: false };
    prompt.answer(&mut lines, &mut results, err)?;
    results.finish()
}

/// A session with a prompt.
struct Prompt {
    session: Session,
    /// Whether it is said how long statements take.
    timer: bool,
}

impl Prompt {
    /// A mistake in a statement is shown, and the next one may be better.
    fn answer(&mut self, lines: &mut dyn Lines, results: &mut Results<'_>, err: &mut dyn Write) -> Result {
        loop {
            results.pause()?;
            let Some(text) = self.text(lines)? else { return Ok(()) };
            let done = match meta::parse(&text) {
                Some(Meta::Quit) => return Ok(()),
                Some(command) => self.command(command, results, err),
                None => self.run_all(&text, results, err),
            };
            match done {
                Ok(()) => {}
                Err(Failure::Closed) => return Err(Failure::Closed),
                Err(failure) => {
                    failure.report(err);
                }
            }
        }
    }

    /// The next text that ends where a statement ends, or is a command.
    fn text(&self, lines: &mut dyn Lines) -> Result<Option<String>> {
        let mut text = String::new();
        loop {
            let is_first = text.trim().is_empty();
            match lines.next(is_first, &|| self.session.names())? {
                Typed::End => return Ok(None),
                Typed::Interrupted => text.clear(),
                Typed::Line(line) => {
                    if !is_first {
                        text.push('\n');
                    }
                    text.push_str(&line);
                    let is_whole = is_first && meta::parse(&text).is_some();
                    if !text.trim().is_empty() && (is_whole || statements::is_complete(&text)) {
                        lines.remember(&text);
                        return Ok(Some(text));
                    }
                }
            }
        }
    }

    fn command(&mut self, command: Meta, results: &mut Results<'_>, err: &mut dyn Write) -> Result {
        match command {
            Meta::Quit => Ok(()),
            Meta::Help => results.plain(HELP),
            Meta::Tables => self.run_all("SHOW TABLES", results, err),
            Meta::Describe(name) => self.run_all(&format!("DESCRIBE {name}"), results, err),
            Meta::Mode(format) => {
                results.set_format(format);
                Ok(())
            }
            Meta::All(all) => {
                results.set_all(all);
                Ok(())
            }
            Meta::Timer(timer) => {
                self.timer = timer;
                Ok(())
            }
            Meta::Read(file) => {
                let text = std::fs::read_to_string(&file).map_err(|error| Failure::at(&file, error))?;
                self.run_all(&text, results, err)
            }
            Meta::Wrong(why) => Err(Failure::Usage(why)),
        }
    }

    fn run_all(&mut self, text: &str, results: &mut Results<'_>, err: &mut dyn Write) -> Result {
        for statement in statements::parse(text).map_err(|error| error::failure(error, text))? {
            let begun = Instant::now();
            self.session.run(statement, results, err).map_err(|error| error.failure(text))?;
            if self.timer {
                results.pause()?;
                // If standard error is closed, the rest is shown nevertheless.
                let _ = writeln!(err, "{:.3} s", begun.elapsed().as_secs_f64());
            }
        }
        Ok(())
    }
}

/// The user's terminal.
struct Terminal {
    editor: Editor<Words, FileHistory>,
    history: Option<PathBuf>,
}

impl Terminal {
    fn new() -> Result<Self> {
        let config = Config::builder().completion_type(CompletionType::List).build();
        let mut editor = Editor::with_config(config).map_err(failed)?;
        editor.set_helper(Some(Words::new()));
        let history = history();
        if let Some(file) = &history {
            // There is none before the first time.
            let _ = editor.load_history(file);
        }
        Ok(Self { editor, history })
    }
}

impl Lines for Terminal {
    fn next(&mut self, is_first: bool, names: &dyn Fn() -> Names) -> Result<Typed> {
        if let Some(words) = self.editor.helper_mut().filter(|_| is_first) {
            words.names = names();
        }
        match self.editor.readline(if is_first { PROMPT } else { CONTINUATION }) {
            Ok(line) => Ok(Typed::Line(line)),
            Err(ReadlineError::Interrupted) => Ok(Typed::Interrupted),
            Err(ReadlineError::Eof) => Ok(Typed::End),
            Err(error) => Err(failed(error)),
        }
    }

    /// A prompt without a history is better than none.
    fn remember(&mut self, text: &str) {
        let _ = self.editor.add_history_entry(text);
        if let Some(file) = &self.history {
            let folder = file.parent().map(std::fs::create_dir_all);
            let _ = folder.map(|made| made.map(|()| self.editor.append_history(file)));
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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::command::{Args, Command};

    /// Lines that were typed before; `^C` interrupts.
    struct Script(Vec<&'static str>, Vec<String>);

    impl Lines for Script {
        fn next(&mut self, _: bool, _: &dyn Fn() -> Names) -> Result<Typed> {
            if self.0.is_empty() {
                return Ok(Typed::End);
            }
            Ok(match self.0.remove(0) {
                "^C" => Typed::Interrupted,
                line => Typed::Line(line.to_owned()),
            })
        }

        fn remember(&mut self, text: &str) {
            self.1.push(text.to_owned());
        }
    }

    fn typed(lines: &[&'static str]) -> (String, String, Vec<String>) {
        let parsed = Args::try_parse_from(["tdb", "sql"]).unwrap();
        let Command::Sql(args) = parsed.command else { panic!("not SQL") };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let stores = Stores::new(&parsed.stores).unwrap();
        let session = Session::new(&args, stores).unwrap().interruptible().unwrap();
        let mut results = Results::new(&args, None, &mut out).unwrap();
        let mut script = Script(lines.to_vec(), Vec::new());
        Prompt { session, timer: false }.answer(&mut script, &mut results, &mut err).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap(), script.1)
    }

    #[test]
    fn a_mistake_does_not_end_the_prompt_and_a_table_stays_until_its_end() {
        let (out, err, _) = typed(&[
            "CREATE TABLE t AS VALUES (1), (2);",
            "SELECT oops FROM t;",
            "SELECT sum(column1) AS s",
            "FROM t;",
            "quit",
            "SELECT 'never';",
        ]);
        assert_eq!(out, "s\n3\n");
        assert!(
            err.starts_with("note: table t is in memory") && err.contains("error: ") && err.contains("oops"),
            "{err}"
        );
        assert!(typed(&["help"]).0.contains("semicolon"));
    }

    #[test]
    fn a_statement_that_is_given_up_leaves_nothing_and_lines_are_remembered_together() {
        let (out, err, remembered) = typed(&["SELECT 'lost'", "^C", "SELECT", "", "  1 AS a;", ".nothing"]);
        assert_eq!(out, "a\n1\n");
        assert!(err.contains(".nothing is no command"), "{err}");
        assert_eq!(remembered, ["SELECT\n\n  1 AS a;", ".nothing"]);
    }

    #[test]
    fn commands_list_tables_choose_formats_and_say_times() {
        let (out, err, _) = typed(&[
            "CREATE TABLE t (a INT);",
            ".tables",
            "\\d t",
            ".mode ndjson",
            ".timer on",
            "SELECT 1 AS a;",
            ".timer off",
            ".mode xml",
        ]);
        assert!(
            out.contains("t,table\n") && out.contains("a,Int32,YES") && out.ends_with("{\"a\":1}\n"),
            "{out}"
        );
        assert!(err.contains(" s\n") && err.contains(".mode needs table"), "{err}");
    }
}
