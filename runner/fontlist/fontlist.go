// Package fontlist keeps the list of fonts that matplotlib makes if its cache directory has none, one for each root
// filesystem and runtime, so that a run does not open every font.
package fontlist

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/inputs/cachefile"
)

// Max bounds a list in bytes. That of 2,000 fonts is a tenth of it.
const Max = 8 << 20

// List is a file of matplotlib's cache directory. Its name has the version of its format. The zero List stands for a
// Python without matplotlib.
type List struct {
	Name string
	Data []byte
}

// name is what matplotlib calls the file.
var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^fontlist-v[0-9]{1,8}\.json$`) })

// Parse reads what Program printed: the name of the file in the first line, then its contents.
func Parse(printed []byte) (List, error) {
	first, data, found := bytes.Cut(printed, []byte("\n"))
	if len(printed) == 0 {
		return List{}, nil
	}
	if !found || !name().Match(first) || len(data) > Max {
		return List{}, errors.New("this is no list of fonts of matplotlib")
	}
	return List{Name: string(first), Data: data}, nil
}

// Program prints the list; nothing if matplotlib cannot be imported or keeps its list elsewhere.
const Program = `
import sys
try:
    import matplotlib, matplotlib.font_manager, pathlib
except ImportError:
    sys.exit()
for file in pathlib.Path(matplotlib.get_cachedir()).glob("fontlist-v*.json"):
    sys.stdout.write(file.name + "\n" + file.read_text())
    break
`

// Find returns the list with that key below root, or an error if none can be used.
func Find(root, key string) (List, error) {
	file, size, err := cachefile.Open(location(root, key), Max+maxName)
	if err != nil {
		return List{}, err
	}
	defer file.Close()
	printed := make([]byte, size)
	if _, err := io.ReadFull(file, printed); err != nil {
		return List{}, err
	}
	return Parse(printed)
}

// Keep keeps a list for Find.
func Keep(root, key string, list List) error {
	return cachefile.Replace(location(root, key), func(w io.Writer) error {
		if list.Name == "" {
			return nil
		}
		_, err := fmt.Fprintf(w, "%s\n%s", list.Name, list.Data)
		return err
	})
}

// maxName bounds the first line in bytes.
const maxName = 64

func location(root, key string) string { return filepath.Join(root, "fonts", key) }
