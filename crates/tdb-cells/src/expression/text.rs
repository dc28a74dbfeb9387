//! Parses the text form of conditions: a recursive-descent parser that recurses only at
//! parentheses.

use tdb_fragment::Comparison;

use super::numbers::{number, special_float};
use super::tokens::{Parser, Token, begins_word, continues_word};
use super::{
    ConditionError, ConditionErrorKind as Kind, Operand, Pattern, Place, Predicate, Tree, flattened, negate,
};

/// The longest text that is accepted, in bytes.
const MAX_BYTES: usize = 1 << 20;
/// The deepest nesting of parentheses: the parser and everything after it recurse, and a text must
/// not exhaust the stack.
const MAX_DEPTH: usize = 64;

/// Words that must be quoted when they are names.
const KEYWORDS: [&str; 8] = ["and", "or", "not", "in", "is", "null", "true", "false"];

type Result<T> = core::result::Result<T, ConditionError>;

/// Parses a condition.
pub(super) fn parse(text: &str) -> Result<Tree> {
    check_len(text)?;
    let mut parser = Parser::new(text)?;
    let tree = parser.alternatives()?;
    match parser.token {
        Token::End => Ok(tree),
        _ => Err(parser.expected("\"and\", \"or\" or the end")),
    }
}

/// A function's name with an optional field in parentheses, as an item of a list.
pub(super) struct Call {
    pub function: String,
    pub field: Option<String>,
    pub place: Place,
}

impl Call {
    /// The error for something else that is expected in place of the function.
    pub(crate) fn expected(&self, what: &'static str) -> ConditionError {
        ConditionError::at(self.place, Kind::Expected { what, found: shown(&self.function) })
    }
}

/// Parses a list such as `sum(v), count`; `f`, `f()` and `f(*)` have no field.
pub(super) fn parse_calls(text: &str) -> Result<Vec<Call>> {
    check_len(text)?;
    let mut parser = Parser::new(text)?;
    let mut calls = Vec::new();
    loop {
        let place = parser.place;
        let Token::Word(function) = parser.token else {
            return Err(parser.expected("the name of an aggregate"));
        };
        parser.advance()?;
        let mut field = None;
        if parser.token == Token::Open {
            parser.advance()?;
            match parser.token {
                Token::Star => parser.advance()?,
                Token::Close => {}
                _ => field = Some(parser.name()?),
            }
            parser.close("\")\"")?;
        }
        calls.push(Call { function: function.to_owned(), field, place });
        match parser.token {
            Token::End => return Ok(calls),
            Token::Comma => parser.advance()?,
            _ => return Err(parser.expected("\",\" or the end")),
        }
    }
}

fn check_len(text: &str) -> Result<()> {
    let (len, max) = (text.len(), MAX_BYTES);
    if len > max { Err(ConditionError::at(Place(Some((0, 1))), Kind::TooLong { len, max })) } else { Ok(()) }
}

/// Whether a name can be written without quotes.
pub(super) fn is_plain_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(begins_word)
        && chars.all(continues_word)
        && !KEYWORDS.iter().any(|keyword| name.eq_ignore_ascii_case(keyword))
        // Names of special reals are words only where a value is expected; unquoted names like
        // these would be confusing.
        && special_float(name).is_none()
}

impl Parser<'_> {
    /// `or` has the lowest precedence.
    fn alternatives(&mut self) -> Result<Tree> {
        self.joined("or", Tree::Or, |parser| parser.joined("and", Tree::And, Self::factor))
    }

    fn joined(
        &mut self,
        word: &str,
        make: fn(Vec<Tree>) -> Tree,
        part: impl Fn(&mut Self) -> Result<Tree>,
    ) -> Result<Tree> {
        let first = part(self)?;
        if !self.at_word(word) {
            return Ok(first);
        }
        let mut list = flattened(first, make);
        while self.at_word(word) {
            self.advance()?;
            list.extend(flattened(part(self)?, make));
        }
        Ok(make(list))
    }

    /// A comparison or a parenthesis, negated any number of times.
    fn factor(&mut self) -> Result<Tree> {
        let mut negated = false;
        while self.at_word("not") {
            self.advance()?;
            negated = !negated;
        }
        let tree = match self.token {
            Token::Open => {
                if self.depth >= MAX_DEPTH {
                    return Err(ConditionError::at(self.place, Kind::TooDeep { max: MAX_DEPTH }));
                }
                self.depth += 1;
                self.advance()?;
                let tree = self.alternatives()?;
                self.close("\"and\", \"or\" or \")\"")?;
                self.depth -= 1;
                tree
            }
            _ => self.test()?,
        };
        Ok(if negated { negate(tree) } else { tree })
    }

    fn test(&mut self) -> Result<Tree> {
        let place = self.place;
        let name = self.name()?;
        let compare = |name, comparison, operand| {
            let predicate = Predicate::Compare { comparison, operands: vec![operand] };
            Tree::Test { name, place, predicate }
        };
        let predicate = match self.token {
            Token::Sign(comparison) => {
                self.advance()?;
                Predicate::Compare { comparison, operands: vec![self.value()?] }
            }
            _ if self.at_word("is") => {
                self.advance()?;
                let is = !self.take_word("not")?;
                if self.take_word("null")? {
                    Predicate::Null { is }
                } else if self.take_word("nan")? {
                    Predicate::Nan { is }
                } else {
                    let what = if is { "\"null\", \"nan\" or \"not\"" } else { "\"null\" or \"nan\"" };
                    return Err(self.expected(what));
                }
            }
            _ => {
                let not = self.take_word("not")?;
                if self.take_word("like")? {
                    Predicate::Like { pattern: self.pattern()?, is: !not }
                } else if self.take_word("between")? {
                    let low = self.value()?;
                    if !self.take_word("and")? {
                        return Err(self.expected("\"and\", and the greatest value,"));
                    }
                    let high = self.value()?;
                    let low = compare(name.clone(), Comparison::GreaterOrEqual, low);
                    let both = Tree::And(vec![low, compare(name, Comparison::LessOrEqual, high)]);
                    return Ok(if not { negate(both) } else { both });
                } else if self.take_word("in")? {
                    let comparison = if not { Comparison::NotIn } else { Comparison::In };
                    Predicate::Compare { comparison, operands: self.list()? }
                } else if not {
                    return Err(self.expected("\"in\", \"like\" or \"between\""));
                } else {
                    return Err(self.expected("an operator (=, !=, <, <=, >, >=, in, like, between or is)"));
                }
            }
        };
        Ok(Tree::Test { name, place, predicate })
    }

    /// The name of a field.
    fn name(&mut self) -> Result<String> {
        let name = match &self.token {
            Token::Word(word) if !is_keyword(word) => (*word).to_owned(),
            Token::Quoted(bytes) => {
                String::from_utf8(bytes.clone()).map_err(|_| ConditionError::at(self.place, Kind::Name))?
            }
            _ => return Err(self.expected("the name of a field")),
        };
        self.advance()?;
        Ok(name)
    }

    /// A pattern, which is a string.
    fn pattern(&mut self) -> Result<Pattern> {
        let Token::Quoted(text) = &self.token else {
            return Err(self.expected("a pattern in quotes, such as 'JF%',"));
        };
        let pattern = Pattern::new(text.clone());
        self.advance()?;
        Ok(pattern)
    }

    fn list(&mut self) -> Result<Vec<(Operand, Place)>> {
        if self.token != Token::Open {
            return Err(self.expected("\"(\" and a list of values"));
        }
        self.advance()?;
        let mut operands = Vec::new();
        if self.token != Token::Close {
            operands.push(self.value()?);
            while self.token == Token::Comma {
                self.advance()?;
                operands.push(self.value()?);
            }
        }
        self.close("\",\" or \")\"")?;
        Ok(operands)
    }

    fn value(&mut self) -> Result<(Operand, Place)> {
        let place = self.place;
        let operand = match core::mem::replace(&mut self.token, Token::End) {
            Token::Quoted(bytes) => Some(Operand::Bytes(bytes)),
            Token::Number(text) => {
                let bad = || ConditionError::at(place, Kind::Number { text: shown(text) });
                Some(number(text).ok_or_else(bad)?)
            }
            Token::Word(word) => {
                let value = if word.eq_ignore_ascii_case("true") {
                    Some(Operand::Bool(true))
                } else if word.eq_ignore_ascii_case("false") {
                    Some(Operand::Bool(false))
                } else {
                    special_float(word).map(Operand::Float)
                };
                if value.is_none() {
                    self.token = Token::Word(word);
                }
                value
            }
            other => {
                self.token = other;
                None
            }
        };
        let Some(operand) = operand else {
            let what = match self.token {
                Token::Word(word) if word.eq_ignore_ascii_case("null") => "a value (or \"is null\")",
                Token::Word(_) => "a value (strings must be in quotes)",
                _ => "a value",
            };
            return Err(self.expected(what));
        };
        self.advance()?;
        Ok((operand, place))
    }

    fn close(&mut self, what: &'static str) -> Result<()> {
        if self.token == Token::Close { self.advance() } else { Err(self.expected(what)) }
    }

    fn at_word(&self, keyword: &str) -> bool {
        matches!(self.token, Token::Word(word) if word.eq_ignore_ascii_case(keyword))
    }

    fn take_word(&mut self, keyword: &str) -> Result<bool> {
        let found = self.at_word(keyword);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expected(&self, what: &'static str) -> ConditionError {
        let start = self.place.0.map_or(0, |(offset, _)| offset);
        let found = match self.token {
            Token::End => "the end".to_owned(),
            _ => shown(self.text.get(start..self.offset).unwrap_or_default()),
        };
        ConditionError::at(self.place, Kind::Expected { what, found })
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| word.eq_ignore_ascii_case(keyword))
}

/// A piece of the text for a message: on one line, and not too long.
fn shown(text: &str) -> String {
    /// Characters.
    const MAX_SHOWN: usize = 24;
    let cut = text.char_indices().nth(MAX_SHOWN).map_or(text.len(), |(at, _)| at);
    let dots = if cut < text.len() { "…" } else { "" };
    format!("{}{dots}", text.get(..cut).unwrap_or_default().escape_debug())
}
