// What hangs below /apis/clusterpedia.io/v1beta1/resources: the rest of the path is given to the inner server, and a cluster in it goes into the context.
// Follows pkg/apiserver/registry/clusterpedia/resources/rest.go, pkg/utils/filters and pkg/utils/request. Easy to get wrong: the question's parameters
// are kept before the chain, because the generic list handler knows neither `orderby` nor a field selector on any path.
package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
)

type contextKey int

const (
	queryKey contextKey = iota
	clusterKey
	acceptKey
)

func withQuery(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), queryKey, req.URL.Query())))
	})
}

func withAcceptHeader(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		handler.ServeHTTP(w, req.WithContext(context.WithValue(req.Context(), acceptKey, req.Header.Get("Accept"))))
	})
}

func withoutFieldSelector(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		query := req.URL.Query()
		if query.Get("fieldSelector") != "" {
			query.Del("fieldSelector")
			req.URL.RawQuery = query.Encode()
		}
		handler.ServeHTTP(w, req)
	})
}

func queryOf(ctx context.Context) url.Values {
	query, _ := ctx.Value(queryKey).(url.Values)
	return query
}

func clusterOf(ctx context.Context) string {
	cluster, _ := ctx.Value(clusterKey).(string)
	return cluster
}

// connectREST is the storage of `resources`.
type connectREST struct {
	inner http.Handler
}

var _ rest.Connecter = &connectREST{}
var _ rest.Scoper = &connectREST{}
var _ rest.SingularNameProvider = &connectREST{}

func (r *connectREST) New() runtime.Object      { return &Resources{} }
func (r *connectREST) Destroy()                 {}
func (r *connectREST) NamespaceScoped() bool    { return false }
func (r *connectREST) GetSingularName() string  { return "resources" }
func (r *connectREST) ConnectMethods() []string { return []string{http.MethodGet} }

func (r *connectREST) NewConnectOptions() (runtime.Object, bool, string) { return nil, true, "" }

func (r *connectREST) Connect(ctx context.Context, prefix string, _ runtime.Object, responder rest.Responder) (http.Handler, error) {
	info, ok := genericrequest.RequestInfoFrom(ctx)
	if !ok {
		return nil, errors.New("missing RequestInfo")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		req = req.Clone(req.Context())
		parts := []string{info.APIPrefix, info.APIGroup, info.APIVersion, info.Resource}
		if prefix == "clusters" {
			if len(info.Parts) < 4 {
				responder.Error(apierrors.NewNotFound(schema.GroupResource{}, ""))
				return
			}
			parts = append(parts, "clusters", info.Parts[2])
			req = req.WithContext(context.WithValue(ctx, clusterKey, info.Parts[2]))
		}
		http.StripPrefix("/"+path.Join(parts...), r.inner).ServeHTTP(w, req)
	}), nil
}
