// Package probe holds what doctor and selftest share: probes that a child process makes and answers in JSON, runs that are
// stopped together, bounded readers of the output of both, and common parts of requests and reports.
package probe

import (
	"context"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox/idmap"
)

// Probe is an attempt that a child process makes.
type Probe struct {
	Name       string
	IDs        Mapping
	Namespaces uintptr // clone flags besides CLONE_NEWUSER
	// Do runs in the child and returns what it saw.
	Do func() (seen string, err error)
}

// Mapping is which ids a child has in its user namespace.
type Mapping int

// The mappings. MapAccount maps the ids that a supervisor has.
const (
	NoNamespace Mapping = iota
	MapNothing
	MapSelf
	MapAccount
)

// timeout of a child: a thousand times what a probe takes.
const timeout = 30 * time.Second

// Run makes the probe in a child and returns its answer. An error of the kernel keeps its errno.
func (p Probe) Run(ctx context.Context, account idmap.Account) (seen string, err error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	attr, name := p.attributes(account)
	c, err := start(ctx, attr, name, p.Name)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if name == waitName {
		if err := c.writeMaps(ctx, account); err != nil {
			return "", err
		}
	}
	return c.answer(ctx)
}

// attributes of the child, and the argv[0] that selects its part in Main.
func (p Probe) attributes(account idmap.Account) (*syscall.SysProcAttr, string) {
	attr := &syscall.SysProcAttr{Cloneflags: p.Namespaces}
	if p.IDs != NoNamespace {
		attr.Cloneflags |= unix.CLONE_NEWUSER
	}
	switch p.IDs {
	case NoNamespace, MapNothing:
	case MapSelf:
		account.MapSelf(attr)
	case MapAccount:
		if !account.MapDirectly(attr) {
			return attr, waitName
		}
	}
	return attr, probeName
}
