//! The one HTTP request that is needed: a page of a service on this host. No library: they bring an executor and TLS along.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);
const BODY_BYTES_MAX: u64 = 1 << 20;

/// Fetches `http://host:port/path`; what is longer than a mebibyte is cut.
pub fn get(url: &str) -> Result<String, String> {
    let rest = url
        .strip_prefix("http://")
        .ok_or_else(|| format!("{url} is not http"))?;
    let (address, path) = rest.split_once('/').unwrap_or((rest, ""));
    let failed = |error: std::io::Error| format!("{url}: {error}");
    let target = address
        .to_socket_addrs()
        .map_err(failed)?
        .next()
        .ok_or_else(|| format!("{url} resolves to nothing"))?;
    let mut stream = TcpStream::connect_timeout(&target, TIMEOUT).map_err(failed)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(failed)?;
    // HTTP/1.0: the answer ends with the connection, with no chunks to put together.
    write!(stream, "GET /{path} HTTP/1.0\r\nHost: {address}\r\nAccept: */*\r\n\r\n").map_err(failed)?;
    let mut answer = String::new();
    stream
        .take(BODY_BYTES_MAX)
        .read_to_string(&mut answer)
        .map_err(failed)?;
    let (head, body) = answer
        .split_once("\r\n\r\n")
        .ok_or_else(|| format!("{url}: no HTTP answer"))?;
    if !head.lines().next().is_some_and(|status| status.contains(" 200 ")) {
        return Err(format!("{url}: {}", head.lines().next().unwrap_or_default()));
    }
    Ok(body.to_owned())
}
