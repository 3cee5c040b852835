package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// groupVersion is the API of cluster-gateway.
var groupVersion = schema.GroupVersion{Group: "cluster.core.oam.dev", Version: "v1alpha1"}

// ClusterGateway has the fields that cluster-gateway's clients decode into and send back, as its API documents them. A field of another
// type on the wire (a string for `healthy`) fails to decode, as it does for them.
type ClusterGateway struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   Spec   `json:"spec,omitempty"`
	Status Status `json:"status,omitempty"`
}

// Spec says how the cluster is reached.
type Spec struct {
	Provider string `json:"provider"`
	Access   Access `json:"access"`
}

// Access is address and credential.
type Access struct {
	Endpoint   *Endpoint   `json:"endpoint,omitempty"`
	Credential *Credential `json:"credential,omitempty"`
}

// Endpoint is of type Const or ClusterProxy.
type Endpoint struct {
	Type  string         `json:"type"`
	Const *ConstEndpoint `json:"const,omitempty"`
}

// ConstEndpoint is an address.
type ConstEndpoint struct {
	Address  string  `json:"address"`
	CABundle []byte  `json:"caBundle,omitempty"`
	Insecure *bool   `json:"insecure,omitempty"`
	ProxyURL *string `json:"proxy-url,omitempty"`
}

// Credential holds the secret part, which a gateway may leave out.
type Credential struct {
	Type                string       `json:"type"`
	ServiceAccountToken string       `json:"serviceAccountToken,omitempty"`
	X509                *Certificate `json:"x509,omitempty"`
}

// Certificate is a pair in PEM.
type Certificate struct {
	Certificate []byte `json:"certificate"`
	PrivateKey  []byte `json:"privateKey"`
}

// Status is what health shows and sets.
type Status struct {
	Healthy       bool   `json:"healthy"`
	HealthyReason string `json:"healthyReason,omitempty"`
}

// ClusterGatewayList is a list of them.
type ClusterGatewayList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ClusterGateway `json:"items"`
}

// DeepCopyObject copies what is written to: metadata and status. Nobody changes the spec.
func (in *ClusterGateway) DeepCopyObject() runtime.Object {
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject copies the list and its items.
func (in *ClusterGatewayList) DeepCopyObject() runtime.Object {
	out := *in
	in.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]ClusterGateway, len(in.Items))
	for i := range in.Items {
		out.Items[i] = *in.Items[i].DeepCopyObject().(*ClusterGateway)
	}
	return &out
}

func addToScheme(scheme *runtime.Scheme) {
	scheme.AddKnownTypes(groupVersion, &ClusterGateway{}, &ClusterGatewayList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
}
