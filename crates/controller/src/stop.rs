//! Being asked to stop: what is in flight is finished, nothing new is begun.

use std::io;

use tokio::sync::watch;

/// Knows whether we are to stop.
#[derive(Clone, Debug)]
pub struct Stop(watch::Receiver<bool>);

/// Has others stop.
#[derive(Clone, Debug)]
pub struct Stopper(watch::Sender<bool>);

impl Stop {
    /// One that is set by hand.
    pub fn new() -> (Stopper, Self) {
        let (sender, receiver) = watch::channel(false);
        (Stopper(sender), Self(receiver))
    }

    /// One that SIGTERM and SIGINT set. Has to be called within a tokio runtime.
    ///
    /// # Errors
    ///
    /// The system lets nobody listen to signals.
    pub fn on_signals() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let (stopper, stop) = Self::new();
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            stopper.stop();
        });
        Ok(stop)
    }

    /// Whether we are to stop.
    pub fn is_set(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until we are to stop.
    pub async fn wait(&mut self) {
        // Where nobody can set it any more, it is never set.
        if self.0.wait_for(|&set| set).await.is_err() {
            std::future::pending().await
        }
    }
}

impl Stopper {
    /// Has them stop.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}
