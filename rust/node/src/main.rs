//! The one binary that hydrotest starts on a host. It takes its settings as a JSON line on stdin,
//! answers with JSON lines on stdout, listens on nothing, and ends when stdin does.

mod asks;
mod burden;
mod place;
mod sample;
mod supervise;

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use hydrotest_core::control::{AtEnd, FAILED, fail, greet, listen, read_settings};
use hydrotest_core::wire::{self, Event, Outcome, emit};
use serde::de::DeserializeOwned;

#[derive(Parser)]
#[command(version, about)]
struct Arguments {
    /// The host that this process is to belong to, where hosts are emulated on one machine.
    #[arg(long)]
    place: Option<PathBuf>,
    /// Of that host take the network and the names, but not the limits.
    #[arg(long, requires = "place")]
    unlimited: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Press a Kafka topic with records.
    Produce,
    /// Read a Kafka topic and check every record.
    Consume,
    /// Press a Cassandra table with reads and writes.
    Cql,
    /// Read this host's and its services' counters once a second.
    Sample,
    /// Measure what this host's cores, disk and link give.
    Ceiling,
    /// Start a service and end it, and all it started, when stdin ends.
    Supervise,
    /// Take what `ceiling` on another host sends, and tell how fast it came.
    Sink,
    /// Tell what this host's clock shows, as often as asked.
    Clock,
    /// Take a part of this machine's cores away from all but generators, until stdin ends.
    Burden,
    /// Ask a system one question: readiness, set-up, the state of what was stored.
    Ask,
}

fn main() {
    std::panic::set_hook(Box::new(|fault| {
        // Also of a thread at the side, without which the rest would go on and tell half of the truth.
        emit(&Event::Failed {
            error: format!("a fault in hydrotest itself: {fault}"),
        });
        std::process::exit(FAILED);
    }));
    let arguments = Arguments::parse();
    let placed = || {
        arguments
            .place
            .map_or(Ok(()), |file| place::enter(&file, arguments.unlimited))
    };
    let result = greet().and_then(|()| placed()).and_then(|()| match arguments.command {
        Command::Produce => generator(hydrotest_kafka::produce::run),
        Command::Consume => generator(hydrotest_kafka::consume::run),
        Command::Cql => generator(hydrotest_cassandra::press::run),
        Command::Sample => sample::run(),
        Command::Ceiling => asks::ceiling(),
        Command::Supervise => supervise::run(),
        Command::Sink => asks::sink(),
        Command::Clock => asks::clock(),
        Command::Burden => burden::run(),
        Command::Ask => asks::ask(),
    });
    if let Err(error) = result {
        fail(error);
    }
}

/// Runs one generator: settings, `go`, outcome.
fn generator<S: DeserializeOwned>(
    run: impl FnOnce(&S, &hydrotest_core::control::Control) -> anyhow::Result<Option<Outcome>>,
) -> Result<(), String> {
    let settings: S = read_settings()?;
    let takes = |command: &wire::Command| {
        matches!(
            command,
            wire::Command::Go { .. } | wire::Command::Written | wire::Command::Stop
        )
    };
    let control = listen(takes, AtEnd::Unanswered);
    match run(&settings, &control) {
        Ok(outcome) => {
            let result = serde_json::to_value(outcome).map_err(|error| error.to_string())?;
            control.answer(result);
            Ok(())
        }
        Err(error) => Err(format!("{error:#}")),
    }
}
