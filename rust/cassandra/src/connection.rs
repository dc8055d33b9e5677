//! One connection to one node: many requests in flight, each on its own stream.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::BytesMut;
use hydrotest_core::cluster::{ClusterSettings, Connects, Login};
use hydrotest_core::socket::Socket;
use hydrotest_core::tls;
use rustls::ClientConfig;

use crate::frame::{self, ColumnSpec, Execution, HEADER_BYTES, Preparation, Refusal, Response, Rows, UNPREPARED};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// Streams of a connection, from the protocol.
pub(crate) const STREAMS_MAX: usize = 1 << 15;
/// Capacity of the buffer in which frames are collected before they are sent together.
const OUT_BYTES: usize = 64 << 10;

/// A prepared statement, as described by a node.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// The start of every execution.
    head: Vec<u8>,
    /// The columns bound to its marks, and which of them are the partition key.
    pub(crate) values: Vec<ColumnSpec>,
    pub(crate) key: Vec<u16>,
    /// The columns that it returns.
    pub(crate) returned: Vec<ColumnSpec>,
}

/// How a connection is encrypted and logged in.
#[derive(Clone, Debug)]
pub(crate) struct Authenticator {
    tls: Option<Arc<ClientConfig>>,
    login: Option<Login>,
    connects: Connects,
}

impl Authenticator {
    /// Reads the files that the settings name.
    pub(crate) fn new(settings: &ClusterSettings) -> Result<Self> {
        Ok(Self {
            tls: settings.tls.as_ref().map(tls::config).transpose()?,
            login: settings.login.clone(),
            connects: settings.connects(),
        })
    }
}

/// The settings that all connections of a workload share.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionConfig {
    pub(crate) authenticator: Authenticator,
    pub(crate) execution: Execution,
    /// The keyspace of statements that name none.
    pub(crate) keyspace: Option<String>,
    /// The statements of a workload, as CQL.
    pub(crate) statements: Vec<String>,
}

/// The request in flight on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Out {
    Nothing,
    Operation(u64),
    /// The statement with this index.
    Prepare(usize),
}

/// A node's answer to an operation.
pub(crate) enum Answer<'a> {
    Void,
    Rows(Rows<'a>),
    Refused(Refusal<'a>),
    /// It has forgotten the statement: `prepare` it, then execute the operation again.
    Forgotten,
    /// A statement is prepared again: forgotten operations can be executed.
    Prepared,
}

/// A connection after the handshake, with its statements prepared.
#[derive(Debug)]
pub(crate) struct Connection {
    address: SocketAddr,
    socket: Socket,
    config: ConnectionConfig,
    out: BytesMut,
    streams: Vec<Out>,
    free: Vec<i16>,
    prepared: Vec<Prepared>,
}

impl Connection {
    /// Connects, greets and prepares; blocks. The error is the node's message.
    pub(crate) fn open(address: SocketAddr, config: &ConnectionConfig) -> Result<Self> {
        config.authenticator.connects.wait();
        let mut socket = Socket::connect(&address, CONNECT_TIMEOUT, CALL_TIMEOUT)
            .with_context(|| format!("node {address} cannot be reached"))?;
        if let Some(config) = &config.authenticator.tls {
            socket
                .secure(config, &address.ip().to_string())
                .with_context(|| format!("TLS handshake with node {address} failed"))?;
        }
        let mut connection = Self {
            address,
            socket,
            config: config.clone(),
            out: BytesMut::with_capacity(OUT_BYTES),
            streams: Vec::new(),
            free: Vec::new(),
            prepared: Vec::new(),
        };
        connection.greet()?;
        if let Some(keyspace) = &config.keyspace {
            connection.enter(keyspace)?;
        }
        for statement in &config.statements {
            let prepared = connection.prepared_now(statement)?;
            connection.prepared.push(prepared);
        }
        connection
            .socket
            .set_nonblocking()
            .context("a socket cannot be made non-blocking")?;
        Ok(connection)
    }

    /// Starts the protocol, and logs in where the node requires it.
    fn greet(&mut self) -> Result<()> {
        frame::put_startup(&mut self.out);
        let login = self.config.authenticator.login.clone();
        let wanted = self.call(|response| match (response, login) {
            (Response::Ready, _) => Ok(None),
            (Response::Authenticate(_), Some(login)) => Ok(Some(login)),
            (Response::Authenticate(class), None) => bail!("it requires a login ({class})"),
            (other, _) => bail!("it answered the greeting with {other:?}"),
        })?;
        let Some(login) = wanted else { return Ok(()) };
        frame::put_login(&mut self.out, &login.user, login.password.expose());
        self.call(|response| match response {
            Response::LoggedIn => Ok(()),
            other => bail!("it answered the login of {} with {other:?}", login.user),
        })
    }

    /// Sets the keyspace of statements that name none, from here on.
    fn enter(&mut self, keyspace: &str) -> Result<()> {
        frame::put_query(
            &mut self.out,
            &format!("USE {keyspace}"),
            self.config.execution.consistency,
        );
        self.call(|response| match response {
            Response::KeyspaceSet => Ok(()),
            other => bail!("it answered USE {keyspace} with {other:?}"),
        })
    }

    fn prepared_now(&mut self, statement: &str) -> Result<Prepared> {
        frame::put_prepare(&mut self.out, 0, statement);
        let execution = self.config.execution;
        self.call(|response| match response {
            Response::Prepared(preparation) => prepared(preparation, execution),
            other => bail!("it answered the statement {statement:?} with {other:?}"),
        })
        .with_context(|| format!("the statement {statement:?}"))
    }

    /// The prepared statements, by index.
    pub(crate) fn prepared(&self) -> &[Prepared] {
        &self.prepared
    }

    /// Sends the collected frames and waits for one answer, while the socket blocks.
    fn call<R>(&mut self, accept: impl FnOnce(Response<'_>) -> Result<R>) -> Result<R> {
        let address = self.address;
        self.flush()?;
        loop {
            if let Some((_, response, length)) = frame::take(self.socket.received())? {
                let accepted = match response {
                    Response::Refused(refusal) => bail!("node {address}: {}: {}", refusal.name(), refusal.message),
                    other => accept(other).with_context(|| format!("node {address}"))?,
                };
                self.socket.consume(length);
                return Ok(accepted);
            }
            self.socket
                .await_some()
                .with_context(|| format!("node {address} did not answer"))?;
        }
    }

    /// The socket to poll.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// True while so many more requests fit.
    pub(crate) fn has_room_for(&self, requests: usize) -> bool {
        self.free.len() + STREAMS_MAX - self.streams.len() >= requests
    }

    /// Collects the execution of a statement for operation `number`; `values` writes its values. `page`: where the page
    /// before has ended. Needs a free stream.
    pub(crate) fn execute(
        &mut self,
        number: u64,
        statement: usize,
        page: Option<&[u8]>,
        values: impl FnOnce(&mut BytesMut),
    ) {
        let stream = self.claim(Out::Operation(number));
        let head = &self.prepared[statement].head;
        frame::put_execute(&mut self.out, stream, head, self.config.execution, page, values);
    }

    /// Collects the preparation of a forgotten statement, unless it is under way. Needs a free stream.
    pub(crate) fn prepare(&mut self, statement: usize) {
        if self.streams.contains(&Out::Prepare(statement)) {
            return;
        }
        let stream = self.claim(Out::Prepare(statement));
        frame::put_prepare(&mut self.out, stream, &self.config.statements[statement]);
    }

    fn claim(&mut self, what: Out) -> i16 {
        let stream = self.free.pop().unwrap_or_else(|| {
            self.streams.push(Out::Nothing);
            i16::try_from(self.streams.len() - 1).expect("there was room")
        });
        self.streams[stream as usize] = what;
        stream
    }

    /// Sends all collected frames together. An error if the connection is lost.
    pub(crate) fn flush(&mut self) -> Result<()> {
        if !self.out.is_empty() {
            self.socket.queue(self.out.split().freeze());
            self.out.reserve(OUT_BYTES);
        }
        self.socket
            .flush()
            .with_context(|| format!("connection to node {} was lost", self.address))
    }

    /// Reads the answers that have arrived, and passes on each with the number of its operation (none for
    /// `Prepared`), and when it came. An error if the connection is lost or out of step.
    pub(crate) fn receive(&mut self, each: impl FnMut(Option<u64>, Answer<'_>, u64)) -> Result<()> {
        let address = self.address;
        self.socket
            .receive()
            .with_context(|| format!("connection to node {address} was lost"))?;
        self.take(each)
    }

    /// The same one by one, so that each has its own time.
    pub(crate) fn receive_one_by_one(&mut self, mut each: impl FnMut(Option<u64>, Answer<'_>, u64)) -> Result<()> {
        let address = self.address;
        loop {
            let received = self.socket.received();
            let missing = frame_bytes(received).unwrap_or(HEADER_BYTES) - received.len();
            let came = self.socket.receive_at_most(missing);
            if !came.with_context(|| format!("connection to node {address} was lost"))? {
                return Ok(());
            }
            self.take(&mut each)?;
        }
    }

    /// Takes the answers that were read.
    fn take(&mut self, mut each: impl FnMut(Option<u64>, Answer<'_>, u64)) -> Result<()> {
        let address = self.address;
        let arrived_ns = self.socket.arrived_ns();
        let mut at = 0;
        while let Some((stream, response, length)) = frame::take(&self.socket.received()[at..])? {
            at += length;
            let place = usize::try_from(stream)
                .ok()
                .and_then(|index| self.streams.get_mut(index));
            let out = place.map_or(Out::Nothing, |place| std::mem::replace(place, Out::Nothing));
            match (out, response) {
                (Out::Nothing, other) => bail!("node {address} sent an answer on a free stream: {other:?}"),
                (Out::Operation(number), response) => each(Some(number), answer(response), arrived_ns),
                (Out::Prepare(statement), Response::Prepared(preparation)) => {
                    self.prepared[statement] = prepared(preparation, self.config.execution)?;
                    each(None, Answer::Prepared, arrived_ns);
                }
                (Out::Prepare(_), other) => bail!("node {address} does not prepare a statement again: {other:?}"),
            }
            self.free.push(stream);
        }
        self.socket.consume(at);
        if let Some(bytes) = frame_bytes(self.socket.received()) {
            self.socket.expect(bytes);
        }
        Ok(())
    }

    /// The operations in flight.
    pub(crate) fn operations(&self) -> impl Iterator<Item = u64> {
        self.streams.iter().filter_map(|out| match out {
            Out::Operation(number) => Some(*number),
            _ => None,
        })
    }
}

/// Bytes of a frame that has begun; None before its header is there.
fn frame_bytes(received: &[u8]) -> Option<usize> {
    let length = received.get(5..HEADER_BYTES)?;
    Some(HEADER_BYTES + u32::from_be_bytes(length.try_into().ok()?) as usize)
}

fn prepared(preparation: Preparation<'_>, execution: Execution) -> Result<Prepared> {
    let id = preparation.id.to_vec();
    let (values, key, returned) = preparation.columns()?;
    let count = u16::try_from(values.len()).context("a statement with more marks than the protocol counts")?;
    Ok(Prepared {
        head: frame::execute_head(&id, execution, count),
        values,
        key,
        returned,
    })
}

fn answer(response: Response<'_>) -> Answer<'_> {
    match response {
        Response::Void => Answer::Void,
        Response::Rows(rows) => Answer::Rows(rows),
        Response::Refused(refusal) if refusal.code == UNPREPARED => Answer::Forgotten,
        Response::Refused(refusal) => Answer::Refused(refusal),
        _ => Answer::Refused(Refusal {
            code: 0x000A,
            message: "an answer of another kind",
        }),
    }
}
