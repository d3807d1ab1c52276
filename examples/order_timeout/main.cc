// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A shop that cancels orders that are not paid within half an hour. The program
// simulates one day with a `FakeClock`.
//
// Continue reading in
//
//     shop.h    the delay queue, and how the shop uses it
//     day.cc    how time passes, and the correct outcome

#include <getopt.h>

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/command_line.h"
#include "examples/order_timeout/day.h"
#include "examples/order_timeout/shop.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"

namespace order_timeout {
namespace {

constexpr char kUsage[] = R"(usage: order_timeout [flags]

Simulates one day of a shop that cancels orders that are not paid within 30
minutes, and compares the outcome with the correct one.

  --orders N   number of orders, 1 to 1000000 (default: 100000)
  --seed N     seed of the random orders, 0 to 1000000 (default: 1)
  --help       print this text and exit

Exit status: 0 if the outcome is exact, 1 if it is not, 2 if a flag is wrong.
)";

int Run(int n, int seed) {
  workqueue::Clock* const real_clock = workqueue::Clock::GetRealClock();
  const absl::Time start = real_clock->TimeNow();
  const std::vector<Order> orders = MakeOrders(n, seed);
  workqueue::FakeClock clock;
  const Books books = LiveThrough(orders, clock);
  const std::vector<std::string> differences = Differences(orders, books);

  absl::PrintF(
      "%d orders: %d paid, %d cancelled\n"
      "%d payments came too late\n"
      "%s simulated in %s\n",
      orders.size(), books.paid.size(), books.cancelled.size(),
      books.paid_too_late.size(),
      absl::FormatDuration(clock.TimeNow() - absl::UnixEpoch()),
      absl::FormatDuration(
          absl::Trunc(real_clock->TimeNow() - start, absl::Milliseconds(1))));
  if (differences.empty()) {
    absl::PrintF("exact\n");
    return 0;
  }
  absl::PrintF("NOT EXACT: %d\n", differences.size());
  for (const std::string& each : differences) absl::PrintF("  %s\n", each);
  return 1;
}

int Main(int argc, char* argv[]) {
  enum Id { kHelp = examples::kHelp, kOrders, kSeed };
  constexpr struct option kOptions[] = {
      {"help", no_argument, nullptr, kHelp},
      {"orders", required_argument, nullptr, kOrders},
      {"seed", required_argument, nullptr, kSeed},
      {nullptr, 0, nullptr, 0},
  };
  bool help = false;
  int orders = 100000;
  int seed = 1;
  const auto set = [&](int id, absl::string_view value) {
    switch (id) {
      case kOrders:
        return examples::ParseInt("--orders", value, 1, 1000000, &orders);
      case kSeed:
        return examples::ParseInt("--seed", value, 0, 1000000, &seed);
    }
    help = true;
    return absl::OkStatus();
  };
  const absl::Status status =
      examples::ParseCommandLine(argc, argv, kOptions, set);
  if (!status.ok()) {
    absl::FPrintF(stderr, "order_timeout: %s\n", status.message());
    return 2;
  }
  if (help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  return Run(orders, seed);
}

}  // namespace
}  // namespace order_timeout

int main(int argc, char* argv[]) { return order_timeout::Main(argc, argv); }
