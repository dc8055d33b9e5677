//! The settings of the Kafka generators.

use std::collections::BTreeMap;

use hydrotest_core::cluster::ClusterSettings;
use hydrotest_core::wire::LoadSettings;
use serde::{Deserialize, Serialize};

use crate::compression::Codec;
use crate::record::RecordSettings;
use crate::transaction::TransactionSettings;

/// The settings of the producing generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProduceSettings {
    pub cluster: ClusterSettings,
    pub topic: String,
    /// With several, each has the topic's name and a number (`topics::names`).
    #[serde(default = "one")]
    pub topics: u32,
    pub records: RecordSettings,
    pub codec: Codec,
    /// 1, −1 for all in-sync replicas, or 0 for none: then a loss is unknown, and records end when they are
    /// sent.
    pub acks: i16,
    /// The broker stores each batch once, in the order of their sequences (Kafka's `enable.idempotence`); with `acks`
    /// −1.
    pub idempotent: bool,
    /// Records are put into transactions; needs `idempotent`.
    pub transactions: Option<TransactionSettings>,
    /// A batch is sent when it has this many bytes …
    pub batch_bytes: usize,
    /// … or when its first record has waited this long.
    pub linger_ms: f64,
    /// Wake for each answer, and to hand over records before their batch goes, though the kernel says when answers came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub each_answer: bool,
    /// Maximum of a connection's unanswered requests (Kafka's `max.in.flight.requests.per.connection`).
    pub requests_in_flight: usize,
    /// Send again, until the trial is over, after a lost connection or a temporary refusal. Such records may
    /// be stored twice, unless the producer is idempotent. Without it a lost connection ends the trial.
    pub retries: bool,
    /// Producers of this generator, at least one for each thread: each has its own identity, batches and connections.
    pub producers: u32,
    /// The first of the ids of all producers of the trial (`client::ids`).
    pub producer: u32,
    pub load: LoadSettings,
}

fn one() -> u32 {
    1
}

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// At the end that the topic had in the beginning.
    Once,
    /// When the time is over; at the topic's end begin again, so that the rate can be measured.
    Repeat,
    /// When the time is over, the producers have ended, and all that they wrote is read.
    Follow,
}

/// The settings of the consuming generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsumeSettings {
    pub cluster: ClusterSettings,
    pub topic: String,
    /// As in `ProduceSettings`.
    #[serde(default = "one")]
    pub topics: u32,
    /// Longest time to read, in seconds.
    pub seconds: f64,
    pub reading: Reading,
    /// Most bytes of one partition in one answer (`max.partition.fetch.bytes`).
    pub partition_bytes: i32,
    /// Connections per broker; each has one request out at a time.
    pub connections: usize,
    /// Skip aborted records, and those that no transaction has committed yet (Kafka's
    /// `isolation.level=read_committed`).
    pub committed: bool,
    /// Most bytes a second that are read, where the cluster has other users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<f64>,
    /// The level of all log records in the topic; a record with another level is in a wrong branch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<String>,
    /// Replace a lost connection, and repeat a temporarily refused request. Without it, either ends the
    /// trial.
    pub retries: bool,
    /// Of so many consumers of the topic …
    pub shares: u32,
    /// … this one reads partitions `share, share + shares, …`.
    pub share: u32,
    pub nice: i32,
}

/// The settings of the generator of consumer groups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSettings {
    pub cluster: ClusterSettings,
    pub topic: String,
    /// As in `ProduceSettings`.
    #[serde(default = "one")]
    pub topics: u32,
    /// Length of the trial in seconds, warm-up included.
    pub seconds: f64,
    /// The program of a member.
    pub argv: Vec<String>,
    /// The id of each group; each reads all of the topic.
    pub groups: Vec<String>,
    /// Members of each group.
    pub members: u32,
    /// Settings of Kafka's consumer.
    pub properties: BTreeMap<String, String>,
    /// A file with those that are for nobody else to read, on the generator's host.
    pub credentials: Option<String>,
    /// How offsets are committed, `auto`, `sync` or `async`; and how long one is waited for, if it is done by the member.
    pub commit: String,
    pub commit_ms: f64,
    /// Members leave out what no transaction has committed.
    pub committed: bool,
    /// Longest time until the groups have come to rest, and until they have read all when the producers have ended.
    pub settle_s: f64,
    pub drain_s: f64,
    /// The most that all members read together, where the cluster has other users.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Most>,
}

/// What may be read a second.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Most {
    pub records_per_s: f64,
    pub bytes_per_s: f64,
}
