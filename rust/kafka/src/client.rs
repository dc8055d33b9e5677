//! The producers of one thread, as brokers know them: each has an identity, batches and connections of its own.

use anyhow::{Context, Result, ensure};
use hydrotest_core::clock::WallOffset;
use hydrotest_core::schedule::share_of;
use hydrotest_core::socket::wait;

use crate::access::Access;
use crate::flight::{Op, Records};
use crate::murmur::partition_of;
use crate::partitions::Leaders;
use crate::payload::PRODUCERS_MAX;
use crate::record::NewRecord;
use crate::record_accumulator::{Ended, RecordAccumulator};
use crate::settings::ProduceSettings;

/// The ids of the producers of the thread with this share. Those of all threads of a trial differ.
pub(crate) fn ids(settings: &ProduceSettings, share: u32) -> Result<Vec<u32>> {
    let load = &settings.load;
    let (threads, thread) = (u64::from(load.threads), u64::from(share - load.first_share));
    let own = share_of(u64::from(settings.producers), thread, threads) as u32;
    ensure!(
        own > 0,
        "{} producers are too few for {} threads",
        settings.producers,
        load.threads
    );
    let ids: Vec<u32> = (0..own)
        .map(|turn| settings.producer + share + turn * load.shares)
        .collect();
    ensure!(
        ids.iter().all(|id| *id < PRODUCERS_MAX),
        "producer ids end at {PRODUCERS_MAX}"
    );
    Ok(ids)
}

/// One producer.
pub(crate) struct Client {
    pub(crate) id: u32,
    pub(crate) accumulator: RecordAccumulator,
    /// The partition whose batch takes records without a key. Batches rotate, records stick (Kafka's uniform
    /// sticky partitioner).
    turn: usize,
}

impl Client {
    /// Hands a record to its batch. `smallest`: the least bytes of any record.
    pub(crate) fn push(&mut self, made: &NewRecord<'_>, due: Due, now: Now, smallest: usize) -> Result<()> {
        let partitions = self.accumulator.partitions.len();
        let keyed = made.key.map(|key| partition_of(key, partitions));
        let mut partition = keyed.unwrap_or(self.turn);
        if self.accumulator.is_full(partition, made.record_bytes()) {
            self.accumulator.seal(partition, now.timestamp_ms)?;
        }
        if keyed.is_none() && !self.accumulator.is_open(partition) {
            self.turn = (self.turn + 1) % partitions;
            partition = self.turn;
        }
        let op = Op {
            number: due.number,
            producer: self.id,
            partition,
            handed_ns: now.ns,
            opened_ns: due.late_ns.map_or(now.ns, |_| due.intended_ns),
            late_ns: due.late_ns,
            intended_wall_ns: now.wall.wall_ns(due.intended_ns),
        };
        self.accumulator.push(made, op);
        if self.accumulator.is_full(partition, smallest) {
            self.accumulator.seal(partition, now.timestamp_ms)?;
        }
        Ok(())
    }
}

/// A record that is due.
#[derive(Clone, Copy)]
pub(crate) struct Due {
    pub(crate) number: u64,
    pub(crate) intended_ns: u64,
    /// How late its batch is, where it waited for it.
    pub(crate) late_ns: Option<u64>,
}

/// A moment: monotonic, and as records have it.
#[derive(Clone, Copy)]
pub(crate) struct Now {
    pub(crate) ns: u64,
    pub(crate) wall: WallOffset,
    pub(crate) timestamp_ms: i64,
}

impl Now {
    pub(crate) fn at(ns: u64, wall: WallOffset) -> Self {
        Self {
            ns,
            wall,
            timestamp_ms: (wall.wall_ns(ns) / 1_000_000) as i64,
        }
    }
}

/// All producers of a thread, which take records in turns.
pub(crate) struct Clients {
    all: Vec<Client>,
}

impl Clients {
    pub(crate) fn connect(settings: &ProduceSettings, access: &Access, share: u32, leaders: &Leaders) -> Result<Self> {
        let connect = |id: u32| {
            Ok(Client {
                id,
                turn: id as usize % leaders.len(),
                accumulator: RecordAccumulator::connect(settings, access, id, leaders)?,
            })
        };
        let all = ids(settings, share)?.into_iter().map(connect).collect::<Result<_>>()?;
        Ok(Self { all })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Client> {
        self.all.iter()
    }

    pub(crate) fn accumulator(&mut self, client: usize) -> &mut RecordAccumulator {
        &mut self.all[client].accumulator
    }

    /// The producer of record `number`.
    pub(crate) fn of(&mut self, number: u64) -> &mut Client {
        let turn = number % self.all.len() as u64;
        &mut self.all[turn as usize]
    }

    /// Sends what is due: batches opened at or before `opened_by_ns`, and full ones. `at_once`: a transaction need not
    /// grow older.
    pub(crate) fn send_due(&mut self, now: Now, opened_by_ns: u64, at_once: bool) -> Result<()> {
        for client in &mut self.all {
            client.accumulator.seal_due(opened_by_ns, now.timestamp_ms)?;
            client.accumulator.refresh()?;
            client.accumulator.send_ready(now.ns, at_once)?;
        }
        Ok(())
    }

    /// When the oldest open batch was opened.
    pub(crate) fn opened_ns(&self) -> Option<u64> {
        self.all
            .iter()
            .filter_map(|client| client.accumulator.opened_ns())
            .min()
    }

    /// Records that were handed over and have not ended.
    pub(crate) fn under_way(&self) -> impl Iterator<Item = &Records> {
        self.all.iter().flat_map(|client| client.accumulator.under_way())
    }

    /// Records of which one is the oldest under way.
    pub(crate) fn oldest(&self) -> impl Iterator<Item = &Records> {
        self.all.iter().flat_map(|client| client.accumulator.oldest())
    }

    /// Whether nothing is to be done before the next batch is due.
    pub(crate) fn may_sleep(&self) -> bool {
        self.all.iter().all(|client| client.accumulator.may_sleep())
    }

    /// The record from `first` on with which a batch is full, all of them of so many bytes.
    pub(crate) fn fills_with(&self, first: u64, record_bytes: usize) -> u64 {
        let count = self.all.len() as u64;
        let full = |at: usize, client: &Client| {
            let own = first + (at as u64 + count - first % count) % count;
            own + (client.accumulator.left(client.turn, record_bytes) - 1) * count
        };
        let each = self.all.iter().enumerate().map(|(at, client)| full(at, client));
        each.min().unwrap_or(first)
    }

    /// Waits for answers, at most `timeout_ns`, and takes them in; returns the records that have ended, by their producers'
    /// indices. `one_by_one`: each with the time at which it came.
    pub(crate) fn wait(&mut self, timeout_ns: u64, one_by_one: bool) -> Result<Vec<(usize, Vec<Ended>)>> {
        let mut of_all = Vec::new();
        for (index, client) in self.all.iter_mut().enumerate() {
            let mut ended = Vec::new();
            client.accumulator.take_sent(&mut ended);
            if !ended.is_empty() {
                of_all.push((index, ended));
            }
        }
        let sockets = self.all.iter().flat_map(|client| client.accumulator.sockets());
        let ready = wait(sockets, if of_all.is_empty() { timeout_ns } else { 0 }).context("poll failed")?;
        let mut ready = ready.into_iter().peekable();
        let mut first = 0;
        for (index, client) in self.all.iter_mut().enumerate() {
            let behind = first + client.accumulator.sockets().count();
            let mut ended = Vec::new();
            while let Some(socket) = ready.next_if(|socket| *socket < behind) {
                client.accumulator.take_in(socket - first, one_by_one, &mut ended)?;
            }
            if !ended.is_empty() {
                of_all.push((index, ended));
            }
            first = behind;
        }
        Ok(of_all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_generator(producers: u32, threads: u32, first_share: u32, shares: u32) -> ProduceSettings {
        let golden = include_str!("../../../contract/messages/produce.settings.json");
        let mut settings: ProduceSettings = serde_json::from_str(golden).unwrap();
        (settings.producer, settings.producers) = (64, producers);
        (settings.load.threads, settings.load.first_share, settings.load.shares) = (threads, first_share, shares);
        settings
    }

    #[test]
    fn no_two_producers_share_an_id() {
        for (producers, threads) in [(1, 1), (3, 3), (10, 4), (1_000, 7)] {
            let mut all = Vec::new();
            for generator in 0..3 {
                let settings = of_generator(producers, threads, generator * threads, 3 * threads);
                let own: Vec<u32> = settings
                    .load
                    .own_shares()
                    .flat_map(|share| ids(&settings, share).unwrap())
                    .collect();
                assert_eq!(own.len(), producers as usize);
                all.extend(own);
            }
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), 3 * producers as usize);
            let behind = 64 + 3 * threads * producers.div_ceil(threads);
            assert!(all.iter().all(|id| (64..behind).contains(id)));
        }
    }

    #[test]
    fn a_thread_without_a_producer_is_refused() {
        assert!(ids(&of_generator(2, 3, 0, 3), 2).is_err());
    }
}
