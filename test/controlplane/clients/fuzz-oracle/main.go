// Says how Go's net/http and Kubernetes' RequestInfoFactory read the bytes of a client connection, so that the fuzzer can compare our
// parsers with the ones behind us. Easy to get wrong: a real http.Server reads them, not http.ReadRequest, which leaves out the checks of
// Host and header values that a server makes.
//
// Standard input holds cases: four bytes of length (big endian), then the bytes. Standard output has one line of JSON for each, in order;
// texts hold one character a byte (latin1).
package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/filters/impersonation"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/klog/v2"
)

type info struct {
	Error       string   `json:"error,omitempty"`
	IsResource  bool     `json:"isResource"`
	Verb        string   `json:"verb"`
	APIGroup    string   `json:"apiGroup"`
	APIVersion  string   `json:"apiVersion"`
	Namespace   string   `json:"namespace"`
	Resource    string   `json:"resource"`
	Subresource string   `json:"subresource"`
	Name        string   `json:"name"`
	Parts       []string `json:"parts"`
}

type seen struct {
	Method    string              `json:"method"`
	Target    string              `json:"target"`
	Path      string              `json:"path"`
	Host      string              `json:"host"`
	Headers   map[string][]string `json:"headers"`
	Body      string              `json:"body"`
	BodyError string              `json:"bodyError,omitempty"`
	Info      info                `json:"info"`
	User      userInfo            `json:"user"`
}

// userInfo is whom an API server takes the request for, whose own credential may impersonate everybody.
type userInfo struct {
	// What kept it from arriving at anybody; the rest is empty then.
	Refusal string              `json:"refusal,omitempty"`
	Name    string              `json:"name"`
	UID     string              `json:"uid"`
	Groups  []string            `json:"groups"`
	Extra   map[string][]string `json:"extra"`
}

// credentialOwner is who a request runs as that impersonates nobody.
const credentialOwner = "the credential itself"

type verdict struct {
	// Requests a handler was called for, in order.
	Requests []seen `json:"requests"`
	// First bytes the server wrote on its own account, as it does when it refuses.
	Refusal string `json:"refusal,omitempty"`
}

var factory = request.RequestInfoFactory{
	APIPrefixes:          sets.NewString("api", "apis"),
	GrouplessAPIPrefixes: sets.NewString("api"),
}

func main() {
	// RequestInfoFactory tells of every query it cannot decode.
	klog.SetLogger(logr.Discard())
	connections := &listener{accepted: make(chan net.Conn), closed: make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(handle), ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = server.Serve(connections) }()

	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	output := bufio.NewWriterSize(os.Stdout, 1<<20)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for {
		if input.Buffered() == 0 {
			must(output.Flush())
		}
		var length uint32
		if err := binary.Read(input, binary.BigEndian, &length); errors.Is(err, io.EOF) {
			return
		} else {
			must(err)
		}
		conn := &bytesConn{bytes: make([]byte, length), done: make(chan struct{})}
		_, err := io.ReadFull(input, conn.bytes)
		must(err)
		conn.verdict.Requests = []seen{}
		connections.accepted <- conn
		<-conn.done
		must(encoder.Encode(conn.verdict))
	}
}

func handle(w http.ResponseWriter, r *http.Request) {
	conn, ok := r.Context().Value(http.LocalAddrContextKey).(*address)
	if !ok {
		panic("a connection of ours has an address of ours")
	}
	body, err := io.ReadAll(r.Body)
	one := seen{
		Method: latin1(r.Method), Target: latin1(r.RequestURI), Path: latin1(r.URL.Path), Host: latin1(r.Host),
		Headers: map[string][]string{}, Body: latin1(string(body)), Info: infoOf(r),
	}
	if err != nil {
		one.BodyError = latin1(err.Error())
	}
	for name, values := range r.Header {
		for _, value := range values {
			one.Headers[latin1(name)] = append(one.Headers[latin1(name)], latin1(value))
		}
	}
	one.User = userOf(r)
	conn.of.verdict.Requests = append(conn.of.verdict.Requests, one)
	w.WriteHeader(http.StatusNoContent)
}

func infoOf(r *http.Request) info {
	found, err := factory.NewRequestInfo(r)
	one := info{
		IsResource: found.IsResourceRequest, Verb: latin1(found.Verb), APIGroup: latin1(found.APIGroup),
		APIVersion: latin1(found.APIVersion), Namespace: latin1(found.Namespace), Resource: latin1(found.Resource),
		Subresource: latin1(found.Subresource), Name: latin1(found.Name), Parts: []string{},
	}
	for _, part := range found.Parts {
		one.Parts = append(one.Parts, latin1(part))
	}
	if err != nil {
		one.Error = latin1(err.Error())
	}
	return one
}

type allowAll struct{}

func (allowAll) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

var codecs = serializer.NewCodecFactory(runtime.NewScheme())

// userOf runs the filter of an API server; it takes the headers out of the request, so it comes last.
func userOf(r *http.Request) userInfo {
	one := userInfo{Refusal: "refused", Groups: []string{}, Extra: map[string][]string{}}
	inner := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		found, _ := request.UserFrom(r.Context())
		one.Refusal, one.Name, one.UID = "", latin1(found.GetName()), latin1(found.GetUID())
		for _, group := range found.GetGroups() {
			one.Groups = append(one.Groups, latin1(group))
		}
		for key, values := range found.GetExtra() {
			for _, value := range values {
				one.Extra[latin1(key)] = append(one.Extra[latin1(key)], latin1(value))
			}
		}
	})
	ctx := request.WithUser(r.Context(), &user.DefaultInfo{Name: credentialOwner})
	if found, err := factory.NewRequestInfo(r); err == nil {
		ctx = request.WithRequestInfo(ctx, found)
	}
	answer := httptest.NewRecorder()
	impersonation.WithImpersonation(inner, allowAll{}, codecs).ServeHTTP(answer, r.WithContext(ctx))
	if one.Refusal != "" {
		one.Refusal = latin1(answer.Body.String())
	}
	return one
}

func latin1(text string) string {
	runes := make([]rune, len(text))
	for i := range len(text) {
		runes[i] = rune(text[i])
	}
	return string(runes)
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// listener hands over connections that exist in memory only.
type listener struct {
	accepted chan net.Conn
	closed   chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *listener) Close() error   { close(l.closed); return nil }
func (l *listener) Addr() net.Addr { return &address{} }

// address leads a handler back to its connection.
type address struct{ of *bytesConn }

func (*address) Network() string { return "memory" }
func (*address) String() string  { return "memory" }

// bytesConn gives its bytes, then the end; what the server writes outside of an answer of the handler is its refusal.
type bytesConn struct {
	bytes   []byte
	at      int
	verdict verdict
	done    chan struct{}
	once    sync.Once
}

func (c *bytesConn) Read(into []byte) (int, error) {
	if c.at == len(c.bytes) {
		return 0, io.EOF
	}
	n := copy(into, c.bytes[c.at:])
	c.at += n
	return n, nil
}

const noContent = "HTTP/1.1 204 "

func (c *bytesConn) Write(from []byte) (int, error) {
	text := string(from)
	isContinue := len(text) >= 12 && text[:12] == "HTTP/1.1 100"
	isAnswer := len(text) >= len(noContent) && text[:len(noContent)] == noContent
	if !isContinue && !isAnswer && c.verdict.Refusal == "" {
		c.verdict.Refusal = latin1(text[:min(len(text), 120)])
	}
	return len(from), nil
}

func (c *bytesConn) Close() error {
	c.once.Do(func() { close(c.done) })
	return nil
}

// CloseWrite is all a server does before it waits half a second for a client to read its last answer; nobody reads here.
func (c *bytesConn) CloseWrite() error { return c.Close() }

func (c *bytesConn) LocalAddr() net.Addr              { return &address{of: c} }
func (c *bytesConn) RemoteAddr() net.Addr             { return &address{of: c} }
func (c *bytesConn) SetDeadline(time.Time) error      { return nil }
func (c *bytesConn) SetReadDeadline(time.Time) error  { return nil }
func (c *bytesConn) SetWriteDeadline(time.Time) error { return nil }
