package main

import (
	"context"
	"encoding/json"
	"log"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	firstRestartDelay   = time.Second
	longestRestartDelay = 10 * time.Second
)

// podRunner carries one pod from binding to deletion. One goroutine reconciles; everything else pokes it.
type podRunner struct {
	kubelet *kubelet
	ip      string
	dir     string
	poked   chan struct{}
	ended   chan struct{}
	endOnce sync.Once

	mu         sync.Mutex
	pod        *v1.Pod
	containers map[string]*container
	ports      map[int32]*portServer
	published  string
}

func newPodRunner(k *kubelet, pod *v1.Pod, ip string) *podRunner {
	return &podRunner{
		kubelet:    k,
		ip:         ip,
		dir:        filepath.Join(k.rootDir, string(pod.UID)),
		poked:      make(chan struct{}, 1),
		ended:      make(chan struct{}),
		pod:        pod,
		containers: map[string]*container{},
		ports:      map[int32]*portServer{},
	}
}

func (r *podRunner) latest() *v1.Pod {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pod
}

func (r *podRunner) update(pod *v1.Pod) {
	r.mu.Lock()
	r.pod = pod
	r.mu.Unlock()
	r.poke()
}

func (r *podRunner) poke() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
}

func (r *podRunner) pokeAfter(delay time.Duration) { time.AfterFunc(delay, r.poke) }

// end kills everything at once: the pod is gone from the API, or we stop.
func (r *podRunner) end() {
	r.endOnce.Do(func() { close(r.ended) })
	for _, c := range r.all() {
		c.signal(syscall.SIGKILL, true)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, port := range r.ports {
		port.close()
	}
}

func (r *podRunner) all() []*container {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]*container, 0, len(r.containers))
	for _, c := range r.containers {
		list = append(list, c)
	}
	return list
}

func (r *podRunner) container(name string) *container {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.containers[name]
}

func (r *podRunner) run() {
	defer os.RemoveAll(r.dir)
	pod := r.latest()
	if phase := pod.Status.Phase; phase == v1.PodSucceeded || phase == v1.PodFailed {
		<-r.ended
		return
	}
	r.openPorts(pod)
	for {
		select {
		case <-r.ended:
			return
		case <-r.poked:
		}
		pod := r.latest()
		if pod.DeletionTimestamp != nil {
			r.terminate(pod)
			return
		}
		r.reconcile(pod)
		r.publish(pod)
	}
}

// reconcile starts what should run: init containers one after the other, then the others, and ephemeral ones whenever they come.
func (r *podRunner) reconcile(pod *v1.Pod) {
	if r.initialized(pod) {
		for i := range pod.Spec.Containers {
			spec := v1.EphemeralContainerCommon(commonOf(&pod.Spec.Containers[i]))
			r.keep(pod, &spec, pod.Spec.RestartPolicy)
		}
	}
	for i := range pod.Spec.EphemeralContainers {
		r.keep(pod, &pod.Spec.EphemeralContainers[i].EphemeralContainerCommon, v1.RestartPolicyNever)
	}
}

// initialized moves the init containers on and says whether they are through (a sidecar is through once it runs).
func (r *podRunner) initialized(pod *v1.Pod) bool {
	policy := pod.Spec.RestartPolicy
	if policy == v1.RestartPolicyAlways {
		policy = v1.RestartPolicyOnFailure
	}
	for i := range pod.Spec.InitContainers {
		spec := commonOf(&pod.Spec.InitContainers[i])
		if sidecar(&pod.Spec.InitContainers[i]) {
			r.keep(pod, &spec, v1.RestartPolicyAlways)
			continue
		}
		c := r.keep(pod, &spec, policy)
		if c == nil || !c.succeeded() {
			return false
		}
	}
	return true
}

func sidecar(spec *v1.Container) bool {
	return spec.RestartPolicy != nil && *spec.RestartPolicy == v1.ContainerRestartPolicyAlways
}

// commonOf is a container in the shape that all three kinds share.
func commonOf(c *v1.Container) v1.EphemeralContainerCommon { return v1.EphemeralContainerCommon(*c) }

// keep makes the container if need be and starts it again where the policy says so.
func (r *podRunner) keep(pod *v1.Pod, spec *v1.EphemeralContainerCommon, policy v1.RestartPolicy) *container {
	c := r.container(spec.Name)
	if c == nil {
		var err error
		if c, err = newContainer(r, pod, spec); err != nil {
			log.Printf("%s/%s %s: %v", pod.Namespace, pod.Name, spec.Name, err)
			r.pokeAfter(firstRestartDelay)
			return nil
		}
		r.mu.Lock()
		r.containers[spec.Name] = c
		r.mu.Unlock()
		c.start()
		return c
	}
	c.mu.Lock()
	ended, code, due := !c.running, int32(0), c.notBefore
	if c.last != nil {
		code = c.last.ExitCode
	}
	wanted := ended && (policy == v1.RestartPolicyAlways || policy == v1.RestartPolicyOnFailure && code != 0)
	now := time.Now()
	again := wanted && !due.IsZero() && !now.Before(due)
	switch {
	case wanted && due.IsZero():
		delay := min(firstRestartDelay<<min(c.restarts, 8), longestRestartDelay)
		c.notBefore = now.Add(delay)
		r.pokeAfter(delay)
	case again:
		c.restarts++
		c.notBefore = time.Time{}
	}
	c.mu.Unlock()
	if again {
		c.start()
	}
	return c
}

func (c *container) succeeded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.running && c.last != nil && c.last.ExitCode == 0
}

// terminate is a graceful deletion: SIGTERM, the pod's grace, SIGKILL, a last status, and the object goes.
func (r *podRunner) terminate(pod *v1.Pod) {
	grace := time.Duration(ptr.Deref(pod.DeletionGracePeriodSeconds, 0)) * time.Second
	deadline := time.After(grace)
	for _, c := range r.all() {
		c.signal(syscall.SIGTERM, true)
	}
	for _, c := range r.all() {
		c.mu.Lock()
		done := c.done
		c.mu.Unlock()
		select {
		case <-done:
			continue
		case <-r.ended:
		case <-deadline:
		}
		c.signal(syscall.SIGKILL, true)
		<-done
	}
	r.publish(pod)
	r.end()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), heartbeatPeriod)
		err := r.kubelet.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: ptr.To[int64](0),
			Preconditions:      metav1.NewUIDPreconditions(string(pod.UID)),
		})
		cancel()
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		log.Printf("delete %s/%s: %v", pod.Namespace, pod.Name, err)
		time.Sleep(retryPeriod)
	}
}

// publish writes the pod's status when it changed; the UID in the patch keeps it off a successor of the same name.
func (r *podRunner) publish(pod *v1.Pod) {
	status := r.status(pod)
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": pod.UID}, "status": status})
	if err != nil || string(body) == r.published {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), heartbeatPeriod)
	defer cancel()
	pods := r.kubelet.client.CoreV1().Pods(pod.Namespace)
	_, err = pods.Patch(ctx, pod.Name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	switch {
	case err == nil:
		r.published = string(body)
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err):
	default:
		log.Printf("status of %s/%s: %v", pod.Namespace, pod.Name, err)
		r.pokeAfter(retryPeriod)
	}
}
