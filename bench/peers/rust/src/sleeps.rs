//! How late each of n sleeps ended, in nanoseconds.

use std::time::{Duration, Instant};

pub fn lateness(workload: &str, n: u64) -> Vec<u128> {
    let length = match workload {
        "W6-100us" => Duration::from_micros(100),
        "W6-1ms" => Duration::from_millis(1),
        _ => Duration::from_millis(10),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(async move {
        let mut late = Vec::with_capacity(n as usize);
        for _ in 0..n {
            let begin = Instant::now();
            tokio::time::sleep(length).await;
            late.push(begin.elapsed().saturating_sub(length).as_nanos());
        }
        late
    })
}
