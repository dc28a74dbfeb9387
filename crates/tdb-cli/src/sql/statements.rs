//! Statements: where each one ends. DataFusion's parser says so, not a search for semicolons.

use tdb_datafusion::Result;
use tdb_datafusion::datafusion::sql::parser::{DFParserBuilder, Statement};
use tdb_datafusion::datafusion::sql::sqlparser::dialect::GenericDialect;
use tdb_datafusion::datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// The statements of a text. All of it is parsed before any of it is run, so a slip at the end
/// changes nothing.
pub(super) fn parse(text: &str) -> Result<impl IntoIterator<Item = Statement> + use<>> {
    DFParserBuilder::new(text).with_dialect(&GenericDialect {}).build()?.parse_statements()
}

/// Whether a text ends where a statement ends: a prompt asks for another line until it does.
pub(super) fn is_complete(text: &str) -> bool {
    match Tokenizer::new(&GenericDialect {}, text).tokenize() {
        Ok(tokens) => {
            let last = tokens.iter().rev().find(|token| !matches!(token, Token::Whitespace(_)));
            last.is_none_or(|last| *last == Token::SemiColon)
        }
        // Inside quotes or a comment there is more to come. What can never be a statement is for
        // the parser to refuse.
        Err(error) => !error.message.starts_with("Unterminated") && !error.message.contains("EOF"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_statement_ends_at_a_semicolon_outside_of_quotes_and_comments() {
        for text in ["SELECT 1;", "SELECT ';';  ", "SELECT 1; -- one\n", "", "  ", "SELECT 1; /* one */"] {
            assert!(is_complete(text), "{text}");
        }
        for text in ["SELECT", "SELECT ';", "SELECT \";", "SELECT 1 -- one;", "SELECT 1; SELECT 2", "/* ;"] {
            assert!(!is_complete(text), "{text}");
        }
    }

    #[test]
    fn statements_are_split_where_the_parser_sees_their_ends() {
        let count = |text: &str| parse(text).map(|found| found.into_iter().count());
        assert_eq!(count("SELECT ';' ; ; SELECT 2 -- ;\n;").unwrap(), 2);
        assert_eq!(count("-- nothing\n;").unwrap(), 0);
        assert!(count("SELECT 1 SELECT 2").is_err());
    }
}
