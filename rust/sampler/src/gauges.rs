//! The systems' own gauges, scraped from an exporter on loopback in the Prometheus text format.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::http::get;

/// One scrape: series (name with its labels) → value.
pub type Gauges = BTreeMap<String, f64>;

/// An exporter that is slower than this misses a scrape, and the ones after it come in time.
const PATIENCE: Duration = Duration::from_secs(2);

/// Fetches and parses an exporter's page.
pub fn scrape(url: &str) -> Result<Gauges, String> {
    let body = get(url, PATIENCE)?;
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
