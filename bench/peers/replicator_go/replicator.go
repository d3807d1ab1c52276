// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	selectorAnnotation = "replicator.example.com/namespace-selector"
	sourceAnnotation   = "replicator.example.com/source"
	finalizer          = "replicator.example.com/cleanup"
	managedByLabel     = "app.kubernetes.io/managed-by"
	manager            = "replicator"

	// The indexes of ConfigMaps: copies by their source, and sources by their
	// names. Each source also has the name anyName, which is not a valid one.
	copyIndex   = "copies"
	sourceIndex = "sources"
	anyName     = "*"
)

var foreignObjects = prometheus.NewCounter(prometheus.CounterOpts{
	Name: "replicator_foreign_objects_total",
	Help: "How often there was no copy because another object had its name.",
})

func init() { metrics.Registry.MustRegister(foreignObjects) }

// Replicator keeps copies of annotated ConfigMaps in the namespaces that match
// their selectors.
type Replicator struct{ client.Client }

// SetupWithManager adds the replicator to the manager.
func (r *Replicator) SetupWithManager(ctx context.Context, mgr ctrl.Manager, workers int) error {
	indexer := mgr.GetFieldIndexer()
	if err := indexer.IndexField(ctx, &corev1.ConfigMap{}, copyIndex, func(o client.Object) []string {
		if source, ok := sourceOf(o); ok {
			return []string{source.String()}
		}
		return nil
	}); err != nil {
		return err
	}
	if err := indexer.IndexField(ctx, &corev1.ConfigMap{}, sourceIndex, func(o client.Object) []string {
		if isSource(o) {
			return []string{o.GetName(), anyName}
		}
		return nil
	}); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("replicator").
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.requestsForConfigMap)).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.requestsForNamespace)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			EnableWarmup:            new(true), // The caches of a replica that is not the leader are warm.
		}).
		Complete(r)
}

// Reconcile makes the copies of one source what they should be.
func (r *Replicator) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	var source corev1.ConfigMap
	if err := r.Get(ctx, req.NamespacedName, &source); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, err
	}
	selector, active := source.Annotations[selectorAnnotation]
	active = active && isSource(&source) && source.DeletionTimestamp.IsZero()

	missing := sets.New[string]()
	if active {
		var err error
		if missing, err = r.targets(ctx, &source, selector); err != nil {
			return reconcile.Result{}, err
		}
		if !controllerutil.ContainsFinalizer(&source, finalizer) {
			if err := r.setFinalizer(ctx, &source, controllerutil.AddFinalizer); err != nil {
				return reconcile.Result{}, err
			}
		}
	}

	var copies corev1.ConfigMapList
	if err := r.List(ctx, &copies, client.MatchingFields{copyIndex: req.String()},
		client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, err
	}
	var errs []error
	for i := range copies.Items {
		c := &copies.Items[i]
		switch {
		case !missing.Has(c.Namespace):
			errs = append(errs, r.deleteCopy(ctx, c))
		case !isUpToDate(c, &source):
			errs = append(errs, r.updateCopy(ctx, c, &source))
		}
		missing.Delete(c.Namespace)
	}
	for namespace := range missing {
		errs = append(errs, r.createCopy(ctx, namespace, &source))
	}
	if err := errors.Join(errs...); err != nil {
		return reconcile.Result{}, err
	}

	if !active && controllerutil.ContainsFinalizer(&source, finalizer) {
		return reconcile.Result{}, r.setFinalizer(ctx, &source, controllerutil.RemoveFinalizer)
	}
	return reconcile.Result{}, nil
}

// targets returns the namespaces that should have a copy.
func (r *Replicator) targets(ctx context.Context, source *corev1.ConfigMap, selector string) (sets.Set[string], error) {
	parsed, err := labels.Parse(selector)
	if err != nil {
		return nil, reconcile.TerminalError(fmt.Errorf("annotation %s: %w", selectorAnnotation, err))
	}
	var namespaces corev1.NamespaceList
	if err := r.List(ctx, &namespaces, client.MatchingLabelsSelector{Selector: parsed},
		client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	targets := sets.New[string]()
	for i := range namespaces.Items {
		if n := &namespaces.Items[i]; n.DeletionTimestamp.IsZero() && n.Name != source.Namespace {
			targets.Insert(n.Name)
		}
	}
	return targets, nil
}

func (r *Replicator) createCopy(ctx context.Context, namespace string, source *corev1.ConfigMap) error {
	key := client.ObjectKey{Namespace: namespace, Name: source.Name}
	err := r.Get(ctx, key, &corev1.ConfigMap{}, client.UnsafeDisableDeepCopy)
	if err == nil {
		foreignObjects.Inc()
		ctrl.LoggerFrom(ctx).Info("Another object has the name of a copy", "object", key)
		return nil // When the object changes or goes, requestsForConfigMap brings the source back.
	}
	if !apierrors.IsNotFound(err) {
		return err
	}
	return r.Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   namespace,
			Name:        source.Name,
			Labels:      map[string]string{managedByLabel: manager},
			Annotations: map[string]string{sourceAnnotation: client.ObjectKeyFromObject(source).String()},
		},
		Data:       source.Data,
		BinaryData: source.BinaryData,
	}, client.FieldOwner(manager))
}

// updateCopy replaces the copy. Server-side apply would leave the keys that the
// source has lost: they belong to the request that created the copy, too.
func (r *Replicator) updateCopy(ctx context.Context, c, source *corev1.ConfigMap) error {
	updated := c.DeepCopy()
	updated.Data, updated.BinaryData = source.Data, source.BinaryData
	return r.Update(ctx, updated, client.FieldOwner(manager))
}

func (r *Replicator) deleteCopy(ctx context.Context, c *corev1.ConfigMap) error {
	if !c.DeletionTimestamp.IsZero() {
		return nil
	}
	return client.IgnoreNotFound(r.Delete(ctx, c,
		client.Preconditions{UID: &c.UID, ResourceVersion: &c.ResourceVersion}))
}

// setFinalizer adds or removes the finalizer, by a merge patch. Server-side apply
// would leave a finalizer that another manager has set, too.
func (r *Replicator) setFinalizer(ctx context.Context, source *corev1.ConfigMap,
	change func(client.Object, string) bool) error {
	before := source.DeepCopy()
	change(source, finalizer)
	return r.Patch(ctx, source, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(manager))
}

// requestsForConfigMap returns the source of a copy, or a source itself. It also
// returns all sources of this name, because the object stands, or stood, where
// they want their copies.
func (r *Replicator) requestsForConfigMap(ctx context.Context, o client.Object) []reconcile.Request {
	requests := r.requestsForSources(ctx, o.GetName(), func(*corev1.ConfigMap) bool { return true })
	if source, ok := sourceOf(o); ok {
		requests = append(requests, reconcile.Request{NamespacedName: source})
	} else if isSource(o) {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o)})
	}
	return requests
}

// requestsForNamespace returns the sources whose selectors match. The handler
// calls it with the old labels and with the new ones.
func (r *Replicator) requestsForNamespace(ctx context.Context, o client.Object) []reconcile.Request {
	return r.requestsForSources(ctx, anyName, func(source *corev1.ConfigMap) bool {
		selector, err := labels.Parse(source.Annotations[selectorAnnotation])
		return err == nil && selector.Matches(labels.Set(o.GetLabels()))
	})
}

func (r *Replicator) requestsForSources(ctx context.Context, name string, filter func(*corev1.ConfigMap) bool) []reconcile.Request {
	var sources corev1.ConfigMapList
	if err := r.List(ctx, &sources, client.MatchingFields{sourceIndex: name},
		client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list sources")
	}
	var requests []reconcile.Request
	for i := range sources.Items {
		if source := &sources.Items[i]; filter(source) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(source)})
		}
	}
	return requests
}

// sourceOf returns the source of a copy, or false if the object is not a copy.
func sourceOf(o client.Object) (types.NamespacedName, bool) {
	namespace, name, _ := strings.Cut(o.GetAnnotations()[sourceAnnotation], "/")
	return types.NamespacedName{Namespace: namespace, Name: name},
		o.GetLabels()[managedByLabel] == manager && name == o.GetName()
}

// isSource returns whether the object is, or was, a source.
func isSource(o client.Object) bool {
	_, isCopy := sourceOf(o)
	_, hasSelector := o.GetAnnotations()[selectorAnnotation]
	return !isCopy && (hasSelector || controllerutil.ContainsFinalizer(o, finalizer))
}

func isUpToDate(c, source *corev1.ConfigMap) bool {
	return maps.Equal(c.Data, source.Data) && maps.EqualFunc(c.BinaryData, source.BinaryData, bytes.Equal)
}
