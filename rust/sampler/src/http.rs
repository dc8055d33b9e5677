//! The only HTTP request that is needed: a page of a service on this host. A library would bring an executor
//! and TLS along.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// A NameNode shows some 600 bytes of each of its DataNodes.
const BODY_BYTES_MAX: u64 = 16 << 20;

/// Fetches `http://host:port/path` within `patience`, however slow the answer is. One of more than
/// 16 MiB is an error.
pub fn get(url: &str, patience: Duration) -> Result<String, String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("{url} is not http"))?;
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let failed = |error: std::io::Error| match error.kind() {
        // The error of a socket after its timeout.
        ErrorKind::WouldBlock => format!("{url} did not answer within {} s", patience.as_secs_f64()),
        _ => format!("{url}: {error}"),
    };
    let target = address
        .to_socket_addrs()
        .map_err(failed)?
        .next()
        .ok_or_else(|| format!("{url} resolves to nothing"))?;
    let give_up = Instant::now() + patience;
    let mut stream = TcpStream::connect_timeout(&target, CONNECT_TIMEOUT.min(patience)).map_err(failed)?;
    stream.set_write_timeout(Some(patience)).map_err(failed)?;
    // HTTP/1.0: the answer ends with the connection, with no chunks to put together.
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {address}\r\nAccept: */*\r\n\r\n").map_err(failed)?;
    let mut answer = String::new();
    Until { stream, give_up }
        .take(BODY_BYTES_MAX)
        .read_to_string(&mut answer)
        .map_err(failed)?;
    if answer.len() as u64 == BODY_BYTES_MAX {
        return Err(format!("{url}: more than {} MiB", BODY_BYTES_MAX >> 20));
    }
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| format!("{url}: no HTTP answer"))?;
    if !head.lines().next().is_some_and(|status| status.contains(" 200 ")) {
        return Err(format!("{url}: {}", head.lines().next().unwrap_or_default()));
    }
    Ok(body.to_owned())
}

/// A connection with one deadline for all its reads together.
struct Until {
    stream: TcpStream,
    give_up: Instant,
}

impl Read for Until {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let left = self.give_up.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::WouldBlock.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        self.stream.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_page_that_drips_has_no_more_patience_than_one_that_does_not_come() {
        let slow = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", slow.local_addr().unwrap());
        let dripping = std::thread::spawn(move || {
            let (mut stream, _) = slow.accept().unwrap();
            // Ends when the other side has gone.
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        assert_eq!(
            get(&url, Duration::from_millis(50)),
            Err(format!("{url} did not answer within 0.05 s"))
        );
        dripping.join().unwrap();
    }

    #[test]
    fn a_page_that_does_not_come_is_told_with_the_patience_it_had() {
        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/metrics", silent.local_addr().unwrap());
        assert_eq!(
            get(&url, Duration::from_millis(50)),
            Err(format!("{url} did not answer within 0.05 s"))
        );
    }
}
