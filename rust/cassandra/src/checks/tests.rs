use super::*;
use crate::cql::parse;
use crate::similarity::Similarity;

/// A table by its columns: `p` partition key, `c` clustering, `s` static, `n` counter, `r` regular.
fn table(columns: &str) -> Table {
    let one = |column: &str| {
        let (name, kind) = column.split_once(' ').unwrap();
        let kind = match kind {
            "p" => ColumnKind::Partition,
            "c" => ColumnKind::Clustering,
            "s" => ColumnKind::Static,
            "n" => ColumnKind::Counter,
            _ => ColumnKind::Regular,
        };
        (name.to_owned(), kind)
    };
    Table {
        columns: columns.split(", ").map(one).collect(),
        ..Table::default()
    }
}

/// The checks of `read`, which returns these columns. `writes` are executed, too; the first has written each
/// row before. `unique` are the columns without repeated values.
struct Case<'a> {
    schema: Schema,
    writes: Vec<&'a str>,
    unique: Vec<&'a str>,
    filled: bool,
}

impl<'a> Case<'a> {
    fn new(columns: &str, unique: &[&'a str], writes: &[&'a str]) -> Self {
        Self {
            schema: Schema::from([("t".to_owned(), table(columns))]),
            writes: writes.to_vec(),
            unique: unique.to_vec(),
            filled: true,
        }
    }

    fn check(&self, read: &str, returned: &[&str]) -> Result<Check, Reason> {
        let writes: Vec<Parsed> = self.writes.iter().map(|cql| parse(cql)).collect();
        let read = parse(read);
        Model {
            schema: &self.schema,
            executed: writes.iter().chain([&read]).collect(),
            filled_by: writes.first().filter(|_| self.filled),
            is_unique: &|name| self.unique.contains(&name),
        }
        .check(&read, returned)
    }

    /// Why a row may be missing, and the facts of each column.
    fn of(&self, read: &str, returned: &[&str]) -> (Option<Reason>, Vec<ColumnHow>) {
        let check = self.check(read, returned).unwrap();
        (
            check.may_miss,
            check.columns.into_iter().map(|column| column.how).collect(),
        )
    }
}

const SURE: ColumnHow = ColumnHow::Checked { may_be_null: None };

fn or_null(reason: Reason) -> ColumnHow {
    ColumnHow::Checked {
        may_be_null: Some(reason),
    }
}

const PUT: &str = "INSERT INTO t (k, v) VALUES (?, ?)";
const LOOK: &str = "SELECT v FROM t WHERE k = ?";

fn plain(writes: &[&'static str]) -> Case<'static> {
    Case::new("k p, v r", &["k"], writes)
}

#[test]
fn plain_rows_are_checked_altogether() {
    assert_eq!(plain(&[PUT]).of(LOOK, &["v"]), (None, vec![SURE]));
    assert_eq!(
        plain(&[PUT, "UPDATE t SET v = ? WHERE k = ?"]).of(LOOK, &["v"]),
        (None, vec![SURE])
    );
    assert_eq!(
        plain(&["UPDATE t SET v = ? WHERE k = ?"]).of(LOOK, &["v"]),
        (None, vec![SURE])
    );
    assert_eq!(
        plain(&[PUT]).of("SELECT * FROM t WHERE k = ? LIMIT ?", &["k", "v"]),
        (None, vec![SURE, SURE])
    );
    let batch =
        "BEGIN UNLOGGED BATCH INSERT INTO t (k, v) VALUES (?, ?); INSERT INTO t (k, v) VALUES (?, ?); APPLY BATCH";
    assert_eq!(plain(&[batch]).of(LOOK, &["v"]), (None, vec![SURE]));
    assert_eq!(
        plain(&["INSERT INTO t (k, v) VALUES (?, ?) IF NOT EXISTS"]).of(LOOK, &["v"]),
        (None, vec![SURE])
    );
}

#[test]
fn counters_are_there_and_have_no_value_of_ours() {
    let case = Case::new("k p, n n", &["k"], &["UPDATE t SET n = n + ? WHERE k = ?"]);
    assert_eq!(
        case.of("SELECT * FROM t WHERE k = ?", &["k", "n"]),
        (None, vec![SURE, ColumnHow::Unchecked(Reason::Counter)])
    );
}

#[test]
fn static_columns_are_checked_where_the_partition_is_the_row_s_own() {
    let (columns, put) = ("p p, c c, s s, v r", "INSERT INTO t (p, c, s, v) VALUES (?, ?, ?, ?)");
    let read = "SELECT s, v FROM t WHERE p = ? AND c = ?";
    let shared = Case::new(columns, &["c"], &[put]).of(read, &["s", "v"]);
    assert_eq!(shared, (None, vec![ColumnHow::Unchecked(Reason::Static), SURE]));
    let own = Case::new(columns, &["p"], &[put]).of(read, &["s", "v"]);
    assert_eq!(own, (None, vec![SURE, SURE]));
    // A statement that sets only a static column changes no row …
    let two = Case::new(columns, &["c"], &[put, "UPDATE t SET s = ? WHERE p = ?"]).of(read, &["s", "v"]);
    assert_eq!(two, shared);
    // … but makes one without a key, where a partition is read that has no other.
    let partition = Case::new(columns, &["p"], &[put, "UPDATE t SET s = ? WHERE p = ?"]);
    assert_eq!(
        partition.check("SELECT c, v FROM t WHERE p = ?", &["c", "v"]),
        Err(Reason::Range)
    );
}

#[test]
fn ranges_are_not_checked() {
    let case = Case::new("p p, c c, v r", &["c"], &["INSERT INTO t (p, c, v) VALUES (?, ?, ?)"]);
    for read in [
        "SELECT v FROM t WHERE p = ? AND c > ? LIMIT 1",
        "SELECT v FROM t WHERE p = ?",
        "SELECT v FROM t WHERE p = ? AND c IN (?, ?)",
        "SELECT v FROM t",
    ] {
        assert_eq!(case.check(read, &["v"]), Err(Reason::Range), "{read}");
    }
    assert_eq!(
        case.of("SELECT v FROM t WHERE p = ? AND c = ? LIMIT ?", &["v"]),
        (None, vec![SURE])
    );
    // A partition of one row is read completely without its clustering key.
    let own = Case::new("p p, c c, v r", &["p"], &["INSERT INTO t (p, c, v) VALUES (?, ?, ?)"]);
    assert_eq!(
        own.of("SELECT c, v FROM t WHERE p = ? LIMIT 9", &["c", "v"]),
        (None, vec![SURE, SURE])
    );
    let literal = Case::new("p p, c c, v r", &["p"], &["INSERT INTO t (p, c, v) VALUES (?, 5, ?)"]);
    assert_eq!(literal.check("SELECT v FROM t WHERE p = ?", &["v"]), Err(Reason::Range));
    assert_eq!(
        literal.of("SELECT v FROM t WHERE p = ? AND c = ?", &["v"]),
        (Some(Reason::NotPopulated), vec![or_null(Reason::NotPopulated)])
    );
}

#[test]
fn what_is_not_asked_for_by_its_own_key_is_not_checked() {
    let case = Case::new("k p, v r, w r", &["k"], &["INSERT INTO t (k, v, w) VALUES (?, ?, ?)"]);
    for read in [
        "SELECT w FROM t WHERE k = 5",
        "SELECT w FROM t WHERE k = :other",
        "SELECT w FROM t WHERE v = ? ALLOW FILTERING",
        "SELECT w FROM t WHERE k = ? AND v = ? ALLOW FILTERING",
    ] {
        assert_eq!(case.check(read, &["w"]), Err(Reason::NotByKey), "{read}");
    }
    let shared = Case::new("k p, v r", &[], &[PUT]);
    assert_eq!(shared.check(LOOK, &["v"]), Err(Reason::SharedKey));
    // Every row's number writes to the row with number 5.
    let literal = plain(&["INSERT INTO t (k, v) VALUES (5, ?)"]);
    assert_eq!(literal.check(LOOK, &["v"]), Err(Reason::SharedKey));
}

#[test]
fn deleted_and_expired_rows_may_be_missing_and_what_is_there_is_checked() {
    let gone = |reason| (Some(reason), vec![or_null(reason)]);
    for delete in [
        "DELETE FROM t WHERE k = ?",
        "DELETE v FROM t WHERE k = ?",
        "BEGIN BATCH DELETE FROM t WHERE k = ? APPLY BATCH",
    ] {
        assert_eq!(
            plain(&[PUT, delete]).of(LOOK, &["v"]),
            gone(Reason::Deleted),
            "{delete}"
        );
    }
    for write in [
        "INSERT INTO t (k, v) VALUES (?, ?) USING TTL ?",
        "UPDATE t USING TTL 60 SET v = ? WHERE k = ?",
    ] {
        assert_eq!(plain(&[PUT, write]).of(LOOK, &["v"]), gone(Reason::Expiring), "{write}");
    }
    let mut expiring = plain(&[PUT]);
    expiring.schema.get_mut("t").unwrap().expires = true;
    assert_eq!(expiring.of(LOOK, &["v"]), gone(Reason::Expiring));
    let elsewhere = plain(&[PUT, "DELETE FROM other WHERE k = ?"]);
    assert_eq!(elsewhere.of(LOOK, &["v"]), (None, vec![SURE]));
    let null = plain(&[PUT, "UPDATE t SET v = null WHERE k = ?"]);
    assert_eq!(null.of(LOOK, &["v"]), (None, vec![or_null(Reason::Deleted)]));
}

#[test]
fn what_nothing_has_written_before_may_be_missing() {
    let mut case = plain(&[PUT]);
    case.filled = false;
    assert_eq!(
        case.of(LOOK, &["v"]),
        (Some(Reason::NotPopulated), vec![or_null(Reason::NotPopulated)])
    );
    let partly = Case::new("k p, v r, w r", &["k"], &[PUT, "UPDATE t SET w = ? WHERE k = ?"]);
    assert_eq!(
        partly.of("SELECT v, w FROM t WHERE k = ?", &["v", "w"]),
        (None, vec![SURE, or_null(Reason::NotPopulated)])
    );
    let mut second = plain(&[PUT, "INSERT INTO u (k, v) VALUES (?, ?)"]);
    second.schema.insert("u".into(), table("k p, v r"));
    assert_eq!(
        second.of("SELECT v FROM u WHERE k = ?", &["v"]).0,
        Some(Reason::NotPopulated)
    );
    // A row that only an UPDATE made is gone when its last value is null.
    let update = plain(&["UPDATE t SET v = ? WHERE k = ?", "UPDATE t SET v = null WHERE k = ?"]);
    assert_eq!(update.of(LOOK, &["v"]).0, Some(Reason::NotPopulated));
}

#[test]
fn values_that_are_not_ours_are_not_checked() {
    let case = Case::new(
        "k p, v r, w r, x r",
        &["k"],
        &[PUT, "UPDATE t SET w = now() WHERE k = ?"],
    );
    assert_eq!(
        case.of("SELECT w, x, v AS y FROM t WHERE k = ?", &["w", "x", "y"]),
        (
            Some(Reason::Computed),
            vec![
                ColumnHow::Unchecked(Reason::WrittenOtherwise),
                ColumnHow::Unchecked(Reason::NotWritten),
                ColumnHow::Unchecked(Reason::Computed),
            ]
        )
    );
    // An alias, not the column of that name.
    let alias = case.of("SELECT x AS v FROM t WHERE k = ?", &["v"]);
    assert_eq!(alias.1, [ColumnHow::Unchecked(Reason::Computed)]);
    assert_eq!(
        case.check("SELECT JSON v FROM t WHERE k = ?", &["[json]"]),
        Err(Reason::Computed)
    );
}

#[test]
fn views_other_tables_and_what_is_not_understood_are_not_checked() {
    let mut case = plain(&[PUT]);
    case.schema.insert(
        "by_v".into(),
        Table {
            is_view: true,
            ..table("v p, k c")
        },
    );
    assert_eq!(case.check("SELECT k FROM by_v WHERE v = ?", &["k"]), Err(Reason::View));
    assert_eq!(
        case.check("SELECT v FROM system.t WHERE k = ?", &["v"]),
        Err(Reason::UnknownTable)
    );
    assert_eq!(
        case.check("SELECT v FROM nowhere WHERE k = ?", &["v"]),
        Err(Reason::UnknownTable)
    );
    assert_eq!(
        plain(&[PUT, "TRUNCATE t"]).check(LOOK, &["v"]),
        Err(Reason::NotUnderstood)
    );
    assert_eq!(
        plain(&[PUT, "INSERT INTO t JSON ?"]).check(LOOK, &["v"]),
        Err(Reason::NotUnderstood)
    );
}

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
