use super::*;

#[test]
fn statements_have_their_shares() {
    let own = |name: &str, cql: &str, weight: f64| OwnStatement {
        name: name.into(),
        cql: cql.into(),
        weight,
    };
    let content = Content::Own {
        statements: vec![
            own("look", " select note FROM t", 3.0),
            own("place", "INSERT INTO t", 1.0),
        ],
        makers: BTreeMap::new(),
        filling: None,
    };
    content.check().unwrap();
    let found = content.statements("hydrotest_x");
    assert_eq!(
        found.iter().map(|one| (one.share, one.is_write)).collect::<Vec<_>>(),
        [(0.75, false), (0.25, true)]
    );
    assert_eq!(content.keyspace("hydrotest_x"), Some("hydrotest_x"));
    let none = Content::Own {
        statements: vec![own("look", "SELECT", 0.0)],
        makers: BTreeMap::new(),
        filling: None,
    };
    assert!(none.check().is_err());
}

#[test]
fn what_writes_rows_is_told_from_what_only_deletes_them() {
    let of = |cql: &str| {
        let statements = vec![OwnStatement {
            name: "one".into(),
            cql: cql.into(),
            weight: 1.0,
        }];
        let (makers, filling) = (BTreeMap::new(), None);
        let content = Content::Own {
            statements,
            makers,
            filling,
        };
        let found = content.statements("hydrotest_x");
        (found[0].is_write, found[0].makes_rows)
    };
    assert_eq!(of("-- who\nSELECT v FROM t WHERE k = ?"), (false, false));
    assert_eq!(of("SELECT something unheard of"), (false, false));
    assert_eq!(of("UPDATE t SET v = ? WHERE k = ?"), (true, true));
    assert_eq!(of("DELETE FROM t WHERE k = ?"), (true, false));
    assert_eq!(of("INSERT INTO t JSON ?"), (true, true));
}

#[test]
fn a_write_whose_condition_does_not_hold_is_none() {
    let operation = Operation {
        intended_ns: 0,
        actual_ns: None,
        statement: 0,
        key: 7,
    };
    let answer = |applied: u8| {
        let mut values = Values::Own {
            shapes: Vec::new(),
            is_write: vec![true],
            scratch: BytesMut::new(),
            unchecked: Vec::new(),
        };
        values.checked(operation, Rows::over(2, 1, &[0, 0, 0, 1, applied, 0, 0, 0, 0]))
    };
    assert!(matches!(answer(0), Answer::NotApplied));
    assert!(matches!(answer(1), Answer::Written));
}

#[test]
fn a_row_is_missing_only_where_each_was_written_before() {
    assert_eq!(
        (standard(None, true), standard(None, false)),
        (Found::Missing, Found::Absent)
    );
    assert_eq!(
        (standard(Some(true), false), standard(Some(false), false)),
        (Found::Intact, Found::Corrupted)
    );
    assert_eq!(
        (unchecked_standard(true).len(), unchecked_standard(false).len()),
        (0, 1)
    );
}

#[test]
fn the_default_table_s_statements_name_it() {
    let shape = RowShape {
        columns: 2,
        column_bytes: 30,
    };
    let found = Content::Standard {
        shape,
        write_share: 0.25,
    }
    .statements("hydrotest_x");
    assert_eq!(
        found[WRITE].cql,
        "INSERT INTO hydrotest_x.standard1 (key, \"C0\", \"C1\") VALUES (?, ?, ?)"
    );
    assert_eq!(
        found[READ].cql,
        "SELECT \"C0\", \"C1\" FROM hydrotest_x.standard1 WHERE key = ?"
    );
    assert_eq!((found[WRITE].share, found[READ].share), (0.25, 0.75));
}
