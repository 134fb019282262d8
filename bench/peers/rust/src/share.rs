//! Tasks that work on the timers of one runtime.

use std::future::poll_fn;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::task::{unconstrained, yield_now};
use tokio::time::Instant;

use crate::random::{lower_below, upper_below, Random};
use crate::timers::{reset, runtime_of, start, stop, Place};

const HEARTBEAT: Duration = Duration::from_secs(30);
const PER_LOOK: u64 = 1024; // operations between two readings of the clock, and yields
const LONGEST_WARM_UP: Duration = Duration::from_millis(300);
const FEWEST_WARM: u64 = 10_000;
const QUICK_WARM: u64 = 64;
const SHORTEST: u64 = 20; // ms: a shorter measurement has no warm-up

#[derive(Clone, Copy, PartialEq)]
pub enum Work {
    Pairs,
    Resets,
}

struct Member {
    timers: Vec<Place>,
    random: Random,
    spare: usize, // the timer that is idle
    done: u64,
}

fn uniform(draw: u64) -> Duration {
    let (least, most) = (100_000_000, 3_600_000_000_000);
    Duration::from_nanos(least + lower_below(draw, most - least))
}

impl Member {
    fn new(work: Work, each: usize, seed: u64, context: &mut Context<'_>) -> Member {
        let mut random = Random(seed);
        let mut timers: Vec<Place> = (0..each).map(|_| Box::pin(None)).collect();
        for place in &mut timers[..each - 1] {
            let length = if work == Work::Resets { HEARTBEAT } else { uniform(random.next()) };
            start(place, length, context);
        }
        Member { timers, random, spare: each - 1, done: 0 }
    }

    fn turn(&mut self, work: Work, context: &mut Context<'_>) {
        for _ in 0..PER_LOOK {
            let draw = self.random.next();
            if work == Work::Pairs {
                start(&mut self.timers[self.spare], uniform(draw), context);
                self.spare = upper_below(draw, self.timers.len() as u64);
                stop(&mut self.timers[self.spare]);
            } else {
                let place = upper_below(draw, self.timers.len() as u64 - 1);
                reset(&mut self.timers[place], HEARTBEAT, context);
            }
        }
        self.done += PER_LOOK;
    }

    async fn run_for(&mut self, work: Work, begin: Instant, length: Duration, operations: u64) -> Duration {
        loop {
            poll_fn(|context| {
                self.turn(work, context);
                Poll::Ready(())
            })
            .await;
            let passed = begin.elapsed();
            if passed >= length || self.done >= operations {
                return passed;
            }
            yield_now().await;
        }
    }
}

#[derive(Default)]
struct Start {
    arrived: AtomicU64,
    begun: OnceLock<Instant>, // a task that has to wait for a worker waits within its time
}

impl Start {
    /// Returns when all tasks have called it for the so-many-th time.
    async fn gather(&self, time: u64, threads: u64) {
        self.arrived.fetch_add(1, Ordering::AcqRel);
        while self.arrived.load(Ordering::Acquire) < time * threads {
            yield_now().await;
        }
    }
}

/// Operations a nanosecond.
async fn work_on(work: Work, each: usize, milliseconds: u64, threads: u64, seed: u64, start: Arc<Start>) -> f64 {
    let mut me = poll_fn(|context| Poll::Ready(Member::new(work, each, seed, context))).await;
    start.gather(1, threads).await;
    let warm = if milliseconds < SHORTEST { QUICK_WARM } else { FEWEST_WARM.max(each as u64) };
    me.run_for(work, Instant::now(), LONGEST_WARM_UP, warm).await;
    start.gather(2, threads).await;
    me.done = 0;
    let begin = *start.begun.get_or_init(Instant::now);
    let passed = me.run_for(work, begin, Duration::from_millis(milliseconds), u64::MAX).await;
    me.done as f64 / passed.as_nanos() as f64
}

/// The ns of one operation of all tasks together.
pub fn share(work: Work, n: u64, threads: u64, milliseconds: u64, seed: u64) -> f64 {
    let runtime = runtime_of(threads as usize);
    let each = (n / threads).max(1) as usize + 1; // one is idle
    let start = Arc::new(Start::default());
    let tasks: Vec<_> = (0..threads)
        .map(|which| {
            // Unconstrained: otherwise a task has to wait after it has polled 128 timers.
            runtime.spawn(unconstrained(work_on(
                work,
                each,
                milliseconds,
                threads,
                seed * 1_000_003 + which,
                start.clone(),
            )))
        })
        .collect();
    let rate: f64 = tasks.into_iter().map(|task| runtime.block_on(task).expect("a task")).sum();
    1.0 / rate
}
