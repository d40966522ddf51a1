package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// finding is one probe of doctor.
type finding struct{ Code, Status, Seen, Means, Cure, Command, After string }

// doctorReport is what `doctor --json` prints, as docs/schema/doctor.json promises it.
type doctorReport struct {
	Works   bool
	Summary struct {
		Run, Limits, IDs string
		UIDOnHost        int    `json:"uid_on_host"`
		SocketWall       string `json:"socket_wall"`
	}
	Findings []finding
}

func (r doctorReport) of(code string) finding {
	for _, f := range r.Findings {
		if f.Code == code {
			return f
		}
	}
	return finding{}
}

// failure returns the first probe that failed with the words.
func (r doctorReport) failure(words string) finding {
	for _, f := range r.Findings {
		if f.Status == "fail" && strings.Contains(f.Seen, words) {
			return f
		}
	}
	return finding{}
}

// expect checks the status of a probe, and that its text has the words.
func (r doctorReport) expect(t *testing.T, code, status string, words ...string) {
	t.Helper()
	f := r.of(code)
	if f.Status != status {
		t.Errorf("%s: %+v, want %s; the run says %+v, and what it came after %+v", code, f, status, r.of("run.true"), r.of(f.After))
	}
	for _, word := range words {
		if !strings.Contains(strings.Join([]string{f.Seen, f.Means, f.Cure, f.Command}, "\n"), word) {
			t.Errorf("%s: no %q in %+v", code, word, f)
		}
	}
}

// doctor runs `doctor --json` by a prefix of commands, and reads what it printed.
func (h *harness) doctor(code int, prefix []string, args ...string) doctorReport {
	h.t.Helper()
	argv := slices.Concat(prefix, []string{theHost.bin, "doctor", "--json"}, args)
	out := h.finish(h.command(argv[0], argv[1:]...))
	r, err := parseDoctor([]byte(out.stdout))
	if err != nil {
		h.t.Fatalf("%q: exit code %d, %v\n%s%s", argv, out.code, err, out.stdout, out.stderr)
	}
	if out.code != code || r.Works != (code == 0) {
		h.t.Fatalf("%q: exit code %d, want %d; works: %v\n%s\n%s", argv, out.code, code, r.Works, out.stdout, out.stderr)
	}
	h.checkCured()
	return r
}

// checkCured checks that an examination has left no run and no root. The harness and the suite look for processes,
// groups and mounts.
func (h *harness) checkCured() {
	h.t.Helper()
	left := eventually(func() []string { // another suite may run at the same time
		return slices.Concat(ours(matches("/tmp/scidex-analysis-doctor-*")), ours(matches("/tmp/.scidex-oci-doctor-*")),
			groupsOf("doctor-"), mountsOf("/root/doctor-"), matches(filepath.Join(h.root, "doctor-*")), matches(filepath.Join(h.root, ".scidex-oci-doctor-*")))
	})
	if len(left) > 0 {
		h.t.Errorf("left behind: %q", left)
	}
}

// ours are the files of the user of this suite.
func ours(paths []string) []string {
	return slices.DeleteFunc(paths, func(path string) bool {
		info, err := os.Lstat(path)
		return err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Geteuid()
	})
}

// parseDoctor reads a report and checks it against the schema.
func parseDoctor(raw []byte) (r doctorReport, err error) {
	err = decode("doctor.json", raw, &r)
	return r, err
}

// TestDoctorAgreesWithRun: doctor predicts how a default run ends, here and with any flags.
func TestDoctorAgreesWithRun(t *testing.T) {
	for name, args := range map[string][]string{
		"defaults":    {"--limits=enforce"},
		"best effort": {"--limits=best-effort"},
		"ids range":   {"--ids=range", "--limits=best-effort"},
		"ids self":    {"--ids=self", "--limits=best-effort"},
		"no data":     {"--data=nowhere", "--limits=best-effort"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			run := h.start(slices.Concat([]string{"--id", h.id("x")}, args, []string{"--", "true"})...)
			code := map[bool]int{true: 0, false: 1}[run.State == "complete"]
			r := h.doctor(code, nil, args...)
			if code == 1 {
				why, advice, _ := strings.Cut(run.Message, "; ")
				r.expect(t, "run.true", "fail", why, advice)
				return
			}
			if r.Summary.IDs != run.Sandbox.IDs || r.Summary.SocketWall != "overlay" || r.Summary.UIDOnHost < 0 {
				t.Errorf("%+v; the run's sandbox is %+v", r.Summary, run.Sandbox)
			}
			if held := run.enforcement("memory").By == "cgroup"; held == (r.Summary.Limits == "best-effort") {
				t.Errorf("limits %q, the run's are %+v", r.Summary.Limits, run.Enforced)
			}
			r.expect(t, "run.python", "ok", "/usr/bin/python3")
		})
	}
}

// TestDoctorOfOuterLimits: doctor reports the same limits as a run, also if the caller could make control groups.
func TestDoctorOfOuterLimits(t *testing.T) {
	h := newHarness(t)
	run := h.start("--id", h.id("x"), "--limits=outer", "--", "true")
	r := h.doctor(0, nil, "--limits=outer")
	if r.Summary.Limits != "outer" {
		t.Errorf("%+v", r.Summary)
	}
	_, unheld, _ := strings.Cut(r.Summary.Run, " holds a limit of ")
	for _, limit := range []string{"memory", "cpus", "pids"} {
		if held := run.enforcement(limit).By != "none"; held == slices.Contains(strings.Split(unheld, ", "), limit) {
			t.Errorf("%q; the run's are %+v", r.Summary.Run, run.Enforced)
		}
	}
}

// TestDoctorByDefault: doctor reports what each tier has, and, if a default run is refused, why and what to do.
func TestDoctorByDefault(t *testing.T) {
	h := newHarness(t)
	r := h.doctor(map[bool]int{true: 0, false: 1}[theHost.cgroup], nil, "--limits=enforce")
	for _, code := range []string{
		"userns.unshare", "idmap.self", "idmap.range", "userns.nested", "mount.tmpfs", "mount.proc", "mount.bind", "mount.overlay",
		"namespace.network", "seccomp.filter", "seccomp.notify", "process.parent_death", "process.pidfd", "disk.root", "disk.tmp", "catalog.open",
	} {
		r.expect(t, code, "ok")
	}
	r.expect(t, "landlock", "ok", fmt.Sprintf("version %d", max(kernelLandlock(), 2)))
	if theHost.ranged {
		r.expect(t, "idmap.subids", "ok", "user ids ")
	} else {
		r.expect(t, "idmap.subids", "warn", "usermod --add-subuids")
	}
	if theHost.cgroup {
		road := map[string]string{"v1": "cgroup.v1.", "systemd": "cgroup.v2.systemd.", "delegated": "cgroup.v2.delegated."}[r.Summary.Limits]
		r.expect(t, road+"memory", "ok", "2GiB")
		r.expect(t, road+"pids", "ok", "100")
		return
	}
	refused := h.start("--id", h.id("x"), "--limits=enforce", "--", "true")
	place := r.of("cgroup.place")
	cure, same := strings.CutPrefix(refused.Message, "limits cannot be enforced: "+place.Seen+"; ")
	if place.Status != "fail" || !same || cure != place.Cure && !strings.Contains(place.Cure, "--limits outer") {
		t.Errorf("%+v; run says %q", place, refused.Message)
	}
	r.expect(t, "cgroup.place", "fail", "--limits best-effort", "scidex-oci") // in a container by --limits outer
	r.expect(t, "cgroup.v1.memory", "skipped")
	if r.of("cgroup.v1.memory").After != "cgroup.place" || r.Summary.Limits != "none" {
		t.Errorf("%+v, %+v", r.of("cgroup.v1.memory"), r.Summary)
	}
	out := h.mustRefuse([]string{"run", "--limits=enforce", "--", "true"}, `"scidex-oci doctor"`)
	if strings.Contains(refused.Message, "doctor") || out.stdout != "" {
		t.Errorf("%q, %q", refused.Message, out.stdout)
	}
}

// doctor does not make a missing default root, and does not change an existing catalog.
func TestDoctorLeavesTheCatalogAlone(t *testing.T) {
	h := newHarness(t)
	h.doctor(0, nil, "--limits=best-effort")
	if _, err := os.Stat(h.root); !os.IsNotExist(err) {
		t.Errorf("the root: %v", err)
	}
	h.start("--id", h.id("x"), "--", "true").expect(t, "complete", "exit", 0)
	before := h.mustRun("ls", "--json").stdout
	r := h.doctor(0, nil, "--limits=best-effort")
	r.expect(t, "catalog.open", "ok", "with its blob store")
	if after := h.mustRun("ls", "--json").stdout; after != before {
		t.Errorf("before %s, after %s", before, after)
	}
	stamp := filepath.Join(h.root, "blobs", "catalog_id")
	if err := errors.Join(os.Remove(stamp), os.WriteFile(stamp, []byte("another\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	r = h.doctor(1, nil, "--limits=best-effort")
	r.expect(t, "catalog.open", "fail", "the blob store belongs to catalog another")
	r.expect(t, "run.true", "ok")
}

// TestDoctorForAPerson: without --json doctor prints lines.
func TestDoctorForAPerson(t *testing.T) {
	h := newHarness(t)
	short := h.mustRun("doctor", "--limits=best-effort").stdout
	if !strings.HasPrefix(short, "run works with the defaults\nlimits: ") || strings.Contains(short, "\nok ") || !strings.Contains(short, " well; -v prints them too\n") {
		t.Errorf("without -v:\n%s", short)
	}
	out := h.mustRun("doctor", "-v", "--limits=best-effort")
	for _, line := range []string{"\nok       mount.overlay ", "\nok       run.true "} {
		if !strings.Contains(out.stdout, line) {
			t.Errorf("no %q in\n%s", line, out.stdout)
		}
	}
	if strings.Contains(out.stdout, "\x1b") || out.stderr != "" {
		t.Errorf("%+v", out)
	}
	h.mustRefuse([]string{"doctor", "--memroy=1GiB"}, "--memroy", "--memory")
	h.mustRefuse([]string{"doctor", "word"}, "takes none")
	h.mustRefuse([]string{"doctor", "--memory=much"}, "--memory", "much")
}

// expectShort checks that the run is refused for lack of space. Users other than root have only one id in the
// namespace, and that is reported first.
func (r doctorReport) expectShort(t *testing.T) {
	t.Helper()
	if theHost.root {
		r.expect(t, "run.true", "fail", "--min-free")
		return
	}
	r.expect(t, "run.true", "fail")
}

// TestDoctorBroken breaks each requirement that a test can break.
func TestDoctorBroken(t *testing.T) {
	unshare := func(flags, script string) []string {
		return []string{"unshare", flags, "sh", "-ec", script + `; exec "$@"`, "sh"}
	}
	mounts := map[bool]string{true: "-m", false: "-Urm"}[theHost.root]
	for name, c := range map[string]struct {
		prefix []string
		env    string
		check  func(t *testing.T, h *harness, r doctorReport)
		works  bool
	}{
		"no user namespaces": {
			prefix: unshare("-Ur", "echo 0 >/proc/sys/user/max_user_namespaces"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "userns.unshare", "fail", "no space left on device", "sysctl user.max_user_namespaces=")
				r.expect(t, "sysctl.max_user_namespaces", "fail", "user.max_user_namespaces is 0")
				r.expect(t, "mount.proc", "skipped")
				if after := r.of("mount.bind").After; after != "userns.unshare" {
					t.Errorf("mount.bind was skipped after %q", after)
				}
			},
		},
		"one user namespace": {
			prefix: unshare("-Ur", "echo 1 >/proc/sys/user/max_user_namespaces"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				// The kernel forgets a namespace some time after its last process: any of the trials may find none left.
				if f := r.failure("no space left on device"); !strings.Contains(f.Command, "sysctl user.max_user_namespaces=") {
					t.Errorf("%+v", f)
				}
				r.expect(t, "sysctl.max_user_namespaces", "warn", "user.max_user_namespaces is 1")
			},
		},
		"no network namespaces": {
			prefix: unshare("-Ur", "echo 0 >/proc/sys/user/max_net_namespaces"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "namespace.network", "fail", "no space left on device")
				r.expect(t, "namespace.ipc", "ok")
			},
		},
		"a masked proc": {
			prefix: unshare(mounts, "mount -t tmpfs none /proc/sys/fs"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "mount.proc", "fail", "operation not permitted", "systempaths=unconfined", "unmask=ALL")
				r.expect(t, "container", "fail", "1 mounts over parts of /proc")
			},
		},
		"a full disk": {
			env: "SCIDEX_OCI_TMP=/mnt",
			// The last bytes go one by one; cp fills what is left.
			prefix: unshare(mounts, "mount -t tmpfs -o size=64k none /mnt; cp /bin/sh /mnt/full 2>/dev/null || :"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "disk.tmp", "fail", "no space left on device", "--tmp DIR", "df -h /mnt")
				r.expectShort(t)
			},
		},
		"little room": {
			env:    "SCIDEX_OCI_TMP=/mnt",
			prefix: unshare(mounts, "mount -t tmpfs -o size=4m none /mnt; head -c 4000000 /dev/zero >/mnt/x"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "disk.tmp", "fail", "runs are refused while less than 5% (at most 2GiB) is free", "--min-free", "gc")
				r.expectShort(t)
			},
		},
		"no more directories": {
			env:    "SCIDEX_OCI_TMP=/mnt",
			prefix: unshare(mounts, "mount -t tmpfs -o nr_inodes=1 none /mnt"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "disk.tmp", "fail", "no space left on device", "--tmp DIR", "df -h /mnt")
				r.expect(t, "run.true", "fail")
			},
		},
		"a read-only root": {
			env:    "SCIDEX_OCI_ROOT=/mnt/root",
			prefix: unshare(mounts, "mount -t tmpfs -o ro none /mnt"),
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "disk.root", "fail", "read-only file system", "--root DIR")
				r.expect(t, "run.true", "fail", "read-only file system")
			},
		},
		"no place for working directories": {
			env: "SCIDEX_OCI_TMP=/nowhere",
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "disk.tmp", "fail", "/nowhere: no such file or directory", "--tmp DIR")
				r.expect(t, "run.true", "fail")
			},
		},
		"PostgreSQL": {
			env: "SCIDEX_OCI_DB=postgres://me:hunter2@127.0.0.1:1/scidex", // no server listens there
			check: func(t *testing.T, _ *harness, r doctorReport) {
				r.expect(t, "catalog.postgresql", "fail", "127.0.0.1", "pg_isready -d postgres://me:xxxxx@127.0.0.1:1/scidex")
				r.expect(t, "catalog.open", "skipped")
				r.expect(t, "run.true", "ok") // on a catalog of doctor's own
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			if name, value, ok := strings.Cut(c.env, "="); ok {
				h.setenv(name, value)
			}
			c.check(t, h, h.doctor(map[bool]int{true: 0, false: 1}[c.works], c.prefix, "--limits=best-effort"))
		})
	}
}

// TestDoctorNeedsNewuidmap has one in PATH that maps nothing. Only users with a range need it.
func TestDoctorNeedsNewuidmap(t *testing.T) {
	h := newHarness(t)
	h.write("bin/newuidmap", "#!/bin/sh\necho no such luck >&2; exit 1\n", 0o755)
	h.setenv("PATH", h.path("bin")+":"+os.Getenv("PATH"))
	if theHost.root || !theHost.ranged {
		h.doctor(0, nil, "--limits=best-effort").expect(t, "idmap.range", "ok")
		return
	}
	r := h.doctor(1, nil, "--limits=best-effort")
	r.expect(t, "idmap.range", "fail", "no such luck", "uidmap")
	r.expect(t, "idmap.self", "ok")
	r.expect(t, "run.true", "fail", "no such luck", "uidmap")
}

// TestDoctorWithoutNewPrivileges starts doctor as a container with no-new-privileges would: newuidmap has no rights then.
func TestDoctorWithoutNewPrivileges(t *testing.T) {
	h := newHarness(t)
	prefix := []string{"setpriv", "--no-new-privs"}
	if theHost.root || !theHost.ranged {
		h.doctor(0, prefix, "--limits=best-effort").expect(t, "idmap.range", "ok")
		return
	}
	r := h.doctor(1, prefix, "--limits=best-effort")
	r.expect(t, "idmap.range", "fail", "newuidmap")
	if f := r.of("idmap.range"); strings.Contains(f.Command, "apt-get") { // which is it depends on the container around this
		t.Errorf("newuidmap is blamed, which has no rights: %+v", f)
	}
}

// TestDoctorWithFewProcesses lowers the limit of processes until something fails: the report names the limit. Root
// itself has no such limit, but its supervisors have.
func TestDoctorWithFewProcesses(t *testing.T) {
	h := newHarness(t)
	mine := 0
	if !theHost.root {
		mine = len(strings.Fields(h.finish(h.command("ps", "-L", "-o", "lwp=", "-U", strconv.Itoa(os.Geteuid()))).stdout))
	}
	for room := 40; room > 0; room -= 4 {
		// Below some number the program lacks the threads that it needs itself; then Go reports that.
		argv := []string{"prlimit", "--nproc=" + strconv.Itoa(mine+room), theHost.bin, "doctor", "--json", "--limits=best-effort"}
		out := h.finish(h.command(argv[0], argv[1:]...))
		r, err := parseDoctor([]byte(out.stdout))
		if err != nil {
			t.Fatalf("room for %d: exit code %d, %v\n%s%s", room, out.code, err, out.stdout, out.stderr)
		}
		r.expect(t, "process.limit", "warn", "ulimit -u")
		if out.code == 0 {
			continue
		}
		for _, f := range r.Findings {
			if f.Status == "fail" && !strings.Contains(f.Command, "ulimit -u") {
				t.Errorf("room for %d: %+v does not tell of the limit", room, f)
			}
		}
		return
	}
	t.Fatal("no limit was low enough")
}

// TestDoctorStops ends an examination in the middle: it reports no success and leaves nothing.
func TestDoctorStops(t *testing.T) {
	for _, sign := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		h := newHarness(t)
		h.write("data/table.csv", "1\n", 0o666)
		var stdout, stderr bytes.Buffer
		cmd := h.heldDoctor(&stdout, &stderr)
		if err := cmd.Process.Signal(sign); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // the exit code is checked
		if code := cmd.ProcessState.ExitCode(); code != 128+int(sign) || stdout.Len() > 0 {
			t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
		}
		checkSentence(t, stderr.String(), "stopped by SIG", "nothing is known")
		h.checkCured()
		if _, err := os.Stat(h.root); !os.IsNotExist(err) {
			t.Errorf("the root: %v", err)
		}
	}
}

// heldDoctor starts a doctor with one try held up. Tries are short, so that several starts may be needed.
func (h *harness) heldDoctor(stdout, stderr *bytes.Buffer) *exec.Cmd {
	h.t.Helper()
	for range 100 {
		stdout.Reset()
		stderr.Reset()
		cmd := h.command("nice", "-n", "19", theHost.bin, "doctor", "--json", "--limits=best-effort") // on a busy machine we look more often
		cmd.Stdout, cmd.Stderr = stdout, stderr
		if err := cmd.Start(); err != nil {
			h.t.Fatal(err)
		}
		for lives := true; lives; _, lives = readProcess(fmt.Sprintf("/proc/%d", cmd.Process.Pid)) {
			if len(holdTries(cmd.Process.Pid)) > 0 {
				return cmd
			}
		}
		_ = cmd.Wait() // it was faster
	}
	h.t.Fatal("no try could be held up")
	return nil
}

// TestDoctorKilled kills an examination while its run is alive: the next one, or gc, removes what is left.
func TestDoctorKilled(t *testing.T) {
	for name, clean := range map[string]func(h *harness){
		"the next": func(h *harness) { h.doctor(0, nil, "--limits=best-effort") },
		"gc":       func(h *harness) { h.mustRun("gc") },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.mustRun("ls") // makes the root
			cmd := h.command(theHost.bin, "doctor", "--limits=best-effort")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			until(t, hangTimeout, "doctor's run has started", func() bool { return len(matches(filepath.Join(h.root, "doctor-*", "runs", "*"))) > 0 })
			_ = cmd.Process.Kill()
			_ = cmd.Wait() // killed
			if len(matches(filepath.Join(h.root, "doctor-*"))) == 0 {
				t.Fatal("nothing was left")
			}
			until(t, 20*time.Second, "it is removed", func() bool {
				clean(h) // processes of the killed run may take a moment to end
				return len(matches(filepath.Join(h.root, "doctor-*"))) == 0
			})
			h.checkCured()
		})
	}
}

// holdTries stops (SIGSTOP) the children in which a doctor tries, so that it does not come to its end by itself.
func holdTries(doctor int) (held []int) {
	for _, child := range children(doctor) { // a look at all processes takes longer than a try
		dir := fmt.Sprintf("/proc/%d", child)
		p, alive := readProcess(dir)
		if !alive || !bytes.HasPrefix(p.command, []byte("scidex-oci: doctor")) || syscall.Kill(child, syscall.SIGSTOP) != nil {
			continue
		}
		if stat, err := os.ReadFile(dir + "/stat"); err == nil && bytes.Contains(stat, []byte(") T ")) {
			held = append(held, child)
		}
	}
	return held
}

// TestDoctorChildByHand: the names of its child processes do nothing for other callers.
func TestDoctorChildByHand(t *testing.T) {
	cmd := exec.Command(theHost.bin)
	cmd.Args = []string{"scidex-oci: doctor", "nothing.at.all"}
	out, err := cmd.Output()
	if err != nil || !strings.Contains(string(out), `there is no trial`) {
		t.Errorf("%s, %v", out, err)
	}
}
