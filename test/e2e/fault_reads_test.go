package e2e

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// reading is a command that judges files, or makes something of what it reads.
type reading struct {
	name string
	dir  string // the calls on what is below it fail; empty: those on the store
	only string // a part of the names of the points that fail
	args func(id string) []string
	made func(o *observed) string // what came of it
	less bool                     // what came of it may lack lines but the first
	// stride is the distance of the points that CI tries.
	stride int
	undo   func(o *observed)
}

// imageOfLayers is an OCI layout of two layers, of which the second hides, replaces and keeps entries of the first.
func (h *harness) imageOfLayers() string {
	h.t.Helper()
	for name, content := range map[string]string{
		"lower/etc/kept/below/file": "kept", "lower/etc/gone/below/file": "gone", "lower/opaque/file": "hidden", "lower/opaque/below/file": "hidden",
		"lower/usr/hidden": "hidden", "lower/usr/replaced/file": "a directory becomes a file", "lower/usr/share/scidex/packages.spdx.json": "{}",
		"upper/etc/kept/new": "new", "upper/etc/.wh.gone": "", "upper/opaque/.wh..wh..opq": "", "upper/opaque/new": "new",
		"upper/usr/.wh.hidden": "", "upper/usr/replaced": "file", "upper/lib/new": "through a link",
	} {
		h.write(name, content, 0o644)
	}
	if err := errors.Join(os.Symlink("usr/lib", h.path("lower/lib")), os.MkdirAll(h.path("lower/usr/lib"), 0o755)); err != nil {
		h.t.Fatal(err)
	}
	return h.layoutOf(imageConfig{}, h.path("lower"), h.path("upper"))
}

// listTree is all that is below a directory; times are those of the files.
func listTree(dir string, times bool) string {
	var all strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		fmt.Fprintf(&all, "%s %s", strings.TrimPrefix(path, dir), info.Mode())
		if times {
			fmt.Fprintf(&all, " %d", info.ModTime().UnixNano())
		}
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(path)
			fmt.Fprintf(&all, " %x %v", sha256.Sum256(text), err)
		} else if target, err := os.Readlink(path); err == nil {
			fmt.Fprintf(&all, " -> %s", target)
		}
		all.WriteByte('\n')
		return nil
	})
	if err != nil {
		fmt.Fprintln(&all, err)
	}
	return all.String()
}

func (h *harness) readings() []reading {
	h.t.Helper()
	layers := h.imageOfLayers()
	remove := func(path string) func(*observed) {
		return func(*observed) {
			if err := os.RemoveAll(path); err != nil {
				h.t.Error(err)
			}
		}
	}
	h.mustRun("run", "--id", h.id("made"), "--", "sh", "-c", theHarvested)
	h.mustRun("crate", h.id("made"), "-o", h.path("whole"))
	h.mustRun("crate", h.id("made"), "-o", h.path("whole.zip"))
	said := func(o *observed) string { return o.out.stdout }
	for name, content := range map[string]string{"staged/a": "a", "staged/below/deep/b": "b", "data/a": "a", "data/below/deep/b": strings.Repeat("b", 2<<20)} {
		h.write(name, content, 0o644)
	}
	runs := func(o *observed) string {
		r, _ := h.row(o.id)
		made := r.State + " " + h.stdoutOf(r) + "\n"
		for _, in := range r.Inputs {
			if in.SHA256 != nil || in.Message == "" { // else it says why there is no digest
				made += fmt.Sprintf("%s %v %s\n", in.Source, in.Digested, orNone(in.SHA256))
			}
		}
		return made
	}
	gone := func(o *observed) { h.do("rm", o.id) }
	return []reading{
		{
			name: "image import", stride: 5, only: "/tree", args: func(string) []string { return flags("image", "import", layers, "--name", "x") },
			made: func(*observed) string {
				made := h.images()["x"]
				return fmt.Sprintln(orNone(made.Rootfs), orNone(made.Packages)) + listTree(strings.Join(h.roots(), " "), true)
			},
			undo: func(*observed) { h.do("image", "rm", "x"); h.mustRun("gc") },
		},
		{
			name: "run --stage", stride: 6, less: true, dir: h.path("staged"), made: runs, undo: gone,
			args: func(id string) []string {
				return runWith(id, flags("--audit", "off", "--stage", h.path("staged"), "--", "sh", "-c", "find . | sort; cat a below/deep/b"))
			},
		},
		{
			name: "run --data", stride: 6, less: true, dir: h.path("data"), made: runs, undo: gone,
			args: func(id string) []string {
				return runWith(id, flags("--audit", "off", "--data", h.path("data"), "--input", h.path("data/below/deep/b"), "--", "true"))
			},
		},
		{
			name: "outputs export", stride: 5, only: " blobs/", args: func(string) []string { return flags("outputs", "export", h.id("made"), h.path("out")) },
			made: func(*observed) string { return listTree(h.path("out"), false) }, undo: remove(h.path("out")),
		},
		{
			name: "crate", stride: 5, args: func(string) []string { return flags("crate", h.id("made"), "-o", h.path("new")) }, only: " blobs/",
			made: func(*observed) string { return h.do("verify", h.path("new")).stdout }, undo: remove(h.path("new")),
		},
		{name: "verify a directory", stride: 5, dir: h.path("whole"), args: func(string) []string { return flags("verify", h.path("whole")) }, made: said},
		{name: "verify an archive", stride: 2, dir: h.path("whole.zip"), args: func(string) []string { return flags("verify", h.path("whole.zip")) }, made: said},
		{name: "catalog check", stride: 5, only: " blobs/", args: func(string) []string { return flags("catalog", "check", "--digests") }, made: said},
	}
}

func orNone(s *string) string {
	if s == nil {
		return "none"
	}
	return *s
}

// TestFaultsInReading fails each call by which a command reads or looks for a file, with errnos that are the true
// answer for some file: the command prints the same as without a fault, or that it could not read. It never takes the
// fault for the file's content or for a missing file.
func TestFaultsInReading(t *testing.T) {
	mayListen(t)
	h := newHarness(t)
	errnos := []unix.Errno{unix.EIO, unix.ENOENT, unix.ESTALE, unix.EACCES, unix.ENOTDIR, unix.ELOOP, unix.ENXIO, unix.ENODEV, unix.EXDEV, unix.EPERM}
	for _, row := range h.readings() {
		t.Run(row.name, func(t *testing.T) {
			h := h.in(t)
			disturb := func(f fault) *observed {
				f.dir = row.dir
				id := h.newID()
				return h.disturb(f, id, row.args(id)...)
			}
			end := func(o *observed) {
				if row.undo != nil {
					row.undo(o)
				}
			}
			calm := disturb(fault{kind: undisturbed})
			want := row.made(calm)
			end(calm)
			if calm.out.code != 0 {
				t.Fatalf("undisturbed: %d, %s%s", calm.out.code, calm.out.stdout, calm.out.stderr)
			}
			faults := row.faults(calm)
			hits := 0
			for i, f := range faults {
				if !inSoak() && i%row.stride != 0 {
					continue
				}
				for j, errno := range errnos {
					if !inSoak() && j != i/row.stride%len(errnos) {
						continue
					}
					f.with = errno
					o := disturb(f)
					if o.hit != "" {
						hits++
					}
					got := row.made(o)
					same := got == want || row.less && lacksLines(got, want)
					if o.out.code == 0 && !same || o.out.code != 0 && o.out.code != 125 {
						t.Errorf("%s (%v): %d, %s%s\nmade\n%s\nwant\n%s", f, f.with, o.out.code, o.out.stdout, o.out.stderr, got, want)
					}
					end(o)
				}
			}
			t.Logf("%d faults at %d points", hits, len(faults))
			if hits == 0 {
				t.Error("no fault hit anything")
			}
		})
	}
}

// lacksLines reports whether a text has the first line of another, and no line that is not in it.
func lacksLines(text, other string) bool {
	lines, others := strings.Split(text, "\n"), strings.Split(other, "\n")
	return lines[0] == others[0] && !slices.ContainsFunc(lines, func(line string) bool { return !slices.Contains(others, line) })
}

// faults are the points at which a command reads.
func (r reading) faults(calm *observed) (all []fault) {
	seen := map[string]int{}
	for _, point := range calm.points {
		if r.dir != "" && !strings.Contains(point, " "+r.dir) || !strings.Contains(point, r.only) {
			continue
		}
		seen[point]++
		all = append(all, fault{kind: failsWith, nth: seen[point], at: regexp.MustCompile("^" + regexp.QuoteMeta(point) + "$")})
	}
	return all
}
