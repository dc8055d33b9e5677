//! The members of all groups: their processes are started, struck by faults, and ended here.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use hydrotest_core::reporter::Helper;
use hydrotest_core::threads::peak_memory_bytes_of;
use hydrotest_core::wire::{Act, Event, emit};
use rustix::process::Signal;
use serde::Serialize;

use super::member::{Message, Process, Who};
use super::ownership::{Cause, What};
use crate::settings::GroupSettings;

/// A member commits, leaves its group, and ends its JVM in this time.
const LEAVE: Duration = Duration::from_secs(20);
/// Threads of a member that carry its load, by their names: that of its application, and that of its consumer (KIP-848).
const LOAD_THREADS: [&str; 2] = ["java", "consumer_backgr"];

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

pub(super) struct Members {
    settings: GroupSettings,
    topics: Vec<String>,
    /// Of each topic.
    partitions: usize,
    processes: BTreeMap<Who, Process>,
    /// Those whose end was asked for, and why.
    ending: BTreeMap<Who, Cause>,
    /// Those that were started again, and have no partition yet.
    joining: Vec<Who>,
    sender: Sender<Message>,
    held_until_ns: Option<u64>,
    /// The most of each, of whichever of its processes.
    memory_bytes: BTreeMap<Who, u64>,
}

impl Members {
    /// Starts all members of all groups. `partitions` are those of each topic; what members report goes to `sender`.
    pub(super) fn start_all(
        settings: &GroupSettings,
        topics: &[String],
        partitions: usize,
        sender: Sender<Message>,
    ) -> Result<Self> {
        let mut all = Self {
            settings: settings.clone(),
            topics: topics.to_vec(),
            partitions,
            processes: BTreeMap::new(),
            ending: BTreeMap::new(),
            joining: Vec::new(),
            sender,
            held_until_ns: None,
            memory_bytes: BTreeMap::new(),
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
        let group = self.group(who);
        let mut properties: BTreeMap<&str, String> = settings
            .properties
            .iter()
            .map(|(key, value)| (key.as_str(), value.clone()))
            .collect();
        properties.insert("group.id", group.to_owned());
        properties.insert("client.id", format!("{group}-{}", who.member));
        let own = MemberSettings {
            properties,
            credentials: settings.credentials.as_deref(),
            topics: &self.topics,
            partitions: self.partitions,
            commit: &settings.commit,
            commit_ms: settings.commit_ms,
        };
        let mut process = Process::start(who, &settings.argv, &own, self.sender.clone())?;
        if let Some(until_ns) = self.held_until_ns {
            process.hold(until_ns);
        }
        self.processes.insert(who, process);
        Ok(())
    }

    fn group(&self, who: Who) -> &str {
        &self.settings.groups[who.group as usize]
    }

    /// The threads that carry the load, by process.
    pub(super) fn helpers(&self) -> BTreeMap<u32, Vec<Helper>> {
        let of_process = |(who, process): (&Who, &Process)| {
            let name = format!("load-{}-{}", who.group, who.member);
            let threads = LOAD_THREADS.map(|thread| Helper {
                thread,
                name: name.clone(),
            });
            (process.pid, threads.into())
        };
        self.processes.iter().map(of_process).collect()
    }

    /// The ends of what the processes wrote on stderr.
    pub(super) fn last_words(&self) -> String {
        let words: Vec<String> = self.processes.values().map(Process::last_words).collect();
        words.join("; ")
    }

    /// Does to a member what a fault asks for; returns what that means for its partitions.
    pub(super) fn act(&mut self, who: Who, act: Act) -> Result<What> {
        if act == Act::Join {
            ensure!(!self.processes.contains_key(&who), "{who:?} is there already");
            self.start(who)?;
            self.joining.push(who);
            return Ok(What::Joins);
        }
        self.note_memory();
        let process = self
            .processes
            .get_mut(&who)
            .with_context(|| format!("{who:?} is not there"))?;
        Ok(match act {
            Act::Kill => {
                process.signal(Signal::KILL)?;
                self.ending.insert(who, Cause::Kill);
                What::Gone(Cause::Kill)
            }
            Act::Leave => {
                process.leave();
                self.ending.insert(who, Cause::Leave);
                What::Leaves
            }
            Act::Pause => {
                process.signal(Signal::STOP)?;
                report(who, false);
                What::Paused
            }
            Act::Resume => {
                process.signal(Signal::CONT)?;
                report(who, true);
                What::Resumed
            }
            Act::Join => unreachable!("it is done above"),
        })
    }

    /// A member has partitions: it is there, if it was started again.
    pub(super) fn has_joined(&mut self, who: Who) {
        if let Some(at) = self.joining.iter().position(|one| *one == who) {
            self.joining.remove(at);
            report(who, true);
        }
    }

    /// A process has ended, with an error or without. Returns what that means for its partitions, if anything; an error where
    /// nobody has asked for it.
    pub(super) fn on_end(&mut self, who: Who, pid: u32, error: Option<String>) -> Result<Option<What>> {
        let Some(process) = self.processes.get(&who).filter(|process| process.pid == pid) else {
            return Ok(None);
        };
        let words = process.last_words();
        let Some(cause) = self.ending.remove(&who).filter(|_| error.is_none()) else {
            let why = error.unwrap_or(words);
            return Err(anyhow!(
                "member {} of group {} has ended: {why}",
                who.member,
                self.group(who)
            ));
        };
        if let Some(process) = self.processes.remove(&who) {
            process.end(LEAVE)?;
        }
        report(who, false);
        Ok((cause == Cause::Leave).then_some(What::Gone(cause)))
    }

    /// Asks all of them to read nothing until then, and those that join meanwhile.
    pub(super) fn hold(&mut self, until_ns: u64) {
        self.held_until_ns = Some(until_ns);
        for process in self.processes.values_mut() {
            process.hold(until_ns);
        }
    }

    /// Ends all members in good order.
    pub(super) fn leave(&mut self) -> Result<()> {
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

    /// The most memory of all processes together.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.memory_bytes.values().sum()
    }
}

fn report(who: Who, is_there: bool) {
    emit(&Event::Member {
        group: who.group,
        member: who.member,
        is_there,
    });
}
