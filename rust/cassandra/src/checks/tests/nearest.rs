//! Reads of the nearest vectors.

use super::*;
use crate::similarity::Similarity;

const PUT_VECTOR: &str = "INSERT INTO t (p, k, tag, v) VALUES (?, ?, ?, ?)";

/// A table of vectors with an index, and rows that these statements write.
fn vectors(writes: &[&'static str]) -> Case<'static> {
    let mut case = Case::new("p p, k c, tag r, v r", &["k"], writes);
    let similarities = &mut case.schema.get_mut("t").unwrap().similarities;
    similarities.insert("v".into(), Similarity::Euclidean);
    case
}

fn nearest(case: &Case<'_>, read: &str, returned: &[&str]) -> Option<Result<Nearby, Reason>> {
    let writes: Vec<Parsed> = case.writes.iter().map(|cql| parse(cql)).collect();
    let read = parse(read);
    Model {
        schema: &case.schema,
        executed: writes.iter().chain([&read]).collect(),
        filled_by: writes.first().filter(|_| case.filled),
        views_filled: case.views_filled,
        is_unique: &|name| case.unique.contains(&name),
    }
    .nearest(&read, returned)
}

#[test]
fn the_nearest_are_held_against_all_rows_where_all_rows_are_known() {
    let near = "SELECT tag, k, p FROM t ORDER BY v ANN OF ? LIMIT 10";
    let returned = ["tag", "k", "p"];
    let all = Nearby {
        column: "v".into(),
        similarity: Similarity::Euclidean,
        limit: 10,
        key: vec![("p".into(), 2), ("k".into(), 1)],
        equal: Vec::new(),
    };
    assert_eq!(nearest(&vectors(&[PUT_VECTOR]), near, &returned), Some(Ok(all.clone())));
    // The same values again change nothing.
    let again = vectors(&[PUT_VECTOR, "UPDATE t SET v = ?, tag = ? WHERE p = ? AND k = ?"]);
    assert_eq!(nearest(&again, near, &returned), Some(Ok(all.clone())));
    let some = "SELECT *  FROM t WHERE tag = ? ORDER BY v ANN OF ? LIMIT 10";
    assert_eq!(
        nearest(&vectors(&[PUT_VECTOR]), some, &["p", "k", "tag", "v"]),
        Some(Ok(Nearby {
            key: vec![("p".into(), 0), ("k".into(), 1)],
            equal: vec!["tag".into()],
            ..all
        }))
    );
    assert_eq!(
        nearest(&vectors(&[PUT_VECTOR]), "SELECT v FROM t WHERE p = ?", &["v"]),
        None
    );
    assert_eq!(vectors(&[PUT_VECTOR]).check(near, &returned), Err(Reason::Nearest));
}

#[test]
fn why_the_nearest_are_not_held_against_all_rows() {
    let why = |case: &Case<'_>, read: &str, returned: &[&str]| nearest(case, read, returned).unwrap().unwrap_err();
    let plain = vectors(&[PUT_VECTOR]);
    for (read, reason) in [
        ("SELECT p, k FROM t ORDER BY v ANN OF ? LIMIT ?", Reason::NoLimit),
        ("SELECT p, k FROM t ORDER BY v ANN OF [1, 2] LIMIT 5", Reason::NotByMark),
        ("SELECT k, p FROM t ORDER BY v ANN OF ? LIMIT 5", Reason::NoKey),
        ("SELECT p, tag AS k FROM t ORDER BY v ANN OF ? LIMIT 5", Reason::NoKey),
        ("SELECT JSON p, k FROM t ORDER BY v ANN OF ? LIMIT 5", Reason::Computed),
        (
            "SELECT p, k FROM t WHERE tag > ? ORDER BY v ANN OF ? LIMIT 5",
            Reason::Filtered,
        ),
        (
            "SELECT p, k FROM t WHERE tag = 'a' ORDER BY v ANN OF ? LIMIT 5",
            Reason::Filtered,
        ),
        ("SELECT p, k FROM t ORDER BY w ANN OF ? LIMIT 5", Reason::Computed),
    ] {
        assert_eq!(why(&plain, read, &["p", "k"]), reason, "{read}");
    }
    let near = "SELECT p, k FROM t ORDER BY v ANN OF ? LIMIT 5";
    for (write, reason) in [
        ("DELETE FROM t WHERE p = ? AND k = ?", Reason::Deleted),
        ("UPDATE t USING TTL 9 SET v = ? WHERE p = ? AND k = ?", Reason::Expiring),
        (
            "UPDATE t SET v = [1, 2] WHERE p = ? AND k = ?",
            Reason::WrittenOtherwise,
        ),
        ("UPDATE t SET v = null WHERE p = ? AND k = ?", Reason::Deleted),
        ("INSERT INTO t (p, k, v) VALUES (?, 5, ?)", Reason::WrittenOtherwise),
        ("TRUNCATE t", Reason::NotUnderstood),
    ] {
        assert_eq!(
            why(&vectors(&[PUT_VECTOR, write]), near, &["p", "k"]),
            reason,
            "{write}"
        );
    }
    let mut case = vectors(&[PUT_VECTOR]);
    case.unique.clear();
    assert_eq!(why(&case, near, &["p", "k"]), Reason::SharedKey);
    case = vectors(&[PUT_VECTOR]);
    case.filled = false;
    assert_eq!(why(&case, near, &["p", "k"]), Reason::NotPopulated);
    case = vectors(&[PUT_VECTOR]);
    case.schema.get_mut("t").unwrap().similarities.clear();
    assert_eq!(why(&case, near, &["p", "k"]), Reason::NoSimilarity);
    // Rows whose vectors are written later are not all there from the beginning.
    let later = vectors(&["INSERT INTO t (p, k, tag) VALUES (?, ?, ?)", PUT_VECTOR]);
    assert_eq!(why(&later, near, &["p", "k"]), Reason::NotPopulated);
}
