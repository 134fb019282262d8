//! How late each of n sleeps ended, in nanoseconds.

use std::time::{Duration, Instant};

use crate::timers::{runtime_of_one_task, sleep};

pub fn lateness(workload: &str, n: u64) -> Vec<u128> {
    let length = match workload {
        "W6-100us" => Duration::from_micros(100),
        "W6-1ms" => Duration::from_millis(1),
        _ => Duration::from_millis(10),
    };
    let runtime = runtime_of_one_task();
    // In a task: with workers, block_on() has its timers elsewhere.
    let sleeps = runtime.spawn(async move {
        let mut late = Vec::with_capacity(n as usize);
        for _ in 0..n {
            let begin = Instant::now();
            sleep(length).await;
            late.push(begin.elapsed().saturating_sub(length).as_nanos());
        }
        late
    });
    runtime.block_on(sleeps).expect("a task")
}
