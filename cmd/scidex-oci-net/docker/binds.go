package docker

import (
	"encoding/csv"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
)

// bind is a file or directory of the host that a run sees.
type bind struct {
	source, target string
	readOnly       bool
	written        bool // asked for by name, with rw or by --mount
}

// volumeMode are modes of docker's that mean nothing here, at the end of a volume.
const volumeMode = `:([zZ]|r[ow]|nocopy|r?shared|r?slave|r?private|cached|delegated|consistent|r[ow],.*|.*,r[ow])$`

// takeVolume reads SRC:DST[:ro|rw]. The names of files may have colons: DST is what follows the last ":/".
func (c *container) takeVolume(value string) error {
	var b bind
	rest, readOnly := strings.CutSuffix(value, ":ro")
	rest, written := strings.CutSuffix(rest, ":rw")
	b.readOnly, b.written = readOnly, written
	at := strings.LastIndex(rest, ":/")
	if at < 0 || readOnly && written || regexp.MustCompile(volumeMode).MatchString(rest) {
		return command.Usagef("docker run --volume %q is not supported; give SRC:DST, SRC:DST:ro or SRC:DST:rw with absolute paths", value)
	}
	b.source, b.target = rest[:at], rest[at+1:]
	return c.bind(b)
}

// takeMount reads type=bind,source=SRC,target=DST[,readonly], fields of CSV.
func (c *container) takeMount(value string) error {
	fields, err := csv.NewReader(strings.NewReader(value)).Read()
	if err != nil {
		return command.Usagef("docker run --mount %q: %s", value, err)
	}
	b := bind{written: true}
	var kind string
	for _, field := range fields {
		key, text, given := strings.Cut(field, "=")
		switch key {
		case "type":
			kind = text
		case "source", "src":
			b.source = text
		case "target", "dst", "destination":
			b.target = text
		case "readonly", "ro":
			b.readOnly = !given || text == "true" || text == "1"
		default:
			return command.Usagef("docker run --mount %s is not supported; it has type, source, target and readonly", key)
		}
	}
	if kind != "bind" {
		return command.Usagef("docker run --mount type=%s is not supported; give type=bind", kind)
	}
	return c.bind(b)
}

func (c *container) bind(b bind) error {
	if !filepath.IsAbs(b.source) || !path.IsAbs(b.target) {
		return command.Usagef("docker run: the bind %q to %q is not supported; both must be absolute paths, and there are no volumes with names", b.source, b.target)
	}
	b.source, b.target = filepath.Clean(b.source), path.Clean(b.target)
	if slices.ContainsFunc(c.binds, func(other bind) bool { return other.target == b.target }) {
		return command.Usagef("docker run: there are two binds at %q; give each a path of its own", b.target)
	}
	c.binds = append(c.binds, b)
	return nil
}

// below returns the part of a path inside below dir.
func below(dir, name string) (rest string, ok bool) {
	return strings.CutPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}

// layout is what the binds of a run are.
type layout struct {
	out    *bind  // the output directory; nil: none
	into   []bind // read-only, in the output directory: they are copied into it
	inputs []bind // the other read-only ones
}

// sort sorts the binds of a run by what they are. The output directory is the one that the run starts in, or the only one. cwltool
// takes the ":ro" of volumes away for a docker of a user: any other volume without a mode is read-only.
func (c *container) sort() (l layout, err error) {
	if l.out, err = c.output(); err != nil {
		return l, err
	}
	for i, b := range c.binds {
		if &c.binds[i] == l.out || !b.readOnly && b.target == "/tmp" {
			continue
		}
		if !b.readOnly && b.written {
			return l, command.Usagef("docker run: the bind to %q is to be written; a run has one output directory, and a /tmp of its own: make it read-only", b.target)
		}
		if l.holds(b) {
			l.into = append(l.into, b)
		} else {
			l.inputs = append(l.inputs, b)
		}
	}
	return l, nil
}

// output is the output directory, or nil.
func (c *container) output() (out *bind, err error) {
	for i, b := range c.binds {
		if !b.readOnly && b.target != "/tmp" && (c.workdir == "" || c.workdir == b.target) {
			if out != nil {
				return nil, command.Usagef("docker run: %q and %q may both be the output directory; name it with --workdir", out.target, b.target)
			}
			out = &c.binds[i]
		}
	}
	return out, nil
}

// holds reports whether a bind is shown in the output directory.
func (l layout) holds(b bind) bool {
	if l.out == nil {
		return false
	}
	_, inside := below(l.out.target, b.target)
	return inside
}
