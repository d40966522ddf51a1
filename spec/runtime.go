package spec

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// runtimeForm is what a config file can name a runtime.
var runtimeForm = word(63, `^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// IsRuntimeName distinguishes a runtime's name from a directory, which contains '/' or is "." or "..".
func IsRuntimeName(runtime string) bool {
	return runtime != "" && runtime != "." && runtime != ".." && !strings.Contains(runtime, "/")
}

// ValidateRuntimeName refuses an invalid runtime name.
func ValidateRuntimeName(name string) error {
	if name == None || !runtimeForm(name) {
		return fmt.Errorf("runtime %s is not allowed: it must be 1 to 63 letters, digits, '.', '_' or '-', begin with a letter or digit, and not be none", quote(name))
	}
	return nil
}

// ownPlaces are container directories in which no host directory can be at its own path, and why. /tmp and the home
// directory allow mounts below them.
var ownPlaces = [...]struct{ dir, why string }{
	{"/analysis", "the script or project is there"},
	{"/bin", "the root filesystem's programs are there"},
	{"/boot", "nothing is shown there"},
	{"/data", "the data is there"},
	{"/dev", "the run's own devices are there"},
	{"/docs", "the documents are there"},
	{"/etc", "the run's own settings are there"},
	{"/inputs", "the inputs are there"},
	{"/lib", "the root filesystem's libraries are there"},
	{"/lib32", "the root filesystem's libraries are there"},
	{"/lib64", "the root filesystem's libraries are there"},
	{"/libx32", "the root filesystem's libraries are there"},
	{"/proc", "the run's own processes are there"},
	{"/run", "nothing of the host's is shown there"},
	{"/sbin", "the root filesystem's programs are there"},
	{"/sys", "nothing is shown there"},
	{"/usr", "the root filesystem's programs are there"},
	{"/var/tmp", "that is /tmp"},
	{"/work", "the working directory is there"},
}

// scratchDirs are the run's tmpfs on which host directories can be mounted.
var scratchDirs = [...]string{"/tmp", homeDir}

// ScratchDirs are the run's tmpfs that end with it and are no output.
func ScratchDirs() []string { return scratchDirs[:] }

// OnScratch reports whether a path is in a tmpfs of the run, which hides the root filesystem's.
func OnScratch(path string) bool {
	for _, dir := range scratchDirs {
		if within(path, dir) {
			return true
		}
	}
	return false
}

// CheckOwnPath refuses a host directory that cannot be shown at its own path, as programs installed there need it. path
// is absolute and clean.
func CheckOwnPath(path string) error {
	if strings.ContainsFunc(path, isControl) {
		return fmt.Errorf("%s has a control character: rename it", quote(path))
	}
	if path == "/" {
		return errors.New("that is all of the host: choose the directory that has the programs in its bin")
	}
	for _, scratch := range scratchDirs {
		if within(scratch, path) {
			return fmt.Errorf("it would have to be at its own path inside, and %s would hide %s there: choose the directory that has it as its bin", quote(path), scratch)
		}
	}
	for _, own := range ownPlaces {
		switch {
		case within(path, own.dir):
			return fmt.Errorf("it would have to be at its own path inside, %s, and %s: make it again elsewhere, such as below /opt or in your home directory", quote(path), own.why)
		case within(own.dir, path):
			return fmt.Errorf("it would have to be at its own path inside, and %s would hide %s there: choose the directory that has it as its bin", quote(path), own.dir)
		}
	}
	return nil
}

// Shows reports whether an absolute path may exist inside: in a directory that every run or the host's programs have, or in
// what the analysis binds at a path of its choice.
func (a Analysis) Shows(path string) bool {
	for _, own := range ownPlaces {
		if within(path, own.dir) {
			return true
		}
	}
	if within(path, a.StartDir()) {
		return true
	}
	inputs, err := a.ParseInputs()
	return err != nil || a.Runtime != "" && within(path, a.Runtime) || slices.ContainsFunc(inputs, func(in Input) bool { return within(path, in.Destination) })
}

// CheckOverlap refuses a directory shown at its own path if it hides an input or the working directory, or one of them hides it.
func (a Analysis) CheckOverlap(path string) error {
	inputs, err := a.ParseInputs()
	if err != nil {
		return err
	}
	if dir := a.StartDir(); within(dir, path) || within(path, dir) {
		return fmt.Errorf("it is shown at its own path, %s, and the working directory at %s, so that one would hide the other: choose another workdir, such as /job",
			quote(path), dir)
	}
	for _, in := range inputs {
		if within(in.Destination, path) || within(path, in.Destination) {
			return fmt.Errorf("it is shown at its own path, %s, and input %s at %s, so that one would hide the other: give the input another place, as SRC:/inputs/NAME",
				quote(path), quote(in.Source), quote(in.Destination))
		}
	}
	return nil
}

// runtimePath makes a runtime's directory absolute. A name stays as is.
func runtimePath(dir, runtime string) string {
	if runtime == "" || IsRuntimeName(runtime) {
		return runtime
	}
	return resolve(dir, runtime)
}

// runtimeEnv puts the runtime's programs first in PATH and sets its variable.
func runtimeEnv(env map[string]string, place Placement) {
	if place.Runtime == "" {
		return
	}
	env["PATH"] = filepath.Join(place.Runtime, "bin") + ":" + env["PATH"]
	if place.RuntimeVariable != "" {
		env[place.RuntimeVariable] = place.Runtime
	}
}
