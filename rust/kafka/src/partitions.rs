//! Where a topic's partitions are led, and where they end.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use kafka_protocol::messages::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{BrokerId, ListOffsetsRequest, MetadataRequest, MetadataResponse};

use crate::access::Access;
use crate::connection::Connection;
use crate::protocol::{error_name, topic_name};

/// A topic that was just made, or lost its leader, has one within this time.
pub const TOPIC_WAIT: Duration = Duration::from_secs(30);

/// The leaders of a topic's partitions: partition → broker address.
pub type Leaders = BTreeMap<i32, String>;

/// The leaders of all partitions of a topic; waits for missing ones, with a bound.
pub fn leaders(connection: &mut Connection, topic: &str) -> Result<Leaders> {
    let give_up = Instant::now() + TOPIC_WAIT;
    loop {
        match leaders_of(&metadata_of(connection, topic)?) {
            Ok(leaders) => return Ok(leaders),
            Err(reason) if Instant::now() > give_up => {
                bail!("topic {topic}: {reason} after {} s", TOPIC_WAIT.as_secs())
            }
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// The leaders as the broker knows them now. An error if any partition has none.
pub fn ask_leaders(connection: &mut Connection, topic: &str) -> Result<Leaders> {
    leaders_of(&metadata_of(connection, topic)?).map_err(anyhow::Error::msg)
}

fn metadata_of(connection: &mut Connection, topic: &str) -> Result<MetadataResponse> {
    connection.call(
        &MetadataRequest::default()
            .with_allow_auto_topic_creation(false)
            .with_topics(Some(vec![
                MetadataRequestTopic::default().with_name(Some(topic_name(topic))),
            ])),
    )
}

/// Which end of a partition (`isolation_level`): of all records, or of those that no undecided transaction
/// holds back.
pub const END: i8 = 0;
pub const COMMITTED_END: i8 = 1;

/// The offset behind the last record of each partition, from its leader. `which` is `END` or `COMMITTED_END`.
pub fn end_offsets(access: &Access, leaders: &Leaders, topic: &str, which: i8) -> Result<BTreeMap<i32, i64>> {
    let mut by_leader: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (&partition, address) in leaders {
        by_leader.entry(address).or_default().push(partition);
    }
    let mut ends = BTreeMap::new();
    for (address, partitions) in by_leader {
        const LATEST: i64 = -1;
        let wanted = partitions.iter().map(|&partition| {
            ListOffsetsPartition::default()
                .with_partition_index(partition)
                .with_current_leader_epoch(-1)
                .with_timestamp(LATEST)
        });
        let request = ListOffsetsRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_isolation_level(which)
            .with_topics(vec![
                ListOffsetsTopic::default()
                    .with_name(topic_name(topic))
                    .with_partitions(wanted.collect()),
            ]);
        let response = access.open(address)?.call(&request)?;
        for found in response.topics.iter().flat_map(|topic| &topic.partitions) {
            if let Some(name) = error_name(found.error_code) {
                bail!("the end of {topic}-{} is unknown: {name}", found.partition_index);
            }
            ends.insert(found.partition_index, found.offset);
        }
    }
    ensure!(
        ends.len() == leaders.len(),
        "brokers reported the ends of {} of {} partitions",
        ends.len(),
        leaders.len()
    );
    Ok(ends)
}

/// The leaders and the ends of a topic's partitions; waits for missing or lost ones, with a bound.
pub fn await_ends(access: &Access, topic: &str) -> Result<(Leaders, BTreeMap<i32, i64>)> {
    let give_up = Instant::now() + TOPIC_WAIT;
    loop {
        let leaders = leaders(&mut access.open_any()?, topic)?;
        match end_offsets(access, &leaders, topic, END) {
            Ok(ends) => return Ok((leaders, ends)),
            Err(error) if Instant::now() > give_up => return Err(error.context(format!("topic {topic} is not usable"))),
            Err(_) => std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// The brokers of a cluster, by id.
pub fn brokers(metadata: &MetadataResponse) -> BTreeMap<i32, String> {
    metadata
        .brokers
        .iter()
        .map(|broker| (broker.node_id.0, format!("{}:{}", broker.host, broker.port)))
        .collect()
}

fn leaders_of(metadata: &MetadataResponse) -> std::result::Result<Leaders, String> {
    let brokers = brokers(metadata);
    let mut leaders = Leaders::new();
    for topic in &metadata.topics {
        if let Some(name) = error_name(topic.error_code) {
            return Err(name);
        }
        for partition in &topic.partitions {
            let index = partition.partition_index;
            match (error_name(partition.error_code), brokers.get(&partition.leader_id.0)) {
                (None, Some(address)) => leaders.insert(index, address.clone()),
                (name, _) => {
                    return Err(format!(
                        "partition {index} has no leader ({})",
                        name.unwrap_or_default()
                    ));
                }
            };
        }
    }
    if leaders.is_empty() {
        return Err("it has no partitions".into());
    }
    Ok(leaders)
}
