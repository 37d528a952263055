//! One thread that drives all sockets, so that scenarios can be written as plain calls.

use std::future::{Future, pending};
use std::sync::OnceLock;
use std::thread;

use anyhow::{Context, Result};
use tokio::runtime::{Builder, Handle};

/// The runtime, which lives as long as the process.
pub(crate) fn handle() -> Result<Handle> {
    static HANDLE: OnceLock<Handle> = OnceLock::new();
    if let Some(handle) = HANDLE.get() {
        return Ok(handle.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build().context("start a runtime")?;
    let mine = runtime.handle().clone();
    // Two scenarios may get here at once: one of the two runtimes is dropped again.
    let handle = HANDLE.get_or_init(|| {
        thread::spawn(move || runtime.block_on(pending::<()>()));
        mine
    });
    Ok(handle.clone())
}

/// Waits for a future.
pub(crate) fn wait<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    handle()?.block_on(future)
}
