package app

import (
	"bytes"
	"errors"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/manual"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

func newDocsCommand(p *command.Program) *cli.Command {
	var dir string
	return &cli.Command{
		Name:      "docs",
		Hidden:    true,
		Usage:     "write man pages and completion scripts",
		UsageText: "scidex-oci docs --dir DIR",
		Flags:     []cli.Flag{&cli.StringFlag{Name: "dir", Usage: "directory `DIR` to write to", Destination: &dir}},
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			if dir == "" {
				return command.Usagef("docs needs --dir DIR")
			}
			if p.Net == nil {
				return drivers.ErrMissing // it has the flags of all commands
			}
			return runDocs(c.App, dir)
		},
	}
}

// runDocs writes scidex-oci.1, a page for each command, and a completion script for each shell. The output is reproducible.
func runDocs(app *cli.App, dir string) error {
	main := mainPage(app)
	for _, l := range leaves(app.Commands) {
		main.Commands = append(main.Commands, manual.Entry{Name: "scidex-oci-" + strings.Join(l.path, "-") + "(1)", Usage: l.command.Usage})
	}
	files := map[string][]byte{"scidex-oci.1": main.Man("")}
	for _, l := range leaves(app.Commands) {
		files["scidex-oci-"+strings.Join(l.path, "-")+".1"] = commandPage(l.path, l.command).
			Man("scidex-oci(1) for the global flags, the environment and the exit codes.")
	}
	for shell, write := range completions() {
		var script bytes.Buffer
		if err := write(&script, app); err != nil {
			return err
		}
		files["scidex-oci."+shell] = script.Bytes()
	}
	return writeDocs(dir, files)
}

// writeDocs replaces the files of a directory.
func writeDocs(path string, files map[string][]byte) (err error) {
	dir, err := userdir.Make(path, 0o755) // documents are for everyone
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	for name, text := range files {
		err := dir.Write(name, true, 0o644, func(f *os.File) error {
			_, err := f.Write(text)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}
