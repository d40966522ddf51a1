package plan

import (
	"os/user"
	"strings"
	"testing"
)

func TestLogoutWarnings(t *testing.T) {
	me := &user.User{Uid: "1000", Username: "ada"}
	const (
		manager = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/run.scope\n"
		session = "0::/user.slice/user-1000.slice/session-3.scope\n"
	)
	for _, c := range []struct {
		groups       string
		linger, kill bool
		want         []string
	}{
		{manager, false, false, []string{"loginctl enable-linger ada"}},
		{manager, true, true, nil},
		{session, false, false, nil},
		{session, false, true, []string{"systemd-run --user --scope"}},
		{session + manager, false, false, nil},
		{session + manager, false, true, []string{"loginctl enable-linger ada", "systemd-run --user --scope"}},
		{strings.ReplaceAll(manager, "1000", "1001"), false, true, nil},
		{"0::/system.slice/cron.service\n", false, true, nil},
		{"1:name=systemd:/user.slice/user-1000.slice/session-c2.scope\n", false, true, []string{"systemd-run --user --scope"}},
	} {
		got := logout{me, c.groups, func() bool { return c.linger }, func() bool { return c.kill }}.warnings()
		if len(got) != len(c.want) {
			t.Errorf("%q: %q, want %q", c.groups, got, c.want)
			continue
		}
		for i, words := range c.want {
			if !strings.Contains(got[i], words) {
				t.Errorf("%q: %q, want %q", c.groups, got[i], words)
			}
		}
	}
}
