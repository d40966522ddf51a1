package cgroupfs

import "testing"

func TestMountDir(t *testing.T) {
	for _, c := range []struct{ root, group, want string }{
		{"/", "/user/app", "/cg/user/app"},
		{"/docker/1", "/docker/1/x", "/cg/x"},
		{"/docker/1", "/elsewhere", "/cg"}, // a container that sees its own part only
		{"/", "/../escape", "/cg"},
	} {
		if got := (Mount{Root: c.root, Point: "/cg"}).Dir(c.group); got != c.want {
			t.Errorf("group %s of a mount of %s is at %s, want %s", c.group, c.root, got, c.want)
		}
	}
}
