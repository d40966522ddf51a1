package hints

import (
	"fmt"
	"path"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// changed is a directory that R or a shell could not change to.
var changed = pattern(`(?m)(?:^Error in setwd\(["']([^"'\n]+)["']\) : cannot change working directory|` +
	`^[^\n]*: cd: can't cd to ([^\n]+)|^[^\n]*: cd: ([^:\n]+): No such file or directory)`)

// namelessDir is R's error if a variable names the directory.
var namelessDir = pattern(`(?m)^(Error in setwd)\([^"'\n]*\) : cannot change working directory`)

// changesDir is for a script that first changes to its directory on the host.
func changesDir(f Facts) string {
	const advice = "leave the change of directory out, read /data, and write to /work, where the analysis starts"
	dir := f.changedTo()
	switch {
	case dir == "" && f.find(namelessDir) != "":
		return "the directory of setwd() is not in the container: " + advice
	case dir == "" || f.shown(dir+"/."):
		return ""
	}
	for _, b := range bound(f.Ended.Analysis) {
		if rest, below := strings.CutPrefix(dir+"/", b.host+"/"); below {
			return fmt.Sprintf("%s is %s inside: change to that, and write to /work", format.Line(dir, 200), path.Join(b.inside, rest))
		}
	}
	return fmt.Sprintf("there is no directory %s in the container: %s", format.Line(dir, 200), advice)
}

// changedTo is the directory that a change of directory named, "" without one or if it is one of inputs.
func (f Facts) changedTo() string {
	dir := f.find(changed)
	for _, inside := range []string{"/data", "/docs", "/inputs"} {
		if dir == inside || strings.HasPrefix(dir, inside+"/") {
			return ""
		}
	}
	return strings.TrimSuffix(dir, "/")
}
