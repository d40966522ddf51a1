package commands

import (
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// tableCount counts runs, and keeps the first, which is the one created last.
type tableCount struct {
	n     int
	first catalog.Key
	err   error // of the first
}

func (c *tableCount) add(key catalog.Key, err error) {
	if c.n++; c.n == 1 {
		c.first, c.err = key, err
	}
}

// tableSkipped are the runs that the table does not have as they are.
type tableSkipped struct{ missing, removed, partial, unreadable, damaged tableCount }

// say prints a line for each cause but damage, which is the error of the command.
func (s *tableSkipped) say(w io.Writer, path string, of int) {
	for _, line := range []struct {
		tableCount
		what string
	}{
		{s.missing, fmt.Sprintf("without an output %q", path)},
		{s.removed, "whose outputs were removed by retention"},
		{s.unreadable, fmt.Sprintf("whose output %q cannot be read", path)},
		{s.partial, fmt.Sprintf("whose output %q is partial, and is in the table as far as it goes", path)},
	} {
		if line.n > 0 {
			fmt.Fprintf(w, "scidex-oci: table: %s\n", screen.Escape(fmt.Sprintf("%d of %d runs %s%s", line.n, of, line.what, line.named())))
		}
	}
}

// named is the first run, and what is wrong there.
func (c *tableCount) named() string {
	text := fmt.Sprintf(", such as %q", c.first)
	if c.n == 1 {
		text = fmt.Sprintf(": %q", c.first)
	}
	if c.err != nil {
		text += ": " + c.err.Error()
	}
	return text
}

// failure is the error if contents of outputs are damaged or missing in the blob store.
func (s *tableSkipped) failure() error {
	if s.damaged.n == 0 {
		return nil
	}
	return fmt.Errorf("table: the table lacks %s whose content is damaged or missing in the blob store%s; \"scidex-oci catalog check\" lists all such contents",
		format.Count(s.damaged.n, "run", "runs"), s.damaged.named())
}
