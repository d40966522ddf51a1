package mcpcmd

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/spec"
)

// mostInputs bounds the inputs of a call.
const mostInputs = 100

// inputs are the binds of names below the operator's data. A name that leads out of it, by a symbolic link too, is refused: the
// path that is bound has none.
func (t *tools) inputs(names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if t.bounds.Data == spec.None {
		return nil, errors.New("inputs: the operator shares no data (--data); bring what the code reads as files")
	}
	if len(names) > mostInputs {
		return nil, fmt.Errorf("%d inputs: give at most %d; leave them out to see all of /data", len(names), mostInputs)
	}
	data, err := filepath.EvalSymlinks(t.bounds.Data)
	if err != nil {
		return nil, errors.New("inputs: the data that the operator shares cannot be read")
	}
	var binds []string
	for _, name := range names {
		source, err := inside(data, name)
		if err != nil {
			return nil, fmt.Errorf("input %s: %w", shown(name), err)
		}
		binds = append(binds, spec.Input{Source: source, Destination: "/inputs/" + name}.String())
	}
	return binds, nil
}

// inside is the path of a name below data, without symbolic links.
func inside(data, name string) (string, error) {
	if checkName(name) != nil || strings.Contains(name, ":") { // it would separate source and destination
		return "", errors.New(`give a relative path below /data, without "..", colons and control characters`)
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
