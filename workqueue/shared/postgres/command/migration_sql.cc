// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Prints the text that makes the tables of a `PostgresEngine`, in the schema
// that the argument names, or in "workqueue".

#include <iostream>

#include "workqueue/shared/postgres/postgres_engine.h"

int main(int argc, char** argv) {
  std::cout << workqueue::PostgresEngine::MigrationSql(argc > 1 ? argv[1]
                                                                : "workqueue");
}
