// The inner API server, with the native paths: pods alone, as that is what the bench asks for. Follows pkg/kubeapiserver/{apiserver,resource_handler,
// restmanager}.go and pkg/runtime/resourceconfig/factory. Easy to get wrong: a built-in kind is not held as unstructured there; it is decoded into
// Kubernetes' internal type, with defaults, and converted back to be encoded (the gate that would save it, NotConvertToMemoryVersion, is off by default).
package main

import (
	"net/http"
	"time"

	"gorm.io/gorm"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapifilters "k8s.io/apiserver/pkg/endpoints/filters"
	"k8s.io/apiserver/pkg/endpoints/handlers"
	"k8s.io/apiserver/pkg/endpoints/handlers/negotiation"
	"k8s.io/apiserver/pkg/endpoints/handlers/responsewriters"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	genericfeatures "k8s.io/apiserver/pkg/features"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	"k8s.io/apiserver/pkg/server/healthz"
	serverstorage "k8s.io/apiserver/pkg/server/storage"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/tracing"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
)

var pods = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

func newInnerServer(outer *genericapiserver.RecommendedConfig, db *gorm.DB, clusters []string) (*genericapiserver.GenericAPIServer, error) {
	scheme := runtime.NewScheme()
	addMeta(scheme)
	codecs := serializer.NewCodecFactory(scheme)
	config := genericapiserver.NewRecommendedConfig(codecs)
	config.EffectiveVersion = outer.EffectiveVersion
	config.ExternalAddress = outer.ExternalAddress
	config.LoopbackClientConfig = outer.LoopbackClientConfig
	config.TracerProvider = outer.TracerProvider
	config.EnableIndex = false
	config.EnableDiscovery = false
	config.EnableProfiling = false
	config.EnableMetrics = false
	config.SkipOpenAPIInstallation = true
	config.BuildHandlerChainFunc = innerChain
	checks := []healthz.HealthChecker{healthz.PingHealthz}
	config.HealthzChecks, config.ReadyzChecks, config.LivezChecks = checks, checks, checks
	config.DisabledPostStartHooks.Insert("max-in-flight-filter")
	server, err := config.Complete().New("clusterpedia-kube-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	codec, memoryVersion, err := podCodec()
	if err != nil {
		return nil, err
	}
	podStorage := &podREST{storage: &storage{db: db, codec: codec}, memoryVersion: memoryVersion}
	handler := &resourceHandler{
		codecs:            codecs,
		clusters:          sets.New(clusters...),
		enabled:           sets.New(pods.String()),
		rest:              podStorage,
		scope:             podScope(podStorage),
		minRequestTimeout: time.Duration(config.MinRequestTimeout) * time.Second,
	}
	server.Handler.NonGoRestfulMux.HandlePrefix("/api/", handler)
	server.Handler.NonGoRestfulMux.HandlePrefix("/apis/", handler)
	return server, nil
}

func innerChain(handler http.Handler, c *genericapiserver.Config) http.Handler {
	handler = genericapifilters.WithRequestInfo(handler, c.RequestInfoResolver)
	handler = genericfilters.WithPanicRecovery(handler, c.RequestInfoResolver)
	handler = withoutFieldSelector(handler)
	if utilfeature.DefaultFeatureGate.Enabled(genericfeatures.APIServerTracing) {
		handler = tracing.WithTracing(handler, c.TracerProvider, "ClusterpediaAPI")
	}
	return handler
}

// podCodec decodes what is stored, v1 as JSON, into the internal version.
func podCodec() (runtime.Codec, schema.GroupVersion, error) {
	encoding := serverstorage.NewDefaultResourceEncodingConfig(legacyscheme.Scheme)
	storageVersion, err := encoding.StorageEncodingFor(pods.GroupResource())
	if err != nil {
		return nil, schema.GroupVersion{}, err
	}
	memoryVersion, err := encoding.InMemoryEncodingFor(pods.GroupResource())
	if err != nil {
		return nil, schema.GroupVersion{}, err
	}
	codec, _, err := serverstorage.NewStorageCodec(serverstorage.StorageCodecConfig{
		StorageMediaType:  runtime.ContentTypeJSON,
		StorageSerializer: legacyscheme.Codecs,
		MemoryVersion:     memoryVersion,
		StorageVersion:    storageVersion,
	})
	return codec, memoryVersion, err
}

func podScope(table rest.TableConvertor) *handlers.RequestScope {
	return &handlers.RequestScope{
		Namer:                    handlers.ContextBasedNaming{Namer: runtime.Namer(meta.NewAccessor())},
		Serializer:               legacyscheme.Codecs,
		ParameterCodec:           legacyscheme.ParameterCodec,
		Creater:                  legacyscheme.Scheme,
		Convertor:                legacyscheme.Scheme,
		Defaulter:                legacyscheme.Scheme,
		Typer:                    legacyscheme.Scheme,
		Resource:                 pods,
		Kind:                     pods.GroupVersion().WithKind("Pod"),
		MetaGroupVersion:         metav1.SchemeGroupVersion,
		EquivalentResourceMapper: runtime.NewEquivalentResourceRegistry(),
		TableConvertor:           table,
	}
}

// resourceHandler answers get and list.
type resourceHandler struct {
	codecs            serializer.CodecFactory
	clusters          sets.Set[string]
	enabled           sets.Set[string]
	rest              *podREST
	scope             *handlers.RequestScope
	minRequestTimeout time.Duration
}

func (h *resourceHandler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	info, ok := genericrequest.RequestInfoFrom(req.Context())
	if !ok || !info.IsResourceRequest {
		http.NotFound(w, req)
		return
	}
	resource := schema.GroupVersionResource{Group: info.APIGroup, Version: info.APIVersion, Resource: info.Resource}
	fail := func(err error) {
		responsewriters.ErrorNegotiated(err, h.codecs, resource.GroupVersion(), w, req)
	}
	cluster := clusterOf(req.Context())
	if cluster != "" && !h.clusters.Has(cluster) {
		fail(apierrors.NewBadRequest("the server could not find the requested cluster"))
		return
	}
	if !h.enabled.Has(resource.String()) {
		http.NotFound(w, req)
		return
	}
	switch info.Verb {
	case "get":
		if cluster == "" {
			fail(apierrors.NewBadRequest("please specify the cluster name"))
			return
		}
		handlers.GetResource(h.rest, h.scope).ServeHTTP(w, req)
	case "list":
		accept := req.Header.Get("Accept")
		if media, ok := negotiation.NegotiateMediaTypeOptions(accept, h.scope.Serializer.SupportedMediaTypes(), h.scope); ok && media.Convert != nil {
			fail(apierrors.NewGenericServerResponse(http.StatusNotAcceptable, "list", pods.GroupResource(), "", "no tables here", 0, true))
			return
		}
		handlers.ListResource(h.rest, nil, h.scope, false, h.minRequestTimeout).ServeHTTP(w, req)
	default:
		fail(apierrors.NewMethodNotSupported(resource.GroupResource(), info.Verb))
	}
}
