use super::*;

#[test]
fn a_write_whose_condition_does_not_hold_is_none() {
    let operation = Operation {
        intended_ns: 0,
        actual_ns: None,
        statement: 0,
        key: 7,
    };
    let answer = |applied: u8| {
        let mut values = RowValues::Own {
            bound: Vec::new(),
            is_write: vec![true],
            scratch: BytesMut::new(),
            unchecked: Vec::new(),
            untold: Vec::new(),
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
