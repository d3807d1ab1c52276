// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A controller that keeps 10,000 HTTP endpoints probed on four threads. About
// 1,000 probes are in flight at the same time, and none of them blocks a
// thread. The program starts a server for this on the loopback interface.
//
// Continue reading in
//
//     prober.cc            the reconcile function, which sends a request
//     coroutine_prober.h   the same as a coroutine, for coroutine_main.cc
//     event_loop.h         the executor, an event loop of Boost.Asio
//     program.cc           the controller
//     beast_client.cc      the HTTP client, made of Boost.Beast
//     http_server.cc       the HTTP server
//
// Beast, because it has a client and a server that do not block, and needs only
// headers. A server with a thread for each connection could not keep 1,000
// requests waiting.

#include "examples/async_probe/prober.h"
#include "examples/async_probe/program.h"

int main(int argc, char* argv[]) {
  return async_probe::RunProgram("async_probe", argc, argv,
                                 async_probe::MakeProber);
}
