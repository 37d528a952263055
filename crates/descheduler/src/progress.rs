//! A bar for those who wait.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Who waits shorter than this does not want to be told.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the bar is drawn.
const FRAME: Duration = Duration::from_millis(100);

/// Shows how much of the input has been read, on standard error if that is a terminal, once it
/// takes long. Gone when dropped.
pub(crate) struct Progress {
    counts: Arc<Counts>,
    /// Dropped first, which ends the thread.
    alive: Option<Sender<()>>,
    drawing: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Counts {
    done: AtomicU64,
    total: AtomicU64,
}

impl Progress {
    /// Nothing read yet. A thread of its own draws, since reading may be busy for long with what
    /// it has got.
    pub(crate) fn start() -> Self {
        let counts = Arc::new(Counts::default());
        if !io::stderr().is_terminal() {
            return Self { counts, alive: None, drawing: None };
        }
        let (alive, ended) = mpsc::channel();
        let seen = Arc::clone(&counts);
        // Without the thread there is no bar, and nothing else is lost.
        let drawing = thread::Builder::new().spawn(move || draw(&seen, &ended)).ok();
        Self { counts, alive: Some(alive), drawing }
    }

    /// So many bytes have been read, of so many.
    pub(crate) fn update(&self, done: u64, total: u64) {
        let Counts { done: seen, total: of } = &*self.counts;
        seen.store(done, Ordering::Relaxed);
        of.store(total, Ordering::Relaxed);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.alive.take());
        if let Some(drawing) = self.drawing.take() {
            // A thread that failed has left its bar on the screen; that is all.
            let _ = drawing.join();
        }
    }
}

fn draw(counts: &Counts, ended: &Receiver<()>) {
    let goes_on = |pause| ended.recv_timeout(pause) == Err(RecvTimeoutError::Timeout);
    if !goes_on(PATIENCE) {
        return;
    }
    let bar = ProgressBar::no_length();
    let style = |template: &str| {
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
    };
    bar.set_style(style("{spinner} reading {bytes}"));
    loop {
        let done = counts.done.load(Ordering::Relaxed);
        let total = counts.total.load(Ordering::Relaxed);
        if total > 0 && bar.length().is_none() {
            bar.set_length(total);
            bar.set_style(style("reading {wide_bar} {bytes} of {total_bytes}"));
        }
        bar.set_position(done);
        bar.tick();
        if !goes_on(FRAME) {
            break;
        }
    }
    bar.finish_and_clear();
}
