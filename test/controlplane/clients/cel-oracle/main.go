// Evaluates CEL expressions with the libraries that OCM's agent has (Kubernetes' own, and those of OCM for conditions),
// and with sets and the lenient form of semver beside them. Reads one JSON document, {"object", "expressions"}, and
// prints one answer for each expression: its kind ("value", "type" or "fault") and its text.

// OCM's agent is built with an older Go, which reads a URL with several colons in its host.
//
//go:debug urlstrictcolons=0
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/ext"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/apiserver/pkg/cel/library"
	ocmcommon "open-cluster-management.io/sdk-go/pkg/cel/common"
	ocmlibrary "open-cluster-management.io/sdk-go/pkg/cel/library"
)

type question struct {
	Object      json.RawMessage `json:"object"`
	Expressions []string        `json:"expressions"`
}

func main() {
	var asked question
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fail(err)
	}
	// As an unstructured object has it: whole numbers are int64, others float64.
	var object map[string]any
	if err := yaml.NewYAMLOrJSONDecoder(strings.NewReader(string(asked.Object)), 4096).Decode(&object); err != nil {
		fail(err)
	}
	whole(object)
	options := slices.Concat(
		// The option of the base list, in its later version, replaces nothing that the earlier has.
		withoutSemver(ocmcommon.BaseEnvOpts),
		[]cel.EnvOption{
			cel.Variable("object", cel.DynType),
			library.SemverLib(library.SemverVersion(1)),
			ext.Sets(),
			ocmlibrary.ConditionsLib(),
		},
	)
	env, err := cel.NewEnv(options...)
	if err != nil {
		fail(err)
	}
	answers := make([][2]string, 0, len(asked.Expressions))
	for _, expression := range asked.Expressions {
		answers = append(answers, answer(env, expression, object))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// The base list ends with the library of semver in its first version; the same library twice is an error.
func withoutSemver(options []cel.EnvOption) []cel.EnvOption {
	return options[:len(options)-1]
}

func whole(value any) any {
	switch each := value.(type) {
	case map[string]any:
		for key, item := range each {
			each[key] = whole(item)
		}
	case []any:
		for index, item := range each {
			each[index] = whole(item)
		}
	case float64:
		if each == float64(int64(each)) {
			return int64(each)
		}
	}
	return value
}

func answer(env *cel.Env, expression string, object map[string]any) [2]string {
	ast, issues := env.Compile(expression)
	if issues.Err() != nil {
		return fault(issues.Err())
	}
	program, err := env.Program(ast)
	if err != nil {
		return fault(err)
	}
	value, _, err := program.Eval(map[string]any{"object": object})
	if err != nil {
		return fault(err)
	}
	text, ok := printed(value)
	if !ok {
		return [2]string{"type", value.Type().TypeName()}
	}
	if _, isText := value.(types.String); isText {
		encoded, _ := json.Marshal(text)
		text = string(encoded)
	}
	return [2]string{"value", value.Type().TypeName() + " " + text}
}

// Only the first line of a message of the compiler says what is wrong; the others show where.
func fault(err error) [2]string {
	first, _, _ := strings.Cut(err.Error(), "\n")
	return [2]string{"fault", first}
}

// False for a value whose text would be an address in memory.
func printed(value ref.Val) (string, bool) {
	switch each := value.(type) {
	case *types.Optional:
		if !each.HasValue() {
			return "<nil>", true
		}
		return printed(each.GetValue())
	case traits.Lister:
		texts := []string{}
		for iterator := each.Iterator(); iterator.HasNext() == types.True; {
			text, ok := printed(iterator.Next())
			if !ok {
				return "", false
			}
			texts = append(texts, text)
		}
		return "[" + strings.Join(texts, " ") + "]", true
	case types.Null:
		return "<nil>", true
	}
	switch value.Type().TypeName() {
	case "kubernetes.URL", "kubernetes.Quantity", "kubernetes.NamedFormat", "net.IP", "net.CIDR", "kubernetes.Semver":
		return "", false
	}
	return fmt.Sprint(value.Value()), true
}
