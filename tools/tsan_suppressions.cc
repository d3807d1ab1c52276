// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// What ThreadSanitizer is mistaken about, or right, but not about our code.
// --config=tsan links this into every program.
//
// A thread that waits in Abseil for the first time, in CondVar::Wait(), maps
// memory for its identity after it has told ThreadSanitizer that it unlocks the
// mutex. To that, whoever wakes the thread then seems to race with the mapping.
//
// CivetWeb, by which prometheus-cpp serves metrics, tells its threads to stop
// by a volatile variable, and its first thread frees then what others have
// used.

extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:CreateThreadIdentity\n"
         "race:master_thread_run\n"
         "race:mg_stop\n";
}
