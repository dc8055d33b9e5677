//! Cassandra as a target: on the hot path its native protocol spoken directly, many requests out on few connections; set-up,
//! schema and topology through the `scylla` driver, which can also carry the load. No retries and no speculation: what is
//! measured is one request and one answer.

mod account;
pub mod admin;
mod checks;
pub mod content;
mod cql;
mod driver;
mod frame;
mod link;
mod native;
pub mod press;
mod ring;
pub mod rows;
mod schema;
pub mod session;
mod shape;
#[cfg(test)]
mod stub;
mod timer;
mod unchecked;
pub mod values;
