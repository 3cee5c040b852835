// Checks rules and expressions with Prometheus' own parsers: `promtool check rules` without the rest of promtool, whose
// service discoveries take many minutes to build.
//
//	promql-oracle rules FILE   a file of rules: every fault is a line, none is silence
//	promql-oracle expressions  one JSON text a line on standard input: an expression; answers one line each
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

func main() {
	switch os.Args[1] {
	case "rules":
		_, faults := rulefmt.ParseFile(os.Args[2], false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		for _, fault := range faults {
			fmt.Println(fault)
		}
	case "expressions":
		lines := bufio.NewScanner(os.Stdin)
		lines.Buffer(nil, 1<<20)
		promql := parser.NewParser(parser.Options{})
		for lines.Scan() {
			var expression string
			if err := json.Unmarshal(lines.Bytes(), &expression); err != nil {
				panic(err)
			}
			if _, err := promql.ParseExpr(expression); err != nil {
				fmt.Println(err)
			} else {
				fmt.Println("good")
			}
		}
	default:
		panic(os.Args[1])
	}
}
