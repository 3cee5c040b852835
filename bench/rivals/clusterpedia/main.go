// The rival of the index over HTTP: Clusterpedia's API server, rebuilt from the libraries the real one is made of (k8s.io/apiserver, the types and codecs
// of k8s.io/kubernetes, gorm on pgx), because its own module cannot be built as a dependency: its go.mod replaces its API module by a folder that is not
// published with it. Its v0.9.1 was read for it; each file names the ones whose behaviour it follows. The code is ours.
//
// What a request goes through is what it goes through there: the outer generic API server with its whole handler chain, a connect handler below
// `resources`, the inner one with its short chain, the generic list and get handlers, gorm, one row after another decoded by the storage codec into the
// internal type with defaults, the answer converted to v1 and encoded. What would only slow it down is left out: the aggregator of the host cluster before
// it, delegated authentication and authorization (a token file instead), admission, the list of member clusters watched in the host cluster (flags
// instead), metrics and tracing of gorm. Easy to get wrong: anything added here that Clusterpedia does not do makes us look better than we are.
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/klog/v2"
)

func main() {
	database := flag.String("database", "", "URL of the database with the table")
	seconds := flag.Int("write-seconds", 0, "change rows for so long instead of serving; begins when standard input says go")
	cert := flag.String("cert", "", "PEM file")
	key := flag.String("key", "", "PEM file")
	tokens := flag.String("tokens", "", "CSV file as of kube-apiserver's --token-auth-file")
	clusters := flag.String("clusters", "", "names of the member clusters, with commas")
	flag.Parse()
	if *seconds > 0 {
		if err := write(*database, *seconds); err != nil {
			klog.ErrorS(err, "the writer ends")
			os.Exit(1)
		}
		return
	}
	go endWithParent()
	if err := run(*database, *cert, *key, *tokens, strings.Split(*clusters, ",")); err != nil {
		klog.ErrorS(err, "the rival ends")
		os.Exit(1)
	}
}

// endWithParent ends the process when its standard input does, so that nothing is left behind when the bench is killed.
func endWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func run(database, cert, key, tokens string, clusters []string) error {
	db, err := openStorage(database)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server, err := newServer(listener, cert, key, tokens, db, clusters)
	if err != nil {
		return err
	}
	server.AddPostStartHookOrDie("print-port", func(genericapiserver.PostStartHookContext) error {
		_, err := fmt.Println(listener.Addr().(*net.TCPAddr).Port)
		return err
	})
	return server.PrepareRun().RunWithContext(genericapiserver.SetupSignalContext())
}
