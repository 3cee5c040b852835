// Command informer-go prints each change of a Deployment, of all clusters behind a Portcullis gateway or of one.
//
//	portcullis kubeconfig --server https://GATEWAY … --all --index --output portcullis.kubeconfig
//	go run . -kubeconfig portcullis.kubeconfig -context portcullis-all
//	go run . -kubeconfig portcullis.kubeconfig -context portcullis-all -cluster prod-eu
//
// A line is: what happened, the cluster, namespace/name, the uid.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os/signal"
	"syscall"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// clusterAnnotation is in every object that the gateway's index gives: the name of the cluster it is of.
const clusterAnnotation = "shadow.clusterpedia.io/cluster-name"

func main() {
	kubeconfig := flag.String("kubeconfig", "", "kubeconfig with the context")
	contextName := flag.String("context", "portcullis-all", "context of all clusters")
	cluster := flag.String("cluster", "", "watch only this cluster")
	flag.Parse()

	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		&clientcmd.ClientConfigLoadingRules{ExplicitPath: *kubeconfig},
		&clientcmd.ConfigOverrides{CurrentContext: *contextName},
	).ClientConfig()
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *cluster == "" {
		err = watchAll(ctx, config)
	} else {
		err = watchOne(ctx, config, *cluster)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// watchOne is any informer, with the path of one cluster: within a cluster namespace and name are unique.
func watchOne(ctx context.Context, config *rest.Config, cluster string) error {
	config = rest.CopyConfig(config)
	config.Host += "/clusters/" + cluster
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	informer := informers.NewSharedInformerFactory(client, 0).Apps().V1().Deployments().Informer()
	if _, err := informer.AddEventHandler(handler()); err != nil {
		return err
	}
	informer.RunWithContext(ctx)
	return nil
}

// watchAll is what NewInformer of client-go puts together, with another key. Many clusters have a Deployment of the same
// namespace and name, and an informer that keys by these would take them for one object.
func watchAll(ctx context.Context, config *rest.Config) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	store := cache.NewIndexer(uidOf, cache.Indexers{"name": byName})
	cache.New(&cache.Config{
		Queue: cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{
			KeyFunction:           uidOf,
			KnownObjects:          store,
			EmitDeltaTypeReplaced: true,
		}),
		ListerWatcher: listing{cache.NewListWatchFromClient(
			client.AppsV1().RESTClient(), "deployments", "", fields.Everything(),
		)},
		ObjectType: &appsv1.Deployment{},
		Process: func(deltas any, isInInitialList bool) error {
			return process(store, handler(), deltas.(cache.Deltas), isInInitialList)
		},
	}).RunWithContext(ctx)
	return nil
}

// listing makes client-go list and then watch. With WatchList it would gather the first objects by namespace and name,
// whatever the key of the store is.
type listing struct{ *cache.ListWatch }

func (listing) IsWatchListSemanticsUnSupported() bool { return true }

// process brings the store up to date and calls the handler, as the informers of client-go do.
func process(store cache.Store, to cache.ResourceEventHandler, deltas cache.Deltas, isInInitialList bool) error {
	for _, delta := range deltas {
		if delta.Type == cache.Deleted {
			if err := store.Delete(delta.Object); err != nil {
				return err
			}
			to.OnDelete(delta.Object)
			continue
		}
		before, exists, err := store.Get(delta.Object)
		if err != nil {
			return err
		}
		if err := store.Update(delta.Object); err != nil {
			return err
		}
		if exists {
			to.OnUpdate(before, delta.Object)
		} else {
			to.OnAdd(delta.Object, isInInitialList)
		}
	}
	return nil
}

// uidOf is the key: no two objects of any two clusters have the same uid.
func uidOf(object any) (string, error) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		return gone.Key, nil
	}
	accessor, err := meta.Accessor(object)
	if err != nil {
		return "", err
	}
	return string(accessor.GetUID()), nil
}

// byName finds the objects of one namespace and name in all clusters: store.ByIndex("name", "shop/web").
func byName(object any) ([]string, error) {
	key, err := cache.MetaNamespaceKeyFunc(object)
	return []string{key}, err
}

func handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { say("ADDED", object) },
		UpdateFunc: func(before, after any) {
			// After a list has been repeated, everything is updated, most of it to what it was.
			if before.(*appsv1.Deployment).ResourceVersion != after.(*appsv1.Deployment).ResourceVersion {
				say("MODIFIED", after)
			}
		},
		DeleteFunc: func(object any) {
			// A deletion that was missed while the connection was down.
			if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = gone.Obj
			}
			say("DELETED", object)
		},
	}
}

func say(event string, object any) {
	deployment := object.(*appsv1.Deployment)
	cluster := deployment.Annotations[clusterAnnotation]
	fmt.Println(event, cluster, deployment.Namespace+"/"+deployment.Name, deployment.UID)
}
