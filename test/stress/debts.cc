// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/stress/debts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "gtest/gtest.h"
#include "test/stress/lull.h"
#include "workqueue/base/mutex_lock.h"

namespace workqueue {

using internal::MutexLock;

int64_t Debts::Adding(int item) {
  Account& account = accounts_[item];
  MutexLock lock(&account.mu);
  return ++account.adding;
}

void Debts::Added(int item, int64_t addition) {
  Account& account = accounts_[item];
  MutexLock lock(&account.mu);
  account.added = std::max(account.added, addition);
}

void Debts::AddedLater(int item, int64_t addition) {
  Account& account = accounts_[item];
  MutexLock lock(&account.mu);
  account.added_later = std::max(account.added_later, addition);
}

void Debts::Cancelled(int item) {
  Account& account = accounts_[item];
  MutexLock lock(&account.mu);
  account.cancelled = account.adding;
}

void Debts::Begin(int item) {
  EXPECT_FALSE(closed_) << item << " is processed after the end";
  Account& account = accounts_[item];
  MutexLock lock(&account.mu);
  EXPECT_FALSE(account.in_work) << item << " is being processed already";
  account.in_work = true;
  account.paid = account.adding;
  ++processings_;
}

void Debts::End(int item) {
  Account& account = accounts_[item];
  MutexLock lock(&account.mu);
  account.in_work = false;
}

bool Debts::Settled() {
  for (Account& account : accounts_) {
    MutexLock lock(&account.mu);
    if (account.in_work || account.paid < account.Owed()) return false;
  }
  return true;
}

void Debts::AwaitSettled() {
  while (!Settled()) Lull::Nap();
}

int Debts::ExpectPaidButDelayed() {
  int delayed = 0;
  for (size_t i = 0; i < accounts_.size(); ++i) {
    Account& account = accounts_[i];
    MutexLock lock(&account.mu);
    EXPECT_FALSE(account.in_work) << i << " is still being processed";
    EXPECT_GE(account.paid, account.added)
        << "addition " << account.added << " of " << i << " was lost";
    if (account.paid < account.Owed()) ++delayed;
  }
  return delayed;
}

}  // namespace workqueue
