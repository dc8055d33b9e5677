//! Cassandra as a target, through the `scylla` driver with retries and speculation off, so that what
//! is measured is one request and one answer.

pub mod admin;
mod client;
pub mod keys;
pub mod press;
pub mod rows;
pub mod session;
mod timer;
