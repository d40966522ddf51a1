package registry

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// Site is the configuration of a registry.
type Site struct {
	// Mirrors are HOST[:PORT][/PATH], which are tried before the registry, in this order. An image's path follows PATH.
	Mirrors []string
	// PlainHTTP disables TLS.
	PlainHTTP bool
}

// source is a registry that may have an image: its own, or a mirror of that.
type source struct {
	Reference
	plain  bool
	mirror bool
}

// sources are those of an image in the order in which they are tried; its own registry is the last.
func (o *Options) sources(ref Reference) ([]source, error) {
	var all []source
	for _, mirror := range o.Sites[canonical(ref.host)].Mirrors {
		at, err := ref.in(mirror)
		if err != nil {
			return nil, err
		}
		all = append(all, source{Reference: at, plain: o.Sites[canonical(at.host)].PlainHTTP, mirror: true})
	}
	plain := o.PlainHTTP || o.Sites[canonical(ref.host)].PlainHTTP
	return append(all, source{Reference: ref, plain: plain}), nil
}

// in is the same image in a mirror.
func (r Reference) in(mirror string) (Reference, error) {
	moved := r
	moved.host = mirror
	at, err := parse(moved.String())
	if err == nil {
		err = at.remote().Validate()
	}
	if err != nil {
		return at, fmt.Errorf("mirror %q of %s: %w; write HOST[:PORT] or HOST[:PORT]/PATH", mirror, r.host, err)
	}
	return at, nil
}

// final reports whether no other source can help: the pull was stopped, or this host has no room.
func final(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
