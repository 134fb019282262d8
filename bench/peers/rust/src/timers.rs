//! The timers of this build, and a runtime that has them:
//!
//! | built with | timers |
//! |---|---|
//! | nothing more | Tokio's, in one wheel that all workers share |
//! | `--cfg tokio_unstable` | Tokio's alternative timer: each worker has a wheel of its own |
//! | `--features pingora` | the timeouts of pingora-timeout, on Tokio with its one wheel |

use std::future::Future;
use std::pin::Pin;
use std::task::Context;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

#[cfg(all(tokio_unstable, feature = "pingora"))]
compile_error!("the peer pingora is built without tokio_unstable");

#[cfg(not(feature = "pingora"))]
pub type Timer = tokio::time::Sleep;
#[cfg(feature = "pingora")]
pub type Timer = pingora_timeout::Timeout<std::future::Pending<()>, pingora_timeout::fast_timeout::FastOrTokioTimeout>;

/// Holds a timer, or none while it is stopped.
pub type Place = Pin<Box<Option<Timer>>>;

/// The runtime knows of a timer only after it has been polled.
pub fn start(place: &mut Place, length: Duration, context: &mut Context<'_>) {
    #[cfg(not(feature = "pingora"))]
    place.set(Some(tokio::time::sleep(length)));
    #[cfg(feature = "pingora")]
    place.set(Some(pingora_timeout::timeout(length, std::future::pending())));
    poll(place, context);
}

pub fn stop(place: &mut Place) {
    place.set(None);
}

/// Sets a timer that runs to `length` from now.
pub fn reset(place: &mut Place, length: Duration, context: &mut Context<'_>) {
    #[cfg(not(feature = "pingora"))]
    if let Some(timer) = place.as_mut().as_pin_mut() {
        timer.reset(tokio::time::Instant::now() + length);
    }
    // The alternative timer begins anew with each reset, and wakes its task only if it is polled again.
    #[cfg(tokio_unstable)]
    poll(place, context);
    #[cfg(not(any(tokio_unstable, feature = "pingora")))]
    let _ = context;
    // A timeout of pingora cannot be moved: its users make another one.
    #[cfg(feature = "pingora")]
    start(place, length, context);
}

fn poll(place: &mut Place, context: &mut Context<'_>) {
    let _ = place.as_mut().as_pin_mut().map(|timer| timer.poll(context));
}

#[cfg(not(feature = "pingora"))]
pub async fn sleep(length: Duration) {
    tokio::time::sleep(length).await;
}
#[cfg(feature = "pingora")]
pub async fn sleep(length: Duration) {
    pingora_timeout::sleep(length).await;
}

pub fn runtime_of(workers: usize) -> Runtime {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(workers).enable_time();
    #[cfg(tokio_unstable)]
    builder.enable_alt_timer();
    builder.build().expect("a runtime")
}

/// A runtime for one task, in the calling thread; the alternative timer has workers only.
#[cfg(not(tokio_unstable))]
pub fn runtime_of_one_task() -> Runtime {
    Builder::new_current_thread().enable_time().build().expect("a runtime")
}
#[cfg(tokio_unstable)]
pub fn runtime_of_one_task() -> Runtime {
    runtime_of(1)
}

/// The versions of what is measured, from the lock file of this build.
pub fn version() -> String {
    let tokio = locked("tokio");
    if cfg!(feature = "pingora") {
        format!("pingora-timeout {}, Tokio {tokio}", locked("pingora-timeout"))
    } else if cfg!(tokio_unstable) {
        format!("{tokio}, tokio_unstable, enable_alt_timer")
    } else {
        tokio.to_string()
    }
}

fn locked(crate_name: &str) -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let entry = format!("name = \"{crate_name}\"\nversion = \"");
    lock.split(entry.as_str()).nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("unknown")
}
