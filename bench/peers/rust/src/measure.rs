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

/// Returns how many nanoseconds one of the `n` operations of a pass takes.
/// There is a pass to warm up, and then as many as half a second has room for.
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

/// The bytes of this process that are resident.
pub fn resident() -> f64 {
    const PAGE_SIZE: f64 = 4096.0;
    let statm = fs::read_to_string("/proc/self/statm").unwrap();
    let pages: f64 = statm.split(' ').nth(1).unwrap().parse().unwrap();
    pages * PAGE_SIZE
}

/// Reports what the process costs a minute when nobody asks it for anything.
pub async fn report_idle(time: Duration) {
    // For what starting it leaves to be done.
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

/// How often the threads of this process went to sleep of themselves, and their
/// CPU time.
#[derive(Default)]
struct Activity {
    wakeups: u64,
    cpu_ns: u64,
}

impl Activity {
    fn now() -> Self {
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
