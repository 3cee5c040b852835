package main

import (
	"context"
	"log"
	"runtime"
	"time"

	coordination "k8s.io/api/coordination/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/component-base/version"
	"k8s.io/utils/ptr"
)

type (
	runtimeObject  = apiruntime.Object
	watchInterface = watch.Interface
)

const (
	heartbeatPeriod = 10 * time.Second
	retryPeriod     = 500 * time.Millisecond
	leaseSeconds    = 40
)

// keepNode registers the Node and renews its status and lease; kube-apiserver may be away for any time.
func (k *kubelet) keepNode(ctx context.Context) {
	for {
		wait := heartbeatPeriod
		if err := k.heartbeat(ctx); err != nil && ctx.Err() == nil {
			wait = retryPeriod
			if !apierrors.IsConflict(err) { // a controller wrote to the Node at the same time
				log.Printf("heartbeat: %v", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (k *kubelet) heartbeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, heartbeatPeriod)
	defer cancel()
	nodes := k.client.CoreV1().Nodes()
	node, err := nodes.Get(ctx, k.nodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		node, err = nodes.Create(ctx, k.newNode(), metav1.CreateOptions{})
	}
	if err != nil {
		return err
	}
	node.Status = k.nodeStatus(node.Status)
	if _, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
		return err
	}
	return k.renewLease(ctx, node)
}

func (k *kubelet) newNode() *v1.Node {
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: k.nodeName,
		Labels: map[string]string{
			v1.LabelHostname:          k.nodeName,
			v1.LabelArchStable:        runtime.GOARCH,
			v1.LabelOSStable:          "linux",
			"portcullis.test/kubelet": "true",
		},
	}}
	if k.tainted {
		node.Spec.Taints = []v1.Taint{{Key: "portcullis.test/kubelet", Value: "true", Effect: v1.TaintEffectNoSchedule}}
	}
	return node
}

func (k *kubelet) nodeStatus(old v1.NodeStatus) v1.NodeStatus {
	now := metav1.Now()
	condition := func(kind v1.NodeConditionType, status v1.ConditionStatus, reason, message string) v1.NodeCondition {
		since := now
		for _, each := range old.Conditions {
			if each.Type == kind && each.Status == status {
				since = each.LastTransitionTime
			}
		}
		return v1.NodeCondition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastHeartbeatTime: now, LastTransitionTime: since,
		}
	}
	resources := v1.ResourceList{
		v1.ResourceCPU:              resource.MustParse("64"),
		v1.ResourceMemory:           resource.MustParse("256Gi"),
		v1.ResourcePods:             resource.MustParse("1000"),
		v1.ResourceEphemeralStorage: resource.MustParse("1Ti"),
	}
	status := *old.DeepCopy()
	status.Capacity, status.Allocatable = resources, resources
	status.Conditions = []v1.NodeCondition{
		condition(v1.NodeMemoryPressure, v1.ConditionFalse, "KubeletHasSufficientMemory", "stand-in has enough memory"),
		condition(v1.NodeDiskPressure, v1.ConditionFalse, "KubeletHasNoDiskPressure", "stand-in has enough disk"),
		condition(v1.NodePIDPressure, v1.ConditionFalse, "KubeletHasSufficientPID", "stand-in has enough PIDs"),
		condition(v1.NodeReady, v1.ConditionTrue, "KubeletReady", "kubelet stand-in is posting ready status"),
	}
	status.Addresses = []v1.NodeAddress{
		{Type: v1.NodeInternalIP, Address: k.nodeIP},
		{Type: v1.NodeHostName, Address: k.nodeName},
	}
	status.DaemonEndpoints.KubeletEndpoint.Port = int32(k.port)
	kubeletVersion := version.Get().GitVersion
	status.NodeInfo = v1.NodeSystemInfo{
		Architecture:            runtime.GOARCH,
		OperatingSystem:         "linux",
		OSImage:                 "local processes",
		KernelVersion:           "stand-in",
		ContainerRuntimeVersion: "standin://1",
		KubeletVersion:          kubeletVersion,
	}
	return status
}

func (k *kubelet) renewLease(ctx context.Context, node *v1.Node) error {
	leases := k.client.CoordinationV1().Leases(v1.NamespaceNodeLease)
	now := metav1.NowMicro()
	lease, err := leases.Get(ctx, k.nodeName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		_, err = leases.Create(ctx, &coordination.Lease{
			ObjectMeta: metav1.ObjectMeta{
				Name: k.nodeName,
				OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID},
				},
			},
			Spec: coordination.LeaseSpec{
				HolderIdentity:       ptr.To(k.nodeName),
				LeaseDurationSeconds: ptr.To[int32](leaseSeconds),
				RenewTime:            &now,
			},
		}, metav1.CreateOptions{})
		return err
	}
	if err != nil {
		return err
	}
	lease.Spec.RenewTime = &now
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}
