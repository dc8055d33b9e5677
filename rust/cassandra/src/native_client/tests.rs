//! The client against a stub of a node: forgotten statements, lost connections, silence, refusals.

use std::sync::Arc;

use hydrotest_core::clock::{WallOffset, thread_cpu_ns};
use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::draw::Distribution;
use hydrotest_core::wire::{LoadModel, LoadSettings};

use super::*;
use crate::row_values::READ;
use crate::rows::RowShape;
use crate::settings::{Client, Content};
use crate::stub::{Reply, Stub};

/// Loads a stub with `operations`, 16 in flight; returns the findings, and the number of completed
/// operations.
fn press(operations: u64, timeout_ms: u64, reply: impl Fn(u64) -> Reply + Send + Sync + 'static) -> (Findings, u64) {
    press_by(16, operations, timeout_ms, reply)
}

fn press_by(
    in_flight: u64,
    operations: u64,
    timeout_ms: u64,
    reply: impl Fn(u64) -> Reply + Send + Sync + 'static,
) -> (Findings, u64) {
    let stub = Stub::listen(reply);
    let settings = CqlSettings {
        client: Client::Native,
        cluster: ClusterSettings::plain(vec![]),
        keyspace: "hydrotest_stub".into(),
        content: Content::Standard {
            shape: RowShape {
                columns: 2,
                column_bytes: 30,
            },
            write_share: 0.5,
        },
        filled: true,
        views_filled: false,
        consistency: "ONE".into(),
        serial_consistency: None,
        page_rows: Some(1),
        keys: Distribution::Uniform { min: 0, max: 99 },
        seed: 1,
        operations: Some(operations),
        connections: 1,
        request_timeout_ms: timeout_ms,
        tick_us: 250,
        each_answer: false,
        recall_queries: None,
        writer: 0,
        load: LoadSettings {
            model: LoadModel::Closed { in_flight },
            seconds: 60.0,
            give_up_s: None,
            in_flight_max: 1_000,
            threads: 1,
            shares: 1,
            first_share: 0,
            nice: 0,
        },
    };
    let tables = Tables {
        filled: settings.filled,
        ..Tables::default()
    };
    let client = NativeClient::connect_to(Topology::flat(vec![stub.address]), None, &settings, &tables, 0).unwrap();
    let start = monotonic_ns();
    // Each ends by its count, long before.
    let window = Window::new(start, start + 60_000_000_000, WallOffset::take(), Arc::default());
    let found = client.work(window.clone(), Recorders::new(start, &settings.statements()));
    (found, window.counts.read().completed)
}

fn total(found: &Findings) -> u64 {
    found.errors.values().sum()
}

#[test]
fn every_operation_is_answered_and_every_row_checked() {
    let (found, completed) = press(2_000, 5_000, |_| Reply::Good);
    assert_eq!(
        (completed, found.answered.iter().sum::<u64>(), total(&found)),
        (2_000, 2_000, 0)
    );
    // The stub does not compute checksums: none of its rows is one of ours.
    assert_eq!((found.corrupted, found.missing), (found.answered[READ], 0));
    assert_eq!(found.unanswered, 0);
}

#[test]
fn what_finds_no_free_stream_goes_by_a_connection_beyond_the_first() {
    let (found, completed) = press_by(100_000, 100_000, 5_000, |_| Reply::Good);
    assert_eq!((completed, total(&found)), (100_000, 0));
}

/// The throughput of one core without a server in the way. Printed, not judged:
/// `cargo test --release -p hydrotest-cassandra --lib -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement, for benchmarks/RESULTS.md"]
fn operations_per_core_against_canned_replies() {
    for in_flight in [64, 512, 4096] {
        let mut rates: Vec<f64> = (0..5)
            .map(|_| {
                let before = thread_cpu_ns();
                let (_, completed) = press_by(in_flight, 2_000_000, 5_000, |_| Reply::Good);
                completed as f64 * 1e9 / (thread_cpu_ns() - before) as f64
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        println!(
            "{in_flight} in flight: {:.0} operations per CPU-second, median of five",
            rates[2]
        );
    }
}

#[test]
fn all_pages_of_a_read_are_one_operation() {
    for (second, several) in [(0, false), (1, true)] {
        let (found, completed) = press(500, 5_000, move |_| Reply::Paged(second));
        let reads = found.answered[READ];
        assert_eq!(
            (completed, found.answered.iter().sum::<u64>(), total(&found)),
            (500, 500, 0)
        );
        assert_eq!((found.further_pages, reads > 0), (reads, true));
        // The one row is none of ours; of several none is judged.
        assert_eq!(
            (found.corrupted, found.checked),
            if several { (0, 0) } else { (reads, reads) }
        );
    }
}

#[test]
fn a_row_that_is_not_there_is_missing_and_not_corrupted() {
    let (found, _) = press(200, 5_000, |_| Reply::NoRow);
    assert_eq!((found.corrupted, found.missing), (0, found.answered[READ]));
}

#[test]
fn a_forgotten_statement_is_prepared_again_and_nothing_fails() {
    let (found, completed) = press(1_000, 5_000, |number| {
        if number % 100 < 20 {
            Reply::Forgotten
        } else {
            Reply::Good
        }
    });
    assert_eq!((completed, total(&found)), (1_000, 0));
}

#[test]
fn a_refusal_fails_by_its_own_name() {
    let (found, completed) = press(1_000, 5_000, |number| {
        if number % 10 == 0 {
            Reply::Refused(0x1001)
        } else {
            Reply::Good
        }
    });
    assert_eq!(completed + total(&found), 1_000);
    assert!(
        found.errors.keys().all(|name| name.ends_with(" Overloaded")),
        "{:?}",
        found.errors
    );
    assert!(total(&found) >= 90);
}

#[test]
fn a_cut_connection_fails_what_was_out_and_is_replaced() {
    let (found, completed) = press(
        20_000,
        5_000,
        |number| {
            if number == 500 { Reply::Cut } else { Reply::Good }
        },
    );
    assert_eq!(
        found
            .errors
            .keys()
            .filter(|name| name.ends_with("ConnectionLost"))
            .count()
            .min(1),
        1
    );
    assert!(completed > 500, "{completed} were completed");
}

#[test]
fn silence_is_a_timeout_and_a_late_answer_no_second_end() {
    let (found, completed) = press(
        1_000,
        100,
        |number| if number == 50 { Reply::Late } else { Reply::Good },
    );
    assert_eq!((completed, total(&found)), (999, 1));
    assert!(found.errors.keys().all(|name| name.ends_with("ClientTimeout")));
}
