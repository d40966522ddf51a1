package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// newKey makes a key with which all runs are signed.
func (h *harness) newKey(name string) (path string) {
	h.t.Helper()
	path = h.path(name)
	h.mustRun("key", "new", path)
	h.setenv("SCIDEX_OCI_SIGN_KEY", path)
	return path
}

// expectVerified verifies a run, and an export of it, by scidex-oci and by others' code.
func (h *harness) expectVerified(name, key string) {
	h.t.Helper()
	h.expectVerifiedHere(name, key)
	dir := filepath.Join(h.t.TempDir(), "export")
	h.mustRun("outputs", "export", name, dir)
	h.expectVerifiedByOthers(filepath.Join(dir, "scidex-statement.jsonl"), key)
}

// inTotoStatement is a statement as in-toto's types have it.
type inTotoStatement struct {
	Subject []struct {
		Name   string            `json:"name"`
		Digest map[string]string `json:"digest"`
	} `json:"subject"`
	PredicateType string `json:"predicateType"`
	Predicate     struct {
		BuildDefinition struct {
			ExternalParameters   map[string]any   `json:"externalParameters"`
			ResolvedDependencies []map[string]any `json:"resolvedDependencies"`
		} `json:"buildDefinition"`
		Outcome map[string]any   `json:"outcome"`
		Limits  []map[string]any `json:"limits"`
	} `json:"predicate"`
}

func (h *harness) expectVerifiedByOthers(file, key string) (all []inTotoStatement) {
	h.t.Helper()
	out, err := exec.Command("../statement/verify", file, key+".pub").Output()
	if err != nil {
		h.t.Fatalf("others do not verify %s: %s", file, saidBy(err))
	}
	for line := range bytes.Lines(out) {
		var one inTotoStatement
		if err := json.Unmarshal(line, &one); err != nil {
			h.t.Fatal(err)
		}
		all = append(all, one)
	}
	if len(all) != 2 {
		h.t.Fatalf("%d statements", len(all))
	}
	return all
}

func saidBy(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return err.Error()
}

// expectNotVerified checks that verify ends with 1 and says what.
func (h *harness) expectNotVerified(name, key, what string) {
	h.t.Helper()
	out := h.do("verify", name, "--key", key+".pub")
	if out.code != 1 || !strings.HasPrefix(out.stdout, "not verified: ") || !strings.Contains(out.stdout, what) {
		h.t.Errorf("verify %s: exit code %d, want 1 and %q\n%s%s", name, out.code, what, out.stdout, out.stderr)
	}
}

// expectReport calls verify with --json, whose object is as its schema says.
func (h *harness) expectReport(code int, verified bool, args ...string) {
	h.t.Helper()
	out := h.do(args...)
	var report struct {
		Verified bool
		Keys     []string
		Problems []struct{ Path, What string }
	}
	if err := decode("verify.json", []byte(out.stdout), &report); err != nil {
		h.t.Error(err)
	}
	if out.code != code || report.Verified != verified || (len(report.Problems) == 0) != verified {
		h.t.Errorf("exit code %d, want %d: %s%s", out.code, code, out.stdout, out.stderr)
	}
}

// TestSigned: others can verify the statement of a run, in every form, and every change of a file is found.
func TestSigned(t *testing.T) {
	h := newHarness(t)
	key := h.newKey("key")
	h.write("data/a.csv", "1,2\n", 0o644)
	script := h.write("fit.sh", "echo said; echo 1 >'a b.csv'; mkdir -p deep/er; cp /data/a.csv deep/er; printf x >\"$(printf 'odd\\377')\"; : >empty\n", 0o644)
	r := h.start("--id", h.newID(), "--env", "LEVEL=3", "--script", script)
	r.expect(t, "complete", "exit", 0)
	export, crate, archive := h.path("export"), h.path("crate"), h.path("crate.zip")
	h.mustRun("outputs", "export", r.ID, export)
	h.mustRun("crate", r.ID, "-o", crate)
	h.mustRun("crate", r.ID, "-o", archive)
	for _, name := range []string{r.ID, export, crate, archive} {
		h.expectVerifiedHere(name, key)
	}
	all := h.expectVerifiedByOthers(filepath.Join(export, "scidex-statement.jsonl"), key)
	if got := len(all[0].Subject); got != len(r.Outputs)+1 {
		t.Errorf("%d subjects of %d outputs", got, len(r.Outputs))
	}
	build := all[0].Predicate.BuildDefinition
	if build.ExternalParameters["env"].(map[string]any)["LEVEL"] != "3" || len(build.ResolvedDependencies) < 3 {
		t.Errorf("the provenance is of another run: %+v", build)
	}
	if enforced := all[1].Predicate; enforced.Outcome["state"] != "complete" || len(enforced.Limits) < 3 {
		t.Errorf("the enforcement is of another run: %+v", enforced)
	}

	other := h.path("other")
	h.mustRun("key", "new", other)
	for _, name := range []string{r.ID, export, crate, archive} {
		h.expectNotVerified(name, other, "which was not given")
	}
	h.expectReport(0, true, "verify", archive, "--key", other+".pub", "--key", key+".pub", "--json")
	h.expectReport(1, false, "verify", archive, "--key", other+".pub", "--json")
	h.mustRefuse([]string{"verify", r.ID}, "no key")
	h.mustRefuse([]string{"verify", r.ID, "--key", key}, "it is the private key")
	h.mustRefuse([]string{"verify", h.newID(), "--key", key + ".pub"}, "no run")
	h.mustRefuse([]string{"verify", script, "--key", key + ".pub"}, "zip")
	packed := readFile(t, archive)
	for why, changed := range map[string]string{ // local headers come first
		"names": strings.Replace(packed, "outputs/empty", "outputs/other", 1), "something follows the end": packed + "x", "does not lie in front": "#!/bin/sh\n" + packed,
	} {
		writeFile(t, h.path("changed.zip"), changed, 0o644)
		h.mustRefuse([]string{"verify", h.path("changed.zip"), "--key", key + ".pub"}, why)
		h.mustRefuse([]string{"verify", h.path("changed.zip")}, why)
	}

	for _, dir := range []string{export, filepath.Join(crate, "outputs")} {
		top := strings.TrimSuffix(dir, "/outputs")
		h.expectChangesFound(dir, top, key)
	}
	for _, name := range []string{"logs/stdout.txt", "script/fit.sh"} {
		h.expectChangeFound(filepath.Join(crate, name), crate, key)
	}
	metadata := filepath.Join(crate, "ro-crate-metadata.json")
	was := readFile(t, metadata)
	writeFile(t, metadata, strings.Replace(was, `"contentSize": "2"`, `"contentSize": "3"`, 1), 0o644)
	h.expectNotVerified(crate, key, "ro-crate-metadata.json")
	writeFile(t, metadata, strings.Replace(was, "CompletedActionStatus", "FailedActionStatus", 1), 0o644)
	h.expectNotVerified(crate, key, "actionStatus is not what the result says")
	h.mustRefuse([]string{"verify", crate}, "is signed; give the public key")
	writeFile(t, metadata, was, 0o644)
	h.expectVerifiedHere(crate, key)

	again := h.start("--id", h.newID(), "--env", "LEVEL=3", "--script", script)
	theirs := h.path("theirs")
	h.mustRun("outputs", "export", again.ID, theirs)
	for _, name := range []string{"scidex-statement.jsonl", "scidex-result.json"} {
		mine := readFile(t, filepath.Join(export, name))
		writeFile(t, filepath.Join(export, name), readFile(t, filepath.Join(theirs, name)), 0o644)
		h.expectNotVerified(export, key, "scidex-result.json: changed")
		writeFile(t, filepath.Join(export, name), mine, 0o644)
	}
}

func (h *harness) expectVerifiedHere(name, key string) {
	h.t.Helper()
	if out := h.do("verify", name, "--key", key+".pub"); out.code != 0 || !strings.HasPrefix(out.stdout, "verified: ") {
		h.t.Errorf("verify %s: exit code %d\n%s%s", name, out.code, out.stdout, out.stderr)
	}
}

// expectChangesFound changes files of an export or a crate, whose directory of outputs is dir.
func (h *harness) expectChangesFound(dir, top, key string) {
	h.t.Helper()
	for _, name := range []string{"a b.csv", "deep/er/a.csv", "empty"} {
		h.expectChangeFound(filepath.Join(dir, name), top, key)
	}
	for _, name := range []string{"scidex-result.json", "scidex-statement.jsonl"} {
		h.expectChangeFound(filepath.Join(top, name), top, key)
	}
	added := filepath.Join(dir, "deep/added")
	writeFile(h.t, added, "", 0o644)
	h.expectNotVerified(top, key, "not in the statement")
	h.mustSucceed(os.Remove(added), os.Symlink("er/a.csv", added))
	h.expectNotVerified(top, key, "no regular file")
	h.mustSucceed(os.Remove(added))
	h.expectVerifiedHere(top, key)
}

// expectChangeFound changes a file, removes it, and restores it.
func (h *harness) expectChangeFound(path, top, key string) {
	h.t.Helper()
	was, name := readFile(h.t, path), filepath.Base(path)
	writeFile(h.t, path, was+"x", 0o644)
	h.expectNotVerified(top, key, name)
	if was != "" {
		writeFile(h.t, path, "x"+was[1:], 0o644)
		h.expectNotVerified(top, key, name)
	}
	h.mustSucceed(os.Remove(path))
	h.expectNotVerified(top, key, name+": missing")
	writeFile(h.t, path, was, 0o644)
	h.expectVerifiedHere(top, key)
}

func (h *harness) mustSucceed(errs ...error) {
	h.t.Helper()
	if err := errors.Join(errs...); err != nil {
		h.t.Fatal(err)
	}
}

// TestSignedOrNotRun: if nothing can be signed, nothing is run.
func TestSignedOrNotRun(t *testing.T) {
	h := newHarness(t)
	h.mustRun("key", "new", "key")
	h.mustRun("key", "new", "another")
	h.mustRefuse([]string{"key", "new", "key"}, "exists")
	h.mustSucceed(os.Remove(h.path("key.pub")))
	h.mustRefuse([]string{"key", "new", "key"}, "exists")
	if _, err := os.Stat(h.path("key.pub")); err == nil {
		t.Error("a public key was made beside another private one")
	}
	h.mustRefuse([]string{"key", "new", "nowhere/key"}, "does not exist")
	public := h.path("another.pub")
	h.write("open", readFile(t, h.path("key")), 0o640)
	h.write("garbage", "no key", 0o600)
	fails := h.write("fails.sh", "#!/bin/sh\necho the agent is away >&2\nexit 3\n", 0o755)
	garbage := h.write("garbage.sh", "#!/bin/sh\nhead -c 100000 /dev/zero\n", 0o755)
	wrong := h.write("wrong.sh", "#!/bin/sh\nhead -c 64 /dev/zero\n", 0o755)
	for name, c := range map[string]struct{ args, want []string }{
		"missing":               {flags("--sign-key", "nowhere"), flags("no such file", "key new", "nothing is run")},
		"readable by others":    {flags("--sign-key", "open"), flags("can be read or changed by others", "chmod 600")},
		"no key":                {flags("--sign-key", "garbage"), flags("garbage", "-----BEGIN PRIVATE KEY-----")},
		"the public key":        {flags("--sign-key", "another.pub"), flags("another.pub")},
		"a directory":           {flags("--sign-key", "."), flags("no regular file")},
		"among the programs":    {flags("--sign-key", "/usr/bin/env"), flags("among the programs of the host")},
		"both":                  {flags("--sign-key", "key", "--sign-command", fails), flags("give one of them")},
		"no public key":         {flags("--sign-command", fails), flags("--sign-public-key")},
		"public key alone":      {flags("--sign-public-key", public), flags("--sign-command")},
		"a shell's command":     {flags("--sign-command", "a | b", "--sign-public-key", public), flags("not one plain command")},
		"no such command":       {flags("--sign-command", "./nope", "--sign-public-key", public), flags("nope")},
		"a command that fails":  {flags("--sign-command", fails, "--sign-public-key", public), flags("exit status 3", "the agent is away")},
		"much output":           {flags("--sign-command", garbage, "--sign-public-key", public), flags("more than 4096 bytes")},
		"another key":           {flags("--sign-command", wrong, "--sign-public-key", public), flags("does not sign by the public key")},
		"no public key's file":  {flags("--sign-command", wrong, "--sign-public-key", "nowhere"), flags("public key", "nowhere")},
		"a private public key ": {flags("--sign-command", wrong, "--sign-public-key", "key"), flags("it is the private key")},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			h.mustRefuse(slices.Concat([]string{"run", "--id", h.newID()}, c.args, []string{"--", "true"}), c.want...)
		})
	}
	if out := h.mustRun("ls", "--json").stdout; strings.TrimSpace(out) != "" && strings.TrimSpace(out) != "[]" {
		t.Errorf("something was run: %s", out)
	}
}

// lookAround prints everything by which an analysis could find a key: its variables, descriptors, mounts and processes,
// and every name outside of the host's programs, with what is in small files.
const lookAround = `env; cat /proc/*/environ /proc/*/cmdline /proc/*/mountinfo /proc/*/maps; ls -l /proc/*/fd /proc/*/cwd
find / -path /proc -prune -o -path /usr -prune -o -print
find / -path /proc -prune -o -path /usr -prune -o -path /sys -prune -o -path /dev -prune -o -type f -size -9k -exec cat {} +
true`

// TestSignKeyIsOutOfReach: no analysis finds the key, or its path, and no bind shows it.
func TestSignKeyIsOutOfReach(t *testing.T) {
	h := newHarness(t)
	secret := "sign-" + h.run
	h.mustSucceed(os.Mkdir(h.path("keys"), 0o755), os.Mkdir(h.path("keys/data"), 0o755))
	key := h.newKey("keys/" + secret)
	private := strings.Split(readFile(t, key), "\n")[1]
	for _, ids := range []string{"range", "self"} {
		if ids == "range" && !theHost.ranged || ids == "self" && theHost.root {
			continue
		}
		r := h.start("--id", h.newID(), "--ids", ids, "--data", "keys/data", "--", "sh", "-c", lookAround)
		r.expect(t, "complete", "exit", 0)
		said := h.mustRun("logs", r.ID)
		if !strings.Contains(said.stdout, "SCIDEX_WORK_DIR=") || !strings.Contains(said.stdout, "/etc/passwd") || !strings.Contains(said.stdout, "analysis:") {
			t.Errorf("the analysis has not looked: %s", said.stdout)
		}
		for _, found := range []string{secret, private, "PRIVATE KEY", "SIGN_KEY"} {
			if strings.Contains(said.stdout+said.stderr, found) {
				t.Errorf("with --ids %s the analysis finds %q", ids, found)
			}
		}
	}
	h.mustSucceed(os.Symlink("keys", h.path("link")))
	const what = "the private key that signs statements"
	for flag, path := range map[string]string{"--data": "keys", "--docs": "link", "--project": ".", "--stage": "keys", "--runtime": h.path("keys")} {
		h.mustRefuse([]string{"run", "--id", h.newID(), flag, path, "--", "true"}, flag)
	}
	h.refuseBinds([]refusedBind{{"keys", flags("holds", key, what)}, {"link", flags("holds", key, what)}, {".", flags("holds", key, what)}})
	if theHost.root {
		return // an id of its own cannot read the file, which refuses it before
	}
	for _, path := range []string{key, "link/" + secret} {
		h.mustRefuse([]string{"run", "--id", h.newID(), "--ids", "self", "--input", path, "--", "true"}, "--input", what)
	}
}

// TestSignKeyWithASecondName: a run could have a directory with a hard link to the key. Nothing is signed with such a key.
func TestSignKeyWithASecondName(t *testing.T) {
	h := newHarness(t)
	key := h.newKey("key")
	h.write("data/a.csv", "1\n", 0o644)
	h.mustSucceed(os.Link(key, h.path("data/innocent")))
	h.mustRefuse([]string{"run", "--id", h.newID(), "--data", "data", "--", "cat", "/data/innocent"}, key, "2 names")
	h.mustSucceed(os.Remove(h.path("data/innocent")))
	r := h.start("--id", h.newID(), "--data", "data", "--", "true")
	r.expect(t, "complete", "exit", 0)
}

// TestSignCommand: runs are signed by a command that has the key.
func TestSignCommand(t *testing.T) {
	h := newHarness(t)
	h.mustRun("key", "new", "key")
	calls := h.path("calls")
	// It signs as scidex-oci does, and refuses what the file "deny" names.
	command := h.write("sign.sh", `#!/bin/sh
cat >message; echo x >>`+calls+`
if [ -e deny ] && grep -q in-toto message; then echo denied >&2; exit 1; fi
openssl pkeyutl -sign -inkey key -rawin -in message | base64
`, 0o755)
	h.setenv("SCIDEX_OCI_SIGN_COMMAND", command)
	h.setenv("SCIDEX_OCI_SIGN_PUBLIC_KEY", h.path("key.pub"))
	r := h.start("--id", h.newID(), "--", "sh", "-c", "echo 1 >a.csv")
	r.expect(t, "complete", "exit", 0)
	h.expectVerified(r.ID, h.path("key"))
	if got := strings.Count(readFile(t, calls), "x"); got != 4 { // a trial before the run, one before the signatures, and both
		t.Errorf("%d calls", got)
	}
	h.write("deny", "", 0o644)
	r = h.start("--id", h.newID(), "--", "sh", "-c", "echo 1 >a.csv")
	r.expect(t, "error", "commit", 125)
	if !strings.Contains(r.Message, "the run has no signed statement") || !strings.Contains(r.Message, "denied") || len(r.Outputs) != 1 {
		t.Errorf("message %q, outputs %+v", r.Message, r.Outputs)
	}
	h.expectNotVerified(r.ID, h.path("key"), "has no signed statement")
	h.mustRun("outputs", "cat", r.ID, "a.csv")
	r = h.start("--id", h.newID(), "--", "sh", "-c", "exit 3")
	r.expect(t, "failed", "exit", 3)
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "has no signed statement") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// TestSignedEnds: each end is signed, also those without outputs, and fields that may change after the commit do not invalidate it.
func TestSignedEnds(t *testing.T) {
	h := newHarness(t)
	key := h.newKey("key")
	for name, c := range map[string]struct {
		args          []string
		state, reason string
		code          int
	}{
		"no outputs": {flags("--", "true"), "complete", "exit", 0},
		"failed":     {flags("--", "sh", "-c", "echo 1 >a; exit 3"), "failed", "exit", 3},
		"not found":  {flags("--", "/nope"), "failed", "not_found", 127},
		"timeout":    {flags("--timeout", "1s", "--grace", "1s", "--", "sleep", "1000"), "failed", "timeout", 124},
	} {
		t.Run(name, func(t *testing.T) {
			h := h.in(t)
			r := h.start(append(flags("--id", h.newID()), c.args...)...)
			r.expect(t, c.state, c.reason, c.code)
			h.expectVerified(r.ID, key)
		})
	}
	h.hook("test -e \"$SCIDEX_OUTPUT_DIR/a\"")
	r := h.start("--id", h.newID(), "--post-process", "./hook.sh", "--", "sh", "-c", "echo 1 >a")
	r.expect(t, "complete", "exit", 0)
	h.expectVerified(r.ID, key)
	r = h.start("--id", h.newID(), "--post-process", "./hook.sh", "--", "true")
	r.expect(t, "error", "post_process", 125)
	h.expectVerified(r.ID, key)
	h.mustRun("pin", r.ID)
	h.expectVerified(r.ID, key)
	id := h.newID()
	h.write("lines.jsonl", `{"id":"`+id+`","command":["sh","-c","echo 1 >a"]}`+"\n", 0o644)
	h.mustRun("batch", "lines.jsonl")
	h.expectVerified(id, key)
}

// TestSignedAndKilled: a run whose launcher was killed before its commit is signed by a recovery that has the key; one
// without the key reports that it is not signed.
func TestSignedAndKilled(t *testing.T) {
	h := newHarness(t)
	key := h.newKey("key")
	t.Run("with the key", func(t *testing.T) {
		h := h.in(t).emptied()
		id := h.beforeTheCommit("0")
		h.gc()
		h.show(id).expect(t, "complete", "exit", 0)
		h.expectVerified(id, key)
	})
	t.Run("signed already", func(t *testing.T) {
		h := h.in(t).emptied()
		var release func()
		id, _ := h.murder("0", nil, func(_ *launch, end flag) {
			release = h.lockCatalog()
			end.raise()
			until(t, hangTimeout, "the statement is there", func() bool { return len(matches(h.blobPath("*"))) >= 404 })
		})
		release()
		h.gc()
		h.show(id).expect(t, "complete", "exit", 0)
		h.expectVerified(id, key)
		h.mustRun("catalog", "check", "--digests")
	})
	t.Run("without the key", func(t *testing.T) {
		h := h.in(t).emptied()
		id := h.beforeTheCommit("0")
		h.setenv("SCIDEX_OCI_SIGN_KEY", "")
		h.gc()
		r := h.show(id)
		r.expect(t, "error", "commit", 125)
		if !strings.Contains(r.Message, "has no signed statement") || r.OutputsTotal == 0 {
			t.Errorf("message %q, %d outputs", r.Message, r.OutputsTotal)
		}
		h.expectNotVerified(id, key, "has no signed statement")
	})
	t.Run("at any moment", func(t *testing.T) {
		h := h.in(t).emptied()
		for i := range 12 {
			h.killSigned(i, key)
		}
		// gc may have run while the last supervisor, which lives a moment longer on a busy host, held its ingest directory.
		eventually(lostSupervisors)
		h.gc()
	})
}

// killSigned kills a launcher the later the higher i, and recovers.
func (h *harness) killSigned(i int, key string) {
	h.t.Helper()
	id := h.newID()
	l := h.launch(id, "--", "sh", "-c", "echo 1 >a.csv; echo ready >&2")
	l.await("ready")
	for range i * 40_000 { // how far the launcher gets until then differs each time, and any is right
		_ = syscall.Getppid()
	}
	if err := l.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.t.Fatal(err)
	}
	<-l.ended
	h.gc()
	switch r := h.show(id); r.State {
	case "complete":
		h.expectVerified(id, key)
	case "lost":
		h.expectNotVerified(id, key, "has no signed statement")
	default:
		h.t.Errorf("the run is %s (%s): %s", r.State, r.Reason, r.Message)
	}
}
