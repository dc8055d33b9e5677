//! What a cluster that is there already says of itself. Nothing is changed by asking.

use std::collections::BTreeMap;

use anyhow::Result;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::messages::{DescribeLogDirsRequest, MetadataRequest, MetadataResponse};
use serde_json::{Value, json};

use crate::access::Access;
use crate::protocol::{error_name, topic_name};

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
        "behind": partitions().filter(|one| one.isr_nodes.len() < one.replica_nodes.len()).count(),
        "offline": partitions().filter(|one| one.leader_id.0 < 0).count(),
    }))
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

/// The ids of topics, by name; null for one that is not there.
pub fn ids(access: &Access, topics: &[String]) -> Result<BTreeMap<String, Option<String>>> {
    let asked = topics
        .iter()
        .map(|topic| MetadataRequestTopic::default().with_name(Some(topic_name(topic))));
    let request = MetadataRequest::default()
        .with_allow_auto_topic_creation(false)
        .with_topics(Some(asked.collect()));
    Ok(ids_in(&access.open_any()?.call(&request)?, topics))
}

fn ids_in(metadata: &MetadataResponse, topics: &[String]) -> BTreeMap<String, Option<String>> {
    let found: BTreeMap<&str, String> = metadata
        .topics
        .iter()
        .filter(|topic| topic.error_code == 0)
        .filter_map(|topic| Some((topic.name.as_ref()?.as_str(), topic.topic_id.to_string())))
        .collect();
    topics
        .iter()
        .map(|topic| (topic.clone(), found.get(topic.as_str()).cloned()))
        .collect()
}
