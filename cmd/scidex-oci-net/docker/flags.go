package docker

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/spec"
)

// container is what a line of docker run asks for.
type container struct {
	id, cidfile, workdir string
	image                string
	entrypoint, command  []string // an entrypoint that is not nil replaces that of the image
	binds                []bind
	noNetwork            bool     // --network none
	flags                []string // of scidex-oci run
}

// option is a flag of docker run.
type option struct {
	toggle bool
	take   func(c *container, value string) error
}

func options() map[string]option {
	all := map[string]option{}
	add := func(o option, names ...string) {
		for _, name := range names {
			all[name] = o
		}
	}
	value := func(take func(*container, string) error, names ...string) { add(option{take: take}, names...) }
	pass := func(flag string, names ...string) {
		value(func(c *container, v string) error { c.flags = append(c.flags, flag+"="+v); return nil }, names...)
	}
	add(option{toggle: true, take: ignore}, "interactive", "i", "rm", "init", "read-only")
	value((*container).takeEnv, "env", "e")
	pass("--label", "label", "l")
	pass("--cpus", "cpus")
	pass("--pids", "pids-limit")
	value((*container).takeMemory, "memory", "m")
	value((*container).takeVolume, "volume", "v")
	value((*container).takeMount, "mount")
	value((*container).takeUser, "user", "u")
	value((*container).takeNetwork, "network", "net")
	value(func(c *container, v string) error { c.workdir = path.Clean(v); return nil }, "workdir", "w")
	value(func(c *container, v string) error { c.id = v; return nil }, "name")
	value(func(c *container, v string) error { c.cidfile = v; return nil }, "cidfile")
	value(func(c *container, v string) error {
		c.entrypoint = slices.DeleteFunc([]string{v}, func(v string) bool { return v == "" })
		return nil
	}, "entrypoint")
	value(only("none", "the run's output is kept with it in any case"), "log-driver")
	return all
}

// parse reads the arguments of docker run.
func parse(args []string) (*container, error) {
	c := &container{}
	known := options()
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		rest, err := c.flag(known, args[0], args[1:])
		if err != nil {
			return nil, err
		}
		args = rest
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return nil, command.Usagef("docker run needs an image")
	}
	c.image, c.command = args[0], args[1:]
	return c, nil
}

// flag takes one word, --NAME[=VALUE] or -abc, and its value, and returns the words after it.
func (c *container) flag(known map[string]option, word string, rest []string) ([]string, error) {
	name, value, inline := strings.Cut(strings.TrimPrefix(word, "--"), "=")
	short := !strings.HasPrefix(word, "--")
	if short {
		name, value = word[1:min(2, len(word))], strings.TrimPrefix(word[min(2, len(word)):], "=")
		inline = value != ""
	}
	o, ok := known[name]
	switch {
	case !ok || (len(name) == 1) != short:
		return nil, command.Usagef("docker run %s is not supported; the flags are in \"scidex-oci docker --help\"", strings.SplitN(word, "=", 2)[0])
	case o.toggle && short && inline:
		return c.flag(known, "-"+value, rest)
	case o.toggle:
		if on, err := strconv.ParseBool(value); inline && (err != nil || !on) {
			return nil, command.Usagef("docker run %s is not supported; leave it out", word)
		}
		return rest, nil
	case !inline && len(rest) == 0:
		return nil, command.Usagef("docker run %s needs a value", word)
	case !inline:
		value, rest = rest[0], rest[1:]
	}
	return rest, o.take(c, value)
}

func ignore(*container, string) error { return nil }

// only makes the option of a flag with one value.
func only(want, why string) func(*container, string) error {
	return func(_ *container, value string) error {
		if value != want {
			return command.Usagef("docker run takes %s here, not %q; %s", want, value, why)
		}
		return nil
	}
}

// takeEnv leaves out a variable that is not set, as docker does.
func (c *container) takeEnv(value string) error {
	if _, set := os.LookupEnv(value); set || strings.Contains(value, "=") {
		c.flags = append(c.flags, "--env="+value)
	}
	return nil
}

// takeNetwork: the only network is none.
func (c *container) takeNetwork(value string) error {
	c.noNetwork = true
	return only("none", "a run has no network, and SCIDEX_OCI_DOCKER_HOSTS names hosts for requests")(c, value)
}

// takeUser: a run has ids of its own, and its files come back as the caller's, which is what engines ask for.
func (c *container) takeUser(value string) error {
	uid, gid, both := strings.Cut(value, ":")
	if uid != strconv.Itoa(os.Geteuid()) || both && gid != strconv.Itoa(os.Getegid()) {
		return command.Usagef("docker run --user %s is not supported; a run has ids of its own, and its files become those of the caller, %d:%d: give these, or leave it out",
			value, os.Geteuid(), os.Getegid())
	}
	return nil
}

func (c *container) takeMemory(value string) error {
	if _, err := spec.ParseSize(value); err != nil {
		return command.Usagef("docker run --memory: %v", err)
	}
	c.flags = append(c.flags, "--memory="+value)
	return nil
}
