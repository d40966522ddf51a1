// Package forks is the supervisor's part of forking analyses from a template, a process that has imported their modules
// (docs/adr/0038): it orders a fork, proves from outside what has become of it, and reaps it.
package forks

import (
	"maps"
	"sync"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// Origin has the template of a supervisor, which all of its runs may be forked from. A supervisor has at most one at a time: a
// template can reach the containers of its supervisor, and no others.
type Origin struct {
	mu       sync.Mutex
	template *Template
	members  map[string]*audit.Watch // by PID namespace, as /proc names it
	forks    map[int]bool            // what was forked and is not reaped, by pid
}

func (o *Origin) forked(pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.forks == nil {
		o.forks = map[int]bool{}
	}
	o.forks[pid] = true
}

func (o *Origin) reaped(pid int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.forks, pid)
}

// known are the processes that a template and its forks may have here.
func (o *Origin) known(template int) map[int]bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := maps.Clone(o.forks)
	if known == nil {
		known = map[int]bool{}
	}
	known[template] = true
	return known
}

func (o *Origin) current() *Template {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.template
}

func (o *Origin) set(t *Template) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.template = t
}

// unset forgets a template that is no longer to be forked from.
func (o *Origin) unset(t *Template) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.template == t {
		o.template = nil
	}
}

// join has a watch get what processes of a container try, until it leaves.
func (o *Origin) join(init int, w *audit.Watch) (leave func(), err error) {
	namespace, err := namespaceOf(init, "pid")
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.members == nil {
		o.members = map[string]*audit.Watch{}
	}
	o.members[namespace] = w
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.members[namespace] == w { // the kernel gives the number of an ended namespace to another
			delete(o.members, namespace)
		}
	}, nil
}

// watchOf is the watch of the container that a process is in; nil: none.
func (o *Origin) watchOf(pid int) *audit.Watch {
	namespace, err := namespaceOf(pid, "pid")
	if err != nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.members[namespace]
}
