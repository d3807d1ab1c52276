// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the adapters in examples/event_loop, each with its real event loop on a
// thread of its own. On a `FakeClock` a step waits for that thread, so no test
// sleeps.

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include <uv.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "boost/asio/executor_work_guard.hpp"
#include "boost/asio/io_context.hpp"
#include "boost/asio/posix/stream_descriptor.hpp"
#include "examples/event_loop/asio_loop.h"
#include "examples/event_loop/epoll_loop.h"
#include "examples/event_loop/sd_event_loop.h"
#include "examples/event_loop/uv_loop.h"
#include "gtest/gtest.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/loop_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace event_loop::adapters_test {
namespace {

using ::workqueue::Clock;
using ::workqueue::DelayingQueue;
using ::workqueue::DelayingQueueOptions;
using ::workqueue::FakeClock;
using ::workqueue::LoopExecutor;
using ::workqueue::Thread;
using ::workqueue::WaitingLoop;

constexpr absl::Duration kSecond = absl::Seconds(1);

// ThreadSanitizer knows write() and read() and what happens before, but not
// eventfd_write().
void Signal(int fd) {
  const uint64_t one = 1;
  EXPECT_EQ(write(fd, &one, sizeof(one)), sizeof(one));
}

void Consume(int fd) {
  uint64_t count;
  EXPECT_EQ(read(fd, &count, sizeof(count)), sizeof(count));
}

// A program that has an adapter, and watches a file descriptor of its own. It
// calls `on_event` each time that the descriptor, an eventfd, is written to.
class Program {
 public:
  virtual ~Program() = default;

  virtual const std::shared_ptr<WaitingLoop>& waiting_loop() = 0;

  // Runs the event loop until it is stopped, on its own thread.
  virtual void Run() = 0;
  virtual void Stop() = 0;
};

class EpollProgram final : public Program {
 public:
  EpollProgram(Clock* clock, int fd, std::function<void()> on_event)
      : loop_(clock) {
    loop_.Watch(fd, EPOLLIN, [fd, on_event](uint32_t events) {
      EXPECT_EQ(events, EPOLLIN);
      Consume(fd);
      on_event();
    });
  }

  const std::shared_ptr<WaitingLoop>& waiting_loop() override {
    return loop_.waiting_loop();
  }
  void Run() override { loop_.Run(); }
  void Stop() override { loop_.Stop(); }

 private:
  EpollLoop loop_;
};

class AsioProgram final : public Program {
 public:
  AsioProgram(Clock* clock, int fd, std::function<void()> on_event)
      : fd_(context_, dup(fd)), on_event_(std::move(on_event)) {
    loop_.emplace(&context_, clock);
    Watch();
  }

  ~AsioProgram() override {
    loop_.reset();
    context_.restart();
    context_.poll();  // what is still posted
  }

  const std::shared_ptr<WaitingLoop>& waiting_loop() override {
    return loop_->waiting_loop();
  }
  void Run() override { context_.run(); }
  void Stop() override { context_.stop(); }

 private:
  void Watch() {
    fd_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this](boost::system::error_code error) {
                     if (error) return;
                     Consume(fd_.native_handle());
                     on_event_();
                     Watch();
                   });
  }

  boost::asio::io_context context_{1};
  boost::asio::posix::stream_descriptor fd_;
  const std::function<void()> on_event_;
  std::optional<AsioLoop> loop_;
};

class UvProgram final : public Program {
 public:
  UvProgram(Clock* clock, int fd, std::function<void()> on_event)
      : fd_(fd), on_event_(std::move(on_event)) {
    uv_loop_init(&uv_);
    loop_.emplace(&uv_, clock);
    uv_poll_init(&uv_, &poll_, fd);
    poll_.data = this;
    uv_poll_start(&poll_, UV_READABLE, [](uv_poll_t* poll, int, int) {
      auto* const self = static_cast<UvProgram*>(poll->data);
      Consume(self->fd_);
      self->on_event_();
    });
  }

  ~UvProgram() override {
    loop_.reset();
    uv_close(reinterpret_cast<uv_handle_t*>(&poll_), nullptr);
    uv_run(&uv_, UV_RUN_DEFAULT);  // closes the handles
    EXPECT_EQ(uv_loop_close(&uv_), 0);
  }

  const std::shared_ptr<WaitingLoop>& waiting_loop() override {
    return loop_->waiting_loop();
  }
  void Run() override { uv_run(&uv_, UV_RUN_DEFAULT); }
  void Stop() override { uv_stop(&uv_); }

 private:
  const int fd_;
  const std::function<void()> on_event_;
  uv_loop_t uv_;
  uv_poll_t poll_;
  std::optional<UvLoop> loop_;
};

class SdEventProgram final : public Program {
 public:
  SdEventProgram(Clock* clock, int fd, std::function<void()> on_event)
      : on_event_(std::move(on_event)) {
    EXPECT_GE(sd_event_new(&event_), 0);
    loop_.emplace(event_, clock);
    EXPECT_GE(sd_event_add_io(
                  event_, nullptr, fd, EPOLLIN,
                  [](sd_event_source*, int ready, uint32_t, void* self) {
                    Consume(ready);
                    static_cast<SdEventProgram*>(self)->on_event_();
                    return 0;
                  },
                  this),
              0);
  }

  ~SdEventProgram() override {
    loop_.reset();
    sd_event_unref(event_);
  }

  const std::shared_ptr<WaitingLoop>& waiting_loop() override {
    return loop_->waiting_loop();
  }
  void Run() override { EXPECT_EQ(sd_event_loop(event_), 0); }
  void Stop() override { sd_event_exit(event_, 0); }

 private:
  sd_event* event_ = nullptr;
  const std::function<void()> on_event_;
  std::optional<SdEventLoop> loop_;
};

struct Adapter {
  std::string name;
  std::function<std::unique_ptr<Program>(Clock* clock, int fd,
                                         std::function<void()> on_event)>
      make;
};

template <typename P>
Adapter Of(std::string name) {
  return {std::move(name), [](Clock* clock, int fd, std::function<void()> f) {
            return std::make_unique<P>(clock, fd, std::move(f));
          }};
}

class AdaptersTest : public testing::TestWithParam<Adapter> {
 protected:
  ~AdaptersTest() override {
    Stop();
    close(fd_);
  }

  // Makes the program, and runs it on a thread. Returns when the program runs.
  void Start(Clock* clock) {
    absl::Notification made;
    absl::Notification runs;
    thread_.emplace([this, clock, &made, &runs] {
      std::unique_ptr<Program> program =
          GetParam().make(clock, fd_, [this] { on_event_(); });
      loop_ = program->waiting_loop();
      executor_.emplace(loop_);
      executor_->Execute([&runs] { runs.Notify(); });
      stop_ = [program = program.get()] { program->Stop(); };
      made.Notify();
      program->Run();
      if (before_end_ != nullptr) before_end_();
    });
    made.WaitForNotification();
    runs.WaitForNotification();
  }

  // Stops the program, and destroys the adapter.
  void Stop() {
    if (!thread_.has_value()) return;
    executor_->Execute(stop_);
    thread_->join();
    thread_.reset();
  }

  // Lets the event loop call `f`, as its own event.
  void CallOnEvent(std::function<void()> f) {
    absl::Notification called;
    on_event_ = [&called, &f] {
      f();
      called.Notify();
    };
    Signal(fd_);
    called.WaitForNotification();
  }

  std::unique_ptr<DelayingQueue<std::string>> NewQueue() {
    DelayingQueueOptions<std::string> options;
    options.clock = loop_;
    return std::make_unique<DelayingQueue<std::string>>(std::move(options));
  }

  const int fd_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  FakeClock clock_;
  std::shared_ptr<WaitingLoop> loop_;
  std::optional<LoopExecutor> executor_;
  std::function<void()> stop_;
  std::function<void()> on_event_;
  std::function<void()> before_end_;
  std::optional<Thread> thread_;
};

INSTANTIATE_TEST_SUITE_P(All, AdaptersTest,
                         testing::Values(Of<EpollProgram>("Epoll"),
                                         Of<AsioProgram>("Asio"),
                                         Of<UvProgram>("Uv"),
                                         Of<SdEventProgram>("SdEvent")),
                         [](const auto& info) { return info.param.name; });

TEST_P(AdaptersTest, AStepRunsWhatIsDue) {
  Start(&clock_);
  const auto queue = NewQueue();
  for (int i = 0; i < 100; ++i) {
    queue->AddAfter("later", 2 * kSecond);
    queue->AddAfter("pod", kSecond);  // earlier than what the loop waits for
    clock_.Step(kSecond - absl::Nanoseconds(1));
    ASSERT_EQ(queue->Len(), 0);
    clock_.Step(absl::Nanoseconds(1));
    ASSERT_EQ(queue->TryGet().value_or("none"), "pod");
    queue->Done("pod");
    clock_.Step(kSecond);
    ASSERT_EQ(queue->TryGet().value_or("none"), "later");
    queue->Done("later");
  }
}

TEST_P(AdaptersTest, TasksRunOnTheThreadOfTheLoop) {
  Start(&clock_);
  std::thread::id thread;
  CallOnEvent([&thread] { thread = std::this_thread::get_id(); });
  std::vector<std::thread::id> ran;
  executor_->Execute([this, &ran] {
    ran.push_back(std::this_thread::get_id());
    executor_->Execute([&ran] { ran.push_back(std::this_thread::get_id()); });
  });
  clock_.Step(absl::ZeroDuration());
  EXPECT_EQ(ran, std::vector<std::thread::id>({thread, thread}));
}

// The loop has already told when it runs next, and must learn of what an event
// of its own adds.
TEST_P(AdaptersTest, AnEventOfTheLoopMayAdd) {
  Start(&clock_);
  const auto queue = NewQueue();
  for (int i = 0; i < 100; ++i) {
    bool ran = false;
    CallOnEvent([this, &queue, &ran] {
      queue->AddAfter("pod", kSecond);
      executor_->Execute([&ran] { ran = true; });
    });
    clock_.Step(absl::ZeroDuration());
    ASSERT_TRUE(ran);
    clock_.Step(kSecond);
    ASSERT_EQ(queue->TryGet().value_or("none"), "pod");
    queue->Done("pod");
  }
}

TEST_P(AdaptersTest, FarTimesAreNoProblem) {
  Start(&clock_);
  const auto queue = NewQueue();
  queue->AddAfter("never", absl::InfiniteDuration());
  queue->AddAfter("far", absl::Hours(24 * 365 * 100));
  clock_.SetTime(absl::InfinitePast());
  clock_.SetTime(absl::InfiniteFuture());
  clock_.SetTime(absl::UnixEpoch());
  queue->AddAfter("pod", kSecond);
  clock_.Step(kSecond);
  std::vector<std::string> got;
  while (queue->Len() > 0) got.push_back(*queue->TryGet());
  EXPECT_EQ(got.back(), "pod");
}

TEST_P(AdaptersTest, TheRealTimerComesInTime) {
  Clock* const clock = Clock::GetRealClock();
  Start(nullptr);
  const auto queue = NewQueue();
  for (int ms = 1; ms <= 20; ++ms) {
    const absl::Time start = clock->TimeNow();
    queue->AddAfter("pod", absl::Milliseconds(ms) + absl::Microseconds(300));
    ASSERT_EQ(queue->Get(), "pod");
    const absl::Duration took = clock->TimeNow() - start;
    queue->Done("pod");
    EXPECT_GE(took, absl::Milliseconds(ms) + absl::Microseconds(300));
    // The heartbeat would find it, too.
    EXPECT_LT(took, WaitingLoop::Heartbeat() / 2);
  }
}

TEST_P(AdaptersTest, EightThreadsAdd) {
  constexpr int kThreads = 8;
  constexpr int kAdds = 500;
  Start(nullptr);
  const auto queue = NewQueue();
  absl::Mutex mu;
  int ran = 0;
  {
    std::vector<Thread> threads;
    for (int thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        for (int i = 0; i < kAdds; ++i) {
          queue->AddAfter(std::to_string(thread * kAdds + i),
                          absl::Microseconds(i % 3 * 100));
          executor_->Execute([&] {
            absl::MutexLock lock(&mu);
            ++ran;
          });
        }
      });
    }
    for (Thread& thread : threads) thread.join();
  }
  for (int i = 0; i < kThreads * kAdds; ++i) queue->Done(*queue->Get());
  const auto all_ran = [&ran] { return ran == kThreads * kAdds; };
  absl::MutexLock lock(&mu);
  mu.Await(absl::Condition(&all_ran));
}

TEST_P(AdaptersTest, AWakeUpMayComeAfterTheEnd) {
  std::unique_ptr<DelayingQueue<std::string>> queue;
  before_end_ = [this, &queue] {
    // Wakes the event loop, which does not run again.
    loop_->RunDue();
    Thread([&queue] { queue->AddAfter("before", kSecond); }).join();
    loop_->RunDue();
    queue->AddAfter("here", kSecond);
  };
  Start(&clock_);
  queue = NewQueue();
  Stop();
  loop_->RunDue();  // The next addition wakes nobody.
  queue->AddAfter("after", absl::ZeroDuration());
  Thread([&queue] { queue->AddAfter("after", absl::ZeroDuration()); }).join();
  while (loop_->RunDue() <= clock_.TimeNow()) {
  }
  EXPECT_EQ(queue->TryGet().value_or("none"), "after");
}

}  // namespace
}  // namespace event_loop::adapters_test
