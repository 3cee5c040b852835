// Command load is the bench's client: it drives one target with closed-loop requests or opens idle watches, and says what it cost.
// Easy to get wrong: handshakes and warm-up must not be counted, so it prints {"event":"ready"} and measures only after a line "go".
package main

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"time"
)

// spec is one line of JSON on standard input.
type spec struct {
	// Mode is "requests" or "watch".
	Mode string `json:"mode"`
	// Address is host:port of the target; the server's certificate must be valid for 127.0.0.1 or ServerName.
	Address    string `json:"address"`
	ServerName string `json:"serverName"`
	CAFile     string `json:"caFile"`
	// Protocol is "h1" or "h2".
	Protocol string `json:"protocol"`
	// Seconds of measured time (requests), after WarmupSeconds of the same load.
	Seconds       float64 `json:"seconds"`
	WarmupSeconds float64 `json:"warmupSeconds"`
	// MaxRequests ends the measurement earlier, 0 for no such limit; then there is no warm-up.
	MaxRequests int64   `json:"maxRequests"`
	Groups      []group `json:"groups"`
	// ReadMBPerSecond slows every connection's reading down, 0 for as fast as it can: a target without back-pressure then fills its memory.
	ReadMBPerSecond float64 `json:"readMbPerSecond"`
	// StreamsPerConnection is how many watches share one HTTP/2 connection.
	StreamsPerConnection int `json:"streamsPerConnection"`
	// EventSeconds is how long, once all watches are open and "go" came again, their events are timed.
	EventSeconds float64 `json:"eventSeconds"`
	// Plain is HTTP/1.1 without TLS.
	Plain bool `json:"plain"`
}

// group is a set of connections that send the same request; each group has its own latencies.
type group struct {
	Name        string      `json:"name"`
	Connections int         `json:"connections"`
	Method      string      `json:"method"`
	Path        string      `json:"path"`
	Headers     [][2]string `json:"headers"`
	Body        string      `json:"body"`
	// TimeoutMs gives a request up and opens a new connection; counted as timeout, not as error. 0: 60 s, counted as error.
	TimeoutMs int `json:"timeoutMs"`
	// ExpectStatus of every answer, 0 means 200; another one is an error.
	ExpectStatus int `json:"expectStatus"`
	// Pooled adds its latencies to those of every other group that says so.
	Pooled bool `json:"pooled"`
	// Echo upgrades each connection (WebSocket) and then sends small messages that have to come back: a request is one message there and back.
	Echo bool `json:"echo"`
	// Fresh makes every request on a connection of its own: "handshake" ends behind the TLS handshake, "request" behind the answer.
	Fresh string `json:"fresh"`
	// Variants are sent in turn in place of Path and Headers, by HTTP/1.1 only.
	Variants []variant `json:"variants"`
}

// variant is another path and identity for the same connection.
type variant struct {
	Path    string      `json:"path"`
	Headers [][2]string `json:"headers"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run() error {
	input := bufio.NewReaderSize(os.Stdin, 1<<20)
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("read the specification: %w", err)
	}
	var s spec
	if err := json.Unmarshal(line, &s); err != nil {
		return fmt.Errorf("parse the specification: %w", err)
	}
	config, err := tlsConfig(s)
	if err != nil {
		return err
	}
	switch s.Mode {
	case "requests":
		return runRequests(s, config, input)
	case "watch":
		return runWatches(s, config, input)
	}
	return fmt.Errorf("unknown mode %q", s.Mode)
}

func tlsConfig(s spec) (*tls.Config, error) {
	pem, err := os.ReadFile(s.CAFile)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, errors.New("no certificate in " + s.CAFile)
	}
	protocol := "http/1.1"
	if s.Protocol == "h2" {
		protocol = "h2"
	}
	return &tls.Config{RootCAs: pool, ServerName: s.ServerName, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS12}, nil
}

func emit(value any) error {
	line, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(line, '\n'))
	return err
}

// waitForGo blocks until the bench took its first reading of the target.
func waitForGo(input *bufio.Reader) error {
	line, err := input.ReadString('\n')
	if err != nil || line != "go\n" {
		return fmt.Errorf("expected the line go, got %q (%v)", line, err)
	}
	return nil
}

// cpuSeconds is user + system time of this process so far.
func cpuSeconds() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(usage.Utime) + seconds(usage.Stime)
}

// machineShare is the part of all cores that cpu seconds are over elapsed.
func machineShare(cpu float64, elapsed time.Duration) float64 {
	return cpu / (elapsed.Seconds() * float64(runtime.NumCPU()))
}
