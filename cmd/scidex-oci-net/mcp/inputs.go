package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/spec"
)

// mostInputs bounds the inputs of a call.
const mostInputs = 100

// inputs are the binds of what a call names: below the operator's data, or outputs of runs. ofData says that some are data.
func (t *tools) inputs(ctx context.Context, names []string) (binds []string, ofData bool, err error) {
	if len(names) > mostInputs {
		return nil, false, fmt.Errorf("%d inputs: give at most %d; leave them out to see all of /data", len(names), mostInputs)
	}
	var all []spec.Input
	for _, name := range names {
		in, err := t.input(ctx, name)
		if err != nil {
			return nil, false, fmt.Errorf("input %s: %w", shown(name), err)
		}
		for i, other := range all {
			if in.Destination == other.Destination || below(in.Destination, other.Destination) || below(other.Destination, in.Destination) {
				return nil, false, fmt.Errorf("inputs %s and %s would hide each other at %s: give an output another name, as sha256:DIGEST:NAME", shown(names[i]), shown(name), in.Destination)
			}
		}
		_, stored := in.Digest()
		ofData = ofData || !stored
		all, binds = append(all, in), append(binds, in.String())
	}
	return binds, ofData, nil
}

func below(name, dir string) bool { return strings.HasPrefix(name, dir+"/") }

// input is one input: an output by its URI or its digest, else a name below the operator's data.
func (t *tools) input(ctx context.Context, name string) (spec.Input, error) {
	var source, inside string
	var err error
	switch {
	case strings.HasPrefix(name, outputScheme):
		source, inside, err = t.outputAt(ctx, name)
	case strings.HasPrefix(name, digestPrefix):
		source, inside, err = t.outputOf(ctx, name)
	default:
		source, err = t.dataAt(name)
		inside = name
	}
	if err == nil && checkName(inside) != nil {
		err = errors.New("its name cannot be one below /inputs; give it another, as sha256:DIGEST:NAME")
	}
	return spec.Input{Source: source, Destination: "/inputs/" + inside}, err
}

// digestPrefix begins the digest of an output, which a name may follow: sha256:DIGEST:NAME.
const digestPrefix = "sha256:"

// outputAt is the output with a URI, as a blob, and its path.
func (t *tools) outputAt(ctx context.Context, uri string) (source, path string, err error) {
	e, err := t.resource(ctx, uri)
	return digestPrefix + e.SHA256, string(e.Path), err
}

// outputOf is an output with a digest, and the name that it is given, else its path in the last run that has it. Other blobs, such
// as logs, are not the model's.
func (t *tools) outputOf(ctx context.Context, name string) (source, path string, err error) {
	sha256, path, named := strings.Cut(strings.TrimPrefix(name, digestPrefix), ":")
	if len(sha256) != 64 {
		return "", "", errors.New("give sha256: and the 64 digits of an output, as list_outputs shows them, then :NAME if it is to have another name")
	}
	output, err := t.Engine.OutputOf(ctx, sha256)
	if !named {
		path = string(output.Path)
	}
	return digestPrefix + sha256, path, err
}

// dataAt is the path of a name below the operator's data. One that leads out of it, by a symbolic link too, is refused: the path that
// is bound has none.
func (t *tools) dataAt(name string) (string, error) {
	if t.bounds.Data == spec.None {
		return "", errors.New("the operator shares no data; bring what the code reads as files, or name an output by its uri or as sha256:DIGEST")
	}
	data, err := filepath.EvalSymlinks(t.bounds.Data)
	if err != nil {
		return "", errors.New("the data that the operator shares cannot be read")
	}
	return inside(data, name)
}

// inside is the path of a name below data, without symbolic links.
func inside(data, name string) (string, error) {
	if checkName(name) != nil || strings.Contains(name, ":") { // it would separate source and destination
		return "", errors.New(`give a relative path below /data, without "..", colons and control characters, or an output by its uri or as sha256:DIGEST`)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(data, name))
	if errors.Is(err, os.ErrNotExist) {
		return "", errors.New("there is no such file or directory below /data")
	}
	if err != nil {
		return "", errors.New("it cannot be read")
	}
	if below, err := filepath.Rel(data, path); err != nil || !filepath.IsLocal(below) {
		return "", errors.New("it is a link that leads out of /data; choose another")
	}
	return path, nil
}
