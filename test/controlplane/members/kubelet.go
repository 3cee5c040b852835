package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// kubelet is a stand-in for the real one: a Node whose containers are local processes. It is honest where gateways can tell the
// difference (streams, exit codes, logs, status) and does nothing where they cannot (images, volumes, probes, cgroups).
type kubelet struct {
	client   kubernetes.Interface
	nodeName string
	nodeIP   string
	address  string
	port     int
	rootDir  string
	tainted  bool
	isolate  bool // containers get a /tmp of their own

	mu      sync.Mutex
	pods    map[types.UID]*podRunner
	nextIP  int
	ipSpace string
}

func runKubelet(args []string) int {
	flags := flag.NewFlagSet("kubelet", flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "how to reach kube-apiserver")
	nodeName := flags.String("node-name", "kubelet-0", "name of the Node to register")
	nodeIP := flags.String("node-ip", "10.99.0.1", "address of the Node; only the egress proxy knows where it really is")
	address := flags.String("address", "127.0.0.1", "address to listen on")
	port := flags.Int("port", 0, "port to listen on")
	certFile := flags.String("tls-cert-file", "", "serving certificate")
	keyFile := flags.String("tls-private-key-file", "", "its key")
	clientCA := flags.String("client-ca-file", "", "authority that callers' certificates must come from")
	rootDir := flags.String("root-dir", "", "where containers keep files and logs")
	egress := flags.String("egress-socket", "", "UNIX socket on which to serve kube-apiserver's HTTP CONNECT egress")
	ipSpace := flags.String("pod-ip-prefix", "10.88", "first two numbers of pod addresses")
	tainted := flags.Bool("taint", false, "taint the node portcullis.test/kubelet=true:NoSchedule")
	_ = flags.Parse(args)
	log.SetFlags(log.Ltime | log.Lmicroseconds)

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Print(err)
		return 2
	}
	config.QPS, config.Burst = 500, 1000
	config.UserAgent = "kubelet-stand-in"
	root, err := filepath.Abs(*rootDir)
	if err != nil {
		log.Print(err)
		return 2
	}
	k := &kubelet{
		client:   kubernetes.NewForConfigOrDie(config),
		nodeName: *nodeName,
		nodeIP:   *nodeIP,
		address:  *address,
		port:     *port,
		rootDir:  root,
		tainted:  *tainted,
		isolate:  canIsolate(root),
		pods:     map[types.UID]*podRunner{},
		ipSpace:  *ipSpace,
	}
	if !k.isolate {
		log.Print("no mount namespaces here: containers share the machine's /tmp")
	}
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()
	server, err := k.serve(*certFile, *keyFile, *clientCA)
	if err != nil {
		log.Print(err)
		return 1
	}
	defer server.Close()
	if *egress != "" {
		listener, err := net.Listen("unix", *egress)
		if err != nil {
			log.Print(err)
			return 1
		}
		defer listener.Close()
		go k.serveEgress(listener)
	}
	go k.keepNode(ctx)
	k.watchPods(ctx)
	<-ctx.Done()
	k.killAll()
	return 0
}

// serve starts the HTTPS API that kube-apiserver calls; callers must show a certificate of the cluster's authority.
func (k *kubelet) serve(certFile, keyFile, clientCA string) (*http.Server, error) {
	pem, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s: no certificate in it", clientCA)
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", k.address, k.port))
	if err != nil {
		return nil, err
	}
	k.port = listener.Addr().(*net.TCPAddr).Port
	server := &http.Server{
		Handler: k.handler(),
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS12,
			ClientAuth: tls.RequireAndVerifyClientCert,
			ClientCAs:  pool,
		},
	}
	go func() {
		if err := server.ServeTLS(listener, certFile, keyFile); err != nil && !errors.Is(err, http.ErrServerClosed) {
			log.Fatal(err)
		}
	}()
	return server, nil
}

// watchPods keeps one runner for each pod that is bound to this node.
func (k *kubelet) watchPods(ctx context.Context) {
	selector := fields.OneTermEqualSelector("spec.nodeName", k.nodeName).String()
	pods := k.client.CoreV1().Pods(metav1.NamespaceAll)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtimeObject, error) {
			options.FieldSelector = selector
			return pods.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watchInterface, error) {
			options.FieldSelector = selector
			return pods.Watch(ctx, options)
		},
	}, k.client)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: source,
		ObjectType:    &v1.Pod{},
		Handler: cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { k.observe(object.(*v1.Pod)) },
			UpdateFunc: func(_, object any) { k.observe(object.(*v1.Pod)) },
			DeleteFunc: func(object any) {
				if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = last.Obj
				}
				if pod, ok := object.(*v1.Pod); ok {
					k.forget(pod.UID)
				}
			},
		},
	})
	go informer.RunWithContext(ctx)
}

func (k *kubelet) observe(pod *v1.Pod) {
	k.mu.Lock()
	defer k.mu.Unlock()
	runner := k.pods[pod.UID]
	if runner == nil {
		k.nextIP++
		ip := fmt.Sprintf("%s.%d.%d", k.ipSpace, k.nextIP/250, k.nextIP%250+2)
		runner = newPodRunner(k, pod, ip)
		k.pods[pod.UID] = runner
		go runner.run()
	}
	runner.update(pod)
}

func (k *kubelet) forget(uid types.UID) {
	k.mu.Lock()
	runner := k.pods[uid]
	delete(k.pods, uid)
	k.mu.Unlock()
	if runner != nil {
		runner.end()
	}
}

func (k *kubelet) find(namespace, name string) *podRunner {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, runner := range k.pods {
		if pod := runner.latest(); pod.Namespace == namespace && pod.Name == name {
			return runner
		}
	}
	return nil
}

func (k *kubelet) findByIP(ip string) *podRunner {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, runner := range k.pods {
		if runner.ip == ip {
			return runner
		}
	}
	return nil
}

// killAll ends every container at once: no process may outlive the stand-in.
func (k *kubelet) killAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, runner := range k.pods {
		runner.end()
	}
	time.Sleep(50 * time.Millisecond)
}
