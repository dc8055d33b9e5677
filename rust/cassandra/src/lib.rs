//! Cassandra as a target: on the hot path its native protocol spoken directly, many requests out on few connections; set-up,
//! schema and topology through the `scylla` driver, which can also carry the load. No retries and no speculation: what is
//! measured is one request and one answer.

mod account;
pub mod admin;
pub mod content;
mod driver;
mod frame;
mod link;
mod native;
pub mod press;
mod ring;
pub mod rows;
pub mod session;
mod shape;
#[cfg(test)]
mod stub;
mod timer;
pub mod values;
