//! Who reads which partition, and the times at which nobody does: rebalances, as the records see them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

/// A member that joins is the cause of what happens within this time after its first partition: with assignment one by one the
/// others give up theirs at their own next heartbeats (3 s, and 5 s with KIP-848).
const JOINED_NS: u64 = 10_000_000_000;

/// Something that happened to a member of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    pub at_ns: u64,
    pub member: u32,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Assigned(Vec<i32>),
    Revoked(Vec<i32>),
    /// Its process is gone, killed or because it left.
    Gone(Cause),
    Paused,
    Resumed,
    /// It was asked to leave.
    Leaves,
    /// Its process begins to join.
    Joins,
}

/// Why members and partitions are assigned anew, as far as it was done on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    Kill,
    Leave,
    Pause,
    Join,
    /// The group itself, its coordinator, or a member that was late.
    Unasked,
}

/// A time in which some partition had no reader.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rebalance {
    pub cause: Cause,
    pub began_ns: u64,
    /// When each partition had a reader again; `None` if some had none at the end.
    pub ended_ns: Option<u64>,
    /// Partitions without a reader at some moment of it.
    pub stopped: usize,
    /// Those of them that another member reads afterwards.
    pub moved: usize,
    /// The longest time that one had no reader, in ns.
    pub longest_ns: u64,
}

/// The members that read each partition now.
#[derive(Clone, Debug)]
pub struct Ownership {
    owners: Vec<Option<u32>>,
}

impl Ownership {
    pub fn new(partitions: usize) -> Self {
        Self {
            owners: vec![None; partitions],
        }
    }

    pub fn apply(&mut self, change: &Change) {
        match &change.what {
            What::Assigned(partitions) => self.of(partitions).for_each(|owner| *owner = Some(change.member)),
            What::Revoked(partitions) => self
                .of(partitions)
                .filter(|owner| **owner == Some(change.member))
                .for_each(|owner| *owner = None),
            What::Gone(_) => self
                .owners
                .iter_mut()
                .filter(|owner| **owner == Some(change.member))
                .for_each(|owner| *owner = None),
            What::Paused | What::Resumed | What::Leaves | What::Joins => {}
        }
    }

    fn of<'a>(&'a mut self, partitions: &'a [i32]) -> impl Iterator<Item = &'a mut Option<u32>> {
        let wanted: BTreeSet<usize> = partitions
            .iter()
            .filter_map(|&index| usize::try_from(index).ok())
            .collect();
        self.owners
            .iter_mut()
            .enumerate()
            .filter(move |(index, _)| wanted.contains(index))
            .map(|(_, owner)| owner)
    }

    /// Whether each partition has a reader, and so many members have one.
    pub fn is_settled(&self, members: usize) -> bool {
        let reading: BTreeSet<u32> = self.owners.iter().flatten().copied().collect();
        self.owners.iter().all(Option::is_some) && reading.len() == members.min(self.owners.len())
    }
}

/// The rebalances of a group, from all that happened to it, in any order: members report through pipes of their own.
/// `end_ns`: until when it was observed.
pub fn rebalances(changes: &[Change], partitions: usize, end_ns: u64) -> Vec<Rebalance> {
    let mut changes = changes.to_vec();
    changes.sort_by_key(|change| change.at_ns);
    let mut ownership = Ownership::new(partitions);
    let mut paused = BTreeSet::new();
    // By partition: since when nobody reads it, and who did.
    let mut since: Vec<Option<(u64, Option<u32>)>> = vec![Some((0, None)); partitions];
    let mut found = Vec::new();
    let mut open: Option<Rebalance> = None;
    let mut stopped = BTreeSet::new();
    let mut moved = BTreeSet::new();
    // The last thing that was done on purpose, until a rebalance was seen; and who was started and has no partition yet.
    let mut cause = Cause::Unasked;
    // When each of those was given its first; the others give theirs up one after the other.
    let mut joining: BTreeMap<u32, Option<u64>> = BTreeMap::new();
    for change in &changes {
        let before = ownership.owners.clone();
        match &change.what {
            What::Paused => {
                paused.insert(change.member);
                cause = Cause::Pause;
            }
            What::Resumed => {
                paused.remove(&change.member);
                if !ownership.owners.contains(&Some(change.member)) {
                    // It was taken for dead meanwhile, and has to join again.
                    joining.insert(change.member, None);
                }
            }
            // It began with `Leaves`.
            What::Gone(Cause::Leave) => {}
            What::Gone(why) => cause = *why,
            What::Leaves => cause = Cause::Leave,
            What::Joins => {
                joining.insert(change.member, None);
            }
            What::Assigned(_) | What::Revoked(_) => {}
        }
        joining.retain(|_, given_ns| given_ns.is_none_or(|given_ns| change.at_ns <= given_ns + JOINED_NS));
        ownership.apply(change);
        for index in 0..partitions {
            let reader = ownership.owners[index].filter(|member| !paused.contains(member));
            match (&since[index], reader) {
                (None, None) => {
                    since[index] = Some((change.at_ns, before[index]));
                    stopped.insert(index);
                    open.get_or_insert(Rebalance {
                        cause: if cause == Cause::Unasked && !joining.is_empty() {
                            Cause::Join
                        } else {
                            cause
                        },
                        began_ns: change.at_ns,
                        ended_ns: None,
                        stopped: 0,
                        moved: 0,
                        longest_ns: 0,
                    });
                }
                (Some((from_ns, whose)), Some(member)) => {
                    if let Some(one) = &mut open {
                        one.longest_ns = one.longest_ns.max(change.at_ns - from_ns);
                        if *whose != Some(member) {
                            moved.insert(index);
                        }
                    }
                    since[index] = None;
                }
                _ => {}
            }
        }
        if matches!(&change.what, What::Assigned(partitions) if !partitions.is_empty())
            && let Some(given_ns) = joining.get_mut(&change.member)
        {
            given_ns.get_or_insert(change.at_ns);
        }
        if since.iter().all(Option::is_none)
            && let Some(one) = open.take()
        {
            found.push(closed(one, Some(change.at_ns), &mut stopped, &mut moved));
            cause = Cause::Unasked;
        }
    }
    found.extend(open.map(|mut one| {
        let still = since
            .iter()
            .flatten()
            .map(|(from_ns, _)| end_ns.saturating_sub(*from_ns));
        one.longest_ns = one.longest_ns.max(still.max().unwrap_or(0));
        closed(one, None, &mut stopped, &mut moved)
    }));
    found
}

fn closed(
    one: Rebalance,
    ended_ns: Option<u64>,
    stopped: &mut BTreeSet<usize>,
    moved: &mut BTreeSet<usize>,
) -> Rebalance {
    Rebalance {
        ended_ns,
        stopped: std::mem::take(stopped).len(),
        moved: std::mem::take(moved).len(),
        ..one
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at_ns: u64, member: u32, what: What) -> Change {
        Change { at_ns, member, what }
    }

    /// Two members read two partitions each.
    fn settled() -> Vec<Change> {
        vec![
            change(1, 0, What::Assigned(vec![0, 1])),
            change(2, 1, What::Assigned(vec![2, 3])),
        ]
    }

    fn after(more: Vec<Change>) -> Vec<Rebalance> {
        rebalances(&[settled(), more].concat(), 4, 1_000)
    }

    #[test]
    fn a_group_that_comes_together_is_no_rebalance() {
        assert_eq!(after(vec![]), []);
    }

    #[test]
    fn a_killed_members_partitions_wait_for_another() {
        let found = after(vec![
            change(100, 1, What::Gone(Cause::Kill)),
            change(150, 0, What::Assigned(vec![2])),
            change(180, 0, What::Assigned(vec![3])),
        ]);
        let wanted = Rebalance {
            cause: Cause::Kill,
            began_ns: 100,
            ended_ns: Some(180),
            stopped: 2,
            moved: 2,
            longest_ns: 80,
        };
        assert_eq!(found, [wanted]);
    }

    #[test]
    fn who_was_started_before_the_others_knew_joins_afterwards() {
        let found = after(vec![
            change(100, 1, What::Gone(Cause::Kill)),
            change(110, 1, What::Joins),
            change(150, 0, What::Assigned(vec![2, 3])),
            change(170, 0, What::Revoked(vec![2])),
            change(175, 1, What::Assigned(vec![2])),
            change(200, 0, What::Revoked(vec![3])),
            change(205, 1, What::Assigned(vec![3])),
            change(JOINED_NS + 200, 0, What::Revoked(vec![0])),
            change(JOINED_NS + 205, 0, What::Assigned(vec![0])),
        ]);
        let causes: Vec<Cause> = found.iter().map(|one| one.cause).collect();
        assert_eq!(causes, [Cause::Kill, Cause::Join, Cause::Join, Cause::Unasked]);
    }

    #[test]
    fn who_was_taken_for_dead_joins_when_it_goes_on() {
        let found = after(vec![
            change(100, 1, What::Paused),
            change(145, 0, What::Assigned(vec![2, 3])),
            change(160, 1, What::Resumed),
            change(170, 0, What::Revoked(vec![3])),
            change(175, 1, What::Assigned(vec![3])),
        ]);
        let causes: Vec<Cause> = found.iter().map(|one| one.cause).collect();
        assert_eq!(causes, [Cause::Pause, Cause::Join]);
    }

    #[test]
    fn the_late_end_of_a_process_that_left_is_no_cause() {
        let found = after(vec![
            change(100, 1, What::Leaves),
            change(101, 1, What::Revoked(vec![2, 3])),
            change(110, 0, What::Assigned(vec![2, 3])),
            change(120, 1, What::Gone(Cause::Leave)),
            change(130, 1, What::Joins),
            change(140, 0, What::Revoked(vec![2])),
            change(145, 1, What::Assigned(vec![2])),
        ]);
        let causes: Vec<Cause> = found.iter().map(|one| one.cause).collect();
        assert_eq!(causes, [Cause::Leave, Cause::Join]);
    }

    #[test]
    fn an_eager_protocol_stops_all_of_them() {
        // A third member joins: all give back what they have.
        let found = after(vec![
            change(90, 2, What::Joins),
            change(101, 1, What::Revoked(vec![2, 3])),
            change(100, 0, What::Revoked(vec![0, 1])),
            change(120, 0, What::Assigned(vec![0, 1])),
            change(121, 1, What::Assigned(vec![2])),
            change(125, 2, What::Assigned(vec![3])),
        ]);
        assert_eq!(found.len(), 1);
        let one = &found[0];
        assert_eq!((one.cause, one.stopped, one.moved), (Cause::Join, 4, 1));
        assert_eq!((one.began_ns, one.ended_ns, one.longest_ns), (100, Some(125), 24));
    }

    #[test]
    fn a_pause_ends_when_the_member_goes_on_or_another_takes_over() {
        let found = after(vec![
            change(100, 0, What::Paused),
            change(130, 0, What::Resumed),
            change(200, 0, What::Paused),
            change(245, 1, What::Assigned(vec![0, 1])),
            change(250, 0, What::Resumed),
            change(251, 0, What::Revoked(vec![0, 1])),
        ]);
        let seen: Vec<_> = found
            .iter()
            .map(|one| (one.cause, one.longest_ns, one.stopped, one.moved))
            .collect();
        assert_eq!(seen, [(Cause::Pause, 30, 2, 0), (Cause::Pause, 45, 2, 2)]);
    }

    #[test]
    fn what_has_no_reader_at_the_end_is_not_over() {
        let found = after(vec![change(100, 1, What::Gone(Cause::Kill))]);
        assert_eq!((found[0].ended_ns, found[0].longest_ns), (None, 900));
    }

    #[test]
    fn it_is_settled_when_each_partition_and_each_member_has_its_share() {
        let mut ownership = Ownership::new(4);
        settled()[..1].iter().for_each(|change| ownership.apply(change));
        assert!(!ownership.is_settled(2));
        settled()[1..].iter().for_each(|change| ownership.apply(change));
        assert!(ownership.is_settled(2));
        assert!(!ownership.is_settled(3));
        // Of more members than partitions the rest has none.
        assert!(!ownership.is_settled(9));
    }
}
