//! Cassandra as a target. The hot path uses its native protocol directly, with many requests in flight on few
//! connections. Set-up, schema and topology use the `scylla` driver, which can also carry the load. No
//! retries and no speculation: one request and one answer are measured.

mod account;
pub mod admin;
mod answer_sample;
mod bound_statement;
mod checks;
mod column;
mod connection;
mod cql;
mod driver_client;
mod fnv;
mod frame;
mod indexes;
pub mod load_driver;
pub mod look;
mod native_client;
mod recall;
mod ring;
mod row_values;
pub mod rows;
mod scan;
mod schema;
pub mod session;
pub mod settings;
mod shares;
mod similarity;
#[cfg(test)]
mod stub;
mod timer;
mod unchecked;
pub mod value_generator;
mod view_filter;
mod views;
