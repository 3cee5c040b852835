// Command dynamic applies ConfigMaps to many clusters with client-go's dynamic client: what a program costs that talks
// to each cluster itself, without limits of its own. Settings come as a file (argument 1). Each line on standard input
// is one round, whose text becomes part of every object; it is answered with one line of JSON.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

type settings struct {
	// Kubeconfigs has one file for each cluster.
	Kubeconfigs []string `json:"kubeconfigs"`
	Namespace   string   `json:"namespace"`
	Objects     int      `json:"objects"`
	Text        string   `json:"text"`
	// Parallel is the number of requests at a time for each cluster.
	Parallel int `json:"parallel"`
}

type answer struct {
	Seconds    float64 `json:"seconds"`
	CPUSeconds float64 `json:"cpuSeconds"`
	Errors     int     `json:"errors"`
	FirstError string  `json:"firstError,omitempty"`
}

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string) error {
	var given settings
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &given); err != nil {
		return err
	}
	clients := make([]dynamic.Interface, 0, len(given.Kubeconfigs))
	for _, kubeconfig := range given.Kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
		if err != nil {
			return err
		}
		config.QPS = -1
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return err
		}
		clients = append(clients, client)
	}
	fmt.Println("ready")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		out, err := json.Marshal(given.round(clients, lines.Text()))
		if err != nil {
			return err
		}
		fmt.Println(string(out))
	}
	return lines.Err()
}

func (given settings) round(clients []dynamic.Interface, round string) answer {
	begun, cpu := time.Now(), cpuSeconds()
	var result answer
	var lock sync.Mutex
	var workers sync.WaitGroup
	for _, client := range clients {
		numbers := make(chan int)
		for range given.Parallel {
			workers.Go(func() {
				for number := range numbers {
					if err := given.apply(client, number, round); err != nil {
						lock.Lock()
						result.Errors++
						result.FirstError = err.Error()
						lock.Unlock()
					}
				}
			})
		}
		workers.Go(func() {
			for number := range given.Objects {
				numbers <- number
			}
			close(numbers)
		})
	}
	workers.Wait()
	result.Seconds = time.Since(begun).Seconds()
	result.CPUSeconds = cpuSeconds() - cpu
	return result
}

func (given settings) apply(client dynamic.Interface, number int, round string) error {
	name := fmt.Sprintf("bench-%d", number)
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1",
		"kind":       "ConfigMap",
		"metadata":   map[string]any{"name": name, "namespace": given.Namespace},
		"data":       map[string]any{"round": round, "text": given.Text},
	}}
	_, err := client.Resource(configMaps).Namespace(given.Namespace).
		Apply(context.Background(), name, object, metav1.ApplyOptions{FieldManager: "bench-dynamic"})
	return err
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano()).Seconds()
}
