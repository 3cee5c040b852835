package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// gzippedList is a list of 1 MB at kube-apiserver's level (1), made once: what a proxy costs is the question, not gzip. A tenth of it does not repeat, so
// that it is about a fifth as long as plain, as lists of pods are.
var gzippedList = sync.OnceValue(func() []byte {
	var body bytes.Buffer
	packer, _ := gzip.NewWriterLevel(&body, 1)
	random := rand.New(rand.NewPCG(1, 2))
	_, _ = io.WriteString(packer, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"1000"},"items":[`)
	for i := range 65 {
		if i > 0 {
			_, _ = packer.Write([]byte{','})
		}
		text := make([]byte, 0, 15_500)
		for len(text) < 15_000 {
			text = fmt.Appendf(text, "%016x", random.Uint64())
			text = append(text, "portcullis portcullis portcullis "...)
		}
		_, _ = packer.Write(configMapOf("item", string(text)))
	}
	_, _ = io.WriteString(packer, "]}")
	_ = packer.Close()
	return body.Bytes()
})

// watch sends one event, and in a namespace "every-1000ms" one more in each such time, with the moment it was written; until the client goes.
func watch(w http.ResponseWriter, r *http.Request, object []byte) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, "{\"type\":\"ADDED\",\"object\":%s}\n", object)
	w.(http.Flusher).Flush()
	text, isTicking := strings.CutPrefix(r.PathValue("namespace"), "every-")
	everyMs, err := strconv.Atoi(strings.TrimSuffix(text, "ms"))
	if !isTicking || err != nil || everyMs <= 0 {
		<-r.Context().Done()
		return
	}
	every := time.Duration(everyMs) * time.Millisecond
	// Thousands of watches must not speak at the same moment.
	wait := time.NewTimer(time.Duration(rand.Int64N(int64(every))))
	defer wait.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-wait.C:
			wait.Reset(every)
			_, err := fmt.Fprintf(w, "{\"type\":\"MODIFIED\",\"sentAtNs\":\"%d\",\"object\":%s}\n", time.Now().UnixNano(), object)
			if err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	}
}

// echoUpgrade takes a WebSocket upgrade and sends back every byte.
func echoUpgrade(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Sec-Websocket-Key")
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") || key == "" {
		refuse(w, 400, "BadRequest", "not a WebSocket upgrade")
		return
	}
	socket, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		refuse(w, 500, "InternalError", err.Error())
		return
	}
	defer socket.Close()
	_ = socket.SetDeadline(time.Time{})
	// RFC 6455 section 4.2.2.
	digest := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	_, err = fmt.Fprintf(socket, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(digest[:]))
	if err == nil {
		_, _ = io.Copy(socket, buffered)
	}
}
