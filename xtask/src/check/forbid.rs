//! Every library forbids unsafe code.

use super::tokens::Token;
use super::{Violation, matches};

/// Looks for the attribute in the tokens of a `lib.rs`.
pub(super) fn check(file: &str, tokens: &[Token<'_>]) -> Option<Violation> {
    let attribute = ["#", "!", "[", "forbid", "(", "unsafe_code", ")", "]"];
    let found = (0..tokens.len()).any(|at| matches(tokens, at, &attribute));
    (!found).then(|| Violation::new(file, 1, "#![forbid(unsafe_code)] is missing"))
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokenize;
    use super::*;

    #[test]
    fn a_library_without_the_attribute_is_refused_even_if_a_comment_has_it() {
        assert_eq!(check("lib.rs", &tokenize("#![forbid(unsafe_code)]\nmod a;")), None);
        let violation = check("lib.rs", &tokenize("// #![forbid(unsafe_code)]\nmod a;")).unwrap();
        assert_eq!((violation.file.as_str(), violation.line), ("lib.rs", 1));
    }
}
