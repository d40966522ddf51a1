package inputs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/spec"
)

// MissingError refuses a file or directory that does not exist.
type MissingError struct {
	Flag string // the user's name for it
	Path string // absolute
}

func (e *MissingError) Error() string { return fmt.Sprintf("%s %q: does not exist", e.Flag, e.Path) }

// Missing makes the error of a file that could not be opened. what is the flag that named it. If the file does not exist, the error says
// what was probably meant.
func Missing(what, path string, err error) error {
	if !errors.Is(err, fs.ErrNotExist) {
		if named := new(fs.PathError); errors.As(err, &named) {
			return fmt.Errorf("%s %q: %w", what, path, named.Err)
		}
		return fmt.Errorf("%s: %w", what, err)
	}
	return Likely(&MissingError{Flag: what, Path: path})
}

// namesFile reports whether only a file can be meant.
func (e *MissingError) namesFile() bool {
	return !strings.HasPrefix(e.Flag, "--") || e.Flag == "--script"
}

// Likely adds to the error of a missing file what was probably meant. It looks at the directories of the host, so it is for
// their user only.
func Likely(err error) error {
	var missing *MissingError
	if !errors.As(err, &missing) {
		return err
	}
	meant := missing.volume()
	if meant == "" {
		meant = missing.near()
	}
	if meant == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, meant)
}

// fixedPlace is where the directory of a flag is inside, "" if the user chooses it.
func fixedPlace(flag string) string {
	switch flag {
	case "--data", "--docs":
		return "/" + strings.TrimPrefix(flag, "--")
	case "--project":
		return projectDir
	}
	return ""
}

// volume says how to write SRC:DST, docker's form, where SRC exists.
func (e *MissingError) volume() string {
	source, destination, found := e.cutVolume()
	if !found {
		return ""
	}
	if place := fixedPlace(e.Flag); place != "" {
		meant := fmt.Sprintf("give only the directory, %s %s, which is %s inside", e.Flag, source, place)
		if in, err := spec.ParseInput(source + ":" + destination); err == nil {
			meant += ", or --input " + in.String()
		}
		return meant
	}
	if e.Flag == "--input" && !strings.HasPrefix(destination, "/") {
		return fmt.Sprintf("a destination starts with a slash: --input %s:%s", source, path.Join("/inputs", strings.TrimPrefix(destination, "inputs/")))
	}
	return ""
}

// cutVolume cuts the path at a colon before which something exists, and takes off docker's mode.
func (e *MissingError) cutVolume() (source, destination string, found bool) {
	volume := strings.TrimSuffix(strings.TrimSuffix(e.Path, ":ro"), ":rw")
	for i, char := range volume {
		if char != ':' {
			continue
		}
		if _, err := os.Stat(volume[:i]); err == nil {
			return volume[:i], volume[i+1:], volume[i+1:] != ""
		}
	}
	return "", "", false
}

// maxSearched bounds the names that a misspelt one is compared with: a directory may have millions.
const maxSearched = 10_000

// near names what is there with almost the same name, at the first part of the path that is missing.
func (e *MissingError) near() string {
	parent, name, rest := filepath.Dir(e.Path), filepath.Base(e.Path), ""
	for !isDir(parent) && parent != "/" {
		parent, name, rest = filepath.Dir(parent), filepath.Base(parent), filepath.Join(name, rest)
	}
	near := spec.Nearest(name, e.names(parent, rest))
	if near == "" {
		return ""
	}
	return fmt.Sprintf("did you mean %q?", filepath.Join(near, rest))
}

// names are the entries of a directory below which rest exists, and which are of the right kind.
func (e *MissingError) names(dir, rest string) []string {
	d, err := userdir.Open(dir)
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Names(maxSearched) // what could be read will do
	return slices.DeleteFunc(names, func(name string) bool {
		info, err := os.Stat(filepath.Join(dir, name, rest))
		return err != nil || e.Flag != "--input" && info.IsDir() == e.namesFile()
	})
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
