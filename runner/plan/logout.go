package plan

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// LogoutWarnings says how systemd would end a run in these control groups when its user logs out.
func LogoutWarnings(groups []string) []string {
	if _, err := os.Stat("/run/systemd/system"); err != nil || os.Geteuid() == 0 { // sd_booted(3)
		return nil
	}
	me, err := user.Current()
	if err != nil {
		return nil
	}
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	return logout{
		user:   me,
		groups: string(own) + strings.Join(groups, "\n"),
		linger: func() bool { return workspace.Exists(filepath.Join("/var/lib/systemd/linger", me.Username)) },
		kill:   killsUserProcesses,
	}.warnings()
}

// logout decides what happens to a run when its user logs out.
type logout struct {
	user   *user.User
	groups string      // the control groups of launcher and run
	linger func() bool // the user's manager outlives their last session (loginctl(1), enable-linger)
	kill   func() bool // a session's processes are killed at its end (logind.conf(5), KillUserProcesses)
}

var sessionScope = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`/session-[^/\n]+\.scope(/|\n|$)`) })

func (l logout) warnings() []string {
	var all []string
	inSession := sessionScope().MatchString(l.groups)
	killed := inSession && l.kill()
	// A session whose processes are not killed stays, closing, while they live, and keeps the user's manager (user_may_gc()
	// in systemd's logind-user.c).
	kept := inSession && !killed
	if strings.Contains(l.groups, "/user@"+l.user.Uid+".service") && !kept && !l.linger() {
		all = append(all, fmt.Sprintf("logging out for good ends this run, because systemd then ends all services of user %s; "+
			"\"loginctl enable-linger %s\" keeps them", l.user.Username, l.user.Username))
	}
	if killed {
		all = append(all, "logging out ends this run, because systemd kills what the session has started (KillUserProcesses); "+
			"start it with \"systemd-run --user --scope scidex-oci run --detach ...\"")
	}
	return all
}

// killsUserProcesses asks logind. Without an answer there is nothing to warn of: there are no sessions.
func killsUserProcesses() bool {
	const timeout = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	// Without a user it shows the manager's own properties.
	out, err := exec.CommandContext(ctx, "loginctl", "show-user", "--property=KillUserProcesses", "--value").Output()
	return err == nil && strings.TrimSpace(string(out)) == "yes"
}
