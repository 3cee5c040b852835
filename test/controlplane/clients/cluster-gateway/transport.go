package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
)

// clusterKey is where a context carries the name of a cluster.
type clusterKey struct{}

// inCluster makes requests of this context go to the cluster.
func inCluster(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, clusterKey{}, name)
}

// proxyTransport does what the three wrappers of cluster-gateway's client library do with a request: only its path is rewritten, before
// it is sent with the transport of the hub.
type proxyTransport struct {
	next http.RoundTripper
	// cluster is where all requests go; empty: where their context says
	cluster string
	// strict refuses a request without a cluster instead of sending it to the hub
	strict bool
}

func (t proxyTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	name := t.cluster
	if name == "" {
		name, _ = request.Context().Value(clusterKey{}).(string)
	}
	switch {
	case name != "":
		// In place and only Path, as the library does it: net/http then ignores a RawPath that no longer fits.
		request.URL.Path = "/apis/" + groupVersion.String() + "/clustergateways/" + name + "/proxy/" +
			strings.TrimPrefix(request.URL.Path, "/")
	case t.strict:
		return nil, errors.New("no cluster in the context")
	}
	return t.next.RoundTrip(request)
}

// byContext sends requests whose context names a cluster there, and all others to the hub.
func byContext(next http.RoundTripper) http.RoundTripper { return proxyTransport{next: next} }

// byContextOnly refuses requests whose context names no cluster.
func byContextOnly(next http.RoundTripper) http.RoundTripper {
	return proxyTransport{next: next, strict: true}
}

// to sends every request to one cluster.
func to(name string) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return proxyTransport{next: next, cluster: name} }
}
