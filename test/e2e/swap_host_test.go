package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Attacks of a user on a command of root that works in the user's directory: between any two of its system calls a name
// below that directory is exchanged. The command waits before each call that looks such a name up (seccomp_unotify(2)),
// so each moment is tried, also on a busy machine.

// theOwner is the uid and gid of the user. Nothing else has it.
const theOwner = 54321

// swapKind is what replaces a name.
type swapKind string

const (
	linkToFile      swapKind = "a link to root's file"
	linkToDirectory swapKind = "a link to root's directory"
	linkToSame      swapKind = "a link to what has its name in root's directory"
	linkToNothing   swapKind = "a link to a new name in root's directory"
	hardLink        swapKind = "root's file" // where fs.protected_hardlinks is 0
	aFIFO           swapKind = "a FIFO"
)

// hostSwap is one attack: before the nth call one of the names that it looks up is exchanged.
type hostSwap struct {
	call, name int
	kind       swapKind
	back       bool // before the next call the name is again what it was

	label string // of the call and the name, in the control
}

func (s hostSwap) String() string {
	text := fmt.Sprintf("before call %d (%s): %s", s.call, s.label, s.kind)
	if s.back {
		text += ", until the next call"
	}
	return text
}

// besieged is a command of root in a directory of a user.
type besieged struct {
	h            *harness
	theirs       string // the user's directory
	roots        string // root's, with the same names in it
	secret       string // is in each file of root's, and is one of the names in each directory
	id           string
	swap         hostSwap
	stopAtAccept bool // a server that can be reached is requested to end

	calls    int
	possible []hostSwap // in a control, all that the user can do
	done     bool       // the swap took place
	undo     func() error
	problem  error

	lock    sync.Mutex
	fifo    string
	opening []uint32 // threads that may open it
	won     []win
}

// win is what the user has gained: in words that are the same for each run, and the first file that it is about.
type win struct{ what, of string }

func (b *besieged) wins(what, of string) {
	b.lock.Lock()
	defer b.lock.Unlock()
	if !slices.ContainsFunc(b.won, func(w win) bool { return w.what == what }) {
		b.won = append(b.won, win{what, b.anonymous(of)})
	}
}

// judge counts the calls that look up a name in the user's directory, and acts before the nth one.
func (b *besieged) judge(n notification) *answer {
	goOn := &answer{Flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
	call := pathCalls[uintptr(n.Nr)]
	if call.name == "accept4" {
		if b.stopAtAccept {
			b.stopAtAccept = false
			_ = unix.Kill(int(n.Pid), unix.SIGTERM) // the signal goes to the process of the thread
		}
		return goOn
	}
	names := b.lookedUp(call, n)
	if other, two := firstPaths[call.name]; two {
		names = append(names, b.lookedUp(other, n)...)
	}
	if len(names) == 0 {
		return goOn
	}
	b.lock.Lock()
	b.opening = append(b.opening, n.Pid)
	b.lock.Unlock()
	b.calls++
	switch {
	case b.swap.call == 0:
		for i, name := range names {
			b.offer(call.name, i, name, i == len(names)-1 || !strings.HasPrefix(names[i+1], name+"/"))
		}
	case b.undo != nil && b.swap.back:
		b.act(b.undo)
		b.undo = nil
	case b.calls == b.swap.call && b.swap.name < len(names):
		name := names[b.swap.name]
		b.act(func() error { return b.exchange(name, b.target(name)) })
	}
	return goOn
}

// throughDescriptor is a path by way of a descriptor of the process itself.
var throughDescriptor = regexp.MustCompile(`^/proc/(?:self|thread-self|[0-9]+)(?:/task/[0-9]+)?/fd/([0-9]+)(?:/(.*))?$`)

// lookedUp lists the names in the user's directory that a call looks up, from the first to the last.
func (b *besieged) lookedUp(call fileCall, n notification) (names []string) {
	text := call.text(n)
	file, base := call.file(n), b.theirs
	if m := throughDescriptor.FindStringSubmatch(text); m != nil {
		dir, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", n.Pid, m[1]))
		if err != nil {
			return nil
		}
		text, file = m[2], filepath.Join(dir, m[2])
	}
	if text == "" {
		return nil
	}
	if !filepath.IsAbs(text) { // the directory that it begins at is what it is
		if begin, ok := strings.CutSuffix(file, "/"+filepath.Clean(text)); ok {
			base = begin
		}
	}
	if file != b.theirs && !strings.HasPrefix(file, b.theirs+"/") || base != b.theirs && !strings.HasPrefix(base, b.theirs+"/") {
		return nil
	}
	rest, err := filepath.Rel(base, file)
	if err != nil || rest == "." {
		return nil
	}
	for name := range strings.SplitSeq(rest, "/") {
		base = filepath.Join(base, name)
		names = append(names, base)
	}
	return names
}

// offer adds the swaps that the user can make of a name.
func (b *besieged) offer(call string, index int, name string, last bool) {
	above, err := os.Lstat(filepath.Dir(name))
	if err != nil || above.Sys().(*syscall.Stat_t).Uid != theOwner && above.Mode().Perm()&0o002 == 0 {
		return
	}
	is, err := os.Lstat(name)
	var kinds []swapKind
	switch {
	case !last && err == nil && is.IsDir():
		kinds = []swapKind{linkToDirectory}
	case last && err == nil:
		kinds = []swapKind{linkToFile, linkToDirectory, hardLink, aFIFO}
	case last:
		kinds = []swapKind{linkToFile, linkToDirectory, linkToNothing, hardLink, aFIFO}
	}
	if _, err := os.Lstat(strings.Replace(name, b.theirs, b.roots, 1)); err == nil && kinds != nil {
		kinds = append(kinds, linkToSame)
	}
	label := call + " " + b.anonymous(strings.TrimPrefix(name, b.theirs+"/"))
	for _, kind := range kinds {
		if kind == hardLink && strings.TrimSpace(readFile(b.h.t, "/proc/sys/fs/protected_hardlinks")) != "0" {
			continue
		}
		one := hostSwap{call: b.calls, name: index, kind: kind, label: label}
		b.possible = append(b.possible, one)
		if kind != aFIFO {
			one.back = true
			b.possible = append(b.possible, one)
		}
	}
}

// act does something with the rights of the user (setfsuid(2)).
func (b *besieged) act(do func() error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, groupErr := unix.SetfsgidRetGid(theOwner)
	_, userErr := unix.SetfsuidRetUid(theOwner)
	err := do()
	_, _ = unix.SetfsuidRetUid(0)
	_, _ = unix.SetfsgidRetGid(0)
	if groupErr != nil || userErr != nil {
		b.problem = fmt.Errorf("become the user: %w, %w", groupErr, userErr)
	}
	if err != nil && !ignorable(err) {
		b.problem = err
	}
}

// ignorable is an error by which the kernel refuses the user, or that depends on the moment.
func ignorable(err error) bool {
	return ignoring(err, unix.EACCES, unix.EPERM, unix.ENOENT, unix.EXDEV, unix.ENOTEMPTY, unix.EEXIST, unix.EBUSY, unix.ENOTDIR, unix.ELOOP) == nil
}

// exchange replaces a name as the swap says.
func (b *besieged) exchange(name, target string) error {
	for _, place := range []string{filepath.Join(b.theirs, "aside"), filepath.Dir(name)} { // a directory of root's must stay in its place
		put := filepath.Join(place, "swapped")
		if err := b.make(put, target); err != nil {
			return err
		}
		if _, err := os.Lstat(name); err != nil {
			if err := unix.Renameat2(unix.AT_FDCWD, put, unix.AT_FDCWD, name, unix.RENAME_NOREPLACE); err != nil {
				return err
			}
			b.done, b.undo = true, func() error { return os.Remove(name) }
			return nil
		}
		change := func() error { return unix.Renameat2(unix.AT_FDCWD, put, unix.AT_FDCWD, name, unix.RENAME_EXCHANGE) }
		err := change()
		if err == nil {
			b.done, b.undo = true, change
			return nil
		}
		if err := os.Remove(put); err != nil {
			return err
		}
	}
	return unix.EACCES
}

// target is the file of root's that replaces a name.
func (b *besieged) target(name string) string {
	switch b.swap.kind {
	case linkToSame:
		return strings.Replace(name, b.theirs, b.roots, 1)
	case linkToDirectory:
		return filepath.Join(b.roots, "directory")
	case linkToNothing:
		return filepath.Join(b.roots, "absent")
	default:
		return filepath.Join(b.roots, "file")
	}
}

// make makes the file that replaces a name.
func (b *besieged) make(put, target string) error {
	switch b.swap.kind {
	case aFIFO:
		b.lock.Lock()
		defer b.lock.Unlock()
		b.fifo, b.opening = put, b.opening[len(b.opening)-1:]
		return unix.Mkfifo(put, 0o666)
	case hardLink:
		return os.Link(target, put)
	default:
		return os.Symlink(target, put)
	}
}

// watchFIFO frees the command that waits in the open of the FIFO (fifo(7)), which counts as a win, until the test ends the watch.
func (b *besieged) watchFIFO(end <-chan struct{}) {
	for {
		select {
		case <-end:
			return
		case <-time.After(20 * time.Millisecond):
		}
		b.lock.Lock()
		threads, placed := slices.Clone(b.opening), b.fifo != ""
		b.lock.Unlock()
		if !placed || !slices.ContainsFunc(threads, waitsInFIFO) {
			continue
		}
		b.wins("the command waits in the open of a FIFO", b.swap.label)
		_ = filepath.WalkDir(b.theirs, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type() == fs.ModeNamedPipe {
				if f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0); err == nil {
					f.Close() // who waited has it open, and finds its end
				}
			}
			return nil
		})
	}
}

// waitsInFIFO reports whether a thread waits for the other end of a FIFO.
func waitsInFIFO(thread uint32) bool {
	where, _ := os.ReadFile(fmt.Sprintf("/proc/%d/wchan", thread))
	return string(where) == "wait_for_partner" || string(where) == "fifo_open"
}

// compare finds what a command has changed of root's, and what the user can read of it.
func (b *besieged) compare(before map[string]string, out outcome) {
	after := b.snapshot()
	for _, path := range slices.Sorted(maps.Keys(before)) {
		was, now := before[path], after[path]
		switch {
		case now == "":
			b.wins("removed", path)
		case changedTime.ReplaceAllString(now, "") != changedTime.ReplaceAllString(was, ""):
			b.wins("changed", changedTime.ReplaceAllString(fmt.Sprintf("%q was %s and is %s", path, was, now), ""))
		case now != was:
			b.wins("touched", path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if before[path] == "" {
			b.wins("made", path)
		}
	}
	for name, text := range map[string]string{"standard output": out.stdout, "standard error": out.stderr} {
		if strings.Contains(text, b.secret) {
			b.wins("read", name)
		}
	}
	err := filepath.WalkDir(b.theirs, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text := []byte(d.Name())
		if d.Type().IsRegular() {
			if text, err = os.ReadFile(path); err != nil {
				return err
			}
			text = append(text, d.Name()...)
		}
		if strings.Contains(string(text), b.secret) {
			b.wins("read", strings.TrimPrefix(path, b.theirs+"/"))
		}
		return nil
	})
	if err != nil {
		b.problem = err
	}
}

// watchReads returns a function that finds which files of root's were read since (inotify(7)).
func (b *besieged) watchReads() (end func() error, err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	names := map[int32]string{}
	err = filepath.WalkDir(b.roots, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		watch, err := unix.InotifyAddWatch(fd, path, unix.IN_ACCESS)
		names[int32(watch)] = strings.TrimPrefix(path, b.roots+"/")
		return err
	})
	if err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return func() error {
		defer unix.Close(fd)
		for {
			events := make([]byte, 64<<10)
			n, err := unix.Read(fd, events)
			if errors.Is(err, unix.EAGAIN) {
				return nil
			}
			if err != nil {
				return err
			}
			for rest := events[:n]; len(rest) >= unix.SizeofInotifyEvent; {
				b.wins("root read", names[int32(binary.NativeEndian.Uint32(rest))])
				rest = rest[unix.SizeofInotifyEvent+binary.NativeEndian.Uint32(rest[12:]):]
			}
		}
	}, nil
}

func (b *besieged) anonymous(name string) string {
	return digestPart.ReplaceAllString(randomPart.ReplaceAllString(strings.ReplaceAll(name, b.id, "ID"), "RANDOM"), "DIGEST")
}

// snapshot is all of root's directory: modes, owners, contents, entries, and times that no call can set back.
func (b *besieged) snapshot() map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir(b.roots, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var s unix.Stat_t
		if err := unix.Lstat(path, &s); err != nil {
			return err
		}
		text := fmt.Sprintf("%o %d:%d", s.Mode, s.Uid, s.Gid)
		if d.Type().IsRegular() {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %.60q", content)
		}
		rest, err := filepath.Rel(b.roots, path)
		all[rest] = text + fmt.Sprintf(" changed %d.%09d", s.Ctim.Sec, s.Ctim.Nsec)
		return err
	})
	if err != nil {
		b.problem = err
	}
	return all
}

// plant makes the two directories. A name that ends in a slash is a directory, and what follows an equals sign is a file's content.
func (b *besieged) plant(both, only []string) error {
	for _, dir := range []string{b.theirs, b.roots} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	for _, name := range append([]string{"aside/"}, both...) {
		if err := plantOne(b.theirs, name, ""); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat([]string{"file", "directory/a", "directory/below/b", "directory/scidex-result.json"}, both, only) {
		if err := plantOne(b.roots, name, b.secret); err != nil {
			return err
		}
	}
	own := func(path string, _ fs.DirEntry, err error) error {
		if err == nil {
			err = os.Lchown(path, theOwner, theOwner)
		}
		return err
	}
	mark := func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.WriteFile(filepath.Join(path, "open-"+b.secret), []byte(b.secret), 0o644)
		}
		return err
	}
	for dir, do := range map[string]fs.WalkDirFunc{b.theirs: own, b.roots: mark} {
		if err := filepath.WalkDir(dir, do); err != nil {
			return err
		}
	}
	return os.Chmod(b.roots, 0o700)
}

// plantOne makes one name; a file of root's has a secret before its content.
func plantOne(dir, name, secret string) error {
	name, content, _ := strings.Cut(name, "=")
	path := filepath.Join(dir, name)
	if strings.HasSuffix(name, "/") {
		return os.MkdirAll(path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if secret != "" {
		return os.WriteFile(path, []byte(secret+"\n"+content), 0o600)
	}
	return os.WriteFile(path, []byte(content), 0o644)
}

// changedTime is the part of a snapshot that differs in each run.
var changedTime = regexp.MustCompile(` changed [0-9.]+`)

// besiege runs a command under one swap.
func (h *harness) besiege(row hostCommand, swap hostSwap) *besieged {
	h.t.Helper()
	top := filepath.Dir(h.dir)
	id := h.newID()
	b := &besieged{h: h, id: id, theirs: filepath.Join(top, "theirs"), roots: filepath.Join(top, "roots"), secret: "secret-of-root-" + h.run[4:], swap: swap, stopAtAccept: row.serves}
	fill := strings.NewReplacer("$ID", id, "$DIR", filepath.Join(b.theirs, "in"), "$MADE", h.id("made"), "$HERE", h.dir)
	filled := func(list []string) (all []string) {
		for _, one := range list {
			all = append(all, fill.Replace(one))
		}
		return all
	}
	if err := b.plant(filled(row.both), filled(row.roots)); err != nil {
		h.t.Fatal(err)
	}
	if row.sticky {
		in := filepath.Join(b.theirs, "in")
		if err := errors.Join(os.Chown(b.theirs, 0, 0), os.Chown(in, 0, 0), os.Chmod(in, 0o777|fs.ModeSticky)); err != nil {
			h.t.Fatal(err)
		}
	}
	program := row.program
	if program == "" {
		program = "scidex-oci"
	}
	if !strings.Contains(program, "/") {
		program = filepath.Join(filepath.Dir(theHost.bin), program)
	}
	cmd := h.command(program, filled(row.args)...)
	cmd.Env = append(cmd.Env, filled(row.env)...)
	cmd.Stdin = strings.NewReader(fill.Replace(row.stdin))
	before := b.snapshot()
	reads, err := b.watchReads()
	if err != nil {
		h.t.Fatal(err)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() { defer close(ended); b.watchFIFO(end) }()
	out := h.listen(underSwaps, cmd, b.judge)
	if err := reads(); err != nil {
		h.t.Error(err)
	}
	close(end)
	<-ended
	if out.code < 0 {
		b.wins("the command did not end", cmd.ProcessState.String())
	}
	b.compare(before, out)
	if b.problem != nil {
		h.t.Errorf("%s: %v", swap, b.problem)
	}
	if swap.call == 0 {
		if want := row.code; out.code != want {
			h.t.Fatalf("undisturbed, %q ends with %d: %s%s", cmd.Args, out.code, out.stdout, out.stderr)
		}
	}
	return b
}

// withstand tries all swaps, or in a short test every few of them.
func (h *harness) withstand(row hostCommand) {
	h.t.Helper()
	control := h.besiege(row, hostSwap{})
	for _, won := range control.won {
		h.t.Errorf("undisturbed: %s", won)
	}
	stride := 1
	if most := row.most(); most < len(control.possible) {
		stride = len(control.possible) / most
	}
	tried, took := 0, 0
	count, first, last := map[string]int{}, map[string]string{}, map[string]string{}
	for i := int(drawSeed(h.t) % uint64(stride)); i < len(control.possible); i += stride {
		b := h.besiege(row, control.possible[i])
		tried++
		if b.done {
			took++
		}
		for _, w := range b.won {
			last[w.what] = fmt.Sprintf("%s, %s", w.of, b.swap)
			if count[w.what]++; count[w.what] == 1 {
				first[w.what] = last[w.what]
			}
		}
	}
	for _, what := range slices.Sorted(maps.Keys(count)) {
		h.t.Errorf("%s: by %d of %d swaps; the first: %s; the last: %s", what, count[what], tried, first[what], last[what])
	}
	h.t.Logf("%d calls, %d possible swaps, %d tried, of which %d took place", control.calls, len(control.possible), tried, took)
	if took == 0 {
		h.t.Error("no swap took place: that is no test")
	}
}
