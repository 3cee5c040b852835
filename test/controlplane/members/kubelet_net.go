package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
)

const dialTimeout = 5 * time.Second

// portServer stands for a program that listens on a declared containerPort: HTTP for clients that speak it, an echo for all
// others. It listens on an ephemeral loopback port, since many pods declare the same number.
type portServer struct {
	listener net.Listener
	requests *connQueue
	server   *http.Server
}

// openPorts starts a server for every TCP port that the pod's containers declare.
func (r *podRunner) openPorts(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Protocol != "" && port.Protocol != v1.ProtocolTCP || r.ports[port.ContainerPort] != nil {
				continue
			}
			server, err := newPortServer(pod, port.ContainerPort)
			if err != nil {
				log.Print(err)
				continue
			}
			r.ports[port.ContainerPort] = server
		}
	}
}

func newPortServer(pod *v1.Pod, port int32) (*portServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &portServer{
		listener: listener,
		requests: &connQueue{conns: make(chan net.Conn), closed: make(chan struct{}), address: listener.Addr()},
		server:   &http.Server{Handler: echoHandler(pod.Namespace, pod.Name, port)},
	}
	go func() { _ = s.server.Serve(s.requests) }()
	go s.accept()
	return s, nil
}

func (s *portServer) close() {
	_ = s.listener.Close()
	_ = s.server.Close()
}

func (s *portServer) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.dispatch(conn)
	}
}

// dispatch looks at the first bytes: an HTTP method or not.
func (s *portServer) dispatch(conn net.Conn) {
	reader := bufio.NewReader(conn)
	for length := 1; ; length++ {
		start, err := reader.Peek(length)
		if err != nil {
			echo(conn, reader)
			return
		}
		switch text := string(start); {
		case text[length-1] == ' ' && length > 1:
			s.requests.put(peekedConn{conn, reader})
			return
		case text[length-1] < 'A' || text[length-1] > 'Z' || length > len("CONNECT"):
			echo(conn, reader)
			return
		}
	}
}

// echo sends everything back and passes on the client's end of input.
func echo(conn net.Conn, reader io.Reader) {
	defer conn.Close()
	_, _ = io.Copy(conn, reader)
	if half, ok := conn.(*net.TCPConn); ok {
		_ = half.CloseWrite()
	}
}

type peekedConn struct {
	net.Conn
	reader *bufio.Reader
}

func (c peekedConn) Read(data []byte) (int, error) { return c.reader.Read(data) }

// connQueue is a net.Listener fed by hand.
type connQueue struct {
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
	address net.Addr
}

func (q *connQueue) put(conn net.Conn) {
	select {
	case q.conns <- conn:
	case <-q.closed:
		_ = conn.Close()
	}
}

func (q *connQueue) Accept() (net.Conn, error) {
	select {
	case conn := <-q.conns:
		return conn, nil
	case <-q.closed:
		return nil, net.ErrClosed
	}
}

func (q *connQueue) Close() error {
	q.once.Do(func() { close(q.closed) })
	return nil
}

func (q *connQueue) Addr() net.Addr { return q.address }

// echoHandler is what proxies are tried with: what arrived, bodies both ways, redirects, slow and endless answers.
func echoHandler(namespace, pod string, port int32) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%s %s on %s/%s:%d\n", r.Method, r.URL.RequestURI(), namespace, pod, port)
	})
	mux.HandleFunc("/headers", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"method": r.Method, "uri": r.URL.RequestURI(), "host": r.Host, "headers": r.Header,
		})
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_ = http.NewResponseController(w).EnableFullDuplex()
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("/bytes/{count}", func(w http.ResponseWriter, r *http.Request) {
		count, _ := strconv.ParseInt(r.PathValue("count"), 10, 64)
		w.Header().Set("Content-Length", strconv.FormatInt(count, 10))
		_, _ = io.CopyN(w, pattern{}, count)
	})
	mux.HandleFunc("/status/{code}", func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.PathValue("code"))
		if err != nil || code < 200 || code > 599 {
			code = http.StatusBadRequest
		}
		if location := r.URL.Query().Get("location"); location != "" {
			w.Header().Set("Location", location)
		}
		w.WriteHeader(code)
	})
	mux.HandleFunc("/ticks", func(w http.ResponseWriter, r *http.Request) {
		for tick := 0; r.Context().Err() == nil; tick++ {
			_, _ = fmt.Fprintf(w, "tick %d\n", tick)
			_ = http.NewResponseController(w).Flush()
			time.Sleep(100 * time.Millisecond)
		}
	})
	return mux
}

// pattern is an endless stream of the bytes 0 to 255, so that a receiver can check every one of them.
type pattern struct{}

func (pattern) Read(data []byte) (int, error) {
	const cycle = 256
	count := len(data) / cycle * cycle
	if count == 0 {
		count = len(data)
	}
	for i := range count {
		data[i] = byte(i % cycle)
	}
	return count, nil
}

// dialPort reaches a declared port's server, or whatever a container's own process listens on.
func (r *podRunner) dialPort(port int32) (net.Conn, error) {
	r.mu.Lock()
	server := r.ports[port]
	r.mu.Unlock()
	address := fmt.Sprintf("127.0.0.1:%d", port)
	if server != nil {
		address = server.listener.Addr().String()
	}
	return net.DialTimeout("tcp", address, dialTimeout)
}

// forward joins one port-forward stream to a port until both directions have ended.
func (r *podRunner) forward(port int32, stream io.ReadWriteCloser) error {
	conn, err := r.dialPort(port)
	if err != nil {
		pod := r.latest()
		return fmt.Errorf("failed to connect to localhost:%d inside pod %s/%s: %w", port, pod.Namespace, pod.Name, err)
	}
	defer conn.Close()
	defer stream.Close()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = io.Copy(conn, stream)
		_ = conn.(*net.TCPConn).CloseWrite()
	}()
	_, err = io.Copy(stream, conn)
	return err
}

// serveEgress is kube-apiserver's way into the cluster (EgressSelectorConfiguration, HTTPConnect): pod and node addresses exist
// only here, everything else is dialled as it is.
func (k *kubelet) serveEgress(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go k.connect(conn)
	}
}

func (k *kubelet) connect(client net.Conn) {
	defer client.Close()
	reader := bufio.NewReader(client)
	request, err := http.ReadRequest(reader)
	if err != nil || request.Method != http.MethodConnect {
		_, _ = io.WriteString(client, "HTTP/1.1 405 Method Not Allowed\r\n\r\n")
		return
	}
	target, err := k.dial(request.Host)
	if err != nil {
		_, _ = fmt.Fprintf(client, "HTTP/1.1 502 %s\r\n\r\n", strings.ReplaceAll(err.Error(), "\n", " "))
		return
	}
	defer target.Close()
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection Established\r\n\r\n")
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(target, reader)
		closeWrite(target)
	}()
	_, _ = io.Copy(client, target)
	closeWrite(client)
	<-done
}

func closeWrite(conn net.Conn) {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

func (k *kubelet) dial(hostPort string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(hostPort)
	if err != nil {
		return nil, err
	}
	port, err := strconv.Atoi(portText)
	if err != nil {
		return nil, err
	}
	if host == k.nodeIP {
		return net.DialTimeout("tcp", fmt.Sprintf("%s:%d", k.address, port), dialTimeout)
	}
	if runner := k.findByIP(host); runner != nil {
		return runner.dialPort(int32(port))
	}
	return net.DialTimeout("tcp", hostPort, dialTimeout)
}
