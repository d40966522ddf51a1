package spec

import (
	"regexp"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
)

func policyDigest(t *testing.T, a Analysis) string {
	t.Helper()
	digest, err := PolicyDigest(a, true)
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(digest) {
		t.Fatalf("digest %q", digest)
	}
	return digest
}

// What differs between hosts or runs does not change the digest.
func TestPolicyDigestIsOfTheConfinement(t *testing.T) {
	want := policyDigest(t, Analysis{Data: "/a/data", Inputs: []string{"/a/x:/inputs/x"}})
	for name, a := range map[string]Analysis{
		"other places": {Data: "/b/data", Inputs: []string{"/b/y:/inputs/x"}},
		"another run": {
			ID: "run", Labels: map[string]string{"k": "v"}, Script: "/a.py", Args: []string{"x"}, Data: "/a/data",
			Inputs: []string{"/a/x:/inputs/x"}, Env: map[string]string{"K": "v"}, Secrets: []string{"S"},
			Outputs: []string{"*.csv"}, Keep: KeepAlways, Stage: "/s", Export: "/e",
		},
		"defaults written out": Analysis{Data: "/a/data", Inputs: []string{"/a/x:/inputs/x"}}.WithDefaults(),
	} {
		if got := policyDigest(t, a); got != want {
			t.Errorf("%s: the digest changed", name)
		}
	}
}

func TestPolicyDigestChangesWithFlags(t *testing.T) {
	seen := map[string]string{}
	for name, a := range map[string]Analysis{
		"none":        {},
		"data":        {Data: "/data"},
		"docs":        {Docs: "/docs"},
		"project":     {Project: "/p"},
		"input":       {Inputs: []string{"/a/x:/inputs/x"}},
		"other input": {Inputs: []string{"/a/x:/inputs/y"}},
		"memory":      {Memory: GiB},              // the size of /tmp
		"best effort": {Limits: LimitsBestEffort}, // rlimits
		"work size":   {WorkSize: 2 * GiB},        // the size of a file
		"tmpfs":       {WorkStorage: WorkTmpfs},   // none
		"workdir":     {Workdir: "/job"},          // a mount more
		"image":       {Rootfs: "scientific"},     // no bind of /usr
	} {
		digest := policyDigest(t, a)
		if other, taken := seen[digest]; taken {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[digest] = name
	}
	silent, err := PolicyDigest(Analysis{}, false)
	if err != nil {
		t.Fatal(err)
	}
	if seen[silent] != "" {
		t.Error("no audit and an audit have one digest")
	}
	if policyDigest(t, Analysis{Timeout: Duration(time.Minute)}) != policyDigest(t, Analysis{}) {
		t.Error("the clock is no part of the OCI specification")
	}
}

// Each part of the specification counts.
func TestPolicyDigestIsOfTheWholeSpec(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(*specs.Spec){
		"nothing":          func(*specs.Spec) {},
		"a rule less":      func(s *specs.Spec) { s.Linux.Seccomp.Syscalls = s.Linux.Seccomp.Syscalls[1:] },
		"a name less":      func(s *specs.Spec) { s.Linux.Seccomp.Syscalls[0].Names = s.Linux.Seccomp.Syscalls[0].Names[1:] },
		"default action":   func(s *specs.Spec) { s.Linux.Seccomp.DefaultAction = specs.ActAllow },
		"a namespace less": func(s *specs.Spec) { s.Linux.Namespaces = s.Linux.Namespaces[1:] },
		"an rlimit":        func(s *specs.Spec) { s.Process.Rlimits[0].Hard++ },
		"a mount less":     func(s *specs.Spec) { s.Mounts = s.Mounts[1:] },
		"a mount's option": func(s *specs.Spec) { s.Mounts[0].Options = s.Mounts[0].Options[1:] },
		"a masked path":    func(s *specs.Spec) { s.Linux.MaskedPaths = s.Linux.MaskedPaths[1:] },
		"a read-only path": func(s *specs.Spec) { s.Linux.ReadonlyPaths = s.Linux.ReadonlyPaths[1:] },
		"a sysctl":         func(s *specs.Spec) { s.Linux.Sysctl = nil },
		"a capability":     func(s *specs.Spec) { s.Process.Capabilities.Bounding = []string{"CAP_KILL"} },
		"new privileges":   func(s *specs.Spec) { s.Process.NoNewPrivileges = false },
		"a writable root":  func(s *specs.Spec) { s.Root.Readonly = false },
		"a variable":       func(s *specs.Spec) { s.Process.Env = s.Process.Env[1:] },
		"out-of-memory":    func(s *specs.Spec) { s.Process.OOMScoreAdj = nil },
		"another user":     func(s *specs.Spec) { s.Process.User.UID = 0 },
		"an id map":        func(s *specs.Spec) { s.Linux.UIDMappings[0].Size = 9 },
		"a device":         func(s *specs.Spec) { s.Linux.Devices = []specs.LinuxDevice{{Path: "/dev/kvm"}} },
		"a control group":  func(s *specs.Spec) { s.Linux.CgroupsPath = "/x" },
	} {
		place, err := policyPlacement(Analysis{})
		if err != nil {
			t.Fatal(err)
		}
		ociSpec, err := OCI(confined(Analysis{}), place)
		if err != nil {
			t.Fatal(err)
		}
		AddInit(ociSpec, nowhere)
		change(ociSpec)
		digest, err := digestOf(ociSpec)
		if err != nil {
			t.Fatal(err)
		}
		if other, taken := seen[digest]; taken {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[digest] = name
	}
}

func TestPolicyDigestRefuses(t *testing.T) {
	for _, a := range []Analysis{{Limits: "some"}, {Inputs: []string{":"}}} {
		if _, err := PolicyDigest(a, true); err == nil {
			t.Errorf("%+v has a digest", a)
		}
	}
}
