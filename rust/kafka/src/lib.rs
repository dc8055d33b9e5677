//! Kafka as a target: records encoded directly, one thread per generator share, no client library on
//! the hot path. The `kafka-protocol` crate encodes and decodes the control messages.

pub mod access;
pub mod admin;
pub mod batch;
mod checker;
pub mod compression;
pub mod connection;
pub mod consume;
mod finder;
mod flight;
mod lag;
mod links;
mod murmur;
mod outbox;
pub mod payload;
mod places;
pub mod produce;
mod producer;
pub mod protocol;
pub mod record;
pub mod throttle;
mod transaction;
pub mod walk;
