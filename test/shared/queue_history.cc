// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/queue_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"

namespace workqueue {
namespace {

using Operation = QueueOperation;
constexpr int64_t kNever = Operation::kNever;

// Where the item is. Queued and held is dirty.
struct State {
  bool operator<(const State& other) const {
    return std::tie(queued, waits, held, handed_out, happened) <
           std::tie(other.queued, other.waits, other.held, other.handed_out,
                    other.happened);
  }

  bool queued = false;
  bool waits = false;
  bool held = false;          // by the last hand-out
  size_t handed_out = 0;      // so many times
  std::set<size_t> happened;  // of the operations in progress
};

// And how many adds have been used that perhaps happened. The fewer, the more
// can happen: so a state needs only the least number.
using States = std::map<State, size_t>;

bool Note(States& states, const State& state, size_t used) {
  const auto [it, is_new] = states.emplace(state, used);
  if (!is_new && it->second <= used) return false;
  it->second = used;
  return true;
}

class Search {
 public:
  explicit Search(const std::vector<Operation>& operations)
      : all_(operations), places_(operations.size()) {
    for (size_t i = 0; i < all_.size(); ++i) {
      if (all_[i].kind == Operation::kHandOut && all_[i].end != kNever) {
        hand_outs_.push_back(i);
      }
    }
    std::sort(hand_outs_.begin(), hand_outs_.end(), [this](size_t a, size_t b) {
      return all_[a].token < all_[b].token;
    });
    for (size_t n = 0; n < hand_outs_.size(); ++n) places_[hand_outs_[n]] = n;
  }

  std::optional<HistoryViolation> Run() {
    // At the same time, what begins is in progress with what ends.
    std::vector<std::tuple<int64_t, bool, size_t>> events;
    for (size_t i = 0; i < all_.size(); ++i) {
      events.emplace_back(all_[i].begin, false, i);
      if (all_[i].end != kNever) events.emplace_back(all_[i].end, true, i);
    }
    std::sort(events.begin(), events.end());
    States states = {{State(), 0}};
    for (const auto& [time, ends, i] : events) {
      if (!ends) {
        Begin(i);
        continue;
      }
      States next;
      States seen;
      for (const auto& [state, used] : states) {
        LetHappen(i, state, used, &seen, &next);
      }
      if (next.empty()) return Describe(i, states);
      in_progress_.erase(i);
      states.swap(next);
    }
    return std::nullopt;
  }

 private:
  void Begin(size_t i) {
    const Operation& it = all_[i];
    if (it.end != kNever) {
      (it.kind == Operation::kHandOut ? begun_ : in_progress_).insert(i);
    } else if (it.kind == Operation::kHandOut) {
      may_expire_ = true;
    } else if (it.kind == Operation::kAdd || it.kind == Operation::kAddLater) {
      ++possible_adds_;
    } else {
      possible_ends_.emplace(it.token, it.kind);
    }
  }

  // The token of the last one of so many hand-outs.
  int64_t LastToken(size_t n) const {
    return n == 0 ? -kNever : all_[hand_outs_[n - 1]].token;
  }

  static void End(Operation::Kind kind, State& s) {
    s.held = false;
    if (kind == Operation::kGiveBack) s.queued = true;
    if (kind != Operation::kExpiry) return;
    s.queued = false;
    s.waits = true;
  }

  // Notes in `*next` all states in which the operation has happened, and of
  // what else can only what comes before it.
  void LetHappen(size_t i, State state, size_t used, States* seen,
                 States* next) {
    if (!Note(*seen, state, used)) return;
    if (all_[i].kind == Operation::kHandOut ? places_[i] < state.handed_out
                                            : state.happened.count(i) > 0) {
      state.happened.erase(i);
      Note(*next, state, used);
      return;
    }
    const auto go_on = [&](auto change, size_t uses = 0) {
      State after = state;
      change(after);
      LetHappen(i, after, used + uses, seen, next);
    };
    const int64_t token = LastToken(state.handed_out);
    for (size_t other : in_progress_) {
      const Operation& it = all_[other];
      if (state.happened.count(other) > 0) continue;
      const bool ends = it.kind == Operation::kDone ||
                        it.kind == Operation::kGiveBack ||
                        it.kind == Operation::kExpiry;
      if (ends && (!state.held || it.token != token)) continue;
      if (it.kind == Operation::kIsGone &&
          (state.queued || state.waits || state.held)) {
        continue;
      }
      go_on([&](State& s) {
        s.happened.insert(other);
        if (ends) End(it.kind, s);
        if (it.kind == Operation::kAddLater) s.waits = true;
        if (it.kind == Operation::kAdd) s.queued = true;
      });
    }
    if (may_expire_ && state.queued && !state.held) {
      go_on([](State& s) { End(Operation::kExpiry, s); });
    }
    if (state.waits) {
      go_on([](State& s) {
        s.waits = false;
        s.queued = true;
      });
    }
    if (!state.queued && used < possible_adds_) {
      go_on([](State& s) { s.queued = true; }, 1);
    }
    if (state.held) {
      const auto [from, to] = possible_ends_.equal_range(token);
      for (auto it = from; it != to; ++it) {
        go_on([&](State& s) { End(it->second, s); });
      }
    } else if (state.queued && state.handed_out < hand_outs_.size() &&
               LastToken(state.handed_out + 1) > token &&
               begun_.count(hand_outs_[state.handed_out]) > 0) {
      go_on([](State& s) {
        s.queued = false;
        s.held = true;
        ++s.handed_out;
      });
    }
  }

  HistoryViolation Describe(size_t i, const States& states) const {
    const Operation& it = all_[i];
    HistoryViolation violation = {it, false, ""};
    const auto describe = [&](const Operation& o) {
      absl::StrAppend(&violation.text, " ", std::string(1, o.kind), o.token,
                      " [", o.begin, ", ",
                      o.end == kNever ? "" : absl::StrCat(o.end), "]");
    };
    describe(it);
    absl::StrAppend(&violation.text, " cannot have happened after:");
    std::vector<Operation> sorted = all_;
    const auto begins_earlier = [](const Operation& a, const Operation& b) {
      return a.begin < b.begin;
    };
    std::stable_sort(sorted.begin(), sorted.end(), begins_earlier);
    constexpr int64_t kShown = 20;
    const auto to = std::find_if(sorted.begin(), sorted.end(),
                                 [&](auto& o) { return o.begin > it.end; });
    for (auto o = to - std::min(kShown, to - sorted.begin()); o != to; ++o) {
      describe(*o);
    }
    absl::StrAppend(&violation.text, "; the item was");
    for (const auto& [state, used] : states) {
      violation.is_held = violation.is_held || state.held;
      absl::StrAppend(&violation.text, state.held ? " held" : "",
                      state.queued ? " queued" : "",
                      state.waits ? " waiting" : "", " after ",
                      state.handed_out, " hand-outs,");
    }
    return violation;
  }

  const std::vector<Operation>& all_;
  std::vector<size_t> hand_outs_;  // by token
  std::vector<size_t> places_;     // of each hand-out there
  // What has begun: the hand-outs, and what will have happened by its end.
  std::set<size_t> begun_;
  std::set<size_t> in_progress_;
  // What has begun and perhaps happens.
  size_t possible_adds_ = 0;
  std::multimap<int64_t, Operation::Kind> possible_ends_;
  bool may_expire_ = false;
};

}  // namespace

std::optional<HistoryViolation> CheckHistory(
    const std::vector<QueueOperation>& operations) {
  return Search(operations).Run();
}

}  // namespace workqueue
