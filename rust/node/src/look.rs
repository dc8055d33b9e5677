//! The state of a cluster that others use: reported as often as asked, over connections that stay.

use std::time::Duration;

use hydrotest_cassandra::look::Looking as LookingAtRing;
use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_core::wire::{Command, Event, emit};
use hydrotest_kafka::contact::Looking as LookingAtBrokers;
use hydrotest_sampler::http::get;
use serde::Deserialize;
use serde_json::json;

/// A page that takes longer is none: somebody waits for the look.
const PAGE_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Settings {
    Kafka {
        cluster: ClusterSettings,
    },
    Cassandra {
        cluster: ClusterSettings,
        /// Only its nodes count; null: all.
        data_center: Option<String>,
    },
    /// Pages in which a service shows its state.
    Pages {
        urls: Vec<String>,
    },
}

/// Looks whenever asked, until stdin ends. What cannot be seen is an answer, too: the next look may succeed.
pub fn run() -> Result<(), String> {
    let settings: Settings = read_settings()?;
    let control = listen(|command| matches!(command, Command::Report), AtEnd::Enough);
    let mut look: Box<dyn FnMut() -> anyhow::Result<serde_json::Value>> = match settings {
        Settings::Kafka { cluster } => {
            let mut looking = LookingAtBrokers::new(&cluster).map_err(|error| format!("{error:#}"))?;
            Box::new(move || looking.look())
        }
        Settings::Cassandra { cluster, data_center } => {
            let mut open = None;
            Box::new(move || {
                if open.is_none() {
                    open = Some(LookingAtRing::open(&cluster, data_center.clone())?);
                }
                open.as_ref()
                    .map(LookingAtRing::look)
                    .ok_or_else(|| anyhow::anyhow!("not open"))
            })
        }
        Settings::Pages { urls } => Box::new(move || {
            let pages = urls.iter().map(|url| get(url, PAGE_TIMEOUT));
            Ok(json!({ "pages": pages.collect::<Result<Vec<_>, _>>().map_err(anyhow::Error::msg)? }))
        }),
    };
    while control.commands.recv().is_ok() {
        let result = look().unwrap_or_else(|error| json!({ "error": format!("{error:#}") }));
        emit(&Event::Looked { result });
    }
    Ok(())
}
