// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/kill_checks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/shared/kill_record.h"
#include "test/shared/queue_history.h"

namespace workqueue {
namespace {

constexpr int64_t kNever = QueueOperation::kNever;

// The facts that are known of one token.
struct HandOut {
  int process = 0;
  std::string item;
  int64_t at = kNever;       // has been received
  int64_t alive_at = 0;      // the last time that it was not lost()
  int64_t ends_at = kNever;  // the call that ends it begins
  bool gives_back = false;
  int64_t returned_at = kNever;  // the call of Done()
  bool done = false;             // what it returned
  // The server did not hand it out before that.
  int64_t not_before = 0;
};

struct Item {
  int64_t adds = 0;
  int64_t first_begin = kNever;
  int64_t first_delay = 0;
  std::vector<const HandOut*> hand_outs;
  std::vector<QueueOperation> history;
};

class Checker {
 public:
  Checker(const std::vector<KillRecord>& records, absl::Duration lease)
      : lease_(absl::ToInt64Nanoseconds(lease)) {
    for (const KillRecord& record : records) TakeIn(record);
  }

  KillReport Check() && {
    int64_t not_before = 0;
    for (auto& [token, out] : hand_outs_) {
      Item& item = items_[out.item];
      if (out.at == kNever) continue;
      // The server had handed out the tokens before this one, each after the
      // first add of its item had begun.
      if (item.adds > 0) not_before = std::max(not_before, item.first_begin);
      out.not_before = not_before;
      if (out.at < not_before) {
        Report(KillViolation::kToken, token, out,
               "came before an item of a lesser token was added");
      }
      item.hand_outs.push_back(&out);
      ++report_.hand_outs;
      if (out.done) ++report_.done;
      if (out.returned_at != kNever && !out.done) ++report_.too_late;
      if (out.ends_at == kNever) ++report_.never_ended;
      TakeInLease(token, out, &item.history);
    }
    for (auto& [name, item] : items_) Check(name, &item);
    return std::move(report_);
  }

 private:
  void TakeIn(const KillRecord& record) {
    last_ = std::max(last_, record.time);
    HandOut* out = nullptr;
    switch (record.kind) {
      case KillRecord::kAddBegins:
        TakeInBegin(record);
        return;
      case KillRecord::kAddAcknowledged:
        TakeInAcknowledgement(record);
        return;
      case KillRecord::kFailed:
        report_.violations.push_back(
            {KillViolation::kFailure,
             absl::StrCat("process ", record.process, ": ", record.item)});
        return;
      default:
        out = &hand_outs_[record.number];
    }
    if (record.kind == KillRecord::kHandedOut) {
      if (out->at != kNever) {
        Report(
            KillViolation::kToken, record.number, *out,
            absl::StrCat("was handed out again, to process ", record.process));
      }
      out->process = record.process;
      out->item = record.item;
      out->at = record.time;
    } else if (record.kind == KillRecord::kAlive) {
      out->alive_at = std::max(out->alive_at, record.time);
    } else if (record.kind == KillRecord::kDone) {
      out->returned_at = record.time;
      out->done = record.value != 0;
    } else {
      out->ends_at = record.time;
      out->gives_back = record.kind == KillRecord::kGiveBackBegins;
    }
  }

  void TakeInBegin(const KillRecord& record) {
    ++report_.adds_begun;
    Item& item = items_[record.item];
    begins_[{record.process, record.number}] = {record.item,
                                                item.history.size()};
    item.history.push_back(
        {record.value > 0 ? QueueOperation::kAddLater : QueueOperation::kAdd,
         record.time});
    ++item.adds;
    if (record.time < item.first_begin) {
      item.first_begin = record.time;
      item.first_delay = record.value;
    }
  }

  void TakeInAcknowledgement(const KillRecord& record) {
    ++report_.adds_acknowledged;
    const auto& [item, add] = begins_[{record.process, record.number}];
    items_[item].history[add].end = record.time;
  }

  void TakeInLease(int64_t token, const HandOut& out,
                   std::vector<QueueOperation>* history) const {
    using Operation = QueueOperation;
    history->push_back(
        {Operation::kHandOut, std::min(out.not_before, out.at), out.at, token});
    history->push_back({Operation::kExpiry,
                        std::max(out.not_before + lease_, out.alive_at), kNever,
                        token});
    if (out.gives_back) {
      history->push_back({Operation::kGiveBack, out.ends_at, kNever, token});
    } else if (out.done || out.returned_at == kNever) {
      history->push_back(
          {Operation::kDone, out.ends_at, out.returned_at, token});
    }
  }

  void Check(const std::string& name, Item* item) {
    item->history.push_back({QueueOperation::kIsGone, last_ + 1, last_ + 1});
    // A process may have ended before it told of a hand-out.
    item->history.push_back({QueueOperation::kHandOut});
    if (const auto found = CheckHistory(item->history)) {
      const auto kind = found->operation.kind;
      report_.violations.push_back(
          {kind == QueueOperation::kIsGone ? KillViolation::kLost
           : kind == QueueOperation::kDone ? KillViolation::kStaleDone
           : found->is_held                ? KillViolation::kOverlap
                                           : KillViolation::kNotAdded,
           absl::StrCat(name, ":", found->text)});
    }
    if (item->adds == 1 && item->first_delay > 0) {
      for (const HandOut* out : item->hand_outs) {
        if (out->at >= item->first_begin + item->first_delay) continue;
        report_.violations.push_back(
            {KillViolation::kEarly,
             absl::StrCat(name, ": came ", out->at - item->first_begin,
                          " ns after its add, with a delay of ",
                          item->first_delay)});
      }
    }
  }

  void Report(KillViolation::Kind kind, int64_t token, const HandOut& out,
              const std::string& what) {
    report_.violations.push_back(
        {kind, absl::StrCat("token ", token, " of ", out.item, ", process ",
                            out.process, ": ", what)});
  }

  const int64_t lease_;
  KillReport report_;
  std::map<int64_t, HandOut> hand_outs_;  // by token
  absl::flat_hash_map<std::string, Item> items_;
  // Each add by its process and number: its item, and where it is in the
  // item's history.
  absl::flat_hash_map<std::pair<int, int64_t>, std::pair<std::string, size_t>>
      begins_;
  int64_t last_ = 0;  // the time of the last record
};

}  // namespace

bool KillReport::Has(KillViolation::Kind kind) const {
  return std::any_of(violations.begin(), violations.end(),
                     [&](const KillViolation& it) { return it.kind == kind; });
}

std::string KillReport::Summary() const {
  return absl::StrCat(adds_acknowledged, " of ", adds_begun,
                      " adds acknowledged, ", hand_outs, " hand-outs, ", done,
                      " done, ", too_late, " done too late, ", never_ended,
                      " never ended; ", violations.size(), " violations");
}

std::string KillReport::Violations() const {
  constexpr int kShown = 5;
  static constexpr const char* kNames[] = {
      "lost",         "overlap", "not added", "early",
      "stale Done()", "token",   "failure",   "stuck"};
  std::map<KillViolation::Kind, int> counts;
  std::string text;
  for (const KillViolation& it : violations) {
    if (++counts[it.kind] > kShown) continue;
    absl::StrAppend(&text, kNames[it.kind], ": ", it.text, "\n");
  }
  for (const auto& [kind, count] : counts) {
    absl::StrAppend(&text, count, " x ", kNames[kind], "\n");
  }
  return text;
}

KillReport CheckKillRecords(const std::vector<KillRecord>& records,
                            absl::Duration lease) {
  return Checker(records, lease).Check();
}

}  // namespace workqueue
