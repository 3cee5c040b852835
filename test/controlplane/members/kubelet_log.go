package main

import (
	"bytes"
	"io"
	"os"
	"sync"
	"time"
)

// longest line piece in a CRI log, as containerd writes it
const logPieceBytes = 16 * 1024

// criLog writes a container's output in the CRI format (`<RFC3339Nano> <stream> <P|F> <text>`), line by line and flushed.
type criLog struct {
	mu      sync.Mutex
	file    *os.File
	pending map[string]*bytes.Buffer
}

func openLog(path string) (*criLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &criLog{file: file, pending: map[string]*bytes.Buffer{"stdout": {}, "stderr": {}}}, nil
}

func (l *criLog) write(stream string, data []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	buffer := l.pending[stream]
	buffer.Write(data)
	var out bytes.Buffer
	for {
		held := buffer.Bytes()
		end := bytes.IndexByte(held, '\n')
		switch {
		case end >= 0 && end <= logPieceBytes:
			writePiece(&out, stream, "F", held[:end])
			buffer.Next(end + 1)
			continue
		case len(held) > logPieceBytes:
			writePiece(&out, stream, "P", held[:logPieceBytes])
			buffer.Next(logPieceBytes)
			continue
		}
		break
	}
	if out.Len() > 0 {
		_, _ = l.file.Write(out.Bytes())
	}
}

func writePiece(out *bytes.Buffer, stream, tag string, text []byte) {
	out.WriteString(time.Now().UTC().Format(time.RFC3339Nano))
	out.WriteString(" " + stream + " " + tag + " ")
	out.Write(text)
	out.WriteByte('\n')
}

// close writes what has no line end yet and closes the file.
func (l *criLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, stream := range []string{"stdout", "stderr"} {
		if rest := l.pending[stream]; rest.Len() > 0 {
			var out bytes.Buffer
			writePiece(&out, stream, "F", rest.Bytes())
			_, _ = l.file.Write(out.Bytes())
		}
	}
	_ = l.file.Close()
}

// outlet spreads a container's output to its log and to whoever is attached. A slow reader holds the container back, as with a
// real runtime; one that fails is dropped.
type outlet struct {
	mu   sync.Mutex
	log  *criLog
	taps map[*tap]struct{}
}

// tap is one attached client; a nil writer means that it did not ask for that stream.
type tap struct {
	stdout, stderr io.Writer
	broken         chan struct{} // closed when a write failed
	once           sync.Once
}

func newOutlet(log *criLog) *outlet { return &outlet{log: log, taps: map[*tap]struct{}{}} }

func (o *outlet) add(t *tap) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.taps[t] = struct{}{}
}

func (o *outlet) remove(t *tap) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.taps, t)
}

func (o *outlet) write(stream string, data []byte) {
	o.log.write(stream, data)
	o.mu.Lock()
	taps := make([]*tap, 0, len(o.taps))
	for t := range o.taps {
		taps = append(taps, t)
	}
	o.mu.Unlock()
	for _, t := range taps {
		writer := t.stdout
		if stream == "stderr" {
			writer = t.stderr
		}
		if writer == nil {
			continue
		}
		if _, err := writer.Write(data); err != nil {
			o.remove(t)
			t.once.Do(func() { close(t.broken) })
		}
	}
}

// stream gives an io.Writer for one of the two streams.
func (o *outlet) stream(name string) io.Writer { return outletStream{o, name} }

type outletStream struct {
	outlet *outlet
	name   string
}

func (s outletStream) Write(data []byte) (int, error) {
	s.outlet.write(s.name, data)
	return len(data), nil
}
