//! The requests that we use, their versions, and their frames. The newest versions are the highest that name
//! topics (later Fetch and Produce versions use topic ids); the oldest are those of Kafka 2.8.

use std::ops::RangeInclusive;

use anyhow::{Context, Result, ensure};
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::error::ResponseError;
use kafka_protocol::messages::{
    AddPartitionsToTxnRequest, AddPartitionsToTxnResponse, AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse, ApiKey, ApiVersionsRequest, ApiVersionsResponse, CreateTopicsRequest,
    CreateTopicsResponse, DeleteGroupsRequest, DeleteGroupsResponse, DeleteTopicsRequest, DeleteTopicsResponse,
    DescribeGroupsRequest, DescribeGroupsResponse, DescribeLogDirsRequest, DescribeLogDirsResponse, EndTxnRequest,
    EndTxnResponse, FetchRequest, FetchResponse, FindCoordinatorRequest, FindCoordinatorResponse,
    InitProducerIdRequest, InitProducerIdResponse, ListGroupsRequest, ListGroupsResponse, ListOffsetsRequest,
    ListOffsetsResponse, MetadataRequest, MetadataResponse, ProduceRequest, ProduceResponse, RequestHeader,
    ResponseHeader, SaslAuthenticateRequest, SaslAuthenticateResponse, SaslHandshakeRequest, SaslHandshakeResponse,
    TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};

const CLIENT_ID: &str = "hydrotest";
/// Length, key, version, correlation id, client id, tagged fields: 24 bytes, and some reserve.
const HEADER_BYTES_MAX: usize = 64;

/// Only topics and groups that hydrotest made are deleted; their names begin with this.
pub const OWN_PREFIX: &str = "hydrotest";
/// Of an idempotent producer: an earlier batch has not arrived; this batch is stored already.
pub const OUT_OF_ORDER_SEQUENCE: i16 = 45;
pub const DUPLICATE_SEQUENCE: i16 = 46;
/// A topic of that name is not there.
pub const UNKNOWN_TOPIC_OR_PARTITION: i16 = 3;
/// A topic of that id is not there.
pub const UNKNOWN_TOPIC_ID: i16 = 100;
/// Of consumer groups: not for this user; it has members; it is not there.
pub const GROUP_AUTHORIZATION_FAILED: i16 = 30;
pub const NON_EMPTY_GROUP: i16 = 68;
pub const GROUP_ID_NOT_FOUND: i16 = 69;
/// For a transactional producer: the coordinator has not finished the last transaction yet.
pub const CONCURRENT_TRANSACTIONS: i16 = 51;

/// A request that we send, tied to its versions and its response.
pub trait Call: Encodable + HeaderVersion {
    const KEY: ApiKey;
    /// The oldest version that supports our requests, and the newest that we know.
    const VERSIONS: RangeInclusive<i16>;
    type Response: Decodable + HeaderVersion;
}

macro_rules! calls {
    ($($request:ty => $response:ty, $key:ident, $versions:expr;)*) => { $(
        impl Call for $request {
            const KEY: ApiKey = ApiKey::$key;
            const VERSIONS: RangeInclusive<i16> = $versions;
            type Response = $response;
        }
    )* };
}

calls! {
    ApiVersionsRequest => ApiVersionsResponse, ApiVersions, 3..=3;
    MetadataRequest => MetadataResponse, Metadata, 9..=12;
    CreateTopicsRequest => CreateTopicsResponse, CreateTopics, 5..=7;
    DeleteTopicsRequest => DeleteTopicsResponse, DeleteTopics, 6..=6;
    DescribeLogDirsRequest => DescribeLogDirsResponse, DescribeLogDirs, 1..=4;
    DescribeGroupsRequest => DescribeGroupsResponse, DescribeGroups, 3..=5;
    ListGroupsRequest => ListGroupsResponse, ListGroups, 0..=4;
    DeleteGroupsRequest => DeleteGroupsResponse, DeleteGroups, 0..=2;
    ListOffsetsRequest => ListOffsetsResponse, ListOffsets, 4..=7;
    ProduceRequest => ProduceResponse, Produce, 7..=9;
    FetchRequest => FetchResponse, Fetch, 11..=12;
    InitProducerIdRequest => InitProducerIdResponse, InitProducerId, 3..=4;
    FindCoordinatorRequest => FindCoordinatorResponse, FindCoordinator, 4..=4;
    AddPartitionsToTxnRequest => AddPartitionsToTxnResponse, AddPartitionsToTxn, 1..=3;
    EndTxnRequest => EndTxnResponse, EndTxn, 1..=4;
    AlterUserScramCredentialsRequest => AlterUserScramCredentialsResponse, AlterUserScramCredentials, 0..=0;
    SaslHandshakeRequest => SaslHandshakeResponse, SaslHandshake, 1..=1;
    SaslAuthenticateRequest => SaslAuthenticateResponse, SaslAuthenticate, 1..=2;
}

/// The newest common version of a request, for a broker that serves `oldest` to `newest`.
pub fn agreed<Q: Call>(oldest: i16, newest: i16) -> Result<i16> {
    let (ours_from, ours_to) = Q::VERSIONS.into_inner();
    let version = newest.min(ours_to);
    ensure!(
        version >= oldest.max(ours_from),
        "it serves {:?} in the versions {oldest} to {newest}, we speak {ours_from} to {ours_to}",
        Q::KEY
    );
    Ok(version)
}

/// A request as a frame: length, header, body.
pub fn encode<Q: Call>(correlation: i32, request: &Q, version: i16) -> Result<Bytes> {
    let failed = || format!("{:?} request cannot be encoded", Q::KEY);
    // Capacity for the complete frame: batches would be copied again with every growth.
    let mut out = BytesMut::with_capacity(HEADER_BYTES_MAX + request.compute_size(version).with_context(failed)?);
    out.put_i32(0);
    RequestHeader::default()
        .with_request_api_key(Q::KEY as i16)
        .with_request_api_version(version)
        .with_correlation_id(correlation)
        .with_client_id(Some(StrBytes::from_static_str(CLIENT_ID)))
        .encode(&mut out, Q::header_version(version))
        .and_then(|()| request.encode(&mut out, version))
        .with_context(failed)?;
    let length = (out.len() - 4) as i32;
    out[..4].copy_from_slice(&length.to_be_bytes());
    Ok(out.freeze())
}

/// Correlation id and body of a response frame (without its length). Record data stay slices of the frame.
pub fn decode<Q: Call>(mut frame: Bytes, version: i16) -> Result<(i32, Q::Response)> {
    let context = || format!("{:?} response cannot be decoded", Q::KEY);
    let header = ResponseHeader::decode(&mut frame, Q::Response::header_version(version)).with_context(context)?;
    let body = Q::Response::decode(&mut frame, version).with_context(context)?;
    Ok((header.correlation_id, body))
}

/// Kafka's own name for an error code; `None` for 0.
pub fn error_name(code: i16) -> Option<String> {
    ResponseError::try_from_code(code).map(|error| format!("{error:?}"))
}

/// True for refusals that end by themselves, or with another leader: Kafka's own clients retry then.
pub fn is_passing(code: i16) -> bool {
    ResponseError::try_from_code(code).is_some_and(|error| error.is_retriable())
}

/// A topic's name in the crate's type.
pub fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_common_version_is_spoken() {
        assert_eq!(agreed::<ProduceRequest>(0, 13).unwrap(), 9);
        assert_eq!(agreed::<ProduceRequest>(0, 8).unwrap(), 8);
        assert!(
            agreed::<ProduceRequest>(0, 5)
                .unwrap_err()
                .to_string()
                .contains("we speak 7 to 9")
        );
        assert!(agreed::<ProduceRequest>(10, 13).is_err());
    }
}
