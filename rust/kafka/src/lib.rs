//! Kafka as a target: records encoded directly, one thread per generator share, no client library on
//! the hot path. The `kafka-protocol` crate encodes and decodes the control messages.

pub mod access;
mod acked_offsets;
pub mod admin;
pub mod batch;
pub mod batch_reader;
mod checker;
mod client;
pub mod compression;
pub mod connection;
mod connection_pool;
pub mod consume;
pub mod contact;
pub mod contents;
mod coordinator;
mod flight;
pub mod group;
mod group_admin;
mod lag;
mod metadata_refresher;
mod murmur;
pub mod partitions;
pub mod payload;
pub mod produce;
mod producer;
pub mod protocol;
pub mod record;
mod record_accumulator;
pub mod settings;
pub mod throttle;
pub mod topics;
mod transaction;
