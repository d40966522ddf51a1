package pending

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// dirName is the directory of pending results below the root: a record per run.
const dirName = "outcomes" // its name of earlier versions

// Refused ends the name of a result that can never be committed, because the run has ended otherwise.
const Refused = ".refused"

// Record is the head of such a record. Its entries are those of the harvest.
type Record struct {
	V       int         `json:"v"` // 1
	Catalog string      `json:"catalog"`
	Message string      `json:"message"` // message for the caller
	Run     catalog.Run `json:"run"`     // as it was to be committed
}

// Path is the path of a run's record.
func Path(host *phase.Host, key catalog.Key) string {
	return filepath.Join(host.Root, dirName, key.String())
}

// Exists reports whether the result of a run is pending.
func Exists(host *phase.Host, key catalog.Key) bool {
	_, err := os.Lstat(Path(host, key))
	return !errors.Is(err, fs.ErrNotExist) // on any other error assume that it is pending
}

// List lists the runs whose results wait, and the paths of refused ones.
func List(host *phase.Host) (waiting []catalog.Key, refused []string, err error) {
	entries, err := os.ReadDir(filepath.Join(host.Root, dirName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), Refused) {
			refused = append(refused, filepath.Join(host.Root, dirName, entry.Name()))
		} else if key, ok := workspace.ParseKey(strings.TrimSuffix(entry.Name(), record.Unfinished)); ok {
			waiting = append(waiting, key)
		}
	}
	return waiting, refused, err
}

// Count is the number of pending results below the root.
func Count(host *phase.Host) (int, error) {
	waiting, _, err := List(host)
	return len(waiting), err
}

// Digests calls note for each digest that a pending result names. An unreadable one is an error: it is unknown what it
// names.
func Digests(host *phase.Host, note func(sha256 string) bool) error {
	waiting, paths, err := List(host)
	if err != nil {
		return err
	}
	for _, key := range waiting {
		paths = append(paths, Path(host, key))
	}
	for _, path := range paths {
		if err := recordDigests(path, note); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("no blob is removed while %q cannot be read, which names some: %w", path, err)
		}
	}
	return nil
}

func recordDigests(path string, note func(sha256 string) bool) error {
	var waiting Record
	content, err := record.Open(path, &waiting)
	if err != nil {
		return err
	}
	defer content.Close()
	for _, sha256 := range waiting.Run.Blobs {
		note(sha256)
	}
	return content.Each(func(entry outputs.Entry) {
		if entry.Rejected == "" {
			note(entry.SHA256)
		}
	})
}
