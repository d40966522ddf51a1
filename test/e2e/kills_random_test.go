package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inSoak reports whether scripts/soak requests the full counts.
func inSoak() bool { return os.Getenv("SCIDEX_OCI_SOAK") != "" }

// soakCount is a number of scripts/soak; CI has a twentieth of it.
func soakCount(n int) int {
	if inSoak() {
		return n
	}
	return n / 20
}

// victims are what is killed, in turn.
var victims = []string{"launcher", "supervisor", "both"}

// phases of a run in which a kill may fall.
var phases = []string{"set-up", "running", "harvest", "commit", "after the commit"}

// killedFiles is how many files a run leaves: so many that the harvest and the commit are hit as well.
const killedFiles = 300

// computesAndWrites begins, computes, and writes as many files as its second argument says, with the first in each.
const computesAndWrites = `echo started; i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done
i=0; while [ $i -lt $1 ]; do echo "$0 $i" >f$i; i=$((i+1)); done`

// TestKilledAtRandom kills launcher, supervisor and both at random moments of runs, from the start to the end.
// SCIDEX_OCI_SEED repeats the draw of moments.
func TestKilledAtRandom(t *testing.T) { newKilling(newHarness(t)).all(soakCount(300)) }

// TestKilledAtRandomInPostgres is the same with a catalog in PostgreSQL.
func TestKilledAtRandomInPostgres(t *testing.T) {
	h, _ := inPostgres(t)
	newKilling(h).all(soakCount(60))
}

// killing kills runs of one harness.
type killing struct {
	*harness
	random *rand.Rand
	length time.Duration  // of the last run that was left in peace
	fell   map[string]int // how many kills of whom fell in which phase
	ended  map[string]int // and how the run ended
	others []string       // processes that were below this one before

	launchAs func(h *harness, id string, args ...string) *launch
	victims  []string
}

func newKilling(h *harness) *killing {
	h.t.Helper()
	seed := drawSeed(h.t)
	return &killing{harness: h, random: rand.New(rand.NewPCG(seed, 0)), fell: map[string]int{}, ended: map[string]int{}, others: orphans(), launchAs: (*harness).launch, victims: victims}
}

// drawSeed is the seed that SCIDEX_OCI_SEED gives, or a new one.
func drawSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	if given := os.Getenv("SCIDEX_OCI_SEED"); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatalf("SCIDEX_OCI_SEED: %v", err)
		}
	}
	t.Logf("SCIDEX_OCI_SEED=%d", seed)
	return seed
}

// all kills n runs. The moments are stratified: one in each nth part of a run, in random order.
func (k *killing) all(n int) {
	k.mustRun("ls") // makes the catalog
	first := k.newID()
	k.inPeace(k.t, first, 1, "--id", first)
	for i, part := range k.random.Perm(n) {
		victim, moment := k.victims[i%len(k.victims)], 1.05*(float64(part)+k.random.Float64())/float64(n)
		supervisorFirst := k.random.IntN(2) == 0
		k.t.Run(fmt.Sprintf("%03d-%s-at-%.3f", i, victim, moment), func(t *testing.T) {
			one := &casualty{killing: k, harness: k.in(t), id: k.newID(), victim: victim, supervisorFirst: supervisorFirst}
			one.launch = k.launchAs(one.harness, one.id, writing(one.id)...)
			one.strike(time.Duration(moment * float64(k.length)))
			one.examine()
		})
	}
	k.verifyAll()
	k.tell(n)
}

// writing are the arguments of a run whose files hold the name.
func writing(name string) []string {
	return flags("--data=none", "--docs=none", "--", "sh", "-c", computesAndWrites, name, strconv.Itoa(killedFiles))
}

// inPeace lets a run come to its end and takes its time.
func (k *killing) inPeace(t *testing.T, name string, attempt int, which ...string) {
	t.Helper()
	began := time.Now()
	r := k.in(t).start(append(which, writing(name)...)...)
	k.length = time.Since(began)
	r.expect(t, "complete", "exit", 0)
	if r.Attempt != attempt {
		t.Errorf("attempt %d, want %d", r.Attempt, attempt)
	}
	r.holdsExactly(t, name)
}

// holdsExactly checks that a result has the outputs of computesAndWrites and no other.
func (r result) holdsExactly(t *testing.T, name string) {
	t.Helper()
	if r.OutputsTotal != killedFiles || r.RejectedTotal != 0 || len(r.Outputs) != killedFiles {
		t.Errorf("%s@%d: %d outputs, %d listed, %d rejected, want %d", r.ID, r.Attempt, r.OutputsTotal, len(r.Outputs), r.RejectedTotal, killedFiles)
	}
	for i := range killedFiles {
		path, content := killedFile(name, i)
		if o := r.output(path); o.SHA256 != digest([]byte(content)) || o.Partial {
			t.Fatalf("%s@%d: output %s is %+v", r.ID, r.Attempt, path, o)
		}
	}
}

func killedFile(name string, i int) (path, content string) {
	return fmt.Sprintf("f%d", i), fmt.Sprintf("%s %d\n", name, i)
}

// casualty is one run that is killed.
type casualty struct {
	*killing
	harness         *harness // of its own test
	launch          *launch
	id, victim      string
	supervisorFirst bool
	family          []watched
	ended           bool // the analysis had ended before the kill, by the state file
	stored          bool // and right after it every output was a blob
	tooLate         bool // the launcher had
}

func (k *casualty) directory() string { return "/tmp/scidex-analysis-" + k.id }

// strike waits for the moment and kills.
func (k *casualty) strike(moment time.Duration) {
	t, l := k.harness.t, k.launch
	select {
	case <-time.After(moment):
	case <-l.ended:
	}
	k.ended = k.harness.analysisEnded(k.id)
	k.family = l.family()
	supervisor := k.supervisor()
	for k.victim != "launcher" && supervisor == nil && !k.over() { // it comes with the start
		k.family = l.family()
		supervisor = k.supervisor()
	}
	if k.tooLate = k.over(); k.tooLate {
		return
	}
	kills := []func(){func() { _ = l.cmd.Process.Signal(syscall.SIGKILL) }} // it may end by itself at this moment
	switch {
	case k.victim == "supervisor":
		kills = []func(){supervisor.killIfAlive}
	case k.victim == "both" && k.supervisorFirst:
		kills = []func(){supervisor.killIfAlive, kills[0]}
	case k.victim == "both":
		kills = []func(){kills[0], supervisor.killIfAlive}
	}
	for _, kill := range kills {
		kill()
	}
	k.stored = k.published()
	<-l.ended
	expectGone(t, k.family, k.id)
	until(t, gone, "nothing is left below this process", func() bool { return len(k.strangers()) == 0 })
}

func (k *casualty) over() bool {
	select {
	case <-k.launch.ended:
		return true
	default:
		return false
	}
}

// supervisor is also one that waits for its ids.
func (k *casualty) supervisor() *watched {
	for i, w := range k.family {
		if strings.HasPrefix(w.command, "scidex-oci: ") {
			return &k.family[i]
		}
	}
	return nil
}

// strangers are processes below this one that were not there before.
func (k *casualty) strangers() []string {
	return slices.DeleteFunc(orphans(), func(p string) bool { return slices.Contains(k.others, p) })
}

// examine says what must hold after a kill: before gc, after it, and for the next run of the id.
func (k *casualty) examine() {
	t := k.harness.t
	announced := k.announced()
	told, spoke := k.told()
	before, written := k.find()
	k.ended = k.ended || k.harness.analysisEnded(k.id)
	if k.launch.cmd.ProcessState.Exited() {
		k.expectTold(told, spoke, before, written)
	}
	if spoke && told.State == "complete" && (!written || before.State != "complete") {
		t.Errorf("the launcher told of a complete run, the catalog has %q", before.State)
	}
	phase := k.phase(announced, before, written)
	k.collect(written)
	after, there := k.find()
	k.fell[phase+", "+k.victim]++
	how := k.judge(before, after, written, there)
	k.killing.ended[phase+": "+how]++
	t.Logf("%s: %s", phase, how)
	k.again(after, there)
}

// announced reports whether the analysis had announced itself.
func (k *casualty) announced() bool {
	found := false
	for line := range k.launch.lines {
		found = found || line == "started"
	}
	return found
}

// told is the result that the launcher printed, if it printed one.
func (k *casualty) told() (result, bool) {
	if !json.Valid(k.launch.stdout.Bytes()) {
		return result{}, false
	}
	r, err := parseResult(k.launch.stdout.Bytes())
	if err != nil {
		k.harness.t.Error(err)
	}
	return r, true
}

// find reads the run back, if the catalog has it.
func (k *casualty) find() (result, bool) {
	out := k.harness.do("show", "--json", k.id)
	if out.code != 0 {
		return result{}, false
	}
	r, err := parseResult([]byte(out.stdout))
	if err != nil {
		k.harness.t.Fatal(err)
	}
	return r, true
}

// expectTold checks what a launcher that was not killed itself printed: that the run is lost, or what was already true.
func (k *casualty) expectTold(told result, spoke bool, stored result, written bool) {
	t := k.harness.t
	if !spoke {
		t.Fatalf("the launcher ended with %v and no result", k.launch.cmd.ProcessState)
	}
	if code := k.launch.cmd.ProcessState.ExitCode(); code != told.ExitCode {
		t.Errorf("the launcher ended with %d, the result says %d", code, told.ExitCode)
	}
	if written && (told.State != stored.State || told.Reason != stored.Reason || told.Message != stored.Message || told.OutputsTotal != stored.OutputsTotal) {
		t.Errorf("told %s, %s, %q, stored %s, %s, %q", told.State, told.Reason, told.Message, stored.State, stored.Reason, stored.Message)
	}
	switch why := told.State + "/" + told.Reason; {
	case why == "complete/exit":
	case k.victim == "supervisor" && !k.tooLate && told.ExitCode == 125 && slices.Contains([]string{"lost/supervisor_lost", "error/harvest"}, why):
	default:
		t.Errorf("the launcher ended with %d and %s: %s", told.ExitCode, why, told.Message)
	}
}

// phase says in which phase the kill was, by what existed at that moment and what is left before gc. A launcher that
// survives leaves no trace of how far it was: whether its commit had ended is not known.
func (k *casualty) phase(announced bool, before result, written bool) string {
	survived := k.launch.cmd.ProcessState.Exited()
	switch {
	case k.tooLate || !survived && written && before.State == "complete":
		return "after the commit"
	case !written || !announced:
		return "set-up"
	case !k.ended:
		return "running"
	case k.stored:
		return "commit"
	default:
		return "harvest"
	}
}

// published reports whether every output is a blob already.
func (k *casualty) published() bool {
	for i := range killedFiles {
		_, content := killedFile(k.id, i)
		if _, err := os.Lstat(k.harness.blobPath(digest([]byte(content)))); err != nil {
			return false
		}
	}
	return true
}

// collect calls gc twice: the first removes everything but the only copy of a result, the second finds nothing to do.
func (k *casualty) collect(written bool) {
	t := k.harness.t
	c := k.harness.gc()
	c.Lost = slices.DeleteFunc(c.Lost, func(run struct{ ID string }) bool { return run.ID == behind(k.id) })
	if i := slices.Index(c.Kept, k.directory()+strings.TrimPrefix(behind(k.id), k.id)); i >= 0 { // it had ended, and that was not noted
		k.harness.mustRun("rm", behind(k.id))
		c.Kept = slices.Delete(c.Kept, i, i+1)
	}
	if len(c.Lost) > 1 || len(c.Lost) == 1 && (c.Lost[0].ID != k.id || !written) {
		t.Errorf("gc marked %v lost, this is %s", c.Lost, k.id)
	}
	if mine := slices.DeleteFunc(slices.Clone(c.Kept), func(dir string) bool { return dir == k.directory() }); len(mine) > 0 {
		t.Errorf("gc kept %q", mine)
	}
	left := slices.DeleteFunc(leftovers(k.id, k.root), func(what string) bool { return what == k.directory() })
	if len(left) > 0 {
		t.Errorf("after gc: %q", left)
	}
	if c := k.harness.gc(); len(c.Lost)+len(c.Removed)+len(c.Kept) > 0 {
		t.Errorf("a second gc found %+v", c)
	}
}

// judge checks and returns how the run ended: a complete run has every output, a kept one every file, and every file
// that the analysis had finished is in one of the two.
func (k *casualty) judge(before, after result, written, there bool) (how string) {
	t := k.harness.t
	kept := len(matches(k.directory())) > 0
	switch {
	case written != there:
		t.Errorf("gc changed whether there is a row: %v, %v", written, there)
	case !there:
		how = "no trace"
	case before.State == "complete":
		k.expectSame(before, after)
		fallthrough
	case after.State == "complete":
		how = "complete"
		k.expectComplete(after)
	case kept:
		how = after.State + ", directory kept"
		k.expectKept(after)
	default:
		how = after.State
	}
	if there && !slices.Contains([]string{"complete", "lost", "error"}, after.State) {
		t.Errorf("after gc the run is %s, %s: %s", after.State, after.Reason, after.Message)
	}
	if kept && (!there || after.State == "complete") {
		t.Errorf("%s is left of a run that is %q", k.directory(), after.State)
	}
	if k.ended && how != "complete" && !kept {
		t.Errorf("the analysis had ended, and its files are nowhere")
	}
	return how
}

// expectSame checks that gc has not touched what was committed.
func (k *casualty) expectSame(before, after result) {
	t := k.harness.t
	one, err1 := json.Marshal(before)
	two, err2 := json.Marshal(after)
	if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
		t.Errorf("gc changed a committed run (%v, %v):\n%s\n%s", err1, err2, one, two)
	}
}

// expectComplete reads every output back, directly and through the program.
func (k *casualty) expectComplete(r result) {
	t := k.harness.t
	r.holdsExactly(t, k.id)
	k.harness.mustRun("outputs", "export", k.id, k.id)
	k.holdsFiles(k.harness.path(k.id), "scidex-result.json")
}

func (k *casualty) expectKept(r result) {
	if !strings.Contains(r.Message+r.Kept, k.directory()) {
		k.harness.t.Errorf("the result does not say that %s is kept: %s", k.directory(), r.Message)
	}
	k.holdsFiles(k.directory())
}

// holdsFiles checks that a directory has every file of the run and no other.
func (k *casualty) holdsFiles(dir string, beside ...string) {
	t := k.harness.t
	for i := range killedFiles {
		path, want := killedFile(k.id, i)
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != want {
			t.Fatalf("%s of %s is %q (%v), want %q", path, dir, got, err, want)
		}
	}
	if all := matches(dir + "/*"); len(all) != killedFiles+len(beside) {
		t.Errorf("%s has %d files, want %d and %q", dir, len(all), killedFiles, beside)
	}
}

// again runs the id once more; what was kept of the attempt before goes with it.
func (k *casualty) again(after result, there bool) {
	t := k.harness.t
	kept := len(matches(k.directory())) > 0
	switch {
	case there && after.State == "complete":
		k.inPeace(t, k.id, 2, "--again", k.id)
	case there:
		k.inPeace(t, k.id+"-again", 2, "--id", k.id)
	default:
		k.inPeace(t, k.id+"-again", 1, "--id", k.id)
	}
	if kept {
		k.harness.mustRun("rm", k.id+"@1")
	}
	if left := leftovers(k.id, k.root); len(left) > 0 {
		t.Errorf("after the next attempt: %q", left)
	}
}

// verifyAll compares the whole catalog with the blobs, and counts its rows.
func (k *killing) verifyAll() {
	var checked struct {
		Runs, Problems int64
	}
	out := k.mustRun("catalog", "check", "--digests", "--json").stdout
	if err := json.Unmarshal([]byte(out), &checked); err != nil || checked.Problems > 0 || checked.Runs == 0 {
		k.t.Errorf("catalog check: %v\n%s", err, out)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(k.mustRun("ls", "--json", "--limit", "0").stdout) {
		var row struct {
			ID      string
			Attempt int
			State   string
		}
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			k.t.Fatal(err)
		}
		key := fmt.Sprintf("%s@%d", row.ID, row.Attempt)
		if seen[key] || row.State == "running" {
			k.t.Errorf("the catalog lists %s, %s, twice or for ever", key, row.State)
		}
		seen[key] = true
	}
	if int64(len(seen)) != checked.Runs {
		k.t.Errorf("%d runs are listed, %d were checked", len(seen), checked.Runs)
	}
}

// tell prints how many kills were in each phase. If all were after the commit, they would prove nothing.
func (k *killing) tell(n int) {
	t := k.t
	for _, phase := range phases {
		line, all := phase, 0
		for _, victim := range victims {
			all += k.fell[phase+", "+victim]
			line += fmt.Sprintf(", %s %d", victim, k.fell[phase+", "+victim])
		}
		t.Logf("%d of %d kills: %s", all, n, line)
		if all == 0 && inSoak() && n >= 300 {
			t.Errorf("no kill of %d fell into this phase: %s", n, phase)
		}
	}
	for _, how := range slices.Sorted(maps.Keys(k.ended)) {
		t.Logf("%d of them: %s", k.ended[how], how)
	}
	if late := k.ended["after the commit: complete"]; late == n {
		t.Error("every kill came after the commit")
	}
}

// killIfAlive kills a process that may have ended by itself.
func (w *watched) killIfAlive() {
	if w.alive() {
		_ = unix.PidfdSendSignal(w.fd, unix.SIGKILL, nil, 0)
	}
}
