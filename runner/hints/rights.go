package hints

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/spec"
)

// noDatabase is SQLite's error, which names no file; noFigure is R's, which says no reason.
var (
	noDatabase = pattern(`(unable to open database file|attempt to write a readonly database)`)
	noFigure   = pattern(`(?m)^Error in [^\n]* :\s+(?:cannot|could not) open file '([^'\n]+)'$`)
)

var noAccess = pattern(`(?m)` + failedWith(`Permission denied`))

// nobody owns no file of the host, as the id of a run.
const nobody = -1

// denied is a path of inputs that the kernel refused to the analysis, and where it is on the host.
func (f Facts) denied() (name string, b shownDir, rest string) {
	name = f.find(noAccess)
	if f.Outcome.Reason == outcome.ReasonNotInvocable && len(f.Ended.Command) > 0 {
		name = f.Ended.Command[0]
	}
	b, rest, found := f.outside(name)
	if !found {
		return "", b, ""
	}
	return name, b, rest
}

// unreadable is for what the analysis may not read or execute: of a file that it may read, the message does not say what else
// was tried.
func unreadable(f Facts) string {
	name, b, rest := f.denied()
	host := filepath.Join(b.host, rest)
	switch {
	case name == "":
		return ""
	case f.Ended.Report.Sandbox.IDs == spec.IDsSelf && !b.opens(rest, os.Geteuid(), append(f.Ended.Report.Sandbox.Groups, os.Getegid())):
		return name + " cannot be read by " + f.withOwnID(host)
	case f.Ended.Report.Sandbox.IDs != spec.IDsSelf && !b.opens(rest, nobody, nil):
		return name + " cannot be read by the analysis' user id: " + f.withRights(b, rest)
	}
	if info, err := os.Stat(host); err == nil && info.Mode().IsRegular() && info.Mode()&0o001 == 0 {
		return fmt.Sprintf("%s can only be read: to execute it, type chmod a+x %s; write to the current directory, %s",
			name, format.ShellQuote(f.fromCaller(host)), f.Ended.Analysis.StartDir())
	}
	return ""
}

// readOnly is for what was to be written where the analysis only reads. Some libraries say that it may not (netCDF).
func readOnly(f Facts) string {
	if f.find(noDatabase) != "" {
		return `SQLite needs a database in a directory that is there and may be written, as the current one, ` + f.Ended.Analysis.StartDir() +
			`: copy it there, or only read it as "file:/data/NAME?immutable=1" (in Python with uri=True)`
	}
	name := f.find(noWrite)
	if denied, _, _ := f.denied(); name == "" && unreadable(f) == "" {
		name = denied
	}
	if figure := f.find(noFigure); name == "" {
		if _, _, found := f.outside(figure); found {
			name = figure
		}
	}
	if name == "" {
		return ""
	}
	return name + " cannot be written: write to the current directory, " + f.Ended.Analysis.StartDir() + ", or to /tmp"
}

const stage = "pass its directory with --stage DIR, which copies it to /work"

// withOwnID is what helps an analysis with the caller's id, which lacks the caller's supplementary groups.
func (f Facts) withOwnID(host string) string {
	if mayRead(host) {
		return "the analysis, which does not have your supplementary groups: " + stage
	}
	return "you either: if it is yours, give yourself the right with chmod, else ask its owner"
}

// withRights is what helps an analysis with an id of its own.
func (f Facts) withRights(b shownDir, rest string) string {
	host, ways := filepath.Join(b.host, rest), []string(nil)
	if f.Caller.Root || mine(host) {
		ways = append(ways, "let others read it with chmod -R o+rX "+format.ShellQuote(f.fromCaller(b.host)))
	}
	switch {
	case f.Caller.Root: // its runs never have its id
	case b.opens(rest, os.Geteuid(), []int{os.Getegid()}):
		ways = append(ways, "run with --ids self")
	case mayRead(host):
		ways = append(ways, stage)
	}
	if len(ways) == 0 {
		return "let its owner give others the right"
	}
	return strings.Join(ways, ", or ")
}

// opens reports whether an id may read a path below the directory, if there is something.
func (b shownDir) opens(rest string, uid int, gids []int) bool {
	need := uint32(0o4)
	for name := rest; ; name, need = path.Dir(name), 0o1 {
		var st unix.Stat_t
		err := unix.Stat(filepath.Join(b.host, name), &st)
		if missing := err == unix.ENOENT && name == rest; !missing && (err != nil || inode.Rights(&st, uid, gids)&need != need) {
			return false
		}
		if name == "." {
			return true
		}
	}
}

// mayRead reports whether this process may, with all of its groups.
func mayRead(host string) bool {
	return unix.Faccessat(unix.AT_FDCWD, host, unix.R_OK, unix.AT_EACCESS) == nil
}

func mine(host string) bool {
	var st unix.Stat_t
	return unix.Stat(host, &st) == nil && int(st.Uid) == os.Geteuid()
}
