//! Parses statements as far as a check of reads needs it: the table, the columns and the form of their
//! values; also whether rows are deleted, expire, or are written under a condition. Statements that are not
//! understood are reported as such.

mod nearest;
mod tokens;

pub(crate) use nearest::Nearest;
use tokens::{Token, tokens};

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Parsed {
    Select(Select),
    Write(Write),
    /// A read that is not understood.
    OtherRead,
    /// Anything else.
    Other,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Select {
    /// None where another keyspace is named.
    pub(crate) table: Option<String>,
    pub(crate) selected: Vec<Selected>,
    /// False if its rows are not the table's: JSON, DISTINCT, GROUP BY.
    pub(crate) is_plain: bool,
    /// Columns compared for equality, and the form of their values.
    pub(crate) equal: Vec<(String, How)>,
    /// True if there are no other conditions; false without any.
    pub(crate) is_by_equality: bool,
    /// True if it has conditions.
    pub(crate) is_filtered: bool,
    /// If it asks for the nearest vectors.
    pub(crate) nearest: Option<Nearest>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Selected {
    All,
    Column(String),
    /// A function, a cast, a part of a column, or one under another name.
    Computed,
}

/// One write, or those of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Write {
    pub(crate) changes: Vec<Change>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) act: Act,
    /// None where another keyspace is named.
    pub(crate) table: Option<String>,
    /// Of UPDATE and DELETE: columns compared for equality. An INSERT's keys are among the columns that it
    /// sets.
    pub(crate) equal: Vec<(String, How)>,
    pub(crate) set: Vec<(String, How)>,
    pub(crate) expires: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    Insert,
    Update,
    Delete,
}

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// A mark with the column's name: we generate the value.
    Mark,
    Null,
    Otherwise,
}

impl Change {
    /// True if the column's value, as a key or otherwise, is a mark.
    pub(crate) fn binds(&self, column: &str) -> bool {
        let all = self.equal.iter().chain(&self.set);
        all.into_iter().any(|(name, how)| name == column && *how == How::Mark)
    }

    /// The form of the value that it sets in a column, if it does.
    pub(crate) fn sets(&self, column: &str) -> Option<How> {
        self.set.iter().find(|(name, _)| name == column).map(|(_, how)| *how)
    }
}

/// Splits where `ends` is true outside of all brackets.
fn split(tokens: &[Token], ends: impl Fn(&Token) -> bool) -> Vec<&[Token]> {
    let mut depth = 0;
    tokens
        .split(|token| {
            match token {
                Token::Sign('(' | '[' | '{') => depth += 1,
                Token::Sign(')' | ']' | '}') => depth -= 1,
                _ => {}
            }
            depth == 0 && ends(token)
        })
        .collect()
}

fn listed(tokens: &[Token]) -> Vec<&[Token]> {
    split(tokens, |token| *token == Token::Sign(','))
}

/// The tokens before a word outside of all brackets, and those behind it.
fn parted<'a>(tokens: &'a [Token], word: &str) -> Option<(&'a [Token], &'a [Token])> {
    let before = *split(tokens, |token| token.is(word)).first()?;
    Some((before, tokens.get(before.len() + 1..)?))
}

/// The first word of a statement, in lower case.
pub(crate) fn verb(cql: &str) -> Option<String> {
    match tokens(cql)?.into_iter().next()? {
        Token::Word(word) => Some(word),
        _ => None,
    }
}

/// True if it writes only where a condition holds: `IF` cannot be a name without quotes.
pub(crate) fn is_conditional(cql: &str) -> bool {
    tokens(cql).is_some_and(|found| found.iter().any(|token| token.is("if")))
}

/// What the statement does.
pub(crate) fn parse(cql: &str) -> Parsed {
    let Some(mut found) = tokens(cql) else {
        return Parsed::Other;
    };
    while found.last() == Some(&Token::Sign(';')) {
        found.pop();
    }
    let Some(first) = found.first() else {
        return Parsed::Other;
    };
    if first.is("select") {
        return select(&found[1..]).map_or(Parsed::OtherRead, Parsed::Select);
    }
    let changes = if first.is("begin") {
        batch(&found)
    } else {
        change(&found).map(|one| vec![one])
    };
    changes.map_or(Parsed::Other, |changes| Parsed::Write(Write { changes }))
}

/// The statements of a batch begin with words that cannot be names without quotes.
fn batch(tokens: &[Token]) -> Option<Vec<Change>> {
    let (_, rest) = parted(tokens, "batch")?;
    let (inner, _) = parted(rest, "apply")?;
    let begins = |token: &Token| ["insert", "update", "delete"].iter().any(|word| token.is(word));
    let starts: Vec<usize> = (0..inner.len()).filter(|&at| begins(&inner[at])).collect();
    let ends = starts.iter().skip(1).copied().chain([inner.len()]);
    let one = |(&start, end): (&usize, usize)| {
        let own = &inner[start..end];
        change(own.strip_suffix(&[Token::Sign(';')]).unwrap_or(own))
    };
    starts.iter().zip(ends).map(one).collect()
}

fn change(tokens: &[Token]) -> Option<Change> {
    let (first, rest) = tokens.split_first()?;
    if first.is("insert") {
        insert(rest)
    } else if first.is("update") {
        let (target, rest) = parted(rest, "set")?;
        let (set, rest) = parted(rest, "where")?;
        let (table, using) = table(target)?;
        Some(Change {
            act: Act::Update,
            table,
            equal: conditions(before(rest, "if")).0,
            set: listed(set).into_iter().map(assignment).collect::<Option<_>>()?,
            expires: using.iter().any(|token| token.is("ttl")),
        })
    } else if first.is("delete") {
        let (_, rest) = parted(rest, "from")?;
        let (target, rest) = parted(rest, "where")?;
        Some(Change {
            act: Act::Delete,
            table: table(target)?.0,
            equal: conditions(before(rest, "if")).0,
            set: Vec::new(),
            expires: false,
        })
    } else {
        None
    }
}

fn insert(tokens: &[Token]) -> Option<Change> {
    let (into, rest) = tokens.split_first()?;
    let (table, rest) = table(rest)?;
    if !into.is("into") {
        return None;
    }
    let (names, rest) = bracketed(rest)?;
    let (values, rest) = bracketed(rest.strip_prefix(&[Token::Word("values".into())])?)?;
    let (names, values) = (listed(names), listed(values));
    if names.len() != values.len() {
        return None;
    }
    let one = |(name, value): (&[Token], &[Token])| match name {
        [name] => name.name().map(|name| (name.to_owned(), how(name, value))),
        _ => None,
    };
    Some(Change {
        act: Act::Insert,
        table,
        equal: Vec::new(),
        set: names.into_iter().zip(values).map(one).collect::<Option<_>>()?,
        expires: rest.iter().any(|token| token.is("ttl")),
    })
}

/// The content of round brackets at the start, and the rest.
fn bracketed(tokens: &[Token]) -> Option<(&[Token], &[Token])> {
    let rest = tokens.strip_prefix(&[Token::Sign('(')])?;
    let mut depth = 1;
    let end = rest.iter().position(|token| {
        match token {
            Token::Sign('(') => depth += 1,
            Token::Sign(')') => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    Some((&rest[..end], &rest[end + 1..]))
}

fn select(tokens: &[Token]) -> Option<Select> {
    let (mut selection, rest) = parted(tokens, "from")?;
    let (table, rest) = table(rest)?;
    // Both can be names of columns, too.
    let is_other = matches!(selection, [first, second, ..] if (first.is("json") || first.is("distinct")) && *second != Token::Sign(','));
    if is_other {
        selection = &selection[1..];
    }
    let one = |part: &[Token]| match part {
        [Token::Sign('*')] => Selected::All,
        [name] => name
            .name()
            .map_or(Selected::Computed, |name| Selected::Column(name.into())),
        _ => Selected::Computed,
    };
    let is_grouped = rest.windows(2).any(|pair| pair[0].is("group") && pair[1].is("by"));
    let ends = |token: &Token| {
        ["order", "limit", "allow", "group", "per"]
            .iter()
            .any(|word| token.is(word))
    };
    let is_filtered = rest.first().is_some_and(|word| word.is("where"));
    let (equal, is_by_equality) = if is_filtered {
        conditions(split(&rest[1..], ends)[0])
    } else {
        (Vec::new(), false)
    };
    Some(Select {
        table,
        selected: listed(selection).into_iter().map(one).collect(),
        is_plain: !is_other && !is_grouped,
        equal,
        is_by_equality,
        is_filtered,
        nearest: nearest::nearest(rest),
    })
}

/// The columns compared for equality; true if there are no other conditions.
fn conditions(tokens: &[Token]) -> (Vec<(String, How)>, bool) {
    let all: Vec<_> = split(tokens, |token| token.is("and"))
        .into_iter()
        .map(equality)
        .collect();
    let is_all = all.iter().all(Option::is_some);
    (all.into_iter().flatten().collect(), is_all)
}

fn equality(tokens: &[Token]) -> Option<(String, How)> {
    let (name, rest) = tokens.split_first()?;
    let value = rest.strip_prefix(&[Token::Sign('=')])?;
    let name = name.name()?;
    Some((name.to_owned(), how(name, value)))
}

/// `column = ?`, or anything else that begins with the column.
fn assignment(tokens: &[Token]) -> Option<(String, How)> {
    equality(tokens).or_else(|| Some((tokens.first()?.name()?.to_owned(), How::Otherwise)))
}

fn how(column: &str, value: &[Token]) -> How {
    match value {
        [Token::Mark] => How::Mark,
        // The node gives the mark its own name, and the value is made under that name.
        [Token::Named(name)] if name == column => How::Mark,
        [word] if word.is("null") => How::Null,
        _ => How::Otherwise,
    }
}

/// The table named at the start, None if it has a keyspace, and the rest.
fn table(tokens: &[Token]) -> Option<(Option<String>, &[Token])> {
    let (name, rest) = tokens.split_first()?;
    match rest {
        [Token::Sign('.'), _, rest @ ..] => Some((None, rest)),
        rest => Some((Some(name.name()?.to_owned()), rest)),
    }
}

fn before<'a>(tokens: &'a [Token], word: &str) -> &'a [Token] {
    parted(tokens, word).map_or(tokens, |(before, _)| before)
}

#[cfg(test)]
mod tests;
