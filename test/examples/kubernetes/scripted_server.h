// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_EXAMPLES_KUBERNETES_SCRIPTED_SERVER_H_
#define WORKQUEUE_TEST_EXAMPLES_KUBERNETES_SCRIPTED_SERVER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace kubernetes {

struct ReceivedRequest {
  std::string method;
  std::string target;
  std::map<std::string, std::string> headers;  // by name in lower case
  std::string body;
  int connection = 0;  // its number, in the order of the connections, from 0
};

// Responder
//
// This interface answers one request. A test writes each byte of the answer, so
// it decides where the stream is split and where it ends.
class Responder {
 public:
  virtual ~Responder() = default;

  // Sends a whole response. `headers` has lines that end with "\r\n".
  virtual void Respond(int http_status, absl::string_view body,
                       absl::string_view headers = "") = 0;

  // Sends the header of a response in chunks, a chunk, and the last chunk.
  virtual void BeginStream() = 0;
  virtual void Chunk(absl::string_view data) = 0;
  virtual void EndStream() = 0;

  // Sends these bytes.
  virtual void Raw(absl::string_view bytes) = 0;

  // Closes the connection.
  virtual void Cut() = 0;

  // Blocks until the client closes the connection, or until the server ends.
  virtual void AwaitHangUp() = 0;
};

// ScriptedServer
//
// An HTTP server on the loopback interface, made of Boost.Asio and Boost.Beast.
// It has a thread for each connection, which calls the handler.
class ScriptedServer {
 public:
  using Handler = std::function<void(const ReceivedRequest&, Responder&)>;

  explicit ScriptedServer(Handler handler);

  // Closes all connections. Waits for the handlers to return.
  ~ScriptedServer();

  // Returns "http://127.0.0.1:PORT".
  std::string url() const;

  // Returns the requests so far, in the order in which they arrived.
  std::vector<ReceivedRequest> requests() const;

 private:
  struct State;
  const std::unique_ptr<State> state_;
};

}  // namespace kubernetes

#endif  // WORKQUEUE_TEST_EXAMPLES_KUBERNETES_SCRIPTED_SERVER_H_
