package main

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const (
	streamWindow = 4 << 20
	// connectionWindow as client-go's transport opens it, so that flow control is the stream's.
	connectionWindow = 1 << 30
)

// h2 speaks HTTP/2 with one stream at a time (do) or many (open, for watches).
type h2 struct {
	socket   *tls.Conn
	writer   *bufio.Writer
	framer   *http2.Framer
	fields   []hpack.HeaderField
	body     []byte
	encoder  *hpack.Encoder
	block    bytes.Buffer
	nextID   uint32
	consumed int64
	goingOff bool
}

func newH2(socket *tls.Conn, s spec, g group) (*h2, error) {
	writer := bufio.NewWriterSize(socket, 32<<10)
	c := &h2{socket: socket, writer: writer, framer: http2.NewFramer(writer, bufio.NewReaderSize(socket, 64<<10)), nextID: 1}
	c.framer.SetReuseFrames()
	c.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	c.encoder = hpack.NewEncoder(&c.block)
	c.body = []byte(g.Body)
	c.fields = []hpack.HeaderField{
		{Name: ":method", Value: g.Method}, {Name: ":scheme", Value: "https"},
		{Name: ":authority", Value: s.Address}, {Name: ":path", Value: g.Path},
	}
	for _, header := range g.Headers {
		c.fields = append(c.fields, hpack.HeaderField{Name: strings.ToLower(header[0]), Value: header[1]})
	}
	if len(c.body) > 0 {
		c.fields = append(c.fields, hpack.HeaderField{Name: "content-length", Value: strconv.Itoa(len(c.body))})
	}
	if _, err := writer.WriteString(http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := c.framer.WriteSettings(
		http2.Setting{ID: http2.SettingEnablePush, Val: 0},
		http2.Setting{ID: http2.SettingInitialWindowSize, Val: streamWindow},
	); err != nil {
		return nil, err
	}
	if err := c.framer.WriteWindowUpdate(0, connectionWindow); err != nil {
		return nil, err
	}
	return c, writer.Flush()
}

func (c *h2) close() { _ = c.socket.NetConn().Close() }

// open starts the next stream without flushing.
func (c *h2) open() (uint32, error) {
	c.block.Reset()
	for _, field := range c.fields {
		if err := c.encoder.WriteField(field); err != nil {
			return 0, err
		}
	}
	id := c.nextID
	c.nextID += 2
	if err := c.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: c.block.Bytes(), EndHeaders: true, EndStream: len(c.body) == 0,
	}); err != nil {
		return 0, err
	}
	// Bodies are kept below the 64 KiB window every peer starts with.
	for rest := c.body; len(rest) > 0; {
		step := min(len(rest), 16<<10)
		if err := c.framer.WriteData(id, step == len(rest), rest[:step]); err != nil {
			return 0, err
		}
		rest = rest[step:]
	}
	return id, nil
}

func (c *h2) do(deadline time.Time) (int, int64, bool, error) {
	_ = c.socket.SetDeadline(deadline)
	id, err := c.open()
	if err != nil {
		return 0, 0, false, err
	}
	if err := c.writer.Flush(); err != nil {
		return 0, 0, false, err
	}
	status, length, streamConsumed := 0, int64(0), int64(0)
	for {
		event, err := c.next()
		if err != nil {
			return status, length, false, err
		}
		if event.id != id {
			continue
		}
		if event.reset != nil {
			return status, length, false, event.reset
		}
		if event.status >= 200 {
			status = event.status
		}
		length += int64(event.data)
		streamConsumed += int64(event.flow)
		if event.end {
			// Identifiers run out at 2^31; a new connection long before.
			return status, length, c.goingOff || c.nextID > 1<<30, nil
		}
		if streamConsumed >= streamWindow/2 {
			if err := c.framer.WriteWindowUpdate(id, uint32(streamConsumed)); err != nil {
				return status, length, false, err
			}
			streamConsumed = 0
			if err := c.writer.Flush(); err != nil {
				return status, length, false, err
			}
		}
	}
}

// streamEvent is what one frame said about one stream; id 0 when it was about none.
type streamEvent struct {
	id     uint32
	status int
	data   int
	// bytes are good until the next frame is read.
	bytes []byte
	flow  int
	end   bool
	reset error
}

// next reads one frame, and answers those that need an answer.
func (c *h2) next() (streamEvent, error) {
	frame, err := c.framer.ReadFrame()
	if err != nil {
		return streamEvent{}, err
	}
	switch f := frame.(type) {
	case *http2.MetaHeadersFrame:
		event := streamEvent{id: f.StreamID, end: f.StreamEnded()}
		if value := f.PseudoValue("status"); value != "" {
			event.status, err = strconv.Atoi(value)
		}
		return event, err
	case *http2.DataFrame:
		flow := int(f.Length)
		c.consumed += int64(flow)
		if c.consumed >= connectionWindow/2 {
			if err := c.framer.WriteWindowUpdate(0, uint32(c.consumed)); err != nil {
				return streamEvent{}, err
			}
			c.consumed = 0
			err = c.writer.Flush()
		}
		return streamEvent{id: f.StreamID, data: len(f.Data()), bytes: f.Data(), flow: flow, end: f.StreamEnded()}, err
	case *http2.RSTStreamFrame:
		return streamEvent{id: f.StreamID, reset: fmt.Errorf("stream reset: %v", f.ErrCode)}, nil
	case *http2.SettingsFrame:
		if !f.IsAck() {
			if err := c.framer.WriteSettingsAck(); err != nil {
				return streamEvent{}, err
			}
			err = c.writer.Flush()
		}
	case *http2.PingFrame:
		if !f.IsAck() {
			if err := c.framer.WritePing(true, f.Data); err != nil {
				return streamEvent{}, err
			}
			err = c.writer.Flush()
		}
	case *http2.GoAwayFrame:
		c.goingOff = true
		if f.ErrCode != http2.ErrCodeNo {
			err = errors.New("connection closed: " + f.ErrCode.String())
		}
	}
	return streamEvent{}, err
}
