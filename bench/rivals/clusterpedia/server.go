// The outer API server, which answers /apis/clusterpedia.io: as cmd/apiserver/app/options/options.go and pkg/apiserver/apiserver.go set it up. Easy to get
// wrong: its handler chain is the generic default with two filters around it, with priority and fairness and the limit of requests in flight off.
package main

import (
	"net"
	"net/http"
	"strings"

	"gorm.io/gorm"
	metainternal "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericrequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

var groupVersion = schema.GroupVersion{Group: "clusterpedia.io", Version: "v1beta1"}

func newServer(listener net.Listener, cert, key, tokens string, db *gorm.DB, clusters []string) (*genericapiserver.GenericAPIServer, error) {
	scheme := newScheme()
	codecs := serializer.NewCodecFactory(scheme)
	config := genericapiserver.NewRecommendedConfig(codecs)
	config.EffectiveVersion = compatibility.DefaultBuildEffectiveVersion()
	// Only what the API group needs to be installed; nothing of it is served.
	config.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openAPIDefinitions, openapinamer.NewDefinitionNamer(scheme))
	config.SkipOpenAPIInstallation = true
	config.LongRunningFunc = func(r *http.Request, _ *genericrequest.RequestInfo) bool {
		return strings.Contains(r.RequestURI, "watch")
	}
	config.MaxRequestsInFlight = 0
	config.MaxMutatingRequestsInFlight = 0

	serving := genericoptions.NewSecureServingOptions()
	serving.HTTP2MaxStreamsPerConnection = 1000
	serving.Listener = listener
	serving.ServerCert.CertKey = genericoptions.CertKey{CertFile: cert, KeyFile: key}
	if err := serving.WithLoopback().ApplyTo(&config.SecureServing, &config.LoopbackClientConfig); err != nil {
		return nil, err
	}
	config.ExternalAddress = listener.Addr().String()

	users, err := tokenfile.NewCSV(tokens)
	if err != nil {
		return nil, err
	}
	config.Authentication.Authenticator = group.NewAuthenticatedGroupAdder(bearertoken.New(users))
	// The delegated authorizer, too, lets this group through before it asks anybody.
	config.Authorization.Authorizer = authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)

	inner, err := newInnerServer(config, db, clusters)
	if err != nil {
		return nil, err
	}
	chain := config.BuildHandlerChainFunc
	config.BuildHandlerChainFunc = func(handler http.Handler, c *genericapiserver.Config) http.Handler {
		return withAcceptHeader(withQuery(chain(handler, c)))
	}
	server, err := config.Complete().New("clusterpedia", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, err
	}
	apiGroup := genericapiserver.NewDefaultAPIGroupInfo(groupVersion.Group, scheme, runtime.NewParameterCodec(scheme), codecs)
	apiGroup.VersionedResourcesStorageMap[groupVersion.Version] = map[string]rest.Storage{"resources": &connectREST{inner: inner.Handler}}
	return server, server.InstallAPIGroup(&apiGroup)
}

func newScheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(groupVersion, &Resources{})
	scheme.AddKnownTypes(schema.GroupVersion{Group: groupVersion.Group, Version: runtime.APIVersionInternal}, &Resources{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	addMeta(scheme)
	return scheme
}

// addMeta adds what a generic API server answers with beside its own types.
func addMeta(scheme *runtime.Scheme) {
	unversioned := schema.GroupVersion{Version: "v1"}
	metav1.AddToGroupVersion(scheme, unversioned)
	_ = metainternal.AddToScheme(scheme)
	scheme.AddUnversionedTypes(unversioned,
		&metav1.Status{}, &metav1.APIVersions{}, &metav1.APIGroupList{}, &metav1.APIGroup{}, &metav1.APIResourceList{})
}

// Resources is the kind of the path everything is asked below.
type Resources struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
}

// OpenAPIModelName implements util.OpenAPIModelNamer.
func (Resources) OpenAPIModelName() string { return "io.clusterpedia.v1beta1.Resources" }

// DeepCopyObject implements runtime.Object.
func (r *Resources) DeepCopyObject() runtime.Object {
	out := &Resources{TypeMeta: r.TypeMeta}
	r.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return out
}

func openAPIDefinitions(common.ReferenceCallback) map[string]common.OpenAPIDefinition {
	object := spec.Schema{SchemaProps: spec.SchemaProps{Type: []string{"object"}}}
	return map[string]common.OpenAPIDefinition{Resources{}.OpenAPIModelName(): {Schema: object}}
}
