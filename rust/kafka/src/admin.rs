//! Queries and changes of topics and brokers, over the wire. Generators use them for their set-up, and the
//! controller to check that the service is ready.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use bytes::Bytes;
use hydrotest_core::cluster::ClusterSettings;
use kafka_protocol::messages::alter_user_scram_credentials_request::ScramCredentialUpsertion;
use kafka_protocol::messages::create_topics_request::{CreatableTopic, CreatableTopicConfig};
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::{
    AlterUserScramCredentialsRequest, CreateTopicsRequest, DeleteTopicsRequest, InitProducerIdRequest, MetadataRequest,
    ProducerId, TransactionalId,
};
use kafka_protocol::protocol::StrBytes;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::batch::Identity;
use crate::connection::Connection;
use crate::contact::{behind, contact, ids, others};
use crate::group_admin;
use crate::partitions::{TOPIC_WAIT, await_ends, brokers};
use crate::protocol::{CONCURRENT_TRANSACTIONS, OWN_PREFIX, UNKNOWN_TOPIC_ID, error_name, is_passing, topic_name};

const SERVER_TIMEOUT_MS: i32 = 20_000;
/// Topics that are made or deleted with one request …
const TOPICS_AT_ONCE: usize = 200;
/// … and at most so many records for them in the controller's log (`QuorumController.MAX_RECORDS_PER_USER_OP`): one for each topic,
/// partition and setting.
const RECORDS_AT_ONCE: usize = 10_000;
/// Time after which a coordinator aborts an abandoned transaction; Kafka's own `transaction.timeout.ms`.
const TRANSACTION_TIMEOUT_MS: i32 = 60_000;

/// The admin queries of the controller.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "query", rename_all = "snake_case", deny_unknown_fields)]
pub enum AdminQuery {
    /// The registered brokers, and the number of partitions with a copy that is behind.
    Brokers { cluster: ClusterSettings },
    /// Makes topics that are alike, and waits until every partition has a leader.
    CreateTopics {
        cluster: ClusterSettings,
        topics: Vec<String>,
        partitions: i32,
        replication: i16,
        config: BTreeMap<String, String>,
    },
    /// Gives a user a password, in SCRAM's stored form: salted, with the hash of `mechanism`.
    SetScram {
        cluster: ClusterSettings,
        user: String,
        mechanism: i8,
        iterations: i32,
        salt: Vec<u8>,
        salted_password: Vec<u8>,
    },
    /// The number of records written to a topic, including those that transactions add.
    Ends { cluster: ClusterSettings, topic: String },
    /// Deletes topics of our own: those with these ids, where they are known, so that no other topic of the same name is.
    DeleteTopics {
        cluster: ClusterSettings,
        topics: Vec<OwnTopic>,
    },
    /// What a cluster says of itself; changes nothing.
    Contact { cluster: ClusterSettings },
    /// The canaries of other runs that are under way.
    Others { cluster: ClusterSettings },
    /// The ids of topics by name; null for one that is not there.
    Ids {
        cluster: ClusterSettings,
        topics: Vec<String>,
    },
    /// The groups by name: their own name, which is all that they are known by; null for one that is not there.
    Groups {
        cluster: ClusterSettings,
        groups: Vec<String>,
    },
    /// What our user may not do with a group of that name.
    LackingRights { cluster: ClusterSettings, group: String },
    /// Deletes consumer groups of our own; answers with those that still have members.
    DeleteGroups {
        cluster: ClusterSettings,
        groups: Vec<String>,
    },
}

/// A topic that a run made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnTopic {
    name: String,
    #[serde(default)]
    id: Option<String>,
}

/// Answers one query as plain data.
pub fn answer(query: &AdminQuery) -> Result<serde_json::Value> {
    match query {
        AdminQuery::Brokers { cluster } => {
            let metadata = Access::new(cluster)?
                .open_any()?
                .call(&MetadataRequest::default().with_topics(None))?;
            let brokers: Vec<String> = brokers(&metadata).into_values().collect();
            Ok(serde_json::json!({ "brokers": brokers, "behind": behind(&metadata) }))
        }
        AdminQuery::CreateTopics {
            cluster,
            topics,
            partitions,
            replication,
            config,
        } => {
            let mut ids = BTreeMap::new();
            let made = create_topics(
                &Access::new(cluster)?,
                topics,
                *partitions,
                *replication,
                config,
                &mut ids,
            );
            // What was made before a refusal has to be removed again: by its id.
            let refused = made.err().map(|error| format!("{error:#}"));
            Ok(serde_json::json!({ "ids": ids, "refused": refused }))
        }
        AdminQuery::SetScram {
            cluster,
            user,
            mechanism,
            iterations,
            salt,
            salted_password,
        } => {
            let upsertion = ScramCredentialUpsertion::default()
                .with_name(StrBytes::from_string(user.clone()))
                .with_mechanism(*mechanism)
                .with_iterations(*iterations)
                .with_salt(Bytes::from(salt.clone()))
                .with_salted_password(Bytes::from(salted_password.clone()));
            let request = AlterUserScramCredentialsRequest::default().with_upsertions(vec![upsertion]);
            for result in &Access::new(cluster)?.open_any()?.call(&request)?.results {
                if let Some(name) = error_name(result.error_code) {
                    bail!("the password of {user} was not set: {name}");
                }
            }
            Ok(serde_json::json!({}))
        }
        AdminQuery::Ends { cluster, topic } => {
            let (_, ends) = await_ends(&Access::new(cluster)?, std::slice::from_ref(topic))?;
            Ok(serde_json::json!({ "records": ends.values().sum::<i64>() }))
        }
        AdminQuery::DeleteTopics { cluster, topics } => {
            let access = Access::new(cluster)?;
            topics
                .chunks(TOPICS_AT_ONCE)
                .try_for_each(|part| delete_topics(&access, part))?;
            Ok(serde_json::json!({}))
        }
        AdminQuery::Contact { cluster } => contact(&Access::new(cluster)?),
        AdminQuery::Others { cluster } => Ok(serde_json::json!(others(&Access::new(cluster)?)?)),
        AdminQuery::Ids { cluster, topics } => Ok(serde_json::json!(ids(&Access::new(cluster)?, topics)?)),
        AdminQuery::Groups { cluster, groups } => {
            Ok(serde_json::json!(group_admin::ids(&Access::new(cluster)?, groups)?))
        }
        AdminQuery::LackingRights { cluster, group } => {
            Ok(serde_json::json!(group_admin::lacking(&Access::new(cluster)?, group)?))
        }
        AdminQuery::DeleteGroups { cluster, groups } => {
            Ok(serde_json::json!({ "with_members": group_admin::delete(&Access::new(cluster)?, groups)? }))
        }
    }
}

/// A new identity for an idempotent producer; waits for a broker that cannot give one yet, with a bound. With
/// a transactional id, its coordinator is asked, and an open transaction of an earlier producer with that id
/// is aborted.
pub fn identity(connection: &mut Connection, transactional_id: Option<&TransactionalId>) -> Result<Identity> {
    let request = InitProducerIdRequest::default()
        .with_transactional_id(transactional_id.cloned())
        .with_transaction_timeout_ms(TRANSACTION_TIMEOUT_MS)
        .with_producer_id(ProducerId(-1))
        .with_producer_epoch(-1);
    let give_up = Instant::now() + TOPIC_WAIT;
    loop {
        let answer = connection.call(&request)?;
        match error_name(answer.error_code) {
            None => {
                return Ok(Identity {
                    producer_id: answer.producer_id.0,
                    epoch: answer.producer_epoch,
                    is_transactional: transactional_id.is_some(),
                });
            }
            Some(_)
                if (is_passing(answer.error_code) || answer.error_code == CONCURRENT_TRANSACTIONS)
                    && Instant::now() < give_up =>
            {
                std::thread::sleep(Duration::from_millis(50));
            }
            Some(name) => bail!("the broker assigns no producer id: {name}"),
        }
    }
}

/// Puts the ids of the topics into `ids`, by name, also of those that were made before a refusal; null where brokers have
/// none (before Kafka 2.8).
fn create_topics(
    access: &Access,
    topics: &[String],
    partitions: i32,
    replication: i16,
    config: &BTreeMap<String, String>,
    ids: &mut BTreeMap<String, Option<String>>,
) -> Result<()> {
    let mut connection = access.open_any()?;
    let each = partitions.max(1) as usize + 1 + config.len();
    for part in topics.chunks((RECORDS_AT_ONCE / each).clamp(1, TOPICS_AT_ONCE)) {
        let wanted = part.iter().map(|topic| wanted(topic, partitions, replication, config));
        let request = CreateTopicsRequest::default()
            .with_timeout_ms(SERVER_TIMEOUT_MS)
            .with_topics(wanted.collect::<Result<_>>()?);
        let mut refused = None;
        for result in &connection.call(&request)?.topics {
            let name = result.name.0.to_string();
            if let Some(refusal) = error_name(result.error_code) {
                let detail = result
                    .error_message
                    .as_ref()
                    .map(|text| format!(": {text}"))
                    .unwrap_or_default();
                refused.get_or_insert(format!("topic {name} was not created: {refusal}{detail}"));
                continue;
            }
            let id = (!result.topic_id.is_nil()).then(|| result.topic_id.to_string());
            ids.insert(name, id);
        }
        if let Some(refused) = refused {
            bail!("{refused}");
        }
    }
    // CreateTopics answers before the leaders exist, and before every broker knows of them.
    await_ends(access, topics)?;
    Ok(())
}

fn wanted(topic: &str, partitions: i32, replication: i16, config: &BTreeMap<String, String>) -> Result<CreatableTopic> {
    ensure!(
        topic.starts_with(OWN_PREFIX),
        "topic {topic} does not begin with {OWN_PREFIX}"
    );
    let configs = config.iter().map(|(key, value)| {
        CreatableTopicConfig::default()
            .with_name(StrBytes::from_string(key.clone()))
            .with_value(Some(StrBytes::from_string(value.clone())))
    });
    Ok(CreatableTopic::default()
        .with_name(topic_name(topic))
        .with_num_partitions(partitions)
        .with_replication_factor(replication)
        .with_configs(configs.collect()))
}

fn delete_topics(access: &Access, topics: &[OwnTopic]) -> Result<()> {
    let mut states = Vec::new();
    for OwnTopic { name, id } in topics {
        ensure!(
            name.starts_with(OWN_PREFIX),
            "topic {name} is not hydrotest's own and stays"
        );
        states.push(match id {
            None => DeleteTopicState::default().with_name(Some(topic_name(name))),
            Some(id) => DeleteTopicState::default()
                .with_name(None)
                .with_topic_id(id.parse().with_context(|| format!("{id:?} is no topic's id"))?),
        });
    }
    let request = DeleteTopicsRequest::default()
        .with_timeout_ms(SERVER_TIMEOUT_MS)
        .with_topics(states);
    let response = access.open_any()?.call(&request)?;
    for result in &response.responses {
        // The topic with that id is gone, whatever has its name now.
        if result.error_code == UNKNOWN_TOPIC_ID {
            continue;
        }
        if let Some(refusal) = error_name(result.error_code) {
            let name = result.name.as_ref().map(|name| name.0.to_string()).unwrap_or_default();
            bail!("topic {name} was not deleted: {refusal}");
        }
    }
    Ok(())
}
