//! A TCP connection for hot loops. Outgoing bytes queue until the socket takes them; arrived bytes stay in
//! one buffer until they form complete frames. Blocking at first, for handshakes; encrypted on request.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustls::ClientConfig;

use crate::clock::{came_ns, monotonic_ns};
use crate::stamps;
use crate::tls::Tls;

const READ_BYTES: usize = 256 << 10;

thread_local! {
    /// Buffer of a read before it is appended: zeroed once, not per read, and one for all sockets of a thread. It stays in
    /// the core's cache. Reading straight into `received`, megabytes at a time, saved this copy and made a consumer slower.
    static SCRATCH: RefCell<Vec<u8>> = RefCell::new(vec![0; READ_BYTES]);
}

/// Lets this process have as many sockets as it may: the soft limit on open files is often 1,024.
pub fn allow_many() {
    let allowed = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: allowed.maximum,
        maximum: allowed.maximum,
    };
    if let Err(error) = setrlimit(Resource::Nofile, raised) {
        eprintln!(
            "hydrotest-node: the limit on open files stays at {:?}: {error}",
            allowed.current
        );
    }
}

/// A connection to a peer.
#[derive(Debug)]
pub struct Socket {
    stream: TcpStream,
    received: BytesMut,
    to_send: VecDeque<Bytes>,
    tls: Option<Tls>,
    is_stamped: bool,
    arrived_ns: u64,
    /// When nothing was there to be read: what is read later came later.
    empty_ns: u64,
    /// The last read filled its buffer: there is more.
    was_full: bool,
}

impl Socket {
    /// Connects; until `set_nonblocking`, reads and writes that take longer than `call_timeout` fail.
    pub fn connect(address: &SocketAddr, connect_timeout: Duration, call_timeout: Duration) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(address, connect_timeout)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(call_timeout))?;
        stream.set_write_timeout(Some(call_timeout))?;
        Ok(Self {
            stream,
            received: BytesMut::new(),
            to_send: VecDeque::new(),
            tls: None,
            is_stamped: false,
            arrived_ns: 0,
            empty_ns: 0,
            was_full: false,
        })
    }

    /// Encrypts all that follows; while the socket blocks. `host` is the name required in the peer's
    /// certificate.
    pub fn secure(&mut self, config: &Arc<ClientConfig>, host: &str) -> io::Result<()> {
        self.tls = Some(Tls::begin(config, host, &mut self.stream)?);
        Ok(())
    }

    /// From here on nothing blocks, and the kernel stamps what comes in, where it can. Of what is encrypted it cannot:
    /// several records may be in one read, and one in several.
    pub fn set_nonblocking(&mut self) -> io::Result<()> {
        self.is_stamped = self.tls.is_none() && stamps::ask_for(&self.stream).is_ok();
        self.stream.set_nonblocking(true)
    }

    /// Whether `arrived_ns` is the kernel's, however late it was read.
    pub fn is_stamped(&self) -> bool {
        self.is_stamped
    }

    /// When the newest of the bytes came that the last read gave (monotonic): as the kernel stamped it, else when they were
    /// read.
    pub fn arrived_ns(&self) -> u64 {
        self.arrived_ns
    }

    /// Queues bytes; `flush` sends them.
    pub fn queue(&mut self, bytes: Bytes) {
        self.to_send.push_back(bytes);
    }

    /// True while queued bytes wait for the socket.
    pub fn wants_to_write(&self) -> bool {
        !self.to_send.is_empty() || self.tls.as_ref().is_some_and(Tls::wants_to_write)
    }

    /// Sends queued bytes until the socket takes no more.
    pub fn flush(&mut self) -> io::Result<()> {
        while self.wants_to_write() {
            match self.send_some() {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn send_some(&mut self) -> io::Result<()> {
        while let Some(front) = self.to_send.front_mut() {
            let taken = match &mut self.tls {
                None => self.stream.write(front)?,
                Some(tls) => tls.encrypt(front)?,
            };
            match front.len() - taken {
                0 => drop(self.to_send.pop_front()),
                _ if taken == 0 => break,
                _ => front.advance(taken),
            }
        }
        match &mut self.tls {
            None => Ok(()),
            Some(tls) => tls.send(&mut self.stream),
        }
    }

    /// Reads the bytes that have arrived, if any. An error when the peer has closed the connection.
    pub fn receive(&mut self) -> io::Result<()> {
        self.receive_at_most(READ_BYTES).map(|_| ())
    }

    /// Reads at most so many, so that `arrived_ns` is theirs. False if none have arrived.
    pub fn receive_at_most(&mut self, bytes: usize) -> io::Result<bool> {
        match self.receive_some(bytes) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                (self.was_full, self.empty_ns) = (false, monotonic_ns());
                Ok(false)
            }
            received => received.map(|()| true),
        }
    }

    /// Whether something is to be done however late its answers may be taken: bytes wait to be sent, or the rest of an answer
    /// to be read.
    pub fn is_busy(&self) -> bool {
        self.wants_to_write() || self.was_full || !self.received.is_empty()
    }

    /// One read of at most so many bytes; what it yields is appended.
    fn receive_some(&mut self, bytes: usize) -> io::Result<()> {
        SCRATCH.with_borrow_mut(|scratch| {
            let scratch = &mut scratch[..bytes.min(READ_BYTES)];
            let (read, stamp) = if self.is_stamped {
                stamps::read(&self.stream, scratch)?
            } else {
                (self.stream.read(scratch)?, None)
            };
            if read == 0 {
                return Err(closed());
            }
            self.arrived_ns = stamp.map_or_else(monotonic_ns, |stamp| came_ns(stamp, self.empty_ns));
            self.was_full = read == scratch.len();
            match &mut self.tls {
                None => {
                    self.received.extend_from_slice(&scratch[..read]);
                    Ok(())
                }
                Some(tls) => tls.decrypt(&scratch[..read], &mut self.received),
            }
        })
    }

    /// Reads until some bytes have arrived; an error after the timeout of calls. While the socket blocks.
    pub fn await_some(&mut self) -> io::Result<()> {
        let before = self.received.len();
        loop {
            match self.receive_some(READ_BYTES) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err(io::Error::new(ErrorKind::TimedOut, "the peer did not answer"));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // A part of an encrypted record yields no bytes yet.
            if self.received.len() > before {
                return Ok(());
            }
        }
    }

    /// The bytes that have arrived and were not taken yet.
    pub fn received(&self) -> &[u8] {
        &self.received
    }

    /// Reserves space for a frame of which only the beginning has arrived.
    pub fn expect(&mut self, bytes: usize) {
        self.received.reserve(bytes.saturating_sub(self.received.len()));
    }

    /// Takes bytes that have arrived, without copying them.
    pub fn take(&mut self, bytes: usize) -> Bytes {
        self.received.split_to(bytes).freeze()
    }

    /// Drops bytes that have arrived.
    pub fn consume(&mut self, bytes: usize) {
        self.received.advance(bytes);
    }
}

fn closed() -> io::Error {
    io::Error::new(ErrorKind::UnexpectedEof, "the peer closed the connection")
}

/// Waits until one of `sockets` can be read (or written, where bytes wait), or `timeout_ns` has passed.
/// Returns the indexes of those that are ready. None stands for one that is not connected.
pub fn wait<'a>(sockets: impl Iterator<Item = Option<&'a Socket>>, timeout_ns: u64) -> io::Result<Vec<usize>> {
    let (indexes, mut polled): (Vec<usize>, Vec<PollFd<'_>>) = sockets
        .enumerate()
        .filter_map(|(index, socket)| {
            let socket = socket?;
            let mut flags = PollFlags::IN;
            if socket.wants_to_write() {
                flags |= PollFlags::OUT;
            }
            Some((index, PollFd::new(&socket.stream, flags)))
        })
        .unzip();
    let timeout = Timespec {
        tv_sec: (timeout_ns / 1_000_000_000) as i64,
        tv_nsec: (timeout_ns % 1_000_000_000) as i64,
    };
    match poll(&mut polled, Some(&timeout)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(error.into()),
    }
    let active = indexes.into_iter().zip(&polled);
    Ok(active
        .filter(|(_, fd)| !fd.revents().is_empty())
        .map(|(index, _)| index)
        .collect())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn what_is_read_in_parts_has_the_time_at_which_it_came() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let timeout = Duration::from_secs(5);
        let mut here = Socket::connect(&listener.local_addr().unwrap(), timeout, timeout).unwrap();
        let (mut there, _) = listener.accept().unwrap();
        here.set_nonblocking().unwrap();
        assert!(here.is_stamped());
        for _ in 0..20 {
            assert!(!here.receive_at_most(9).unwrap());
            there.write_all(b"an answer of some bytes").unwrap();
            let sent = monotonic_ns();
            std::thread::sleep(Duration::from_millis(4));
            while here.receive_at_most(9).unwrap() {}
            assert_eq!(here.received().len(), 23);
            here.consume(23);
            // The kernel begins to stamp a moment after it was asked for the first time.
            let late_ns = here.arrived_ns().saturating_sub(sent);
            if late_ns < 1_000_000 {
                return;
            }
        }
        panic!("it came when it was read");
    }
}
