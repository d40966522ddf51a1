// Package filter embeds the seccomp filters of analyses, as programs for the kernel (seccomp(2)). scripts/build compiles
// them (compile/), so that no run has to and no program of scidex-oci needs libseccomp (docs/adr/0017).
package filter

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
)

// git has only the directory's README, so that `go vet` works before scripts/build.
//
//go:embed programs
var programs embed.FS

// Program returns the program for runs with or without the audit (spec.Filter): a sequence of struct sock_filter, in the
// machine's byte order.
func Program(audit bool) ([]byte, error) { return read(programs, "", audit) }

// Proxy returns the program for the proxy of a run (spec.ProxyFilter).
func Proxy() ([]byte, error) { return read(programs, "proxy-", false) }

// read refuses a program for another architecture, which would kill every call.
func read(from fs.ReadFileFS, prefix string, audit bool) ([]byte, error) {
	name := prefix + "plain"
	if audit {
		name = prefix + "audited"
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
