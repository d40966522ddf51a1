package commands

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/table"
)

// The formats of a table.
const (
	formatCSV  = "csv"
	formatJSON = "json"
)

// tableOptions are the options of table.
type tableOptions struct {
	filter           options.Filter
	format           string // empty: by the extension of the file
	output           options.Text
	exact, overwrite bool
}

func (o *tableOptions) flags() []cli.Flag {
	flags := o.filter.Flags("at most `N` runs, those created last; 0 for all (default: 0)", 0)
	options.Describe(flags, "state", "in this `STATE`; repeatable (default: complete)")
	return options.List(append(flags,
		options.Choice(&o.format, "format", "`FORMAT`: csv, or json, one object a line (default: by the extension of FILE, else csv)", formatCSV, formatJSON),
		options.Given(&o.output, "out", "write to `FILE` (default: standard output)", "o"),
		options.Bool(&o.overwrite, "overwrite", "replace FILE if it exists"),
		options.Bool(&o.exact, "exact", "write each text of CSV as it is, also one that a spreadsheet would execute"),
	)...)
}

// filterAt chooses the last attempts that are complete, or have ended as was asked for.
func (o *tableOptions) filterAt(now time.Time) (catalog.Filter, error) {
	filter, err := o.filter.At(now)
	if filter.Last = true; !o.filter.ChoosesEnd() {
		filter.States = []outcome.State{outcome.Complete}
	}
	return filter, err
}

// tableTarget is where a table is written to.
type tableTarget struct {
	put func(func(io.Writer) error) error
}

// target chooses the format, and refuses an existing file before anything is read.
func (o *tableOptions) target(p *command.Program) (tableTarget, error) {
	if o.format == "" {
		o.format = tableFormat(o.output.Value)
	}
	if ext := filepath.Ext(o.output.Value); ext == ".parquet" || ext == ".pq" {
		return tableTarget{}, command.Usagef("table: Parquet is not written; write -o FILE.jsonl, and let pandas make Parquet of it (docs/sweeps.md)")
	}
	if o.output.Value != "" && o.output.Value != "-" {
		file, err := userfile.Create(o.output.Path(""), o.overwrite, 0o666)
		if err != nil {
			return tableTarget{}, err
		}
		return tableTarget{file.Put}, nil
	}
	return tableTarget{func(write func(io.Writer) error) error {
		if !screen.IsTerminal(p.Stdout.File) {
			return write(p.Stdout)
		}
		to, done := screen.Display(p.Stdout.File)
		if err := write(to); err != nil {
			return err
		}
		return done()
	}}, nil
}

func tableFormat(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".json", ".jsonl", ".ndjson":
		return formatJSON
	}
	return formatCSV
}

// writer writes a table in the format.
func (o *tableOptions) writer(w io.Writer, l table.Layout) (table.Writer, error) {
	switch o.format {
	case formatJSON:
		return table.NewJSON(w, l)
	case formatCSV:
		return table.NewCSV(w, l, o.exact)
	}
	return nil, fmt.Errorf("format %q is unknown", o.format)
}
