package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// GlobEscape makes text a pattern that matches only itself.
func GlobEscape(text string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
}

// KeyOfState reads the name of a state file: <id>@<attempt>.json.
func KeyOfState(name string) (key catalog.Key, ok bool) {
	base, ok := strings.CutSuffix(name, ".json")
	if !ok {
		return catalog.Key{}, false
	}
	return ParseKey(base)
}

// Exists reports whether something is at a path, as far as is visible.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// ParseKey reads <id>@<attempt>.
func ParseKey(name string) (key catalog.Key, ok bool) {
	id, attempt, cut := strings.Cut(name, "@")
	n, err := strconv.Atoi(attempt)
	if !cut || err != nil || n < 1 || strconv.Itoa(n) != attempt {
		return catalog.Key{}, false
	}
	return catalog.Key{ID: id, Attempt: n}, true
}

// WorkName is the part of a run's directory that is /work.
const WorkName = "work"

// StatePath is the state file of a run.
func StatePath(root string, key catalog.Key) string {
	return filepath.Join(root, "runs", key.String()+".json")
}

// Ignore is err, or nil if it is the harmless one.
func Ignore(err, harmless error) error {
	if errors.Is(err, harmless) {
		return nil
	}
	return err
}

// RunDir is the directory of a run on the host.
func RunDir(tmp, id string) string { return filepath.Join(tmp, lockdir.RunPrefix+id) }

// CloseFile closes a file; nil is closed.
func CloseFile(f *os.File) error {
	if f == nil {
		return nil
	}
	return f.Close()
}

// AsidePath is where the kept directory of an attempt goes when the next one takes its name.
func AsidePath(path string, attempt int) string { return fmt.Sprintf("%s@%d", path, attempt) }

// LogNames are the files of standard output and standard error in the ingest directory.
var LogNames = [2]string{"log-stdout", "log-stderr"}
