//! Refreshes the metadata of topics, and connects to its leaders, after a broker or a leadership was lost.

use std::collections::BTreeSet;
use std::sync::mpsc::Sender;
use std::time::Duration;

use hydrotest_core::background::{BackgroundTask, Finished};

use crate::access::Access;
use crate::connection::Connection;
use crate::partitions::{Leaders, ask_leaders};

/// Interval between two rounds; Kafka's own `reconnect.backoff.ms`.
const BACKOFF: Duration = Duration::from_millis(50);
/// With many clients the interval is this much for each of them, so that all together ask at most a thousand times a second. For a
/// thousand clients that is Kafka's own `reconnect.backoff.max.ms`.
const BACKOFF_PER_CLIENT: Duration = Duration::from_millis(1);

/// The result of a round; some leaders may not have been reached yet.
pub(crate) struct Found {
    pub(crate) leaders: Leaders,
    pub(crate) connections: Vec<Connection>,
}

/// Refreshes the leaders of topics.
pub(crate) struct MetadataRefresher {
    access: Access,
    names: Vec<String>,
    /// Connections opened to each broker.
    per_broker: usize,
    backoff: Duration,
    search: Option<BackgroundTask<Found>>,
}

impl MetadataRefresher {
    /// For one of `clients` that look for leaders at the same time, and open `per_broker` connections to each broker.
    pub(crate) fn new(access: &Access, names: &[String], per_broker: usize, clients: u32) -> Self {
        Self {
            access: access.clone(),
            names: names.to_vec(),
            per_broker,
            backoff: BACKOFF.max(BACKOFF_PER_CLIENT * clients),
            search: None,
        }
    }

    pub(crate) fn is_refreshing(&self) -> bool {
        self.search.is_some()
    }

    /// Starts the search, until every leader is reached. Brokers in `connected` need no other connection.
    pub(crate) fn refresh(&mut self, mut connected: Vec<String>) {
        let (access, names, per_broker) = (self.access.clone(), self.names.clone(), self.per_broker);
        let round = move |sender: &Sender<Found>| round(&access, &names, per_broker, &mut connected, sender);
        self.search = Some(BackgroundTask::spawn(self.backoff, round));
    }

    /// The result since the last call, if there is one.
    pub(crate) fn found(&mut self) -> Option<Found> {
        match self.search.as_ref()?.poll() {
            Ok(found) => found,
            Err(Finished) => {
                self.search = None;
                None
            }
        }
    }
}

/// Asks and connects once; true when every leader is reached, or no receiver is left.
fn round(
    access: &Access,
    names: &[String],
    per_broker: usize,
    connected: &mut Vec<String>,
    sender: &Sender<Found>,
) -> bool {
    // A broker that is away, or knows no leader yet, is asked again in the next round.
    let Ok(leaders) = access.open_any().and_then(|mut broker| ask_leaders(&mut broker, names)) else {
        return false;
    };
    let mut connections = Vec::new();
    let mut reached = true;
    let addresses: BTreeSet<&String> = leaders.values().collect();
    for address in addresses {
        if connected.contains(address) {
            continue;
        }
        match (0..per_broker)
            .map(|_| access.open(address))
            .collect::<Result<Vec<_>, _>>()
        {
            Ok(opened) => {
                connections.extend(opened);
                connected.push(address.clone());
            }
            Err(_) => reached = false,
        }
    }
    sender.send(Found { leaders, connections }).is_err() || reached
}
