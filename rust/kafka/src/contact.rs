//! What a cluster that is there already says of itself. Nothing is changed by asking.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use hydrotest_core::cluster::ClusterSettings;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{DescribeLogDirsRequest, MetadataRequest, MetadataResponse};
use serde_json::{Value, json};

use crate::access::Access;
use crate::connection::Connection;
use crate::partitions::{END, ask_leaders, end_offsets};
use crate::protocol::{OWN_PREFIX, UNKNOWN_TOPIC_OR_PARTITION, error_name, topic_name};

/// The end of the name of a canary's topic.
const CANARY: &str = "-canary";
/// A canary writes several times a second.
const WRITES_WITHIN: Duration = Duration::from_millis(1_500);

/// Brokers, topics, the state of their copies, and the free space of the disks.
pub fn contact(access: &Access) -> Result<Value> {
    let metadata = access.open_any()?.call(&MetadataRequest::default().with_topics(None))?;
    let brokers: Vec<Value> = metadata
        .brokers
        .iter()
        .map(|broker| {
            let address = format!("{}:{}", broker.host, broker.port);
            json!({
                "id": broker.node_id.0, "rack": broker.rack.as_ref().map(|rack| rack.as_str()),
                "disks": disks(access, &address), "address": address,
            })
        })
        .collect();
    let partitions = || metadata.topics.iter().flat_map(|topic| &topic.partitions);
    Ok(json!({
        "cluster": metadata.cluster_id.as_ref().map(|id| id.as_str()),
        "brokers": brokers,
        "topics": metadata.topics.len(),
        "partitions": partitions().count(),
        "behind": behind(&metadata),
        "offline": partitions().filter(|one| one.leader_id.0 < 0).count(),
    }))
}

/// The topics of other runs of hydrotest that are under way: of their canaries, which write all the time.
pub fn others(access: &Access) -> Result<Vec<String>> {
    let metadata = access.open_any()?.call(&MetadataRequest::default().with_topics(None))?;
    let mut found: Vec<(String, i64)> = Vec::new();
    for topic in &metadata.topics {
        let name = topic.name.as_ref().map(|name| name.to_string()).unwrap_or_default();
        if error_name(topic.error_code).is_none() && name.starts_with(OWN_PREFIX) && name.ends_with(CANARY) {
            // One that is just being made or removed, or is not for us to see, is not known to write.
            if let Ok(before) = written(access, &name) {
                found.push((name, before));
            }
        }
    }
    if !found.is_empty() {
        std::thread::sleep(WRITES_WITHIN);
    }
    let mut writing = Vec::new();
    for (name, before) in found {
        if written(access, &name).is_ok_and(|now| now > before) {
            writing.push(name);
        }
    }
    Ok(writing)
}

fn written(access: &Access, topic: &str) -> Result<i64> {
    let names = [topic.to_owned()];
    let leaders = ask_leaders(&mut access.open_any()?, &names)?;
    Ok(end_offsets(access, &leaders, &names, END)?.values().sum())
}

/// Looks at a cluster again and again, over one connection while it lasts.
pub struct Looking {
    access: Access,
    connection: Option<Connection>,
}

impl Looking {
    /// Connects with the first look.
    pub fn new(cluster: &ClusterSettings) -> Result<Self> {
        Ok(Self {
            access: Access::new(cluster)?,
            connection: None,
        })
    }

    /// The number of partitions with copies that are behind.
    pub fn look(&mut self) -> Result<Value> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.access.open_any()?,
        };
        let metadata = connection.call(&MetadataRequest::default().with_topics(None))?;
        // One that has failed is not used again.
        self.connection = Some(connection);
        Ok(json!({ "behind": behind(&metadata) }))
    }
}

/// Partitions with copies that are behind.
pub fn behind(metadata: &MetadataResponse) -> usize {
    let partitions = metadata.topics.iter().flat_map(|topic| &topic.partitions);
    partitions
        .filter(|one| one.isr_nodes.len() < one.replica_nodes.len())
        .count()
}

/// Total and free bytes of each disk of a broker, or why that is not known: `unreachable`, where nobody answers at its
/// address.
fn disks(access: &Access, address: &str) -> Value {
    // Of no topic: sizes of partitions are not asked for.
    let request = DescribeLogDirsRequest::default().with_topics(Some(Vec::new()));
    let answer = access
        .open(address)
        .and_then(|mut connection| connection.call(&request));
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => return json!({ "unreachable": format!("{error:#}") }),
    };
    let refused = answer.results.iter().find_map(|one| error_name(one.error_code));
    if let Some(name) = error_name(answer.error_code).or(refused) {
        return json!({ "unknown": name });
    }
    // −1 by brokers before Kafka 3.3.
    let known = answer.results.iter().filter(|one| one.total_bytes > 0);
    let known: Vec<Value> = known
        .map(|one| json!({ "total_bytes": one.total_bytes, "free_bytes": one.usable_bytes }))
        .collect();
    if known.is_empty() {
        return json!({ "unknown": "the broker does not say" });
    }
    json!({ "disks": known })
}

/// The ids of topics, by name; null for one that is not there. An error where that is not known of one.
pub fn ids(access: &Access, topics: &[String]) -> Result<BTreeMap<String, Option<String>>> {
    let asked = topics
        .iter()
        .map(|topic| MetadataRequestTopic::default().with_name(Some(topic_name(topic))));
    let request = MetadataRequest::default()
        .with_allow_auto_topic_creation(false)
        .with_topics(Some(asked.collect()));
    ids_in(&access.open_any()?.call(&request)?, topics)
}

fn ids_in(metadata: &MetadataResponse, topics: &[String]) -> Result<BTreeMap<String, Option<String>>> {
    let mut found = BTreeMap::new();
    for topic in &metadata.topics {
        let name = topic.name.as_ref().context("a topic without a name")?.to_string();
        let id = match error_name(topic.error_code) {
            None => Some(topic.topic_id.to_string()),
            Some(_) if topic.error_code == UNKNOWN_TOPIC_OR_PARTITION => None,
            Some(error) => bail!("it is not known whether topic {name} is there: {error}"),
        };
        found.insert(name, id);
    }
    for topic in topics {
        ensure!(found.contains_key(topic), "nothing was said of topic {topic}");
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use kafka_protocol::messages::metadata_response::MetadataResponseTopic;

    use super::*;

    fn answer(error_code: i16) -> Result<BTreeMap<String, Option<String>>> {
        let topic = MetadataResponseTopic::default()
            .with_name(Some(topic_name("a")))
            .with_error_code(error_code);
        ids_in(&MetadataResponse::default().with_topics(vec![topic]), &["a".to_owned()])
    }

    #[test]
    fn only_a_topic_that_is_known_not_to_be_there_has_no_id() {
        assert_eq!(answer(UNKNOWN_TOPIC_OR_PARTITION).unwrap()["a"], None);
        assert!(answer(0).unwrap()["a"].is_some());
        // No leader at the moment, or no right to see it: the topic may well be there.
        for code in [5, 29] {
            answer(code).unwrap_err();
        }
        ids_in(&MetadataResponse::default(), &["a".to_owned()]).unwrap_err();
    }
}
