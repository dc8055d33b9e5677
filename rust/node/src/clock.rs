//! The clock of this host, read as often as the controller asks.

use hydrotest_core::clock::wall_ns;
use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_core::wire::{Command, Event, emit};

/// Reports the wall time whenever asked, until stdin ends.
pub fn run() -> Result<(), String> {
    let _: serde_json::Map<String, serde_json::Value> = read_settings()?;
    let control = listen(|command| matches!(command, Command::Report), AtEnd::Enough);
    while control.commands.recv().is_ok() {
        emit(&Event::Clock {
            wall_s: wall_ns() as f64 / 1e9,
        });
    }
    Ok(())
}
