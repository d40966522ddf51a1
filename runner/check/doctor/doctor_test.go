package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestMain(m *testing.M) {
	Main()
	os.Exit(m.Run())
}

// tree makes files below a directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
		if text != setUID {
			continue
		}
		if err := os.Chmod(path, 0o755|fs.ModeSetuid); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

const (
	setUID     = "a program that is run as its owner"
	appArmor   = "proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	clone      = "proc/sys/kernel/unprivileged_userns_clone"
	namespaces = "proc/sys/user/max_user_namespaces"
	status     = "proc/self/status"
	mountinfo  = "proc/self/mountinfo"
	mask       = "1 2 0:5 / /proc rw - proc proc rw\n3 1 0:6 / /proc/acpi ro - tmpfs tmpfs ro\n4 1 0:7 / /proc/sys/fs/binfmt_misc rw - autofs x rw\n"
)

func TestSettings(t *testing.T) {
	for name, c := range map[string]struct {
		files  map[string]string
		env    string // NAME of a variable that is true
		admin  bool
		failed bool
		judge  func(*examination, context.Context) check.Finding
		status check.Status
		words  []string
	}{
		"AppArmor":                 {files: map[string]string{appArmor: "1\n"}, failed: true, judge: (*examination).appArmor, status: check.Fail, words: flags("profile", "sysctl kernel.apparmor_restrict_unprivileged_userns=0")},
		"AppArmor with a profile":  {files: map[string]string{appArmor: "1\n"}, judge: (*examination).appArmor, status: check.OK, words: flags("userns is 1")},
		"AppArmor and root":        {files: map[string]string{appArmor: "1\n"}, failed: true, admin: true, judge: (*examination).appArmor, status: check.OK},
		"AppArmor off":             {files: map[string]string{appArmor: "0\n"}, failed: true, judge: (*examination).appArmor, status: check.OK},
		"no AppArmor":              {failed: true, judge: (*examination).appArmor, status: check.OK, words: flags("restricts no")},
		"no clone":                 {files: map[string]string{clone: "0\n"}, failed: true, judge: (*examination).unprivileged, status: check.Fail, words: flags("sysctl kernel.unprivileged_userns_clone=1")},
		"no clone and root":        {files: map[string]string{clone: "0\n"}, failed: true, admin: true, judge: (*examination).unprivileged, status: check.Fail},
		"clone":                    {files: map[string]string{clone: "1\n"}, failed: true, judge: (*examination).unprivileged, status: check.OK},
		"no switch":                {failed: true, judge: (*examination).unprivileged, status: check.OK, words: flags("no such switch")},
		"no namespaces":            {files: map[string]string{namespaces: "0\n"}, admin: true, judge: (*examination).maxNamespaces, status: check.Fail, words: flags("sysctl user.max_user_namespaces=")},
		"few namespaces":           {files: map[string]string{namespaces: "3\n"}, judge: (*examination).maxNamespaces, status: check.Warn, words: flags("is 3", "two user namespaces")},
		"namespaces":               {files: map[string]string{namespaces: "63000\n"}, failed: true, judge: (*examination).maxNamespaces, status: check.OK},
		"docker":                   {files: map[string]string{".dockerenv": "", status: "Name:\tx\nSeccomp:\t2\n", mountinfo: mask}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("docker, with a seccomp filter and 1 mounts", "docker run --security-opt seccomp=unconfined")},
		"docker that lets through": {files: map[string]string{".dockerenv": "", status: "Seccomp:\t2\n", mountinfo: mask}, judge: (*examination).container, status: check.OK, words: flags("docker, with")},
		"docker without walls":     {files: map[string]string{".dockerenv": "", status: "Seccomp:\t0\n"}, failed: true, judge: (*examination).container, status: check.OK, words: flags("docker")},
		"podman":                   {files: map[string]string{"run/.containerenv": "", mountinfo: mask}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("podman, with 1 mounts", "podman run --security-opt unmask=ALL")},
		"Kubernetes":               {files: map[string]string{"run/secrets/kubernetes.io/x": "", ".dockerenv": "", status: "Seccomp:\t2\n"}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("Kubernetes", "hostUsers: false", "procMount: Unmasked")},
		"GitHub":                   {env: "GITHUB_ACTIONS", files: map[string]string{appArmor: "1\n"}, failed: true, judge: (*examination).appArmor, status: check.Fail, words: flags("step of the job", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")},
		"GitHub, not failed":       {env: "GITHUB_ACTIONS", files: map[string]string{status: "Seccomp:\t0\n"}, judge: (*examination).container, status: check.OK, words: flags("a GitHub job")},
		"GitHub in docker":         {env: "GITHUB_ACTIONS", files: map[string]string{".dockerenv": "", mountinfo: mask}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("a GitHub job in docker, with 1 mounts", "options: --security-opt seccomp=unconfined")},
		"GitLab in docker":         {env: "GITLAB_CI", files: map[string]string{".dockerenv": "", mountinfo: mask}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("a GitLab job in docker", "config.toml", "privileged = true", "unmask=ALL")},
		"GitLab in podman":         {env: "GITLAB_CI", files: map[string]string{"run/.containerenv": "", mountinfo: mask}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("a GitLab job in podman", "config.toml", `security_opt = ["seccomp=unconfined", "apparmor=unconfined", "unmask=ALL"]`)},
		"GitLab in Kubernetes":     {env: "GITLAB_CI", files: map[string]string{"run/secrets/kubernetes.io/x": "", mountinfo: mask}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("a GitLab job in Kubernetes", "procMount: Unmasked", "pod_spec", "hostUsers: false")},
		"LXC":                      {files: map[string]string{"run/systemd/container": "lxc\n", mountinfo: mask}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("LXC, with 1 mounts", "security.nesting true")},
		"a filter of nobody's":     {files: map[string]string{status: "Seccomp:\t2\n"}, failed: true, judge: (*examination).container, status: check.Fail, words: flags("no known container, with a seccomp filter")},
		"a plain host":             {files: map[string]string{status: "Seccomp:\t0\n", mountinfo: "1 2 0:5 / /proc rw - proc proc rw\n"}, failed: true, judge: (*examination).container, status: check.OK, words: flags("no container")},
	} {
		t.Run(name, func(t *testing.T) {
			checkFinding(t, c.judge(made(t, c.files, c.env, c.admin, c.failed), t.Context()), c.status, c.words...)
		})
	}
}

func TestJudgeLandlock(t *testing.T) {
	checkFinding(t, judgeLandlock(7), check.OK, "version 7")
	checkFinding(t, judgeLandlock(0), check.OK, "no Landlock of version 2")
}

// made examines a host of files, with one variable in its environment, on which a try may have failed.
func made(t *testing.T, files map[string]string, env string, admin, failed bool) *examination {
	t.Helper()
	getenv := func(name string) string { return map[string]string{env: "true"}[name] }
	e := &examination{host: host{root: tree(t, files), getenv: getenv, admin: admin}}
	e.around = e.host.surroundings()
	if failed {
		e.Findings = []check.Finding{{Name: codeProc, Status: check.Fail}}
	}
	return e
}

// TestAround wants the failure of a probe cured by the setting of the very engine or job, and what is the kernel's own
// by the kernel's.
func TestAround(t *testing.T) {
	kubernetes := map[string]string{"run/secrets/kubernetes.io/x": ""}
	with := func(name, text string, files map[string]string) map[string]string {
		files = maps.Clone(files)
		files[name] = text
		return files
	}
	denied := fmt.Errorf("mount: %w", unix.EPERM)
	for name, c := range map[string]struct {
		files map[string]string
		env   string
		admin bool
		code  string
		err   error
		words []string
	}{
		"docker, proc":              {files: map[string]string{".dockerenv": ""}, code: codeProc, err: denied, words: flags("docker run", "systempaths=unconfined")},
		"podman, proc":              {files: map[string]string{"run/.containerenv": ""}, code: codeProc, err: denied, words: flags("podman run", "unmask=ALL", "seccomp=unconfined")},
		"Kubernetes, proc":          {files: kubernetes, code: codeProc, err: denied, words: flags("hostUsers: false", "procMount: Unmasked", "kubectl")},
		"GitHub, tmpfs":             {files: map[string]string{".dockerenv": ""}, env: "GITHUB_ACTIONS", code: "process.pidfd", err: denied, words: flags("workflow", "options: --security-opt")},
		"GitLab, proc":              {files: map[string]string{"run/.containerenv": ""}, env: "GITLAB_CI", code: codeProc, err: denied, words: flags("config.toml", "security_opt")},
		"Kubernetes, out of them":   {files: kubernetes, code: codeUnshare, err: unix.ENOSPC, words: flags("sysctl user.max_user_namespaces=15000")},
		"no_new_privs":              {files: map[string]string{status: "NoNewPrivs:\t1\n"}, code: codeRange, err: errors.New("newuidmap: no"), words: flags("no_new_privs", "/etc/subuid")},
		"no_new_privs in docker":    {files: map[string]string{".dockerenv": "", status: "NoNewPrivs:\t1\n"}, code: codeRange, err: errors.New("newuidmap: no"), words: flags("docker run --security-opt no-new-privileges=false")},
		"no_new_privs in a pod":     {files: with(status, "NoNewPrivs:\t1\n", kubernetes), code: codeRange, err: errors.New("newuidmap: no"), words: flags("allowPrivilegeEscalation: true")},
		"no_new_privs in GitLab":    {files: map[string]string{".dockerenv": "", status: "NoNewPrivs:\t1\n"}, env: "GITLAB_CI", code: codeRange, err: errors.New("newuidmap: no"), words: flags("[runners.docker]", `security_opt = ["no-new-privileges=false"]`)},
		"privileges, and newuidmap": {files: map[string]string{status: "NoNewPrivs:\t0\n"}, code: codeRange, err: errors.New("newuidmap: no"), words: flags("apt-get install --reinstall uidmap")},
		"root with few powers":      {files: map[string]string{".dockerenv": "", status: "CapEff:\t0000000000000001\n"}, admin: true, code: codeRange, err: denied, words: flags("--cap-add SETUID")},
		"and in podman":             {files: map[string]string{"run/.containerenv": "", status: "CapEff:\t0000000000000001\n"}, admin: true, code: codeRange, err: denied, words: flags("podman run --cap-add SETUID")},
		"a user left no powers":     {files: map[string]string{"run/.containerenv": "", status: "CapBnd:\t0\n"}, code: codeRange, err: errors.New("newuidmap: no"), words: flags("podman run --cap-add SETUID --cap-add SETGID IMAGE")},
		"newuidmap is set-uid":      {files: map[string]string{"run/.containerenv": "", "usr/bin/newuidmap": setUID, status: "CapBnd:\t00000000a80425fb\n"}, code: codeRange, err: errors.New("newuidmap: no"), words: flags("chmod u-s", "setcap cap_setuid=ep /usr/bin/newuidmap")},
		"newuidmap is not":          {files: map[string]string{"run/.containerenv": "", "usr/bin/newuidmap": "", status: "CapBnd:\t00000000a80425fb\n"}, code: codeRange, err: errors.New("newuidmap: no"), words: flags("apt-get install --reinstall uidmap")},
		"root of a pod":             {files: with(status, "CapEff:\t0\n", kubernetes), admin: true, code: codeRange, err: denied, words: flags("capabilities: {add: [SETUID")},
		"root with all":             {files: map[string]string{".dockerenv": "", status: "CapEff:\t000001ffffffffff\n"}, admin: true, code: codeProc, err: denied, words: flags("systempaths=unconfined")},
	} {
		t.Run(name, func(t *testing.T) {
			e := made(t, c.files, c.env, c.admin, true)
			remedy := e.named(t, c.code).Advice(c.err)
			checkFinding(t, check.Finding{Seen: "refused"}.As(check.Fail, "no run can start", remedy), check.Fail, c.words...)
		})
	}
}

// named returns a check of the list.
func (e *examination) named(t *testing.T, name string) check.Check {
	t.Helper()
	for _, k := range e.checks() {
		if k.Name == name {
			return k
		}
	}
	t.Fatalf("there is no check %s", name)
	return check.Check{}
}

// TestOverlay tells a kernel without the file system from one that has it not in user namespaces.
func TestOverlay(t *testing.T) {
	for err, want := range map[error]string{unix.ENODEV: "must be loaded", unix.EINVAL: "Linux 5.11", unix.EAGAIN: "as many processes"} {
		if remedy := new(examination).remedyOverlay(err); !strings.Contains(remedy.Sentence, want) {
			t.Errorf("%v: %+v, want %q", err, remedy, want)
		}
	}
}

// Where control groups are read-only, those of the container around this hold, by its own settings.
func TestWithoutGroupsInContainers(t *testing.T) {
	missing := &cgroup.MissingError{Reason: "nobody gives one", Remedy: "ask with `please`"}
	for file, want := range map[string]string{
		".dockerenv": "docker run --memory", "run/.containerenv": "podman run --memory", "run/secrets/kubernetes.io/x": "resources.limits",
	} {
		e := made(t, map[string]string{file: ""}, "", false, false)
		e.analysis.Limits = spec.LimitsEnforce
		if f := e.withoutGroups(missing); strings.Contains(f.Cure+f.Command, "--limits outer") {
			t.Errorf("%+v", f)
		}
		e.held = cgroup.Limits{Memory: 1 << 30}
		checkFinding(t, e.withoutGroups(missing), check.Fail, "nobody gives one", want, "scidex-oci run --limits outer COMMAND")
	}
}

func flags(words ...string) []string { return words }

// checkFinding wants a finding that is complete: what is to be cured has a cure and a command.
func checkFinding(t *testing.T, f check.Finding, status check.Status, words ...string) {
	t.Helper()
	if cmp.Or(f.Status, check.OK) != status || f.Seen == "" || f.Means == "" && status != check.OK {
		t.Errorf("%+v, want %s", f, status)
	}
	if cured := f.Cure != "" && f.Command != ""; cured != (status == check.Fail || status == check.Warn) {
		t.Errorf("cure %q, command %q of %s", f.Cure, f.Command, f.Status)
	}
	for _, word := range words {
		if !strings.Contains(strings.Join([]string{f.Seen, f.Means, f.Cure, f.Command}, "\n"), word) {
			t.Errorf("no %q in %+v", word, f)
		}
	}
}

func TestJudgeProcesses(t *testing.T) {
	checkFinding(t, judgeProcesses(unix.RLIM_INFINITY, 100), check.OK, "no limit")
	checkFinding(t, judgeProcesses(164, 100), check.OK, "164")
	checkFinding(t, judgeProcesses(163, 100), check.Warn, "163", "--pids 100", "ulimit -u")
}

func TestJudgeSubIDs(t *testing.T) {
	ids := idmap.Range{Start: 100000, Count: 65536}
	for name, c := range map[string]struct {
		account       idmap.Account
		asked, limits string
		status        check.Status
		words         []string
	}{
		"a range":        {idmap.Account{UID: 7, UIDs: ids, GIDs: ids}, "", spec.LimitsEnforce, check.OK, flags("100000 to 165535")},
		"one id":         {idmap.Account{UID: 7}, "", spec.LimitsEnforce, check.Warn, flags("usermod --add-subuids", `"$(id -un 7)"`)},
		"asked":          {idmap.Account{UID: 7}, "range", spec.LimitsEnforce, check.Fail, flags("--ids range", "usermod")},
		"groups":         {idmap.Account{UID: 7, Groups: []int{5}}, "", spec.LimitsEnforce, check.Fail, flags("supplementary groups [5]", "usermod")},
		"groups allowed": {idmap.Account{UID: 7, Groups: []int{5}}, "", spec.LimitsBestEffort, check.Warn, nil},
		"no newuidmap":   {idmap.Account{UID: 7, Notice: "newuidmap is missing"}, "", spec.LimitsEnforce, check.Fail, flags("newuidmap is missing", "apt-get install uidmap")},
		"without it":     {idmap.Account{UID: 7, Notice: "newuidmap is missing"}, "self", spec.LimitsEnforce, check.Warn, flags("apt-get install uidmap")},
		"root in one":    {idmap.Account{}, "", spec.LimitsEnforce, check.Fail, flags("root has no ids", "podman")},
		"root as self":   {idmap.Account{UIDs: ids, GIDs: ids}, "self", spec.LimitsEnforce, check.Fail, flags("leave --ids out")},
	} {
		t.Run(name, func(t *testing.T) {
			e := &examination{analysis: spec.Analysis{IDs: c.asked, Limits: c.limits}}
			e.Account = c.account
			checkFinding(t, e.subIDs(t.Context()), c.status, c.words...)
		})
	}
}

// The settings of a made host choose the cure of what the kernel has refused.
func TestNamespaceRemedy(t *testing.T) {
	for name, c := range map[string]struct {
		files   map[string]string
		err     error
		command string
	}{
		"AppArmor":       {map[string]string{appArmor: "1"}, unix.EPERM, "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
		"switched off":   {map[string]string{namespaces: "0"}, unix.ENOSPC, "sysctl user.max_user_namespaces=15000"},
		"used up":        {map[string]string{namespaces: "9"}, unix.ENOSPC, "sysctl user.max_user_namespaces=15000"},
		"Debian's":       {map[string]string{clone: "0"}, unix.EPERM, "sysctl kernel.unprivileged_userns_clone=1"},
		"a container":    {nil, unix.EPERM, "docker run --security-opt seccomp=unconfined"},
		"processes":      {map[string]string{appArmor: "1"}, unix.EAGAIN, "ulimit -u unlimited"},
		"not executable": {nil, unix.EACCES, "chmod a+rx"},
	} {
		remedy, ok := remedies.Namespaces(filepath.Join(tree(t, c.files), "proc"), fmt.Errorf("clone: %w", c.err))
		if !ok || !strings.HasPrefix(remedy.Command, c.command) {
			t.Errorf("%s: %+v", name, remedy)
		}
	}
	if remedy, ok := remedies.Namespaces(t.TempDir(), unix.EIO); ok {
		t.Errorf("EIO: %+v", remedy)
	}
}

func TestCommand(t *testing.T) {
	for remedy, want := range map[string]string{
		"start a container, or run with `--limits outer` (what holds)":                    "scidex-oci run --limits outer COMMAND",
		"type `scidex-oci config set limits best-effort` (`--limits best-effort`)":        "scidex-oci config set limits best-effort",
		"let root run `loginctl enable-linger 7`, or run with `--limits best-effort` (x)": "loginctl enable-linger 7",
		"mount the cpu controller": "fallback",
	} {
		if got := command(remedy, "fallback"); got != want {
			t.Errorf("%q: %q, want %q", remedy, got, want)
		}
	}
}

// TestControllers blames the controller whose file the kernel refused, and does not try the others.
func TestControllers(t *testing.T) {
	refused := &fs.PathError{Op: "write", Path: "/sys/fs/cgroup/pids/x/pids.max", Err: unix.EINVAL}
	of := func(g groups, prefix, controller string) check.Finding {
		e := &examination{groups: g}
		return e.controller(prefix, controller).Do(t.Context())
	}
	g := groups{parent: &cgroup.Parent{Version: 1, CPU: true}, codes: groupsV1, err: fmt.Errorf("set limits: %w", refused)}
	checkFinding(t, of(g, groupsV1, "pids"), check.Fail, "pids.max: invalid argument", "--limits best-effort")
	for _, controller := range []string{"memory", "cpu"} {
		f := of(g, groupsV1, controller)
		checkFinding(t, f, check.Skipped)
		if f.After != groupsV1+"pids" {
			t.Errorf("%+v", f)
		}
	}
	if f := of(g, groupsSystemd, "pids"); f.Status != check.Skipped || f.After != "" {
		t.Errorf("what is not used here: %+v", f)
	}
	g = groups{parent: &cgroup.Parent{Version: 1}, codes: groupsV1, got: cgroup.Limits{Memory: 5, Pids: 6}}
	checkFinding(t, of(g, groupsV1, "memory"), check.OK, "5B")
	checkFinding(t, of(g, groupsV1, "cpu"), check.Warn, "not delegated", "mount -t cgroup -o cpu cgroup")
}

// What the configuration says already is not offered.
func TestWithoutGroupsAsSet(t *testing.T) {
	const unset = "scidex-oci config unset limits"
	for limits, want := range map[string]string{spec.LimitsEnforce: "scidex-oci run --limits outer COMMAND", spec.LimitsBestEffort: unset, spec.LimitsOuter: unset} {
		e := &examination{analysis: spec.Analysis{Limits: limits}, around: surroundings{name: "the container", limits: "docker run --memory"}, held: cgroup.Limits{Pids: 9}}
		if f := e.withoutGroups(&cgroup.MissingError{Reason: "no subtree is delegated", Remedy: "ask"}); f.Command != want || f.Cure == "" {
			t.Errorf("%s: %+v, want the command %q", limits, f, want)
		}
	}
}

// TestWithoutGroups wants a host without control groups to refuse runs, or to hold what can be held.
func TestWithoutGroups(t *testing.T) {
	missing := &cgroup.MissingError{Reason: "nobody gives one", Remedy: "ask with `please`"}
	for limits, want := range map[string]check.Status{spec.LimitsEnforce: check.Fail, spec.LimitsBestEffort: check.Warn} {
		e := &examination{analysis: spec.Analysis{Limits: limits}}
		checkFinding(t, e.withoutGroups(missing), want, "nobody gives one", "ask with `please`", "please")
		if f := e.controller(groupsSystemd, "memory").Do(t.Context()); f.After != codeParentGroup {
			t.Errorf("%+v", f)
		}
	}
}

// TestReport lets the run judge what failed before it, but for what it has not seen.
func TestReport(t *testing.T) {
	for name, c := range map[string]struct {
		failed string
		run    check.Status
		works  bool
		status check.Status
	}{
		"all well":               {"", check.OK, true, ""},
		"a trial, and no run":    {codeProc, check.Fail, false, check.Fail},
		"a trial, and a run":     {codeProc, check.OK, true, check.Warn},
		"the catalog":            {"catalog.open", check.OK, false, check.Fail},
		"PostgreSQL":             {"catalog.postgresql", check.OK, false, check.Fail},
		"the root":               {codeRoot, check.OK, false, check.Fail},
		"nothing, and no run":    {"", check.Fail, false, ""},
		"nothing, and not tried": {"", check.Skipped, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			e := &examination{}
			e.Findings = []check.Finding{{Name: c.failed, Status: check.Fail, Seen: "why"}, {Name: codeRun, Status: c.run, Seen: "run"}}
			if c.failed == "" {
				e.Findings = e.Findings[1:]
			}
			r, err := e.report()
			if err != nil || r.Works != c.works || strings.Contains(r.Summary.Run, "not") == c.works {
				t.Errorf("works %v: %s, %v", r.Works, r.Summary.Run, err)
			}
			if c.failed != "" && r.Findings[0].Status != c.status {
				t.Errorf("%+v", r.Findings[0])
			}
		})
	}
}

func TestReportTellsOfWhatNobodyHolds(t *testing.T) {
	e := &examination{unheld: []string{"memory", "pids"}}
	e.Findings = []check.Finding{{Name: codeRun, Status: check.OK}}
	want := "run works with the defaults, but no control group around it that can be seen holds a limit of memory, pids"
	if r, err := e.report(); err != nil || r.Summary.Run != want {
		t.Errorf("%q, %v", r.Summary.Run, err)
	}
}

// TestTries makes every try by itself, as the user of the test.
func TestTries(t *testing.T) {
	e := &examination{}
	var err error
	if e.Account, err = idmap.ReadAccount(); err != nil {
		t.Fatal(err)
	}
	for _, k := range e.checks() {
		if k.Try == nil {
			continue
		}
		if err := e.Check(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if f := e.Of(k.Name); f.Status != check.OK || f.Means == "" {
			t.Errorf("%+v", f)
		}
	}
}

// TestNotifyOnOneProcessor makes the check on a host with one processor, which both sides of a notification need.
func TestNotifyOnOneProcessor(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // ends a hang
	defer cancel()
	cmd := exec.CommandContext(ctx, "/proc/self/exe")
	cmd.Args, cmd.Env = []string{"scidex-oci: doctor", "seccomp.notify"}, []string{"GOMAXPROCS=1"}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "held up, looked at and answered") {
		t.Errorf("%s, %v", out, err)
	}
}

// TestCodes wants every code once, what a check needs before it, and every code that was published: a code is added below
// when it is published, and none is taken out.
func TestCodes(t *testing.T) {
	published := strings.Fields(`
		userns.unshare idmap.self idmap.subids idmap.range userns.nested mount.tmpfs mount.proc mount.bind mount.overlay
		namespace.network namespace.ipc namespace.uts namespace.cgroup seccomp.filter seccomp.notify process.parent_death process.pidfd
		process.limit sysctl.max_user_namespaces sysctl.unprivileged_userns_clone apparmor.userns container landlock
		cgroup.place cgroup.v2.systemd.memory cgroup.v2.systemd.pids cgroup.v2.systemd.cpu cgroup.v2.delegated.memory
		cgroup.v2.delegated.pids cgroup.v2.delegated.cpu cgroup.v1.memory cgroup.v1.pids cgroup.v1.cpu
		disk.root disk.tmp catalog.open catalog.postgresql run.true run.python`)
	var codes []string
	for _, k := range new(examination).checks() {
		if slices.Contains(codes, k.Name) {
			t.Errorf("%s is there twice", k.Name)
		}
		for _, need := range k.Needs {
			if !slices.Contains(codes, need) {
				t.Errorf("%s needs %q, which is not before it", k.Name, need)
			}
		}
		codes = append(codes, k.Name)
	}
	if !slices.Equal(codes, published) {
		t.Errorf("the codes are\n%q, want\n%q", codes, published)
	}
}

func TestDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	spaced := filepath.Join(dir, "it's mine")
	if err := os.WriteFile(spaced, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code, dir string
		status    check.Status
		words     []string
	}{
		"there":          {codeTmp, dir, check.OK, flags(dir, "free")},
		"to be made":     {codeRoot, filepath.Join(dir, "a/b"), check.OK, flags("a/b can be written to")},
		"not to be made": {codeTmp, filepath.Join(dir, "a"), check.Fail, flags("no such file", "--tmp")},
		"a file":         {codeRoot, file, check.Fail, flags("not a directory")},
		"below a file":   {codeRoot, file + "/x", check.Fail, flags("not a directory", "df -h "+file+"/x && ls")},
		"quoted":         {codeRoot, spaced, check.Fail, []string{"df -h '" + dir + `/it'\''s mine' && ls -ld '` + dir + `/it'\''s mine'`}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &examination{}
			checkFinding(t, e.disk(c.code, c.dir, "give another with --tmp DIR", "works").Do(t.Context()), c.status, c.words...)
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 2 {
		t.Errorf("left: %v, %v", left, err)
	}
}
