//! The binary from the controller's side: its first message, its refusals, and its end when its stdin ends.

use std::io::Write;
use std::process::{Command, Stdio};

use hydrotest_core::wire::PROTOCOL;
use serde_json::{Value, json};

const SUBCOMMANDS: [&str; 11] = [
    "produce",
    "consume",
    "cql",
    "sample",
    "ceiling",
    "supervise",
    "sink",
    "clock",
    "cpu-hog",
    "query",
    "hub",
];

/// The messages and the exit code of a node that reads these lines and then the end of its stdin.
fn told(subcommand: &str, lines: &[Value]) -> (Vec<Value>, Option<i32>) {
    let mut node = Command::new(env!("CARGO_BIN_EXE_hydrotest-node"))
        .arg(subcommand)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary is there");
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let mut stdin = node.stdin.take().expect("it is piped");
    // A node that refuses its first line is gone before it has read the others.
    let _ = stdin.write_all(text.as_bytes());
    drop(stdin);
    let output = node.wait_with_output().expect("it ends");
    let events = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("an event"))
        .collect();
    (events, output.status.code())
}

fn greeting(protocol: u32) -> Value {
    json!({ "protocol": protocol })
}

fn failure(events: &[Value]) -> &str {
    let last = events.last().expect("it says something");
    assert_eq!(last["event"], "failed", "{last}");
    last["error"].as_str().expect("in words")
}

#[test]
fn every_subcommand_says_its_protocol_first() {
    for subcommand in SUBCOMMANDS {
        let (events, _) = told(subcommand, &[]);
        assert_eq!(
            events[0],
            json!({ "event": "hello", "protocol": PROTOCOL }),
            "{subcommand}"
        );
    }
}

#[test]
fn every_subcommand_refuses_another_protocol_and_names_both() {
    for subcommand in SUBCOMMANDS {
        let (events, code) = told(subcommand, &[greeting(PROTOCOL + 41), json!({})]);
        let error = failure(&events);
        for part in [(PROTOCOL + 41).to_string(), PROTOCOL.to_string(), "make install".into()] {
            assert!(error.contains(&part), "{subcommand}: {error}");
        }
        assert_eq!(code, Some(3), "{subcommand}");
        // As from a controller that is older than the greeting.
        let (events, code) = told(subcommand, &[json!({ "seconds": 1 })]);
        assert!(failure(&events).contains("make install"));
        assert_eq!(code, Some(3), "{subcommand}");
    }
}

#[test]
fn stdin_that_ends_before_the_settings_is_a_failure() {
    for subcommand in SUBCOMMANDS {
        for lines in [&[][..], &[greeting(PROTOCOL)]] {
            let (events, code) = told(subcommand, lines);
            failure(&events);
            assert_eq!(code, Some(3), "{subcommand}");
        }
    }
}

#[test]
fn a_question_without_anybody_who_waits_for_the_answer_is_a_failure() {
    // There is no answer from there, so that stdin ends first whatever the machine does.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    let (events, code) = told("query", &[greeting(PROTOCOL), json!({ "http": { "url": url } })]);
    failure(&events);
    assert_eq!(code, Some(3));
}

#[test]
fn what_ends_with_stdin_ends_well() {
    let (events, code) = told("clock", &[greeting(PROTOCOL), json!({})]);
    assert_eq!((events.len(), code), (1, Some(0)), "{events:?}");
}

#[test]
fn an_unknown_command_is_a_failure() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", silent.local_addr().unwrap());
    for (subcommand, settings) in [
        ("clock", json!({})),
        (
            "sample",
            json!({ "proc_root": "/proc", "sys_root": "/sys", "interval_ms": 60_000, "speed_ms": null, "gauges_ms": 60_000, "emulated": null }),
        ),
        ("query", json!({ "http": { "url": url } })),
        (
            "supervise",
            json!({ "argv": ["sleep", "60"], "env": {}, "directory": "/", "log": "/dev/null", "grace_s": 20.0 }),
        ),
    ] {
        for command in [json!({ "command": "dance" }), json!({ "command": "written" })] {
            let (events, code) = told(subcommand, &[greeting(PROTOCOL), settings.clone(), command]);
            assert!(failure(&events).contains("command"), "{subcommand}: {events:?}");
            assert_eq!(code, Some(3), "{subcommand}");
        }
    }
}
