//! How a system is reached: addresses, encryption and login. The same for every system.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// The settings that a generator needs to reach the system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// `host:port` of some of its services; they report the others.
    pub addresses: Vec<String>,
    pub tls: Option<TlsSettings>,
    pub login: Option<Login>,
    /// Most connections that this process opens a second, where the cluster has other users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connects_per_s: Option<f64>,
}

impl ClusterSettings {
    /// Neither encrypted nor with a login.
    pub fn plain(addresses: Vec<String>) -> Self {
        Self {
            addresses,
            tls: None,
            login: None,
            connects_per_s: None,
        }
    }

    /// The pace at which connections may be opened.
    pub fn connects(&self) -> Connects {
        Connects {
            interval: self.connects_per_s.map(|per_s| Duration::from_secs_f64(1.0 / per_s)),
        }
    }
}

/// When this process may open its next connection; its threads share one pace.
static NEXT: Mutex<Option<Instant>> = Mutex::new(None);

/// How fast connections may be opened.
#[derive(Clone, Copy, Debug)]
pub struct Connects {
    interval: Option<Duration>,
}

impl Connects {
    /// Waits until another connection may be opened; blocks.
    pub fn wait(self) {
        let Some(interval) = self.interval else { return };
        let turn = {
            let mut next = NEXT.lock().unwrap_or_else(PoisonError::into_inner);
            let turn = next.unwrap_or_else(Instant::now).max(Instant::now());
            *next = Some(turn + interval);
            turn
        };
        sleep(turn.saturating_duration_since(Instant::now()));
    }
}

/// Encryption, as PEM texts: a generator's host need not have them as files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsSettings {
    /// Certificates of the authorities that may have signed a service's.
    pub authority: String,
    /// Our own certificate, with its key, where a service asks for one.
    pub identity: Option<IdentitySettings>,
}

/// A certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IdentitySettings {
    pub certificate: String,
    pub key: Secret,
}

/// User and password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Login {
    /// How the password is proven, by SASL's name for it: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`.
    pub mechanism: String,
    pub user: String,
    pub password: Secret,
}

/// Text that never appears in a message.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the service that requires it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_opened_no_faster_than_allowed() {
        let paced = ClusterSettings {
            connects_per_s: Some(200.0),
            ..ClusterSettings::plain(Vec::new())
        };
        let begun = Instant::now();
        let threads: Vec<_> = (0..3)
            .map(|_| {
                let connects = paced.connects();
                std::thread::spawn(move || (0..4).for_each(|_| connects.wait()))
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        // Twelve turns: the last one comes eleven intervals after the first.
        assert!(begun.elapsed() >= Duration::from_millis(55));
    }

    #[test]
    fn a_password_is_not_shown() {
        let login = Login {
            mechanism: "PLAIN".into(),
            user: "alice".into(),
            password: Secret("sesame".into()),
        };
        assert!(!format!("{login:?}").contains("sesame"));
        assert_eq!(login.password.expose(), "sesame");
    }
}
