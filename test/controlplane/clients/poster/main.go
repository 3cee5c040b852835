// Sends the same request with a large body again and again with Go's own HTTP/2 client, and writes a line for each: the status and the answer, or
// what the client made of it. All that is asked for stands in one line of JSON on standard input.
package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
)

type task struct {
	URL, Method, Token, CA string
	Bytes, Times           int
}

type outcome struct {
	Proto, Body, Error string
	Status             int
}

func send(client *http.Client, t task) (o outcome) {
	request, err := http.NewRequest(t.Method, t.URL, bytes.NewReader(make([]byte, t.Bytes)))
	if err != nil {
		return outcome{Error: err.Error()}
	}
	request.Header.Set("Authorization", "Bearer "+t.Token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := client.Do(request)
	if err != nil {
		return outcome{Error: err.Error()}
	}
	defer answer.Body.Close()
	o.Proto, o.Status = answer.Proto, answer.StatusCode
	body, err := io.ReadAll(answer.Body)
	o.Body = string(body)
	if err != nil {
		o.Error = err.Error()
	}
	return o
}

func main() {
	var t task
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(t.CA))
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: roots},
		ForceAttemptHTTP2: true,
	}}
	lines := json.NewEncoder(os.Stdout)
	for range t.Times {
		if err := lines.Encode(send(client, t)); err != nil {
			panic(err)
		}
	}
}
