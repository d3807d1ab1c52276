// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/plain/futex_parker.h
// -----------------------------------------------------------------------------
//
// bench/plain/run replaces the following header by this file:
// workqueue/clock/internal/futex_parker.h.

// This file declares nothing. So the real clock uses `ConditionVariableParker`,
// as on machines without futexes.
