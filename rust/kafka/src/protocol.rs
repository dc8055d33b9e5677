//! Which requests we speak, in which version, and their frames. Versions are the highest that name
//! topics (later Fetch and Produce versions use topic ids) and that Kafka 3.x and 4.x both serve.

use anyhow::{Context, Result};
use bytes::{BufMut, Bytes, BytesMut};
use kafka_protocol::error::ResponseError;
use kafka_protocol::messages::{
    ApiKey, ApiVersionsRequest, ApiVersionsResponse, CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest,
    DeleteTopicsResponse, FetchRequest, FetchResponse, ListOffsetsRequest, ListOffsetsResponse, MetadataRequest,
    MetadataResponse, ProduceRequest, ProduceResponse, RequestHeader, ResponseHeader, TopicName,
};
use kafka_protocol::protocol::{Decodable, Encodable, HeaderVersion, StrBytes};

const CLIENT_ID: &str = "hydrotest";

/// A request that we send, tied to its version and its response.
pub trait Call: Encodable + HeaderVersion {
    const KEY: ApiKey;
    const VERSION: i16;
    type Response: Decodable + HeaderVersion;
}

macro_rules! calls {
    ($($request:ty => $response:ty, $key:ident, $version:literal;)*) => { $(
        impl Call for $request {
            const KEY: ApiKey = ApiKey::$key;
            const VERSION: i16 = $version;
            type Response = $response;
        }
    )* };
}

calls! {
    ApiVersionsRequest => ApiVersionsResponse, ApiVersions, 3;
    MetadataRequest => MetadataResponse, Metadata, 12;
    CreateTopicsRequest => CreateTopicsResponse, CreateTopics, 7;
    DeleteTopicsRequest => DeleteTopicsResponse, DeleteTopics, 6;
    ListOffsetsRequest => ListOffsetsResponse, ListOffsets, 7;
    ProduceRequest => ProduceResponse, Produce, 9;
    FetchRequest => FetchResponse, Fetch, 12;
}

/// A request as a frame: length, header, body.
pub fn encode<Q: Call>(correlation: i32, request: &Q) -> Result<Bytes> {
    let mut out = BytesMut::new();
    out.put_i32(0);
    RequestHeader::default()
        .with_request_api_key(Q::KEY as i16)
        .with_request_api_version(Q::VERSION)
        .with_correlation_id(correlation)
        .with_client_id(Some(StrBytes::from_static_str(CLIENT_ID)))
        .encode(&mut out, Q::header_version(Q::VERSION))
        .and_then(|()| request.encode(&mut out, Q::VERSION))
        .with_context(|| format!("{:?} request cannot be encoded", Q::KEY))?;
    let length = (out.len() - 4) as i32;
    out[..4].copy_from_slice(&length.to_be_bytes());
    Ok(out.freeze())
}

/// Correlation id and body of a response frame (without its length). Record data stay slices of the frame.
pub fn decode<Q: Call>(mut frame: Bytes) -> Result<(i32, Q::Response)> {
    let context = || format!("{:?} response cannot be decoded", Q::KEY);
    let header = ResponseHeader::decode(&mut frame, Q::Response::header_version(Q::VERSION)).with_context(context)?;
    let body = Q::Response::decode(&mut frame, Q::VERSION).with_context(context)?;
    Ok((header.correlation_id, body))
}

/// Kafka's own name for an error code; `None` for 0.
pub fn error_name(code: i16) -> Option<String> {
    ResponseError::try_from_code(code).map(|error| format!("{error:?}"))
}

/// True for refusals that pass by themselves, or with another leader: Kafka's own clients send again then.
pub fn is_passing(code: i16) -> bool {
    ResponseError::try_from_code(code).is_some_and(|error| error.is_retriable())
}

/// A topic's name in the crate's type.
pub fn topic_name(name: &str) -> TopicName {
    TopicName(StrBytes::from_string(name.to_owned()))
}
