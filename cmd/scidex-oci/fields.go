package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/spec"
)

// analysis reads the fields of a request that the layer gives. Paths stay as they are.
func (l layer) analysis(env lookup) (spec.Analysis, error) {
	r := reader{layer: l}
	a := spec.Analysis{
		ID: r.id(),

		Data: r.text("data"), Docs: r.text("docs"), Project: r.text("project"), Script: r.text("script"),
		Stage: r.text("stage"), Export: r.text("export"),

		Rootfs: r.text("rootfs"), Runtime: r.text("runtime"), IDs: r.text("ids"), Limits: r.text("limits"), Keep: r.text("keep"),
		WorkStorage: r.text("work-storage"), DigestInputs: r.text("digest-inputs"),

		Deterministic: r.boolean("deterministic"),

		Inputs: r.list("input"), Outputs: r.list("output"), Exclude: r.list("exclude"), Secrets: r.list("secret"),

		Memory: number(&r, "memory", spec.ParseSize), LogSize: number(&r, "log-size", spec.ParseSize),
		CPUs: number(&r, "cpus", spec.ParseCPUs), Pids: number(&r, "pids", spec.ParsePids),
		WorkSize: number(&r, "work-size", spec.ParseSize), WorkFiles: number(&r, "work-files", spec.ParseWorkFiles),
		Timeout: number(&r, "timeout", spec.ParseDuration), Grace: number(&r, "grace", spec.ParseDuration),

		Env: r.pairs("env", env), Labels: r.pairs("label", nil),
	}
	return a, r.err
}

// reader reads values of a layer and keeps the first error.
type reader struct {
	layer layer
	err   error
}

func (r *reader) refuse(name, value, format string, args ...any) {
	r.err = cmp.Or(r.err, fmt.Errorf("%s %q: %s", r.layer.label(name), value, fmt.Sprintf(format, args...)))
}

func (r *reader) text(name string) string {
	if len(r.layer.values[name]) == 0 {
		return ""
	}
	value := r.layer.text(name)
	if value == "" {
		r.refuse(name, value, "is empty; give a value or leave it out")
	}
	return value
}

// boolean is nil where the layer does not say.
func (r *reader) boolean(name string) *bool {
	if len(r.layer.values[name]) == 0 {
		return nil
	}
	on, err := strconv.ParseBool(r.layer.text(name))
	if err != nil {
		r.refuse(name, r.layer.text(name), "give true or false")
	}
	return &on
}

func (r *reader) id() string {
	if len(r.layer.values["id"]) == 0 {
		return ""
	}
	id := r.layer.text("id")
	if err := spec.ValidateID(id); err != nil {
		r.err = cmp.Or(r.err, fmt.Errorf("%s: %w", r.layer.label("id"), err))
		return ""
	}
	return id
}

func (r *reader) list(name string) []string {
	values := r.layer.values[name]
	for _, value := range values {
		if value == "" {
			r.refuse(name, value, "is empty; give a value or leave it out")
		}
	}
	return values
}

// number reads a limit. The parsers refuse zero, which would read as "not asked for".
func number[T ~int64 | ~float64](r *reader, name string, parse func(string) (T, error)) T {
	text := r.text(name)
	if text == "" {
		return 0
	}
	value, err := parse(text)
	if err != nil {
		r.err = cmp.Or(r.err, fmt.Errorf("%s: %w", r.layer.label(name), err))
	}
	return value
}

// pairs reads K=V values, and where env is given K alone for the environment's value.
func (r *reader) pairs(name string, env lookup) map[string]string {
	var all map[string]string
	for _, entry := range r.layer.values[name] {
		key, value, ok := strings.Cut(entry, "=")
		switch {
		case key == "":
			r.refuse(name, entry, "no name before the \"=\"; give K=V")
		case ok:
		case env == nil:
			r.refuse(name, entry, "no \"=\"; give K=V")
		default:
			if value, ok = env(key); !ok {
				r.refuse(name, entry, "no such variable in the environment of this command; give %s=VALUE or leave it out", key)
			}
		}
		if all == nil {
			all = map[string]string{}
		}
		all[key] = value
	}
	return all
}

// cutPath splits a relative path after its first component.
func cutPath(name string) (first, rest string, deep bool) {
	return strings.Cut(filepath.Clean(name), "/")
}
