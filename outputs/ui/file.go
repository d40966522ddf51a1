package ui

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// file is a stored file of a run as a URL names it: one of its parts, an output also by its path.
type file struct {
	run        catalog.Key
	part, path string
}

// The parts of a run that are files.
const (
	outputPart = "output"
	stdoutPart = "stdout"
	stderrPart = "stderr"
	scriptPart = "script"
)

// fileOf returns the file that a URL names.
func fileOf(r *http.Request) (f file, err error) {
	values, err := query(r, "id", "attempt", "part", "path")
	if err != nil {
		return f, err
	}
	f = file{catalog.Key{ID: values.Get("id")}, values.Get("part"), values.Get("path")}
	if f.run.Attempt, err = strconv.Atoi(values.Get("attempt")); err != nil || f.run.Attempt < 1 {
		return f, refuse(http.StatusNotFound, "There is no such file.")
	}
	return f, nil
}

// purpose is what the proof signs: browsers store the URL of a saved file, which must not open the rest.
func (f file) purpose() []string {
	return []string{"download", f.run.ID, strconv.Itoa(f.run.Attempt), f.part, f.path}
}

// linkToFile is the URL of a file. Its proof is only for this file.
func (s *Server) linkToFile(f file) string {
	values := url.Values{"id": {f.run.ID}, "attempt": {strconv.Itoa(f.run.Attempt)}, "part": {f.part}}
	if f.path != "" {
		values.Set("path", f.path)
	}
	return "/" + s.key.sign(f.purpose()...) + "/" + downloadPage + "?" + values.Encode()
}

// links are those of a run's page.
type links struct {
	server *Server
	run    catalog.Key
}

// Output is the URL of an output.
func (l links) Output(o result.Output) string {
	path := o.Path
	if exact, err := base64.StdEncoding.DecodeString(o.PathB64); err == nil && o.PathB64 != "" {
		path = string(exact)
	}
	return l.of(path)
}

func (l links) of(path string) string { return l.server.linkToFile(file{l.run, outputPart, path}) }

// Outputs is the URL of the list.
func (l links) Outputs() string { return linkToOutputs(l.run, "") }

// Stdout is the URL of the whole stored standard output.
func (l links) Stdout() string { return l.server.linkToFile(file{run: l.run, part: stdoutPart}) }

// Stderr is the URL of the standard error.
func (l links) Stderr() string { return l.server.linkToFile(file{run: l.run, part: stderrPart}) }

// Script is the URL of the script.
func (l links) Script() string { return l.server.linkToFile(file{run: l.run, part: scriptPart}) }

// kept is the digest of a file, its size in bytes or -1 if unknown, and the name to save it under.
type kept struct {
	sha256 string
	size   int64
	name   string
}

// look finds a file in the catalog.
func (s *Server) look(ctx context.Context, f file) (k kept, err error) {
	if f.part == outputPart {
		entry, err := s.stores.Files.Output(ctx, f.run, []byte(f.path))
		return kept{entry.SHA256, entry.Size, string(entry.Path)}, err
	}
	run, err := s.stores.Runs.Find(ctx, f.run.String())
	if err != nil {
		return k, err
	}
	result, err := s.stores.Runs.Result(ctx, run)
	if err != nil {
		return k, err
	}
	switch {
	case f.part == stdoutPart:
		k = kept{result.Logs.Stdout.SHA256, -1, f.run.ID + ".stdout.txt"}
	case f.part == stderrPart:
		k = kept{result.Logs.Stderr.SHA256, -1, f.run.ID + ".stderr.txt"}
	case f.part == scriptPart && result.Script != nil:
		k = kept{result.Script.SHA256, -1, result.Script.Name}
	}
	if k.sha256 == "" {
		return k, refuse(http.StatusNotFound, "There is no such file.")
	}
	return k, nil
}
