package main

import (
	"bufio"
	"bytes"
	"io"
	"net/http/httputil"
	"sort"
	"strconv"
	"sync"
	"time"
)

// sentAt stands before the time, in nanoseconds since 1970, at which the stub wrote an event.
var sentAt = []byte(`"sentAtNs":"`)

// longestLine of an event is cut, so that a target that sends no line ends cannot fill our memory.
const longestLine = 1 << 20

// eventTally is what all watches together saw while their events were timed.
type eventTally struct {
	lock      sync.Mutex
	latencies []time.Duration
}

// eventsResult is printed after the second "go"; latencies in milliseconds.
type eventsResult struct {
	Event    string  `json:"event"`
	Events   int     `json:"events"`
	Seconds  float64 `json:"seconds"`
	PerSec   float64 `json:"eventsPerSecond"`
	P50      float64 `json:"p50Ms"`
	P99      float64 `json:"p99Ms"`
	Max      float64 `json:"maxMs"`
	Open     int64   `json:"open"`
	Errors   int64   `json:"errors"`
	Message  string  `json:"firstError,omitempty"`
	CPUShare float64 `json:"cpuShare"`
}

func (w *watchState) timeEvents(seconds float64) eventsResult {
	tally := &eventTally{}
	cpuBefore, start := cpuSeconds(), time.Now()
	w.events.Store(tally)
	time.Sleep(time.Duration(seconds * float64(time.Second)))
	w.events.Store(nil)
	elapsed := time.Since(start)
	cpu := cpuSeconds() - cpuBefore
	tally.lock.Lock()
	defer tally.lock.Unlock()
	all := tally.latencies
	sort.Slice(all, func(i, j int) bool { return all[i] < all[j] })
	return eventsResult{Event: "events", Events: len(all), Seconds: elapsed.Seconds(), PerSec: float64(len(all)) / elapsed.Seconds(),
		P50: quantileMs(all, 0.5), P99: quantileMs(all, 0.99), Max: quantileMs(all, 1), Open: w.open.Load(),
		Errors: w.errors.Load(), Message: w.message, CPUShare: machineShare(cpu, elapsed)}
}

// readEvents reads the body of a watch over HTTP/1.1 to its end.
func (w *watchState) readEvents(reader *bufio.Reader, head responseHead) error {
	var body io.Reader = reader
	if head.chunked {
		body = httputil.NewChunkedReader(reader)
	}
	_, err := io.Copy(&eventLine{state: w}, body)
	return err
}

// eventLine gathers the lines of one watch, in whatever pieces they come.
type eventLine struct {
	state *watchState
	part  []byte
}

func (l *eventLine) Write(data []byte) (int, error) {
	n := len(data)
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			if len(l.part)+len(data) < longestLine {
				l.part = append(l.part, data...)
			}
			return n, nil
		}
		line := data[:end]
		if len(l.part) > 0 {
			line = append(l.part, line...)
			l.part = l.part[:0]
		}
		l.state.event(line)
		data = data[end+1:]
	}
}

func (w *watchState) event(line []byte) {
	tally := w.events.Load()
	if tally == nil {
		return
	}
	_, rest, found := bytes.Cut(line, sentAt)
	if !found {
		return
	}
	digits, _, _ := bytes.Cut(rest, []byte{'"'})
	nanoseconds, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil {
		w.fail(err)
		return
	}
	latency := time.Duration(time.Now().UnixNano() - nanoseconds)
	tally.lock.Lock()
	tally.latencies = append(tally.latencies, latency)
	tally.lock.Unlock()
}
