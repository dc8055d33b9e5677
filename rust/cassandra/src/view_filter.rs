//! Which rows of its table a materialised view leaves out, by the conditions that it was made with.

/// The conditions beyond those that columns of its key are there (`IS NOT NULL`), which a view of all rows needs, too.
pub(crate) fn filters(where_clause: &str) -> Vec<&str> {
    conditions(where_clause)
        .into_iter()
        .filter(|condition| !condition.to_ascii_lowercase().ends_with(" is not null"))
        .collect()
}

/// What stands between the words AND that are in no quotes.
fn conditions(where_clause: &str) -> Vec<&str> {
    let (mut found, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, letter) in where_clause.char_indices() {
        match quote {
            Some(open) if letter == open => quote = None,
            Some(_) => {}
            None if letter == '\'' || letter == '"' => quote = Some(letter),
            None if at >= start && is_and(where_clause, at) => {
                found.push(&where_clause[start..at]);
                start = at + AND.len();
            }
            None => {}
        }
    }
    found.push(&where_clause[start..]);
    let all = found.into_iter().map(str::trim);
    all.filter(|condition| !condition.is_empty()).collect()
}

const AND: &str = " and ";

fn is_and(text: &str, at: usize) -> bool {
    text.get(at..at + AND.len())
        .is_some_and(|found| found.eq_ignore_ascii_case(AND))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_that_leave_rows_out_are_told_from_those_that_do_not() {
        assert!(filters("email IS NOT NULL AND id IS NOT NULL").is_empty());
        assert!(filters("").is_empty());
        assert_eq!(
            filters("\"a and b\" is not null AND note = 'x AND y' and v > 5"),
            ["note = 'x AND y'", "v > 5"]
        );
        assert_eq!(filters("note = 'it''s' AND v IS NOT NULL"), ["note = 'it''s'"]);
    }
}
