// Renders templates with Go's own engine and sprig: one JSON object a line in, one out, in the same order. Templates and
// outputs are base64, since neither need be text.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig/v3"
)

type question struct {
	Template []byte          `json:"template"`
	Data     json.RawMessage `json:"data"`
}

type answer struct {
	// Stage that failed: "parse", "execute" or "".
	Failed  string `json:"failed"`
	Message string `json:"message"`
	Output  []byte `json:"output"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		encoded, _ := json.Marshal(render(asked))
		out.Write(append(encoded, '\n'))
		if in.Buffered() == 0 {
			out.Flush()
		}
	}
}

func render(asked question) (result answer) {
	defer func() {
		if fault := recover(); fault != nil {
			result = answer{Failed: "execute", Message: fmt.Sprint(fault)}
		}
	}()
	parsed, err := template.New("t").Funcs(sprig.TxtFuncMap()).Parse(string(asked.Template))
	if err != nil {
		return answer{Failed: "parse", Message: err.Error()}
	}
	decoder := json.NewDecoder(bytes.NewReader(asked.Data))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		return answer{Failed: "data", Message: err.Error()}
	}
	var output bytes.Buffer
	if err := parsed.Execute(&output, unstructured(data)); err != nil {
		return answer{Failed: "execute", Message: err.Error()}
	}
	return answer{Output: []byte(strings.ReplaceAll(output.String(), "<no value>", ""))}
}

// Whole numbers are int64 and others float64, as in Kubernetes' unstructured objects.
func unstructured(value any) any {
	switch typed := value.(type) {
	case json.Number:
		if whole, err := typed.Int64(); err == nil {
			return whole
		}
		fraction, _ := typed.Float64()
		return fraction
	case []any:
		for i := range typed {
			typed[i] = unstructured(typed[i])
		}
	case map[string]any:
		for key := range typed {
			typed[key] = unstructured(typed[key])
		}
	}
	return value
}
