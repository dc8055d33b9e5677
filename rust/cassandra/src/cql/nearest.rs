//! Reads of the nearest vectors: `ORDER BY column ANN OF ? LIMIT 10`.

use super::{How, Token, how, split};

/// Which vectors are asked for, and how many.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Nearest {
    pub(crate) column: String,
    /// The form of the vector that the others are compared with.
    pub(crate) to: How,
    /// Most rows of an answer; None where it is not a number.
    pub(crate) limit: Option<u64>,
}

/// From what follows the table of a SELECT; None where it has another order, or none.
pub(super) fn nearest(tokens: &[Token]) -> Option<Nearest> {
    let is_order = |pair: &[Token]| pair[0].is("order") && pair[1].is("by");
    let at = tokens.windows(2).position(is_order)?;
    let [column, ann, of, rest @ ..] = &tokens[at + 2..] else {
        return None;
    };
    if !(ann.is("ann") && of.is("of")) {
        return None;
    }
    let column = column.name()?;
    let ends = |token: &Token| ["limit", "allow", "with"].iter().any(|word| token.is(word));
    let limit = rest.windows(2).find(|pair| pair[0].is("limit"));
    Some(Nearest {
        column: column.to_owned(),
        to: how(column, split(rest, ends)[0]),
        limit: match limit {
            Some([_, Token::Number(number)]) => *number,
            _ => None,
        },
    })
}
