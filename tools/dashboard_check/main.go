// Reads a dashboard of Grafana as Grafana's own types describe it: each field must be known and of its type, and what must
// be there is there. Panels, their options and their queries are read by the types of their plugins.
//
//	go run -C tools/dashboard_check . ../../packaging/monitoring/foliot.dashboard.json
//
// The types are those of grafana-foundation-sdk, which Grafana generates from the schemas of its program. What it prints
// is each mistake with its place, or how many panels there are; the exit code is 1 if there is a mistake.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// The library returns an empty list of mistakes where there are none.
func unlessEmpty(err error) error {
	var all cog.BuildErrors
	if errors.As(err, &all) && len(all) == 0 {
		return nil
	}
	return err
}

func check(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	known := cog.NewRuntime()
	known.RegisterPanelcfgVariant(stat.VariantConfig())
	known.RegisterPanelcfgVariant(timeseries.VariantConfig())
	known.RegisterDataqueryVariant(prometheus.VariantConfig())
	var board dashboard.Dashboard
	if err := unlessEmpty(board.UnmarshalJSONStrict(text)); err != nil {
		return err
	}
	if err := unlessEmpty(board.Validate()); err != nil {
		return err
	}
	fmt.Printf("%s: %d panels and rows\n", path, len(board.Panels))
	return nil
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run . FILE")
		os.Exit(2)
	}
	if err := check(os.Args[1]); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
}
