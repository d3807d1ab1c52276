// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_SCRIPT_H_
#define WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_SCRIPT_H_

namespace workqueue::internal {

// The version of the layout of an election in the server. An election of
// another version is refused.
constexpr int kLeaderLayoutVersion = 1;

// The script, in Lua, that acquires, renews, shows or releases the lease of an
// election. The head of the script documents its key, arguments and reply.
extern const char kLeaderScript[];

}  // namespace workqueue::internal

#endif  // WORKQUEUE_LEADER_ELECTION_INTERNAL_LEADER_SCRIPT_H_
