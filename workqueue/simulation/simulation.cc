// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef WORKQUEUE_SIMULATION

#include "workqueue/simulation/simulation.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/simulation/internal/scheduler.h"
#include "workqueue/simulation/internal/simulated_sync.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

namespace workqueue::simulation {
namespace {

using internal::Choice;
using internal::ChoiceKind;
using internal::Record;
using internal::Scheduler;

using Choices = std::vector<Choice>;

// SplitMix64, by G. Steele, D. Lea and C. Flood, 2014.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t Next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  int Below(int count) {
    return static_cast<int>(Next() % static_cast<uint64_t>(count));
  }
  bool OneIn(int count) { return Below(count) == 0; }

 private:
  uint64_t state_;
};

// The choices that are not of threads, and whether time passes, are the same
// for all strategies of chance.
class ByChance : public internal::Strategy {
 public:
  explicit ByChance(uint64_t seed) : random_(seed), rare_(~seed) {
    static constexpr int kRarely[] = {4, 32, 256, 1000000};
    rarely_ = kRarely[rare_.Below(4)];
    drains_ = 2 << (2 * rare_.Below(3));
    static constexpr int kOneIn[] = {8, 64, 1000000};
    wake_ups_ = kOneIn[random_.Below(3)];
    time_ = kOneIn[random_.Below(3)];
    // Without a bound, what waits for a time could starve all others.
    times_ = 1 << random_.Below(6);
  }

  int Choose(ChoiceKind kind, int count, const int* threads,
             bool self_first) final {
    if (kind == ChoiceKind::kWakeUp) {
      return random_.OneIn(wake_ups_) ? 1 + random_.Below(count - 1) : 0;
    }
    if (kind == ChoiceKind::kData || kind == ChoiceKind::kWaiter) {
      return random_.Below(count);
    }
    if (kind != ChoiceKind::kThread && kind != ChoiceKind::kYield) {
      const int one_in = kind == ChoiceKind::kBuffer  ? 2
                         : kind == ChoiceKind::kDrain ? drains_
                                                      : rarely_;
      return rare_.OneIn(one_in) ? 1 + rare_.Below(count - 1) : 0;
    }
    if (threads[count - 1] == -1) {
      if (times_ > 0 && random_.OneIn(time_)) {
        --times_;
        return count - 1;
      }
      --count;
    }
    return count < 2 ? 0 : ChooseThread(kind, count, threads, self_first);
  }

 protected:
  virtual int ChooseThread(ChoiceKind kind, int count, const int* threads,
                           bool self_first) = 0;
  Random random_;

 private:
  // Of what is new or rare, so that it changes no other choice of a seed.
  Random rare_;
  int rarely_;
  int drains_;
  int wake_ups_;
  int time_;
  int times_;  // left
};

// `kUniform`, if `stay` is 1, and `kRandom`.
class RandomStrategy final : public ByChance {
 public:
  RandomStrategy(uint64_t seed, int stay) : ByChance(seed), stay_(stay) {}

 private:
  int ChooseThread(ChoiceKind, int count, const int*,
                   bool self_first) override {
    if (self_first && !random_.OneIn(stay_)) return 0;
    return random_.Below(count);
  }

  const int stay_;
};

class PctStrategy final : public ByChance {
 public:
  PctStrategy(uint64_t seed, int depth) : ByChance(seed) {
    // Schedules of this library have some hundred steps.
    const int steps = 32 << random_.Below(6);
    for (int i = 1; i < depth; ++i) changes_.push_back(random_.Below(steps));
  }

  void OnThread(int thread) override {
    priorities_.resize(
        (std::max)(priorities_.size(), static_cast<size_t>(thread) + 1));
    priorities_[thread] = static_cast<int64_t>(random_.Next() >> 2);
  }

 private:
  int ChooseThread(ChoiceKind kind, int count, const int* threads,
                   bool self_first) override {
    // Whoever yields waits for the others.
    if (kind == ChoiceKind::kYield) Lower(last_);
    const int step = step_++;
    if (self_first &&
        std::find(changes_.begin(), changes_.end(), step) != changes_.end()) {
      Lower(threads[0]);
    }
    const int* const best = std::max_element(
        threads, threads + count,
        [this](int a, int b) { return priorities_[a] < priorities_[b]; });
    run_ = last_ == *best ? run_ + 1 : 0;
    last_ = *best;
    // It may wait, in a loop, for a thread with a lower priority.
    if (run_ > kLongRun) {
      Lower(last_);
      run_ = 0;
    }
    return static_cast<int>(best - threads);
  }

  void Lower(int thread) { priorities_[thread] = --lowest_; }

  std::vector<int> changes_;
  std::vector<int64_t> priorities_;  // by thread
  int64_t lowest_ = 0;
  static constexpr int kLongRun = 1000;

  int step_ = 0;
  int last_ = 0;
  int run_ = 0;  // of last_, since another one ran
};

// Repeats choices, and then makes those that need the least. A depth-first
// search goes on with `Next()`.
class GivenStrategy final : public internal::Strategy {
 public:
  // `preemptions` is negative without a bound.
  GivenStrategy(std::vector<int> chosen, int preemptions)
      : chosen_(std::move(chosen)), left_(preemptions) {}

  int Choose(ChoiceKind kind, int count, const int* threads,
             bool self_first) override {
    int chosen = place_ < chosen_.size() ? chosen_[place_] : 0;
    ++place_;
    if (left_ < 0) return (std::min)(chosen, count - 1);
    int alternatives = count;
    const bool of_threads =
        kind == ChoiceKind::kThread || kind == ChoiceKind::kYield;
    if (of_threads && threads[count - 1] == -1) --alternatives;
    if (kind == ChoiceKind::kWakeUp) alternatives = 1;
    if (kind == ChoiceKind::kThread && self_first) {
      if (left_ == 0) alternatives = 1;
      if (chosen != 0) --left_;
    }
    alternatives_.push_back(alternatives);
    made_.push_back(chosen);
    return chosen;
  }

  // Returns whether there is another schedule, and its choices.
  bool Next(std::vector<int>* chosen) const {
    for (size_t i = made_.size(); i-- > 0;) {
      if (made_[i] + 1 >= alternatives_[i]) continue;
      chosen->assign(made_.begin(), made_.begin() + i);
      chosen->push_back(made_[i] + 1);
      return true;
    }
    return false;
  }

 private:
  std::vector<int> chosen_;
  int left_;
  size_t place_ = 0;
  std::vector<int> alternatives_, made_;
};

std::unique_ptr<internal::Strategy> NewStrategy(const Options& options,
                                                uint64_t seed) {
  Random random(seed * 0x9e3779b97f4a7c15 + 1);
  const uint64_t own = random.Next();
  int stay = 2 << random.Below(5);
  switch (options.strategy) {
    case Strategy::kUniform:
      return std::make_unique<RandomStrategy>(own, 1);
    case Strategy::kRandom:
      return std::make_unique<RandomStrategy>(own, stay);
    case Strategy::kPct:
      return std::make_unique<PctStrategy>(own, options.depth);
    case Strategy::kMixed:
    case Strategy::kExhaustive:
      break;
  }
  switch (seed % 4) {
    case 0:
      return std::make_unique<RandomStrategy>(own, 1);
    case 1:
      return std::make_unique<RandomStrategy>(own, stay);
    default:
      return std::make_unique<PctStrategy>(own, 1 + random.Below(5));
  }
}

// A trace has each choice that is not zero, after the number of zeros before
// it: "ZEROS-CHOSEN.ZEROS-CHOSEN". It leaves out the zeros at the end.
std::string ToTrace(const Choices& choices) {
  size_t size = choices.size();
  while (size > 0 && choices[size - 1].chosen == 0) --size;
  std::string result;
  for (size_t i = 0; i < size;) {
    size_t zeros = 0;
    while (choices[i + zeros].chosen == 0) ++zeros;
    i += zeros;
    absl::StrAppend(&result, result.empty() ? "" : ".", zeros, "-",
                    choices[i].chosen);
    ++i;
  }
  return result.empty() ? "0" : result;
}

// Returns nothing if `trace` is none.
std::optional<std::vector<int>> FromTrace(absl::string_view trace) {
  std::vector<int> result;
  if (trace.empty() || trace == "0") return result;
  for (absl::string_view part : absl::StrSplit(trace, '.')) {
    const std::pair<absl::string_view, absl::string_view> pair =
        absl::StrSplit(part, absl::MaxSplits('-', 1));
    uint32_t zeros = 0, chosen = 0;
    if (!absl::SimpleAtoi(pair.first, &zeros) ||
        !absl::SimpleAtoi(pair.second, &chosen) ||
        zeros > Record::kMaxChoices || chosen > 255) {
      return std::nullopt;
    }
    result.insert(result.end(), zeros, 0);
    result.push_back(static_cast<int>(chosen));
  }
  return result;
}

// Returns what is wrong with `options`; an empty text if nothing is.
std::string WhatIsWrong(const Options& options) {
  if (options.schedules == 0) return "schedules is 0; it must be at least 1";
  if (options.duration <= absl::ZeroDuration()) {
    return absl::StrCat("duration is ", absl::FormatDuration(options.duration),
                        "; it must be positive");
  }
  if (options.strategy == Strategy::kPct && options.depth < 1) {
    return absl::StrCat("depth is ", options.depth, "; it must be at least 1");
  }
  if (options.strategy == Strategy::kExhaustive && options.preemptions < 0) {
    return absl::StrCat("preemptions is ", options.preemptions,
                        "; it must not be negative");
  }
  return "";
}

// Returns the value of a variable of the environment; empty if there is none.
std::string FromEnvironment(const char* name) {
  const char* const value = getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<int> ChosenOf(const Choices& choices) {
  std::vector<int> result;
  for (const Choice& choice : choices) result.push_back(choice.chosen);
  return result;
}

uint64_t HashOf(const Choices& choices) {
  uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
  for (const Choice& choice : choices) {
    for (uint64_t part : {static_cast<uint64_t>(choice.kind),
                          uint64_t{choice.count}, uint64_t{choice.chosen}}) {
      hash = (hash ^ part) * 0x100000001b3;
    }
  }
  return hash;
}

// Reports that the process ends.
void ReportEnd(const char* reason) {
  if (Scheduler* const scheduler = Scheduler::Current()) {
    // What cannot be reported, because memory is corrupt, hangs or crashes.
    alarm(5);
    scheduler->ReportEnd(reason);
  }
}

// Reports a signal that ends the process, and lets it end so.
void OnSignal(int number) {
  signal(number, SIG_DFL);
  ReportEnd(strsignal(number));
  raise(number);
}

// What is unusual in a schedule. Less is easier to understand.
size_t CostOf(const Choices& choices) {
  size_t cost = 0;
  for (const Choice& choice : choices) {
    if (choice.chosen != 0) cost += 1000;
  }
  return cost + choices.size();
}

// Explorer
//
// Runs schedules in child processes.
class Explorer {
 public:
  Explorer(const Options& options, absl::FunctionRef<void()> scenario,
           absl::FunctionRef<bool()> has_failed)
      : options_(options), scenario_(scenario), has_failed_(has_failed) {
    if (options_.strategy == Strategy::kExhaustive) {
      options_.spurious_wake_ups = options_.time_passes = false;
    }
    void* const memory = mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    record_ = ::new (memory) Record;
  }
  ~Explorer() { munmap(record_, sizeof(Record)); }

  Result Run() {
    const absl::Time start = absl::Now();
    Result result;
    std::string wrong = WhatIsWrong(options_);
    const char* trace_name = "trace";
    std::string trace = options_.trace;
    if (trace.empty()) {
      trace_name = "WORKQUEUE_SIMULATION_TRACE";
      trace = FromEnvironment(trace_name);
    }
    const std::optional<std::vector<int>> given = FromTrace(trace);
    if (!given.has_value()) {
      wrong = absl::StrCat(trace_name, " is \"", absl::CEscape(trace),
                           "\"; it must be a trace of a report");
    }
    uint64_t schedules = options_.schedules;
    const std::string seed = FromEnvironment("WORKQUEUE_SIMULATION_SEED");
    if (!seed.empty()) {
      schedules = 1;
      if (!absl::SimpleAtoi(seed, &options_.seed)) {
        wrong = absl::StrCat("WORKQUEUE_SIMULATION_SEED is \"",
                             absl::CEscape(seed), "\"; it must be a number");
      }
    }
    if (!wrong.empty()) {
      result.failed = true;
      result.report = std::move(wrong);
      return result;
    }
    std::string output;
    bool good;
    if (!trace.empty()) {
      good = RunGiven(*given, /*verbose=*/true, &output);
    } else {
      const absl::Time deadline = start + options_.duration;
      good = RunChild(
          [&](Scheduler* scheduler) {
            RunSeeds(scheduler, schedules, deadline);
          },
          &output);
    }
    result.failed = !good;
    result.seed = record_->seed.load();
    result.schedules = record_->schedules.load() + (good ? 0 : 1);
    result.steps = record_->steps.load();
    result.switches = record_->switches.load();
    result.complete = record_->complete.load();
    Choices choices = Recorded();
    result.hash = HashOf(choices);
    result.time = absl::Now() - start;
    if (good && trace.empty() && !options_.report_steps) return result;
    result.report = output;
    if (good) return result;
    result.trace = ToTrace(choices);
    if (trace.empty()) {
      if (options_.shrink) choices = Shrink(std::move(choices));
      std::string shrunk;
      if (!RunGiven(ChosenOf(choices), /*verbose=*/true, &shrunk)) {
        result.trace = ToTrace(choices);
        absl::StrAppend(&shrunk, "\nBefore it was made simpler:\n",
                        result.report);
        result.report = shrunk;
      } else {
        // It depends on addresses, say. So the schedules before count, too.
        shrunk.clear();
        RunChild(
            [&](Scheduler* scheduler) {
              verbose_seed_ = result.seed;
              RunSeeds(scheduler, result.seed - options_.seed + 1,
                       absl::InfiniteFuture());
            },
            &shrunk);
        result.report = shrunk;
        absl::StrAppend(&result.report,
                        "\nIt happens only after the schedules since the seed ",
                        options_.seed, ".\n");
      }
    }
    absl::StrAppend(&result.report, "\nIt is seed ", result.seed,
                    ". To see this again:\n", Command(result.trace), "\n");
    return result;
  }

 private:
  void RunOne(Scheduler* scheduler, internal::Strategy* strategy,
              bool verbose) {
    scheduler->Run(options_, verbose, strategy, scenario_);
    if (!has_failed_()) return;
    fflush(nullptr);
    _exit(3);
  }

  void RunSeeds(Scheduler* scheduler, uint64_t schedules, absl::Time deadline) {
    std::vector<int> chosen;
    for (uint64_t i = 0; i < schedules; ++i) {
      if (i > 0 && absl::Now() >= deadline) break;
      record_->seed = options_.seed + i;
      if (options_.strategy != Strategy::kExhaustive) {
        RunOne(scheduler, NewStrategy(options_, options_.seed + i).get(),
               options_.report_steps || verbose_seed_ == options_.seed + i);
        continue;
      }
      GivenStrategy strategy(std::move(chosen), options_.preemptions);
      RunOne(scheduler, &strategy, options_.report_steps);
      if (!strategy.Next(&chosen)) {
        record_->complete = true;
        break;
      }
    }
  }

  bool RunGiven(const std::vector<int>& chosen, bool verbose,
                std::string* output) {
    return RunChild(
        [&](Scheduler* scheduler) {
          GivenStrategy strategy(chosen, -1);
          RunOne(scheduler, &strategy, verbose);
        },
        output);
  }

  // Returns whether `run` returns in a child process. Adds to `*output` what it
  // prints to the standard error.
  bool RunChild(absl::FunctionRef<void(Scheduler*)> run, std::string* output) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) abort();
    fflush(nullptr);
    record_->returned = false;
    const pid_t child = fork();
    if (child < 0) abort();
    if (child == 0) {
      dup2(fds[1], STDERR_FILENO);
      close(fds[1]);
#ifdef ABSL_HAVE_ADDRESS_SANITIZER  // It takes other signals.
      __sanitizer_set_death_callback([] { ReportEnd("see above"); });
      signal(SIGABRT, OnSignal);
#else
      for (int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
        signal(number, OnSignal);
      }
#endif
      // The threads hand over without a wake-up of another core.
      cpu_set_t cpus;
      CPU_ZERO(&cpus);
      CPU_SET(sched_getcpu(), &cpus);
      sched_setaffinity(0, sizeof(cpus), &cpus);
      // Never destroyed: its threads exist until the process ends.
      run(new Scheduler(record_));
      record_->returned = true;
      fflush(nullptr);
      _exit(0);
    }
    close(fds[1]);
    uint64_t seen = 0;
    absl::Time seen_at = absl::Now();
    constexpr absl::Duration kPatience = absl::Seconds(30);
    bool hangs = false;
    while (true) {
      pollfd poll_fd = {fds[0], POLLIN, 0};
      poll(&poll_fd, 1, 1000);
      if (poll_fd.revents != 0) {
        char buffer[4096];
        const ssize_t size = read(fds[0], buffer, sizeof(buffer));
        if (size <= 0) break;
        output->append(buffer, size);
        if (output->size() > 2 * kMaxOutput) {
          output->erase(0, output->size() - kMaxOutput);
        }
        continue;
      }
      const uint64_t progress =
          record_->num_choices.load() + (record_->schedules.load() << 20);
      if (progress != seen) {
        seen = progress;
        seen_at = absl::Now();
      } else if (absl::Now() - seen_at > kPatience && !hangs) {
        hangs = true;
        kill(child, SIGABRT);
      }
    }
    close(fds[0]);
    // The same part of the same output, however it was read.
    if (output->size() > kMaxOutput) {
      output->erase(0, output->size() - kMaxOutput);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) abort();
    if (hangs) {
      *output +=
          "A thread blocks or spins where the scheduler does not see it.\n";
    } else if (WIFSIGNALED(status)) {
      absl::StrAppend(output, "The process ends by the signal ",
                      strsignal(WTERMSIG(status)), ".\n");
    } else if (!record_->returned && WEXITSTATUS(status) != 3) {
      absl::StrAppend(output, "The process ends with the exit code ",
                      WEXITSTATUS(status), ".\n");
    }
    return record_->returned;
  }

  Choices Recorded() const {
    return Choices(record_->choices,
                   record_->choices + record_->num_choices.load());
  }

  // Returns choices that fail, too. Makes more and more of them the usual ones,
  // as delta debugging does (A. Zeller and R. Hildebrandt, 2002).
  Choices Shrink(Choices choices) {
    const absl::Time deadline = absl::Now() + absl::Seconds(20);
    bool shorter = true;
    const auto attempt = [&](std::vector<int> chosen) {
      std::string output;
      if (RunGiven(chosen, /*verbose=*/false, &output)) return false;
      Choices made = Recorded();
      if (CostOf(made) >= CostOf(choices)) return false;
      choices = std::move(made);
      return true;
    };
    while (shorter && absl::Now() < deadline) {
      shorter = false;
      for (size_t part = choices.size(); part > 0 && absl::Now() < deadline;
           part /= 2) {
        for (size_t i = 0; i < choices.size() && absl::Now() < deadline;
             i += part) {
          std::vector<int> chosen = ChosenOf(choices);
          const auto begin = chosen.begin() + i;
          const auto end = chosen.begin() + (std::min)(i + part, chosen.size());
          if (std::all_of(begin, end, [](int c) { return c == 0; })) continue;
          std::fill(begin, end, 0);
          shorter |= attempt(std::move(chosen));
        }
      }
    }
    return choices;
  }

  static std::string Command(const std::string& trace) {
    std::string command = absl::StrCat("  WORKQUEUE_SIMULATION_TRACE=", trace);
    if (FILE* const file = fopen("/proc/self/cmdline", "r")) {
      command += ' ';
      for (int c; (c = fgetc(file)) != EOF;) {
        command += c == 0 ? ' ' : static_cast<char>(c);
      }
      fclose(file);
    }
    return command;
  }

  static constexpr size_t kMaxOutput = 1 << 18;

  Options options_;
  uint64_t verbose_seed_ = UINT64_MAX;
  const absl::FunctionRef<void()> scenario_;
  const absl::FunctionRef<bool()> has_failed_;
  Record* record_;
};

Scheduler* TheScheduler() {
  Scheduler* const scheduler = Scheduler::Current();
  if (scheduler == nullptr) {
    fprintf(stderr, "not on a thread of a simulation\n");
    abort();
  }
  return scheduler;
}

}  // namespace

Result Explore(const Options& options, absl::FunctionRef<void()> scenario,
               absl::FunctionRef<bool()> has_failed) {
  return Explorer(options, scenario, has_failed).Run();
}

int Choose(int count) {
  return TheScheduler()->Choose(ChoiceKind::kData, count);
}

void Fail(absl::string_view reason) {
  const MemoryMayRunOut spared(false);
  TheScheduler()->Fail(std::string(reason));
}

void AwaitIdle() { TheScheduler()->AwaitIdle(); }

void AtRest(absl::FunctionRef<void()> check) {
  AwaitIdle();
  TheScheduler()->BeginNoPoints();
  check();
  TheScheduler()->EndNoPoints();
}

void Sleep(absl::Duration duration) {
  Scheduler* const scheduler = TheScheduler();
  const int64_t until = internal::Deadline(duration);
  if (duration <= absl::ZeroDuration()) return;
  scheduler->Block(Scheduler::Wait::kTime, nullptr, until,
                   [=] { return scheduler->now() >= until; });
}

absl::Duration Now() { return absl::Nanoseconds(TheScheduler()->now()); }

MemoryMayRunOut::MemoryMayRunOut(bool may)
    : before_(std::exchange(internal::memory_may_run_out, may)) {}

MemoryMayRunOut::~MemoryMayRunOut() { internal::memory_may_run_out = before_; }

bool MemoryRunsOut() {
  Scheduler* const scheduler = Scheduler::Current();
  return internal::memory_may_run_out && scheduler != nullptr &&
         scheduler->MemoryRunsOut();
}

void Log(absl::string_view text) {
  const MemoryMayRunOut spared(false);
  TheScheduler()->Log(std::string(text).c_str());
}

int64_t NextEvent() { return TheScheduler()->NextEvent(); }

}  // namespace workqueue::simulation

#endif  // WORKQUEUE_SIMULATION
