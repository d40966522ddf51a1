package check

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Stamp says when and where a report was made. Reports embed it.
type Stamp struct {
	Time   time.Time `json:"time"` // of its end, UTC
	Host   string    `json:"host"`
	Kernel string    `json:"kernel"` // empty if it cannot be read
}

// NewStamp describes the kernel by files of /proc/sys/kernel.
func NewStamp(kernel ...string) (Stamp, error) {
	host, err := os.Hostname()
	s := Stamp{Time: time.Now().UTC().Truncate(time.Millisecond), Host: host}
	for _, name := range kernel {
		text, _ := os.ReadFile(filepath.Join("/proc/sys/kernel", name)) // empty if it cannot be read
		s.Kernel += " " + strings.TrimSpace(string(text))
	}
	s.Kernel = strings.TrimSpace(s.Kernel)
	return s, err
}

// Confined is the part of an analysis that confines its run. What to run and what to deliver are empty.
func Confined(a spec.Analysis) spec.Analysis {
	a.ID, a.Command, a.Script, a.Args = "", nil, "", nil
	a.Stage, a.Export, a.Outputs, a.Exclude, a.Keep = "", "", nil, nil, spec.KeepNever
	return a
}

// RandomName is prefix and 16 random hexadecimal digits.
func RandomName(prefix string) string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return prefix + hex.EncodeToString(random[:])
}

// Dir is a working directory of a check. Its lock ends with the process, by which lockdir.Sweep finds what a killed one
// left. The zero Dir is none.
type Dir struct {
	Path string
	lock *os.File
}

// MakeDir makes a directory that only the caller can enter.
func MakeDir(path string) (Dir, error) {
	lock, err := lockdir.Make(path)
	if err != nil {
		return Dir{}, err
	}
	return Dir{path, lock}, nil
}

// Remove removes the directory with its content.
func (d Dir) Remove() error {
	if d.lock == nil {
		return nil
	}
	return errors.Join(os.RemoveAll(d.Path), d.lock.Close())
}
