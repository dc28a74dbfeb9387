//! `cargo xtask conform c-programs --upstream DIR`: programs in C and C++ print the same with
//! libtiledb and with our library in its place.
//!
//! The programs are those of `crates/tdb-capi/tests/programs`, one for each object of the C
//! functions, and the examples of a checkout of TileDB (tag 2.30.0), whose headers all of them are
//! compiled with. Nothing of the checkout is kept. A program runs twice with libtiledb: one that
//! prints something else the second time (times, random names) is not compared.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::capi::{self, LIST};
use super::pytest::{self, Expected};
use crate::{peer, python};

pub(super) const USAGE: &str = "[--upstream DIR] [--only WORD] [--library FILE] [--python 3.13]";

/// Our programs.
const PROGRAMS: &str = "crates/tdb-capi/tests/programs";
/// The examples of a checkout.
const EXAMPLES: [&str; 2] = ["examples/c_api", "examples/cpp_api"];
/// The folders whose headers are installed as `tiledb/…`.
const FLAT: [&str; 2] = ["tiledb/sm/c_api", "tiledb/sm/cpp_api"];
/// The folder whose headers are installed below their own path.
const DEEP: &str = "tiledb/api";
/// The header that upstream's build makes: what marks exported functions.
const EXPORT: (&str, &str) = (
    "tiledb_export.h",
    "#define TILEDB_EXPORT\n#define TILEDB_NO_EXPORT\n#define TILEDB_DEPRECATED\n\
     #define TILEDB_DEPRECATED_EXPORT\n",
);
/// The name by which programs ask for the library.
const SONAME: &str = "libtiledb.so.2.30";
/// The list of programs that differ.
const EXPECTED: &str = "programs.txt";

#[derive(Debug, PartialEq, Eq)]
struct Options {
    upstream: Option<PathBuf>,
    only: Option<String>,
    library: Option<PathBuf>,
    python: String,
}

impl Options {
    fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { upstream: None, only: None, library: None, python: capi::PYTHON.to_owned() };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            let value = args.next().ok_or_else(|| format!("{arg} needs a value: {USAGE}"))?;
            match arg.as_str() {
                "--upstream" => options.upstream = Some(PathBuf::from(value)),
                "--only" => options.only = Some(value.clone()),
                "--library" => options.library = Some(PathBuf::from(value)),
                "--python" => options.python.clone_from(value),
                _ => return Err(format!("unknown argument {arg}: {USAGE}")),
            }
        }
        Ok(options)
    }
}

/// Entry point.
pub(super) fn run(args: &[String]) -> Result<(), String> {
    let options = Options::parse(args)?;
    let Some(upstream) = &options.upstream else {
        println!(
            "skipped: programs in C and C++ need the headers of a checkout of TileDB 2.30.0 (--upstream DIR)"
        );
        return Ok(());
    };
    let root = peer::repository_root()?;
    let folder = python::folder(&root);
    let environment = python::environment(&folder, capi::ENVIRONMENT, &options.python, &capi::TOOLS, &[])?;
    let work = Work::new(&folder.join("c-programs"), upstream)?;
    let genuine = capi::library_of(capi::PACKAGE, &capi::modules(&environment)?)?;
    let genuine = work.place("libtiledb", &genuine)?;
    let own = match &options.library {
        Some(library) => library.clone(),
        None => capi::built(&root)?,
    };
    let own = work.place("tdb", &own)?;
    let expected = Expected::read(&root.join(LIST).join(EXPECTED))?;
    let mut sources = sources(&root.join(PROGRAMS))?;
    for examples in EXAMPLES {
        sources.extend(self::sources(&upstream.join(examples))?);
    }
    let mut table = Table::default();
    for source in &sources {
        let name = name(source);
        if options.only.as_deref().is_none_or(|only| name.contains(only)) {
            let outcome = work.compare(source, &name, &genuine, &own)?;
            table.add(name, outcome, &expected);
        }
    }
    table.finish(&expected, options.only.is_none())
}

/// The name of a program: its file, and the language.
fn name(source: &Path) -> String {
    source.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The files of a folder that are programs.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_source = |path: &PathBuf| path.extension().is_some_and(|end| end == "c" || end == "cc");
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_source).collect();
    found.sort();
    Ok(found)
}

/// The folders in which programs are made and run.
#[derive(Debug)]
struct Work {
    include: PathBuf,
    programs: PathBuf,
    libraries: PathBuf,
    /// Where programs run; each begins with an empty one.
    run: PathBuf,
}

impl Work {
    fn new(folder: &Path, upstream: &Path) -> Result<Self, String> {
        let work = Self {
            include: folder.join("include"),
            programs: folder.join("programs"),
            libraries: folder.join("libraries"),
            run: folder.join("run"),
        };
        pytest::empty_folder(folder)?;
        let flat = work.include.join("tiledb");
        for from in FLAT {
            pytest::copy(&upstream.join(from), &flat)?;
        }
        pytest::copy(&upstream.join(DEEP), &work.include.join(DEEP))?;
        let (file, text) = EXPORT;
        let file = flat.join(file);
        fs::write(&file, text).map_err(|error| format!("{}: {error}", file.display()))?;
        fs::create_dir_all(&work.programs)
            .map_err(|error| format!("{}: {error}", work.programs.display()))?;
        Ok(work)
    }

    /// Puts a library into a folder of its own, under the name that programs ask for.
    fn place(&self, side: &str, library: &Path) -> Result<PathBuf, String> {
        let folder = self.libraries.join(side);
        pytest::empty_folder(&folder)?;
        fs::copy(library, folder.join(SONAME)).map_err(|error| format!("{}: {error}", library.display()))?;
        Ok(folder)
    }

    /// Compiles a program, and runs it with both libraries.
    fn compare(&self, source: &Path, name: &str, genuine: &Path, own: &Path) -> Result<Outcome, String> {
        let program = self.programs.join(name);
        if let Some(why) = self.compile(source, &program, own)? {
            return Ok(Outcome::NotCompiled(why));
        }
        let first = self.print(&program, genuine)?;
        if first != self.print(&program, genuine)? {
            return Ok(Outcome::NotRepeatable);
        }
        let found = self.print(&program, own)?;
        Ok(difference(&first, &found).map_or(Outcome::Equal(first.lines().count()), Outcome::Different))
    }

    /// The first error of the compiler, if there is one.
    fn compile(&self, source: &Path, program: &Path, library: &Path) -> Result<Option<String>, String> {
        let is_c = source.extension().is_some_and(|end| end == "c");
        let mut compiler = Command::new(if is_c { "cc" } else { "c++" });
        if !is_c {
            compiler.arg("-std=c++20");
        }
        // Without it, a program has copies of the library's constants, in memory as ours are:
        // read-only.
        compiler.arg("-fPIC");
        compiler.arg("-w").arg(source).arg("-o").arg(program);
        compiler.arg("-I").arg(&self.include).arg("-I").arg(self.include.join("tiledb"));
        compiler.arg(library.join(SONAME));
        let output = compiler.output().map_err(|error| format!("the C compiler: {error}"))?;
        let text = String::from_utf8_lossy(&output.stderr);
        let error = text.lines().find(|line| line.contains("error")).unwrap_or("it failed");
        Ok((!output.status.success()).then(|| error.to_owned()))
    }

    /// All that a program prints in an empty folder, and how it ends.
    fn print(&self, program: &Path, library: &Path) -> Result<String, String> {
        pytest::empty_folder(&self.run)?;
        let mut command = Command::new("timeout");
        command.arg("60").arg(program).current_dir(&self.run).env("LD_LIBRARY_PATH", library);
        let Output { status, stdout, stderr } =
            command.output().map_err(|error| format!("{}: {error}", program.display()))?;
        let (printed, errors) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        Ok(format!("{printed}\n-- errors\n{errors}\n-- {status}\n"))
    }
}

/// The first line in which two outputs differ.
fn difference(genuine: &str, own: &str) -> Option<String> {
    let (mut genuine, mut own) = (genuine.lines(), own.lines());
    for line in 1.. {
        let (left, right) = (genuine.next(), own.next());
        if left.is_none() && right.is_none() {
            return None;
        }
        if left != right {
            let shown =
                |line: Option<&str>| line.map_or_else(|| "nothing".to_owned(), |line| format!("`{line}`"));
            return Some(format!("line {line}: libtiledb prints {}, tdb {}", shown(left), shown(right)));
        }
    }
    None
}

/// What became of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    /// It prints so many lines with both.
    Equal(usize),
    Different(String),
    NotCompiled(String),
    NotRepeatable,
}

#[derive(Debug, Default)]
struct Table {
    rows: Vec<(String, Outcome)>,
    wrong: Vec<String>,
}

impl Table {
    fn add(&mut self, name: String, outcome: Outcome, expected: &Expected) {
        let text = match &outcome {
            Outcome::Equal(lines) => format!("equal ({lines} lines)"),
            Outcome::Different(how) => how.clone(),
            Outcome::NotCompiled(why) => format!("not compiled: {why}"),
            Outcome::NotRepeatable => "not compared: libtiledb prints something else each time".to_owned(),
        };
        println!("{name:<40} {text}");
        match (&outcome, expected.is_expected(&name)) {
            (Outcome::Equal(_), true) => self.wrong.push(format!("is equal, but is listed: {name}")),
            (Outcome::Different(how), false) => self.wrong.push(format!("{name}: {how}")),
            _ => {}
        }
        self.rows.push((name, outcome));
    }

    /// Prints the counts, and fails if anything is not as expected.
    fn finish(mut self, expected: &Expected, whole: bool) -> Result<(), String> {
        let count = |is: fn(&Outcome) -> bool| self.rows.iter().filter(|(_, outcome)| is(outcome)).count();
        println!(
            "{} programs: {} equal, {} different, {} not compiled, {} not compared",
            self.rows.len(),
            count(|outcome| matches!(outcome, Outcome::Equal(_))),
            count(|outcome| matches!(outcome, Outcome::Different(_))),
            count(|outcome| matches!(outcome, Outcome::NotCompiled(_))),
            count(|outcome| matches!(outcome, Outcome::NotRepeatable)),
        );
        if whole {
            let names = self.rows.iter().map(|(name, _)| name.as_str());
            let gone = expected.without(names);
            self.wrong.extend(gone.into_iter().map(|name| format!("is listed, but does not exist: {name}")));
        }
        if self.wrong.is_empty() { Ok(()) } else { Err(self.wrong.join("\n")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_name_a_checkout() {
        let options = Options::parse(&super::super::words("--upstream x --only vfs")).unwrap();
        assert_eq!(options.upstream.as_deref(), Some(Path::new("x")));
        assert_eq!(options.only.as_deref(), Some("vfs"));
        assert!(Options::parse(&super::super::words("--headers x")).is_err());
    }

    #[test]
    fn the_first_line_that_differs_is_told() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb", "a\nc").unwrap(), "line 2: libtiledb prints `b`, tdb `c`");
        assert_eq!(difference("a", "a\nb").unwrap(), "line 2: libtiledb prints nothing, tdb `b`");
    }

    #[test]
    fn a_program_that_differs_must_be_listed_and_one_that_does_not_may_not() {
        let wrong = |listed: &str| {
            let (mut table, expected) = (Table::default(), Expected::parse(listed).unwrap());
            table.add("a.c".to_owned(), Outcome::Different("how".to_owned()), &expected);
            table.add("b.c".to_owned(), Outcome::Equal(3), &expected);
            table.finish(&expected, true)
        };
        assert_eq!(wrong(""), Err("a.c: how".to_owned()));
        assert_eq!(wrong("== why\na.c"), Ok(()));
        let told = wrong("== why\na.c\nb.c\nc.c").unwrap_err();
        assert_eq!(told, "is equal, but is listed: b.c\nis listed, but does not exist: c.c");
    }
}
