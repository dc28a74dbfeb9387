//! Sources in which each mutant sits behind its number.
//!
//! A function with mutants gets a copy of its body for each: `if is(1) { … } else if is(2) { … }
//! else { the body }`. So a mutant is the very text that cargo-mutants would make, whatever it
//! changes, and one build serves all of them.

use std::fmt::Write as _;
use std::ops::Range;

use super::mutant::{Mutant, Place};
use crate::check::tokens::tokenize;

/// The number of a mutant; 0 is none of them.
pub(super) type Number = usize;

/// What the copies of a body contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Copies {
    /// The mutants.
    Mutants,
    /// An error each: where there is none, the build leaves the code out.
    Errors,
}

/// A file with mutants behind their numbers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Switched {
    pub(super) text: String,
    /// The bytes of `text` that are a mutant's copy.
    pub(super) copies: Vec<(Range<usize>, Number)>,
    /// The bytes of `text` that are a body with all copies, and which these are.
    pub(super) bodies: Vec<(Range<usize>, Vec<Number>)>,
}

/// A body between its braces, in the file as it was.
#[derive(Debug)]
struct Body<'a> {
    range: Range<usize>,
    mutants: Vec<(Number, &'a Mutant)>,
}

/// Puts the mutants of a file behind their numbers. All of them must be in functions.
pub(super) fn switched(
    text: &str,
    mutants: &[(Number, &Mutant)],
    copies: Copies,
) -> Result<Switched, String> {
    let mut bodies: Vec<Body<'_>> = Vec::new();
    for (number, mutant) in mutants {
        let lost = || format!("{}: its function is not where the list says", mutant.name);
        let function = mutant.function.as_ref().ok_or_else(lost)?;
        let range = body(text, function.place).ok_or_else(lost)?;
        match bodies.iter_mut().find(|body| body.range == range) {
            Some(body) => body.mutants.push((*number, mutant)),
            None => bodies.push(Body { range, mutants: vec![(*number, mutant)] }),
        }
    }
    bodies.sort_by_key(|body| body.range.start);
    let mut out = Switched::default();
    write(text, 0..text.len(), &bodies, copies, &mut out)?;
    Ok(out)
}

/// Writes a part of the file; `bodies` are those in it, outer ones before inner ones.
fn write(
    text: &str,
    range: Range<usize>,
    bodies: &[Body<'_>],
    copies: Copies,
    out: &mut Switched,
) -> Result<(), String> {
    let mut at = range.start;
    let mut rest = bodies;
    while let Some((body, later)) = rest.split_first() {
        let inner = later.iter().take_while(|inner| inner.range.start < body.range.end).count();
        let (inner, later) = later.split_at_checked(inner).unwrap_or((later, &[]));
        out.text.push_str(text.get(at..body.range.start).unwrap_or_default());
        let start = out.text.len();
        for (number, mutant) in &body.mutants {
            // A write to a string cannot fail.
            let _ = write!(out.text, " if crate::chosen_mutant::is({number}) {{");
            let start = out.text.len();
            match copies {
                Copies::Errors => out.text.push_str("compile_error!(\"\")"),
                Copies::Mutants => out.text.push_str(&mutated(text, &body.range, mutant)?),
            }
            out.copies.push((start..out.text.len(), *number));
            // The body may end with a comment.
            out.text.push_str("\n} else");
        }
        out.text.push_str(" {");
        write(text, body.range.clone(), inner, copies, out)?;
        out.text.push_str("\n}");
        out.bodies.push((start..out.text.len(), body.mutants.iter().map(|(number, _)| *number).collect()));
        at = body.range.end;
        rest = later;
    }
    out.text.push_str(text.get(at..range.end).unwrap_or_default());
    Ok(())
}

/// A body with the change of a mutant.
fn mutated(text: &str, body: &Range<usize>, mutant: &Mutant) -> Result<String, String> {
    let parts = offsets(text, mutant.place)
        .and_then(|change| Some((text.get(body.start..change.start)?, text.get(change.end..body.end)?)));
    let (before, after) = parts.ok_or_else(|| format!("{}: not in its function", mutant.name))?;
    Ok(format!("{before}{} {after}", mutant.replacement))
}

/// What is between the braces of the function at a place.
fn body(text: &str, function: Place) -> Option<Range<usize>> {
    let range = offsets(text, function)?;
    let code = text.get(range.clone())?;
    let mut depth = 0usize;
    // A brace in the head of a function is inside of brackets, or it has its end before the body.
    let mut opened = None;
    for token in tokenize(code) {
        let at = token.text.as_ptr().addr().checked_sub(code.as_ptr().addr())?;
        match token.text {
            "(" | "[" | "{" => {
                if depth == 0 && token.text == "{" {
                    opened = Some(at.saturating_add(1));
                }
                depth = depth.saturating_add(1);
            }
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    let end = code.strip_suffix('}')?.len();
    Some(range.start.saturating_add(opened?)..range.start.saturating_add(end))
}

/// The bytes of a place.
fn offsets(text: &str, place: Place) -> Option<Range<usize>> {
    let offset = |(line, column): (usize, usize)| {
        let mut start = 0usize;
        let mut lines = text.split_inclusive('\n');
        for _ in 1..line {
            start = start.saturating_add(lines.next()?.len());
        }
        let line = lines.next().unwrap_or_default();
        let column = column.checked_sub(1)?;
        let within = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(column)?;
        Some(start.saturating_add(within))
    };
    let range = offset(place.start)?..offset(place.end)?;
    (range.start <= range.end).then_some(range)
}

/// The end of `lib.rs` of a crate with mutants. The environment chooses the mutant
/// (`TDB_MUTANT`) and may ask for the numbers of those that were reached
/// (`TDB_MUTANTS_REACHED`). Functions may be `const`, so nothing more than a plain read and
/// write of memory is allowed; the value of a constant cannot be chosen, and is an error.
pub(super) fn runtime(count: usize) -> String {
    RUNTIME.replace("COUNT", &count.saturating_add(1).to_string())
}

const RUNTIME: &str = r#"
#[allow(warnings, unsafe_code)]
mod chosen_mutant {
    static mut CHOSEN: usize = 0;
    static mut REACHED: [bool; COUNT] = [false; COUNT];

    #[inline]
    pub(crate) const fn is(number: usize) -> bool {
        unsafe {
            REACHED[number] = true;
            CHOSEN == number
        }
    }

    extern "C" fn begin() {
        let chosen = std::env::var("TDB_MUTANT").ok().and_then(|number| number.parse().ok());
        unsafe { CHOSEN = chosen.unwrap_or(0) };
    }

    extern "C" fn end() {
        use std::io::Write as _;
        let Some(path) = std::env::var_os("TDB_MUTANTS_REACHED") else { return };
        let mut text = String::new();
        for number in 0..COUNT {
            if unsafe { REACHED[number] } {
                text.push_str(&format!("{number}\n"));
            }
        }
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| file.write_all(text.as_bytes())).expect("the list of mutants");
    }

    #[cfg(not(target_os = "linux"))]
    compile_error!("mutants are chosen before `main` on Linux only");
    #[used]
    #[unsafe(link_section = ".init_array")]
    static BEGIN: extern "C" fn() = begin;
    #[used]
    #[unsafe(link_section = ".fini_array")]
    static END: extern "C" fn() = end;
}
"#;

#[cfg(test)]
mod tests {
    use super::super::mutant::Function;
    use super::*;

    /// A mutant of `what`, which occurs once, in the function from `start` to its end.
    fn mutant(text: &str, start: &str, end: &str, what: &str, replacement: &str) -> Mutant {
        let position = |offset: usize| {
            let before = &text[..offset];
            let line = before.matches('\n').count();
            (line + 1, before.rsplit('\n').next().unwrap().chars().count() + 1)
        };
        let place = |from: usize, len: usize| Place { start: position(from), end: position(from + len) };
        let from = text.find(start).unwrap();
        let len = text[from..].find(end).unwrap() + end.len();
        Mutant {
            name: "m".into(),
            package: "p".into(),
            file: "f".into(),
            place: place(text.find(what).unwrap(), what.len()),
            replacement: replacement.into(),
            function: Some(Function { place: place(from, len), returns: String::new() }),
        }
    }

    const TEXT: &str = "/// é {\n#[inline]\nconst fn f<'a>(x: [u8; { 3 }]) -> u8 {\n    x + 1 // {\n}\n\
                        fn g() {\n    fn h() { '{' == c }\n    h()\n}\n";

    #[test]
    fn each_mutant_is_a_copy_of_the_body_behind_its_number() {
        let plus = mutant(TEXT, "/// é", "\n}", "+", "-");
        let all = mutant(TEXT, "/// é", "\n}", "x + 1", "0");
        let found = switched(TEXT, &[(1, &plus), (7, &all)], Copies::Mutants).unwrap();
        let expected = "u8 { if crate::chosen_mutant::is(1) {\n    x -  1 // {\n\n} else \
                        if crate::chosen_mutant::is(7) {\n    0  // {\n\n} else {\n    x + 1 // {\n\n}}\nfn g";
        assert!(found.text.contains(expected), "{}", found.text);
        let copies: Vec<&str> = found.copies.iter().map(|(range, _)| &found.text[range.clone()]).collect();
        assert_eq!(copies, ["\n    x -  1 // {\n", "\n    0  // {\n"]);
        assert_eq!(found.bodies.iter().map(|(_, numbers)| numbers.clone()).collect::<Vec<_>>(), [[1, 7]]);
        let errors = switched(TEXT, &[(1, &plus)], Copies::Errors).unwrap();
        assert!(errors.text.contains("is(1) {compile_error!(\"\")\n} else {\n    x + 1"), "{}", errors.text);
    }

    #[test]
    fn a_function_in_a_function_has_its_copies_in_the_unchanged_body_alone() {
        let (outer, inner) =
            (mutant(TEXT, "fn g", "\n}", "\n    h()", ""), mutant(TEXT, "fn h", "c }", "==", "!="));
        let found = switched(TEXT, &[(1, &inner), (2, &outer)], Copies::Mutants).unwrap();
        let expected = "fn g() { if crate::chosen_mutant::is(2) {\n    fn h() { '{' == c } \n\n} else {\n    \
                        fn h() { if crate::chosen_mutant::is(1) { '{' !=  c \n} else { '{' == c \n}}\n    h()\n\n}}";
        assert!(found.text.contains(expected), "{}", found.text);
    }

    #[test]
    fn a_place_outside_of_its_function_and_one_without_a_function_are_refused() {
        let mut wrong = mutant(TEXT, "fn h", "c }", "x + 1", "0");
        assert!(switched(TEXT, &[(1, &wrong)], Copies::Mutants).is_err());
        wrong.function = None;
        assert!(switched(TEXT, &[(1, &wrong)], Copies::Mutants).is_err());
    }
}
