package mcp

import (
	"cmp"
	"fmt"

	"github.com/scidex-ai/scidex-oci/spec"
)

// limits are those that a call may ask for.
type limits struct {
	Memory    string   `json:"memory,omitempty" jsonschema:"such as 512MiB"`
	CPUs      *float64 `json:"cpus,omitempty" jsonschema:"cores, such as 0.5"`
	Pids      *int64   `json:"pids,omitempty" jsonschema:"processes and threads"`
	LogSize   string   `json:"log_size,omitempty" jsonschema:"kept of each of standard output and standard error"`
	WorkSize  string   `json:"work_size,omitempty" jsonschema:"of /work"`
	WorkFiles *int64   `json:"work_files,omitempty" jsonschema:"names in /work"`
}

// read reads the limits of a call.
func (l limits) read(a *spec.Analysis, timeout string) (err error) {
	for _, size := range []struct {
		name, text string
		to         *spec.Size
	}{{"memory", l.Memory, &a.Memory}, {"log_size", l.LogSize, &a.LogSize}, {"work_size", l.WorkSize, &a.WorkSize}} {
		if size.text == "" {
			continue
		}
		if *size.to, err = spec.ParseSize(size.text); err != nil {
			return fmt.Errorf("%s: %w", size.name, err)
		}
	}
	if timeout != "" {
		if a.Timeout, err = spec.ParseDuration(timeout); err != nil {
			return fmt.Errorf("timeout: %w", err)
		}
	}
	return cmp.Or(aboveZero("cpus", l.CPUs, &a.CPUs), aboveZero("pids", l.Pids, &a.Pids), aboveZero("work_files", l.WorkFiles, &a.WorkFiles))
}

// aboveZero takes a number that is given. In an analysis zero is none.
func aboveZero[N int64 | float64](name string, given, to *N) error {
	if given == nil {
		return nil
	}
	if *given <= 0 {
		return fmt.Errorf("%s %v: give a number above zero, or leave it out for the operator's", name, *given)
	}
	*to = *given
	return nil
}

// within refuses what is above the operator's bounds.
func within(a, most spec.Analysis) error {
	for _, f := range spec.Fields() {
		if f.Bounded && f.Exceeds(a, most) {
			return fmt.Errorf("%s %s is above the bound of the operator, %s; ask for at most that", f.Name, f.Text(a), f.Text(most))
		}
	}
	return nil
}
