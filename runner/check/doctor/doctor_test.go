package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
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
		judge  func(host) Finding
		status Status
		words  []string
	}{
		"AppArmor":                 {files: map[string]string{appArmor: "1\n"}, failed: true, judge: host.appArmor, status: Fail, words: flags("profile", "sysctl kernel.apparmor_restrict_unprivileged_userns=0")},
		"AppArmor with a profile":  {files: map[string]string{appArmor: "1\n"}, judge: host.appArmor, status: OK, words: flags("userns is 1")},
		"AppArmor and root":        {files: map[string]string{appArmor: "1\n"}, failed: true, admin: true, judge: host.appArmor, status: OK},
		"AppArmor off":             {files: map[string]string{appArmor: "0\n"}, failed: true, judge: host.appArmor, status: OK},
		"no AppArmor":              {failed: true, judge: host.appArmor, status: OK, words: flags("restricts no")},
		"no clone":                 {files: map[string]string{clone: "0\n"}, failed: true, judge: host.unprivileged, status: Fail, words: flags("sysctl kernel.unprivileged_userns_clone=1")},
		"no clone and root":        {files: map[string]string{clone: "0\n"}, failed: true, admin: true, judge: host.unprivileged, status: Fail},
		"clone":                    {files: map[string]string{clone: "1\n"}, failed: true, judge: host.unprivileged, status: OK},
		"no switch":                {failed: true, judge: host.unprivileged, status: OK, words: flags("no such switch")},
		"no namespaces":            {files: map[string]string{namespaces: "0\n"}, admin: true, judge: host.maxNamespaces, status: Fail, words: flags("sysctl user.max_user_namespaces=")},
		"few namespaces":           {files: map[string]string{namespaces: "3\n"}, judge: host.maxNamespaces, status: Warn, words: flags("is 3", "two user namespaces")},
		"namespaces":               {files: map[string]string{namespaces: "63000\n"}, failed: true, judge: host.maxNamespaces, status: OK},
		"docker":                   {files: map[string]string{".dockerenv": "", status: "Name:\tx\nSeccomp:\t2\n", mountinfo: mask}, failed: true, judge: host.container, status: Fail, words: flags("docker, with a seccomp filter and 1 mounts", "docker run --security-opt seccomp=unconfined")},
		"docker that lets through": {files: map[string]string{".dockerenv": "", status: "Seccomp:\t2\n", mountinfo: mask}, judge: host.container, status: OK, words: flags("docker, with")},
		"docker without walls":     {files: map[string]string{".dockerenv": "", status: "Seccomp:\t0\n"}, failed: true, judge: host.container, status: OK, words: flags("docker")},
		"podman":                   {files: map[string]string{"run/.containerenv": "", mountinfo: mask}, failed: true, judge: host.container, status: Fail, words: flags("podman, with 1 mounts", "podman run --security-opt unmask=ALL")},
		"Kubernetes":               {files: map[string]string{"run/secrets/kubernetes.io/x": "", ".dockerenv": "", status: "Seccomp:\t2\n"}, failed: true, judge: host.container, status: Fail, words: flags("Kubernetes", "hostUsers: false", "procMount: Unmasked")},
		"GitHub":                   {env: "GITHUB_ACTIONS", files: map[string]string{appArmor: "1\n"}, failed: true, judge: host.appArmor, status: Fail, words: flags("step of the job", "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0")},
		"GitHub, not failed":       {env: "GITHUB_ACTIONS", files: map[string]string{status: "Seccomp:\t0\n"}, judge: host.container, status: OK, words: flags("a GitHub job")},
		"GitHub in docker":         {env: "GITHUB_ACTIONS", files: map[string]string{".dockerenv": "", mountinfo: mask}, failed: true, judge: host.container, status: Fail, words: flags("a GitHub job in docker, with 1 mounts", "options: --security-opt seccomp=unconfined")},
		"GitLab in docker":         {env: "GITLAB_CI", files: map[string]string{".dockerenv": "", mountinfo: mask}, failed: true, judge: host.container, status: Fail, words: flags("a GitLab job in docker", "config.toml", "privileged = true", "unmask=ALL")},
		"GitLab in podman":         {env: "GITLAB_CI", files: map[string]string{"run/.containerenv": "", mountinfo: mask}, failed: true, judge: host.container, status: Fail, words: flags("a GitLab job in podman", "config.toml", `security_opt = ["seccomp=unconfined", "apparmor=unconfined", "unmask=ALL"]`)},
		"GitLab in Kubernetes":     {env: "GITLAB_CI", files: map[string]string{"run/secrets/kubernetes.io/x": "", mountinfo: mask}, failed: true, judge: host.container, status: Fail, words: flags("a GitLab job in Kubernetes", "procMount: Unmasked", "pod_spec", "hostUsers: false")},
		"LXC":                      {files: map[string]string{"run/systemd/container": "lxc\n", mountinfo: mask}, failed: true, judge: host.container, status: Fail, words: flags("LXC, with 1 mounts", "security.nesting true")},
		"a filter of nobody's":     {files: map[string]string{status: "Seccomp:\t2\n"}, failed: true, judge: host.container, status: Fail, words: flags("no known container, with a seccomp filter")},
		"a plain host":             {files: map[string]string{status: "Seccomp:\t0\n", mountinfo: "1 2 0:5 / /proc rw - proc proc rw\n"}, failed: true, judge: host.container, status: OK, words: flags("no container")},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, c.judge(made(t, c.files, c.env, c.admin, c.failed)), c.status, c.words...)
		})
	}
}

func TestJudgeLandlock(t *testing.T) {
	check(t, judgeLandlock(7), OK, "version 7")
	check(t, judgeLandlock(0), OK, "no Landlock of version 2")
}

// made is a host of files, with one variable in its environment.
func made(t *testing.T, files map[string]string, env string, admin, failed bool) host {
	t.Helper()
	getenv := func(name string) string { return map[string]string{env: "true"}[name] }
	return host{root: tree(t, files), getenv: getenv, admin: admin, failed: failed}
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
		probe childProbe
		err   error
		words []string
	}{
		"docker, proc":              {files: map[string]string{".dockerenv": ""}, probe: childProbe{remedy: remedyProc}, err: denied, words: flags("docker run", "systempaths=unconfined")},
		"podman, proc":              {files: map[string]string{"run/.containerenv": ""}, probe: childProbe{remedy: remedyProc}, err: denied, words: flags("podman run", "unmask=ALL", "seccomp=unconfined")},
		"Kubernetes, proc":          {files: kubernetes, probe: childProbe{remedy: remedyProc}, err: denied, words: flags("hostUsers: false", "procMount: Unmasked", "kubectl")},
		"GitHub, tmpfs":             {files: map[string]string{".dockerenv": ""}, env: "GITHUB_ACTIONS", probe: childProbe{remedy: remedyKernel}, err: denied, words: flags("workflow", "options: --security-opt")},
		"GitLab, proc":              {files: map[string]string{"run/.containerenv": ""}, env: "GITLAB_CI", probe: childProbe{remedy: remedyProc}, err: denied, words: flags("config.toml", "security_opt")},
		"Kubernetes, out of them":   {files: kubernetes, probe: childProbe{remedy: remedyNamespace}, err: unix.ENOSPC, words: flags("sysctl user.max_user_namespaces=15000")},
		"no_new_privs":              {files: map[string]string{status: "NoNewPrivs:\t1\n"}, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("no_new_privs", "/etc/subuid")},
		"no_new_privs in docker":    {files: map[string]string{".dockerenv": "", status: "NoNewPrivs:\t1\n"}, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("docker run --security-opt no-new-privileges=false")},
		"no_new_privs in a pod":     {files: with(status, "NoNewPrivs:\t1\n", kubernetes), probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("allowPrivilegeEscalation: true")},
		"no_new_privs in GitLab":    {files: map[string]string{".dockerenv": "", status: "NoNewPrivs:\t1\n"}, env: "GITLAB_CI", probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("[runners.docker]", `security_opt = ["no-new-privileges=false"]`)},
		"privileges, and newuidmap": {files: map[string]string{status: "NoNewPrivs:\t0\n"}, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("apt-get install --reinstall uidmap")},
		"root with few powers":      {files: map[string]string{".dockerenv": "", status: "CapEff:\t0000000000000001\n"}, admin: true, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: denied, words: flags("--cap-add SETUID")},
		"and in podman":             {files: map[string]string{"run/.containerenv": "", status: "CapEff:\t0000000000000001\n"}, admin: true, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: denied, words: flags("podman run --cap-add SETUID")},
		"a user left no powers":     {files: map[string]string{"run/.containerenv": "", status: "CapBnd:\t0\n"}, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("podman run --cap-add SETUID --cap-add SETGID IMAGE")},
		"newuidmap is set-uid":      {files: map[string]string{"run/.containerenv": "", "usr/bin/newuidmap": setUID, status: "CapBnd:\t00000000a80425fb\n"}, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("chmod u-s", "setcap cap_setuid=ep /usr/bin/newuidmap")},
		"newuidmap is not":          {files: map[string]string{"run/.containerenv": "", "usr/bin/newuidmap": "", status: "CapBnd:\t00000000a80425fb\n"}, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: errors.New("newuidmap: no"), words: flags("apt-get install --reinstall uidmap")},
		"root of a pod":             {files: with(status, "CapEff:\t0\n", kubernetes), admin: true, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyMaps}, err: denied, words: flags("capabilities: {add: [SETUID")},
		"root with all":             {files: map[string]string{".dockerenv": "", status: "CapEff:\t000001ffffffffff\n"}, admin: true, probe: childProbe{Probe: probe.Probe{Name: CodeRange}, remedy: remedyProc}, err: denied, words: flags("systempaths=unconfined")},
	} {
		t.Run(name, func(t *testing.T) {
			e := &examination{host: made(t, c.files, c.env, c.admin, true)}
			e.around = e.host.surroundings()
			c.probe.fails = "no run can start"
			if c.probe.Name == "" {
				c.probe.Name = CodeProc
			}
			check(t, e.judge(c.probe, c.err), Fail, c.words...)
		})
	}
}

// Where control groups are read-only, those of the container around this hold, by its own settings.
func TestWithoutGroupsInContainers(t *testing.T) {
	missing := &cgroup.MissingError{Reason: "nobody gives one", Remedy: "ask with `please`"}
	for file, want := range map[string]string{
		".dockerenv": "docker run --memory", "run/.containerenv": "podman run --memory", "run/secrets/kubernetes.io/x": "resources.limits",
	} {
		e := &examination{analysis: spec.Analysis{Limits: spec.LimitsEnforce}, host: made(t, map[string]string{file: ""}, "", false, false)}
		e.around = e.host.surroundings()
		e.withoutGroups(missing) // they hold nothing
		if f := e.report.of(CodeParentGroup); strings.Contains(f.Cure+f.Command, "--limits outer") {
			t.Errorf("%+v", f)
		}
		e.report, e.held = Report{}, cgroup.Limits{Memory: 1 << 30}
		e.withoutGroups(missing)
		check(t, e.report.of(CodeParentGroup), Fail, "nobody gives one", want, "scidex-oci run --limits outer COMMAND")
	}
}

func flags(words ...string) []string { return words }

// check wants a finding that is complete: what is to be cured has a cure and a command.
func check(t *testing.T, f Finding, status Status, words ...string) {
	t.Helper()
	if f.Status != status || f.Code == "" || f.Seen == "" || f.Means == "" {
		t.Errorf("%+v, want %s", f, status)
	}
	if cured := f.Cure != "" && f.Command != ""; cured != (status == Fail || status == Warn) {
		t.Errorf("cure %q, command %q of %s", f.Cure, f.Command, f.Status)
	}
	for _, word := range words {
		if !strings.Contains(strings.Join([]string{f.Seen, f.Means, f.Cure, f.Command}, "\n"), word) {
			t.Errorf("no %q in %+v", word, f)
		}
	}
}

func TestJudgeProcesses(t *testing.T) {
	check(t, judgeProcesses(unix.RLIM_INFINITY, 100), OK, "no limit")
	check(t, judgeProcesses(164, 100), OK, "164")
	check(t, judgeProcesses(163, 100), Warn, "163", "--pids 100", "ulimit -u")
}

func TestJudgeSubIDs(t *testing.T) {
	ids := idmap.Range{Start: 100000, Count: 65536}
	for name, c := range map[string]struct {
		account       idmap.Account
		asked, limits string
		status        Status
		words         []string
	}{
		"a range":        {idmap.Account{UID: 7, UIDs: ids, GIDs: ids}, "", spec.LimitsEnforce, OK, flags("100000 to 165535")},
		"one id":         {idmap.Account{UID: 7}, "", spec.LimitsEnforce, Warn, flags("usermod --add-subuids", `"$(id -un 7)"`)},
		"asked":          {idmap.Account{UID: 7}, "range", spec.LimitsEnforce, Fail, flags("--ids range", "usermod")},
		"groups":         {idmap.Account{UID: 7, Groups: []int{5}}, "", spec.LimitsEnforce, Fail, flags("supplementary groups [5]", "usermod")},
		"groups allowed": {idmap.Account{UID: 7, Groups: []int{5}}, "", spec.LimitsBestEffort, Warn, nil},
		"no newuidmap":   {idmap.Account{UID: 7, Notice: "newuidmap is missing"}, "", spec.LimitsEnforce, Fail, flags("newuidmap is missing", "apt-get install uidmap")},
		"without it":     {idmap.Account{UID: 7, Notice: "newuidmap is missing"}, "self", spec.LimitsEnforce, Warn, flags("apt-get install uidmap")},
		"root in one":    {idmap.Account{}, "", spec.LimitsEnforce, Fail, flags("root has no ids", "podman")},
		"root as self":   {idmap.Account{UIDs: ids, GIDs: ids}, "self", spec.LimitsEnforce, Fail, flags("leave --ids out")},
	} {
		t.Run(name, func(t *testing.T) {
			check(t, judgeSubIDs(c.account, c.asked, c.limits), c.status, c.words...)
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
	e := &examination{}
	refused := &fs.PathError{Op: "write", Path: "/sys/fs/cgroup/pids/x/pids.max", Err: unix.EINVAL}
	e.controllers(groupsV1, &cgroup.Parent{Version: 1, CPU: true}, cgroup.Effective{}, fmt.Errorf("set limits: %w", refused))
	check(t, e.report.of(groupsV1+"pids"), Fail, "pids.max: invalid argument", "--limits best-effort")
	for _, controller := range []string{"memory", "cpu"} {
		f := e.report.of(groupsV1 + controller)
		check(t, f, Skipped)
		if f.After != groupsV1+"pids" {
			t.Errorf("%+v", f)
		}
	}
	e = &examination{}
	e.controllers(groupsV1, &cgroup.Parent{Version: 1}, cgroup.Effective{Memory: 5, Pids: 6}, nil)
	check(t, e.report.of(groupsV1+"memory"), OK, "5B")
	check(t, e.report.of(groupsV1+"cpu"), Warn, "not delegated", "mount -t cgroup -o cpu cgroup")
}

// What the configuration says already is not offered.
func TestWithoutGroupsAsSet(t *testing.T) {
	const unset = "scidex-oci config unset limits"
	for limits, want := range map[string]string{spec.LimitsEnforce: "scidex-oci run --limits outer COMMAND", spec.LimitsBestEffort: unset, spec.LimitsOuter: unset} {
		e := &examination{analysis: spec.Analysis{Limits: limits}, around: surroundings{name: "the container", limits: "docker run --memory"}, held: cgroup.Limits{Pids: 9}}
		e.withoutGroups(&cgroup.MissingError{Reason: "no subtree is delegated", Remedy: "ask"})
		if f := e.report.of(CodeParentGroup); f.Command != want || f.Cure == "" {
			t.Errorf("%s: %+v, want the command %q", limits, f, want)
		}
	}
}

// TestWithoutGroups wants a host without control groups to refuse runs, or to hold what can be held.
func TestWithoutGroups(t *testing.T) {
	missing := &cgroup.MissingError{Reason: "nobody gives one", Remedy: "ask with `please`"}
	for limits, want := range map[string]Status{spec.LimitsEnforce: Fail, spec.LimitsBestEffort: Warn} {
		e := &examination{analysis: spec.Analysis{Limits: limits}}
		e.withoutGroups(missing)
		check(t, e.report.of(CodeParentGroup), want, "nobody gives one", "ask with `please`", "please")
		if after := e.report.of(groupsSystemd + "memory").After; after != CodeParentGroup {
			t.Errorf("skipped after %q", after)
		}
	}
}

// TestSettle lets the run judge what failed before it, but for what it has not seen.
func TestSettle(t *testing.T) {
	for name, c := range map[string]struct {
		failed string
		run    Status
		works  bool
		status Status
	}{
		"all well":               {"", OK, true, ""},
		"a trial, and no run":    {CodeProc, Fail, false, Fail},
		"a trial, and a run":     {CodeProc, OK, true, Warn},
		"the catalog":            {CodeCatalog, OK, false, Fail},
		"PostgreSQL":             {CodePostgreSQL, OK, false, Fail},
		"the root":               {CodeRoot, OK, false, Fail},
		"nothing, and no run":    {"", Fail, false, ""},
		"nothing, and not tried": {"", Skipped, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := Report{Findings: []Finding{{Code: c.failed, Status: Fail, Seen: "why"}, {Code: CodeRun, Status: c.run, Seen: "run"}}}
			if c.failed == "" {
				r.Findings = r.Findings[1:]
			}
			r.settle()
			if r.Works != c.works || strings.Contains(r.Summary.Run, "not") == c.works {
				t.Errorf("works %v: %s", r.Works, r.Summary.Run)
			}
			if c.failed != "" && r.status(c.failed) != c.status {
				t.Errorf("%+v", r.of(c.failed))
			}
		})
	}
}

func TestSettleTellsOfWhatNobodyHolds(t *testing.T) {
	r := Report{Findings: []Finding{{Code: CodeRun, Status: OK}}, unheld: []string{"memory", "pids"}}
	r.settle()
	if want := "run works with the defaults, but no control group around it that can be seen holds a limit of memory, pids"; r.Summary.Run != want {
		t.Errorf("%q", r.Summary.Run)
	}
}

// TestChildProbes makes every probe by itself, as the user of the test.
func TestChildProbes(t *testing.T) {
	e := &examination{analysis: spec.Analysis{}.WithDefaults()}
	var err error
	if e.account, err = idmap.ReadAccount(); err != nil {
		t.Fatal(err)
	}
	e.checkNamespaces(t.Context())
	for _, f := range e.report.Findings {
		if f.Status != OK && f.Code != CodeSubIDs {
			t.Errorf("%+v", f)
		}
	}
}

// allCodes returns the codes of a report in order.
func allCodes() []string {
	all := []string{
		CodeUnshare, CodeSelf, CodeSubIDs, CodeRange, CodeNested, CodeTmpfs, CodeProc, CodeBind, CodeOverlay,
		CodeNetwork, CodeIPC, CodeUTS, CodeCgroupNS, CodeFilter, CodeNotify, CodeParent, CodePidfd,
		CodeProcesses, CodeMaxUserNS, CodeUserNSOff, CodeAppArmor, CodeContainer, CodeParentGroup,
	}
	for _, prefix := range groupCodes {
		for _, controller := range controllers {
			all = append(all, prefix+controller)
		}
	}
	return append(all, CodeRoot, CodeTmp, CodeCatalog, CodePostgreSQL, CodeRun, CodePython)
}

// TestCodes wants the names of child probes among those that are promised, each of them once.
func TestCodes(t *testing.T) {
	codes := allCodes()
	if sorted := slices.Compact(slices.Sorted(slices.Values(codes))); len(sorted) != len(codes) {
		t.Errorf("%q", codes)
	}
	for _, p := range childProbes() {
		for _, code := range append(p.needs, p.Name) {
			if !slices.Contains(codes, code) {
				t.Errorf("%s is not among the codes", code)
			}
		}
	}
	schema, err := os.ReadFile("../../../docs/schema/doctor.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range codes {
		if n := strings.Count(string(schema), `"`+code+`"`); n != 1 {
			t.Errorf("docs/schema/doctor.json has %s %d times", code, n)
		}
	}
}

func TestDisk(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		code, dir string
		status    Status
		words     []string
	}{
		"there":          {CodeTmp, dir, OK, flags(dir, "free")},
		"to be made":     {CodeRoot, filepath.Join(dir, "a/b"), OK, flags("a/b can be written to")},
		"not to be made": {CodeTmp, filepath.Join(dir, "a"), Fail, flags("no such file", "--tmp")},
		"a file":         {CodeRoot, file, Fail, flags("not a directory")},
		"below a file":   {CodeRoot, file + "/x", Fail, flags("not a directory")},
	} {
		t.Run(name, func(t *testing.T) {
			e := &examination{}
			e.disk(c.code, c.dir, "give another with --tmp DIR", "works")
			f := e.report.of(c.code)
			if f.Status == Warn && strings.Contains(f.Means, "little room") {
				t.Skip("the disk of this machine is nearly full") // as it may be
			}
			check(t, f, c.status, c.words...)
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
}
