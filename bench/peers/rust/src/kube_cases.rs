// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

//! The case of kube-rs' runtime. Its `applier` is what a `Controller` runs. It
//! needs no server: the case fills the store of objects, and sends the references
//! of the objects that are to be reconciled.

use crate::inputs::MILLION;
use crate::measure::{ns_each, report, resident};
use futures::channel::mpsc;
use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_runtime::controller::{Action, Config};
use kube_runtime::reflector::store::{store, Store};
use kube_runtime::reflector::ObjectRef;
use kube_runtime::{applier, watcher};
use std::convert::Infallible;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

const WORKERS: u64 = 100_000;

type Reference = ObjectRef<ConfigMap>;
type Sender = mpsc::UnboundedSender<Result<Reference, Infallible>>;

fn object(i: u64) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(i.to_string());
    object
}

fn objects() -> Store<ConfigMap> {
    let (reader, mut writer) = store::<ConfigMap>();
    writer.apply_watcher_event(&watcher::Event::Init);
    for i in 0..WORKERS {
        writer.apply_watcher_event(&watcher::Event::InitApply(object(i)));
    }
    writer.apply_watcher_event(&watcher::Event::InitDone);
    reader
}

fn send_all(sender: &Sender) {
    for i in 0..WORKERS {
        sender
            .unbounded_send(Ok(Reference::from_obj(&object(i))))
            .unwrap();
    }
}

/// Returns the stream of the objects that have been reconciled. Each takes
/// `wait`. All that are sent are in flight at the same time, because there is no
/// limit of the concurrency.
fn reconciled(
    store: Store<ConfigMap>,
    received: mpsc::UnboundedReceiver<Result<Reference, Infallible>>,
    wait: Duration,
    started: Arc<AtomicU64>,
) -> impl Stream<Item = Reference> {
    applier(
        move |_, started: Arc<AtomicU64>| {
            started.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                tokio::time::sleep(wait).await;
                Ok::<_, Infallible>(Action::await_change())
            })
        },
        |_, _, _| Action::await_change(),
        started,
        store,
        received,
        Config::default(),
    )
    .map(|result| result.expect("no error").0)
}

pub async fn blocked_workers_100k() {
    let bytes = bytes_of_worker().await;
    report("blocked_workers_100k", process_million().await, "ns");
    report("blocked_workers_100k_memory", bytes, "B");
}

/// Returns the resident bytes of each reconciliation while all are in flight.
async fn bytes_of_worker() -> f64 {
    let store = objects();
    let (sender, received) = mpsc::unbounded();
    let before = resident();
    let started = Arc::new(AtomicU64::new(0));
    let done = reconciled(store, received, Duration::from_secs(3), started.clone());
    let running = tokio::spawn(done.take(WORKERS as usize).count());
    send_all(&sender);
    while started.load(Ordering::Relaxed) < WORKERS {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let bytes = (resident() - before) / WORKERS as f64;
    running.await.unwrap();
    bytes
}

/// Returns the nanoseconds of an object. An object is sent again when it has
/// been reconciled, until a million have been.
async fn process_million() -> f64 {
    let store = objects();
    let (sender, received) = mpsc::unbounded();
    let started = Arc::new(AtomicU64::new(0));
    let mut done = pin!(reconciled(
        store,
        received,
        Duration::from_millis(100),
        started
    ));
    let start = Instant::now();
    send_all(&sender);
    for sent in WORKERS..MILLION + WORKERS {
        let reference = done.next().await.expect("the sender exists");
        if sent < MILLION {
            sender.unbounded_send(Ok(reference)).unwrap();
        }
    }
    ns_each(start.elapsed(), MILLION)
}
