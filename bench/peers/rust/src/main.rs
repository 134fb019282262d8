//! The workloads of `foliot bench` that other programs do, with Tokio's timers, its alternative ones, or the timeouts of
//! pingora: timers.rs has what differs.
//!
//!     peer WORKLOAD N THREADS MILLISECONDS [SEED]
//!
//! W5W1, W5W2: N timers, THREADS tasks on as many workers, measured for MILLISECONDS after a warm-up; what
//! they do is told in bench/workloads/crew.hpp. A reset is `Sleep::reset`; a timer is stopped
//! by dropping it, and started by making one in the same place, and polling it once. W6-…: N
//! sleeps, one after the other. Writes one line of JSON.

mod random;
mod share;
mod sleeps;
mod timers;

use std::process::exit;

fn refuse(why: &str) -> ! {
    eprintln!("{why}");
    exit(2)
}

fn number(text: &str) -> u64 {
    match text.parse() {
        Ok(value) if value > 0 => value,
        _ => refuse(&format!("'{text}' is no positive number")),
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if !(4..=5).contains(&arguments.len()) {
        refuse("usage: peer WORKLOAD N THREADS MILLISECONDS [SEED]");
    }
    let workload = arguments[0].as_str();
    let (n, threads, milliseconds) = (number(&arguments[1]), number(&arguments[2]), number(&arguments[3]));
    let seed = arguments.get(4).map_or(1, |text| number(text));
    let figure = match workload {
        "W5W1" => format!("\"ns\":{}", share::share(share::Work::Pairs, n, threads, milliseconds, seed)),
        "W5W2" => format!("\"ns\":{}", share::share(share::Work::Resets, n, threads, milliseconds, seed)),
        "W6-100us" | "W6-1ms" | "W6-10ms" => format!("\"lateness_ns\":{:?}", sleeps::lateness(workload, n)),
        _ => refuse(&format!("there is no workload '{workload}'")),
    };
    println!("{{\"version\":\"{}\",{figure}}}", timers::version());
}
