// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

//! Runs a case of the benchmark on a peer that is written in Rust. See
//! bench/peers/README.md.

mod cases;
mod controller_cases;
mod inputs;
mod kube_cases;
mod measure;

use std::process::exit;
use std::time::Duration;

const CASES: [(&str, &str); 12] = [
    ("tokio-delayqueue", "push_take"),
    ("tokio-delayqueue", "add_after_far"),
    ("tokio-delayqueue", "pending_memory"),
    ("tokio-delayqueue", "lateness"),
    ("tokio-delayqueue", "schedule_cancel"),
    ("tokio-delayqueue", "growth"),
    ("tokio-delayqueue", "idle"),
    ("tokio-runtime", "idle"),
    ("kube-rs", "blocked_workers_100k"),
    ("kube-rs", "controller_1"),
    ("kube-rs", "controller_8"),
    ("kube-rs", "controller_64"),
];

#[tokio::main]
async fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["--list"] => {
            for (peer, case) in CASES {
                println!("{peer}\t{case}");
            }
        }
        ["--versions"] => {
            println!("tokio-delayqueue\t{}", locked_version("tokio-util"));
            println!("kube-rs\t{}", locked_version("kube-runtime"));
            println!("tokio-runtime\t{}", locked_version("tokio"));
        }
        [peer, case, ref options @ ..] if options.len() % 2 == 0 => {
            let mut reps = 1;
            let mut idle_time = Duration::from_secs(60);
            for option in options.chunks(2) {
                match (option[0], option[1].parse()) {
                    ("--reps", Ok(n)) => reps = n,
                    ("--seconds", Ok(n)) => idle_time = Duration::from_secs(n),
                    _ => fail(&format!("invalid option: {} {}", option[0], option[1])),
                }
            }
            let Some(&(peer, case)) = CASES.iter().find(|&&found| found == (peer, case)) else {
                fail(&format!(
                    "{peer} does not run {case}; --list prints all peers and cases"
                ));
            };
            for _ in 0..reps {
                // In a task, because programs do their work in tasks.
                tokio::spawn(run(peer, case, idle_time)).await.unwrap();
            }
        }
        _ => fail("usage: run PEER CASE [--reps N] [--seconds N] | --list | --versions"),
    }
}

async fn run(peer: &str, case: &str, idle_time: Duration) {
    match (peer, case) {
        (_, "controller_1") => controller_cases::controller(case, 1).await,
        (_, "controller_8") => controller_cases::controller(case, 8).await,
        (_, "controller_64") => controller_cases::controller(case, 64).await,
        ("kube-rs", _) => kube_cases::blocked_workers_100k().await,
        ("tokio-runtime", _) => measure::report_idle(idle_time).await,
        (_, "push_take") => cases::push_take().await,
        (_, "add_after_far") => cases::add_after_far(),
        (_, "pending_memory") => cases::pending_memory(),
        (_, "lateness") => cases::lateness().await,
        (_, "schedule_cancel") => cases::schedule_cancel(),
        (_, "growth") => cases::growth(),
        (_, "idle") => cases::idle(idle_time).await,
        _ => unreachable!(),
    }
}

/// Returns the version of the crate `name` that this program is built with.
fn locked_version(name: &str) -> &'static str {
    include_str!("../Cargo.lock")
        .split("[[package]]")
        .find(|package| package.contains(&format!("name = \"{name}\"\n")))
        .and_then(|package| package.split("version = \"").nth(1))
        .and_then(|rest| rest.split('"').next())
        .unwrap_or("unknown")
}

fn fail(message: &str) -> ! {
    eprintln!("{message}");
    exit(2)
}
