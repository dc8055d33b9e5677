//! The words, names, marks and signs of a statement.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// A keyword or a name, in lower case.
    Word(String),
    /// A name in quotes, unchanged.
    Quoted(String),
    Mark,
    /// A mark with a name of its own.
    Named(String),
    /// A number without a sign or a point; None where it is none that counts.
    Number(Option<u64>),
    Literal,
    Sign(char),
}

impl Token {
    pub(super) fn is(&self, word: &str) -> bool {
        matches!(self, Self::Word(found) if found == word)
    }

    pub(super) fn name(&self) -> Option<&str> {
        match self {
            Self::Word(name) | Self::Quoted(name) => Some(name),
            _ => None,
        }
    }
}

/// None where a quote or a comment does not end.
pub(super) fn tokens(cql: &str) -> Option<Vec<Token>> {
    let mut out = Vec::new();
    let mut rest = cql;
    while let Some(first) = rest.chars().next() {
        let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let word = |text: &str| text.find(|letter| !is_word(letter)).unwrap_or(text.len());
        let taken = if rest.starts_with("--") || rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/")? + 4
        } else if let Some(text) = rest.strip_prefix("$$") {
            out.push(Token::Literal);
            text.find("$$")? + 4
        } else if first == '\'' || first == '"' {
            let (text, length) = quoted(rest, first)?;
            out.push(if first == '"' {
                Token::Quoted(text)
            } else {
                Token::Literal
            });
            length
        } else if first == '?' {
            out.push(Token::Mark);
            1
        } else if first == ':' && rest[1..].starts_with('"') {
            let (text, length) = quoted(&rest[1..], '"')?;
            out.push(Token::Named(text));
            1 + length
        } else if first == ':' && rest[1..].starts_with(|letter: char| letter.is_ascii_alphabetic()) {
            let length = 1 + word(&rest[1..]);
            out.push(Token::Named(rest[1..length].to_ascii_lowercase()));
            length
        } else if first.is_ascii_digit() {
            let length = word(rest);
            out.push(Token::Number(rest[..length].parse().ok()));
            length
        } else if is_word(first) {
            let length = word(rest);
            out.push(Token::Word(rest[..length].to_ascii_lowercase()));
            length
        } else {
            if !first.is_whitespace() {
                out.push(Token::Sign(first));
            }
            first.len_utf8()
        };
        rest = &rest[taken..];
    }
    Some(out)
}

/// The quoted text at the start, in which two quotes stand for one, and its length with the quotes.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut at = 1;
    loop {
        at += text[at..].find(quote)? + 1;
        if !text[at..].starts_with(quote) {
            let inner = &text[1..at - 1];
            return Some((inner.replace(&format!("{quote}{quote}"), &quote.to_string()), at));
        }
        at += 1;
    }
}
