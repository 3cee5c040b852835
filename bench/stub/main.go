// Command stub is a TLS server that answers like a kube-apiserver and costs almost nothing, so that what is measured is the proxy.
// Easy to get wrong: it refuses every request that a careless proxy would send (client's token, no Impersonate-User); a fast wrong
// proxy must show up as errors, not as a good figure.
package main

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

func main() {
	cert := flag.String("cert", "", "PEM certificate")
	key := flag.String("key", "", "PEM key")
	token := flag.String("token", "", "the gateway's bearer token, the only one accepted")
	flag.Parse()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{Handler: handler(*token), ErrorLog: log.New(io.Discard, "", 0), ReadHeaderTimeout: 30 * time.Second}
	fmt.Printf("{\"port\":%d}\n", listener.Addr().(*net.TCPAddr).Port)
	// Ends with its parent, also when that was killed.
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(server.ServeTLS(listener, *cert, *key))
}

func handler(token string) http.Handler {
	expected := "Bearer " + token
	mux := http.NewServeMux()
	mux.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, 200, map[string]string{"major": "1", "minor": "36", "gitVersion": "v1.36.3-stub"})
	})
	healthy := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }
	mux.HandleFunc("GET /readyz", healthy)
	mux.HandleFunc("GET /livez", healthy)
	mux.HandleFunc("GET /bench/echo", echo)
	mux.HandleFunc("POST /apis/authentication.k8s.io/v1/selfsubjectreviews", whoAmI)
	mux.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", allowed)
	one := configMap("bench", 512)
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/configmaps/{name}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(one)))
		_, _ = w.Write(one)
	})
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/configmaps", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("watch") {
			watch(w, r, one)
			return
		}
		list(w, r)
	})
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/pods/{name}/exec", echoUpgrade)
	mux.HandleFunc("POST /api/v1/namespaces/{namespace}/configmaps", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(201)
		_, _ = w.Write(body)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Audit-Id", newUUID())
		h.Set("Cache-Control", "no-cache, private")
		h.Set("X-Kubernetes-Pf-Flowschema-Uid", "3c0e1b5c-5f0e-4a39-8a53-6f2f6b0c9d11")
		h.Set("X-Kubernetes-Pf-Prioritylevel-Uid", "8f7a0a1e-1c9d-4f43-9a9e-2c2f4a7f9b22")
		if values := r.Header.Values("Authorization"); len(values) != 1 || values[0] != expected {
			refuse(w, 401, "Unauthorized", "not the gateway's credential")
			return
		}
		if r.Header.Get("Impersonate-User") == "" && !gatewayMay(r.URL.Path) {
			refuse(w, 403, "Forbidden", "the gateway itself may do nothing but impersonate")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// gatewayMay says what the bare credential may ask: what a probe needs.
func gatewayMay(path string) bool {
	return path == "/version" || path == "/readyz" || path == "/livez" || strings.Contains(path, "/selfsubject")
}

func refuse(w http.ResponseWriter, code int, reason, message string) {
	sendJSON(w, code, map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message,
	})
}

func sendJSON(w http.ResponseWriter, code int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(value)
}

// echo shows what arrived: the bench compares it over all targets.
func echo(w http.ResponseWriter, r *http.Request) {
	sendJSON(w, 200, map[string]any{"protocol": r.Proto, "method": r.Method, "target": r.RequestURI, "host": r.Host, "headers": r.Header})
}

func whoAmI(w http.ResponseWriter, r *http.Request) {
	user := map[string]any{"username": "gateway"}
	if name := r.Header.Get("Impersonate-User"); name != "" {
		user = map[string]any{"username": name, "groups": r.Header.Values("Impersonate-Group")}
	}
	sendJSON(w, 201, map[string]any{
		"kind": "SelfSubjectReview", "apiVersion": "authentication.k8s.io/v1", "status": map[string]any{"userInfo": user},
	})
}

func allowed(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		refuse(w, 400, "BadRequest", err.Error())
		return
	}
	review["status"] = map[string]any{"allowed": true}
	sendJSON(w, 201, review)
}

// list streams about as many megabytes as the namespace says ("list-100mb"), item by item as kube-apiserver does, or gzipped as it does for
// who accepts that.
func list(w http.ResponseWriter, r *http.Request) {
	megabytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(r.PathValue("namespace"), "list-"), "mb"))
	if err != nil {
		megabytes = 0
	}
	w.Header().Set("Content-Type", "application/json")
	if megabytes == 1 && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		body := gzippedList()
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Vary", "Accept-Encoding")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		_, _ = w.Write(body)
		return
	}
	writeList(w, megabytes, configMap("item", 15_500))
}

func writeList(w io.Writer, megabytes int, item []byte) {
	_, _ = io.WriteString(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[`)
	for sent := 0; sent < megabytes*1_000_000; sent += len(item) + 1 {
		if sent > 0 {
			_, _ = w.Write([]byte{','})
		}
		if _, err := w.Write(item); err != nil {
			return
		}
	}
	_, _ = io.WriteString(w, "]}")
}

func configMap(name string, dataBytes int) []byte {
	return configMapOf(name, strings.Repeat("portcullis ", dataBytes/11+1)[:dataBytes])
}

func configMapOf(name, text string) []byte {
	body, err := json.Marshal(map[string]any{
		"kind": "ConfigMap", "apiVersion": "v1",
		"metadata": map[string]any{
			"name": name, "namespace": "bench", "uid": "0b0a7b3e-6f0c-4b52-9d7c-111111111111", "resourceVersion": "1000",
			"creationTimestamp": "2026-01-01T00:00:00Z",
			"managedFields": []any{map[string]any{
				"manager": "bench", "operation": "Apply", "apiVersion": "v1", "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
				"fieldsV1": map[string]any{"f:data": map[string]any{"f:text": map[string]any{}}},
			}},
		},
		"data": map[string]any{"text": text},
	})
	if err != nil {
		log.Fatal(err)
	}
	return body
}

func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[0:4], b[4:6], b[6:8], b[8:10], b[10:])
}
