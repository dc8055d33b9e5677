use super::*;
use crate::cql::parse;

mod nearest;
mod views;

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
    views_filled: bool,
}

impl<'a> Case<'a> {
    fn new(columns: &str, unique: &[&'a str], writes: &[&'a str]) -> Self {
        Self {
            schema: Schema::from([("t".to_owned(), table(columns))]),
            writes: writes.to_vec(),
            unique: unique.to_vec(),
            filled: true,
            views_filled: true,
        }
    }

    fn check(&self, read: &str, returned: &[&str]) -> Result<Check, Reason> {
        let writes: Vec<Parsed> = self.writes.iter().map(|cql| parse(cql)).collect();
        let read = parse(read);
        Model {
            schema: &self.schema,
            executed: writes.iter().chain([&read]).collect(),
            filled_by: writes.first().filter(|_| self.filled),
            views_filled: self.views_filled,
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
fn other_tables_and_what_is_not_understood_are_not_checked() {
    let case = plain(&[PUT]);
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
