// Command informer runs informers and reflectors of client-go, each against an address of its own, and tells what is in their stores when asked.
// Its first line of standard input is what to run, as JSON; every further line is answered with one line of JSON; it ends with standard input.
// Easy to get wrong: with WatchList the reflector gathers the first objects by namespace and name, whatever key its store has.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/features"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// Spec is one informer.
type Spec struct {
	Name string `json:"name"`
	// Server is a URL with the path below which `/api/v1` is.
	Server string `json:"server"`
	// Kind is `shared` (SharedIndexInformer, its own backoff), or `reflector` (keyed by name) or `uid` with a backoff short enough for a test.
	Kind string `json:"kind"`
	// LabelSelector is sent with lists and watches.
	LabelSelector string `json:"labelSelector"`
	// Partial is added to every request when it is not empty.
	Partial string `json:"partial"`
	// Lists says that the client declares not to support WatchList, which keeps the gate's rest as it is.
	Lists bool `json:"lists"`
}

type input struct {
	Token     string `json:"token"`
	CAFile    string `json:"caFile"`
	Namespace string `json:"namespace"`
	Informers []Spec `json:"informers"`
}

type running struct {
	store                      cache.Store
	lists, watches, watchLists atomic.Int64
}

// State is what an informer has, and what it asked for until now.
type State struct {
	Lists      int64 `json:"lists"`
	Watches    int64 `json:"watches"`
	WatchLists int64 `json:"watchLists"`
	Objects    []any `json:"objects"`
}

// unlisted is a ListWatch whose client does not support WatchList, see k8s.io/client-go/util/watchlist.
type unlisted struct{ *cache.ListWatch }

func (unlisted) IsWatchListSemanticsUnSupported() bool { return true }

type counting struct {
	inner   http.RoundTripper
	to      *running
	partial string
}

func (c *counting) RoundTrip(request *http.Request) (*http.Response, error) {
	query := request.URL.Query()
	switch {
	case query.Get("sendInitialEvents") == "true":
		c.to.watchLists.Add(1)
	case query.Get("watch") == "true":
		c.to.watches.Add(1)
	default:
		c.to.lists.Add(1)
	}
	if c.partial != "" {
		request = request.Clone(request.Context())
		query.Set("partial", c.partial)
		request.URL.RawQuery = query.Encode()
	}
	return c.inner.RoundTrip(request)
}

func uidOf(object any) (string, error) {
	if gone, is := object.(cache.DeletedFinalStateUnknown); is {
		return gone.Key, nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	return string(accessor.GetUID()), nil
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func start(ctx context.Context, in input, spec Spec) (*running, error) {
	r := &running{}
	config := &rest.Config{
		Host:            spec.Server,
		BearerToken:     in.Token,
		QPS:             -1,
		TLSClientConfig: rest.TLSClientConfig{CAFile: in.CAFile},
		UserAgent:       "informer",
	}
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
		return &counting{inner: inner, to: r, partial: spec.Partial}
	})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	tweak := func(options *metav1.ListOptions) { options.LabelSelector = spec.LabelSelector }
	if spec.Kind == "shared" {
		informer := dynamicinformer.NewFilteredDynamicInformer(client, configMaps, in.Namespace, 0, cache.Indexers{}, tweak).Informer()
		r.store = informer.GetStore()
		go informer.RunWithContext(ctx)
		return r, nil
	}
	key := cache.DeletionHandlingMetaNamespaceKeyFunc
	if spec.Kind == "uid" {
		key = uidOf
	}
	r.store = cache.NewStore(key)
	resource := client.Resource(configMaps).Namespace(in.Namespace)
	listWatch := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			return resource.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			tweak(&options)
			return resource.Watch(ctx, options)
		},
	}
	var listerWatcher cache.ListerWatcher = listWatch
	if spec.Lists {
		listerWatcher = unlisted{listWatch}
	}
	reflector := cache.NewReflectorWithOptions(listerWatcher, &unstructured.Unstructured{}, r.store, cache.ReflectorOptions{
		Name:    spec.Name,
		Backoff: &wait.Backoff{Duration: 50 * time.Millisecond, Cap: 400 * time.Millisecond, Steps: 4, Factor: 2, Jitter: 1},
	})
	go reflector.RunWithContext(ctx)
	return r, nil
}

func run() error {
	lines := bufio.NewReader(os.Stdin)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	var in input
	if err := json.Unmarshal(first, &in); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	all := map[string]*running{}
	for _, spec := range in.Informers {
		if all[spec.Name], err = start(ctx, in, spec); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "WatchList", features.FeatureGates().Enabled(features.WatchListClient))
	out := json.NewEncoder(os.Stdout)
	for {
		if _, err := lines.ReadString('\n'); err != nil {
			return nil
		}
		states := map[string]State{}
		for name, r := range all {
			objects := []any{}
			for _, object := range r.store.List() {
				objects = append(objects, object.(*unstructured.Unstructured).Object)
			}
			states[name] = State{r.lists.Load(), r.watches.Load(), r.watchLists.Load(), objects}
		}
		if err := out.Encode(states); err != nil {
			return err
		}
	}
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
