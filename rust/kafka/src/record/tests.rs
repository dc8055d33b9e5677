use super::*;
use crate::compression::Codec;
use crate::contents::PayloadForm;

fn settings() -> RecordSettings {
    RecordSettings {
        size: Distribution::Uniform { min: 10, max: 200 },
        compressible: 0.25,
        key: Some(Distribution::Uniform { min: 0, max: 9 }),
        key_texts: Vec::new(),
        headers: 2,
        header_bytes: 3,
        levels: Vec::new(),
        payload: None,
    }
}

#[test]
fn contents_of_a_file_are_used_in_turns() {
    let path = std::env::temp_dir().join(format!("hydrotest-payload-{}", std::process::id()));
    std::fs::write(&path, "one\ntwo, longer\r\n\nthree").unwrap();
    let with = |form| RecordSettings {
        payload: Some(PayloadFile {
            path: path.clone(),
            form,
            stamp_in_header: false,
            prefix: Vec::new(),
        }),
        size: Distribution::Uniform { min: 27, max: 35 },
        ..settings()
    };
    let made = |share: u64, form| -> Vec<Vec<u8>> {
        let mut generator = RecordGenerator::new(&with(form), true, 7, share, 2).unwrap();
        assert_eq!(generator.smallest(), 27 + KEY_BYTES + generator.headers.len());
        (0..3)
            .map(|_| generator.make().random[STAMP_BYTES..].to_vec())
            .collect()
    };
    assert_eq!(
        made(0, PayloadForm::Lines),
        [b"one".to_vec(), b"three".to_vec(), b"two, longer".to_vec()]
    );
    assert_eq!(
        made(1, PayloadForm::Lines),
        [b"two, longer".to_vec(), b"one".to_vec(), b"three".to_vec()]
    );
    std::fs::write(&path, b"\0\0\0\x03one\0\0\0\x05three").unwrap();
    assert_eq!(made(0, PayloadForm::LengthPrefixed)[0], b"one");
    assert_eq!(made(1, PayloadForm::LengthPrefixed)[0], b"three");
    let mut whole = RecordGenerator::new(&with(PayloadForm::Whole), true, 7, 1, 2).unwrap();
    assert_eq!(whole.make().random[STAMP_BYTES..], *b"\0\0\0\x03one\0\0\0\x05three");
    // Of others' values the stamp is in a header, and a schema registry's prefix may stand before them.
    let mut apart = with(PayloadForm::LengthPrefixed);
    let payload = apart.payload.as_mut().unwrap();
    (payload.stamp_in_header, payload.prefix) = (true, vec![0, 0, 0, 0, 7]);
    let mut generator = RecordGenerator::new(&apart, true, 7, 0, 1).unwrap();
    assert_eq!(generator.make().random, b"\0\0\0\0\x07one");
    assert!(crate::payload::stamp_in(&generator.headers).is_some());
    assert_eq!(generator.headers[0], 2 * 3);
    std::fs::write(&path, b"\0\0\0\x09one").unwrap();
    assert!(RecordGenerator::new(&with(PayloadForm::LengthPrefixed), true, 7, 0, 1).is_err());
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn records_are_as_asked_for() {
    let mut generator = RecordGenerator::new(&settings(), true, 7, 0, 1).unwrap();
    let mut before = Vec::new();
    for _ in 0..1_000 {
        let made = generator.make();
        let size = made.value_bytes();
        assert!((10..=200).contains(&size));
        assert_eq!(made.random.len(), (size as f64 * 0.75).round() as usize);
        assert!(u64::from_be_bytes(made.key.unwrap().try_into().unwrap()) < 10);
        assert_eq!(made.headers.len(), 1 + 2 * (1 + 2 + 1 + 3));
        assert_ne!(made.random, before);
        before = made.random.to_vec();
    }
}

/// A batch is not smaller when it is compressed, whatever its codec and the sizes in it.
#[test]
fn what_is_not_compressible_does_not_compress() {
    for (size, batch_bytes) in [(100, 16 << 10), (1_000, 64 << 10), (1_000, 1 << 20), (10_000, 1 << 20)] {
        let size = Distribution::Uniform { min: size, max: size };
        let settings = RecordSettings {
            size: size.clone(),
            compressible: 0.0,
            key: None,
            key_texts: Vec::new(),
            headers: 0,
            header_bytes: 0,
            levels: Vec::new(),
            payload: None,
        };
        let mut generator = RecordGenerator::new(&settings, true, 7, 0, 1).unwrap();
        let values = std::iter::repeat_with(|| generator.make().random.to_vec());
        let plain: Vec<u8> = values.take(batch_bytes / size.range().0 as usize).flatten().collect();
        for codec in [Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd] {
            let mut packed = Vec::new();
            codec.compress(&plain, &mut packed).unwrap();
            assert!(packed.len() as f64 > 0.99 * plain.len() as f64, "{codec:?} {size:?}");
        }
    }
}

#[test]
fn keys_from_a_file_are_used_as_often_as_they_are_there() {
    let settings = RecordSettings {
        key: Some(Distribution::Weights {
            values: vec![(0, 9.0), (1, 1.0)],
        }),
        key_texts: vec!["often".into(), "no".into()],
        headers: 0,
        ..settings()
    };
    let mut generator = RecordGenerator::new(&settings, true, 7, 0, 1).unwrap();
    assert_eq!(generator.smallest(), 10 + "no".len() + generator.headers.len());
    let rare = (0..1_000).filter(|_| match generator.make().key.unwrap() {
        b"often" => false,
        key => key == b"no",
    });
    // One in ten, and five standard deviations.
    assert!((53..148).contains(&rare.count()));
    let short = RecordSettings {
        key: Some(Distribution::Uniform { min: 0, max: 2 }),
        ..settings
    };
    assert!(RecordGenerator::new(&short, true, 7, 0, 1).is_err());
}

#[test]
fn keys_and_sizes_have_nothing_to_do_with_each_other() {
    let range = Distribution::Uniform { min: 100, max: 199 };
    let settings = RecordSettings {
        size: range.clone(),
        key: Some(range),
        ..settings()
    };
    let mut generator = RecordGenerator::new(&settings, true, 7, 0, 1).unwrap();
    let alike = (0..1_000).filter(|_| {
        let made = generator.make();
        u64::from_be_bytes(made.key.unwrap().try_into().unwrap()) == made.value_bytes() as u64
    });
    // One in a hundred by chance: ten, and five standard deviations.
    assert!(alike.count() < 26);
}

#[test]
fn levels_come_as_often_as_asked_for() {
    let settings = RecordSettings {
        size: Distribution::Uniform { min: 100, max: 100 },
        levels: vec![("info".into(), 8.0), ("error".into(), 2.0)],
        ..settings()
    };
    let mut generator = RecordGenerator::new(&settings, false, 7, 0, 1).unwrap();
    let errors = (0..10_000)
        .filter(|_| generator.make().level == Some(*b"ERROR   "))
        .count();
    // A fifth, within five standard deviations.
    assert!((1_800..2_200).contains(&errors), "{errors}");
}

#[test]
fn too_small_a_record_is_refused() {
    let size = Distribution::Uniform { min: 9, max: 200 };
    assert!(
        RecordSettings { size, ..settings() }
            .check()
            .unwrap_err()
            .to_string()
            .contains("9 bytes")
    );
}
