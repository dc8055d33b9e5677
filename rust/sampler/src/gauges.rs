//! The systems' own gauges, scraped from an exporter on loopback in the Prometheus text format.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::http::get;

/// One scrape: series (name with its labels) → value.
pub type Gauges = BTreeMap<String, f64>;

/// A slower exporter misses a scrape, and later scrapes come in time.
const PATIENCE: Duration = Duration::from_secs(2);

/// The last result by service, until it is taken.
pub type Scraped = Arc<Mutex<BTreeMap<String, Result<Gauges, String>>>>;

/// Scrapes exporters, each in its own thread: one that hangs costs only its own gauges.
#[derive(Debug, Default)]
pub struct Scraper {
    pub scraped: Scraped,
    /// Exporters without an answer so far; they are not asked again meanwhile.
    out: Arc<Mutex<BTreeSet<String>>>,
}

impl Scraper {
    /// Begins to scrape these (service, URL), and returns at once.
    pub fn begin(&self, urls: impl IntoIterator<Item = (String, String)>) {
        for (service, url) in urls {
            if !held(&self.out).insert(service.clone()) {
                continue;
            }
            let (scraped, out) = (self.scraped.clone(), self.out.clone());
            std::thread::Builder::new()
                .name("gauges".into())
                .spawn(move || {
                    let result = scrape(&url);
                    held(&scraped).insert(service.clone(), result);
                    held(&out).remove(&service);
                })
                .expect("a thread can be started");
        }
    }
}

/// The shared data are plain values, which a panicking thread cannot leave half-written.
pub fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fetches and parses an exporter's page.
fn scrape(url: &str) -> Result<Gauges, String> {
    let body = get(url, PATIENCE)?;
    // A line without its end was cut off, and its number with it.
    Ok(parse(body.rsplit_once('\n').map_or("", |(whole, _)| whole)))
}

/// Parses the text format; skips comments, and values that are not finite numbers.
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
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::time::Instant;

    use super::*;

    #[test]
    fn an_exporter_that_hangs_delays_nobody_else() {
        let (silent, good) = (
            TcpListener::bind("127.0.0.1:0").unwrap(),
            TcpListener::bind("127.0.0.1:0").unwrap(),
        );
        let url = |listener: &TcpListener| format!("http://{}/metrics", listener.local_addr().unwrap());
        let scraper = Scraper::default();
        scraper.begin([("a".into(), url(&silent)), ("b".into(), url(&good))]);
        let (mut stream, _) = good.accept().unwrap();
        // A connection that is closed with something unread in it is reset.
        let mut request = [0; 1 << 10];
        while !request.ends_with(b"\r\n\r\n") {
            let read = stream.read(&mut request).unwrap();
            request.rotate_left(read);
        }
        stream.write_all(b"HTTP/1.0 200 OK\r\n\r\nup 1\n").unwrap();
        drop(stream);
        let give_up = Instant::now() + Duration::from_secs(60);
        let found = |service: &str| {
            loop {
                if let Some(result) = held(&scraper.scraped).remove(service) {
                    return result;
                }
                assert!(Instant::now() < give_up, "{service} is not reported");
                std::thread::sleep(Duration::from_millis(2));
            }
        };
        assert_eq!(found("b"), Ok(BTreeMap::from([("up".to_owned(), 1.0)])));
        // It has not answered yet, and is not asked a second time.
        scraper.begin([("a".into(), url(&silent))]);
        assert!(found("a").is_err());
        silent.set_nonblocking(true).unwrap();
        assert_eq!((silent.accept().is_ok(), silent.accept().is_ok()), (true, false));
    }

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
