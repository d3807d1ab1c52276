// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"
)

type redisEngine struct {
	client *redis.Client
}

func newRedisEngine(server string) engine {
	return redisEngine{redis.NewClient(&redis.Options{Network: "unix", Addr: server})}
}

func (e redisEngine) bytes() (used int64) {
	info, err := e.client.Info(context.Background(), "memory").Result()
	check(err)
	_, rest, _ := strings.Cut(info, "\r\nused_memory:")
	_, err = fmt.Sscan(rest, &used)
	check(err)
	return used
}

// countCalls counts the commands that clients send, as MONITOR shows them. It
// leaves out the commands that scripts call.
func (e redisEngine) countCalls() func() int64 {
	const end = "end-of-count"
	connection, err := net.Dial("unix", e.client.Options().Addr)
	check(err)
	_, err = fmt.Fprint(connection, "MONITOR\r\n")
	check(err)
	lines := bufio.NewReader(connection)
	_, err = lines.ReadString('\n') // OK
	check(err)
	counted := make(chan int64)
	go func() {
		for count := int64(0); ; {
			line, err := lines.ReadString('\n')
			check(err)
			if strings.Contains(line, end) {
				counted <- count
				return
			}
			// A line begins with the time, and then has the client in brackets.
			if client, _, _ := strings.Cut(line, "]"); !strings.HasSuffix(client, " lua") {
				count++
			}
		}
	}()
	return func() int64 {
		check(e.client.Echo(context.Background(), end).Err())
		return <-counted
	}
}

type postgresEngine struct {
	url string
}

func newPostgresEngine(server string) engine { return postgresEngine{server} }

func (e postgresEngine) query(sql string) (value int64) {
	ctx := context.Background()
	connection, err := pgx.Connect(ctx, e.url)
	check(err)
	defer connection.Close(ctx)
	check(connection.QueryRow(ctx, sql).Scan(&value))
	return value
}

func (e postgresEngine) bytes() int64 {
	return e.query("SELECT pg_database_size(current_database())")
}

// countCalls counts transactions.
func (e postgresEngine) countCalls() func() int64 {
	before := e.commits()
	return func() int64 { return e.commits() - before }
}

// commits returns the number of transactions of connections that have ended. A
// connection reports its last ones when it ends, which takes a moment.
func (e postgresEngine) commits() int64 {
	time.Sleep(time.Second)
	return e.query("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
}
