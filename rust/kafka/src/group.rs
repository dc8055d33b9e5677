//! Consumer groups, as applications use them: each member is Kafka's own consumer, in a process of its own. Members report
//! what they read; here it is timed, and accounted for by group: records read twice, or not at all, rebalances, lag.

mod frames;
mod ledger;
mod member;
mod ownership;

use std::collections::BTreeMap;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use hydrotest_core::clock::monotonic_ns;
use hydrotest_core::control::Control;
use hydrotest_core::recorder::Recorder;
use hydrotest_core::reporter::{Channel, Helper, lock};
use hydrotest_core::threads::{peak_memory_bytes, peak_memory_bytes_of};
use hydrotest_core::trial::{Prepared, Window, conduct};
use hydrotest_core::wire::{Act, Command, Event, Outcome, emit};
use rustix::process::Signal;
use serde::Serialize;
use serde_json::{Value, json};

use crate::access::Access;
use crate::group::frames::{Content, Polled};
use crate::group::ledger::{Added, Ledger};
use crate::group::member::{Message, Process, Said, Who};
use crate::group::ownership::{Cause, Change, Ownership, What, rebalances};
use crate::partitions::{COMMITTED_END, END, Leaders, await_decisions, await_ends, end_offsets};
use crate::settings::GroupSettings;
use crate::topics::names;

/// Groups stay as they are for so long before a trial begins.
const SETTLED: Duration = Duration::from_secs(1);
/// Between two looks at what has come.
const TURN: Duration = Duration::from_millis(10);
/// Between two looks at the ends of the partitions, for the lag.
const LOOK: Duration = Duration::from_millis(250);
/// A member commits, leaves its group, and ends its JVM in this time.
const LEAVE: Duration = Duration::from_secs(20);
/// Threads of a member that carry its load, by their names: that of its application, and that of its consumer (KIP-848).
const LOAD_THREADS: [&str; 2] = ["java", "consumer_backgr"];

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
        memory_bytes_max: peak_memory_bytes() + groups.memory_bytes.values().sum::<u64>(),
        overflows: groups
            .under
            .as_ref()
            .map_or(0, |(_, recorder)| lock(recorder).overflows()),
        extra: groups.findings(),
        ..Outcome::default()
    }))
}

/// The settings of a member's process.
#[derive(Serialize)]
struct MemberSettings<'a> {
    properties: BTreeMap<&'a str, String>,
    credentials: Option<&'a str>,
    topics: &'a [String],
    /// Of each topic.
    partitions: usize,
    commit: &'a str,
    commit_ms: f64,
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
    processes: BTreeMap<Who, Process>,
    /// Members whose end was asked for, and why.
    ending: BTreeMap<Who, Cause>,
    /// Members that were started again, and have no partition yet.
    joining: Vec<Who>,
    sender: Sender<Message>,
    messages: Receiver<Message>,
    /// The most of each member, of whichever of its processes.
    memory_bytes: BTreeMap<Who, u64>,
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
        let mut all = Self {
            groups: settings.groups.iter().map(|_| group()).collect(),
            ends: Arc::new(Mutex::new(ends.values().map(|end| end.cast_unsigned()).collect())),
            settings: settings.clone(),
            access,
            names,
            leaders,
            processes: BTreeMap::new(),
            ending: BTreeMap::new(),
            joining: Vec::new(),
            sender,
            messages,
            memory_bytes: BTreeMap::new(),
            under: None,
            ended: false,
            fatal: None,
        };
        for group in 0..settings.groups.len() as u32 {
            for member in 0..settings.members {
                all.start(Who { group, member })?;
            }
        }
        Ok(all)
    }

    fn start(&mut self, who: Who) -> Result<()> {
        let settings = &self.settings;
        let group = &settings.groups[who.group as usize];
        let mut properties: BTreeMap<&str, String> = settings
            .properties
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone()))
            .collect();
        properties.insert("group.id", group.clone());
        properties.insert("client.id", format!("{group}-{}", who.member));
        let own = MemberSettings {
            properties,
            credentials: settings.credentials.as_deref(),
            topics: &self.names,
            partitions: self.leaders.len() / self.names.len(),
            commit: &settings.commit,
            commit_ms: settings.commit_ms,
        };
        let process = Process::start(who, &settings.argv, &own, self.sender.clone())?;
        self.processes.insert(who, process);
        self.show_helpers();
        Ok(())
    }

    /// Lets the reporter see the threads that carry the load.
    fn show_helpers(&self) {
        let Some((window, _)) = &self.under else { return };
        let mut helpers = window.helpers.lock().unwrap_or_else(PoisonError::into_inner);
        helpers.clear();
        for (who, process) in &self.processes {
            let name = format!("load-{}-{}", who.group, who.member);
            let threads = LOAD_THREADS.map(|thread| Helper {
                thread,
                name: name.clone(),
            });
            helpers.insert(process.pid, threads.into());
        }
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
                let words: Vec<String> = self.processes.values().map(Process::last_words).collect();
                bail!(
                    "groups did not come to rest within {} s: {}",
                    self.settings.settle_s,
                    words.join("; ")
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
        if let Err(error) = self.leave() {
            self.fatal.get_or_insert(format!("{error:#}"));
        }
        self
    }

    fn turn(&mut self, window: &Window) {
        self.take(TURN);
        while let Some(command) = window.commands.as_ref().and_then(|commands| commands.try_recv()) {
            if let Command::Member { group, member, act } = command
                && let Err(error) = self.act(Who { group, member }, act)
            {
                self.fatal.get_or_insert(format!("{error:#}"));
            }
        }
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
                let partitions: Vec<i32> = partitions.into_iter().map(|(partition, _)| partition).collect();
                if !partitions.is_empty()
                    && let Some(at) = self.joining.iter().position(|one| *one == who)
                {
                    self.joining.remove(at);
                    report(who, true);
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
        let Some(process) = self.processes.get(&who).filter(|process| process.pid == pid) else {
            return;
        };
        let words = process.last_words();
        let Some(cause) = self.ending.remove(&who).filter(|_| error.is_none()) else {
            let why = error.unwrap_or(words);
            self.fatal.get_or_insert(format!(
                "member {} of group {} has ended: {why}",
                who.member, self.settings.groups[who.group as usize]
            ));
            return;
        };
        if cause == Cause::Leave {
            self.change(who, monotonic_ns(), What::Gone(cause));
        }
        if let Some(process) = self.processes.remove(&who)
            && let Err(error) = process.end(LEAVE)
        {
            self.fatal.get_or_insert(format!("{error:#}"));
        }
        self.show_helpers();
        report(who, false);
    }

    fn act(&mut self, who: Who, act: Act) -> Result<()> {
        let now = monotonic_ns();
        if act == Act::Join {
            ensure!(!self.processes.contains_key(&who), "{who:?} is there already");
            self.start(who)?;
            self.joining.push(who);
            self.change(who, now, What::Joins);
            return Ok(());
        }
        self.note_memory();
        let process = self
            .processes
            .get_mut(&who)
            .with_context(|| format!("{who:?} is not there"))?;
        match act {
            Act::Kill => {
                process.signal(Signal::KILL)?;
                self.ending.insert(who, Cause::Kill);
                self.change(who, now, What::Gone(Cause::Kill));
            }
            Act::Leave => {
                process.leave();
                self.ending.insert(who, Cause::Leave);
                self.change(who, now, What::Leaves);
            }
            Act::Pause => {
                process.signal(Signal::STOP)?;
                self.change(who, now, What::Paused);
                report(who, false);
            }
            Act::Resume => {
                process.signal(Signal::CONT)?;
                self.change(who, now, What::Resumed);
                report(who, true);
            }
            Act::Join => unreachable!("it is done above"),
        }
        Ok(())
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

    /// Ends all members in good order.
    fn leave(&mut self) -> Result<()> {
        self.note_memory();
        let mut processes = std::mem::take(&mut self.processes);
        for process in processes.values_mut() {
            process.signal(Signal::CONT)?;
            process.leave();
        }
        processes.into_values().try_for_each(|process| process.end(LEAVE))
    }

    /// The most memory of each process, as far as it is known before its end.
    fn note_memory(&mut self) {
        for (who, process) in &self.processes {
            let bytes = peak_memory_bytes_of(&process.pid.to_string());
            let most = self.memory_bytes.entry(*who).or_default();
            *most = bytes.max(*most);
        }
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
        json!({"groups": groups, "fatal": self.fatal})
    }
}

/// Takes in the ends of a look. Another one may have begun earlier, and end later.
fn raise(known: &Mutex<Vec<u64>>, seen: &BTreeMap<i32, i64>) {
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    for (end, seen) in known.iter_mut().zip(seen.values()) {
        *end = seen.cast_unsigned().max(*end);
    }
}

fn report(who: Who, is_there: bool) {
    emit(&Event::Member {
        group: who.group,
        member: who.member,
        is_there,
    });
}
