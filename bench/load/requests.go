package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sort"
	"sync"
	"sync/atomic"
	"time"
)

// connection sends one request at a time and reads its answer to the end.
type connection interface {
	// do returns the status, the length of the body, and whether the target wants no further request on this connection.
	do(deadline time.Time) (status int, length int64, last bool, err error)
	close()
}

// tally is what one connection saw during one phase; never shared while it runs.
type tally struct {
	latencies  []time.Duration
	bytes      int64
	bodyLength int64
	errors     int64
	timeouts   int64
	reconnects int64
	firstError string
	lastEnd    time.Time
}

// groupResult is printed for each group; latencies in milliseconds.
type groupResult struct {
	Name       string  `json:"name"`
	Requests   int     `json:"requests"`
	Errors     int64   `json:"errors"`
	Timeouts   int64   `json:"timeouts"`
	Reconnects int64   `json:"reconnects"`
	FirstError string  `json:"firstError,omitempty"`
	Bytes      int64   `json:"bytes"`
	BodyLength int64   `json:"bodyLength"`
	RPS        float64 `json:"requestsPerSecond"`
	P50        float64 `json:"p50Ms"`
	P90        float64 `json:"p90Ms"`
	P99        float64 `json:"p99Ms"`
	Max        float64 `json:"maxMs"`
}

type requestsResult struct {
	Event   string        `json:"event"`
	Seconds float64       `json:"seconds"`
	Groups  []groupResult `json:"groups"`
	// Pooled is one result over all requests of the groups that are pooled.
	Pooled *groupResult `json:"pooled,omitempty"`
	// CPUSeconds this program used while measuring; CPUShare is that as a part of all cores.
	CPUSeconds float64 `json:"cpuSeconds"`
	CPUShare   float64 `json:"cpuShare"`
}

// worker is one connection of a group, kept over warm-up and measurement.
type worker struct {
	spec   spec
	group  group
	config *tls.Config
	open   connection
}

func runRequests(s spec, config *tls.Config, input *bufio.Reader) error {
	var workers []*worker
	for _, g := range s.Groups {
		for range g.Connections {
			w := &worker{spec: s, group: g, config: config}
			if err := w.connect(); err != nil {
				return fmt.Errorf("connect to %s over %s: %w", s.Address, s.Protocol, err)
			}
			workers = append(workers, w)
		}
	}
	if s.MaxRequests == 0 && s.WarmupSeconds > 0 {
		_, warm := phase(workers, s.WarmupSeconds, 0)
		for _, t := range warm {
			if t.errors > 0 {
				fmt.Fprintln(os.Stderr, "load: while warming up:", t.firstError)
			}
		}
	}
	if err := emit(map[string]string{"event": "ready"}); err != nil {
		return err
	}
	if err := waitForGo(input); err != nil {
		return err
	}
	cpuBefore := cpuSeconds()
	start, tallies := phase(workers, s.Seconds, s.MaxRequests)
	cpu := cpuSeconds() - cpuBefore
	end := start
	for _, t := range tallies {
		if t.lastEnd.After(end) {
			end = t.lastEnd
		}
	}
	elapsed := end.Sub(start)
	result := requestsResult{Event: "result", Seconds: elapsed.Seconds(), CPUSeconds: cpu, CPUShare: machineShare(cpu, elapsed)}
	at := 0
	var pooled []*tally
	for _, g := range s.Groups {
		own := tallies[at : at+g.Connections]
		result.Groups = append(result.Groups, summarise(g.Name, own, start))
		if g.Pooled {
			pooled = append(pooled, own...)
		}
		at += g.Connections
	}
	if len(pooled) > 0 {
		one := summarise("pooled", pooled, start)
		result.Pooled = &one
	}
	for _, w := range workers {
		if w.open != nil {
			w.open.close()
		}
	}
	return emit(result)
}

// phase runs all workers for so long, or until they sent maxRequests together when that is not 0.
func phase(workers []*worker, seconds float64, maxRequests int64) (time.Time, []*tally) {
	tallies := make([]*tally, len(workers))
	var sent atomic.Int64
	var done sync.WaitGroup
	start := time.Now()
	stop := start.Add(time.Duration(seconds * float64(time.Second)))
	for i, w := range workers {
		t := &tally{latencies: make([]time.Duration, 0, 4096)}
		tallies[i] = t
		done.Go(func() {
			for time.Now().Before(stop) {
				if maxRequests > 0 && sent.Add(1) > maxRequests {
					return
				}
				w.once(t)
			}
		})
	}
	done.Wait()
	return start, tallies
}

func (w *worker) connect() error {
	open, err := dial(w.spec, w.group, w.config)
	w.open = open
	return err
}

// once sends one request and notes how it went; a failed connection is replaced before the next one.
func (w *worker) once(t *tally) {
	if w.open == nil {
		t.reconnects++
		if err := w.connect(); err != nil {
			w.open = nil
			t.fail(err)
			time.Sleep(10 * time.Millisecond)
			return
		}
	}
	limit := 60 * time.Second
	if w.group.TimeoutMs > 0 {
		limit = time.Duration(w.group.TimeoutMs) * time.Millisecond
	}
	begin := time.Now()
	status, length, last, err := w.open.do(begin.Add(limit))
	t.lastEnd = time.Now()
	if err != nil {
		w.open.close()
		w.open = nil
		if w.group.TimeoutMs > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
			t.timeouts++
			return
		}
		t.fail(err)
		return
	}
	if last {
		w.open.close()
		w.open = nil
	}
	expected := w.group.ExpectStatus
	if expected == 0 {
		expected = 200
	}
	if status != expected {
		t.fail(fmt.Errorf("status %d", status))
		return
	}
	t.latencies = append(t.latencies, t.lastEnd.Sub(begin))
	t.bytes += length
	t.bodyLength = length
}

func (t *tally) fail(err error) {
	t.errors++
	if t.firstError == "" {
		t.firstError = err.Error()
	}
	t.lastEnd = time.Now()
}

// summarise counts a group's rate over its own time: another group may still wait for a stalled answer.
func summarise(name string, tallies []*tally, start time.Time) groupResult {
	result := groupResult{Name: name}
	var all []time.Duration
	end := start
	for _, t := range tallies {
		if t.lastEnd.After(end) {
			end = t.lastEnd
		}
		all = append(all, t.latencies...)
		result.Errors += t.errors
		result.Timeouts += t.timeouts
		result.Reconnects += t.reconnects
		result.Bytes += t.bytes
		result.BodyLength = max(result.BodyLength, t.bodyLength)
		if result.FirstError == "" {
			result.FirstError = t.firstError
		}
	}
	result.Requests = len(all)
	if end.After(start) {
		result.RPS = float64(len(all)) / end.Sub(start).Seconds()
	}
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	result.P50, result.P90, result.P99 = quantileMs(all, 0.5), quantileMs(all, 0.9), quantileMs(all, 0.99)
	result.Max = quantileMs(all, 1)
	return result
}

// quantileMs is the nearest-rank quantile of sorted latencies, 0 when there are none.
func quantileMs(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(q*float64(len(sorted))+0.999999) - 1
	rank = min(max(rank, 0), len(sorted)-1)
	return float64(sorted[rank].Microseconds()) / 1000
}
