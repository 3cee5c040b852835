// Command manager is a small controller built the usual way (controller-runtime): leader election, protobuf for built-in kinds,
// informers that stream their first list (WatchList). It annotates ConfigMaps that carry a label and ends once it has done `--count`
// of them: 0 when all are done, 1 when time is up. Tests run it against a member and through the gateway.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/features"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const (
	// label chooses what is reconciled
	label = "portcullis.test/reconcile"
	// annotation is what reconciling writes: the object's `data.value`
	annotation = "portcullis.test/reconciled"
)

type reconciler struct {
	client.Client
	count int
	done  context.CancelFunc
	mu    sync.Mutex
	seen  map[types.NamespacedName]bool
}

// Reconcile copies `data.value` to the annotation, and counts objects for which that is so.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object v1.ConfigMap
	if err := r.Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	wanted := object.Data["value"]
	if got, has := object.Annotations[annotation]; !has || got != wanted {
		before := object.DeepCopy()
		metav1.SetMetaDataAnnotation(&object.ObjectMeta, annotation, wanted)
		return ctrl.Result{}, r.Patch(ctx, &object, client.MergeFrom(before))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.seen[request.NamespacedName] {
		r.seen[request.NamespacedName] = true
		fmt.Printf("reconciled %d/%d %s\n", len(r.seen), r.count, request.NamespacedName)
	}
	if len(r.seen) >= r.count {
		r.done()
	}
	return ctrl.Result{}, nil
}

func main() {
	namespace := flag.String("namespace", "default", "namespace of the ConfigMaps and of the lease")
	count := flag.Int("count", 1, "how many ConfigMaps to reconcile")
	timeout := flag.Duration("timeout", time.Minute, "give up after this long")
	contextName := flag.String("context", "", "context of the kubeconfig (default: its current one)")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(flag.Lookup("kubeconfig").Value.String(), *contextName, *namespace, *count, *timeout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeconfig, contextName, namespace string, count int, timeout time.Duration) error {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: contextName}
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if err != nil {
		return err
	}
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	config.UserAgent = "controller-runtime-manager"
	config.QPS, config.Burst = 200, 400
	fmt.Printf("WatchList %t\n", features.FeatureGates().Enabled(features.WatchListClient))

	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        clientscheme.Scheme,
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "portcullis-test-manager",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{namespace: {}},
			ByObject: map[client.Object]cache.ByObject{
				&v1.ConfigMap{}: {Label: labels.SelectorFromSet(labels.Set{label: "true"})},
			},
		},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctrl.SetupSignalHandler(), timeout)
	defer cancel()
	r := &reconciler{Client: manager.GetClient(), count: count, done: cancel, seen: map[types.NamespacedName]bool{}}
	if err := ctrl.NewControllerManagedBy(manager).For(&v1.ConfigMap{}).Complete(r); err != nil {
		return err
	}
	go func() {
		<-manager.Elected()
		fmt.Println("elected")
	}()
	if err := manager.Start(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) < count {
		return errors.Join(fmt.Errorf("%d of %d reconciled", len(r.seen), count), context.Cause(ctx))
	}
	fmt.Println("done")
	return nil
}
