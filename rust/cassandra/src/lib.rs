//! Cassandra as a target: on the hot path its native protocol spoken directly, many requests out on few connections;
//! set-up, schema and topology through the `scylla` driver, which can also carry the load. No retries and no
//! speculation: what is measured is one request and one answer.

mod account;
pub mod admin;
mod bound_statement;
mod checks;
mod connection;
mod cql;
mod driver_client;
mod frame;
pub mod load_driver;
mod native_client;
mod ring;
mod row_values;
pub mod rows;
mod schema;
pub mod session;
pub mod settings;
#[cfg(test)]
mod stub;
mod timer;
mod unchecked;
pub mod value_generator;
