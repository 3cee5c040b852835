package main

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// watchResult is printed once every watch has its response head; the watches stay open until standard input ends.
type watchResult struct {
	Event       string `json:"event"`
	Open        int64  `json:"open"`
	Connections int    `json:"connections"`
	Errors      int64  `json:"errors"`
	FirstError  string `json:"firstError,omitempty"`
}

// watchState counts heads and failures over all connections.
type watchState struct {
	heads   sync.WaitGroup
	open    atomic.Int64
	errors  atomic.Int64
	first   sync.Once
	message string
	// events are timed while it is not nil.
	events atomic.Pointer[eventTally]
}

func (w *watchState) fail(err error) {
	w.errors.Add(1)
	w.first.Do(func() { w.message = err.Error() })
}

func runWatches(s spec, config *tls.Config, input *bufio.Reader) error {
	if len(s.Groups) != 1 {
		return errors.New("mode watch takes one group")
	}
	g := s.Groups[0]
	streams := 1
	if s.Protocol == "h2" {
		streams = max(1, s.StreamsPerConnection)
	}
	// connections counts watches here, whatever carries them.
	state := &watchState{}
	connections := (g.Connections + streams - 1) / streams
	if err := emit(map[string]string{"event": "ready"}); err != nil {
		return err
	}
	if err := waitForGo(input); err != nil {
		return err
	}
	left := g.Connections
	for range connections {
		n := min(streams, left)
		left -= n
		open, err := dial(s, g, config)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		defer open.close()
		state.heads.Add(n)
		switch c := open.(type) {
		case *h1:
			if err := c.watch(state); err != nil {
				return err
			}
		case *h2:
			if err := c.watch(n, state); err != nil {
				return err
			}
		}
	}
	complete := make(chan struct{})
	go func() { state.heads.Wait(); close(complete) }()
	select {
	case <-complete:
	case <-time.After(60 * time.Second):
		state.fail(errors.New("not every watch had its response head after 60 s"))
	}
	if err := emit(watchResult{Event: "result", Open: state.open.Load(), Connections: connections,
		Errors: state.errors.Load(), FirstError: state.message}); err != nil {
		return err
	}
	if s.EventSeconds > 0 {
		if err := waitForGo(input); err != nil {
			return err
		}
		if err := emit(state.timeEvents(s.EventSeconds)); err != nil {
			return err
		}
	}
	_, err := io.Copy(io.Discard, input)
	return err
}

// watch sends the request and reads on in the background, so that a target is never held back by us.
func (c *h1) watch(state *watchState) error {
	if _, err := c.socket.Write(c.request()); err != nil {
		return err
	}
	go func() {
		head, err := c.readHead()
		if err == nil && head.status != 200 {
			err = fmt.Errorf("status %d", head.status)
		}
		if err != nil {
			state.fail(err)
			state.heads.Done()
			return
		}
		state.open.Add(1)
		state.heads.Done()
		if err := state.readEvents(c.reader, head); err != nil {
			state.fail(err)
		}
	}()
	return nil
}

func (c *h2) watch(streams int, state *watchState) error {
	for range streams {
		if _, err := c.open(); err != nil {
			return err
		}
	}
	if err := c.writer.Flush(); err != nil {
		return err
	}
	go func() {
		waiting := streams
		lines := map[uint32]*eventLine{}
		for {
			event, err := c.next()
			if err == nil && event.reset != nil {
				err = event.reset
			}
			if err == nil && event.status != 0 && event.status != 200 {
				err = fmt.Errorf("status %d", event.status)
			}
			if err != nil {
				state.fail(err)
				if event.id != 0 && waiting > 0 {
					waiting--
					state.heads.Done()
					continue
				}
				for ; waiting > 0; waiting-- {
					state.heads.Done()
				}
				return
			}
			if len(event.bytes) > 0 {
				if lines[event.id] == nil {
					lines[event.id] = &eventLine{state: state}
				}
				_, _ = lines[event.id].Write(event.bytes)
			}
			if event.status == 200 {
				waiting--
				state.open.Add(1)
				state.heads.Done()
			}
		}
	}()
	return nil
}
