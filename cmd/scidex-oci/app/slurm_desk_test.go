package app

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/commands"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

// desk is a login node. Slurm's commands there are scripts of the test, which do what no real controller does when asked to: fail
// at one moment. scripts/test slurm has the real ones.
type desk struct {
	t   *testing.T
	dir string
}

func (d desk) path(name string) string { return filepath.Join(d.dir, name) }

func (d desk) write(name, text string, mode os.FileMode) {
	d.t.Helper()
	if err := os.WriteFile(d.path(name), []byte(text), mode); err != nil {
		d.t.Fatal(err)
	}
}

// run runs one command line with the root of the desk.
func (d desk) run(args ...string) (code int, stdout, stderr string) {
	d.t.Helper()
	return d.runWith("root", args...)
}

func (d desk) runWith(root string, args ...string) (code int, stdout, stderr string) {
	d.t.Helper()
	out, errs := file(d.t, filepath.Join(d.t.TempDir(), "stdout")), file(d.t, filepath.Join(d.t.TempDir(), "stderr"))
	p := &command.Program{Net: commands.New, Stdin: strings.NewReader(""), Stdout: &screen.Stdout{File: out}, Stderr: errs, Env: variables(map[string]string{
		"SCIDEX_OCI_ROOT": d.path(root), "SCIDEX_OCI_TMP": d.dir, "XDG_CONFIG_HOME": d.dir,
	})}
	code = execute(append([]string{"scidex-oci"}, args...), p)
	return code, read(d.t, out), read(d.t, errs)
}

// good is run for a command line that must succeed.
func (d desk) good(args ...string) string {
	d.t.Helper()
	code, stdout, stderr := d.run(args...)
	if code != 0 {
		d.t.Fatalf("%q: code %d, %s", args, code, stderr)
	}
	return stdout
}

// submit submits a line for each id.
func (d desk) submit(name string, ids ...string) slurm.Spool {
	d.t.Helper()
	d.write(name+".jsonl", sheet(ids...), 0o644)
	d.good("slurm", "submit", "--spool", d.path(name), d.path(name+".jsonl"))
	return d.open(name)
}

func (d desk) open(name string) slurm.Spool {
	d.t.Helper()
	s, err := slurm.Open(d.path(name))
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

// deliver delivers a failure of the n-th line, as of a node.
func (d desk) deliver(s slurm.Spool, n int) {
	d.t.Helper()
	line, err := s.Line(n)
	if err != nil {
		d.t.Fatal(err)
	}
	host, err := os.Hostname() // the cluster has one machine
	if err != nil {
		d.t.Fatal(err)
	}
	run := catalog.Run{
		Key: line.Key(), Outcome: outcome.Outcome{State: outcome.Failed, Reason: "exit", ExitCode: 3}, CreatedAt: line.CreatedAt, StartedAt: line.CreatedAt,
		FinishedAt: time.Now().UTC(), Request: line.Request, Report: json.RawMessage(`{"enforced":[]}`), Host: host, BootID: "b",
	}
	if err := s.Conclude(n, run); err != nil {
		d.t.Fatal(err)
	}
}

// bound is the catalog that the blob store of a root belongs to, "" for none.
func (d desk) bound(root string) string {
	data, _ := os.ReadFile(filepath.Join(d.path(root), "blobs", "catalog_id")) // none is ""
	return strings.TrimSpace(string(data))
}

func sheet(ids ...string) (text string) {
	for _, id := range ids {
		text += fmt.Sprintf("{\"id\":%q,\"command\":[\"true\"]}\n", id)
	}
	return text
}
