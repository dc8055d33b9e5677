//! The systems' own gauges, scraped from an exporter on loopback in the Prometheus text format.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(2);
const BODY_BYTES_MAX: u64 = 1 << 20;

/// One scrape: series (name with its labels) → value.
pub type Gauges = BTreeMap<String, f64>;

/// Fetches and parses `http://host:port/path`.
pub fn scrape(url: &str) -> Result<Gauges, String> {
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
    write!(
        stream,
        "GET /{path} HTTP/1.0\r\nHost: {address}\r\nAccept: text/plain\r\n\r\n"
    )
    .map_err(failed)?;
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
    // A line without its end was cut off, and its number with it.
    Ok(parse(body.rsplit_once('\n').map_or("", |(whole, _)| whole)))
}

/// Parses the text format; comments, and values that are no finite numbers, are passed over.
pub fn parse(body: &str) -> Gauges {
    body.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let end_of_name = line
                .rfind('}')
                .map_or_else(|| line.find(' '), |brace| Some(brace + 1))?;
            let (series, rest) = line.split_at(end_of_name);
            let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
            value.is_finite().then(|| (series.to_owned(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_with_and_without_labels() {
        let body = "# HELP a b\na 1.5\nb{pool=\"x y\",} 2 1700000000\nc NaN\n\n";
        let gauges = parse(body);
        assert_eq!(
            gauges,
            BTreeMap::from([("a".to_owned(), 1.5), ("b{pool=\"x y\",}".to_owned(), 2.0)])
        );
    }
}
