use super::*;
use proptest::prelude::*;

fn column(kind: &DataType, generator: Option<ValueGenerator>) -> Column {
    Column::new("note", kind, generator, false, 1_000).unwrap()
}

fn plain(option: u16) -> Box<DataType> {
    Box::new(DataType::Plain(option))
}

const TEXT: u16 = 0x0D;
const INT: u16 = 0x09;
const FLOAT: u16 = 0x08;
const KINDS: [u16; 18] = [
    0x01, 0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09, 0x0B, 0x0C, 0x0D, 0x0E, 0x0F, 0x10, 0x11, 0x12, 0x13, 0x14,
];

/// Types with parts, also with parts that have parts.
fn with_parts() -> Vec<DataType> {
    let place = || DataType::Tuple(vec![DataType::Plain(INT), DataType::Set(plain(TEXT))]);
    vec![
        DataType::List(plain(INT)),
        DataType::Set(plain(TEXT)),
        DataType::Map(plain(TEXT), plain(INT)),
        place(),
        DataType::Vector(plain(FLOAT), 5),
        DataType::Map(plain(INT), Box::new(DataType::List(Box::new(place())))),
        DataType::Set(Box::new(place())),
    ]
}

proptest! {
    /// The value written for a row is expected for that row, and for hardly any other; its length precedes
    /// it.
    #[test]
    fn values_follow_from_their_row(row in 0u64..1_000, which in 0usize..25) {
        let kinds: Vec<DataType> = KINDS.map(DataType::Plain).into_iter().chain(with_parts()).collect();
        let mut made = column(&kinds[which], None);
        let (mut out, mut scratch) = (BytesMut::new(), BytesMut::new());
        made.put(&mut out, row);
        let length = i32::from_be_bytes(out[..4].try_into().unwrap()) as usize;
        prop_assert_eq!(length, out.len() - 4);
        prop_assert!(made.is_of(Some(&out[4..]), row, &mut scratch));
        prop_assert!(!made.is_of(None, row, &mut scratch));
        if which >= KINDS.len() {
            prop_assert!(!made.is_of(Some(&out[4..]), row + 1, &mut scratch));
        }
    }

    /// A node may order the parts of sets and maps by itself; a bit that is flipped is found all the same.
    #[test]
    fn parts_are_compared_in_any_order(row in 0u64..1_000, which in 0usize..7, at in 0usize..1_000, bit in 0u8..8) {
        let kind = &with_parts()[which];
        let mut made = column(kind, None);
        let (mut out, mut scratch) = (BytesMut::new(), BytesMut::new());
        made.put_body(&mut out, row);
        let turned = turned(kind, &out);
        prop_assert!(made.is_of(Some(&turned), row, &mut scratch));
        let mut flipped = turned.clone();
        flipped[at % turned.len()] ^= 1 << bit;
        prop_assert!(!made.is_of(Some(&flipped), row, &mut scratch));
    }
}

/// The same value with the parts of its outermost set or map in reverse.
fn turned(kind: &DataType, value: &[u8]) -> Vec<u8> {
    let each = match kind {
        DataType::Set(_) => 1,
        DataType::Map(..) => 2,
        _ => return value.to_vec(),
    };
    let mut out = BytesMut::from(&value[..4]);
    for pair in elements(value, each).unwrap().chunks(each).rev() {
        for part in pair {
            sized(&mut out, |out| out.put_slice(part));
        }
    }
    out.to_vec()
}

#[test]
fn collections_have_as_many_elements_as_drawn() {
    let many = |count, each| ValueGenerator::Many {
        count: Distribution::Uniform { min: count, max: count },
        each,
    };
    let letters = Box::new(ValueGenerator::Bytes(Distribution::Uniform { min: 3, max: 3 }));
    let made = |kind: DataType, each, generator| {
        let mut out = BytesMut::new();
        column(&kind, Some(generator)).put_body(&mut out, 7);
        elements(&out, each)
            .unwrap()
            .iter()
            .map(|part| part.len())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        made(DataType::List(plain(TEXT)), 1, many(4, Some(letters.clone()))),
        [3; 4]
    );
    assert_eq!(
        made(DataType::Map(plain(INT), plain(TEXT)), 2, many(2, Some(letters))),
        [4, 3, 4, 3]
    );
    // There are two booleans, and no more.
    assert_eq!(made(DataType::Set(plain(0x04)), 1, many(50, None)), [1; 2]);
    // An empty one that is not frozen is null.
    let mut none = column(&DataType::List(plain(INT)), Some(many(0, None)));
    assert!(none.is_of(None, 7, &mut BytesMut::new()));
    assert!(none.is_of(Some(&[0; 4]), 7, &mut BytesMut::new()));
}

#[test]
fn a_list_that_is_there_twice_is_told_from_another() {
    let mut made = column(
        &DataType::List(plain(INT)),
        Some(ValueGenerator::Many {
            count: Distribution::Uniform { min: 2, max: 2 },
            each: None,
        }),
    );
    let (mut out, mut scratch) = (BytesMut::new(), BytesMut::new());
    made.put_body(&mut out, 7);
    let (first, second) = (out[4..12].to_vec(), out[12..].to_vec());
    let list = |parts: &[&[u8]]| [&(parts.len() as i32).to_be_bytes()[..], &parts.concat()].concat();
    let mut is_of = |parts: &[&[u8]]| made.is_of(Some(&list(parts)), 7, &mut scratch);
    assert!(is_of(&[&first, &second, &first, &second]) && is_of(&[&first, &first, &second, &second]));
    assert!(
        !is_of(&[&second, &first]) && !is_of(&[&first, &first]) && !is_of(&[&first, &second, &first]) && !is_of(&[])
    );
}

#[test]
fn partitions_and_times_follow_from_the_row() {
    let made = |generator, row| {
        let mut out = BytesMut::new();
        column(&plain(INT), Some(generator)).put_body(&mut out, row);
        i32::from_be_bytes(out[..].try_into().unwrap())
    };
    let ten = Distribution::Uniform { min: 10, max: 10 };
    assert_eq!(
        [made(ValueGenerator::Modulo(7), 6), made(ValueGenerator::Modulo(7), 8)],
        [6, 1]
    );
    assert_eq!(
        [
            made(ValueGenerator::Shared(ten.clone()), 9),
            made(ValueGenerator::Shared(ten), 10)
        ],
        [0, 1]
    );
}

#[test]
fn makers_that_do_not_fit_are_refused() {
    let refused = |kind: DataType, generator, is_key, words: &str| {
        let error = Column::new("id", &kind, generator, is_key, 1_000)
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(words), "{error}");
    };
    let uniform = |min, max| Distribution::Uniform { min, max };
    let numbers = ValueGenerator::Number(uniform(0, 1 << 40));
    refused(
        *plain(INT),
        Some(numbers),
        false,
        "column id is of type Int and cannot hold 1099511627776",
    );
    let size = ValueGenerator::Bytes(uniform(5, 5));
    refused(*plain(INT), Some(size.clone()), false, "a size does not fit");
    refused(*plain(0x14), None, true, "cannot hold 1000");
    refused(
        DataType::Set(plain(TEXT)),
        Some(size.clone()),
        false,
        "column id is a collection",
    );
    refused(
        DataType::Tuple(vec![*plain(TEXT)]),
        Some(size.clone()),
        false,
        "whose fields suit their types",
    );
    refused(
        DataType::Vector(plain(FLOAT), 3),
        Some(size),
        false,
        "a size does not fit",
    );
    let many = ValueGenerator::Many {
        count: uniform(1, 2),
        each: None,
    };
    refused(*plain(TEXT), Some(many), false, "holds one value");
    refused(*plain(0x15), None, false, "no values are made for");
    refused(
        DataType::Custom("DurationType".into()),
        None,
        false,
        "write it as a literal",
    );
    refused(DataType::List(plain(0x15)), None, false, "no values are made for");
}

#[test]
fn text_is_text_and_as_long_as_drawn() {
    let mut out = BytesMut::new();
    let size = ValueGenerator::Bytes(Distribution::Uniform { min: 13, max: 13 });
    column(&plain(TEXT), Some(size)).put(&mut out, 7);
    assert_eq!(out.len(), 4 + 13);
    assert!(
        std::str::from_utf8(&out[4..])
            .unwrap()
            .chars()
            .all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter))
    );
}
