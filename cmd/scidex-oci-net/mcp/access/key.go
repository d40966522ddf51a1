package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/owned"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

const (
	// leastKey is the length of the shortest key, in characters.
	leastKey = 16
	mostKey  = 4096
)

// Key is what a client has to show.
type Key string

// newKey makes a key of 130 random bits.
func newKey() Key { return Key(rand.Text()) }

// ReadKey reads the key of a file, which is made if it is missing. Without a name the key is new.
func ReadKey(path string) (Key, error) {
	if path == "" {
		return newKey(), nil
	}
	dir, name, err := userdir.Parent(path)
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", userdir.NoParent("file", path, err))
	}
	defer dir.Close()
	if uid, _, other := dir.Owner(); other {
		return "", fmt.Errorf("--key-file %q: uid %d owns a directory of this path, and could exchange the key; name a file in directories of root", path, uid)
	}
	f, err := dir.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return writeKey(dir, name, path)
	}
	if err != nil {
		return "", fmt.Errorf("--key-file %q: %w; name a file that you can read", path, userdir.Plain(err))
	}
	defer f.Close()
	key, err := keyOf(f)
	if err != nil {
		return "", fmt.Errorf("--key-file %q: %w", path, err)
	}
	return key, nil
}

// writeKey makes a file with a new key.
func writeKey(dir *userdir.Dir, name, path string) (Key, error) {
	f, err := dir.Exclusive(name, 0o600)
	if err != nil {
		return "", fmt.Errorf("--key-file: %w", userdir.CannotMake("file", path, err))
	}
	key := newKey()
	_, err = f.WriteString(string(key) + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", fmt.Errorf("--key-file: %w", err)
	}
	return key, nil
}

// keyOf reads a key from a file that only its owner can read.
func keyOf(f *os.File) (Key, error) {
	if err := owned.Check(f, owned.Use); err != nil {
		return "", fmt.Errorf("%w; run chmod 600 on it, or name a file of your own", err)
	}
	text, err := io.ReadAll(io.LimitReader(f, mostKey+1))
	key := strings.TrimSpace(string(text))
	if err == nil && (len(key) < leastKey || len(text) > mostKey || strings.ContainsFunc(key, notPrintable)) {
		err = fmt.Errorf("it holds no key; write one line of %d characters or more without spaces, or remove it for a new one", leastKey)
	}
	return Key(key), err
}

func notPrintable(r rune) bool { return r <= ' ' || r > '~' }

// opens reports whether a request has the key. How long that takes does not depend on the key.
func (k Key) opens(authorization []string) bool {
	if len(authorization) != 1 {
		return false
	}
	scheme, given, _ := strings.Cut(authorization[0], " ")
	want, got := sha256.Sum256([]byte(k)), sha256.Sum256([]byte(strings.TrimSpace(given)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
