use super::*;
use proptest::prelude::*;

fn answer(stream: i16, flags: u8, opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut frame = vec![RESPONSE, flags];
    frame.put_i16(stream);
    frame.put_u8(opcode);
    frame.put_i32(body.len() as i32);
    frame.put_slice(body);
    frame
}

fn rows_of(cells: &[Option<Vec<u8>>]) -> Vec<u8> {
    let mut body = Vec::new();
    body.put_i32(RESULT_ROWS);
    body.put_i32(ROWS_NO_METADATA);
    body.put_i32(cells.len() as i32);
    body.put_i32(1);
    for cell in cells {
        body.put_i32(cell.as_ref().map_or(-1, |cell| cell.len() as i32));
        body.put_slice(cell.as_deref().unwrap_or_default());
    }
    body
}

proptest! {
    /// However a stream of frames is split, a frame is taken only once it is complete, and then entirely.
    #[test]
    fn frames_are_taken_whole(stream: i16, cells in prop::collection::vec(prop::option::of(prop::collection::vec(any::<u8>(), 0..50)), 0..6), cut in 0usize..400) {
        let frame = answer(stream, 0, RESULT, &rows_of(&cells));
        if cut < frame.len() {
            prop_assert!(take(&frame[..cut]).unwrap().is_none());
        }
        let (found, response, length) = take(&frame).unwrap().unwrap();
        prop_assert_eq!((found, length), (stream, frame.len()));
        let Response::Rows(mut rows) = response else { panic!("rows were sent") };
        prop_assert_eq!((rows.columns, rows.count), (cells.len(), 1));
        for cell in &cells {
            prop_assert_eq!(rows.cell().unwrap(), cell.as_deref());
        }
        prop_assert!(rows.cell().is_err());
    }

    /// No bytes make the reader panic.
    #[test]
    fn garbage_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        match take(&bytes) {
            Ok(Some((_, Response::Rows(mut rows), _))) => while rows.cell().is_ok() {},
            Ok(Some((_, Response::Prepared(preparation), _))) => drop(preparation.columns()),
            _ => {}
        }
    }
}

#[test]
fn what_stands_before_a_body_is_passed_over() {
    let mut body = vec![7; TRACE_ID_BYTES];
    body.put_u16(1);
    body.put_u16(2);
    body.put_slice(b"hm");
    body.put_u16(1);
    body.put_u16(1);
    body.put_slice(b"k");
    body.put_i32(-1);
    body.put_i32(RESULT_VOID);
    let frame = answer(3, FLAG_TRACED | FLAG_WARNINGS | FLAG_PAYLOAD, RESULT, &body);
    assert!(matches!(take(&frame).unwrap(), Some((3, Response::Void, _))));
}

#[test]
fn the_columns_of_a_prepared_statement_are_told() {
    let mut body = Vec::new();
    body.put_i32(RESULT_PREPARED);
    body.put_slice(&[0, 2, 9, 9]); // id
    let string = |body: &mut Vec<u8>, text: &str| {
        body.put_u16(text.len() as u16);
        body.put_slice(text.as_bytes());
    };
    body.put_i32(ONE_TABLE);
    body.put_i32(2);
    body.put_i32(1);
    body.put_u16(1); // the second mark is the partition key
    string(&mut body, "ks");
    string(&mut body, "t");
    string(&mut body, "tags");
    body.put_slice(&[0, 0x21, 0, 0x0D, 0, 0x20, 0, 0x09]); // map<text, list<int>>
    string(&mut body, "id");
    body.put_u16(0x02);
    body.put_i32(0);
    body.put_i32(1);
    string(&mut body, "ks");
    string(&mut body, "t");
    string(&mut body, "place");
    body.put_u16(0x30); // a user-defined type: keyspace, name, fields
    string(&mut body, "ks");
    string(&mut body, "place");
    body.put_u16(2);
    string(&mut body, "x");
    body.put_u16(0x09);
    string(&mut body, "v");
    body.put_u16(0);
    string(
        &mut body,
        "org.apache.cassandra.db.marshal.VectorType(org.apache.cassandra.db.marshal.FloatType , 3)",
    );
    let frame = answer(0, 0, RESULT, &body);
    let Some((_, Response::Prepared(preparation), _)) = take(&frame).unwrap() else {
        panic!("a preparation was sent");
    };
    assert_eq!(preparation.id, [9, 9]);
    let (bound, key, returned) = preparation.columns().unwrap();
    let of = |name: &str, kind: DataType| ColumnSpec {
        name: name.into(),
        kind,
    };
    let tags = DataType::Map(
        Box::new(DataType::Plain(0x0D)),
        Box::new(DataType::List(Box::new(DataType::Plain(0x09)))),
    );
    assert_eq!(
        (bound, key),
        (vec![of("tags", tags), of("id", DataType::Plain(0x02))], vec![1])
    );
    let vector = DataType::Vector(Box::new(DataType::Plain(0x08)), 3);
    assert_eq!(
        returned,
        [of("place", DataType::Tuple(vec![DataType::Plain(0x09), vector]))]
    );
}

#[test]
fn a_refusal_has_the_protocols_name() {
    let mut body = Vec::new();
    body.put_i32(0x1001);
    body.put_u16(4);
    body.put_slice(b"busy");
    let frame = answer(1, 0, ERROR, &body);
    let Some((1, Response::Refused(refusal), _)) = take(&frame).unwrap() else {
        panic!("an error was sent");
    };
    assert_eq!((refusal.name(), refusal.message), ("Overloaded", "busy"));
}

#[test]
fn requests_are_laid_out_as_specified() {
    let mut out = BytesMut::new();
    put_startup(&mut out);
    assert_eq!(
        &out[..],
        b"\x04\x00\x00\x00\x01\x00\x00\x00\x16\x00\x01\x00\x0bCQL_VERSION\x00\x053.0.0"
    );
    out.clear();
    let execution = |serial, page_rows| Execution {
        consistency: 1,
        serial,
        page_rows,
    };
    let mut laid_out = |execution, page: Option<&[u8]>| {
        out.clear();
        let head = execute_head(&[9, 8], execution, 1);
        put_execute(&mut out, 5, &head, execution, page, |values| put_value(values, b"ab"));
        out.to_vec()
    };
    assert_eq!(
        laid_out(execution(None, None), None),
        b"\x04\x00\x00\x05\x0a\x00\x00\x00\x0f\x00\x02\x09\x08\x00\x01\x03\x00\x01\x00\x00\x00\x02ab"
    );
    assert_eq!(
        laid_out(execution(Some(8), None), None),
        b"\x04\x00\x00\x05\x0a\x00\x00\x00\x11\x00\x02\x09\x08\x00\x01\x13\x00\x01\x00\x00\x00\x02ab\x00\x08"
    );
    assert_eq!(
        laid_out(execution(None, Some(7)), None),
        b"\x04\x00\x00\x05\x0a\x00\x00\x00\x13\x00\x02\x09\x08\x00\x01\x07\x00\x01\x00\x00\x00\x02ab\x00\x00\x00\x07"
    );
    assert_eq!(
        laid_out(execution(Some(9), Some(7)), Some(b"x")),
        b"\x04\x00\x00\x05\x0a\x00\x00\x00\x1a\x00\x02\x09\x08\x00\x01\x1f\x00\x01\x00\x00\x00\x02ab\x00\x00\x00\x07\x00\x00\x00\x01x\x00\x09"
    );
}
