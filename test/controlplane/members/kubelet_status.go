package main

import (
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// status is what the API should say of the pod now; conditions of others (readiness gates) are kept.
func (r *podRunner) status(pod *v1.Pod) v1.PodStatus {
	initialized := true
	var initStatuses []v1.ContainerStatus
	for i := range pod.Spec.InitContainers {
		spec := &pod.Spec.InitContainers[i]
		c := r.container(spec.Name)
		initStatuses = append(initStatuses, c.status(spec.Name, spec.Image))
		if !sidecar(spec) && (c == nil || !c.succeeded()) {
			initialized = false
		}
	}
	statuses, allReady := r.statuses(len(pod.Spec.Containers), func(i int) (string, string) {
		return pod.Spec.Containers[i].Name, pod.Spec.Containers[i].Image
	})
	ephemeral, _ := r.statuses(len(pod.Spec.EphemeralContainers), func(i int) (string, string) {
		return pod.Spec.EphemeralContainers[i].Name, pod.Spec.EphemeralContainers[i].Image
	})
	for i := range ephemeral {
		ephemeral[i].Ready = false
	}
	phase := r.phase(pod, initialized, initStatuses, statuses)
	ended := phase == v1.PodSucceeded || phase == v1.PodFailed
	gates := allReady && gatesOpen(pod)
	started := pod.Status.StartTime
	if started == nil {
		started = ptr.To(metav1.NewTime(r.started().Time))
	}
	return v1.PodStatus{
		ObservedGeneration: pod.Generation,
		Phase:              phase,
		HostIP:             r.kubelet.nodeIP,
		HostIPs:            []v1.HostIP{{IP: r.kubelet.nodeIP}},
		PodIP:              r.ip,
		PodIPs:             []v1.PodIP{{IP: r.ip}},
		StartTime:          started,
		Conditions: conditions(pod, []v1.PodCondition{
			{Type: v1.PodReadyToStartContainers, Status: truth(!ended)},
			reasoned(v1.PodInitialized, initialized, "ContainersNotInitialized", ended && initialized),
			reasoned(v1.PodReady, gates, "ContainersNotReady", ended),
			reasoned(v1.ContainersReady, allReady, "ContainersNotReady", ended),
			{Type: v1.PodScheduled, Status: v1.ConditionTrue},
		}),
		InitContainerStatuses:      initStatuses,
		ContainerStatuses:          statuses,
		EphemeralContainerStatuses: ephemeral,
		QOSClass:                   pod.Status.QOSClass,
	}
}

func (r *podRunner) started() metav1.Time {
	first := metav1.Now()
	for _, c := range r.all() {
		c.mu.Lock()
		if !c.started.IsZero() && c.started.Before(&first) {
			first = c.started
		}
		c.mu.Unlock()
	}
	return first
}

func (r *podRunner) statuses(count int, spec func(int) (string, string)) ([]v1.ContainerStatus, bool) {
	var list []v1.ContainerStatus
	ready := true
	for i := range count {
		name, image := spec(i)
		status := r.container(name).status(name, image)
		list = append(list, status)
		ready = ready && status.Ready
	}
	return list, ready
}

// status of one container; nil is a container that was not made yet.
func (c *container) status(name, image string) v1.ContainerStatus {
	status := v1.ContainerStatus{Name: name, Image: image, Started: ptr.To(false)}
	if c == nil {
		status.State.Waiting = &v1.ContainerStateWaiting{Reason: "PodInitializing"}
		return status
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	status.RestartCount, status.ContainerID, status.ImageID = c.restarts, c.id, "standin://"+image
	switch {
	case c.running:
		status.Ready, status.Started = true, ptr.To(true)
		status.State.Running = &v1.ContainerStateRunning{StartedAt: c.started}
		if c.last != nil {
			status.LastTerminationState.Terminated = c.last
		}
	case !c.notBefore.IsZero():
		status.State.Waiting = &v1.ContainerStateWaiting{
			Reason: "CrashLoopBackOff", Message: "back-off restarting failed container=" + name,
		}
		status.LastTerminationState.Terminated = c.last
	default:
		status.State.Terminated = c.last
	}
	return status
}

func (r *podRunner) phase(pod *v1.Pod, initialized bool, inits, statuses []v1.ContainerStatus) v1.PodPhase {
	if !initialized {
		for _, status := range inits {
			failed := status.State.Terminated != nil && status.State.Terminated.ExitCode != 0
			if failed && pod.Spec.RestartPolicy == v1.RestartPolicyNever {
				return v1.PodFailed
			}
		}
		return v1.PodPending
	}
	phase := v1.PodSucceeded
	for _, status := range statuses {
		switch {
		case status.State.Terminated == nil:
			return v1.PodRunning
		case pod.Spec.RestartPolicy == v1.RestartPolicyAlways && pod.DeletionTimestamp == nil:
			return v1.PodRunning
		case status.State.Terminated.ExitCode != 0:
			phase = v1.PodFailed
		}
	}
	return phase
}

func gatesOpen(pod *v1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		open := false
		for _, condition := range pod.Status.Conditions {
			open = open || condition.Type == gate.ConditionType && condition.Status == v1.ConditionTrue
		}
		if !open {
			return false
		}
	}
	return true
}

func truth(value bool) v1.ConditionStatus {
	if value {
		return v1.ConditionTrue
	}
	return v1.ConditionFalse
}

func reasoned(kind v1.PodConditionType, value bool, reason string, completed bool) v1.PodCondition {
	condition := v1.PodCondition{Type: kind, Status: truth(value)}
	switch {
	case completed:
		condition.Reason = "PodCompleted"
	case !value:
		condition.Reason = reason
	}
	return condition
}

// conditions keeps the times of those that did not change and the conditions that others wrote.
func conditions(pod *v1.Pod, ours []v1.PodCondition) []v1.PodCondition {
	list := make([]v1.PodCondition, 0, len(ours))
	known := map[v1.PodConditionType]bool{}
	for _, condition := range ours {
		known[condition.Type] = true
		condition.LastTransitionTime = metav1.Now()
		condition.ObservedGeneration = pod.Generation
		for _, old := range pod.Status.Conditions {
			if old.Type == condition.Type && old.Status == condition.Status {
				condition.LastTransitionTime = old.LastTransitionTime
			}
		}
		list = append(list, condition)
	}
	for _, old := range pod.Status.Conditions {
		if !known[old.Type] {
			list = append(list, old)
		}
	}
	return list
}
