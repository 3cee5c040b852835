package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"time"
)

// fresh opens a connection for every request: the cost of a TLS handshake (no session is resumed), with or without a request on it.
type fresh struct {
	spec        spec
	group       group
	config      *tls.Config
	withRequest bool
}

func newFresh(s spec, g group, config *tls.Config) connection {
	withRequest := g.Fresh == "request"
	g.Fresh = ""
	return &fresh{spec: s, group: g, config: config, withRequest: withRequest}
}

func (f *fresh) close() {}

func (f *fresh) do(deadline time.Time) (int, int64, bool, error) {
	open, err := dial(f.spec, f.group, f.config)
	if err != nil {
		return 0, 0, false, err
	}
	defer open.close()
	if !f.withRequest {
		return 200, 0, false, nil
	}
	status, length, _, err := open.do(deadline)
	return status, length, false, err
}

// echoMessage is one masked WebSocket frame of 64 bytes, as kubectl exec sends what somebody types.
var echoMessage = append([]byte{0x82, 0x80 | 64, 1, 2, 3, 4}, make([]byte, 64)...)

// echo is an upgraded connection; what is sent comes back.
type echo struct {
	*h1
	back []byte
}

func newEcho(c *h1) (connection, error) {
	_ = c.socket.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := c.socket.Write(c.request()); err != nil {
		return nil, err
	}
	head, err := c.readAnyHead()
	if err != nil {
		return nil, err
	}
	if head.status != 101 {
		c.close()
		return nil, fmt.Errorf("the upgrade was answered with status %d", head.status)
	}
	return &echo{h1: c, back: make([]byte, len(echoMessage))}, nil
}

func (e *echo) do(deadline time.Time) (int, int64, bool, error) {
	_ = e.socket.SetDeadline(deadline)
	if _, err := e.socket.Write(echoMessage); err != nil {
		return 0, 0, false, err
	}
	if _, err := io.ReadFull(e.reader, e.back); err != nil {
		return 0, 0, false, err
	}
	return 200, int64(len(e.back)), false, nil
}
