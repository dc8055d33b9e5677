//! Processes that must not outlive this one.

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal, setpriority_process};

/// Lets the kernel kill what `command` starts, also while it is suspended, when the thread that starts it ends. `nice`: its
/// priority, if it is not to be ours.
pub fn tie(command: &mut Command, nice: Option<i32>) {
    let parent = getpid();
    let tie = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        if let Some(nice) = nice {
            setpriority_process(None, nice)?;
        }
        // The parent may have died before the line above took effect.
        if getppid() == Some(parent) {
            Ok(())
        } else {
            Err(rustix::io::Errno::SRCH.into())
        }
    };
    // SAFETY: between fork and exec the closure makes a few system calls and allocates nothing.
    unsafe { command.pre_exec(tie) };
}
