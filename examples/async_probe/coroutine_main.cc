// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Does what main.cc does, with coroutines. They need C++20.

#ifdef __cpp_impl_coroutine

#include "examples/async_probe/coroutine_prober.h"
#include "examples/async_probe/program.h"

int main(int argc, char* argv[]) {
  return async_probe::RunProgram("async_probe_coroutine", argc, argv,
                                 async_probe::MakeCoroutineProber);
}

#else

#include <cstdio>

int main() {
  std::fputs("async_probe_coroutine: build it as C++20: --config=cxx20\n",
             stderr);
  return 1;
}

#endif
