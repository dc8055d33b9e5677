//! A blocking task in its own thread, next to a hot loop that must not block: reconnecting, refreshing
//! metadata.

use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, TryRecvError};
use std::time::Duration;

/// A task that runs until a round returns true, or until this is dropped.
#[derive(Debug)]
pub struct BackgroundTask<T> {
    found: Receiver<T>,
    _wanted: Arc<()>,
}

/// The task is over, and all its results were taken.
#[derive(Debug, PartialEq, Eq)]
pub struct Finished;

impl<T: Send + 'static> BackgroundTask<T> {
    /// Calls `round` until it returns true, with a pause after each; it sends its results.
    pub fn spawn(pause: Duration, mut round: impl FnMut(&Sender<T>) -> bool + Send + 'static) -> Self {
        let (sender, found) = mpsc::channel();
        let token = Arc::new(());
        let wanted = Arc::downgrade(&token);
        let search = move || {
            while wanted.strong_count() > 0 && !round(&sender) {
                std::thread::sleep(pause);
            }
        };
        std::thread::Builder::new()
            .name("background".into())
            .spawn(search)
            .expect("a thread can be started");
        Self { found, _wanted: token }
    }

    /// The next result; None while there is none.
    pub fn poll(&self) -> Result<Option<T>, Finished> {
        match self.found.try_recv() {
            Ok(found) => Ok(Some(found)),
            Err(TryRecvError::Empty) => Ok(None),
            Err(TryRecvError::Disconnected) => Err(Finished),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_arrives_and_then_it_is_over() {
        let mut rounds = 0;
        let task = BackgroundTask::spawn(Duration::from_millis(1), move |sender| {
            rounds += 1;
            sender.send(rounds).expect("it is wanted");
            rounds == 3
        });
        let mut found = Vec::new();
        loop {
            match task.poll() {
                Ok(Some(number)) => found.push(number),
                Ok(None) => std::thread::yield_now(),
                Err(Finished) => break,
            }
        }
        assert_eq!(found, [1, 2, 3]);
    }
}
