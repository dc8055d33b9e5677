//! Consumer groups, as applications use them: each member is Kafka's own consumer, in a process of its own. Members report
//! what they read; here it is timed, and accounted for by group: records read twice, or not at all, rebalances, lag.

mod frames;
mod ledger;
mod member;
mod members;
mod ownership;
mod pace;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::control::Control;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::{Channel, lock};
use hydrotest_core::threads::peak_memory_bytes;
use hydrotest_core::trial::{Prepared, Window, conduct};
use hydrotest_core::wire::{Act, Command, Outcome};
use serde_json::{Value, json};

use crate::access::Access;
use crate::group::frames::{Content, Polled};
use crate::group::ledger::{Added, Ledger};
use crate::group::member::{Message, Said, Who};
use crate::group::members::Members;
use crate::group::ownership::{Change, Ownership, What, rebalances};
use crate::group::pace::Pace;
use crate::partitions::{COMMITTED_END, END, Leaders, await_decisions, await_ends, end_offsets};
use crate::settings::GroupSettings;
use crate::topics::names;

/// Groups stay as they are for so long before a trial begins.
const SETTLED: Duration = Duration::from_secs(1);
/// Between two looks at what has come.
const TURN: Duration = Duration::from_millis(10);
/// Between two looks at the ends of the partitions, for the lag.
const LOOK: Duration = Duration::from_millis(250);
/// Runs the generator. `None` if stopped before it began.
pub fn run(settings: &GroupSettings, control: &Control) -> Result<Option<Outcome>> {
    ensure!(
        !settings.groups.is_empty() && settings.members > 0,
        "there is no member of a group"
    );
    let mut groups = Groups::connect(settings)?;
    groups.settle()?;
    let thread: Prepared<Groups> = Box::new(move |window: &Window| {
        let recorder = Arc::new(Mutex::new(Recorder::new(window.start_ns)));
        let channel = Channel {
            op: None,
            recorder: recorder.clone(),
        };
        groups.under = Some((window.clone(), recorder));
        groups.show_helpers();
        (vec![channel], Box::new(move || groups.work()))
    });
    // No priority: members stamp what they read themselves.
    let finished = conduct(control, settings.seconds, 0, vec![thread]).map_err(anyhow::Error::msg)?;
    let Some(finished) = finished else {
        return Ok(None);
    };
    let groups = finished
        .results
        .into_iter()
        .next()
        .context("the groups left no result")?;
    Ok(Some(Outcome {
        counts: finished.counts,
        started_wall_s: finished.started_wall_s,
        ended_wall_s: finished.ended_wall_s,
        memory_bytes_max: peak_memory_bytes() + groups.members.memory_bytes(),
        overflows: groups
            .under
            .as_ref()
            .map_or(0, |(_, recorder)| lock(recorder).overflows()),
        extra: groups.findings(),
        ..Outcome::default()
    }))
}

struct Group {
    ledger: Ledger,
    ownership: Ownership,
    changes: Vec<Change>,
    /// Commits by member's process, so far.
    commits: BTreeMap<u32, u64>,
}

struct Groups {
    settings: GroupSettings,
    access: Access,
    names: Vec<String>,
    leaders: Leaders,
    /// The end of each partition, as of the last look.
    ends: Arc<Mutex<Vec<u64>>>,
    groups: Vec<Group>,
    members: Members,
    pace: Option<Pace>,
    messages: Receiver<Message>,
    under: Option<(Window, Arc<Mutex<Recorder>>)>,
    /// The load is over; what is read from now on is accounted for, but no longer counted.
    ended: bool,
    fatal: Option<String>,
}

impl Groups {
    fn connect(settings: &GroupSettings) -> Result<Self> {
        let access = Access::new(&settings.cluster)?;
        let names = names(&settings.topic, settings.topics);
        let (leaders, ends) = await_ends(&access, &names)?;
        let (sender, messages) = mpsc::channel();
        let group = || Group {
            ledger: Ledger::new(ends.len()),
            ownership: Ownership::new(ends.len()),
            changes: Vec::new(),
            commits: BTreeMap::new(),
        };
        Ok(Self {
            members: Members::start_all(settings, &names, leaders.len() / names.len(), sender)?,
            groups: settings.groups.iter().map(|_| group()).collect(),
            ends: Arc::new(Mutex::new(ends.values().map(|end| end.cast_unsigned()).collect())),
            pace: settings.most.map(Pace::new),
            settings: settings.clone(),
            access,
            names,
            leaders,
            messages,
            under: None,
            ended: false,
            fatal: None,
        })
    }

    /// Lets the reporter see the threads that carry the load.
    fn show_helpers(&self) {
        let Some((window, _)) = &self.under else { return };
        *window.helpers.lock().unwrap_or_else(PoisonError::into_inner) = self.members.helpers();
    }

    /// Waits until each partition has a reader in each group, and each member has its share.
    fn settle(&mut self) -> Result<()> {
        let give_up = Instant::now() + Duration::try_from_secs_f64(self.settings.settle_s)?;
        let mut since = Instant::now();
        loop {
            if self.take(TURN) {
                since = Instant::now();
            }
            if let Some(fatal) = self.fatal.take() {
                bail!(fatal);
            }
            let members = self.settings.members as usize;
            let is_settled = self.groups.iter().all(|group| group.ownership.is_settled(members));
            if is_settled && since.elapsed() >= SETTLED {
                return Ok(());
            }
            if Instant::now() > give_up {
                bail!(
                    "groups did not come to rest within {} s: {}",
                    self.settings.settle_s,
                    self.members.last_words()
                );
            }
        }
    }

    fn work(mut self) -> Self {
        let (window, _) = self.under.clone().expect("the window comes before work");
        self.follow_ends(&window);
        while monotonic_ns() < window.end_ns && !window.stop.load(Relaxed) && self.fatal.is_none() {
            self.turn(&window);
        }
        window.load_ended();
        self.ended = true;
        if self.fatal.is_none() && !window.stop.load(Relaxed) {
            self.fatal = self.drain(&window).err().map(|error| format!("{error:#}"));
        }
        if let Err(error) = self.members.leave() {
            self.fatal.get_or_insert(format!("{error:#}"));
        }
        self
    }

    fn turn(&mut self, window: &Window) {
        self.take(TURN);
        while let Some(command) = window.commands.as_ref().and_then(|commands| commands.try_recv()) {
            if let Command::Member { group, member, act } = command {
                self.act(Who { group, member }, act);
            }
        }
    }

    fn act(&mut self, who: Who, act: Act) {
        // What a member does by itself afterwards is later.
        let now = monotonic_ns();
        match self.members.act(who, act) {
            Ok(what) => {
                self.change(who, now, what);
            }
            Err(error) => self.fail(&error),
        }
        self.show_helpers();
    }

    fn fail(&mut self, error: &anyhow::Error) {
        self.fatal.get_or_insert(format!("{error:#}"));
    }

    /// Looks at the ends of the partitions now and then, so that the lag is known also while members read nothing.
    fn follow_ends(&self, window: &Window) {
        let (access, names, mut leaders) = (self.access.clone(), self.names.clone(), self.leaders.clone());
        let (known, window) = (self.ends.clone(), window.clone());
        let which = if self.settings.committed { COMMITTED_END } else { END };
        std::thread::spawn(move || {
            while monotonic_ns() < window.end_ns && !window.stop.load(Relaxed) {
                let seen = end_offsets(&access, &leaders, &names, which);
                match seen {
                    Ok(ends) => raise(&known, &ends),
                    // Without a leader the lag is that of the last look, until there is one.
                    Err(_) => {
                        if let Ok((anew, _)) = await_ends(&access, &names) {
                            leaders = anew;
                        }
                    }
                }
                std::thread::sleep(LOOK);
            }
        });
    }

    /// Takes what has come, and waits for it at most so long. True if a partition has changed its reader.
    fn take(&mut self, most: Duration) -> bool {
        let mut changed = false;
        let mut message = self.messages.recv_timeout(most).ok();
        while let Some(one) = message {
            changed |= self.on_message(one);
            message = self.messages.try_recv().ok();
        }
        self.publish();
        changed
    }

    fn on_message(&mut self, message: Message) -> bool {
        let Message { who, pid, said } = message;
        let frame = match said {
            Said::Frame(frame) => frame,
            Said::End(error) => {
                self.on_end(who, pid, error);
                return true;
            }
        };
        match frame.content {
            Content::Polled(polled) => {
                self.add(who, frame.at_ns, &polled);
                false
            }
            Content::Committed(commits) => {
                self.groups[who.group as usize].commits.insert(pid, commits);
                false
            }
            Content::Assigned(partitions) => {
                if !partitions.is_empty() {
                    self.members.has_joined(who);
                }
                self.change(who, frame.at_ns, What::Assigned(partitions))
            }
            Content::Revoked(partitions) | Content::Lost(partitions) => {
                self.change(who, frame.at_ns, What::Revoked(partitions))
            }
        }
    }

    fn change(&mut self, who: Who, at_ns: u64, what: What) -> bool {
        let group = &mut self.groups[who.group as usize];
        let change = Change {
            at_ns,
            member: who.member,
            what,
        };
        group.ownership.apply(&change);
        group.changes.push(change);
        true
    }

    fn add(&mut self, who: Who, at_ns: u64, polled: &[Polled]) {
        let ledger = &mut self.groups[who.group as usize].ledger;
        let under = self.under.as_ref().filter(|_| !self.ended);
        let mut sum = Added::default();
        {
            let mut recorder = under.map(|(window, recorder)| (window, lock(recorder)));
            let mut fresh = |intended_wall_ns: u64| {
                if let Some((window, recorder)) = &mut recorder
                    && intended_wall_ns > 0
                {
                    // A consumer has no start of its own: its service time begins at the intended start.
                    let intended_ns = window.wall.monotonic_ns(intended_wall_ns);
                    recorder.record(intended_ns, intended_ns, at_ns);
                }
            };
            for one in polled {
                match ledger.add(one, &mut fresh) {
                    Ok(added) => sum += added,
                    Err(error) => {
                        self.fatal.get_or_insert(error);
                    }
                }
            }
        }
        if let Some(pace) = &mut self.pace {
            let records = polled.iter().map(|one| one.intended_wall_ns.len() as u64).sum();
            let bytes = polled.iter().map(|one| one.bytes).sum();
            if let Some(until_ns) = pace.add(monotonic_ns(), records, bytes) {
                self.members.hold(until_ns);
            }
        }
        // What is completed was written before, whatever the last look at the ends has seen.
        self.publish();
        if let Some((window, _)) = under {
            window.counts.skipped.fetch_add(sum.skipped, Release);
            window.counts.bytes.fetch_add(sum.bytes, Relaxed);
            window.counts.completed.fetch_add(sum.records, Release);
        }
    }

    /// Counts what there is to read as started. So the number in flight is the lag of all groups.
    fn publish(&self) {
        let Some((window, _)) = self.under.as_ref().filter(|_| !self.ended) else {
            return;
        };
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let started: u64 = self
            .groups
            .iter()
            .map(|group| {
                let there = |(index, end): (usize, &u64)| group.ledger.end(index).max(*end);
                ends.iter().enumerate().map(there).sum::<u64>()
            })
            .sum();
        window.counts.started.fetch_max(started, Release);
    }

    fn on_end(&mut self, who: Who, pid: u32, error: Option<String>) {
        let now = monotonic_ns();
        match self.members.on_end(who, pid, error) {
            Ok(Some(what)) => {
                self.change(who, now, what);
            }
            Ok(None) => {}
            Err(error) => self.fail(&error),
        }
        self.show_helpers();
    }

    /// Waits until all groups have read what the producers have written, so that the account is complete. Partitions of a
    /// member that was killed wait until its session is over.
    fn drain(&mut self, window: &Window) -> Result<()> {
        while !window.written.load(Acquire) && !window.stop.load(Relaxed) && self.fatal.is_none() {
            self.turn(window);
        }
        let (leaders, ends) = await_ends(&self.access, &self.names)?;
        if self.settings.committed {
            await_decisions(&self.access, &leaders, &self.names, &ends)?;
        }
        raise(&self.ends, &ends);
        let give_up = Instant::now() + Duration::try_from_secs_f64(self.settings.drain_s)?;
        while self.has_lag() && Instant::now() < give_up && !window.stop.load(Relaxed) && self.fatal.is_none() {
            self.turn(window);
        }
        Ok(())
    }

    fn has_lag(&self) -> bool {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let is_behind = |group: &Group| {
            (0..)
                .zip(ends.iter())
                .any(|(index, &end)| group.ledger.end(index) < end)
        };
        self.groups.iter().any(is_behind)
    }

    fn findings(&self) -> Value {
        let start_ns = self.under.as_ref().map_or(0, |(window, _)| window.start_ns);
        let end_ns = self.under.as_ref().map_or(0, |(window, _)| window.end_ns);
        let since_start = |ns: u64| (ns as f64 - start_ns as f64) / 1e9;
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let groups: Vec<Value> = self
            .groups
            .iter()
            .map(|group| {
                let found: Vec<Value> = rebalances(&group.changes, self.leaders.len(), monotonic_ns())
                    .into_iter()
                    .filter(|one| (start_ns..end_ns).contains(&one.began_ns))
                    .map(|one| {
                        json!({
                            "cause": one.cause, "began_s": since_start(one.began_ns), "ended_s": one.ended_ns.map(since_start),
                            "stopped": one.stopped, "moved": one.moved, "longest_s": one.longest_ns as f64 / 1e9,
                        })
                    })
                    .collect();
                let commits: u64 = group.commits.values().sum();
                json!({"account": group.ledger.account(&ends), "rebalances": found, "commits": commits})
            })
            .collect();
        let held_s = self.pace.as_ref().map(Pace::held_s);
        json!({"groups": groups, "held_s": held_s, "fatal": self.fatal})
    }
}

/// Takes in the ends of a look. Another one may have begun earlier, and end later.
fn raise(known: &Mutex<Vec<u64>>, seen: &BTreeMap<i32, i64>) {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    for (end, seen) in known.iter_mut().zip(seen.values()) {
        *end = seen.cast_unsigned().max(*end);
    }
}
