// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Keeps copies of annotated ConfigMaps in other namespaces: the operator in
// examples/kubernetes, written in Go with controller-runtime.
package main

import (
	"context"
	"flag"
	"net/http"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

func main() {
	// controller-runtime defines --kubeconfig.
	workers := flag.Int("workers", 10, "how many sources are reconciled at a time")
	leaderElect := flag.Bool("leader-elect", false, "work only while this replica is the leader")
	leaseNamespace := flag.String("leader-elect-namespace", "default", "the namespace of the lease")
	leaseName := flag.String("leader-elect-name", "replicator", "the name of the lease")
	metricsAddress := flag.String("metrics-bind-address", "127.0.0.1:8080", "where /metrics is")
	probeAddress := flag.String("health-probe-bind-address", "127.0.0.1:8081", "where /healthz and /readyz are")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	if err := run(ctrl.SetupSignalHandler(), *workers, ctrl.Options{
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
		LeaderElection:                *leaderElect,
		LeaderElectionNamespace:       *leaseNamespace,
		LeaderElectionID:              *leaseName,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       server.Options{BindAddress: *metricsAddress},
		HealthProbeBindAddress:        *probeAddress,
	}); err != nil {
		ctrl.Log.Error(err, "The replicator ends")
		os.Exit(1)
	}
}

func run(ctx context.Context, workers int, options ctrl.Options) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.QPS = -1 // No limit. The server has its own.

	options.Scheme = runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(options.Scheme))
	mgr, err := ctrl.NewManager(config, options)
	if err != nil {
		return err
	}
	if err := (&Replicator{mgr.GetClient()}).SetupWithManager(ctx, mgr, workers); err != nil {
		return err
	}
	if err := mgr.AddHealthzCheck("ping", healthz.Ping); err != nil {
		return err
	}
	if err := mgr.AddReadyzCheck("informers", func(req *http.Request) error {
		ctx, cancel := context.WithTimeout(req.Context(), time.Second)
		defer cancel()
		if !mgr.GetCache().WaitForCacheSync(ctx) {
			return context.DeadlineExceeded
		}
		return nil
	}); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
