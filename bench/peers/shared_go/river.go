// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type item struct {
	Key string `json:"key"`
}

func (item) Kind() string { return "item" }

type riverQueue struct {
	name    string
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	working bool
}

func openRiver(server, name string) queue {
	ctx := context.Background()
	config, err := pgxpool.ParseConfig(server)
	check(err)
	config.MaxConns = 16
	pool, err := pgxpool.NewWithConfig(ctx, config)
	check(err)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: quiet})
	check(err)
	_, err = migrator.Migrate(ctx, rivermigrate.DirectionUp, nil)
	check(err)
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{Logger: quiet})
	check(err)
	return &riverQueue{name: name, pool: pool, client: client}
}

// quiet logs only errors.
var quiet = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))

func (q *riverQueue) add(key string) {
	_, err := q.client.Insert(context.Background(), item{key}, &river.InsertOpts{Queue: q.name})
	check(err)
}

func (q *riverQueue) addAt(keys []string, due []time.Time) {
	params := make([]river.InsertManyParams, len(keys))
	for i, key := range keys {
		params[i] = river.InsertManyParams{
			Args:       item{key},
			InsertOpts: &river.InsertOpts{Queue: q.name, ScheduledAt: due[i]},
		}
	}
	q.insert(params)
}

func (q *riverQueue) addAll(keys []string) {
	params := make([]river.InsertManyParams, len(keys))
	for i, key := range keys {
		params[i] = river.InsertManyParams{Args: item{key}, InsertOpts: &river.InsertOpts{Queue: q.name}}
	}
	q.insert(params)
}

func (q *riverQueue) insert(params []river.InsertManyParams) {
	_, err := q.client.InsertManyFast(context.Background(), params)
	check(err)
}

func (q *riverQueue) work(workers int, process func(key string)) {
	registered := river.NewWorkers()
	river.AddWorker(registered, river.WorkFunc(func(_ context.Context, job *river.Job[item]) error {
		process(job.Args.Key)
		return nil
	}))
	client, err := river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		CompletedJobRetentionPeriod: time.Second,
		FetchCooldown:               river.FetchCooldownMin,
		FetchPollInterval:           river.FetchPollIntervalMin,
		Logger:                      quiet,
		Queues:                      map[string]river.QueueConfig{q.name: {MaxWorkers: workers}},
		Workers:                     registered,
	})
	check(err)
	check(client.Start(context.Background()))
	q.client, q.working = client, true
}

func (q *riverQueue) close() {
	if q.working {
		check(q.client.Stop(context.Background()))
	}
	q.pool.Close()
}
