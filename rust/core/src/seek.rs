//! Something that is looked for in a thread of its own: looking blocks, and a hot loop must not.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Duration;

/// A search that runs until its rounds say so, or until this is dropped.
#[derive(Debug)]
pub struct Seeker<T> {
    found: Receiver<T>,
    _wanted: Arc<()>,
}

/// The search is over, and all that it found was taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Over;

impl<T: Send + 'static> Seeker<T> {
    /// Calls `round` until it returns true, with a pause after each; what it finds it sends.
    pub fn begin(pause: Duration, mut round: impl FnMut(&Sender<T>) -> bool + Send + 'static) -> Self {
        let (sender, found) = mpsc::channel();
        let token = Arc::new(());
        let wanted = Arc::downgrade(&token);
        let search = move || {
            while wanted.strong_count() > 0 && !round(&sender) {
                std::thread::sleep(pause);
            }
        };
        std::thread::Builder::new()
            .name("seeker".into())
            .spawn(search)
            .expect("a thread can be started");
        Self { found, _wanted: token }
    }

    /// The next thing that was found; None while there is none.
    pub fn found(&self) -> Result<Option<T>, Over> {
        match self.found.try_recv() {
            Ok(found) => Ok(Some(found)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Over),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_arrives_and_then_it_is_over() {
        let mut rounds = 0;
        let seeker = Seeker::begin(Duration::from_millis(1), move |sender| {
            rounds += 1;
            sender.send(rounds).expect("it is wanted");
            rounds == 3
        });
        let mut found = Vec::new();
        loop {
            match seeker.found() {
                Ok(Some(number)) => found.push(number),
                Ok(None) => std::thread::yield_now(),
                Err(Over) => break,
            }
        }
        assert_eq!(found, [1, 2, 3]);
    }
}
