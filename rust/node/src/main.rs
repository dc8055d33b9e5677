//! The one binary that hydrotest starts on a host. It takes its settings as a JSON line on stdin,
//! answers with JSON lines on stdout, listens on nothing but to measure (`sink`, `clock`), and ends when stdin does.

mod admin_query;
mod ceiling;
mod clock;
mod cpu_hog;
mod evict;
mod histograms;
mod hub;
mod look;
mod namespace;
mod rate;
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
    /// A file that describes the emulated host whose namespaces and control groups this process enters.
    #[arg(long, value_name = "FILE")]
    enter_namespace: Option<PathBuf>,
    /// Enter the namespaces of that host, but not its control groups.
    #[arg(long, requires = "enter_namespace")]
    unlimited: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Produce records to a Kafka topic at a given load.
    Produce,
    /// Read a Kafka topic and check every record.
    Consume,
    /// Read a Kafka topic by consumer groups, with Kafka's own consumer as their members.
    Group,
    /// Read and write a Cassandra table at a given load.
    Cql,
    /// Read this host's and its services' counters once a second.
    Sample,
    /// Measure what this host's cores, disk and link give.
    Ceiling,
    /// Measure how fast this host's cores are at several kinds of work.
    Rate,
    /// Start a service and end it, and all it started, when stdin ends.
    Supervise,
    /// Receive what `ceiling` on another host sends, and report the rate.
    Sink,
    /// Report this host's wall time, as often as asked, also to other hosts.
    Clock,
    /// Report how far this host's clock is ahead of another's.
    ClockOffset,
    /// Occupy a share of each core, ahead of all but generators, until stdin ends.
    CpuHog,
    /// Take the files of a folder out of the page cache.
    Evict,
    /// Sum the histograms of interval logs, as often as asked.
    Histograms,
    /// Send a system one admin query: readiness, set-up, the state of what was stored.
    Query,
    /// Report the state of a cluster that others use, as often as asked.
    Look,
    /// Carry all nodes, files and ports of this host over one stdin and stdout.
    Hub,
}

fn main() {
    std::panic::set_hook(Box::new(|fault| {
        // Also from a side thread: without it the rest would go on and report only a part.
        emit(&Event::Failed {
            error: format!("a fault in hydrotest itself: {fault}"),
        });
        std::process::exit(FAILED);
    }));
    let arguments = Arguments::parse();
    let enter_namespace = || {
        arguments
            .enter_namespace
            .map_or(Ok(()), |file| namespace::enter(&file, arguments.unlimited))
    };
    // Its questions are all that it knows: what does not fit them ends it.
    let greeted = if matches!(arguments.command, Command::Histograms) {
        Ok(())
    } else {
        greet()
    };
    let result = greeted
        .and_then(|()| enter_namespace())
        .and_then(|()| match arguments.command {
            Command::Produce => generator(hydrotest_kafka::produce::run, is_for_all),
            Command::Consume => generator(hydrotest_kafka::consume::run, is_for_all),
            Command::Group => generator(hydrotest_kafka::group::run, |command| {
                is_for_all(command) || matches!(command, wire::Command::Member { .. })
            }),
            Command::Cql => generator(hydrotest_cassandra::load_driver::run, is_for_all),
            Command::Sample => sample::run(),
            Command::Ceiling => ceiling::ceiling(),
            Command::Rate => rate::run(),
            Command::Supervise => supervise::run(),
            Command::Sink => ceiling::sink(),
            Command::Clock => clock::run(),
            Command::ClockOffset => clock::offset(),
            Command::CpuHog => cpu_hog::run(),
            Command::Evict => evict::run(),
            Command::Histograms => histograms::run(),
            Command::Query => admin_query::run(),
            Command::Look => look::run(),
            Command::Hub => hub::run(),
        });
    if let Err(error) = result {
        fail(error);
    }
}

/// The commands that every generator takes.
fn is_for_all(command: &wire::Command) -> bool {
    matches!(
        command,
        wire::Command::Go { .. } | wire::Command::Written | wire::Command::Stop
    )
}

/// Runs one generator: settings, `go`, outcome.
fn generator<S: DeserializeOwned>(
    run: impl FnOnce(&S, &hydrotest_core::control::Control) -> anyhow::Result<Option<Outcome>>,
    takes: fn(&wire::Command) -> bool,
) -> Result<(), String> {
    let settings: S = read_settings()?;
    hydrotest_core::socket::allow_many();
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
