package spec

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

var update = flag.Bool("update", false, "write the golden files anew")

func testAnalysis() Analysis {
	return Analysis{
		ID: "penguins", Script: "/h/a.py", Memory: 512 * MiB, CPUs: 1.5, Pids: 50,
		Env: map[string]string{"TZ": "Europe/Oslo", "MODE": "fast"}, Secrets: []string{"API_KEY", "HOME", "NOT_GIVEN"},
	}
}

func testPlacement() Placement {
	mappings := []specs.LinuxIDMapping{{ContainerID: 0, HostID: 1, Size: 1}, {ContainerID: 1000, HostID: 2, Size: 1}}
	return Placement{
		Root: "/run/scidex/rootfs", Work: "/tmp/scidex-analysis-penguins/work",
		Binds: []Bind{
			{"/usr", "/usr"},
			{"/stage/data", "/data"},
			{"/stage/src", "/analysis"},
			{"/stage/a.py", "/analysis/a.py"},
		},
		UIDMappings: mappings, GIDMappings: mappings, UID: 1000, GID: 1000,
		Command: []string{"python3", "/analysis/a.py"},
		Secrets: map[string]string{"API_KEY": "s3cret", "HOME": "/work", "OTHER": "must not appear"},
		HasData: true, NoFile: 4096,
	}
}

func portable(p Placement) Placement {
	p.Portable, p.Root, p.Secrets = true, "rootfs", nil
	return p
}

// TestOCIGolden shows the whole spec to a reader of a change. The filter has its own tests, as it
// differs from one architecture to another.
func TestOCIGolden(t *testing.T) {
	for name, place := range map[string]Placement{"config.json": testPlacement(), "portable.json": portable(testPlacement())} {
		s, err := OCI(testAnalysis(), place)
		if err != nil {
			t.Fatal(err)
		}
		if s.Linux.Seccomp == nil || len(s.Linux.Seccomp.Syscalls) == 0 || s.Linux.Seccomp.DefaultAction != specs.ActErrno {
			t.Errorf("%s: no seccomp filter: %+v", name, s.Linux.Seccomp)
		}
		s.Linux.Seccomp = nil
		if !place.Portable {
			AddInit(s, "/stage/init")
		}
		got, err := json.MarshalIndent(s, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		if *update {
			if err := os.WriteFile("testdata/"+name, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want := readTestdata(t, name); !bytes.Equal(got, want) {
			t.Errorf("%s differs from testdata (go test ./spec -update writes it anew); got\n%s", name, got)
		}
	}
}

func TestOCIConfines(t *testing.T) {
	s, err := OCI(testAnalysis(), testPlacement())
	if err != nil {
		t.Fatal(err)
	}
	if c := s.Process.Capabilities; c == nil || !reflect.DeepEqual(*c, specs.LinuxCapabilities{
		Bounding: []string{}, Effective: []string{}, Inheritable: []string{}, Permitted: []string{}, Ambient: []string{},
	}) {
		t.Errorf("capabilities %+v; want five empty sets", c)
	}
	if !s.Process.NoNewPrivileges || !s.Root.Readonly || s.Process.Terminal {
		t.Error("want no_new_privs, a read-only root and no terminal")
	}
	if got, want := s.Process.Args, []string{"python3", "/analysis/a.py"}; !slices.Equal(got, want) {
		t.Errorf("args %q; want %q", got, want)
	}
	if len(s.Process.User.AdditionalGids) != 0 {
		t.Error("supplementary groups")
	}
	var kinds []string
	for _, n := range s.Linux.Namespaces {
		kinds = append(kinds, string(n.Type))
		if n.Path != "" {
			t.Errorf("namespace %s is not new", n.Type)
		}
	}
	if want := []string{"user", "pid", "mount", "ipc", "uts", "cgroup", "network"}; !slices.Equal(kinds, want) {
		t.Errorf("namespaces %v; want %v", kinds, want)
	}
	for _, m := range s.Mounts {
		if m.Destination != "/dev" && !strings.HasPrefix(m.Destination, "/dev/pts") && !slices.Contains(m.Options, "nodev") && !slices.Contains(m.Options, "rnodev") {
			t.Errorf("%s allows devices: %v", m.Destination, m.Options)
		}
		if !slices.Contains(m.Options, "nosuid") && !slices.Contains(m.Options, "rnosuid") {
			t.Errorf("%s allows set-id programs: %v", m.Destination, m.Options)
		}
		if slices.Contains([]string{"sysfs", "cgroup", "cgroup2", "mqueue"}, m.Type) {
			t.Errorf("there is a %s", m.Type)
		}
		if strings.HasPrefix(m.Destination, "/work/") {
			t.Errorf("%s is below /work", m.Destination)
		}
	}
}

func TestOCIEnv(t *testing.T) {
	env := func(a Analysis, p Placement) map[string]string {
		t.Helper()
		s, err := OCI(a, p)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSorted(s.Process.Env) {
			t.Errorf("env is not sorted: %q", s.Process.Env)
		}
		vars := map[string]string{}
		for _, v := range s.Process.Env {
			name, value, _ := strings.Cut(v, "=")
			if _, ok := vars[name]; ok {
				t.Errorf("%s is there twice", name)
			}
			vars[name] = value
		}
		return vars
	}
	got := env(testAnalysis(), testPlacement())
	for name, want := range map[string]string{
		"TZ": "Europe/Oslo", "MODE": "fast", "API_KEY": "s3cret", "HOME": "/work", "OMP_NUM_THREADS": "2", "PYTHON_CPU_COUNT": "2", "MC_CORES": "2",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
		"SCIDEX_ANALYSIS_ID": "penguins", "SCIDEX_WORK_DIR": "/work", "SCIDEX_DATA_DIR": "/data", "SOURCE_DATE_EPOCH": "315532800",
		"PYTHONHASHSEED": "0", "USER": "analysis", "TMPDIR": "/tmp", "MATPLOTLIBRC": "/etc/scidex-matplotlibrc", "MPLCONFIGDIR": "/home/analysis/.config/matplotlib",
	} {
		if got[name] != want {
			t.Errorf("%s = %q; want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"SCIDEX_DOCS_DIR", "NOT_GIVEN", "OTHER", "TERM"} {
		if value, ok := got[name]; ok {
			t.Errorf("%s = %q; want it absent", name, value)
		}
	}
	place := testPlacement()
	place.HasData, place.HasDocs = false, true
	a := testAnalysis()
	a.CPUs = 0.1
	got = env(a, place)
	if _, ok := got["SCIDEX_DATA_DIR"]; ok || got["SCIDEX_DOCS_DIR"] != "/docs" || got["OMP_NUM_THREADS"] != "1" {
		t.Errorf("env %v; want docs, no data and one thread", got)
	}
	place.ImageEnv = []string{
		"PATH=/opt/bin", "PATH=/opt/conda/bin:/bin", "HOME=/root", "TZ=Asia/Tokyo", "MODE=slow", "OWN=a=b", "USER=root", "LANG=de_DE",
		"SCIDEX_WORK_DIR=/", "SCIDEX_DATA_DIR=/x", "SCIDEX_ANALYSIS_ID=x", "1BAD=x", "NONE", "=x", "NUL=a\x00b", "LATIN=\xff", "API_KEY=theirs",
		"LONG=" + strings.Repeat("x", maxWord), "OMP_NUM_THREADS=99",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=init.defaultBranch", "GIT_CONFIG_VALUE_0=trunk",
	}
	got = env(a, place)
	for name, want := range map[string]string{
		"PATH": "/opt/conda/bin:/bin", "HOME": "/work", "TZ": "Europe/Oslo", "MODE": "fast", "OWN": "a=b", "USER": "analysis", "LANG": "C.UTF-8",
		"SCIDEX_WORK_DIR": "/work", "SCIDEX_ANALYSIS_ID": "penguins", "API_KEY": "s3cret", "OMP_NUM_THREADS": "1",
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "init.defaultBranch", "GIT_CONFIG_VALUE_0": "trunk",
	} {
		if got[name] != want {
			t.Errorf("with an image: %s = %q; want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"SCIDEX_DATA_DIR", "1BAD", "NONE", "", "NUL", "LATIN", "LONG"} {
		if value, ok := got[name]; ok {
			t.Errorf("with an image: %s = %q; want it absent", name, value)
		}
	}
	for range 20 { // more than execve(2) takes
		place.ImageEnv = append(place.ImageEnv, "FILL="+strings.Repeat("x", maxWord-5))
	}
	if got := env(a, place); got["OWN"] != "" || got["PATH"] != "/usr/local/bin:/usr/bin:/bin" {
		t.Errorf("of an endless list counts %q, %q", got["OWN"], got["PATH"])
	}
}

func TestOCIRlimits(t *testing.T) {
	storage := WorkDisk
	limits := func(words string, noFile uint64, change func(Placement) Placement) map[string][2]uint64 {
		t.Helper()
		a, p := testAnalysis(), testPlacement()
		a.WorkSize, a.WorkStorage = 3*MiB, storage
		a.Limits, p.NoFile = words, noFile
		s, err := OCI(a, change(p))
		if err != nil {
			t.Fatal(err)
		}
		got := map[string][2]uint64{}
		for _, r := range s.Process.Rlimits {
			name := strings.TrimPrefix(r.Type, "RLIMIT_")
			if _, ok := got[name]; ok {
				t.Errorf("%s is there twice", name)
			}
			got[name] = [2]uint64{r.Soft, r.Hard}
		}
		return got
	}
	const none = math.MaxUint64
	as := func(p Placement) Placement { return p }
	want := map[string][2]uint64{
		"CORE": {1, 1}, "MEMLOCK": {65536, 65536}, "MSGQUEUE": {819200, 819200}, "NICE": {0, 0}, "NOFILE": {65536, 65536},
		"FSIZE": {4 << 20, 4 << 20}, "RTPRIO": {0, 0}, "SIGPENDING": {4096, 4096},
	}
	if got := limits("enforce", 0, portable); !reflect.DeepEqual(got, want) {
		t.Errorf("portable: %v; want %v", got, want)
	}
	for _, name := range []string{"AS", "CPU", "DATA", "LOCKS", "NPROC", "RSS", "RTTIME"} {
		want[name] = [2]uint64{none, none}
	}
	want["STACK"] = [2]uint64{8 << 20, none}
	if got := limits("enforce", 0, as); !reflect.DeepEqual(got, want) {
		t.Errorf("enforce: %v; want %v", got, want)
	}
	if got := limits("outer", 0, as); !reflect.DeepEqual(got, want) {
		t.Errorf("outer: %v; want %v", got, want)
	}
	want["NOFILE"], want["DATA"], want["NPROC"] = [2]uint64{1024, 1024}, [2]uint64{512 << 20, 512 << 20}, [2]uint64{50, 50}
	if got := limits("best-effort", 1024, as); !reflect.DeepEqual(got, want) {
		t.Errorf("best-effort: %v; want %v", got, want)
	}
	storage, want["FSIZE"] = WorkTmpfs, [2]uint64{none, none} // its own size holds, of all files together
	if got := limits("best-effort", 1024, as); !reflect.DeepEqual(got, want) {
		t.Errorf("tmpfs: %v; want %v", got, want)
	}
}

// TestOCIWork has /work as a bind for a supervisor, whatever the storage, and as the requested mount for other
// runtimes.
func TestOCIWork(t *testing.T) {
	work := func(storage string, change func(Placement) Placement) specs.Mount {
		t.Helper()
		a := testAnalysis()
		a.WorkSize, a.WorkFiles, a.WorkStorage = 3*MiB, 40, storage
		s, err := OCI(a, change(testPlacement()))
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Mounts, func(m specs.Mount) bool { return m.Destination == "/work" })
		return s.Mounts[i]
	}
	as := func(p Placement) Placement { return p }
	for _, got := range []specs.Mount{work(WorkDisk, as), work(WorkDisk, portable), work(WorkTmpfs, as)} {
		if got.Type != "bind" {
			t.Errorf("/work is %+v", got)
		}
	}
	want := []string{"nosuid", "nodev", "size=3145728", "nr_inodes=41", "mode=0700", "uid=1000", "gid=1000"}
	if got := work(WorkTmpfs, portable); got.Type != "tmpfs" || !slices.Equal(got.Options, want) {
		t.Errorf("/work is %+v, want options %q", got, want)
	}
}

// TestOCIWorkdir has /work at a second path, with the same options and after all that is read-only.
func TestOCIWorkdir(t *testing.T) {
	a := testAnalysis()
	a.Workdir = "/var/spool/cwl"
	s, err := OCI(a, portable(testPlacement()))
	if err != nil {
		t.Fatal(err)
	}
	last := s.Mounts[len(s.Mounts)-2:]
	if last[0].Destination != "/work" || last[1].Destination != "/var/spool/cwl" || last[1].Source != last[0].Source || !slices.Equal(last[1].Options, last[0].Options) {
		t.Errorf("the last mounts are %+v", last)
	}
	if s.Process.Cwd != "/var/spool/cwl" || !slices.Contains(s.Process.Env, "SCIDEX_WORK_DIR=/var/spool/cwl") {
		t.Errorf("it starts in %s, with %q", s.Process.Cwd, s.Process.Env)
	}
	a.Workdir = "/work"
	if s, err = OCI(a, portable(testPlacement())); err != nil || s.Process.Cwd != "/work" || s.Mounts[len(s.Mounts)-1].Destination != "/work" || s.Mounts[len(s.Mounts)-2].Destination == "/work" {
		t.Errorf("/work alone: %+v, %v", s, err)
	}
	a.Workdir, a.WorkStorage = "/job", WorkTmpfs
	if _, err := OCI(a, portable(testPlacement())); err == nil || !strings.Contains(err.Error(), "another runtime cannot show a tmpfs twice") {
		t.Error(err)
	}
}

func TestOCIRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Analysis, *Placement)
		want   string
	}{
		"no id":            {func(a *Analysis, _ *Placement) { a.ID = "" }, `id "" is not allowed`},
		"not valid":        {func(a *Analysis, _ *Placement) { a.Memory = -1 }, "memory -1B is out of bounds"},
		"reserved name":    {func(a *Analysis, _ *Placement) { a.Env = map[string]string{"SCIDEX_WORK_DIR": "/"} }, "SCIDEX_WORK_DIR"},
		"no command":       {func(_ *Analysis, p *Placement) { p.Command = nil }, "no command"},
		"empty word":       {func(_ *Analysis, p *Placement) { p.Command = []string{""} }, "no command"},
		"relative root":    {func(_ *Analysis, p *Placement) { p.Root = "rootfs" }, `path "rootfs" is not absolute`},
		"no work":          {func(_ *Analysis, p *Placement) { p.Work = "" }, `path "" is not absolute`},
		"relative source":  {func(_ *Analysis, p *Placement) { p.Binds[0].Source = "usr" }, `path "usr"`},
		"relative target":  {func(_ *Analysis, p *Placement) { p.Binds[0].Destination = "usr" }, `mount point "usr"`},
		"target above":     {func(_ *Analysis, p *Placement) { p.Binds[0].Destination = "/a/../usr" }, `mount point "/a/../usr"`},
		"root as target":   {func(_ *Analysis, p *Placement) { p.Binds[0].Destination = "/" }, `mount point "/"`},
		"uid not mapped":   {func(_ *Analysis, p *Placement) { p.UID = 1001 }, "uid 0 or 1001 is not mapped"},
		"gid not mapped":   {func(_ *Analysis, p *Placement) { p.GID = 1001 }, "gid 0 or 1001 is not mapped"},
		"no mappings":      {func(_ *Analysis, p *Placement) { p.UIDMappings = nil }, "not mapped"},
		"secret with NUL":  {func(_ *Analysis, p *Placement) { p.Secrets["API_KEY"] = "hush\x00" }, "the value of secret API_KEY has a NUL byte"},
		"secret too large": {func(_ *Analysis, p *Placement) { p.Secrets["API_KEY"] = strings.Repeat("hush", 32768) }, "secret API_KEY"},
	} {
		a, p := testAnalysis(), testPlacement()
		c.change(&a, &p)
		s, err := OCI(a, p)
		if err == nil || s != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want %q", name, err, c.want)
		} else if strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: the message shows the secret: %v", name, err)
		}
	}
}

// TestOwnMatplotlibDirectory: an analysis that sets a configuration directory gets the matplotlibrc in it.
func TestOwnMatplotlibDirectory(t *testing.T) {
	for name, want := range map[string]string{"MPLCONFIGDIR": "", "MATPLOTLIBRC": "/data/rc", "OTHER": "/etc/scidex-matplotlibrc"} {
		env, err := Environment(Analysis{Env: map[string]string{name: "/data/rc"}}, Placement{})
		if err != nil || env["MATPLOTLIBRC"] != want {
			t.Errorf("with %s: %q, %v, want %q", name, env["MATPLOTLIBRC"], err, want)
		}
	}
}
