package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	criapi "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/cri-client/pkg/logs"
	"k8s.io/cri-streaming/pkg/streaming/portforward"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/utils/ptr"
)

const (
	streamIdleTimeout     = 4 * time.Hour
	streamCreationTimeout = 30 * time.Second
)

// handler is the part of the kubelet's API that kube-apiserver calls. The optional uid in a path is not needed to find a pod.
func (k *kubelet) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	mux.HandleFunc("GET /pods", k.servePods)
	mux.HandleFunc("GET /runningpods/", k.servePods)
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", k.serveLogs)
	for path, handler := range map[string]http.HandlerFunc{
		"/exec/{namespace}/{pod}/{container}":         k.serveExec,
		"/exec/{namespace}/{pod}/{uid}/{container}":   k.serveExec,
		"/attach/{namespace}/{pod}/{container}":       k.serveAttach,
		"/attach/{namespace}/{pod}/{uid}/{container}": k.serveAttach,
		"/portForward/{namespace}/{pod}":              k.servePortForward,
		"/portForward/{namespace}/{pod}/{uid}":        k.servePortForward,
	} {
		mux.HandleFunc("GET "+path, handler)
		mux.HandleFunc("POST "+path, handler)
	}
	return mux
}

func (k *kubelet) servePods(w http.ResponseWriter, _ *http.Request) {
	list := v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
	k.mu.Lock()
	for _, runner := range k.pods {
		list.Items = append(list.Items, *runner.latest())
	}
	k.mu.Unlock()
	body, err := json.Marshal(&list)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body)
}

// locate finds the pod and container of a request, or answers as the kubelet does.
func (k *kubelet) locate(w http.ResponseWriter, r *http.Request) (*podRunner, *container) {
	namespace, name, containerName := r.PathValue("namespace"), r.PathValue("pod"), r.PathValue("container")
	runner := k.find(namespace, name)
	if runner == nil {
		http.Error(w, fmt.Sprintf("pod %q does not exist", name), http.StatusNotFound)
		return nil, nil
	}
	c := runner.container(containerName)
	if c != nil || containerName == "" {
		return runner, c
	}
	for _, declared := range declaredContainers(runner.latest()) {
		if declared == containerName {
			text := fmt.Sprintf("container %q in pod %q is waiting to start: PodInitializing", containerName, name)
			http.Error(w, text, http.StatusBadRequest)
			return nil, nil
		}
	}
	http.Error(w, fmt.Sprintf("container %q not found in pod %q", containerName, name), http.StatusNotFound)
	return nil, nil
}

func declaredContainers(pod *v1.Pod) []string {
	var names []string
	for _, c := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		names = append(names, c.Name)
	}
	for _, c := range pod.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	return names
}

func (k *kubelet) serveExec(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, c := k.locate(w, r); c != nil {
		remotecommand.ServeExec(
			w, r, streams{c}, "", "", c.name, r.URL.Query()["command"], options,
			streamIdleTimeout, streamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

func (k *kubelet) serveAttach(w http.ResponseWriter, r *http.Request) {
	options, err := remotecommand.NewOptions(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if _, c := k.locate(w, r); c != nil {
		remotecommand.ServeAttach(
			w, r, streams{c}, "", "", c.name, options,
			streamIdleTimeout, streamCreationTimeout, remotecommand.SupportedStreamingProtocols)
	}
}

// streams adapts a container to the streaming server's interfaces.
type streams struct{ container *container }

func (s streams) ExecInContainer(
	ctx context.Context, _, _, _ string, cmd []string, in io.Reader, out, errOut io.WriteCloser, tty bool,
	resize <-chan remotecommand.TerminalSize, _ time.Duration,
) error {
	if len(cmd) == 0 {
		return errors.New("no command to execute")
	}
	return s.container.exec(ctx, cmd, in, out, errOut, tty, resize)
}

func (s streams) AttachContainer(
	ctx context.Context, _, _, _ string, in io.Reader, out, errOut io.WriteCloser, _ bool,
	resize <-chan remotecommand.TerminalSize,
) error {
	return s.container.attach(ctx, in, out, errOut, resize)
}

func (k *kubelet) servePortForward(w http.ResponseWriter, r *http.Request) {
	options, err := portforward.NewV4Options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	runner, _ := k.locate(w, r)
	if runner == nil {
		return
	}
	pod := runner.latest()
	if uid := r.PathValue("uid"); uid != "" && types.UID(uid) != pod.UID {
		http.Error(w, "pod not found", http.StatusNotFound)
		return
	}
	portforward.ServePortForward(
		w, r, forwards{runner}, pod.Name, string(pod.UID), options,
		streamIdleTimeout, streamCreationTimeout, portforward.SupportedProtocols)
}

type forwards struct{ runner *podRunner }

func (f forwards) PortForward(_ context.Context, _, _ string, port int32, stream io.ReadWriteCloser) error {
	return f.runner.forward(port, stream)
}

// serveLogs reads the CRI log file with the code that kubelet itself uses.
func (k *kubelet) serveLogs(w http.ResponseWriter, r *http.Request) {
	options := &v1.PodLogOptions{}
	if err := legacyscheme.ParameterCodec.DecodeParameters(r.URL.Query(), v1.SchemeGroupVersion, options); err != nil {
		http.Error(w, `{"message": "Unable to decode query."}`, http.StatusBadRequest)
		return
	}
	options.TypeMeta = metav1.TypeMeta{}
	// kube-apiserver has validated the options; only it may call us.
	runner, c := k.locate(w, r)
	if c == nil {
		return
	}
	c.mu.Lock()
	restart, id := c.restarts, c.id
	c.mu.Unlock()
	if options.Previous {
		if restart == 0 {
			pod := runner.latest().Name
			text := fmt.Sprintf("previous terminated container %q in pod %q not found", c.name, pod)
			http.Error(w, text, http.StatusBadRequest)
			return
		}
		restart--
	}
	var stdout, stderr io.Writer
	out := flushed{w, http.NewResponseController(w)}
	switch ptr.Deref(options.Stream, v1.LogStreamAll) {
	case v1.LogStreamStdout:
		stdout = out
	case v1.LogStreamStderr:
		stderr = out
	default:
		stdout, stderr = out, out
	}
	// As with the real kubelet no header goes out before the first line does.
	w.Header().Set("Transfer-Encoding", "chunked")
	query := runningQuery{container: c, id: id}
	err := logs.ReadLogs(r.Context(), c.logPath(restart), id, logOptions(options), query, stdout, stderr)
	if err != nil && !errors.Is(err, os.ErrNotExist) && !strings.Contains(err.Error(), "context cancelled") {
		log.Printf("logs of %s: %v", c.name, err)
	}
}

func logOptions(options *v1.PodLogOptions) *logs.LogOptions {
	converted := &logs.LogOptions{
		TailLines:  options.TailLines,
		LimitBytes: options.LimitBytes,
		Follow:     options.Follow,
		Timestamp:  options.Timestamps,
	}
	switch {
	case options.SinceSeconds != nil:
		converted.Since = time.Now().Add(-time.Duration(*options.SinceSeconds) * time.Second)
	case options.SinceTime != nil:
		converted.Since = options.SinceTime.Time
	}
	return converted
}

type flushed struct {
	writer  io.Writer
	control *http.ResponseController
}

func (f flushed) Write(data []byte) (int, error) {
	n, err := f.writer.Write(data)
	if err == nil {
		err = f.control.Flush()
	}
	return n, err
}

// runningQuery answers the one question that a follower has: does this life of the container still run?
type runningQuery struct {
	criapi.RuntimeService
	container *container
	id        string
}

func (q runningQuery) ContainerStatus(_ context.Context, _ string, _ bool) (*runtimeapi.ContainerStatusResponse, error) {
	q.container.mu.Lock()
	defer q.container.mu.Unlock()
	state := runtimeapi.ContainerState_CONTAINER_EXITED
	if q.container.running && q.container.id == q.id {
		state = runtimeapi.ContainerState_CONTAINER_RUNNING
	}
	return &runtimeapi.ContainerStatusResponse{Status: &runtimeapi.ContainerStatus{State: state}}, nil
}
