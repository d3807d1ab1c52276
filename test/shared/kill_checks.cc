// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/kill_checks.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/shared/kill_record.h"

namespace workqueue {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// The facts that are known of one token.
struct HandOut {
  int process = 0;
  std::string item;
  int64_t at = kNever;       // has been received
  int64_t alive_at = 0;      // the last time that it was not lost()
  int64_t ends_at = kNever;  // the call that ends it begins
  bool gives_back = false;
  bool known = false;  // what Done() returned
  bool done = false;
  // The server did not hand it out before that.
  int64_t not_before = 0;
};

struct Item {
  int64_t adds = 0;
  int64_t first_begin = kNever;
  int64_t first_delay = 0;
  int64_t last_acknowledged_begin = -1;
  std::vector<const HandOut*> hand_outs;  // by token
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
      if (out.known && out.done) ++report_.done;
      if (out.known && !out.done) ++report_.too_late;
      if (out.ends_at == kNever) ++report_.never_ended;
    }
    for (const auto& [name, item] : items_) Check(name, item);
    return std::move(report_);
  }

 private:
  void TakeIn(const KillRecord& record) {
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
      out->known = true;
      out->done = record.value != 0;
    } else {
      out->ends_at = record.time;
      out->gives_back = record.kind == KillRecord::kGiveBackBegins;
    }
  }

  void TakeInBegin(const KillRecord& record) {
    ++report_.adds_begun;
    begins_[{record.process, record.number}] = {record.item, record.time};
    Item& item = items_[record.item];
    ++item.adds;
    if (record.time < item.first_begin) {
      item.first_begin = record.time;
      item.first_delay = record.value;
    }
  }

  void TakeInAcknowledgement(const KillRecord& record) {
    ++report_.adds_acknowledged;
    const auto& [name, begin] = begins_[{record.process, record.number}];
    Item& item = items_[name];
    item.last_acknowledged_begin =
        std::max(item.last_acknowledged_begin, begin);
  }

  void Check(const std::string& name, const Item& item) {
    int64_t last_processed = -1;
    for (const HandOut* out : item.hand_outs) {
      const bool processed = out->ends_at != kNever && !out->gives_back &&
                             (!out->known || out->done);
      if (processed) last_processed = std::max(last_processed, out->at);
    }
    if (last_processed < item.last_acknowledged_begin) {
      report_.violations.push_back(
          {KillViolation::kLost,
           absl::StrCat(name, ": the last add that was acknowledged began at ",
                        item.last_acknowledged_begin,
                        ", and the last processing at ", last_processed)});
    }
    if (item.adds == 1 && item.first_delay > 0) {
      for (const HandOut* out : item.hand_outs) {
        if (out->at >= item.first_begin + item.first_delay) continue;
        report_.violations.push_back(
            {KillViolation::kEarly,
             absl::StrCat(name, ": came ", out->at - item.first_begin,
                          " ns after its add, with a delay of ",
                          item.first_delay)});
      }
    }
    // The earliest receipt of a later token.
    const HandOut* later = nullptr;
    for (auto it = item.hand_outs.rbegin(); it != item.hand_outs.rend(); ++it) {
      if (later != nullptr) CheckPair(name, **it, *later);
      if (later == nullptr || (*it)->at < later->at) later = *it;
    }
  }

  void CheckPair(const std::string& name, const HandOut& a, const HandOut& b) {
    const auto report = [&](KillViolation::Kind kind, const char* what) {
      report_.violations.push_back(
          {kind,
           absl::StrCat(name, ": ", what, "; received at ", a.at,
                        ", handed out not before ", a.not_before,
                        ", last not lost at ", a.alive_at, ", ends at ",
                        a.ends_at, "; received again at ", b.at, " by process ",
                        b.process, ", before: ", a.process)});
    };
    if (b.at < std::min(a.ends_at, a.not_before + lease_)) {
      report(KillViolation::kOverlap, "handed out during a lease");
    }
    if (b.at < a.alive_at) {
      report(KillViolation::kFalselyAlive,
             "not lost() when it had been handed out again");
    }
    if (a.known && a.done && b.at < a.ends_at) {
      report(KillViolation::kStaleDone,
             "Done() was true when it had been handed out again");
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
  // The item of each add, and when it began, by process and number.
  absl::flat_hash_map<std::pair<int, int64_t>, std::pair<std::string, int64_t>>
      begins_;
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
      "lost",         "overlap", "falsely alive", "early",
      "stale Done()", "token",   "failure",       "stuck"};
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
