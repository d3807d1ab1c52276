// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

const objectCount = 100 * 1000

// eventServer is a server in memory. It has no objects when it is listed, and
// sends an event of each object when it is told to.
type eventServer struct {
	cache.ListWatch
	events  *watch.FakeWatcher
	version int
	sentAt  [objectCount]time.Time
}

func newEventServer() *eventServer {
	s := &eventServer{events: watch.NewFake()}
	s.ListFunc = func(metav1.ListOptions) (runtime.Object, error) {
		return &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "0"}}, nil
	}
	s.WatchFunc = func(metav1.ListOptions) (watch.Interface, error) { return s.events, nil }
	return s
}

// IsWatchListSemanticsUnSupported makes the reflector list.
func (*eventServer) IsWatchListSemanticsUnSupported() bool { return true }

// send sends an event of each of the first n objects: ten at a time, with a
// pause of a millisecond before these, if `paced`.
func (s *eventServer) send(n int, paced bool) {
	for i := range n {
		if paced && i%10 == 0 {
			time.Sleep(time.Millisecond)
		}
		s.version++
		s.sentAt[i] = time.Now()
		s.events.Modify(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
			Namespace:       "namespace-" + strconv.Itoa(i%100),
			Name:            "object-name-" + strconv.Itoa(i),
			ResourceVersion: strconv.Itoa(s.version),
			Generation:      int64(i),
		}})
	}
}

func controllerCases() (cases []benchCase) {
	for _, workers := range []int{1, 8, 64} {
		name := fmt.Sprintf("controller_%d", workers)
		cases = append(cases, benchCase{name, func(report report) { reportController(name, workers, report) }})
	}
	return cases
}

func reportController(name string, workers int, report report) {
	const passes, paced = 5, 20 * 1000
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	server := newEventServer()
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	var reconciled atomic.Int64
	took := make([]time.Duration, objectCount)
	c, err := controller.NewUnmanaged("controller", controller.Options{
		MaxConcurrentReconciles: workers,
		Logger:                  logr.Discard(),
		Reconciler: reconcile.Func(func(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
			stored, _, _ := informer.GetIndexer().GetByKey(request.String())
			number := stored.(*corev1.ConfigMap).Generation
			took[number] = time.Since(server.sentAt[number])
			reconciled.Add(1)
			return reconcile.Result{}, nil
		}),
	})
	check(err)
	check(c.Watch(&source.Informer{Informer: informer, Handler: &handler.EnqueueRequestForObject{}}))
	go informer.RunWithContext(ctx)
	go func() { check(c.Start(ctx)) }()
	process := func(n int, paced bool) {
		reconciled.Store(0)
		server.send(n, paced)
		for reconciled.Load() < int64(n) {
			time.Sleep(100 * time.Microsecond)
		}
	}
	before, _ := memory()
	process(objectCount, false)
	after, _ := memory()
	start, cpuBefore := begin(), cpuTime()
	for range passes {
		process(objectCount, false)
	}
	ns := nsEach(start, passes*objectCount)
	cpu := float64((cpuTime() - cpuBefore).Nanoseconds()) / (passes * objectCount)
	process(paced, true)
	report(name, ns, "ns")
	report(name+"_cpu", cpu, "ns")
	report(name+"_memory", (after-before)/objectCount, "B")
	report(name+"_p99", float64(percentile(took[:paced], 99).Nanoseconds())/1000, "us")
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}
