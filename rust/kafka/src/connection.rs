//! One connection to one broker: blocking calls for set-up, and non-blocking frames for the hot loops.

use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use bytes::{Buf, Bytes, BytesMut};

use crate::protocol::{Call, decode, encode};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// A response larger than this is no response but a stream out of step.
const FRAME_BYTES_MAX: usize = 256 << 20;
const READ_BYTES: usize = 256 << 10;

/// A connection to a broker.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    address: String,
    received: BytesMut,
    /// Where a read lands before it is appended: zeroed once, not per read.
    scratch: Vec<u8>,
    to_send: VecDeque<Bytes>,
    next_correlation: i32,
}

impl Connection {
    /// Connects to `host:port`.
    pub fn open(address: &str) -> Result<Self> {
        let target = address
            .to_socket_addrs()
            .with_context(|| format!("{address} is no address"))?
            .next()
            .with_context(|| format!("{address} resolves to nothing"))?;
        let stream = TcpStream::connect_timeout(&target, CONNECT_TIMEOUT)
            .with_context(|| format!("broker {address} cannot be reached"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(CALL_TIMEOUT))?;
        stream.set_write_timeout(Some(CALL_TIMEOUT))?;
        Ok(Self {
            stream,
            address: address.to_owned(),
            received: BytesMut::new(),
            scratch: vec![0; READ_BYTES],
            to_send: VecDeque::new(),
            next_correlation: 0,
        })
    }

    /// The broker's address, for messages.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Sends a request and waits for its response; for set-up, not for the hot path.
    pub fn call<Q: Call>(&mut self, request: &Q) -> Result<Q::Response> {
        let correlation = self.correlation();
        self.stream
            .write_all(&encode(correlation, request)?)
            .with_context(|| format!("broker {} took no {:?} request", self.address, Q::KEY))?;
        let frame = loop {
            if let Some(frame) = self.take_frame()? {
                break frame;
            }
            if self.read_some()? == 0 {
                bail!(
                    "broker {} closed the connection on a {:?} request",
                    self.address,
                    Q::KEY
                );
            }
        };
        let (answered, response) = decode::<Q>(frame)?;
        ensure!(answered == correlation, "broker {} answered out of step", self.address);
        Ok(response)
    }

    /// From here on nothing blocks: `send` queues, `pump` moves bytes.
    pub fn set_nonblocking(&mut self) -> Result<()> {
        self.stream
            .set_nonblocking(true)
            .context("a socket cannot be made non-blocking")
    }

    /// A correlation id not used before on this connection.
    pub fn correlation(&mut self) -> i32 {
        self.next_correlation = self.next_correlation.wrapping_add(1) & i32::MAX;
        self.next_correlation
    }

    /// Queues a frame and sends what the socket takes.
    pub fn send(&mut self, frame: Bytes) -> Result<()> {
        self.to_send.push_back(frame);
        self.flush()
    }

    /// True while queued bytes wait for the socket.
    pub fn wants_to_write(&self) -> bool {
        !self.to_send.is_empty()
    }

    /// Sends queued bytes until the socket takes no more.
    pub fn flush(&mut self) -> Result<()> {
        while let Some(front) = self.to_send.front_mut() {
            match self.stream.write(front) {
                Ok(written) if written == front.len() => {
                    self.to_send.pop_front();
                }
                Ok(written) => front.advance(written),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("connection to broker {} was lost", self.address));
                }
            }
        }
        Ok(())
    }

    /// Reads what has arrived. An error when the broker has closed the connection.
    pub fn receive(&mut self) -> Result<()> {
        match self.read_some() {
            Ok(0) => bail!("broker {} closed the connection", self.address),
            Ok(_) => Ok(()),
            Err(error) => match error.downcast_ref::<std::io::Error>() {
                Some(io) if matches!(io.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
                _ => Err(error).with_context(|| format!("connection to broker {} was lost", self.address)),
            },
        }
    }

    /// The next whole response frame without its length, if one has arrived.
    pub fn take_frame(&mut self) -> Result<Option<Bytes>> {
        if self.received.len() < 4 {
            return Ok(None);
        }
        let length = (&self.received[..4]).get_u32() as usize;
        ensure!(
            length <= FRAME_BYTES_MAX,
            "broker {} sent a frame of {length} bytes",
            self.address
        );
        if self.received.len() < 4 + length {
            self.received.reserve(4 + length - self.received.len());
            return Ok(None);
        }
        self.received.advance(4);
        Ok(Some(self.received.split_to(length).freeze()))
    }

    fn read_some(&mut self) -> Result<usize> {
        let read = self.stream.read(&mut self.scratch)?;
        self.received.extend_from_slice(&self.scratch[..read]);
        Ok(read)
    }
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}
