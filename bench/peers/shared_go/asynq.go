// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"github.com/hibiken/asynq"
)

type asynqQueue struct {
	options asynq.RedisClientOpt
	name    string
	client  *asynq.Client
	server  *asynq.Server
}

func openAsynq(server, name string) queue {
	// The pool is large enough that nobody waits for a connection.
	options := asynq.RedisClientOpt{Network: "unix", Addr: server, PoolSize: 80}
	return &asynqQueue{options: options, name: name, client: asynq.NewClient(options)}
}

func (q *asynqQueue) add(key string) {
	_, err := q.client.Enqueue(asynq.NewTask("item", []byte(key)), asynq.Queue(q.name))
	check(err)
}

func (q *asynqQueue) addAt(keys []string, due []time.Time) {
	for i, key := range keys {
		// asynq leaves out the part of a second. Without the rounding, items
		// would come early.
		at := due[i].Add(time.Second - 1).Truncate(time.Second)
		_, err := q.client.Enqueue(asynq.NewTask("item", []byte(key)), asynq.Queue(q.name), asynq.ProcessAt(at))
		check(err)
	}
}

func (q *asynqQueue) addAll(keys []string) {
	var running sync.WaitGroup
	for p := range producers {
		running.Go(func() {
			for i := p; i < len(keys); i += producers {
				q.add(keys[i])
			}
		})
	}
	running.Wait()
}

func (q *asynqQueue) work(workers int, process func(key string)) {
	// Each check for delayed items takes requests. The other cases have none.
	delayedTaskCheckInterval := 5 * time.Second // the default
	if q.name == delayedName {
		delayedTaskCheckInterval = time.Millisecond
	}
	q.server = asynq.NewServer(q.options, asynq.Config{
		Concurrency:              workers,
		Queues:                   map[string]int{q.name: 1},
		LogLevel:                 asynq.ErrorLevel,
		TaskCheckInterval:        time.Millisecond,
		DelayedTaskCheckInterval: delayedTaskCheckInterval,
	})
	check(q.server.Start(asynq.HandlerFunc(func(_ context.Context, task *asynq.Task) error {
		process(string(task.Payload()))
		return nil
	})))
}

func (q *asynqQueue) close() {
	if q.server != nil {
		q.server.Shutdown()
	}
	check(q.client.Close())
}
