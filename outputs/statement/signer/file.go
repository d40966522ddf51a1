package signer

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// keyMax bounds the file of a key, in bytes.
const keyMax = 4 << 10

// File is the path of a private key.
type File string

// Open reads the key. One that others may read, that another user owns, or that has a second name is refused.
func (f File) Open(context.Context) (statement.Signer, error) {
	text, err := f.read()
	if err != nil {
		return nil, err
	}
	private, err := statement.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", string(f), err)
	}
	return fileSigner{private}, nil
}

func (f File) read() ([]byte, error) {
	file, err := userdir.ReadAny(string(f))
	if errors.Is(err, unix.EISDIR) {
		return nil, f.irregular()
	}
	if err != nil {
		return nil, fmt.Errorf("%w; make a key with \"scidex-oci key new\", or sign nothing", err)
	}
	defer file.Close()
	if err := f.checkOwner(int(file.Fd())); err != nil {
		return nil, err
	}
	return readKey(file)
}

func (f File) irregular() error {
	return fmt.Errorf("%q is no regular file; give an Ed25519 key in PEM", string(f))
}

// readKey reads the file of a key, which is small.
func readKey(file *os.File) ([]byte, error) {
	text, err := bounded.ReadFile(file, keyMax)
	if err != nil {
		err = fmt.Errorf("%w; give an Ed25519 key in PEM", err)
	}
	return text, err
}

// PublicFile reads the file of a public key.
func PublicFile(path string) (statement.PublicKey, error) {
	file, err := userdir.ReadAny(path)
	if err != nil {
		return statement.PublicKey{}, fmt.Errorf("public key: %w", err)
	}
	defer file.Close()
	text, err := readKey(file)
	if err != nil {
		return statement.PublicKey{}, fmt.Errorf("public key: %w", err)
	}
	key, err := statement.ParsePublicKey(text)
	if err != nil {
		return key, fmt.Errorf("public key %q: %w", path, err)
	}
	return key, nil
}

// checkOwner refuses a file that others own, may read, or can reach by another name.
func (f File) checkOwner(fd int) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("%q: %w", string(f), err)
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return f.irregular()
	case int(st.Uid) != os.Geteuid() && st.Uid != 0:
		return fmt.Errorf("%q belongs to user %d, who can read and change it; make a key of your own with \"scidex-oci key new\"", string(f), st.Uid)
	case st.Mode&0o077 != 0:
		return fmt.Errorf("%q can be read or changed by others (mode %04o); give only yourself rights to it with \"chmod 600\", or make another if they had it", string(f), st.Mode&0o777)
	case st.Nlink != 1: // a run could have a directory that holds another of its names
		return fmt.Errorf("%q has %d names (hard links), and a run may see the others; remove them, or make a key with \"scidex-oci key new\"", string(f), st.Nlink)
	}
	return nil
}

// fileSigner signs with a key in memory.
type fileSigner struct{ key ed25519.PrivateKey }

// Public is its public key.
func (s fileSigner) Public() statement.PublicKey { return statement.PublicOf(s.key) }

// Sign signs a message. The same message has the same signature.
func (s fileSigner) Sign(_ context.Context, message []byte) ([]byte, error) {
	return ed25519.Sign(s.key, message), nil
}
