// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines a network that changes the replies of a server, or brings
// them slowly.

#ifndef WORKQUEUE_TEST_SHARED_REPLY_PROXY_H_
#define WORKQUEUE_TEST_SHARED_REPLY_PROXY_H_

#include <atomic>
#include <climits>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "workqueue/testing/thread.h"

namespace workqueue {

// ReplyProxy
//
// Passes connections to a Unix socket on to another, on threads of its own.
//
// Thread-safe.
class ReplyProxy {
 public:
  // Changes what the server has sent: usually one reply.
  using Hook = std::function<void(std::string* reply)>;

  // Ends the program if the socket cannot be made. The directory of `server`
  // gets one more file.
  explicit ReplyProxy(const std::string& server);
  ~ReplyProxy();

  ReplyProxy(const ReplyProxy&) = delete;
  ReplyProxy& operator=(const ReplyProxy&) = delete;

  const std::string& socket_path() const { return path_; }

  // Leads further connections to another server.
  void LeadTo(const std::string& server);

  // Calls `hook` with each reply from now on; null calls nothing. Does not
  // return while the old one runs.
  void SetHook(Hook hook);

  // Whether each byte of a reply takes 20 milliseconds from now on.
  void Drip(bool drips) { drips_ = drips; }

  // Whether what clients send stays in the network from now on.
  void Hold(bool holds) { held_ = holds ? INT_MAX : 0; }

  // The same on the connections so far.
  void HoldThese() { held_ = connections(); }

  // The number of connections so far.
  int connections() const { return accepted_; }

  // Whether the calling thread is one of the proxies'.
  static bool RunsThisThread();

 private:
  void Accept();
  void Relay(int from, int to, int connection, bool replies);
  void Write(int to, absl::string_view bytes, bool slowly) const;

  const std::string path_;
  int listener_;
  std::atomic<bool> drips_{false};
  std::atomic<int> held_{0};  // so many of the connections
  std::atomic<bool> stopping_{false};
  std::atomic<int> accepted_{0};
  absl::Mutex mu_;
  std::string server_ ABSL_GUARDED_BY(mu_);
  Hook hook_ ABSL_GUARDED_BY(mu_);
  std::vector<int> sockets_ ABSL_GUARDED_BY(mu_);
  std::vector<Thread> relays_;  // of the thread that accepts
  Thread acceptor_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_REPLY_PROXY_H_
