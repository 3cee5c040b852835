// Command goproxy is the rival most Kubernetes proxies are built on: Go's httputil.ReverseProxy, doing exactly the work Portcullis does for
// one GET (token lookup, header rules, impersonation, TLS and HTTP/2 on both sides). Standard library only, as its authors ship it.
// Easy to get wrong: leaving out the token table or the header rules would make it faster than anything that may face users.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/csv"
	"errors"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"time"
)

type user struct {
	name   string
	groups []string
}

// member is where requests for one cluster go.
type member struct {
	url           *url.URL
	authorization string
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	cert := flag.String("cert", "", "PEM certificate")
	key := flag.String("key", "", "PEM key")
	users := flag.String("token-auth-file", "", "CSV: token,user,uid,\"group,group\"")
	cluster := flag.String("cluster", "bench", "name of the one cluster")
	upstream := flag.String("upstream", "", "https://host:port of the member")
	upstreamCA := flag.String("upstream-ca", "", "PEM bundle")
	upstreamTokenFile := flag.String("upstream-token-file", "", "file with the gateway's credential")
	h1Upstream := flag.Bool("h1-upstream", false, "HTTP/1.1 to the member")
	flag.Parse()
	table, err := readUsers(*users)
	check(err)
	address, err := url.Parse(*upstream)
	check(err)
	token, err := os.ReadFile(*upstreamTokenFile)
	check(err)
	clusters := map[string]member{*cluster: {url: address, authorization: "Bearer " + strings.TrimSpace(string(token))}}
	transport, err := newTransport(*upstreamCA, !*h1Upstream)
	check(err)
	server := &http.Server{
		Addr: *listen, Handler: newHandler(table, clusters, transport), ReadHeaderTimeout: 30 * time.Second,
		ErrorLog: log.New(io.Discard, "", 0), MaxHeaderBytes: 1 << 20,
	}
	log.Fatal(server.ListenAndServeTLS(*cert, *key))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func readUsers(path string) (map[string]user, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := csv.NewReader(file)
	reader.FieldsPerRecord = -1
	records, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	table := make(map[string]user, len(records))
	for _, record := range records {
		if len(record) < 3 {
			return nil, errors.New("a token needs three columns")
		}
		u := user{name: record[1]}
		if len(record) > 3 {
			u.groups = strings.Split(record[3], ",")
		}
		table[record[0]] = u
	}
	return table, nil
}

func newTransport(caFile string, http2 bool) (*http.Transport, error) {
	pem, err := os.ReadFile(caFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + caFile)
	}
	transport := &http.Transport{
		TLSClientConfig:     &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:   http2,
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		MaxIdleConnsPerHost: 1024,
		IdleConnTimeout:     90 * time.Second,
		// The proxy must not ask for gzip on its own and unpack it.
		DisableCompression: true,
	}
	if !http2 {
		protocols := new(http.Protocols)
		protocols.SetHTTP1(true)
		transport.Protocols = protocols
	}
	return transport, nil
}

// outgoing is decided before the proxy is called and read in Rewrite.
type outgoing struct {
	user   user
	member member
	path   string
}

type outgoingKey struct{}

func newHandler(table map[string]user, clusters map[string]member, transport http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{
		Transport: transport,
		ErrorLog:  log.New(io.Discard, "", 0),
		// ReverseProxy itself removes hop-by-hop headers (RFC 9110, 7.6.1) before Rewrite and from the answer.
		Rewrite: func(r *httputil.ProxyRequest) {
			o := r.In.Context().Value(outgoingKey{}).(*outgoing)
			r.Out.URL.Scheme = o.member.url.Scheme
			r.Out.URL.Host = o.member.url.Host
			r.Out.URL.Path, r.Out.URL.RawPath = o.path, ""
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			r.Out.Host = ""
			for name := range r.Out.Header {
				if forbidden(name) {
					delete(r.Out.Header, name)
				}
			}
			r.Out.Header.Set("Authorization", o.member.authorization)
			r.Out.Header.Set("Impersonate-User", o.user.name)
			r.Out.Header["Impersonate-Group"] = o.user.groups
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		values := r.Header.Values("Authorization")
		if len(values) != 1 {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		token, found := strings.CutPrefix(values[0], "Bearer ")
		u, known := table[token]
		if !found || !known {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		rest, found := strings.CutPrefix(r.URL.EscapedPath(), "/clusters/")
		name, rest, _ := strings.Cut(rest, "/")
		path, isProxy := strings.CutPrefix(rest, "proxy/")
		m, knownCluster := clusters[name]
		if !found || !isProxy || !knownCluster {
			http.NotFound(w, r)
			return
		}
		o := &outgoing{user: u, member: m, path: "/" + path}
		proxy.ServeHTTP(w, r.WithContext(withOutgoing(r, o)))
	})
}

// forbidden says which headers of the client never reach a member; names are canonical here.
func forbidden(name string) bool {
	return name == "Authorization" || name == "Cookie" || strings.HasPrefix(name, "Impersonate-") ||
		strings.HasPrefix(name, "X-Remote-") || strings.Contains(name, "_")
}

func withOutgoing(r *http.Request, o *outgoing) context.Context {
	return context.WithValue(r.Context(), outgoingKey{}, o)
}
