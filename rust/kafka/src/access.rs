//! Connections to a cluster's brokers: encrypted and logged in by its settings.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use hydrotest_core::cluster::{ClusterSettings, Connects, Login};
use hydrotest_core::tls;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;
use rsasl::prelude::{Mechname, SASLClient, SASLConfig};
use rustls::ClientConfig;

use crate::connection::Connection;
use crate::protocol::error_name;

/// Opens connections.
#[derive(Clone, Debug)]
pub struct Access {
    bootstrap: Vec<String>,
    tls: Option<Arc<ClientConfig>>,
    login: Option<Login>,
    connects: Connects,
}

impl Access {
    /// Reads the files that the settings name.
    pub fn new(settings: &ClusterSettings) -> Result<Self> {
        Ok(Self {
            bootstrap: settings.addresses.clone(),
            tls: settings.tls.as_ref().map(tls::config).transpose()?,
            login: settings.login.clone(),
            connects: settings.connects(),
        })
    }

    /// A connection to the broker at `host:port`.
    pub fn open(&self, address: &str) -> Result<Connection> {
        self.connects.wait();
        let mut connection = Connection::open(address, self.tls.as_ref())?;
        if let Some(login) = &self.login {
            log_in(&mut connection, login)
                .with_context(|| format!("broker {address} refuses the login of {}", login.user))?;
        }
        Ok(connection)
    }

    /// A connection to the first broker that answers.
    pub fn open_any(&self) -> Result<Connection> {
        let mut reasons = Vec::new();
        for address in &self.bootstrap {
            match self.open(address) {
                Ok(connection) => return Ok(connection),
                Err(error) => reasons.push(format!("{error:#}")),
            }
        }
        bail!("no broker answers: {}", reasons.join("; "))
    }
}

/// SASL within Kafka's protocol: both sides agree on the mechanism, then exchange its tokens. Source: Kafka
/// documentation, "SASL Authentication Sequence" (`SaslHandshake` 1, `SaslAuthenticate`).
fn log_in(connection: &mut Connection, login: &Login) -> Result<()> {
    let handshake = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_string(login.mechanism.clone()));
    let answer = connection.call(&handshake)?;
    if let Some(name) = error_name(answer.error_code) {
        let known: Vec<&str> = answer.mechanisms.iter().map(|mechanism| mechanism.as_str()).collect();
        bail!("{name}: it knows {}, not {}", known.join(", "), login.mechanism);
    }
    let config = SASLConfig::with_credentials(None, login.user.clone(), login.password.expose().to_owned())
        .context("the login cannot be used")?;
    let mechanism = Mechname::parse(login.mechanism.as_bytes()).context("unknown SASL mechanism")?;
    let mut session = SASLClient::new(config)
        .start_suggested(&[mechanism])
        .with_context(|| format!("{} is not supported", login.mechanism))?;
    let mut challenge: Option<Vec<u8>> = None;
    loop {
        let mut token = Vec::new();
        let state = session
            .step(challenge.as_deref(), &mut token)
            .context("the broker's answer to the login is wrong")?;
        if state.has_sent_message() {
            let answer = connection.call(&SaslAuthenticateRequest::default().with_auth_bytes(token.into()))?;
            if let Some(name) = error_name(answer.error_code) {
                bail!(
                    "{name}: {}",
                    answer.error_message.as_ref().map_or("", |text| text.as_str())
                );
            }
            challenge = Some(answer.auth_bytes.to_vec());
        }
        if state.is_finished() {
            return Ok(());
        }
    }
}
