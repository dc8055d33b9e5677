//! Consumer groups of our own in a cluster that others use: whether one is there, what may be done with it, and its removal.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::{DeleteGroupsRequest, DescribeGroupsRequest, GroupId, ListGroupsRequest};
use kafka_protocol::protocol::StrBytes;

use crate::access::Access;
use crate::coordinator::{Kept, ask, find};
use crate::protocol::{
    GROUP_AUTHORIZATION_FAILED, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP, OWN_PREFIX, error_name, is_passing,
};

/// Members that were killed are in their group until their session is over: 45 s by default.
const EMPTY_WAIT: Duration = Duration::from_secs(60);
const BETWEEN: Duration = Duration::from_millis(200);
/// What members and their removal need, by Kafka's numbers of operations (`AclOperation`).
const NEEDED: [(u32, &str); 2] = [(3, "READ"), (6, "DELETE")];
/// Brokers do not say what may be done.
const UNKNOWN: i32 = i32::MIN;

/// The groups by name: their own name, which is all that they are known by; null for one that is not there. Its coordinator lists
/// it, of whichever protocol it is: `DescribeGroups` knows those of the classic one only.
pub(crate) fn ids(access: &Access, groups: &[String]) -> Result<BTreeMap<String, Option<String>>> {
    let each = groups.iter().map(|group| {
        let answer = access
            .open(&find(access, Kept::Group, group)?)?
            .call(&ListGroupsRequest::default())?;
        if let Some(name) = error_name(answer.error_code) {
            bail!("it is not known whether group {group} is there: {name}");
        }
        let is_there = answer.groups.iter().any(|one| one.group_id.0.as_str() == group);
        Ok((group.clone(), is_there.then(|| group.clone())))
    });
    each.collect()
}

/// Operations that our user lacks to be a member of a group of that name, and to remove it.
pub(crate) fn lacking(access: &Access, group: &str) -> Result<Vec<&'static str>> {
    Ok(lacking_in(&describe(access, group)?))
}

/// Removes groups that have no members any more; one that is gone is well. Returns those that still have members after a while:
/// of members that were killed, whose session is longer than that.
pub(crate) fn delete(access: &Access, groups: &[String]) -> Result<Vec<String>> {
    let give_up = Instant::now() + EMPTY_WAIT;
    let mut left = Vec::new();
    for group in groups {
        ensure!(
            group.starts_with(OWN_PREFIX),
            "group {group} is not hydrotest's own and stays"
        );
        loop {
            // A coordinator that moves takes its connection with it.
            match delete_one(access, group) {
                Ok(0 | GROUP_ID_NOT_FOUND) => break,
                Ok(NON_EMPTY_GROUP) if Instant::now() >= give_up => {
                    left.push(group.clone());
                    break;
                }
                Ok(code) if code == NON_EMPTY_GROUP || (is_passing(code) && Instant::now() < give_up) => {}
                Ok(code) => bail!(
                    "group {group} was not deleted: {}",
                    error_name(code).unwrap_or_default()
                ),
                Err(error) if Instant::now() >= give_up => return Err(error),
                Err(_) => {}
            }
            std::thread::sleep(BETWEEN);
        }
    }
    Ok(left)
}

/// Kafka's code of the answer.
fn delete_one(access: &Access, group: &str) -> Result<i16> {
    let request = DeleteGroupsRequest::default().with_groups_names(vec![id(group)]);
    let answer = access.open(&find(access, Kept::Group, group)?)?.call(&request)?;
    let result = answer.results.first().context("nothing was said of the group")?;
    Ok(result.error_code)
}

fn describe(access: &Access, group: &str) -> Result<DescribedGroup> {
    let address = match ask(access, Kept::Group, group)? {
        Ok(address) => address,
        Err(code) => return Ok(DescribedGroup::default().with_error_code(code)),
    };
    let request = DescribeGroupsRequest::default()
        .with_groups(vec![id(group)])
        .with_include_authorized_operations(true);
    let answer = access.open(&address)?.call(&request)?;
    answer
        .groups
        .into_iter()
        .next()
        .context("nothing was said of the group")
}

fn id(group: &str) -> GroupId {
    GroupId(StrBytes::from_string(group.to_owned()))
}

fn lacking_in(described: &DescribedGroup) -> Vec<&'static str> {
    let allowed = match described.error_code {
        GROUP_AUTHORIZATION_FAILED => 0,
        _ => described.authorized_operations,
    };
    let lacks = |(bit, _): &&(u32, &str)| allowed != UNKNOWN && allowed & (1 << bit) == 0;
    NEEDED.iter().filter(lacks).map(|(_, name)| *name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(error_code: i16, allowed: i32) -> DescribedGroup {
        DescribedGroup::default()
            .with_error_code(error_code)
            .with_authorized_operations(allowed)
    }

    #[test]
    fn what_a_user_lacks_is_named_where_brokers_say_so() {
        let read_and_describe = 1 << 3 | 1 << 8;
        assert_eq!(lacking_in(&described(0, read_and_describe)), ["DELETE"]);
        assert_eq!(
            lacking_in(&described(0, read_and_describe | 1 << 6)),
            Vec::<&str>::new()
        );
        assert_eq!(
            lacking_in(&described(GROUP_AUTHORIZATION_FAILED, UNKNOWN)),
            ["READ", "DELETE"]
        );
        assert_eq!(lacking_in(&described(0, UNKNOWN)), Vec::<&str>::new());
    }
}
