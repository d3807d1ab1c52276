// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Suppresses reports of ThreadSanitizer that are false or are not about our
// code. --config=tsan links this file into every program.
//
// CreateThreadIdentity: on a thread's first CondVar::Wait(), Abseil tells
// ThreadSanitizer that the thread unlocks the mutex, and then maps memory for
// the thread's identity. ThreadSanitizer takes the mapping for a race with the
// thread that wakes this one.
//
// master_thread_run, mg_stop: CivetWeb, the web server in prometheus-cpp, stops
// its threads by a volatile variable. Its first thread then frees memory that
// the other threads have used.

extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:CreateThreadIdentity\n"
         "race:master_thread_run\n"
         "race:mg_stop\n";
}
