package e2e

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostSwaps is about how many swaps of each command a short test tries; scripts/soak tries all.
const hostSwaps = 6

// hostCommand is a command of root on files of a user. $ID is the id of a new run, $MADE that of one that has ended,
// $DIR the user's directory, and $HERE one of root's that no user changes.
type hostCommand struct {
	name    string
	both    []string // what is in the user's directory, and by the same names in root's
	roots   []string // what is in root's only
	program string   // scidex-oci if it is empty
	args    []string
	env     []string
	stdin   string
	code    int  // with which it ends undisturbed
	serves  bool // until a signal
	sticky  bool // $DIR is root's, and everyone may make names in it, as in /tmp
	long    bool // it makes thousands of calls: scripts/soak tries some of the swaps, too
}

// most is about how many swaps are tried.
func (c hostCommand) most() int {
	switch {
	case !inSoak():
		return hostSwaps
	case c.long:
		return 100
	}
	return math.MaxInt
}

// writes is an analysis with outputs.
const writes = "echo result >a; mkdir d; echo b >d/b"

// exported are the names that an export of it has, in root's directory.
var exported = []string{"in/out/a=old", "in/out/d/b=old", "in/out/scidex-result.json={}", "in/out/$ID/a=old", "in/out/$ID/d/b=old", "in/out/$ID/scidex-result.json={}"}

func hostCommands() []hostCommand {
	words := func(line string) []string { return strings.Fields(line) }
	script := func(line, script string) []string { return append(words(line), "--", "sh", "-c", script) }
	docker := func(flags, script string) []string {
		return append(words("run --name=$ID --volume=$DIR/out:/job --workdir=/job "+flags+" "+tool), "sh", "-c", script)
	}
	config := []string{"SCIDEX_OCI_CONFIG=$HERE/config.yaml"}
	lines := "{\"id\":\"$ID\",\"command\":[\"sh\",\"-c\",\"" + writes + "\"]}\n"
	old := []string{"in/out/a=mine", "in/out/d/b=mine", "in/out/scidex-result.json=mine"}
	return []hostCommand{
		{name: "run --export new", both: []string{"in/"}, roots: exported, args: script("run --id $ID --export $DIR/out", writes)},
		{name: "run --export empty", both: []string{"in/out/"}, roots: exported, args: script("run --id $ID --export $DIR/out", writes)},
		{name: "run --export --overwrite", both: old, args: script("run --id $ID --export $DIR/out --overwrite", writes)},
		{name: "run --trace", both: []string{"in/"}, roots: []string{"in/trace=old"}, args: words("run --id $ID --trace $DIR/trace -- true")},
		{name: "run --trace replaced", both: []string{"in/trace=old"}, args: words("run --id $ID --trace $DIR/trace -- true")},
		{name: "run --events", both: []string{"in/"}, roots: []string{"in/events=old"}, args: words("run --id $ID --events $DIR/events -- true")},
		{name: "run --events appended", both: []string{"in/events="}, args: words("run --id $ID --events $DIR/events -- true")},
		{name: "run --export in a sticky directory", sticky: true, both: []string{"in/"}, roots: exported, args: script("run --id $ID --export $DIR/out", writes)},
		{name: "run --trace in a sticky directory", sticky: true, both: []string{"in/"}, roots: []string{"in/trace=old"}, args: words("run --id $ID --trace $DIR/trace -- true")},
		{name: "run --events in a sticky directory", sticky: true, both: []string{"in/"}, roots: []string{"in/events=old"}, args: words("run --id $ID --events $DIR/events -- true")},
		{name: "run --stage", both: []string{"in/stage/a=a", "in/stage/below/b=b"}, args: script("run --id $ID --stage $DIR/stage", "cat a below/b; ls -R")},
		{name: "run --input", both: []string{"in/a=a", "in/data/b=b"}, args: script("run --id $ID --input $DIR/a --data $DIR/data", "cat /inputs/a; ls -R /data")},
		{name: "run --script", both: []string{"in/s.sh=echo done"}, args: words("run --id $ID --script $DIR/s.sh")},
		{name: "run --sign-key", both: []string{"in/sign.key=x"}, args: words("run --id $ID --sign-key $DIR/sign.key -- true"), code: 125},
		{name: "image import", both: []string{"in/x.tar=x"}, args: words("image import $DIR/x.tar --name x"), code: 125},
		{
			name: "image import of a layout", both: []string{`in/layout/oci-layout={"imageLayoutVersion":"1.0.0"}`, `in/layout/index.json={"schemaVersion":2,"manifests":[]}`},
			args: words("image import $DIR/layout --name x"), code: 125,
		},
		{name: "image pull with credentials", both: []string{"in/auth.json={"}, args: words("image pull registry.invalid/x:1 --name x"), env: []string{"REGISTRY_AUTH_FILE=$DIR/auth.json"}, code: 125},
		{name: "image pull with certificates", both: []string{"in/containers/certs.d/registry.invalid/x.crt=x"}, args: words("image pull registry.invalid/x:1 --name x"), env: []string{"XDG_CONFIG_HOME=$DIR"}, code: 125},
		{name: "verify", both: []string{"in/crate.zip=x"}, args: words("verify $DIR/crate.zip"), code: 125},
		{name: "verify --key", both: []string{"in/key=x"}, args: words("verify $DIR --key $DIR/key"), code: 125},
		{name: "mcp --key-file", both: []string{"in/key=0123456789abcdef"}, args: words("mcp --http 127.0.0.1:0 --key-file $DIR/key"), code: 125, serves: true},
		{name: "batch --export", both: []string{"in/"}, roots: exported, args: words("batch --jobs 1 --export $DIR/out -"), stdin: lines},
		{
			name: "batch --export after one that was killed", both: []string{"in/out/.scidex-export-$ID/a=mine", "in/out/.scidex-export-$ID/d/b=mine"},
			roots: exported, args: words("batch --jobs 1 --export $DIR/out -"), stdin: lines,
		},
		{name: "batch --junit", both: []string{"in/"}, roots: []string{"in/junit.xml=old"}, args: words("batch --jobs 1 --junit $DIR/junit.xml -"), stdin: lines},
		{name: "batch --junit replaced", both: []string{"in/junit.xml=old"}, args: words("batch --jobs 1 --junit $DIR/junit.xml -"), stdin: lines},
		{name: "outputs export", both: []string{"in/"}, roots: exported, args: words("outputs export $MADE $DIR/out")},
		{name: "outputs export --overwrite", both: old, args: words("outputs export $MADE $DIR/out --overwrite")},
		{name: "outputs export of many", both: []string{"in/"}, roots: []string{"in/out/$MADE/a=old", "in/out/$MADE/d/b=old"}, args: words("outputs export --label row=made $DIR/out")},
		{name: "crate -o directory", both: []string{"in/"}, roots: []string{"in/crate/a=old", "in/crate/ro-crate-metadata.json=old"}, args: words("crate $MADE -o $DIR/crate")},
		{name: "crate -o empty directory", both: []string{"in/crate/"}, roots: []string{"in/crate/a=old"}, args: words("crate $MADE -o $DIR/crate")},
		{name: "crate -o in a sticky directory", sticky: true, both: []string{"in/"}, roots: []string{"in/crate/a=old"}, args: words("crate $MADE -o $DIR/crate")},
		{name: "crate -o zip", both: []string{"in/"}, roots: []string{"in/crate.zip=old"}, args: words("crate $MADE -o $DIR/crate.zip")},
		{name: "report -o in a sticky directory", sticky: true, both: []string{"in/"}, roots: []string{"in/report.html=old"}, args: words("report $MADE -o $DIR/report.html")},
		{name: "report -o", both: []string{"in/"}, roots: []string{"in/report.html=old"}, args: words("report $MADE -o $DIR/report.html")},
		{name: "report -o --overwrite", both: []string{"in/report.html=old"}, args: words("report $MADE -o $DIR/report.html --overwrite")},
		{name: "table -o", both: []string{"in/"}, roots: []string{"in/table.csv=old"}, args: words("table --label row=made -o $DIR/table.csv table.csv")},
		{name: "table -o --overwrite", both: []string{"in/table.csv=old"}, args: words("table --label row=made -o $DIR/table.csv --overwrite table.csv")},
		{name: "spec --bundle", both: []string{"in/"}, roots: []string{"in/bundle/config.json=old"}, args: words("spec --bundle $DIR/bundle --id $ID -- true"), code: 125},
		{name: "spec --bundle empty", both: []string{"in/bundle/"}, roots: []string{"in/bundle/config.json=old"}, args: words("spec --bundle $DIR/bundle --id $ID -- true"), code: 125},
		{name: "new", both: []string{"in/s.sh=echo done"}, roots: []string{"in/analysis.yaml=old"}, args: words("new $DIR/s.sh --out $DIR/analysis.yaml")},
		{name: "new --overwrite", both: []string{"in/s.sh=echo done", "in/analysis.yaml=old"}, args: words("new $DIR/s.sh --out $DIR/analysis.yaml --overwrite")},
		{name: "config set", both: []string{"in/config/config.yaml=memory: 1GiB\n"}, args: words("--config $DIR/config/config.yaml config set memory 2GiB")},
		{name: "config set new", both: []string{"in/"}, roots: []string{"in/config/config.yaml=memory: 1GiB\n"}, args: words("--config $DIR/config/config.yaml config set memory 2GiB")},
		{name: "key new", both: []string{"in/"}, roots: []string{"in/sign.key=old", "in/sign.key.pub=old"}, args: words("key new $DIR/sign.key")},
		{name: "docs", both: []string{"in/"}, roots: []string{"in/docs/scidex-oci.1=old", "in/docs/scidex-oci-run.1=old"}, args: words("docs --dir $DIR/docs")},
		{name: "serve in a sticky directory", sticky: true, both: []string{"in/"}, roots: []string{"in/s=old"}, args: words("serve --socket $DIR/s"), serves: true},
		{name: "serve", both: []string{"in/"}, roots: []string{"in/s=old"}, args: words("serve --socket $DIR/s"), serves: true},
		{name: "install", both: []string{"in/"}, roots: []string{"in/prefix/bin/scidex-oci=old", "in/prefix/share/scidex-oci/installed=old"}, program: filepath.Join(filepath.Dir(filepath.Dir(theHost.bin)), "scripts/install"), args: words("--prefix $DIR/prefix"), code: 1, long: true},
		{name: "docker run", both: []string{"in/out/same=same", "in/out/changed=before", "in/out/gone=x"}, roots: []string{"in/out/new=old"}, program: "scidex-oci-docker", env: config, args: docker("", "chmod 666 same; echo after >changed; rm gone; echo new >new")},
		{name: "docker run --cidfile", both: []string{"in/out/"}, roots: []string{"in/cid=old"}, program: "scidex-oci-docker", env: config, args: docker("--cidfile=$DIR/cid", "true")},
		{name: "docker run --cidfile of a run that is refused", both: []string{"in/out/"}, roots: []string{"in/cid=old"}, program: "scidex-oci-docker", env: config, args: docker("--cidfile=$DIR/cid --cpus=-1", "true"), code: 125},
		{
			name: "docker run with inputs in the output directory", both: []string{"in/out/", "in/data/a=a", "in/data/below/b=b", "in/file=file"}, program: "scidex-oci-docker", env: config,
			args: docker("--volume=$DIR/data:/job/data:ro --volume=$DIR/file:/job/file:ro", "cat file data/a data/below/b; ls -R"),
		},
	}
}

// TestSwapsOnTheHost: a user who exchanges files of root's command at any moment can neither change nor read root's
// files, nor make the command wait.
func TestSwapsOnTheHost(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root works in directories of others; the tests as root do")
		return
	}
	for _, row := range hostCommands() {
		t.Run(row.name, func(t *testing.T) {
			h := newHarness(t)
			if err := os.Chmod(filepath.Dir(filepath.Dir(h.dir)), 0o755); err != nil { // the user comes as far as their directory
				t.Fatal(err)
			}
			h.setenv("SCIDEX_OCI_AUDIT", "off") // a process has one listener (seccomp(2))
			h.write("config.yaml", toolMap, 0o644)
			h.mustRun("run", "--id", h.id("made"), "--label", "row=made", "--", "sh", "-c", writes+`; printf 'x,y\n1,2\n' >table.csv`)
			h.withstand(row)
			h.collect()
		})
	}
}

// collect removes all runs, and their kept directories.
func (h *harness) collect() {
	h.t.Helper()
	if runs := strings.Fields(h.mustRun("ls", "--quiet", "--limit", "0").stdout); len(runs) > 0 {
		h.mustRun(append([]string{"rm"}, runs...)...)
	}
	h.mustRun("gc")
}
