package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
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
			return runDocs(c.App, dir)
		},
	}
}

// runDocs writes scidex-oci.1, a page for each command, and a completion script for each shell. The output is reproducible.
func runDocs(app *cli.App, dir string) error {
	files := map[string][]byte{"scidex-oci.1": mainPage(app)}
	for _, l := range leaves(app.Commands) {
		files["scidex-oci-"+strings.Join(l.path, "-")+".1"] = commandPage(l)
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

// page is a manual page in the man(7) macros.
type page struct{ bytes.Buffer }

func mainPage(app *cli.App) []byte {
	var p page
	p.title("scidex-oci", app.Usage)
	p.section("SYNOPSIS", app.UsageText)
	p.section("DESCRIPTION", app.Description)
	p.head("COMMANDS")
	for _, l := range leaves(app.Commands) {
		p.item(`\fBscidex\-oci\-`+roff(strings.Join(l.path, "-"))+`\fR(1)`, l.command.Usage)
	}
	p.flags("GLOBAL FLAGS", app.Flags)
	return p.Bytes()
}

func commandPage(l leaf) []byte {
	var p page
	p.title("scidex-oci-"+strings.Join(l.path, "-"), l.command.Usage)
	p.section("SYNOPSIS", l.command.UsageText)
	if l.command.Description != "" {
		p.section("DESCRIPTION", l.command.Description)
	}
	p.flags("FLAGS", l.command.Flags)
	if len(l.command.Subcommands) > 0 {
		p.head("COMMANDS")
		for _, below := range l.command.Subcommands {
			p.item(`\fB`+roff(below.Name)+`\fR`, below.Usage)
		}
	}
	p.section("SEE ALSO", "scidex-oci(1) for the global flags, the environment and the exit codes.")
	return p.Bytes()
}

func (p *page) title(name, usage string) {
	fmt.Fprintf(p, ".TH %q 1 \"\" \"scidex-oci\" \"User Commands\"\n", strings.ToUpper(name))
	p.head("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", roff(name), roff(usage))
}

func (p *page) head(name string) { fmt.Fprintf(p, ".SH %s\n", name) }

// section keeps lines as they are.
func (p *page) section(name, text string) {
	p.head(name)
	p.WriteString(".nf\n")
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		p.WriteString(roff(line) + "\n")
	}
	p.WriteString(".fi\n")
}

func (p *page) item(term, text string) { fmt.Fprintf(p, ".TP\n%s\n%s\n", term, roff(text)) }

func (p *page) flags(name string, flags []cli.Flag) {
	all := flagDocs(flags)
	if len(all) == 0 {
		return
	}
	p.head(name)
	for _, o := range all {
		var forms []string
		for _, n := range slices.Backward(o.names) {
			forms = append(forms, `\fB`+roff(dashed(n))+`\fR`)
		}
		term := strings.Join(forms, ", ")
		if o.value != "" {
			term += ` \fI` + roff(o.value) + `\fR`
		}
		p.item(term, o.usage)
	}
}

// roff escapes text: typed hyphens stay hyphens, and no line is read as a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
