//! One query to a system, one answer: readiness, set-up, the state of stored data.

use std::time::Duration;

use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_sampler::http::get;
use serde::Deserialize;
use serde_json::json;

/// A service that has just started on a slow host may take several seconds for its first page.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The settings of `query`: a query to a system.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Query {
    Kafka(hydrotest_kafka::admin::AdminQuery),
    Cassandra(hydrotest_cassandra::admin::AdminQuery),
    /// A page of a service, by its address.
    Http {
        url: String,
    },
}

/// Answers one query to a system.
pub fn run() -> Result<(), String> {
    let query: Query = read_settings()?;
    let control = listen(|_| false, AtEnd::Unanswered);
    let answer = match &query {
        Query::Kafka(query) => hydrotest_kafka::admin::answer(query),
        Query::Cassandra(query) => hydrotest_cassandra::admin::answer(query),
        Query::Http { url } => Ok(json!({ "body": get(url, TIMEOUT)? })),
    };
    control.answer(answer.map_err(|error| format!("{error:#}"))?);
    Ok(())
}
