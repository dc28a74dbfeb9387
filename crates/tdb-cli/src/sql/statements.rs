//! Statements: where each one ends. DataFusion's parser says so, not a search for semicolons.

use tdb_datafusion::Result;
use tdb_datafusion::datafusion::common::plan_err;
use tdb_datafusion::datafusion::sql::parser::{DFParser, DFParserBuilder, Statement};
use tdb_datafusion::datafusion::sql::sqlparser::ast::{self, ObjectName};
use tdb_datafusion::datafusion::sql::sqlparser::dialect::GenericDialect;
use tdb_datafusion::datafusion::sql::sqlparser::keywords::Keyword;
use tdb_datafusion::datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer};

/// A statement of a text.
#[derive(Clone, Debug)]
pub(super) enum SqlStatement {
    /// One of DataFusion.
    Plain(Statement),
    /// `SUMMARIZE` of the rows of a query.
    Summarize(Statement),
}

/// The statements of a text. All of it is parsed before any of it is run, so a slip at the end
/// changes nothing.
pub(super) fn parse(text: &str) -> Result<Vec<SqlStatement>> {
    let mut parser = DFParserBuilder::new(text).with_dialect(&GenericDialect {}).build()?;
    let mut statements = Vec::new();
    loop {
        let mut is_separated = statements.is_empty();
        while parser.parser.consume_token(&Token::SemiColon) {
            is_separated = true;
        }
        let next = parser.parser.peek_token();
        if next.token == Token::EOF {
            return Ok(statements);
        }
        if !is_separated {
            return Ok(parser.parser.expected("end of statement", next)?);
        }
        let summarizes = matches!(
            &next.token,
            Token::Word(word) if word.quote_style.is_none() && word.value.eq_ignore_ascii_case("SUMMARIZE")
        );
        statements.push(match summarizes {
            true => SqlStatement::Summarize(summarized(&mut parser)?),
            false => SqlStatement::Plain(parser.parse_statement()?),
        });
    }
}

/// The query behind `SUMMARIZE`, which may also be the name of a table.
fn summarized(parser: &mut DFParser<'_>) -> Result<Statement> {
    parser.parser.next_token();
    let next = parser.parser.peek_token().token;
    let begins_query = match &next {
        Token::LParen => true,
        Token::Word(word) => {
            matches!(word.keyword, Keyword::SELECT | Keyword::WITH | Keyword::FROM | Keyword::VALUES)
        }
        _ => false,
    };
    if begins_query {
        let query = parser.parser.parse_query()?;
        return Ok(Statement::Statement(Box::new(ast::Statement::Query(query))));
    }
    whole_table(&parser.parser.parse_object_name(true)?)
}

/// The query of all rows of a table.
pub(super) fn whole_table(name: &ObjectName) -> Result<Statement> {
    query(&format!("SELECT * FROM {name}"))
}

/// A text that is one query.
pub(super) fn query(text: &str) -> Result<Statement> {
    match parse(text)?.into_iter().next() {
        Some(SqlStatement::Plain(query)) => Ok(query),
        _ => plan_err!("a query is expected"),
    }
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
        let count = |text: &str| parse(text).map(|found| found.len());
        assert_eq!(count("SELECT ';' ; ; SELECT 2 -- ;\n;").unwrap(), 2);
        assert_eq!(count("-- nothing\n;").unwrap(), 0);
        assert!(count("SELECT 1 SELECT 2").is_err());
    }

    #[test]
    fn a_summary_is_of_a_table_or_of_a_query() {
        for (text, query) in [
            ("SUMMARIZE t", "SELECT * FROM t"),
            ("summarize 'a b';", "SELECT * FROM 'a b'"),
            ("SUMMARIZE SELECT a FROM t WHERE a > 1", "SELECT a FROM t WHERE a > 1"),
            ("SUMMARIZE (SELECT 1)", "(SELECT 1)"),
        ] {
            let parsed = parse(text).unwrap();
            let [SqlStatement::Summarize(found)] = parsed.as_slice() else { panic!("{parsed:?}") };
            assert_eq!(found.to_string(), query, "{text}");
        }
        assert!(parse("SUMMARIZE").is_err() && parse("SUMMARIZE t u").is_err());
        assert!(matches!(parse("SELECT summarize FROM t").unwrap()[..], [SqlStatement::Plain(_)]));
    }
}
