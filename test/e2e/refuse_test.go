package e2e

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// refusal is a request that must be refused before anything is made.
type refusal struct {
	args     []string
	manifest string   // the text of manifest.yaml
	words    []string // of the sentence: what is wrong, and the way out
}

const idForm = "1 to 128 letters, digits"

// onCommandLine are refusals of command lines. $ID in an argument is a good id.
var onCommandLine = map[string]refusal{
	"id ..":             {args: flags("--id", "..", "--", "true"), words: flags(`".."`, idForm)},
	"id .":              {args: flags("--id", ".", "--", "true"), words: flags(`"."`, idForm)},
	"id .hidden":        {args: flags("--id", ".hidden", "--", "true"), words: flags(`".hidden"`, idForm)},
	"id a/b":            {args: flags("--id", "a/b", "--", "true"), words: flags(`"a/b"`, idForm)},
	"id a@1":            {args: flags("--id", "a@1", "--", "true"), words: flags(`"a@1"`, idForm)},
	"id empty":          {args: flags("--id", "", "--", "true"), words: flags(`""`, idForm)},
	"id empty too":      {args: flags("--id=", "--", "true"), words: flags(`""`, idForm)},
	"id of 129":         {args: flags("--id", strings.Repeat("a", 129), "--", "true"), words: flags("129 bytes", idForm)},
	"id of 300":         {args: flags("--id", strings.Repeat("a", 300), "--", "true"), words: flags("300 bytes", idForm)},
	"id -rf":            {args: flags("--id", "-rf", "--", "true"), words: flags(`"-rf"`, idForm)},
	"id=-rf":            {args: flags("--id=-rf", "--", "true"), words: flags(`"-rf"`, idForm)},
	"id with newline":   {args: flags("--id", "a\nb", "--", "true"), words: flags(`"a\nb"`, idForm)},
	"id and newline":    {args: flags("--id", "$ID\n", "--", "true"), words: flags(`\n"`, idForm)},
	"id with escape":    {args: flags("--id", "a\x1b[31m", "--", "true"), words: flags(`"a\x1b[31m"`, idForm)},
	"id with 0xFF":      {args: flags("--id", "a\xff", "--", "true"), words: flags(`"a\xff"`, idForm)},
	"id with a letter":  {args: flags("--id", "é", "--", "true"), words: flags(`"é"`, idForm)},
	"id in a variable":  {args: flags("SCIDEX_OCI_ID=..", "--", "true"), words: flags("SCIDEX_OCI_ID", `".."`, idForm)},
	"label without =":   {args: flags("--label", "x", "--", "true"), words: flags(`--label "x"`, "K=V")},
	"label with escape": {args: flags("--label", "x=\x1b", "--", "true"), words: flags(`\x1b`, "control character")},

	"data missing":        {args: flags("--data", "nowhere", "--", "true"), words: flags("--data", "nowhere", "does not exist")},
	"data a file":         {args: flags("--data", "file", "--", "true"), words: flags("--data", "file", "give a directory")},
	"data a link to file": {args: flags("--data", "link", "--", "true"), words: flags("--data", "link", "give a directory")},
	"data with socket":    {args: flags("--data", "socket", "--", "true"), words: flags("--data", "a unix socket", "s.sock")},
	"data with fifo":      {args: flags("--data", "fifo", "--", "true"), words: flags("--data", "a FIFO", "a/b/pipe")},
	"data empty":          {args: flags("--data", "", "--", "true"), words: flags("--data", "is empty")},
	"docs missing":        {args: flags("--docs", "nowhere", "--", "true"), words: flags("--docs", "nowhere", "does not exist")},
	"project missing":     {args: flags("--project", "nowhere", "--", "true"), words: flags("--project", "nowhere", "does not exist")},
	"project with socket": {args: flags("--project", "socket", "--", "true"), words: flags("--project", "a unix socket")},
	"input missing":       {args: flags("--input", "nowhere", "--", "true"), words: flags("--input", "nowhere", "does not exist")},
	"input a socket":      {args: flags("--input", "socket/s.sock", "--", "true"), words: flags("--input", "a unix socket")},
	"input over /proc":    {args: flags("--input", "good:/proc", "--", "true"), words: flags("/proc")},
	"input upwards":       {args: flags("--input", "good:/inputs/../../etc", "--", "true"), words: flags("..")},
	"stage missing":       {args: flags("--stage", "nowhere", "--", "true"), words: flags("--stage", "nowhere", "does not exist")},
	"stage a file":        {args: flags("--stage", "file", "--", "true"), words: flags("--stage", "file", "give a directory")},
	"export not empty":    {args: flags("--export", "good", "--", "true"), words: flags("--export", "good", "not empty", "--overwrite")},
	"export a file":       {args: flags("--export", "file", "--", "true"), words: flags("--export", "file", "give a directory")},
	"script missing":      {args: flags("--script", "nowhere.py"), words: flags("--script", "nowhere.py", "does not exist")},
	"script a directory":  {args: flags("--script", "good"), words: flags("--script", "good", "regular file")},
	"script unknown":      {args: flags("--script", "file"), words: flags("nothing says what runs it", ".py")},
	"script outside":      {args: flags("--project", "good", "--script", "a.py"), words: flags("a.py", "not inside --project")},

	"memory negative":   {args: flags("--memory", "-1", "--", "true"), words: flags("--memory", `"-1"`, "such as 512MiB")},
	"memory zero":       {args: flags("--memory", "0", "--", "true"), words: flags("--memory", `"0"`)},
	"memory tiny":       {args: flags("--memory", "1KiB", "--", "true"), words: flags("memory", "1KiB", "at least 4MiB")},
	"memory absurd":     {args: flags("--memory", "9999999TiB", "--", "true"), words: flags("memory", "9999999TiB")},
	"memory no size":    {args: flags("--memory", "lots", "--", "true"), words: flags("--memory", `"lots"`, "such as 512MiB")},
	"memory empty":      {args: flags("--memory", "", "--", "true"), words: flags("--memory", "is empty")},
	"cpus negative":     {args: flags("--cpus", "-2", "--", "true"), words: flags("--cpus", `"-2"`, "at least 0.01")},
	"cpus zero":         {args: flags("--cpus", "0", "--", "true"), words: flags("--cpus", "at least 0.01")},
	"cpus no number":    {args: flags("--cpus", "NaN", "--", "true"), words: flags("--cpus", `"NaN"`)},
	"cpus infinite":     {args: flags("--cpus", "Inf", "--", "true"), words: flags("--cpus", `"Inf"`)},
	"cpus absurd":       {args: flags("--cpus", "1000000", "--", "true"), words: flags("--cpus", "1e+06", "at most 4096")},
	"pids negative":     {args: flags("--pids", "-1", "--", "true"), words: flags("--pids", "-1", "at least 2")},
	"pids one":          {args: flags("--pids", "1", "--", "true"), words: flags("--pids", "at least 2")},
	"pids half":         {args: flags("--pids", "2.5", "--", "true"), words: flags("--pids", `"2.5"`)},
	"pids absurd":       {args: flags("--pids", "99999999999999999999", "--", "true"), words: flags("--pids", "at most 4194304")},
	"timeout negative":  {args: flags("--timeout", "-5s", "--", "true"), words: flags("--timeout", `"-5s"`, "such as 90s")},
	"timeout zero":      {args: flags("--timeout", "0", "--", "true"), words: flags("--timeout", `"0"`)},
	"timeout absurd":    {args: flags("--timeout", "999999h", "--", "true"), words: flags("timeout", "999999h", "at most 720h")},
	"timeout overflow":  {args: flags("--timeout", "99999999999999999999h", "--", "true"), words: flags("--timeout", "99999999999999999999h")},
	"grace negative":    {args: flags("--grace", "-1s", "--", "true"), words: flags("--grace", `"-1s"`)},
	"grace absurd":      {args: flags("--grace", "100h", "--", "true"), words: flags("grace", "100h", "at most 1h")},
	"log size negative": {args: flags("--log-size", "-1", "--", "true"), words: flags("--log-size", `"-1"`)},
	"limits unknown":    {args: flags("--limits", "enforced", "--", "true"), words: flags("limits", `"enforced"`, `did you mean "enforce"?`)},
	"keep unknown":      {args: flags("--keep", "alway", "--", "true"), words: flags("keep", `"alway"`, `did you mean "always"?`)},
	"ids unknown":       {args: flags("--ids", "me", "--", "true"), words: flags("ids", `"me"`, "range or self")},
	"rootfs unknown":    {args: flags("--rootfs", "debian", "--", "true"), words: flags("rootfs", `"debian"`, "image ls")},
	"network":           {args: flags("--network", "host", "--", "true"), words: flags("--network", `"host"`, "never gets a network")},
	"output absolute":   {args: flags("--output", "/etc/passwd", "--", "true"), words: flags("/etc/passwd", "relative to /work")},
	"output upwards":    {args: flags("--output", "../x", "--", "true"), words: flags("../x")},
	"output malformed":  {args: flags("--output", "[", "--", "true"), words: flags(`"["`, "malformed")},
	"env unset":         {args: flags("--env", "NO_SUCH_NAME", "--", "true"), words: flags("NO_SUCH_NAME", "no such variable")},
	"env without name":  {args: flags("--env", "=x", "--", "true"), words: flags("--env", "K=V")},
	"env reserved":      {args: flags("--env", "SCIDEX_WORK_DIR=/x", "--", "true"), words: flags("SCIDEX_WORK_DIR")},
	"env with space":    {args: flags("--env", "A B=x", "--", "true"), words: flags(`"A B"`)},
	"secret unset":      {args: flags("--secret", "NO_SUCH_NAME", "--", "true"), words: flags("NO_SUCH_NAME", "export it")},
	"secret and env":    {args: flags("--env", "HOME=/x", "--secret", "HOME", "--", "true"), words: flags("HOME", "secret")},
	"secret with value": {args: flags("--secret", "K=V", "--", "true"), words: flags(`"K" is given with a value`)},

	"trace nowhere":       {args: flags("--trace", "nowhere/t.json", "--", "true"), words: flags("--trace", "nowhere/t.json", "does not exist", "name another file")},
	"trace a directory":   {args: flags("--trace", "good", "--", "true"), words: flags("--trace", `"good"`, "no regular file")},
	"trace a link":        {args: flags("--trace", "link", "--", "true"), words: flags("--trace", `"link"`, "no regular file")},
	"trace a device":      {args: flags("--trace", "/dev/null", "--", "true"), words: flags("--trace", `"/dev/null"`, "no regular file")},
	"trace a stream":      {args: flags("--trace", "-", "--", "true"), words: flags("--trace", `"-"`, "./-")},
	"trace a descriptor":  {args: flags("--trace", "fd:3", "--", "true"), words: flags("--trace", `"fd:3"`, "only to a file")},
	"trace in a variable": {args: flags("SCIDEX_OCI_TRACE=nowhere/t.json", "--", "true"), words: flags("SCIDEX_OCI_TRACE", "nowhere/t.json")},
	"trace empty":         {args: flags("--trace", "", "--", "true"), words: flags("--trace", "is empty")},

	"nothing to run":     {args: flags(), words: flags("nothing to run", "COMMAND", "--script")},
	"empty command":      {args: flags("--", ""), words: flags("empty")},
	"unknown flag":       {args: flags("--memroy", "1GiB", "--", "true"), words: flags(`"--memroy"`, `did you mean "--memory"?`)},
	"unknown flag =":     {args: flags("--tiemout=5s", "--", "true"), words: flags(`"--tiemout"`, `did you mean "--timeout"?`)},
	"runtime unknown":    {args: flags("--runtime", "science", "--", "true"), words: flags(`"science"`, "no config file names runtimes", "./science")},
	"flag without value": {args: flags("--memory"), words: flags("--memory", "needs a value")},
	"file missing":       {args: flags("-f", "nowhere.yaml"), words: flags("manifest", "nowhere.yaml", "does not exist")},
	"file twice":         {args: flags("-f", "nowhere.yaml", "--again", "$ID"), words: flags("--file", "--again")},
	"again unknown":      {args: flags("--again", "$ID"), words: flags("no run", "scidex-oci ls")},
	"again with id":      {args: flags("--again", "$ID", "--id", "$ID"), words: flags("--again", "--id")},
	"config missing":     {args: flags("--config", "nowhere.yaml", "--", "true"), words: flags("config file", `nowhere.yaml": does not exist`)},
	"config unknown key": {args: flags("--config", "config.yaml", "--", "true"), words: flags("config.yaml", "line 2", `"memroy"`, `did you mean "memory"?`)},
	"db bad URL":         {args: flags("--db", "postgres://me:geheim@127.0.0.1:x/scidex", "--", "true"), words: flags("postgres://USER@HOST:PORT/DATABASE")},
	"db unknown":         {args: flags("--db", "mysql://x", "--", "true"), words: flags("mysql://x", "sqlite://PATH")},
	"blobs unknown":      {args: flags("--blobs", "gs://bucket", "--", "true"), words: flags("gs://bucket", "file://DIR", "s3://BUCKET")},
	"blobs without keys": {args: flags("--blobs", "s3://bucket", "--", "true"), words: flags("s3://bucket", "AWS_ACCESS_KEY_ID")},
	"not a switch":       {args: flags("--quiet=maybe", "--", "true"), words: flags("--quiet", `"maybe"`, "true or false")},
}

// inManifest are refusals of manifests; the sentence begins with the file's name and the line.
var inManifest = map[string]refusal{
	"unknown field":      {manifest: "command: [true]\nmemroy: 1GiB\n", words: flags("manifest.yaml:2:", `"memroy"`, `did you mean "memory"?`)},
	"unknown runtime":    {manifest: "command: [true]\nruntime: science\n", words: flags(`"science"`, "no config file names runtimes")},
	"post_process":       {manifest: "command: [true]\npost_process: rm\n", words: flags("manifest.yaml:2:", `"post_process"`)},
	"field twice":        {manifest: "command: [true]\npids: 3\npids: 4\n", words: flags("manifest.yaml:3:", `"pids"`, "twice")},
	"negative memory":    {manifest: "command: [true]\nmemory: -1\n", words: flags("manifest.yaml:2:", "memory", `"-1"`)},
	"absurd memory":      {manifest: "command: [true]\nmemory: 7000TiB\n", words: flags("memory", "7000TiB", "at most 1PiB")},
	"negative cpus":      {manifest: "command: [true]\ncpus: -1\n", words: flags("manifest.yaml:2:", "cpus")},
	"cpus .inf":          {manifest: "command: [true]\ncpus: .inf\n", words: flags("manifest.yaml:2:", "cpus")},
	"zero pids":          {manifest: "command: [true]\npids: 0\n", words: flags("manifest.yaml:2:", "pids")},
	"negative timeout":   {manifest: "command: [true]\ntimeout: -30m\n", words: flags("manifest.yaml:2:", "timeout")},
	"malformed":          {manifest: "command: [true]\npids: 3\nmemory: \"1GiB\nkeep: x\n", words: flags("manifest.yaml:3:", "malformed YAML")},
	"malformed list":     {manifest: "pids: 3\nkeep: never\ncommand: [true, ]]\n", words: flags("manifest.yaml:3:", "malformed YAML")},
	"tab":                {manifest: "command: [true]\n\tpids: 3\n", words: flags("manifest.yaml:2:", "malformed YAML")},
	"empty":              {manifest: "", words: flags("manifest.yaml:", "empty")},
	"a list":             {manifest: "- true\n", words: flags("manifest.yaml:1:", "mapping")},
	"two documents":      {manifest: "command: [true]\n---\ncommand: [false]\n", words: flags("manifest.yaml:", "one document")},
	"command and script": {manifest: "command: [true]\nscript: a.py\n", words: flags("both a command and a script")},
	"neither":            {manifest: "memory: 1GiB\n", words: flags("nothing to run")},
	"command as text":    {manifest: "command: sleep 1\n", words: flags("manifest.yaml:1:", "command", "list")},
	"empty command":      {manifest: "command: []\n", words: flags("nothing to run")},
	"args of a command":  {manifest: "command: [true]\nargs: [x]\n", words: flags("args", "script")},
	"id ..":              {manifest: "command: [true]\nid: ..\n", words: flags(`".."`, idForm)},
	"id with NUL":        {manifest: `{"command": ["true"], "id": "a\u0000b"}`, words: flags("manifest.yaml:1:", "id", `"a\x00b"`, "NUL")},
	"id with newline":    {manifest: `{"command": ["true"], "id": "a\nb"}`, words: flags(`"a\nb"`, idForm)},
	"command with NUL":   {manifest: `{"command": ["true", "\u0000"]}`, words: flags("manifest.yaml:1:", "command", "NUL")},
	"not UTF-8":          {manifest: "command: [\"\xff\"]\n", words: flags("manifest.yaml:1:", "0xff", "UTF-8")},
	"data missing":       {manifest: "command: [true]\ndata: nowhere\n", words: flags("data", "nowhere", "does not exist")},
	"export not empty":   {manifest: "command: [true]\nexport: good\n", words: flags("export", "good", "not empty")},
	"script missing":     {manifest: "script: nowhere.py\n", words: flags("script", "nowhere.py", "does not exist")},
	"no value":           {manifest: "command: [true]\ndata:\n", words: flags("manifest.yaml:2:", "data", "no value")},
	"secret and env":     {manifest: "command: [true]\nsecrets: [HOME]\nenv: {HOME: /x}\n", words: flags("HOME", "secrets")},
}

func TestRefusals(t *testing.T) {
	t.Run("flags", func(t *testing.T) { refuseAll(t, onCommandLine) })
	t.Run("manifest", func(t *testing.T) { refuseAll(t, inManifest) })
}

func refuseAll(t *testing.T, refusals map[string]refusal) {
	for name, r := range refusals {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.run(t)
		})
	}
}

func (r refusal) run(t *testing.T) {
	h := newHarness(t)
	tmp := makeRefusedFiles(h)
	args := []string{}
	if r.manifest != "" || len(r.args) == 0 && r.words[0] == "manifest.yaml:" {
		h.write("manifest.yaml", r.manifest, 0o644)
		args = append(args, "-f", "manifest.yaml")
	}
	for _, arg := range r.args {
		if name, value, ok := strings.Cut(arg, "="); ok && strings.HasPrefix(name, "SCIDEX_OCI_") {
			h.setenv(name, value)
			continue
		}
		args = append(args, strings.Replace(arg, "$ID", h.id("x"), 1))
	}
	plain := h.mustRefuse(append([]string{"run"}, args...), r.words...)
	if plain.stdout != "" {
		t.Errorf("standard output %q", plain.stdout)
	}
	untouched(h, tmp)
	asObject := h.start(args...)
	asObject.expect(t, "error", "request", 125)
	if asObject.StartedAt != nil || asObject.Attempt != 0 {
		t.Errorf("a request that was refused was started: %+v", asObject)
	}
	if plain.stderr != "scidex-oci: "+asObject.Message+"\n" {
		t.Errorf("the message is %q, standard error was %q", asObject.Message, plain.stderr)
	}
	untouched(h, tmp)
}

// makeRefusedFiles makes the files that the refusals name, and a directory for working directories.
func makeRefusedFiles(h *harness) (tmp string) {
	h.t.Helper()
	h.write("file", "text\n", 0o644)
	h.write("a.py", "pass\n", 0o644)
	h.write("good/file", "text\n", 0o644)
	h.write("socket/file", "", 0o644)
	h.write("fifo/a/b/file", "", 0o644)
	h.write("config.yaml", "pids: 7\nmemroy: 1GiB\n", 0o644)
	tmp = filepath.Join(filepath.Dir(h.dir), "tmp")
	h.setenv("SCIDEX_OCI_TMP", tmp)
	// The path of a socket is short (unix(7)): it is made at a short path and moved.
	short, err := os.MkdirTemp("/tmp", "e2e-")
	if err != nil {
		h.t.Fatal(err)
	}
	defer os.RemoveAll(short)
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: short + "/s", Net: "unix"})
	if err != nil {
		h.t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	defer listener.Close()
	for _, err := range []error{
		unix.Rename(short+"/s", h.path("socket/s.sock")), unix.Mkfifo(h.path("fifo/a/b/pipe"), 0o644),
		os.Symlink("file", h.path("link")), os.Mkdir(tmp, 0o755),
	} {
		if err != nil {
			h.t.Fatal(err)
		}
	}
	return tmp
}

// untouched checks that nothing of a run was made: no working directory, no file but the empty catalog
// and its lock, no row.
func untouched(h *harness, tmp string) {
	h.t.Helper()
	if entries, err := os.ReadDir(tmp); err != nil || len(entries) > 0 {
		h.t.Errorf("in the place of working directories: %v, %v", entries, err)
	}
	var files []string
	err := filepath.WalkDir(h.root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, entry.Name())
		}
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		h.t.Error(err)
	}
	for _, file := range files {
		if !slices.Contains([]string{"catalog.db", "catalog.db.lock", "catalog.db-wal", "catalog.db-shm", "lock", "catalog_id"}, file) {
			h.t.Errorf("%s was made in the root", file)
		}
	}
	if !slices.Contains(files, "catalog.db") {
		return // there cannot be a row
	}
	rows := h.finish(h.command(theHost.bin, "--config=/dev/null", "ls", "--json"))
	if rows.code != 0 || rows.stdout != "" {
		h.t.Errorf("ls: exit code %d, %s%s", rows.code, rows.stdout, rows.stderr)
	}
}
