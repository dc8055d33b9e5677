//! How a system is reached: addresses, encryption and login. The same for every system.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The settings that a generator needs to reach the system under test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterSettings {
    /// `host:port` of some of its services; they report the others.
    pub addresses: Vec<String>,
    pub tls: Option<TlsSettings>,
    pub login: Option<Login>,
}

impl ClusterSettings {
    /// Neither encrypted nor with a login.
    pub fn plain(addresses: Vec<String>) -> Self {
        Self {
            addresses,
            tls: None,
            login: None,
        }
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
