use super::*;
use proptest::prelude::*;

fn read(cql: &str) -> Select {
    match parse(cql) {
        Parsed::Select(select) => select,
        other => panic!("{cql}: {other:?}"),
    }
}

fn changes(cql: &str) -> Vec<Change> {
    match parse(cql) {
        Parsed::Write(write) => write.changes,
        other => panic!("{cql}: {other:?}"),
    }
}

fn given(pairs: &[(&str, How)]) -> Vec<(String, How)> {
    pairs.iter().map(|&(name, how)| (name.into(), how)).collect()
}

#[test]
fn a_read_by_key_is_understood() {
    let found = read("-- a comment\n select v, \"W\" /* two */ From T where p = ? AND C = ? LIMIT ? ALLOW FILTERING;");
    assert_eq!(found.table.as_deref(), Some("t"));
    assert_eq!(
        found.selected,
        [Selected::Column("v".into()), Selected::Column("W".into())]
    );
    assert_eq!(found.equal, given(&[("p", How::Mark), ("c", How::Mark)]));
    assert!(found.is_by_equality && found.is_plain);
}

#[test]
fn what_is_not_by_equality_is_seen() {
    for range in [
        "SELECT v FROM t WHERE p = ? AND c > ? LIMIT 1",
        "SELECT v FROM t WHERE p = ? AND c >= ?",
        "SELECT v FROM t WHERE p IN (?, ?)",
        "SELECT v FROM t WHERE token(p) > ?",
        "SELECT v FROM t WHERE p = ? AND (c, d) = (?, ?)",
        "SELECT v FROM t WHERE p = ? AND tags CONTAINS ?",
        "SELECT v FROM t",
        "SELECT v FROM t LIMIT 5",
    ] {
        assert!(!read(range).is_by_equality, "{range}");
    }
}

#[test]
fn the_nearest_vectors_are_told_by_their_order() {
    let nearest = |column: &str, to, limit| {
        Some(Nearest {
            column: column.into(),
            to,
            limit,
        })
    };
    for (cql, found) in [
        (
            "SELECT id FROM t ORDER BY v ANN OF ? LIMIT 10",
            nearest("v", How::Mark, Some(10)),
        ),
        (
            "SELECT id FROM t WHERE tag = ? ORDER BY \"V\" ann of ? LIMIT ? ALLOW FILTERING",
            nearest("V", How::Mark, None),
        ),
        (
            "SELECT id FROM t ORDER BY v ANN OF [1.5, 2] LIMIT 3",
            nearest("v", How::Otherwise, Some(3)),
        ),
        ("SELECT id FROM t ORDER BY v ANN OF ?", nearest("v", How::Mark, None)),
        ("SELECT id FROM t WHERE p = ? ORDER BY c DESC LIMIT 10", None),
        ("SELECT id FROM t WHERE p = ? LIMIT 10", None),
    ] {
        assert_eq!(read(cql).nearest, found, "{cql}");
    }
    let filtered = |cql: &str| (read(cql).is_filtered, read(cql).is_by_equality);
    assert_eq!(filtered("SELECT id FROM t ORDER BY v ANN OF ? LIMIT 1"), (false, false));
    assert_eq!(
        filtered("SELECT id FROM t WHERE tag = ? ORDER BY v ANN OF ? LIMIT 1"),
        (true, true)
    );
    assert_eq!(
        filtered("SELECT id FROM t WHERE n > ? ORDER BY v ANN OF ? LIMIT 1"),
        (true, false)
    );
}

#[test]
fn what_is_selected_otherwise_is_seen() {
    let selected = read("SELECT count(*), v AS w, writetime(v), m['a'], (int)v, v FROM t WHERE p = ?").selected;
    assert_eq!(selected[5], Selected::Column("v".into()));
    assert!(selected[..5].iter().all(|one| *one == Selected::Computed));
    for other in [
        "SELECT JSON v FROM t WHERE p = ?",
        "SELECT DISTINCT p FROM t WHERE p = ?",
        "SELECT v FROM t WHERE p = ? GROUP BY c",
    ] {
        assert!(!read(other).is_plain, "{other}");
    }
    assert!(read("SELECT json, distinct FROM t WHERE p = ?").is_plain);
    assert_eq!(read("SELECT * FROM system.local WHERE key = 'local'").table, None);
    assert_eq!(
        read("SELECT v FROM t WHERE p = 5 AND c = :c AND d = :other").equal,
        given(&[("p", How::Otherwise), ("c", How::Mark), ("d", How::Otherwise)])
    );
}

#[test]
fn an_insert_is_understood() {
    let found =
        changes("INSERT INTO t (p, \"V\", w, x) VALUES (?, ?, null, now()) IF NOT EXISTS USING TIMESTAMP ? AND TTL ?");
    assert_eq!(found[0].act, Act::Insert);
    assert!(found[0].expires);
    assert_eq!(
        found[0].set,
        given(&[
            ("p", How::Mark),
            ("V", How::Mark),
            ("w", How::Null),
            ("x", How::Otherwise)
        ])
    );
    assert!(!changes("INSERT INTO t (ttl) VALUES (?)")[0].expires);
    assert_eq!(parse("INSERT INTO t JSON ?"), Parsed::Other);
}

#[test]
fn updates_and_deletes_are_understood() {
    let found = changes(
        "UPDATE t USING TTL 5 SET v = ?, n = n + ?, m[?] = ?, l += ?, u.f = ? WHERE p = ? AND c IN (?, ?) IF v = ?",
    );
    let names: Vec<&str> = found[0].set.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["v", "n", "m", "l", "u"]);
    assert_eq!(found[0].sets("v"), Some(How::Mark));
    assert!(
        ["n", "m", "l", "u"]
            .iter()
            .all(|name| found[0].sets(name) == Some(How::Otherwise))
    );
    assert_eq!(found[0].equal, given(&[("p", How::Mark)]));
    assert!(found[0].expires && found[0].binds("p") && !found[0].binds("c"));
    let found = changes("DELETE v FROM t USING TIMESTAMP 5 WHERE p = ? IF EXISTS");
    assert_eq!((found[0].act, found[0].table.as_deref()), (Act::Delete, Some("t")));
}

#[test]
fn a_batch_is_its_statements() {
    let found = changes(
        "BEGIN UNLOGGED BATCH USING TIMESTAMP ? INSERT INTO a (k) VALUES (?); UPDATE b SET v = ? WHERE k = ? DELETE FROM c WHERE k = ?; APPLY BATCH;",
    );
    let tables: Vec<&str> = found.iter().filter_map(|one| one.table.as_deref()).collect();
    assert_eq!(tables, ["a", "b", "c"]);
    assert_eq!(found[1].equal, given(&[("k", How::Mark)]));
    assert_eq!(parse("BEGIN BATCH INSERT INTO a JSON ?; APPLY BATCH"), Parsed::Other);
}

#[test]
fn what_is_not_understood_is_said_to_be() {
    for other in [
        "",
        "TRUNCATE t",
        "CREATE TABLE t (k int PRIMARY KEY)",
        "INSERT INTO t (a) VALUES ('",
        "/* SELECT",
    ] {
        assert_eq!(parse(other), Parsed::Other, "{other}");
    }
    assert_eq!(parse("SELECT 1"), Parsed::OtherRead);
}

#[test]
fn the_first_word_comes_after_comments() {
    assert_eq!(verb("-- mine\n/* */ Create TABLE t").as_deref(), Some("create"));
    assert_eq!(verb("'DROP'"), None);
}

proptest! {
    /// No text makes it panic.
    #[test]
    fn any_text_is_taken(cql in "(SELECT|INSERT INTO|UPDATE|DELETE|BEGIN BATCH|[ a-z(){}',;:?=\"*/$.é-]){0,40}") {
        parse(&cql);
    }
}
