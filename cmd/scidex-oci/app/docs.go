package app

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/manual"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
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
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // documents are for everyone
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // as above
			return err
		}
	}
	return nil
}
