package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

func dial(s spec, g group, config *tls.Config) (connection, error) {
	if g.Fresh != "" {
		return newFresh(s, g, config), nil
	}
	if s.Plain {
		socket, err := net.DialTimeout("tcp", s.Address, 10*time.Second)
		if err != nil {
			return nil, err
		}
		return newH1(socket, s, g)
	}
	socket, err := dialTLS(s, config)
	if err != nil {
		return nil, err
	}
	if s.Protocol == "h2" {
		if g.Echo || len(g.Variants) > 0 {
			return nil, errors.New("echo and variants are for HTTP/1.1")
		}
		return newH2(socket, s, g)
	}
	return newH1(socket, s, g)
}

func newH1(socket net.Conn, s spec, g group) (connection, error) {
	c := &h1{socket: socket, reader: bufio.NewReaderSize(socket, 64<<10), requests: [][]byte{requestBytes(s, g)}}
	if len(g.Variants) > 0 {
		c.requests = nil
		for _, v := range g.Variants {
			other := g
			other.Path, other.Headers = v.Path, v.Headers
			c.requests = append(c.requests, requestBytes(s, other))
		}
	}
	if g.Echo {
		return newEcho(c)
	}
	return c, nil
}

func dialTLS(s spec, config *tls.Config) (*tls.Conn, error) {
	var wire net.Conn
	wire, err := net.DialTimeout("tcp", s.Address, 10*time.Second)
	if err != nil {
		return nil, err
	}
	if s.ReadMBPerSecond > 0 {
		wire = &slowReader{Conn: wire, bytesPerSecond: s.ReadMBPerSecond * 1e6}
	}
	if config.ServerName == "" {
		config = config.Clone()
		config.ServerName, _, _ = net.SplitHostPort(s.Address)
	}
	socket := tls.Client(wire, config)
	_ = socket.SetDeadline(time.Now().Add(10 * time.Second))
	if err := socket.Handshake(); err != nil {
		_ = wire.Close()
		return nil, err
	}
	_ = socket.SetDeadline(time.Time{})
	if s.Protocol == "h2" && socket.ConnectionState().NegotiatedProtocol != "h2" {
		_ = socket.Close()
		return nil, errors.New("the target does not speak HTTP/2")
	}
	return socket, nil
}

// slowReader reads no faster than a rate, counted from its first byte; the kernel's buffers fill and the target has to wait.
type slowReader struct {
	net.Conn
	bytesPerSecond float64
	begin          time.Time
	total          float64
}

func (r *slowReader) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	if r.begin.IsZero() {
		r.begin = time.Now()
	}
	r.total += float64(n)
	if ahead := time.Duration(r.total/r.bytesPerSecond*float64(time.Second)) - time.Since(r.begin); ahead > time.Millisecond {
		time.Sleep(ahead)
	}
	return n, err
}

// requestBytes is the whole HTTP/1.1 request, made once: the generator must stay cheaper than what it measures.
func requestBytes(s spec, g group) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", g.Method, g.Path, s.Address)
	for _, header := range g.Headers {
		fmt.Fprintf(&b, "%s: %s\r\n", header[0], header[1])
	}
	if g.Body != "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(g.Body))
	}
	b.WriteString("\r\n")
	b.WriteString(g.Body)
	return b.Bytes()
}

type h1 struct {
	socket net.Conn
	reader *bufio.Reader
	// requests are sent in turn.
	requests [][]byte
	sent     int
}

// close does not wait for the peer, which may be stalled.
func (c *h1) close() {
	if secure, ok := c.socket.(*tls.Conn); ok {
		_ = secure.NetConn().Close()
		return
	}
	_ = c.socket.Close()
}

func (c *h1) request() []byte {
	c.sent++
	return c.requests[(c.sent-1)%len(c.requests)]
}

func (c *h1) do(deadline time.Time) (int, int64, bool, error) {
	_ = c.socket.SetDeadline(deadline)
	if _, err := c.socket.Write(c.request()); err != nil {
		return 0, 0, false, err
	}
	head, err := c.readHead()
	if err != nil {
		return 0, 0, false, err
	}
	length, err := c.readBody(head)
	return head.status, length, head.last, err
}

type responseHead struct {
	status  int
	length  int64
	chunked bool
	last    bool
}

// readHead skips 1xx answers.
func (c *h1) readHead() (responseHead, error) {
	for {
		head, err := c.readAnyHead()
		if err != nil || head.status >= 200 {
			return head, err
		}
	}
}

func (c *h1) readAnyHead() (responseHead, error) {
	head := responseHead{length: -1}
	line, err := c.reader.ReadSlice('\n')
	if err != nil {
		return head, err
	}
	if len(line) < 13 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return head, fmt.Errorf("not an HTTP/1.1 status line: %q", line)
	}
	if head.status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return head, err
	}
	return head, c.readFields(&head)
}

func (c *h1) readFields(head *responseHead) error {
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			return nil
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch len(name) {
		case len("content-length"):
			if strings.EqualFold(string(name), "content-length") {
				if head.length, err = strconv.ParseInt(string(value), 10, 64); err != nil {
					return err
				}
			}
		case len("transfer-encoding"):
			if strings.EqualFold(string(name), "transfer-encoding") {
				head.chunked = strings.EqualFold(string(value), "chunked")
			}
		case len("connection"):
			if strings.EqualFold(string(name), "connection") {
				head.last = strings.EqualFold(string(value), "close")
			}
		}
	}
}

func (c *h1) readBody(head responseHead) (int64, error) {
	if !head.chunked {
		if head.length < 0 {
			return 0, errors.New("answer without a length")
		}
		return head.length, c.skip(head.length)
	}
	var total int64
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return total, err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 64)
		if err != nil {
			return total, fmt.Errorf("chunk size: %w", err)
		}
		if err := c.skip(size + 2); err != nil {
			return total, err
		}
		if size == 0 {
			return total, nil
		}
		total += size
	}
}

func (c *h1) skip(length int64) error {
	for length > 0 {
		step := int(min(length, 1<<20))
		n, err := c.reader.Discard(step)
		length -= int64(n)
		if err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
	}
	return nil
}
