package spec

import (
	"slices"
	"strings"
	"testing"
)

func TestIsRuntimeName(t *testing.T) {
	for runtime, want := range map[string]bool{
		"python3": true, "r-base": true, "none": true, "": false, ".": false, "..": false, "./venv": false, "/opt/x": false, "envs/x": false,
	} {
		if got := IsRuntimeName(runtime); got != want {
			t.Errorf("%q: %v", runtime, got)
		}
	}
	for name, want := range map[string]bool{
		"python3": true, "r-base": true, "3.11_x": true, "none": false, "": false, "a/b": false, ".a": false, "-a": false, "a b": false, strings.Repeat("a", 64): false,
	} {
		if err := ValidateRuntimeName(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestResolveRuntime(t *testing.T) {
	for runtime, want := range map[string]string{"": "", "python3": "python3", "./venv": "/here/venv", ".": "/here", "..": "/", "/opt//x/": "/opt/x"} {
		if got := (Analysis{Runtime: runtime}).ResolvePaths("/here").Runtime; got != want {
			t.Errorf("%q became %q, want %q", runtime, got, want)
		}
	}
}

func TestCheckOwnPath(t *testing.T) {
	for path, want := range map[string]string{
		"/opt/env": "", "/home/me/miniconda3/envs/x": "", "/root/venv": "", "/srv/env": "", "/tmp/venv": "", "/home/analysis/venv": "", "/var/lib/env": "",
		"/opt": "", "/workshop": "", "/data2/env": "", "/home/analysis2": "",

		"/":              "all of the host",
		"/home":          "would hide /home/analysis",
		"/tmp":           "would hide /tmp",
		"/home/analysis": "would hide /home/analysis",
		"/var":           "would hide /var/tmp",
		"/usr/local/env": "the root filesystem's programs are there",
		"/etc/env":       "the run's own settings are there",
		"/data":          "the data is there",
		"/data/env":      "the data is there",
		"/work/env":      "the working directory is there",
		"/dev/shm/env":   "the run's own devices are there",
		"/var/tmp/env":   "that is /tmp",
		"/opt/a\nb":      "control character",
	} {
		err := CheckOwnPath(path)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
	}
	// A runtime cannot be at the paths that are refused for inputs, except those that are common for environments.
	for _, dir := range taken {
		free := []string{"/home", "/root", "/tmp", "/var/lock", "/var/run"}
		if err := CheckOwnPath(dir + "/x"); (err == nil) != slices.Contains(free, dir) {
			t.Errorf("%s/x: %v", dir, err)
		}
	}
}

func TestCheckOverlap(t *testing.T) {
	a := Analysis{Workdir: "/srv/job", Inputs: []string{"/host/models:/opt/models", "/host/table"}}
	for path, ok := range map[string]bool{"/srv/env": true, "/srv": false, "/srv/job": false, "/srv/job/env": false, "/opt/env": true, "/opt/models2": true, "/opt": false, "/opt/models": false, "/opt/models/env": false} {
		if err := a.CheckOverlap(path); (err == nil) != ok {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestRuntimeEnv(t *testing.T) {
	for name, c := range map[string]struct {
		runtime, variable string
		own               map[string]string
		want              []string
		not               string
	}{
		"none":        {want: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}, not: "VIRTUAL_ENV="},
		"a venv":      {"/opt/v", "VIRTUAL_ENV", nil, []string{"PATH=/opt/v/bin:/usr/local/bin:/usr/bin:/bin", "VIRTUAL_ENV=/opt/v"}, "CONDA_PREFIX="},
		"conda":       {"/opt/c", "CONDA_PREFIX", nil, []string{"PATH=/opt/c/bin:/usr/local/bin:/usr/bin:/bin", "CONDA_PREFIX=/opt/c"}, "VIRTUAL_ENV="},
		"a directory": {"/opt/julia", "", nil, []string{"PATH=/opt/julia/bin:/usr/local/bin:/usr/bin:/bin"}, "VIRTUAL_ENV="},
		"the user's":  {"/opt/v", "VIRTUAL_ENV", map[string]string{"PATH": "/x", "VIRTUAL_ENV": "y"}, []string{"PATH=/x", "VIRTUAL_ENV=y"}, "PATH=/opt"},
	} {
		t.Run(name, func(t *testing.T) {
			a, place := testAnalysis(), testPlacement()
			a.Env, place.Runtime, place.RuntimeVariable = c.own, c.runtime, c.variable
			s, err := OCI(a, place)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !slices.Contains(s.Process.Env, want) {
					t.Errorf("%s is not in %q", want, s.Process.Env)
				}
			}
			for _, variable := range s.Process.Env {
				if c.not != "" && strings.HasPrefix(variable, c.not) {
					t.Errorf("%s is set", variable)
				}
			}
		})
	}
}
