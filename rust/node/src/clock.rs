//! The clock of this host: read as often as the controller asks, and compared with another host's over the
//! network between them.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::time::Duration;

use hydrotest_core::clock::wall_ns;
use hydrotest_core::control::{AtEnd, listen, read_settings};
use hydrotest_core::wire::{Command, Event, emit};
use serde::Deserialize;
use serde_json::json;

/// A host of the same network answers within milliseconds.
const ANSWER: Duration = Duration::from_secs(10);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockSettings {
    /// `address:port` at which other hosts ask for this clock; null: they do not.
    listen: Option<String>,
}

/// Reports the wall time whenever asked, until stdin ends.
pub fn run() -> Result<(), String> {
    let settings: ClockSettings = read_settings()?;
    if let Some(address) = settings.listen {
        let listener =
            TcpListener::bind(&address).map_err(|error| format!("{address} cannot be listened on: {error}"))?;
        spawn("clock", move || serve(&listener));
    }
    let control = listen(|command| matches!(command, Command::Report), AtEnd::Enough);
    while control.commands.recv().is_ok() {
        emit(&Event::Clock {
            wall_s: wall_ns() as f64 / 1e9,
        });
    }
    Ok(())
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) {
    std::thread::Builder::new()
        .name(name.into())
        .spawn(body)
        .expect("a thread can be started");
}

/// Answers each byte with the time, as eight bytes.
fn serve(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        spawn("answers", move || {
            if let Err(error) = answer(stream) {
                eprintln!("hydrotest-node: who asked for the time is gone: {error}");
            }
        });
    }
}

fn answer(mut stream: TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    while stream.read(&mut [0])? == 1 {
        stream.write_all(&wall_ns().to_be_bytes())?;
    }
    Ok(())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OffsetSettings {
    /// `address:port` of the other host's clock.
    of: String,
    /// Questions; the shortest exchange counts.
    exchanges: u32,
}

/// Reports how far this host's clock is ahead of another's, and by how much that may be wrong.
pub fn offset() -> Result<(), String> {
    let settings: OffsetSettings = read_settings()?;
    let (ahead_ns, error_ns) = compare(&settings.of, settings.exchanges)
        .map_err(|error| format!("the clock at {} cannot be asked: {error}", settings.of))?;
    emit(&Event::Done {
        result: json!({"offset_s": ahead_ns / 1e9, "error_s": error_ns / 1e9}),
    });
    Ok(())
}

/// The answer was given between question and arrival, so half the round trip bounds the error (F. Cristian,
/// "Probabilistic clock synchronization", 1989).
fn compare(of: &str, exchanges: u32) -> io::Result<(f64, f64)> {
    let address = of.to_socket_addrs()?.next().ok_or(io::ErrorKind::AddrNotAvailable)?;
    let mut stream = TcpStream::connect_timeout(&address, ANSWER)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER))?;
    let mut best = (0.0, f64::INFINITY);
    for _ in 0..exchanges {
        let asked = wall_ns();
        stream.write_all(&[0])?;
        let mut theirs = [0; 8];
        stream.read_exact(&mut theirs)?;
        let heard = wall_ns();
        // A clock that is set back in an exchange shortens no round trip.
        let Some(round_trip) = heard.checked_sub(asked) else {
            continue;
        };
        let error = round_trip as f64 / 2.0;
        if error < best.1 {
            best = (
                (i128::from(asked) - i128::from(u64::from_be_bytes(theirs))) as f64 + error,
                error,
            );
        }
    }
    if best.1.is_finite() {
        Ok(best)
    } else {
        Err(io::Error::other("this host's own clock is being set"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_does_not_differ_from_itself_by_more_than_the_error() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let of = listener.local_addr().unwrap().to_string();
        spawn("test", move || serve(&listener));
        let (ahead_ns, error_ns) = compare(&of, 20).unwrap();
        assert!(ahead_ns.abs() <= error_ns, "{ahead_ns} ± {error_ns}");
    }

    #[test]
    fn nobody_there_is_an_error() {
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        assert!(compare(&free.to_string(), 1).is_err());
    }
}
