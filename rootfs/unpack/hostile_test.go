package unpack

import (
	"archive/tar"
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
)

// layered is an image and what it must become: a tree, or an error. CANARY in names and targets is replaced by the
// directory next to the root. umoci is what `umoci unpack --rootless` makes of it, if that differs: "" for the same,
// else a reason.
type layered struct {
	name   string
	layers [][]tar.Header
	want   []string
	err    string // part of it
	umoci  []string
	reason string
}

type entries = []tar.Header

var cases = []layered{
	{
		name:   "a name with two dots",
		layers: []entries{{file("../canary/made", "x")}},
		err:    `layer entry "../canary/made": its name has a ".."`,
		umoci:  []string{"d canary", "f canary/made x"}, reason: "it holds the name inside",
	},
	{
		name:   "two dots in the middle",
		layers: []entries{{dir("a"), file("a/../../canary/made", "x")}},
		err:    `its name has a ".."`,
		umoci:  []string{"d a", "d canary", "f canary/made x"}, reason: "it holds the name inside",
	},
	{
		name:   "absolute names",
		layers: []entries{{file("/etc/passwd", "x"), dir("//a//./b/"), file("CANARY/made", "y")}},
		want:   []string{"d a", "d a/b", "d etc", "f etc/passwd x", "DIRS", "f CANARY/made y"},
	},
	{
		name:   "a parent that is an absolute link out",
		layers: []entries{{symlink("a", "CANARY"), file("a/made", "x")}},
		want:   []string{"l a -> CANARY", "DIRS", "f CANARY/made x"},
	},
	{
		name:   "a parent that is a relative link out",
		layers: []entries{{symlink("a", "../canary"), file("a/made", "x"), dir("a/d")}},
		want:   []string{"l a -> ../canary", "d canary", "d canary/d", "f canary/made x"},
	},
	{
		name:   "a parent that is a link of a lower layer",
		layers: []entries{{symlink("a", "CANARY")}, {file("a/secret", "x"), symlink("a/l", "secret")}},
		want:   []string{"l a -> CANARY", "DIRS", "f CANARY/secret x", "l CANARY/l -> secret"},
	},
	{
		name: "links that lead from one to the next",
		layers: []entries{{
			dir("usr"), dir("usr/lib"), symlink("lib", "usr/lib"), symlink("lib/up", "/lib/.."),
			file("lib/up/x", "x"), symlink("deep", "lib/up/lib"), file("deep/y", "y"),
		}},
		want: []string{
			"d usr", "d usr/lib", "l lib -> usr/lib", "l usr/lib/up -> /lib/..", "f usr/x x",
			"l deep -> lib/up/lib", "f usr/lib/y y",
		},
	},
	{
		name:   "parents that are links to each other",
		layers: []entries{{symlink("a", "b"), symlink("b", "a"), file("a/x", "x")}},
		err:    "too many levels of symbolic links",
	},
	{
		name:   "a parent that is a file",
		layers: []entries{{file("a", "x"), file("a/b", "y")}},
		err:    "not a directory",
	},
	{
		name:   "a file in place of a link out",
		layers: []entries{{symlink("a", "CANARY/secret"), file("a", "x")}},
		want:   []string{"f a x"},
	},
	{
		name:   "a file in place of a link out in a lower layer",
		layers: []entries{{symlink("a", "CANARY/secret")}, {file("a", "x")}},
		want:   []string{"f a x"},
	},
	{
		name:   "a hard link out by two dots",
		layers: []entries{{link("a", "../canary/secret")}},
		err:    `hard link to "../canary/secret": its name has a ".."`,
	},
	{
		name:   "a hard link out by an absolute name",
		layers: []entries{{link("a", "CANARY/secret")}},
		err:    "no such file or directory",
	},
	{
		name:   "a hard link out through a link",
		layers: []entries{{symlink("s", "CANARY"), link("a", "s/secret")}},
		err:    "no such file or directory",
	},
	{
		name:   "a hard link to a link out, and a file over it",
		layers: []entries{{symlink("s", "CANARY/secret"), link("a", "s"), link("b", "s"), file("a", "x")}},
		want:   []string{"l b -> CANARY/secret", "s s = b", "f a x"},
	},
	{
		name:   "a hard link to a directory",
		layers: []entries{{dir("d"), link("a", "d")}},
		err:    "operation not permitted",
	},
	{
		name:   "a hard link to itself",
		layers: []entries{{file("a", "x"), link("a", "./a")}},
		err:    "it is a hard link to itself",
	},
	{
		name:   "a hard link to a lower layer, which is not written through it",
		layers: []entries{{file("a", "x")}, {link("b", "/a"), file("a", "y")}},
		want:   []string{"f a y", "f b x"},
	},
	{
		name:   "a hard link to what it replaces",
		layers: []entries{{file("d/x", "x"), link("d", "d/x")}},
		err:    "no such file or directory",
	},
	{
		name: "devices and FIFOs",
		layers: []entries{{
			special(tar.TypeChar, "dev/null"), special(tar.TypeBlock, "dev/sda"), special(tar.TypeFifo, "fifo"),
			link("dev/zero", "dev/null"), file("x", "x"),
		}},
		want:   []string{"f x x"},
		umoci:  []string{"d dev", "f dev/null", "f dev/sda", "s dev/zero = dev/null", "special fifo", "f x x"},
		reason: "it makes empty files in place of devices, and FIFOs",
	},
	{
		name:   "a device in place of a file",
		layers: []entries{{file("a", "x"), file("b", "x")}, {special(tar.TypeChar, "a"), special(tar.TypeFifo, "b")}},
		want:   []string{},
		umoci:  []string{"f a", "special b"}, reason: "it makes empty files in place of devices, and FIFOs",
	},
	{
		name: "whiteouts",
		layers: []entries{
			{file("a", "1"), file("d/x", "1"), file("d/y", "1"), file("e/f/x", "1"), symlink("l", "d")},
			{file(".wh.a", ""), file("d/.wh.y", ""), file(".wh.e", ""), file(".wh.l", ""), file(".wh.none", "")},
		},
		want: []string{"d d", "f d/x 1"},
	},
	{
		name:   "a whiteout in a directory that is not there",
		layers: []entries{{file("x", "1")}, {file("none/.wh.a", ""), file("x/.wh.a", "")}},
		want:   []string{"f x 1"},
	},
	{
		name:   "a whiteout before and after the entry",
		layers: []entries{{file("a", "1"), file("b", "1")}, {file(".wh.a", ""), file("a", "2"), file("b", "2"), file(".wh.b", "")}},
		want:   []string{"f a 2", "f b 2"},
	},
	{
		name: "whiteouts of what the layer had and has replaced",
		layers: []entries{
			{file("x", "1"), file("d/x", "1")},
			{file("d/x", "2"), file("d", "2"), dir("d"), file("d/.wh.x", ""), file("d/y", "2"), file(".wh.x", "")},
		},
		want: []string{"d d", "f d/y 2"},
	},
	{
		name: "a whiteout of a directory that the layer has anew",
		layers: []entries{
			{file("d/x", "1"), file("d/s/y", "1"), file("e/x", "1")},
			{dir("d"), file("d/new", "2"), file(".wh.d", ""), file(".wh.e", ""), file("e/new", "2")},
		},
		want: []string{"d d", "f d/new 2", "d e", "f e/new 2"},
	},
	{
		name: "opaque directories",
		layers: []entries{
			{file("d/x", "1"), file("d/s/y", "1"), file("e/x", "1"), file("e/s/y", "1")},
			{
				file("d/.wh..wh..opq", ""), file("d/new", "2"),
				file("e/s/new", "2"), file("e/new", "2"), file("e/.wh..wh..opq", ""),
			},
		},
		want: []string{"d d", "f d/new 2", "d e", "f e/new 2", "d e/s", "f e/s/new 2"},
	},
	{
		name:   "an opaque root",
		layers: []entries{{file("d/x", "1"), file("y", "1")}, {file(".wh..wh..opq", ""), file("z", "2")}},
		want:   []string{"f z 2"},
	},
	{
		name:   "whiteouts of what their own layer has",
		layers: []entries{{file("a", "1"), file(".wh.a", ""), file("d/x", "1"), file("d/.wh..wh..opq", "")}},
		want:   []string{"f a 1", "d d", "f d/x 1"},
	},
	{
		name: "whiteouts by another name of the directory",
		layers: []entries{
			{file("usr/lib/a", "1"), file("usr/lib/b", "1"), symlink("lib", "usr/lib")},
			{file("usr/lib/a", "2"), file("lib/.wh.a", ""), file("lib/.wh.b", "")},
		},
		want: []string{"d usr", "d usr/lib", "f usr/lib/a 2", "l lib -> usr/lib"},
	},
	{
		name: "whiteouts through links out",
		layers: []entries{
			{symlink("a", "CANARY"), symlink("b", "../canary"), symlink("c", "CANARY/secret")},
			{file("a/.wh.secret", ""), file("b/.wh..wh..opq", ""), file(".wh.c", "")},
		},
		want: []string{"l a -> CANARY", "l b -> ../canary"},
	},
	{
		name:   "a whiteout of two dots",
		layers: []entries{{dir("d")}, {file("d/.wh...", "")}},
		err:    "it is a whiteout of no entry",
	},
	{
		name:   "a whiteout of a dot",
		layers: []entries{{dir("d")}, {file("d/.wh..", "")}},
		err:    "it is a whiteout of no entry",
	},
	{
		name:   "a whiteout of nothing",
		layers: []entries{{dir("d")}, {file("d/.wh.", "")}},
		err:    "it is a whiteout of no entry",
	},
	{
		name:   "what AUFS left",
		layers: []entries{{file("x", "1"), dir(".wh..wh.plnk"), file(".wh..wh.plnk/1.2", "a"), file(".wh..wh.aufs", "")}},
		want:   []string{"f x 1"},
		umoci:  []string{"d .wh..wh.plnk", "f .wh..wh.plnk/1.2 a", "f x 1"}, reason: "it knows nothing of AUFS",
	},
	{
		name:   "a whiteout of a whiteout",
		layers: []entries{{file("a", "1")}, {file(".wh..wh.a", "")}},
		want:   []string{"f a 1"},
	},
	{
		name:   "an entry below a whiteout",
		layers: []entries{{file("a/.wh.b/c", "1")}},
		err:    `its name has a directory that begins with ".wh."`,
		umoci:  []string{"d a", "d a/.wh.b", "f a/.wh.b/c 1"}, reason: "it keeps such names for whiteouts only at the end",
	},
	{
		name: "entries of other kinds in the place of others",
		layers: []entries{
			{file("a/x", "1"), file("b", "1"), symlink("c", "a"), file("d/x", "1"), file("e", "1"), symlink("f", "CANARY")},
			{file("a", "2"), file("b/x", "2"), dir("c"), symlink("d", "CANARY"), symlink("e", "a"), dir("f"), file("f/x", "2")},
		},
		err: "not a directory",
	},
	{
		name: "entries in place of others",
		layers: []entries{
			{file("a/x", "1"), file("b", "1"), symlink("c", "a"), file("d/x", "1"), file("e", "1"), symlink("f", "CANARY"), file("g/x", "1")},
			{file("a", "2"), dir("b"), file("b/x", "2"), dir("c"), symlink("d", "CANARY"), symlink("e", "a"), dir("f"), file("f/x", "2"), dir("g")},
		},
		want: []string{
			"f a 2", "d b", "f b/x 2", "d c", "l d -> CANARY", "l e -> a", "d f", "f f/x 2", "d g", "f g/x 1",
		},
	},
	{
		name:   "duplicates",
		layers: []entries{{file("a", "1"), file("a", "2"), dir("d"), file("d/x", "1"), dir("d"), symlink("l", "a"), symlink("l", "b"), file("d", "3"), dir("d")}},
		want:   []string{"f a 2", "d d", "l l -> b"},
	},
	{
		name:   "the root",
		layers: []entries{{dir("./"), file("./x", "1"), dir("/")}},
		want:   []string{"f x 1"},
	},
	{
		name:   "a link in place of the root",
		layers: []entries{{file("x", "1"), symlink("./", "CANARY"), file("y", "2")}},
		err:    "it would replace the root",
	},
	{
		name:   "a whiteout of the root's parent by a link",
		layers: []entries{{file("x", "1"), symlink("up", "..")}, {file("up/.wh.root", ""), file("up/.wh.canary", "")}},
		want:   []string{"f x 1", "l up -> .."},
	},
	{
		name:   "long names",
		layers: []entries{{file(strings.Repeat("n", 255), "1"), file(strings.Repeat("d/", 100)+"x", "1"), symlink("l", strings.Repeat("t", 4000))}},
		want:   []string{"f " + strings.Repeat("n", 255) + " 1", "l l -> " + strings.Repeat("t", 4000), "NESTED"},
	},
	{
		name:   "a name longer than any file system has",
		layers: []entries{{file(strings.Repeat("n", 256), "1")}},
		err:    "file name too long",
	},
	{
		name:   "names of any bytes",
		layers: []entries{{file("a\nb", "1"), file("\xff\xfe", "2"), file(" ", "3"), file(`\..\x`, "4"), file("-rf", "5"), file("...", "6")}},
		want:   []string{"f a\nb 1", "f \xff\xfe 2", "f   3", `f \..\x 4`, "f -rf 5", "f ... 6"},
	},
}

// at is the case with the path of the site's CANARY, and all its directories in want.
func (c layered) at(canary string) layered {
	put := func(s string) string { return strings.ReplaceAll(s, "CANARY", strings.TrimPrefix(canary, "/")) }
	layers := make([][]tar.Header, len(c.layers))
	for i := range c.layers {
		for _, h := range c.layers[i] {
			h.Name = strings.ReplaceAll(h.Name, "CANARY", canary)
			h.Linkname = strings.ReplaceAll(h.Linkname, "CANARY", canary)
			layers[i] = append(layers[i], h)
		}
	}
	c.layers = layers
	c.want = c.lines(c.want, canary, put)
	c.umoci = c.lines(c.umoci, canary, put)
	return c
}

func (c layered) lines(lines []string, canary string, put func(string) string) []string {
	var all []string
	for _, line := range lines {
		name, target, isLink := strings.Cut(line, " -> ")
		switch {
		case line == "DIRS":
			for i, b := range canary {
				if b == '/' && i > 0 {
					all = append(all, "d "+canary[1:i])
				}
			}
			all = append(all, "d "+canary[1:])
		case line == "NESTED":
			for i := range 100 {
				all = append(all, "d "+strings.Repeat("d/", i)+"d")
			}
			all = append(all, "f "+strings.Repeat("d/", 100)+"x 1")
		case isLink:
			all = append(all, put(name)+" -> "+strings.ReplaceAll(target, "CANARY", canary))
		default:
			all = append(all, put(line))
		}
	}
	slices.Sort(all)
	return all
}

func TestHostileLayers(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(t)
			c := c.at(s.canary)
			root := newRoot(s.root, DefaultBounds())
			var err error
			for _, l := range c.layers {
				if err == nil {
					_, err = root.Layer(context.Background(), bytes.NewReader(archive(t, l...)))
				}
			}
			s.untouched()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got error %v, not %q; tree %q", err, c.err, tree(t, s.root.Name()))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if is := tree(t, s.root.Name()); !slices.Equal(is, c.want) {
				t.Errorf("got\n%s\nnot\n%s", strings.Join(is, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
