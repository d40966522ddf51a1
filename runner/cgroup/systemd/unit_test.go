package systemd

import "testing"

func TestUnitOf(t *testing.T) {
	for dir, want := range map[string]string{
		"/cg": "/cg", "/cg/a/b": "/cg", "/cg/a.slice/b.scope": "/cg/a.slice/b.scope",
		"/cg/a.slice/b.scope/c/d": "/cg/a.slice/b.scope", "/cg/a.slice": "/cg/a.slice", "/elsewhere/x.scope": "/cg",
	} {
		if got := UnitOf("/cg", dir); got != want {
			t.Errorf("the unit of %s is %s, want %s", dir, got, want)
		}
	}
}
