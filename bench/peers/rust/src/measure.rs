// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

use std::fs;
use std::time::{Duration, Instant};

pub fn report(name: &str, value: f64, unit: &str) {
    println!("{name}\t{value:.1}\t{unit}");
}

pub fn ns_each(elapsed: Duration, n: u64) -> f64 {
    elapsed.as_nanos() as f64 / n as f64
}

/// Returns the nanoseconds of one operation. `pass` does `n` operations. It runs
/// once to warm up, and then repeatedly for half a second.
pub fn ns_per_op(n: u64, mut pass: impl FnMut()) -> f64 {
    pass();
    let mut passes = 0;
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(500) {
        pass();
        passes += 1;
    }
    ns_each(start.elapsed(), n * passes)
}

/// Returns the resident bytes of this process.
pub fn resident() -> f64 {
    const PAGE_SIZE: f64 = 4096.0;
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * PAGE_SIZE
}

/// Observes the idle process for `time`, and reports its cost in a minute.
pub async fn report_idle(time: Duration) {
    // Waits until the work of starting has ended.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let before = Activity::now();
    tokio::time::sleep(time).await;
    let after = Activity::now();
    let minutes = time.as_secs_f64() / 60.0;
    let wakeups = (after.wakeups - before.wakeups) as f64;
    let cpu_us = (after.cpu_ns - before.cpu_ns) as f64 / 1e3;
    report("idle_wakeups", wakeups / minutes, "1/min");
    report("idle_cpu", cpu_us / minutes, "us/min");
}

/// The voluntary context switches and the CPU time of all threads of this
/// process since their start.
#[derive(Default)]
pub struct Activity {
    wakeups: u64,
    pub cpu_ns: u64,
}

impl Activity {
    pub fn now() -> Self {
        let mut sum = Self::default();
        for thread in fs::read_dir("/proc/self/task").unwrap() {
            let thread = thread.unwrap().path();
            let status = fs::read_to_string(thread.join("status")).unwrap();
            let (_, wakeups) = status.split_once("\nvoluntary_ctxt_switches:").unwrap();
            sum.wakeups += first_number(wakeups);
            let schedstat = fs::read_to_string(thread.join("schedstat")).unwrap();
            sum.cpu_ns += first_number(&schedstat);
        }
        sum
    }
}

fn first_number(text: &str) -> u64 {
    let number = text.split_whitespace().next();
    number.unwrap().parse().unwrap()
}
