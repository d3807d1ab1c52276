// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/futex_parker.h
// -----------------------------------------------------------------------------
//
// For bench/plain/run, which puts this file in the place of
// workqueue/clock/internal/futex_parker.h.

// Empty: so the real clock takes the parker of all other machines,
// `ConditionVariableParker`.
