// Compile makes the programs that runner/filter embeds:
//
//	compile ARCHITECTURE DIRECTORY
//
// The architecture is the GOARCH that scidex-oci is built for; it need not be this machine's. A file that is up to date
// is not written again, for Go's cache; programs for other architectures are removed.
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/internal/atomicfile"
	"github.com/scidex-ai/scidex-oci/spec"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "compile the filter of system calls:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("say an architecture and a directory")
	}
	arch, directory := args[0], args[1]
	files := map[string][]byte{}
	for name, audit := range map[string]bool{"plain": false, "audited": true} {
		some, err := filesOf(name+"-"+arch, arch, audit, spec.Filter)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		maps.Copy(files, some)
	}
	some, err := filesOf("proxy-plain-"+arch, arch, false, spec.ProxyFilter)
	if err != nil {
		return fmt.Errorf("proxy: %w", err)
	}
	maps.Copy(files, some)
	return replace(directory, files)
}

// profiler makes the profile of an architecture.
type profiler func(arch string, audit bool) (*specs.LinuxSeccomp, error)

// filesOf returns the program and its profile's digest, by which tests notice a change.
func filesOf(name, arch string, audit bool, filter profiler) (map[string][]byte, error) {
	profile, err := filter(arch, audit)
	if err != nil {
		return nil, err
	}
	program, err := compile(profile)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(profile)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		name + ".bpf":     program,
		name + ".profile": fmt.Appendf(nil, "%x\n", sha256.Sum256(text)),
	}, nil
}

// replace makes these files the only ones of their kinds in the directory.
func replace(directory string, files map[string][]byte) error {
	for _, pattern := range []string{"*.bpf", "*.profile"} {
		there, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			return err
		}
		for _, path := range there {
			if files[filepath.Base(path)] != nil {
				continue
			}
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	for name, content := range files {
		if err := write(filepath.Join(directory, name), content); err != nil {
			return err
		}
	}
	return nil
}

// write is atomic: Go embeds all files there except dotfiles.
func write(path string, content []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	aside := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d", filepath.Base(path), os.Getpid()))
	return atomicfile.Write(path, aside, atomicfile.Volatile, func(f *os.File) error {
		_, err := f.Write(content)
		return errors.Join(err, f.Chmod(0o644))
	})
}
