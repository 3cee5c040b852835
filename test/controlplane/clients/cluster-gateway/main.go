// Command cluster-gateway-client asks for what clients written for cluster-gateway ask for, in the way they do: stock client-go and
// controller-runtime clients whose transport rewrites the path, and a typed client of `clustergateways` with `health`. It prints one JSON
// object of what it saw and ends with 1 and the name of the step at the first failure. It is written after the behaviour of cluster-gateway's
// client library; the library itself is not in it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// seen is what is printed. `Members` holds, for each way to a member, the names of the ConfigMaps listed there.
type seen struct {
	Kinds       []string            `json:"kinds"`
	Gateway     *ClusterGateway     `json:"gateway"`
	Gateways    []string            `json:"gateways"`
	Before      Status              `json:"before"`
	Updated     Status              `json:"updated"`
	After       Status              `json:"after"`
	Conflict    string              `json:"conflict"`
	RawHealthz  string              `json:"rawHealthz"`
	Healthz     string              `json:"healthz"`
	Members     map[string][]string `json:"members"`
	HubWithout  []string            `json:"hubWithout"`
	StrictError string              `json:"strictError"`
	Watched     string              `json:"watched"`
	Unknown     string              `json:"unknown"`
}

func main() {
	kubeconfig := flag.String("hub", "", "kubeconfig of the hub or of the gateway")
	cluster := flag.String("cluster", "m1", "name of the cluster")
	namespace := flag.String("namespace", "default", "namespace of the ConfigMaps, in the cluster")
	timeout := flag.Duration("timeout", time.Minute, "give up after this long")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), *timeout)
	defer cancel()
	result, err := run(ctx, *kubeconfig, *cluster, *namespace)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig, cluster, namespace string) (*seen, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	if err := clientscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	addToScheme(scheme)
	result := &seen{Members: map[string][]string{}}
	steps := []struct {
		name string
		do   func() error
	}{
		{"objects", func() error { return readObjects(ctx, config, scheme, cluster, result) }},
		{"health", func() error { return setHealth(ctx, config, scheme, cluster, result) }},
		{"members", func() error { return askMember(ctx, config, scheme, cluster, namespace, result) }},
		{"watch", func() error { return watchMember(ctx, config, cluster, namespace, result) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return result, nil
}

// readObjects finds the kind in discovery, and reads clustergateways with a client that maps kinds by discovery.
func readObjects(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, cluster string, result *seen) error {
	native, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	resources, err := native.Discovery().ServerResourcesForGroupVersion(groupVersion.String())
	if err != nil {
		return err
	}
	for _, resource := range resources.APIResources {
		result.Kinds = append(result.Kinds, resource.Kind)
	}
	objects, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	result.Gateway = &ClusterGateway{}
	if err := objects.Get(ctx, types.NamespacedName{Name: cluster}, result.Gateway); err != nil {
		return err
	}
	var list ClusterGatewayList
	if err := objects.List(ctx, &list); err != nil {
		return err
	}
	for _, item := range list.Items {
		result.Gateways = append(result.Gateways, item.Name)
	}
	raw, err := native.Discovery().RESTClient().Get().
		AbsPath("apis/"+groupVersion.String()+"/clustergateways", cluster, "proxy", "healthz").DoRaw(ctx)
	result.RawHealthz = string(raw)
	return err
}

// setHealth reads and updates `clustergateways/health` as a generated client does: typed, the whole object sent back. It leaves health as
// it was, and tries an update of what has changed since.
func setHealth(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, cluster string, result *seen) error {
	typed := rest.CopyConfig(config)
	typed.APIPath = "/apis"
	typed.GroupVersion = &groupVersion
	typed.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	gateways, err := rest.RESTClientFor(typed)
	if err != nil {
		return err
	}
	codec := runtime.NewParameterCodec(scheme)
	get := func() (*ClusterGateway, error) {
		var object ClusterGateway
		err := gateways.Get().Resource("clustergateways").Name(cluster).SubResource("health").
			VersionedParams(&metav1.GetOptions{}, codec).Do(ctx).Into(&object)
		return &object, err
	}
	update := func(object *ClusterGateway) (*ClusterGateway, error) {
		var updated ClusterGateway
		err := gateways.Put().Resource("clustergateways").Name(object.Name).SubResource("health").
			VersionedParams(&metav1.UpdateOptions{}, codec).Body(object).Do(ctx).Into(&updated)
		return &updated, err
	}
	read, err := get()
	if err != nil {
		return err
	}
	result.Before = read.Status
	changed := read.DeepCopyObject().(*ClusterGateway)
	changed.Status = Status{Healthy: true, HealthyReason: "ConnectionTimeout"}
	updated, err := update(changed)
	if err != nil {
		return err
	}
	result.Updated = updated.Status
	after, err := get()
	if err != nil {
		return err
	}
	result.After = after.Status
	if _, err := update(read); err != nil {
		result.Conflict = err.Error()
	}
	after.Status = result.Before
	_, err = update(after)
	return err
}

// askMember lists ConfigMaps of the member in every way that cluster-gateway's library offers.
func askMember(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, cluster, namespace string, result *seen) error {
	list := func(ctx context.Context, wrap func(http.RoundTripper) http.RoundTripper) ([]string, error) {
		wrapped := rest.CopyConfig(config)
		wrapped.Wrap(wrap)
		// Built-in kinds travel as protobuf, as in most controllers.
		wrapped.ContentType = runtime.ContentTypeProtobuf
		native, err := kubernetes.NewForConfig(wrapped)
		if err != nil {
			return nil, err
		}
		maps, err := native.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		names := []string{}
		for _, item := range maps.Items {
			names = append(names, item.Name)
		}
		return names, nil
	}
	var err error
	if result.Members["context"], err = list(inCluster(ctx, cluster), byContext); err != nil {
		return err
	}
	if result.Members["strict"], err = list(inCluster(ctx, cluster), byContextOnly); err != nil {
		return err
	}
	if result.Members["fixed"], err = list(ctx, to(cluster)); err != nil {
		return err
	}
	if _, err := list(ctx, byContextOnly); err != nil {
		result.StrictError = err.Error()
	}
	if _, err := list(inCluster(ctx, "nobody"), byContext); err != nil {
		result.Unknown = err.Error()
	}
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(byContext)
	native, err := kubernetes.NewForConfig(wrapped)
	if err != nil {
		return err
	}
	healthz, err := native.RESTClient().Get().AbsPath("healthz").DoRaw(inCluster(ctx, cluster))
	if err != nil {
		return err
	}
	result.Healthz = string(healthz)
	// Without a cluster in its context the same client asks whom the kubeconfig names.
	groups, err := native.Discovery().ServerGroups()
	if err != nil {
		return err
	}
	for _, group := range groups.Groups {
		result.HubWithout = append(result.HubWithout, group.Name)
	}
	// A controller-runtime client discovers kinds as well: all of it in the member.
	wrapped = rest.CopyConfig(config)
	wrapped.Wrap(to(cluster))
	objects, err := client.New(wrapped, client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	var maps v1.ConfigMapList
	if err := objects.List(ctx, &maps, client.InNamespace(namespace)); err != nil {
		return err
	}
	for _, item := range maps.Items {
		result.Members["controller-runtime"] = append(result.Members["controller-runtime"], item.Name)
	}
	return nil
}

// watchMember opens a watch in the member, makes a ConfigMap there, waits to be told of it, and removes it.
func watchMember(ctx context.Context, config *rest.Config, cluster, namespace string, result *seen) error {
	wrapped := rest.CopyConfig(config)
	wrapped.Wrap(byContextOnly)
	native, err := kubernetes.NewForConfig(wrapped)
	if err != nil {
		return err
	}
	ctx = inCluster(ctx, cluster)
	maps := native.CoreV1().ConfigMaps(namespace)
	watching, err := maps.Watch(ctx, metav1.ListOptions{LabelSelector: "made-by=cluster-gateway-client"})
	if err != nil {
		return err
	}
	defer watching.Stop()
	made, err := maps.Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		GenerateName: "made-",
		Labels:       map[string]string{"made-by": "cluster-gateway-client"},
	}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	event, open := <-watching.ResultChan()
	if !open {
		return errors.New("the watch ended")
	}
	if object, is := event.Object.(*v1.ConfigMap); is && object.Name == made.Name {
		result.Watched = string(event.Type)
	}
	return maps.Delete(ctx, made.Name, metav1.DeleteOptions{})
}
