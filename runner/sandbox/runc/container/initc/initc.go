// Package initc embeds the static program that is PID 1 of every container (src/init.c, compiled by
// scripts/build).
package initc

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

// The pattern does not name the built file, so that `go vet` works before scripts/build.
//
//go:embed *
var files embed.FS

// Program returns the compiled init.
func Program() ([]byte, error) {
	program, err := files.ReadFile("scidex-init")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this binary was built without the container's init; build it with scripts/build")
	}
	if err != nil {
		return nil, fmt.Errorf("embedded init: %w", err)
	}
	return program, nil
}
