package spec

import "testing"

// TestRootfsKinds: what is given is the host's programs, an image or a directory, and only a directory is a path.
func TestRootfsKinds(t *testing.T) {
	for rootfs, want := range map[string]struct {
		directory, image bool
		resolved         string
	}{
		"":                         {resolved: ""},
		"host":                     {resolved: "host"},
		"scientific":               {image: true, resolved: "scientific"},
		"reg.example:5000/a/b:1.2": {image: true, resolved: "reg.example:5000/a/b:1.2"},
		"trees/alpine":             {image: true, resolved: "trees/alpine"},
		"/trees/../alpine":         {directory: true, resolved: "/alpine"},
		"./alpine":                 {directory: true, resolved: "/here/alpine"},
		"../a b":                   {directory: true, resolved: "/a b"},
		".":                        {directory: true, resolved: "/here"},
	} {
		a := Analysis{Command: []string{"true"}, Rootfs: rootfs}
		if a.RootfsDirectory() != want.directory || a.RootfsImage() != want.image {
			t.Errorf("%q: a directory %v, an image %v", rootfs, a.RootfsDirectory(), a.RootfsImage())
		}
		if got := a.ResolvePaths("/here").Rootfs; got != want.resolved {
			t.Errorf("%q is %q; want %q", rootfs, got, want.resolved)
		}
		if err := a.Validate(); err != nil {
			t.Errorf("%q: %v", rootfs, err)
		}
	}
}
