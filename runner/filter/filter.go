// Package filter embeds the filters of system calls that analyses have, as the programs that the kernel takes
// (seccomp(2)). scripts/build has them compiled (compile/), so that no run does and libseccomp is in no program of ours
// (docs/adr/0022).
package filter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// git has no file of the directory but its README, so that `go vet` works before scripts/build.
//
//go:embed programs
var programs embed.FS

// Program returns the program of runs with the audit or of those without (spec.Filter): struct sock_filter after struct
// sock_filter, in the machine's byte order.
func Program(audit bool) ([]byte, error) { return read(programs, audit) }

// read takes nothing for another architecture, under whose program every call would kill.
func read(from fs.ReadFileFS, audit bool) ([]byte, error) {
	name := "plain"
	if audit {
		name = "audited"
	}
	program, err := from.ReadFile("programs/" + name + "-" + runtime.GOARCH + ".bpf")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("this binary was built without its filter of system calls; build it with scripts/build")
	}
	if err != nil {
		return nil, fmt.Errorf("embedded filter of system calls: %w", err)
	}
	return program, nil
}
