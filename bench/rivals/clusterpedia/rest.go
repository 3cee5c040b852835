// Get and list as the generic handlers call them. Follows pkg/kubeapiserver/resourcerest/storage.go and the list options of
// github.com/clusterpedia-io/api (clusterpedia/v1beta1). Easy to get wrong: the options come from the kept parameters, not from those the generic
// handler has parsed, and a parameter the bench does not ask with is refused instead of ignored.
package main

import (
	"context"
	"errors"
	"net/url"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

type listOptions struct {
	clusters, namespaces, names []string
	labels                      labels.Selector
	orderBy                     []orderBy
	limit                       int64
	from                        string
	withContinue                bool
	withRemainingCount          bool
}

type orderBy struct {
	column     string
	descending bool
}

func parseListOptions(query url.Values) (*listOptions, error) {
	options := &listOptions{labels: labels.Everything()}
	for key, values := range query {
		var err error
		value := values[0]
		switch key {
		case "clusters":
			options.clusters = strings.Split(value, ",")
		case "namespaces":
			options.namespaces = strings.Split(value, ",")
		case "names":
			options.names = strings.Split(value, ",")
		case "labelSelector":
			options.labels, err = labels.Parse(value)
		case "orderby":
			options.orderBy, err = parseOrderBy(value)
		case "limit":
			options.limit, err = strconv.ParseInt(value, 10, 64)
		case "continue":
			options.from = value
		case "withContinue":
			options.withContinue, err = parseFlag(value)
		case "withRemainingCount":
			options.withRemainingCount, err = parseFlag(value)
		default:
			err = errors.New("not known here: " + key)
		}
		if err != nil {
			return nil, err
		}
	}
	return options, nil
}

// parseFlag reads a boolean parameter, true without a value.
func parseFlag(value string) (bool, error) {
	if value == "" {
		return true, nil
	}
	return strconv.ParseBool(value)
}

func parseOrderBy(value string) ([]orderBy, error) {
	var order []orderBy
	for _, part := range strings.Split(value, ",") {
		words := strings.Fields(part)
		if len(words) == 0 || len(words) > 2 || len(words) == 2 && words[1] != "desc" {
			return nil, errors.New("invalid order by: " + part)
		}
		order = append(order, orderBy{column: words[0], descending: len(words) == 2})
	}
	return order, nil
}

// podREST is the storage of pods behind the generic handlers.
type podREST struct {
	storage       *storage
	memoryVersion schema.GroupVersion
}

var _ rest.Getter = &podREST{}
var _ rest.Lister = &podREST{}

func (r *podREST) Destroy() {}

func (r *podREST) New() runtime.Object {
	object, _ := legacyscheme.Scheme.New(r.memoryVersion.WithKind("Pod"))
	return object
}

func (r *podREST) NewList() runtime.Object {
	list, _ := legacyscheme.Scheme.New(r.memoryVersion.WithKind("PodList"))
	return list
}

func (r *podREST) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	info, ok := genericrequest.RequestInfoFrom(ctx)
	if !ok {
		return nil, errors.New("missing RequestInfo")
	}
	object := r.New()
	if err := r.storage.get(ctx, clusterOf(ctx), info.Namespace, name, object); err != nil {
		return nil, storeerr.InterpretGetError(err, pods.GroupResource(), name)
	}
	return object, nil
}

func (r *podREST) List(ctx context.Context, _ *metainternalversion.ListOptions) (runtime.Object, error) {
	info, ok := genericrequest.RequestInfoFrom(ctx)
	if !ok {
		return nil, errors.New("missing RequestInfo")
	}
	options, err := parseListOptions(queryOf(ctx))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if info.Namespace != "" {
		options.namespaces = []string{info.Namespace}
	}
	if cluster := clusterOf(ctx); cluster != "" {
		options.clusters = []string{cluster}
	}
	list := r.NewList()
	if err := r.storage.list(ctx, list, options); err != nil {
		return nil, storeerr.InterpretListError(err, pods.GroupResource())
	}
	return list, nil
}

func (r *podREST) ConvertToTable(context.Context, runtime.Object, runtime.Object) (*metav1.Table, error) {
	return nil, errors.New("no tables here")
}
