//! Reads of materialised views.

use super::*;
use crate::schema::View;

/// A table of users, and a view of them by their email.
fn users(writes: &[&'static str]) -> Case<'static> {
    let mut case = Case::new("id p, email r, v r", &["id"], writes);
    case.schema.insert("u".into(), table("id p"));
    let view = View {
        table: "t".into(),
        is_whole: true,
    };
    case.schema.insert(
        "by_email".into(),
        Table {
            view: Some(view),
            ..table("email p, id c, v r")
        },
    );
    case
}

const PUT_USER: &str = "INSERT INTO t (id, email, v) VALUES (?, ?, ?)";
const FIND: &str = "SELECT id, v FROM by_email WHERE email = ? AND id = ?";

#[test]
fn rows_of_a_view_are_those_of_its_table() {
    let whole = (None, vec![SURE, SURE]);
    assert_eq!(users(&[PUT_USER]).of(FIND, &["id", "v"]), whole);
    // Written again as they are, they stay where they are.
    let again = users(&[PUT_USER, "UPDATE t SET email = ?, v = ? WHERE id = ?"]);
    assert_eq!(again.of(FIND, &["id", "v"]), whole);
    let other = users(&[
        PUT_USER,
        "UPDATE t SET v = now() WHERE id = ?",
        "DELETE FROM u WHERE id = ?",
    ]);
    assert_eq!(
        other.of(FIND, &["id", "v"]),
        (None, vec![SURE, ColumnHow::Unchecked(Reason::WrittenOtherwise)])
    );
    // Others may have the same email.
    assert_eq!(
        users(&[PUT_USER]).check("SELECT id FROM by_email WHERE email = ?", &["id"]),
        Err(Reason::Range)
    );
    let mut unique = users(&[PUT_USER]);
    unique.unique.push("email");
    assert_eq!(
        unique.of("SELECT id FROM by_email WHERE email = ?", &["id"]),
        (None, vec![SURE])
    );
}

#[test]
fn a_view_may_lack_rows_that_its_table_has() {
    let why = |case: Case<'_>| case.of(FIND, &["id", "v"]).0;
    let mut late = users(&[PUT_USER]);
    late.views_filled = false;
    // What is there is as it was written, all the same.
    assert_eq!(late.of(FIND, &["id", "v"]), (Some(Reason::View), vec![SURE, SURE]));
    let mut part = users(&[PUT_USER]);
    part.schema.get_mut("by_email").unwrap().view.as_mut().unwrap().is_whole = false;
    assert_eq!(why(part), Some(Reason::View));
    let with = |write| why(users(&[PUT_USER, write]));
    assert_eq!(with("UPDATE t SET email = null WHERE id = ?"), Some(Reason::Deleted));
    assert_eq!(
        with("UPDATE t SET email = 'x' WHERE id = ?"),
        Some(Reason::WrittenOtherwise)
    );
    assert_eq!(with("DELETE FROM t WHERE id = ?"), Some(Reason::Deleted));
    assert_eq!(with("DELETE FROM u WHERE id = ?"), None);
    let mut expiring = users(&[PUT_USER]);
    expiring.schema.get_mut("t").unwrap().expires = true;
    assert_eq!(why(expiring), Some(Reason::Expiring));
    // Without an email a row is not in the view.
    let without = users(&["INSERT INTO t (id, v) VALUES (?, ?)", PUT_USER]);
    assert_eq!(why(without), Some(Reason::NotPopulated));
}
