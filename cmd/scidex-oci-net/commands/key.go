package commands

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/statement"
)

// newKey makes the command key: the key of a host that signs statements of runs.
func newKey(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "key",
		Usage:       "make the key that signs statements of runs",
		UsageText:   "scidex-oci key new PATH",
		Subcommands: []*cli.Command{newKeyNew(p)},
	}
}

func newKeyNew(p *command.Program) *cli.Command {
	var asJSON bool
	return &cli.Command{
		Name:      "new",
		Usage:     "make an Ed25519 key",
		UsageText: "scidex-oci key new PATH [--json]",
		ArgsUsage: "PATH",
		Description: `Writes the private key to PATH (PKCS #8, PEM), which only you can read, and the public key to PATH.pub (PEM), which is for
those who verify. Neither replaces a file. The id that is printed is the SHA-256 of the public key in DER. A run signs its
statement with --sign-key PATH, all runs with "scidex-oci config set sign_key PATH"; see docs/statement.md.`,
		Flags: options.List(options.Bool(&asJSON, "json", "print one JSON object")),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			if err := p.Load(c); err != nil {
				return err
			}
			return makeKey(p, options.Absolute(p.Options.Dir, given[0]), asJSON)
		},
	}
}

// madeKey says what key new has made.
type madeKey struct {
	KeyID      string `json:"key_id"`
	Path       string `json:"path"`
	PublicPath string `json:"public_path"`
}

func makeKey(p *command.Program, path string, asJSON bool) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	key := statement.PublicOf(private)
	m := madeKey{KeyID: key.ID(), Path: path, PublicPath: path + ".pub"}
	if err := createKey(m, statement.PrivatePEM(private), key.PEM()); err != nil {
		return err
	}
	if asJSON {
		return screen.WriteJSON(p.Stdout, m)
	}
	_, err = fmt.Fprintf(p.Stdout, "key          %s\nprivate key  %s\npublic key   %s\n", m.KeyID, screen.Escape(m.Path), screen.Escape(m.PublicPath))
	return err
}

// createKey makes both files, which were not there, durably.
func createKey(m madeKey, private, public []byte) (err error) {
	dir, name, err := userdir.Parent(m.Path)
	switch {
	case errors.Is(err, unix.EISDIR):
		return keyTaken(m.Path)
	case err != nil:
		return userdir.NoParent("file", m.Path, err)
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	if err := dir.Writable(); err != nil {
		return userdir.CannotMake("file", m.Path, err)
	}
	// The public one first: a private key without it could still be used, and would be in the way of another.
	made, err := writeKey(dir, name+".pub", public, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, made.Close()) }()
	second, err := writeKey(dir, name, private, 0o600)
	if err != nil {
		return errors.Join(err, dir.Remove(name+".pub", made))
	}
	return errors.Join(second.Close(), dir.Sync())
}

func keyTaken(path string) error {
	return fmt.Errorf("%q exists; name another file, since a key that is replaced is lost", path)
}

// writeKey makes one, and leaves it open.
func writeKey(dir *userdir.Dir, name string, content []byte, mode fs.FileMode) (*os.File, error) {
	file, err := dir.Exclusive(name, mode)
	if errors.Is(err, fs.ErrExist) {
		return nil, keyTaken(filepath.Join(dir.Path(), name))
	}
	if err != nil {
		return nil, err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync()); err != nil {
		return nil, errors.Join(err, dir.Remove(name, file), file.Close())
	}
	return file, nil
}
