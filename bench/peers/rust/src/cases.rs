// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

//! The cases of tokio-util's `DelayQueue`.

use crate::inputs::{in_order, shuffled, string_key, Random, HOUR, MILLION};
use crate::measure::{ns_each, ns_per_op, report, report_idle, resident};
use std::future::poll_fn;
use std::hint::black_box;
use std::time::{Duration, Instant};
use tokio_util::time::DelayQueue;

async fn take<T>(queue: &mut DelayQueue<T>) -> T {
    let expired = poll_fn(|cx| queue.poll_expired(cx)).await;
    expired.expect("there is an item").into_inner()
}

pub async fn push_take() {
    push_and_take(MILLION / 10).await;
    report("push_take", push_and_take(MILLION).await, "ns");
}

async fn push_and_take(n: u64) -> f64 {
    let mut queue = DelayQueue::new();
    let start = Instant::now();
    for i in 0..n {
        queue.insert(i, Duration::ZERO);
    }
    for _ in 0..n {
        black_box(take(&mut queue).await);
    }
    ns_each(start.elapsed(), n)
}

pub fn add_after_far() {
    add_far(MILLION / 10);
    report("add_after_far", add_far(MILLION), "ns");
}

fn add_far(n: u64) -> f64 {
    let mut queue = DelayQueue::new();
    let mut random = Random::new();
    let start = Instant::now();
    for i in 0..n {
        queue.insert(i, random.far_delay());
    }
    ns_each(start.elapsed(), n)
}

pub fn pending_memory() {
    let before = resident();
    let mut queue = DelayQueue::new();
    let mut random = Random::new();
    for i in 0..MILLION {
        queue.insert(string_key(i), random.far_delay());
    }
    let bytes = resident() - before;
    report("pending_memory", bytes / MILLION as f64, "B");
    black_box(queue);
}

pub async fn lateness() {
    const WARM_UP: usize = 100;
    const SAMPLES: usize = 1000;
    let mut queue = DelayQueue::new();
    let mut late = Vec::new();
    for _ in 0..WARM_UP + SAMPLES {
        late.push(late_by(&mut queue).await);
    }
    late.drain(..WARM_UP);
    late.sort();
    let us = |sample: usize| late[sample].as_nanos() as f64 / 1e3;
    report("lateness_p50", us(SAMPLES / 2), "us");
    report("lateness_p99", us(SAMPLES * 99 / 100), "us");
}

async fn late_by(queue: &mut DelayQueue<u64>) -> Duration {
    const DELAY: Duration = Duration::from_millis(2);
    let added = Instant::now();
    queue.insert(1, DELAY);
    take(queue).await;
    added.elapsed() - DELAY
}

pub fn schedule_cancel() {
    const N: usize = 100_000;
    report("schedule_cancel", cancel_all(in_order(N)), "ns");
    report("schedule_cancel_shuffled", cancel_all(shuffled(N)), "ns");
}

/// Returns the nanoseconds to insert an item and remove it. Removes the items in
/// the given order.
fn cancel_all(order: Vec<usize>) -> f64 {
    let mut queue = DelayQueue::new();
    let mut scheduled = Vec::with_capacity(order.len());
    ns_per_op(order.len() as u64, || {
        scheduled.clear();
        for i in 0..order.len() {
            scheduled.push(queue.insert(i, HOUR));
        }
        for &i in &order {
            black_box(queue.remove(&scheduled[i]));
        }
    })
}

pub fn growth() {
    report("growth_1K", add_among(1000), "ns");
    report("growth_100K", add_among(100_000), "ns");
    report("growth_1M", add_among(MILLION), "ns");
    report("growth_10M", add_among(10 * MILLION), "ns");
}

/// Returns the nanoseconds of one insert while `waiting` items wait. Measures as
/// many inserts as items wait, but at most 100,000, and repeats a small number
/// of inserts.
fn add_among(waiting: u64) -> f64 {
    let adds = waiting.min(100_000);
    let rounds = (20_000 / adds).max(1);
    let mut sum = 0.0;
    for _ in 0..rounds {
        let mut queue = DelayQueue::new();
        let mut random = Random::new();
        for i in 0..waiting {
            queue.insert(i, random.far_delay());
        }
        let start = Instant::now();
        for i in 0..adds {
            queue.insert(waiting + i, random.far_delay());
        }
        sum += ns_each(start.elapsed(), adds);
    }
    sum / rounds as f64
}

pub async fn idle(time: Duration) {
    let mut queue = DelayQueue::new();
    queue.insert(1, HOUR);
    let taker = tokio::spawn(async move { take(&mut queue).await });
    report_idle(time).await;
    taker.abort();
}
