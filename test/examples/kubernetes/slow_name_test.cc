// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that time limits hold while the name of the server is looked up.

#include <dlfcn.h>
#include <netdb.h>

#include <chrono>              // NOLINT(build/c++11)
#include <condition_variable>  // NOLINT(build/c++11)
#include <cstring>
#include <memory>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/lease_elector.h"
#include "examples/kubernetes/resource.h"
#include "examples/kubernetes/watcher.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"

namespace kubernetes::slow_name_test {
namespace {

constexpr char kHost[] = "slow.test";  // this machine

const Resource kNamespaces = {"", "v1", "namespaces", /*namespaced=*/false};

// Looks up kHost. While it is paused, a lookup takes ten seconds.
class NameServer {
 public:
  void Pause() {
    const std::lock_guard<std::mutex> lock(mu_);
    paused_ = true;
  }

  // Returns whether a lookup has taken the ten seconds.
  bool Resume() {
    std::unique_lock<std::mutex> lock(mu_);
    paused_ = false;
    changed_.notify_all();
    changed_.wait(lock, [this] { return lookups_ == 0; });
    return std::exchange(too_late_, false);
  }

  void AwaitLookup() {
    std::unique_lock<std::mutex> lock(mu_);
    changed_.wait(lock, [this] { return lookups_ > 0; });
  }

  void LookUp() {
    std::unique_lock<std::mutex> lock(mu_);
    ++lookups_;
    changed_.notify_all();
    too_late_ |= !changed_.wait_for(lock, std::chrono::seconds(10),
                                    [this] { return !paused_; });
    --lookups_;
    changed_.notify_all();
  }

 private:
  std::mutex mu_;
  std::condition_variable changed_;
  // Guarded by mu_.
  bool paused_ = false;
  bool too_late_ = false;
  int lookups_ = 0;  // in progress
};

NameServer name_server;

std::unique_ptr<Client> NewClient(const std::string& url) {
  Config config;
  config.server = absl::StrReplaceAll(url, {{"127.0.0.1", kHost}});
  return *Client::Create(config);
}

TEST(SlowNameTest, ARequestHasATimeLimit) {
  name_server.Pause();
  const absl::Status status = NewClient("http://127.0.0.1:1")
                                  ->Get(kNamespaces, {"", "a"},
                                        /*timeout=*/absl::Milliseconds(100))
                                  .status();
  EXPECT_FALSE(name_server.Resume());
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
}

TEST(SlowNameTest, StopEndsARequest) {
  name_server.Pause();
  const auto client = NewClient("http://127.0.0.1:1");
  std::thread stopper([&] {
    name_server.AwaitLookup();
    client->Stop();
  });
  const absl::Status status = client->Get(kNamespaces, {"", "a"}).status();
  EXPECT_FALSE(name_server.Resume());
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

TEST(SlowNameTest, ALeaderGivesUpInTime) {
  ScriptedServer server(
      [](const ReceivedRequest& request, Responder& responder) {
        if (absl::StrContains(request.target, "watch=true")) {
          responder.BeginStream();
          return responder.AwaitHangUp();
        }
        responder.Respond(request.method == "GET" ? 404 : 200, request.body);
      });
  const auto client = NewClient(server.url());
  LeaseElectorOptions options;
  options.name = "it";
  options.identity = "me";
  options.lease_duration = absl::Seconds(1);
  options.renew_deadline = absl::Milliseconds(200);
  options.retry_period = absl::Milliseconds(50);
  const auto elector = *LeaseElector::Create(client.get(), options);
  absl::StatusOr<std::unique_ptr<Watcher>> watcher;
  const absl::Status led = elector->Run([&] {
    // It takes the connection, so that the next try needs another one.
    watcher = client->Watch(kNamespaces, {});
    name_server.Pause();
  });
  EXPECT_FALSE(name_server.Resume());
  EXPECT_TRUE(watcher.ok()) << watcher.status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(led)) << led;
}

}  // namespace

bool LookUp(const char* host) {
  if (host == nullptr || strcmp(host, kHost) != 0) return false;
  name_server.LookUp();
  return true;
}

}  // namespace kubernetes::slow_name_test

// Takes the place of the C library's function.
extern "C" int getaddrinfo(const char* host, const char* service,
                           const addrinfo* hints, addrinfo** result) {
  static const auto next =
      reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
  const bool slow = kubernetes::slow_name_test::LookUp(host);
  return next(slow ? "127.0.0.1" : host, service, hints, result);
}
