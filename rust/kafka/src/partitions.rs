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
use crate::topics::Topics;

/// A topic that was just made, or lost its leader, has one within this time.
pub const TOPIC_WAIT: Duration = Duration::from_secs(30);
/// More for each of many partitions: a broker on two cores made 280 a second, and half as many while it removed others.
const PARTITION_WAIT: Duration = Duration::from_millis(20);
/// Between two questions for one topic, and more for each of many: the answer names all of them.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_EACH: Duration = Duration::from_micros(50);

/// Maximum wait for the end of a transaction: it is written to the partitions after the producer has its
/// answer.
const DECISION_WAIT: Duration = Duration::from_secs(10);

/// The leaders of the partitions of a workload's topics, numbered through (`topics`): partition → broker address.
pub type Leaders = BTreeMap<i32, String>;

/// The leaders of all partitions of topics; waits for missing ones, with a bound.
pub fn leaders(connection: &mut Connection, names: &[String]) -> Result<Leaders> {
    let begun = Instant::now();
    loop {
        let metadata = metadata_of(connection, names)?;
        let partitions: usize = metadata.topics.iter().map(|topic| topic.partitions.len()).sum();
        let most = wait_for(partitions.max(names.len()));
        match leaders_of(&metadata, names) {
            Ok(leaders) => return Ok(leaders),
            Err(reason) if begun.elapsed() > most => {
                bail!("topic {}: {reason} after {} s", names[0], most.as_secs())
            }
            Err(_) => std::thread::sleep(pause(names)),
        }
    }
}

/// How long so many partitions may take until they have leaders.
fn wait_for(partitions: usize) -> Duration {
    TOPIC_WAIT + PARTITION_WAIT * u32::try_from(partitions).unwrap_or(u32::MAX)
}

fn pause(names: &[String]) -> Duration {
    PAUSE + PAUSE_EACH * u32::try_from(names.len()).unwrap_or(u32::MAX)
}

/// The leaders as the broker knows them now. An error if any partition has none.
pub fn ask_leaders(connection: &mut Connection, names: &[String]) -> Result<Leaders> {
    leaders_of(&metadata_of(connection, names)?, names).map_err(anyhow::Error::msg)
}

fn metadata_of(connection: &mut Connection, names: &[String]) -> Result<MetadataResponse> {
    let wanted = names
        .iter()
        .map(|name| MetadataRequestTopic::default().with_name(Some(topic_name(name))));
    connection.call(
        &MetadataRequest::default()
            .with_allow_auto_topic_creation(false)
            .with_topics(Some(wanted.collect())),
    )
}

/// Which end of a partition (`isolation_level`): of all records, or of those that no undecided transaction
/// holds back.
pub const END: i8 = 0;
pub const COMMITTED_END: i8 = 1;

/// The offset behind the last record of each partition, from its leader. `which` is `END` or `COMMITTED_END`.
pub fn end_offsets(access: &Access, leaders: &Leaders, names: &[String], which: i8) -> Result<BTreeMap<i32, i64>> {
    let topics = Topics::new(names, leaders.len())?;
    let mut by_leader: BTreeMap<&str, Vec<i32>> = BTreeMap::new();
    for (&partition, address) in leaders {
        by_leader.entry(address).or_default().push(partition);
    }
    let mut ends = BTreeMap::new();
    for (address, partitions) in by_leader {
        const LATEST: i64 = -1;
        let of_topics = topics.by_topic(partitions.into_iter().map(|number| (number, ())));
        let wanted = of_topics.into_iter().map(|(name, partitions)| {
            let partitions = partitions.into_iter().map(|(partition, ())| {
                ListOffsetsPartition::default()
                    .with_partition_index(partition)
                    .with_current_leader_epoch(-1)
                    .with_timestamp(LATEST)
            });
            ListOffsetsTopic::default()
                .with_name(name)
                .with_partitions(partitions.collect())
        });
        let request = ListOffsetsRequest::default()
            .with_replica_id(BrokerId(-1))
            .with_isolation_level(which)
            .with_topics(wanted.collect());
        let response = access.open(address)?.call(&request)?;
        for topic in &response.topics {
            for found in &topic.partitions {
                if let Some(name) = error_name(found.error_code) {
                    bail!(
                        "the end of {}-{} is unknown: {name}",
                        topic.name.0,
                        found.partition_index
                    );
                }
                ends.insert(topics.number(&topic.name, found.partition_index)?, found.offset);
            }
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

/// The leaders and the ends of the topics' partitions; waits for missing or lost ones, with a bound.
pub fn await_ends(access: &Access, names: &[String]) -> Result<(Leaders, BTreeMap<i32, i64>)> {
    let begun = Instant::now();
    loop {
        let leaders = leaders(&mut access.open_any()?, names)?;
        match end_offsets(access, &leaders, names, END) {
            Ok(ends) => return Ok((leaders, ends)),
            Err(error) if begun.elapsed() > wait_for(leaders.len()) => {
                return Err(error.context(format!("topic {} is not usable", names[0])));
            }
            Err(_) => std::thread::sleep(pause(names)),
        }
    }
}

/// Waits until every transaction in a topic without writers is committed or aborted.
pub fn await_decisions(access: &Access, leaders: &Leaders, names: &[String], ends: &BTreeMap<i32, i64>) -> Result<()> {
    let give_up = Instant::now() + DECISION_WAIT;
    // A transaction that is undecided for longer stays unread, and is reported as in flight.
    while end_offsets(access, leaders, names, COMMITTED_END)? != *ends && Instant::now() < give_up {
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// The brokers of a cluster, by id.
pub fn brokers(metadata: &MetadataResponse) -> BTreeMap<i32, String> {
    metadata
        .brokers
        .iter()
        .map(|broker| (broker.node_id.0, format!("{}:{}", broker.host, broker.port)))
        .collect()
}

fn leaders_of(metadata: &MetadataResponse, names: &[String]) -> std::result::Result<Leaders, String> {
    let brokers = brokers(metadata);
    let mut leaders = Leaders::new();
    if let Some(name) = metadata.topics.iter().find_map(|topic| error_name(topic.error_code)) {
        return Err(name);
    }
    let total = metadata.topics.iter().map(|topic| topic.partitions.len()).sum();
    if total == 0 || metadata.topics.iter().any(|topic| topic.partitions.is_empty()) {
        return Err("it has no partitions".into());
    }
    let topics = Topics::new(names, total).map_err(|error| error.to_string())?;
    for topic in &metadata.topics {
        let name = topic.name.as_ref().ok_or("the broker named no topic")?;
        for partition in &topic.partitions {
            let index = topics
                .number(name, partition.partition_index)
                .map_err(|error| error.to_string())?;
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
    // Topics with fewer partitions than others would share numbers.
    if leaders.len() != total {
        return Err("its topics have different numbers of partitions".into());
    }
    Ok(leaders)
}
