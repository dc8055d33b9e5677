//! Finds a topic's leaders again after a broker or a leadership was lost, in a thread of its own: asking and connecting
//! block, and the hot loop must not.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Duration;

use crate::admin::{Leaders, ask_leaders, connect_any};
use crate::connection::Connection;

/// Between two rounds; Kafka's own `reconnect.backoff.ms`.
const BACKOFF: Duration = Duration::from_millis(50);

/// What a round found; some leaders may not have been reached yet.
pub(crate) struct Found {
    pub(crate) leaders: Leaders,
    pub(crate) connections: Vec<Connection>,
}

/// Looks for one topic's leaders.
pub(crate) struct Finder {
    bootstrap: Vec<String>,
    topic: String,
    /// Connections opened to each broker.
    per_broker: usize,
    /// The search that runs; it ends when the token is dropped.
    search: Option<(Receiver<Found>, Arc<()>)>,
}

impl Finder {
    pub(crate) fn new(bootstrap: &[String], topic: &str, per_broker: usize) -> Self {
        Self {
            bootstrap: bootstrap.to_vec(),
            topic: topic.to_owned(),
            per_broker,
            search: None,
        }
    }

    pub(crate) fn is_looking(&self) -> bool {
        self.search.is_some()
    }

    /// Begins to look, until every leader is reached. Brokers in `connected` need no other connection.
    pub(crate) fn look(&mut self, connected: Vec<String>) {
        let (sender, found) = mpsc::channel();
        let token = Arc::new(());
        let wanted = Arc::downgrade(&token);
        let (bootstrap, topic, per_broker) = (self.bootstrap.clone(), self.topic.clone(), self.per_broker);
        let search = move || {
            let mut connected = connected;
            while wanted.strong_count() > 0 {
                if round(&bootstrap, &topic, per_broker, &mut connected, &sender) {
                    return;
                }
                std::thread::sleep(BACKOFF);
            }
        };
        std::thread::Builder::new()
            .name("finder".into())
            .spawn(search)
            .expect("a thread can be started");
        self.search = Some((found, token));
    }

    /// What was found since the last call, if anything was.
    pub(crate) fn found(&mut self) -> Option<Found> {
        let (found, _) = self.search.as_ref()?;
        match found.try_recv() {
            Ok(found) => Some(found),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                self.search = None;
                None
            }
        }
    }
}

/// Asks and connects once; true when every leader is reached, or nobody wants to know any more.
fn round(
    bootstrap: &[String],
    topic: &str,
    per_broker: usize,
    connected: &mut Vec<String>,
    sender: &Sender<Found>,
) -> bool {
    // A broker that is away, or knows no leader yet, will be asked again: that is what the rounds are for.
    let Ok(leaders) = connect_any(bootstrap).and_then(|mut broker| ask_leaders(&mut broker, topic)) else {
        return false;
    };
    let mut connections = Vec::new();
    let mut reached = true;
    for address in leaders.values() {
        if connected.contains(address) {
            continue;
        }
        match (0..per_broker)
            .map(|_| Connection::open(address))
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
