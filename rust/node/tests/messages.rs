//! The golden messages: the node understands the controller's messages, and sends those that the controller
//! understands (tests/test_messages.py reads the same files).

use std::path::PathBuf;

use hydrotest_cassandra::settings::CqlSettings;
use hydrotest_core::wire::{Command, Event, Greeting, Outcome, PROTOCOL};
use hydrotest_kafka::settings::{ConsumeSettings, GroupSettings, ProduceSettings};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn golden(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../contract/messages")
        .join(name);
    std::fs::read_to_string(path).expect("the golden message is there")
}

fn round_trips<T: DeserializeOwned + Serialize>(text: &str) {
    let parsed: T = serde_json::from_str(text).expect("the message is understood");
    let again = serde_json::to_value(&parsed).expect("messages are plain data");
    assert_eq!(again, serde_json::from_str::<serde_json::Value>(text).unwrap());
}

#[test]
fn settings_are_understood() {
    round_trips::<ProduceSettings>(&golden("produce.settings.json"));
    round_trips::<ConsumeSettings>(&golden("consume.settings.json"));
    round_trips::<GroupSettings>(&golden("group.settings.json"));
    round_trips::<CqlSettings>(&golden("cql.settings.json"));
    round_trips::<CqlSettings>(&golden("cql-own.settings.json"));
    round_trips::<CqlSettings>(&golden("cql-shaped.settings.json"));
    round_trips::<ProduceSettings>(&golden("produce-listed.settings.json"));
}

#[test]
fn commands_are_understood() {
    golden("commands.jsonl").lines().for_each(round_trips::<Command>);
}

#[test]
fn both_speak_this_protocol() {
    let greeting: Greeting = serde_json::from_str(&golden("greeting.json")).unwrap();
    assert_eq!(greeting.protocol, PROTOCOL);
}

#[test]
fn events_are_said_as_agreed() {
    for line in golden("events.jsonl").lines() {
        round_trips::<Event>(line);
        if let Event::Done { result } = serde_json::from_str(line).unwrap() {
            round_trips::<Outcome>(&result.to_string());
        }
    }
}

#[test]
fn an_unknown_setting_is_refused_by_name() {
    let text = golden("consume.settings.json").replace("\"reading\"", "\"raeding\"");
    let error = serde_json::from_str::<ConsumeSettings>(&text).unwrap_err().to_string();
    assert!(error.contains("raeding"), "{error}");
}
