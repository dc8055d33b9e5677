//! The broker that keeps a producer's transactions, or a group's members and offsets.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use kafka_protocol::messages::FindCoordinatorRequest;
use kafka_protocol::protocol::StrBytes;

use crate::access::Access;
use crate::protocol::{error_name, is_passing};

const WAIT: Duration = Duration::from_secs(30);
const BETWEEN: Duration = Duration::from_millis(50);

/// What a coordinator keeps, as `FindCoordinator`'s key type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i8)]
pub(crate) enum Kept {
    Group = 0,
    Transactions = 1,
}

/// The address of the broker that keeps it, by the group's or the producer's id; waits for one, with a bound. Otherwise Kafka's code
/// of its refusal.
pub(crate) fn ask(access: &Access, kept: Kept, id: &str) -> Result<Result<String, i16>> {
    let request = FindCoordinatorRequest::default()
        .with_key_type(kept as i8)
        .with_coordinator_keys(vec![StrBytes::from_string(id.to_owned())]);
    let give_up = Instant::now() + WAIT;
    let mut connection = access.open_any()?;
    loop {
        let answer = connection.call(&request)?;
        let found = answer.coordinators.first().context("a broker named no coordinator")?;
        match found.error_code {
            0 => return Ok(Ok(format!("{}:{}", found.host, found.port))),
            code if is_passing(code) && Instant::now() < give_up => std::thread::sleep(BETWEEN),
            code => return Ok(Err(code)),
        }
    }
}

/// The same, where a refusal is an error.
pub(crate) fn find(access: &Access, kept: Kept, id: &str) -> Result<String> {
    match ask(access, kept, id)? {
        Ok(address) => Ok(address),
        Err(code) => bail!("no broker coordinates {id}: {}", error_name(code).unwrap_or_default()),
    }
}
