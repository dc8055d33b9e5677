//! One connection to one broker: blocking calls for set-up, and frames for the hot loops.

use std::collections::BTreeMap;
use std::net::ToSocketAddrs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, Bytes};
use hydrotest_core::socket::Socket;
use kafka_protocol::messages::ApiVersionsRequest;
use kafka_protocol::protocol::StrBytes;
use rustls::ClientConfig;

use crate::protocol::{Call, agreed, decode, encode, error_name};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// A larger frame is not a response: the stream is out of step.
const FRAME_BYTES_MAX: usize = 256 << 20;
const LENGTH_BYTES: usize = 4;

/// A connection to a broker.
#[derive(Debug)]
pub struct Connection {
    socket: Socket,
    address: String,
    next_correlation: i32,
    /// The broker's oldest and newest version by the request's key; empty until it was asked.
    served: BTreeMap<i16, (i16, i16)>,
}

impl Connection {
    /// Connects to `host:port`, encrypted with `tls`.
    pub fn open(address: &str, tls: Option<&Arc<ClientConfig>>) -> Result<Self> {
        let target = address
            .to_socket_addrs()
            .with_context(|| format!("invalid address {address}"))?
            .next()
            .with_context(|| format!("{address} resolves to nothing"))?;
        let mut socket = Socket::connect(&target, CONNECT_TIMEOUT, CALL_TIMEOUT)
            .with_context(|| format!("broker {address} cannot be reached"))?;
        if let Some(config) = tls {
            let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
            socket
                .secure(config, host)
                .with_context(|| format!("TLS handshake with broker {address} failed"))?;
        }
        let mut connection = Self {
            socket,
            address: address.to_owned(),
            next_correlation: 0,
            served: BTreeMap::new(),
        };
        connection.ask_versions()?;
        Ok(connection)
    }

    fn ask_versions(&mut self) -> Result<()> {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(StrBytes::from_static_str("hydrotest"))
            .with_client_software_version(StrBytes::from_static_str(env!("CARGO_PKG_VERSION")));
        let answer = self.call(&request)?;
        if let Some(name) = error_name(answer.error_code) {
            bail!("broker {} does not report its API versions: {name}", self.address);
        }
        self.served = answer
            .api_keys
            .iter()
            .map(|api| (api.api_key, (api.min_version, api.max_version)))
            .collect();
        Ok(())
    }

    /// The newest version of a request that both sides support.
    fn version<Q: Call>(&self) -> Result<i16> {
        if self.served.is_empty() {
            return Ok(*Q::VERSIONS.end());
        }
        let (oldest, newest) = *self
            .served
            .get(&(Q::KEY as i16))
            .with_context(|| format!("broker {} does not serve {:?}", self.address, Q::KEY))?;
        agreed::<Q>(oldest, newest).with_context(|| format!("broker {}", self.address))
    }

    /// A request as a frame, in the version that both sides support.
    pub fn encode<Q: Call>(&self, correlation: i32, request: &Q) -> Result<Bytes> {
        encode(correlation, request, self.version::<Q>()?)
    }

    /// Correlation id and body of a response frame.
    pub fn decode<Q: Call>(&self, frame: Bytes) -> Result<(i32, Q::Response)> {
        decode::<Q>(frame, self.version::<Q>()?)
    }

    /// The broker's address, for messages.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and waits for its response; for set-up, not for the hot path.
    pub fn call<Q: Call>(&mut self, request: &Q) -> Result<Q::Response> {
        let correlation = self.correlation();
        let failed = |address: &str| format!("broker {address} did not answer a {:?} request", Q::KEY);
        let frame = self.encode(correlation, request)?;
        self.socket.queue(frame);
        self.socket.flush().with_context(|| failed(&self.address))?;
        let frame = loop {
            if let Some(frame) = self.take_frame()? {
                break frame;
            }
            self.socket.await_some().with_context(|| failed(&self.address))?;
        };
        let (answered, response) = self.decode::<Q>(frame)?;
        ensure!(answered == correlation, "broker {} answered out of step", self.address);
        Ok(response)
    }

    /// From here on nothing blocks: `send` queues, `pump` moves bytes.
    pub fn set_nonblocking(&mut self) -> Result<()> {
        self.socket
            .set_nonblocking()
            .context("a socket cannot be made non-blocking")
    }

    /// The socket to poll.
    pub fn socket(&self) -> &Socket {
        &self.socket
    }

    /// A correlation id not used before on this connection.
    pub fn correlation(&mut self) -> i32 {
        self.next_correlation = self.next_correlation.wrapping_add(1) & i32::MAX;
        self.next_correlation
    }

    /// Queues a frame and sends what the socket takes.
    pub fn send(&mut self, frame: Bytes) -> Result<()> {
        self.socket.queue(frame);
        self.socket.flush().with_context(|| self.lost())
    }

    /// Sends queued bytes and reads those that have arrived, of `one` response at most. False if none have; an error when the
    /// connection is lost.
    pub fn pump(&mut self, one: bool) -> Result<bool> {
        let most = if one { self.missing() } else { usize::MAX };
        self.socket
            .flush()
            .and_then(|()| self.socket.receive_at_most(most))
            .with_context(|| self.lost())
    }

    /// Bytes that are not there yet of the next response, or of its length.
    fn missing(&self) -> usize {
        let mut received = self.socket.received();
        if received.len() < LENGTH_BYTES {
            return LENGTH_BYTES - received.len();
        }
        let length = received.get_u32() as usize;
        length.saturating_sub(received.len()).max(1)
    }

    /// When the newest bytes came (monotonic).
    pub fn arrived_ns(&self) -> u64 {
        self.socket.arrived_ns()
    }

    /// The next complete response frame without its length, if one has arrived.
    pub fn take_frame(&mut self) -> Result<Option<Bytes>> {
        let mut received = self.socket.received();
        if received.len() < LENGTH_BYTES {
            return Ok(None);
        }
        let length = received.get_u32() as usize;
        ensure!(
            length <= FRAME_BYTES_MAX,
            "broker {} sent a frame of {length} bytes",
            self.address
        );
        if received.len() < length {
            self.socket.expect(LENGTH_BYTES + length);
            return Ok(None);
        }
        self.socket.consume(LENGTH_BYTES);
        Ok(Some(self.socket.take(length)))
    }

    fn lost(&self) -> String {
        format!("connection to broker {} was lost", self.address)
    }
}
