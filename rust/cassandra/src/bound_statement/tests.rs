use super::*;
use crate::checks::{ColumnCheck, Reason};
use crate::frame::DataType;
use hydrotest_core::draw::Distribution;

fn single(max: u64) -> Group {
    Group::of(1, &Distribution::Uniform { min: 0, max })
}

fn described(names: &[(&str, u16)]) -> Vec<ColumnSpec> {
    let of = |&(name, option): &(&str, u16)| ColumnSpec {
        name: name.into(),
        kind: DataType::Plain(option),
    };
    names.iter().map(of).collect()
}

/// A statement that returns `note`, a text, and `count`, a bigint, for a row of table `(customer, id)`.
fn returning(note: ColumnHow, may_miss: Option<Reason>) -> BoundStatement {
    let bound = described(&[("customer", 0x02), ("id", 0x09)]);
    let returned = described(&[("note", 0x0D), ("count", 0x02)]);
    let column = |name: &str, how| ColumnCheck { name: name.into(), how };
    let count = ColumnHow::Unchecked(Reason::NotWritten);
    let check = Check {
        may_miss,
        columns: vec![column("note", note), column("count", count)],
    };
    let keys = ["customer".to_owned()];
    BoundStatement::new(&bound, &[0], &keys, &returned, |_| None, Some(&check), single(1_000)).unwrap()
}

/// The result of one row with these two cells, for row number 5.
fn judged(own: &mut BoundStatement, note: Option<&[u8]>) -> Found {
    let mut body = BytesMut::new();
    for cell in [note, Some(&[1][..])] {
        body.put_i32(cell.map_or(-1, |cell| cell.len() as i32));
        body.put_slice(cell.unwrap_or_default());
    }
    own.judge(&mut Rows::over(2, 1, &body), 5, &mut BytesMut::new())
}

#[test]
fn values_are_compared_where_they_are_known() {
    let mut out = BytesMut::new();
    let mut note = Column::new("note", &DataType::Plain(0x0D), None, false, 1_000).unwrap();
    note.put(&mut out, 5);
    let mut sure = returning(ColumnHow::Checked { may_be_null: None }, None);
    assert_eq!(judged(&mut sure, Some(&out[4..])), Found::Intact);
    assert_eq!(judged(&mut sure, Some(b"other")), Found::Corrupted);
    assert_eq!(judged(&mut sure, None), Found::Corrupted);
    let mut expiring = returning(
        ColumnHow::Checked {
            may_be_null: Some(Reason::Expiring),
        },
        None,
    );
    assert_eq!(judged(&mut expiring, None), Found::Intact);
    assert_eq!(judged(&mut expiring, Some(b"other")), Found::Corrupted);
    let mut counted = returning(ColumnHow::Unchecked(Reason::Counter), None);
    assert_eq!(judged(&mut counted, Some(b"other")), Found::Intact);
}

#[test]
fn rows_are_missing_only_where_they_must_be_there() {
    let found = |may_miss, count| {
        let mut own = returning(ColumnHow::Checked { may_be_null: None }, may_miss);
        own.judge(&mut Rows::over(2, count, &[]), 5, &mut BytesMut::new())
    };
    assert_eq!(found(None, 0), Found::Missing);
    assert_eq!(found(Some(Reason::Deleted), 0), Found::Absent);
    assert_eq!(found(None, 2), Found::SeveralRows);
    // A truncated answer.
    assert_eq!(found(None, 1), Found::Corrupted);
    let mut unchecked = BoundStatement::new(&[], &[], &[], &[], |_| None, None, single(1_000)).unwrap();
    let counts = [0, 1, 2].map(|count| unchecked.judge(&mut Rows::over(2, count, &[]), 5, &mut BytesMut::new()));
    assert_eq!(counts, [Found::Unchecked; 3]);
}

#[test]
fn a_limit_is_never_zero() {
    let mut out = BytesMut::new();
    let mut limit = Column::new("[limit]", &DataType::Plain(0x14), None, false, 1_000).unwrap();
    (0..2_000).for_each(|row| limit.put_body(&mut out, row));
    assert!(out.iter().all(|&byte| byte > 0));
}

#[test]
fn a_key_that_is_returned_is_the_key_that_was_bound() {
    let bound = described(&[("customer", 0x02)]);
    let check = Check {
        may_miss: None,
        columns: vec![ColumnCheck {
            name: "customer".into(),
            how: ColumnHow::Checked { may_be_null: None },
        }],
    };
    let keys = ["customer".to_owned()];
    let mut own = BoundStatement::new(&bound, &[0], &keys, &bound, |_| None, Some(&check), single(1_000)).unwrap();
    let mut out = BytesMut::new();
    own.put(&mut out, 7);
    assert_eq!(
        own.judge(&mut Rows::over(1, 1, &out), 7, &mut BytesMut::new()),
        Found::Intact
    );
    assert_eq!(
        own.judge(&mut Rows::over(1, 1, &out), 8, &mut BytesMut::new()),
        Found::Corrupted
    );
}

#[test]
fn partition_keys_are_laid_out_as_nodes_hash_them() {
    let bound = described(&[("day", 0x09), ("note", 0x0D), ("customer", 0x02)]);
    let keys = ["customer".to_owned(), "day".to_owned()];
    let laid_out = |key: &[u16]| {
        let mut own = BoundStatement::new(&bound, key, &keys, &[], |_| None, None, single(1_000)).unwrap();
        let mut out = BytesMut::new();
        own.put_partition_key(&mut out, 7).then(|| out.to_vec())
    };
    assert_eq!(laid_out(&[2]), Some(vec![0, 0, 0, 0, 0, 0, 0, 7]));
    assert_eq!(
        laid_out(&[2, 0]),
        Some(vec![0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 4, 0, 0, 0, 7, 0])
    );
    assert_eq!(laid_out(&[]), None);
}

#[test]
fn each_row_of_a_batch_has_values_of_its_own() {
    let columns = described(&[("k", 0x02), ("v", 0x09)]);
    let twice: Vec<ColumnSpec> = columns.iter().chain(&columns).cloned().collect();
    let keys = ["k".to_owned()];
    let of = |bound: &[ColumnSpec], key: &[u16], rows, row| {
        let mut statement = BoundStatement::new(
            bound,
            key,
            &keys,
            &[],
            |_| None,
            None,
            Group::of(rows, &Distribution::Uniform { min: 1, max: 6 }),
        )
        .unwrap();
        let (mut values, mut key) = (BytesMut::new(), BytesMut::new());
        statement.put(&mut values, row);
        assert!(statement.put_partition_key(&mut key, row));
        (values, key)
    };
    let one = |row| of(&columns, &[0], 1, row);
    // A node names the key's last mark.
    let (values, key) = of(&twice, &[2], 2, 4);
    assert_eq!(values, [one(4).0, one(5).0].concat());
    assert_eq!(key, one(5).1);
    // The first row before the range is the first of it.
    assert_eq!(of(&twice, &[0], 2, 1).0, [one(1).0, one(1).0].concat());
}

#[test]
fn the_vector_that_is_asked_for_is_that_of_no_row() {
    let kind = DataType::Vector(Box::new(DataType::Plain(0x08)), 3);
    let tag = described(&[("tag", 0x09)]);
    let vector = ColumnSpec {
        name: "v".into(),
        kind: kind.clone(),
    };
    let bound = [tag[0].clone(), vector];
    let plain = |asked| {
        let made = BoundStatement::new(&bound, &[], &[], &[], |_| None, None, single(1_000)).unwrap();
        let (mut own, mut out) = (made.asking(asked), BytesMut::new());
        own.put(&mut out, 5);
        out
    };
    let of = |row: u64| {
        let mut out = BytesMut::new();
        let mut column = Column::new("v", &kind, None, false, 1_000).unwrap();
        column.put(&mut out, row);
        out
    };
    // The number of a tag, with its length, is the row's own in any case.
    assert_eq!(plain(None)[8..], of(5)[..]);
    assert_eq!(plain(Some(1))[8..], of(1_006)[..]);
    assert_eq!(plain(Some(1))[..8], plain(None)[..8]);
}
