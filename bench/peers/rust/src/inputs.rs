// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

use std::time::Duration;

pub const MILLION: u64 = 1_000_000;
pub const HOUR: Duration = Duration::from_secs(3600);

/// Returns the i-th string key. All keys are different.
pub fn string_key(i: u64) -> String {
    let mut key = format!("namespace-{}/object-name-{i}", i % 100);
    key.shrink_to_fit();
    key
}

/// Returns the numbers from 0 to `n` - 1 in order.
pub fn in_order(n: usize) -> Vec<usize> {
    (0..n).collect()
}

/// Returns the numbers from 0 to `n` - 1 in random order.
pub fn shuffled(n: usize) -> Vec<usize> {
    let mut numbers = in_order(n);
    let mut random = Random::new();
    for i in (1..n).rev() {
        numbers.swap(i, random.below(i as u64 + 1) as usize);
    }
    numbers
}

/// The generator of bench/random_delays.h, which draws the same numbers.
pub struct Random {
    state: u64,
}

impl Random {
    pub fn new() -> Self {
        Self { state: 1 }
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        let random = self.state.wrapping_mul(0x2545_F491_4F6C_DD1D);
        ((u128::from(random) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a delay from 1 h to 1,300 h.
    pub fn far_delay(&mut self) -> Duration {
        HOUR + Duration::from_nanos(self.below(1299 * HOUR.as_nanos() as u64))
    }
}
