// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

//! The cases of a whole controller of kube-rs. The case sends the events that a
//! watch of a server would have.

use crate::measure::{ns_each, report, resident, Activity};
use futures::channel::mpsc;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube_runtime::controller::{Action, Config, Controller};
use kube_runtime::reflector::{reflector, store::store};
use kube_runtime::{watcher, WatchStreamExt};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const OBJECTS: u64 = 100_000;
const PASSES: u64 = 5;
const PACED: u64 = 20_000;

type Event = Result<watcher::Event<ConfigMap>, watcher::Error>;

struct State {
    begun: Instant,
    reconciled: AtomicU64,
    /// By object: when the last event was sent, and when it was reconciled.
    sent_at: Vec<AtomicU64>,
    took_ns: Vec<AtomicU64>,
}

impl State {
    fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }
}

fn object(i: u64, version: u64) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some(format!("namespace-{}", i % 100));
    object.metadata.name = Some(format!("object-name-{i}"));
    object.metadata.resource_version = Some(version.to_string());
    object.metadata.generation = Some(i as i64);
    object
}

/// Sends an event of each of the first `n` objects: ten at a time, with a pause
/// of a millisecond before these, if `paced`. Returns when all are reconciled.
async fn process(state: &State, sender: &mpsc::UnboundedSender<Event>, n: u64, paced: bool) {
    let version = state.now();
    state.reconciled.store(0, Ordering::SeqCst);
    for i in 0..n {
        if paced && i % 10 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        state.sent_at[i as usize].store(state.now(), Ordering::SeqCst);
        let event = watcher::Event::Apply(object(i, version + i));
        sender.unbounded_send(Ok(event)).unwrap();
    }
    while state.reconciled.load(Ordering::SeqCst) < n {
        tokio::time::sleep(Duration::from_micros(100)).await;
    }
}

pub async fn controller(name: &str, workers: u16) {
    let zeros = || (0..OBJECTS).map(|_| AtomicU64::new(0)).collect();
    let state = Arc::new(State {
        begun: Instant::now(),
        reconciled: AtomicU64::new(0),
        sent_at: zeros(),
        took_ns: zeros(),
    });
    let (reader, writer) = store::<ConfigMap>();
    let (sender, received) = mpsc::unbounded();
    sender.unbounded_send(Ok(watcher::Event::Init)).unwrap();
    sender.unbounded_send(Ok(watcher::Event::InitDone)).unwrap();
    let objects = reflector(writer, received).applied_objects();
    let controller = Controller::for_stream(objects, reader)
        .with_config(Config::default().concurrency(workers))
        .run(
            |object: Arc<ConfigMap>, state: Arc<State>| async move {
                let i = object.metadata.generation.unwrap() as usize;
                let took = state.now() - state.sent_at[i].load(Ordering::SeqCst);
                state.took_ns[i].store(took, Ordering::SeqCst);
                state.reconciled.fetch_add(1, Ordering::SeqCst);
                Ok::<_, Infallible>(Action::await_change())
            },
            |_, _, _| Action::await_change(),
            state.clone(),
        );
    let running = tokio::spawn(controller.count());

    let before = resident();
    process(&state, &sender, OBJECTS, false).await;
    let bytes = resident() - before;
    let cpu_before = Activity::now().cpu_ns;
    let start = Instant::now();
    for _ in 0..PASSES {
        process(&state, &sender, OBJECTS, false).await;
    }
    let ns = ns_each(start.elapsed(), PASSES * OBJECTS);
    let cpu_ns = Activity::now().cpu_ns - cpu_before;
    process(&state, &sender, PACED, true).await;
    let mut took: Vec<u64> = state.took_ns[..PACED as usize]
        .iter()
        .map(|ns| ns.load(Ordering::SeqCst))
        .collect();
    took.sort_unstable();
    report(name, ns, "ns");
    let each = cpu_ns as f64 / (PASSES * OBJECTS) as f64;
    report(&format!("{name}_cpu"), each, "ns");
    report(&format!("{name}_memory"), bytes / OBJECTS as f64, "B");
    let p99 = took[(PACED * 99 / 100) as usize] as f64 / 1e3;
    report(&format!("{name}_p99"), p99, "us");
    running.abort();
}
