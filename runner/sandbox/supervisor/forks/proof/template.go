package proof

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Template is what a template was when it began to serve. It must stay so: what it got from a process that it has forked, such as a
// file of that one's /work, it would keep.
type Template struct {
	pid      int
	filters  int
	links    map[string]string // in its directory of /proc
	mappings map[string]bool   // that were checked, as proc_pid_maps(5) has them
}

// Mappings of the template, which need not be checked again in what is forked from it.
func (t *Template) Mappings() map[string]bool { return t.mappings }

// control is the descriptor of its orders; the others are the streams.
const control = "fd/5"

// allowed are the descriptors of a template.
var allowed = []string{"fd/0", "fd/1", "fd/2", control}

// NoteTemplate notes what a template is, and refuses one that has more than it needs. filters are those of system calls that it has
// beside this process's. Until the time given it may still close what it needed for its imports.
func NoteTemplate(pid, filters int, until time.Time) (*Template, error) {
	t := &Template{pid: pid, filters: filters}
	for {
		var err error
		if t.links, err = t.read(); err == nil {
			err = t.check(t.links)
		}
		if err == nil {
			err = t.noteMappings()
		}
		if err == nil || time.Now().After(until) {
			return t, err
		}
		time.Sleep(time.Millisecond)
	}
}

// noteMappings notes what it has mapped, if all of that may be.
func (t *Template) noteMappings() error {
	mappings, err := readMappings(t.pid)
	if err == nil {
		err = checkMappings(t.pid, t.pid, nil)
	}
	if now, failed := readMappings(t.pid); !maps.Equal(now, mappings) {
		err = errors.Join(err, failed, errors.New("it still changes its memory"))
	}
	t.mappings = mappings
	return err
}

// Unchanged stops the template, so that nothing is moved while one looks, and checks that it is as it was.
func (t *Template) Unchanged(meanwhile func() error) error {
	if err := t.stop(); err != nil {
		return err
	}
	links, err := t.read()
	if err == nil && !maps.Equal(links, t.links) {
		err = fmt.Errorf("the template has changed: %v, not %v", links, t.links)
	}
	err = errors.Join(err, t.check(links), meanwhile(), t.stands())
	return errors.Join(err, unix.Kill(t.pid, unix.SIGCONT))
}

// stopping bounds how long a process may take to stop, which it does when it leaves the kernel.
const stopping = 5 * time.Second

func (t *Template) stop() error {
	if err := unix.Kill(t.pid, unix.SIGSTOP); err != nil {
		return fmt.Errorf("stop the template: %w", err)
	}
	pause := 20 * time.Microsecond
	for until := time.Now().Add(stopping); t.stands() != nil; time.Sleep(pause) {
		if time.Now().After(until) {
			return t.stands()
		}
		pause = min(2*pause, time.Millisecond)
	}
	return nil
}

// stands checks that it is stopped.
func (t *Template) stands() error {
	stat, err := readStat(t.pid)
	if err == nil && stat[statState] != "T" {
		err = fmt.Errorf("the template does not stop: it is in state %s", stat[statState])
	}
	return err
}

// read reads where its descriptors, directories and namespaces lead to.
func (t *Template) read() (map[string]string, error) {
	links := map[string]string{}
	var names []string
	for _, kind := range namespaces {
		names = append(names, "ns/"+kind)
	}
	entries, err := os.ReadDir(path(t.pid, "fd"))
	for _, entry := range entries {
		names = append(names, "fd/"+entry.Name())
	}
	for _, name := range names {
		var failed error
		links[name], failed = os.Readlink(path(t.pid, name))
		err = errors.Join(err, failed)
	}
	for _, name := range [...]string{"cwd", "root", "exe"} { // another one may have the same name
		var st unix.Stat_t
		err = errors.Join(err, unix.Stat(path(t.pid, name), &st))
		links[name] = fmt.Sprintf("%x:%d", st.Dev, st.Ino)
	}
	return links, err
}

// check refuses threads, descriptors, memory and filters that a template does not need.
func (t *Template) check(links map[string]string) error {
	errs := []error{checkMappings(t.pid, t.pid, t.mappings)}
	for name, to := range links {
		if strings.HasPrefix(name, "fd/") && !slices.Contains(allowed, name) {
			errs = append(errs, fmt.Errorf("it has %s open as descriptor %s", to, strings.TrimPrefix(name, "fd/")))
		}
	}
	return errors.Join(append(errs, t.checkState())...)
}

func (t *Template) checkState() error {
	status, err := readStatus(t.pid)
	if err != nil {
		return err
	}
	own, err := readStatus(os.Getpid())
	if err != nil {
		return err
	}
	base, err := filtersOf(own)
	if err != nil {
		return err
	}
	filters, err := filtersOf(status)
	if err == nil && filters != base+t.filters {
		err = fmt.Errorf("it has %d filters of system calls, not %d", filters, base+t.filters)
	}
	if status["Threads"] != "1" {
		err = errors.Join(err, errors.New("a module has started threads"))
	}
	return err
}
