package hints

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// facts are of a failed run with the end of its standard error; changes are made to them.
func facts(reason outcome.Reason, stderr string, changes ...func(*Facts)) Facts {
	var f Facts
	f.Outcome.State, f.Outcome.Reason, f.Outcome.ExitCode = outcome.Failed, reason, 1
	f.Ended.StderrEnd, f.Ended.Command, f.Ended.Root = stderr, []string{"python3"}, "/"
	f.Ended.Analysis = spec.Analysis{Memory: spec.Size(1 << 30), LogSize: spec.Size(1 << 20)}
	f.Ended.PidsLimit = 100
	for _, change := range changes {
		change(&f)
	}
	return f
}

// tree makes files below a directory.
func tree(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func relative(t *testing.T, from, to string) string {
	t.Helper()
	name, err := filepath.Rel(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// openPipe makes a FIFO that has a writer, which writes nothing: a read of it would wait.
func openPipe(t *testing.T, path string) *os.File {
	t.Helper()
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOf(t *testing.T) {
	const exit = outcome.ReasonExit
	data := tree(t, "a.csv", "deep/b.csv")
	dir := tree(t, "a.py", "data/c.csv", "local.csv", "tool", "deep/d.csv")
	linked, empty := tree(t, "deep/f"), t.TempDir()
	for name, target := range map[string]string{"out": data, "rel": relative(t, linked, data), "none": "nowhere", "whole": linked + "/deep/f"} {
		if err := os.Symlink(target, filepath.Join(linked, name)); err != nil {
			t.Fatal(err)
		}
	}
	inLinked := func(f *Facts) { f.Ended.Analysis.Data, f.Ended.HasData = linked, true }
	closed := tree(t, "mine", "none", "open", "dir/x")
	for name, mode := range map[string]os.FileMode{"": 0o755, "mine": 0o600, "none": 0, "open": 0o644, "dir": 0o700} {
		if err := os.Chmod(filepath.Join(closed, name), mode); err != nil {
			t.Fatal(err)
		}
	}
	rights := func(f *Facts) { f.Ended.Analysis.Data, f.Ended.HasData = closed, true }
	scripts := tree(t, "crlf.sh", "z.sh", "elf")
	for name, line := range map[string]string{"crlf.sh": "#!/bin/sh\r\n", "z.sh": "#! /opt/none/sh\t-e\n", "elf": "\x7fELF"} {
		if err := os.WriteFile(filepath.Join(scripts, name), []byte(line), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	pipe := openPipe(t, filepath.Join(scripts, "pipe"))
	defer pipe.Close()
	tools := func(f *Facts) { f.Ended.Analysis.Inputs = []string{scripts + ":/inputs/mine"} }
	bestEffort := func(f *Facts) { f.Ended.Analysis.Limits = spec.LimitsBestEffort }
	withData := func(f *Facts) { f.Ended.Analysis.Data, f.Ended.HasData = data, true }
	command := func(words ...string) func(*Facts) {
		return func(f *Facts) { f.Ended.Analysis.Command, f.Ended.Command, f.Caller.Dir = words, words, dir }
	}
	scratch := func(names ...string) func(*Facts) { return func(f *Facts) { f.Ended.Exit.Scratch = names } }
	state := func(s outcome.State) func(*Facts) { return func(f *Facts) { f.Outcome.State = s } }
	line := func(f *Facts) { f.Caller.Line = true }
	environment := func(f *Facts) { f.Caller.Environment = "/home/ada/my env" }
	script := func(text string) func(*Facts) {
		return func(f *Facts) {
			f.Ended.Analysis.Script = filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(f.Ended.Analysis.Script, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	export := func(f *Facts) { f.Ended.Analysis.Export = "/out" }
	sh := func(f *Facts) { f.Ended.Command = []string{"sh", "/analysis/a.sh"} }
	byItself := func(f *Facts) { f.Ended.Exit.Ended = true }
	signal := func(name outcome.Signal) func(*Facts) { return func(f *Facts) { f.Outcome.Signal = name } }
	const trace = "Traceback (most recent call last):\n"
	missing := func(name string) string {
		return trace + "FileNotFoundError: [Errno 2] No such file or directory: '" + name + "'\n"
	}
	denied := func(name string) string { return "PermissionError: [Errno 13] Permission denied: '" + name + "'\n" }
	root := func(names ...string) func(*Facts) { return func(f *Facts) { f.Ended.Root = tree(t, names...) } }
	workSize := func(f *Facts) { f.Ended.Analysis.WorkSize = spec.Size(16 << 20) }
	workdir := func(f *Facts) { f.Ended.Analysis.Workdir = "/job" }
	runtime := func(f *Facts) { f.Ended.Analysis.Runtime = "/opt/env" }
	covered := map[string]bool{}
	for name, c := range map[string]struct {
		facts Facts
		code  string   // empty: no hint
		parts []string // of the sentence
	}{
		"plain failure":         {facts(exit, "ValueError: x\n"), "", nil},
		"success":               {facts(exit, "ModuleNotFoundError: No module named 'x'\n", state(outcome.Complete)), "", nil},
		"host":                  {facts(outcome.ReasonSandbox, "", state(outcome.Error)), Doctor, []string{"scidex-oci doctor"}},
		"not hooked":            {facts(outcome.ReasonSandbox, "", state(outcome.Error), func(f *Facts) { f.Ended.Exit.Unhooked = true }), "", nil},
		"other error of ours":   {facts(outcome.ReasonHarvest, "", state(outcome.Error)), "", nil},
		"out of memory":         {facts(outcome.ReasonOutOfMemory, ""), MemoryLimit, []string{"1GiB", "--memory"}},
		"MemoryError":           {facts(exit, "Traceback (most recent call last):\nMemoryError\n"), MemoryLimit, []string{"--memory"}},
		"numpy":                 {facts(exit, "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 7 GiB\n"), MemoryLimit, []string{"--memory"}},
		"more than the host":    {facts(exit, "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 119. GiB for an array\n", func(f *Facts) { f.Host.Memory = 47 << 29 }), MemoryLimit, []string{"asked for 119GiB", "this host has 23.5GiB", "compute in parts"}},
		"more, R":               {facts(exit, "Error: cannot allocate vector of size 74.5 Gb\nExecution halted\n", func(f *Facts) { f.Host.Memory = 47 << 29 }), MemoryLimit, []string{"asked for 74.5GiB"}},
		"less than the host":    {facts(exit, "_ArrayMemoryError: Unable to allocate 763. MiB for an array\n", func(f *Facts) { f.Host.Memory = 47 << 29 }), MemoryLimit, []string{"--memory"}},
		"memory, best effort":   {facts(exit, "MemoryError\n", bestEffort), MemoryLimit, []string{"under best effort each process", "--memory"}},
		"threads":               {facts(exit, "RuntimeError: can't start new thread\n"), PidsLimit, []string{"100", "--pids"}},
		"threads, best effort":  {facts(exit, "RuntimeError: can't start new thread\n", bestEffort), PidsLimit, []string{"one user id", "--pids"}},
		"pids":                  {facts(outcome.ReasonPidsLimit, ""), PidsLimit, []string{"--pids"}},
		"time, no threads":      {facts(outcome.ReasonTimeout, "BlockingIOError: [Errno 11] Resource temporarily unavailable\n"), PidsLimit, []string{"100 processes", "waited", "--pids"}},
		"time, denied":          {facts(outcome.ReasonTimeout, "", func(f *Facts) { f.Ended.Report.Evidence.PidsDenied = 3 }), PidsLimit, []string{"--pids"}},
		"threads, complete":     {facts(exit, "OpenBLAS: pthread_create failed: Resource temporarily unavailable\n", state(outcome.Complete)), PidsLimit, []string{"100", "--pids"}},
		"pip, complete":         {facts(exit, "error: externally-managed-environment\n", state(outcome.Complete)), NoPrivileges, []string{"install packages"}},
		"time":                  {facts(outcome.ReasonTimeout, ""), TimeLimit, []string{"give it more time with --timeout DURATION"}},
		"time of a line":        {facts(outcome.ReasonTimeout, "", line), TimeLimit, []string{`give it more time with "timeout" in its line of the batch, or with --timeout DURATION if the line does not set it`}},
		"work of a line":        {facts(outcome.ReasonWorkFull, "", line), WorkLimit, []string{`"work_size" or "work_files" in its line of the batch, or with --work-size SIZE or --work-files N if`}},
		"work full":             {facts(outcome.ReasonWorkFull, ""), WorkLimit, []string{"--work-size", "--work-files"}},
		"one file":              {facts(exit, trace+"OSError: [Errno 27] File too large\n", workSize), WorkLimit, []string{"one file may hold 16MiB, also in /tmp: allow more with --work-size SIZE"}},
		"one file, dd":          {facts(outcome.ReasonSignal, "", signal("SIGXFSZ"), workSize), WorkLimit, []string{"one file may hold 16MiB"}},
		"one file, dd of sh":    {facts(exit, "File size limit exceeded\n", workSize, func(f *Facts) { f.Outcome.ExitCode = 153 }), WorkLimit, []string{"one file may hold 16MiB"}},
		"one file, tmpfs":       {facts(exit, "OSError: [Errno 27] File too large\n", workSize, func(f *Facts) { f.Ended.Analysis.WorkStorage = spec.WorkTmpfs }), "", nil},
		"host full":             {facts(outcome.ReasonHostFull, ""), HostFull, []string{"scidex-oci gc"}},
		"name resolution":       {facts(exit, "socket.gaierror: [Errno -3] Temporary failure in name resolution\n"), NoNetwork, []string{"no network", "--data", "--input"}},
		"refused":               {facts(exit, "ConnectionRefusedError: [Errno 111] Connection refused\n"), NoNetwork, []string{"no network"}},
		"curl":                  {facts(exit, "curl: (6) Could not resolve host: example.org\n"), NoNetwork, []string{"download first"}},
		"host refused":          {facts(exit, "curl: (56) CONNECT tunnel failed, response 403\n", refusedHost), HostRefused, []string{"x.example.org:443 is not among"}},
		"not by the proxy":      {facts(exit, "ConnectionRefusedError: [Errno 111] Connection refused\n", func(f *Facts) { f.Ended.Analysis.AllowHosts = []string{"api.example.org"} }), NoNetwork, []string{"only api.example.org", "http_proxy"}},
		"module":                {facts(exit, "ModuleNotFoundError: No module named 'scipy.stats'\n"), ModuleMissing, []string{`Python has no module "scipy": install it on the host (apt install python3-scipy)`, "--runtime ./venv", "a module of your own: --project DIR"}},
		"module by -m":          {facts(exit, "/usr/bin/python3: No module named pytest\n"), ModuleMissing, []string{`"pytest"`}},
		"module, image":         {facts(exit, "ModuleNotFoundError: No module named 'x'\n", func(f *Facts) { f.Ended.Analysis.Rootfs = "bookworm" }), ModuleMissing, []string{"in the image or directory bookworm", "--runtime ./venv"}},
		"module, Debian":        {facts(exit, "ModuleNotFoundError: No module named 'cv2'\n"), ModuleMissing, []string{"apt install python3-opencv"}},
		"module, environment":   {facts(exit, "ModuleNotFoundError: No module named 'x'\n", environment), ModuleMissing, []string{"--runtime '/home/ada/my env'"}},
		"module, runtime":       {facts(exit, "ModuleNotFoundError: No module named 'x'\n", runtime), ModuleMissing, []string{"install it in the environment /opt/env"}},
		"module, project":       {facts(exit, "ModuleNotFoundError: No module named 'x'\n", func(f *Facts) { f.Ended.Analysis.Project = "/p" }), ModuleMissing, []string{"not next to the script"}},
		"module beside":         {facts(exit, "ModuleNotFoundError: No module named 'helper'\n", func(f *Facts) { f.Ended.Analysis.Script = tree(t, "helper.py") + "/fit.py" }), ModuleMissing, []string{"helper.py is beside the script", "--project /"}},
		"module of Perl":        {facts(exit, "Can't locate Nosuch/Mod.pm in @INC (you may need to install the Nosuch::Mod module) (@INC contains: /etc/perl) at -e line 1.\nBEGIN failed--compilation aborted at -e line 1.\n"), ModuleMissing, []string{`Perl has no module "Nosuch::Mod": install it on the host (apt install libnosuch-mod-perl)`, "--project DIR and --env PERL5LIB=/analysis"}},
		"Perl, image":           {facts(exit, "Can't locate JSON.pm in @INC at -e line 1.\n", func(f *Facts) { f.Ended.Analysis.Rootfs = "bookworm" }), ModuleMissing, []string{`"JSON": install it in the image or directory bookworm;`}},
		"package of Node.js":    {facts(exit, "Error: Cannot find module 'lodash'\nRequire stack:\n- /analysis/a.js\n"), ModuleMissing, []string{`Node.js has no package "lodash": install it with npm`, "--project DIR"}},
		"package, import":       {facts(exit, "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'lodash' imported from /analysis/a.mjs\n"), ModuleMissing, []string{`"lodash"`}},
		"Node.js, beside":       {facts(exit, "Error: Cannot find module './helper'\nRequire stack:\n- /analysis/a.js\n", func(f *Facts) { f.Ended.Analysis.Script = tree(t, "helper.js") + "/a.js" }), ModuleMissing, []string{"helper.js is beside the script", "--project /"}},
		"Node.js, imported":     {facts(exit, "Error [ERR_MODULE_NOT_FOUND]: Cannot find module '/analysis/helper.mjs' imported from /analysis/a.mjs\n", func(f *Facts) { f.Ended.Analysis.Script = tree(t, "helper.mjs") + "/a.mjs" }), ModuleMissing, []string{"helper.mjs is beside the script"}},
		"script of Node.js":     {facts(exit, "Error: Cannot find module '/work/a.js'\n    at Module._resolveFilename\n"), NoSuchFile, []string{"there is no a.js in /work"}},
		"one word":              {facts(outcome.ReasonNotFound, "", command("python3 fit.py")), ProgramMissing, []string{"no shell", "-- sh -c 'python3 fit.py'"}},
		"a pipe":                {facts(outcome.ReasonNotFound, "", command("ls | wc")), ProgramMissing, []string{"-- sh -c 'ls | wc'"}},
		"spaces of a shebang":   {facts(exit, "/usr/bin/env: ‘perl -w’: No such file or directory\n"), ProgramMissing, []string{"no program perl -w in the container"}},
		"lines of Windows":      {facts(outcome.ReasonNotFound, "", command("/inputs/mine/crlf.sh"), tools), ProgramMissing, []string{`ends as Windows ends lines`, `sed -i 's/\r$//'`}},
		"Windows, dash":         {facts(exit, "sh: 1: /inputs/mine/crlf.sh: not found\n", tools), ProgramMissing, []string{"ends as Windows ends lines"}},
		"Windows, bash":         {facts(exit, "bash: line 1: /inputs/mine/crlf.sh: cannot execute: required file not found\n", tools), ProgramMissing, []string{"ends as Windows ends lines"}},
		"Windows, env":          {facts(exit, "/usr/bin/env: ‘python3\\r’: No such file or directory\n"), ProgramMissing, []string{"ends as Windows ends lines"}},
		"no loader":             {facts(outcome.ReasonNotFound, "", command("/inputs/mine/elf"), tools), ProgramMissing, []string{"/inputs/mine/elf is in the container, but its loader is not", "--rootfs"}},
		"a pipe as a script":    {facts(outcome.ReasonNotFound, "", command("/inputs/mine/pipe"), tools), ProgramMissing, []string{"there is no program /inputs/mine/pipe in the container"}},
		"no interpreter":        {facts(outcome.ReasonNotFound, "", command("/inputs/mine/z.sh"), tools), ProgramMissing, []string{"no program /opt/none/sh, which the first line of the script names, in the container, but there is /usr/bin/sh"}},
		"input":                 {facts(exit, "EOFError: EOF when reading a line\n"), NoInput, []string{"standard input", "terminal"}},
		"no space":              {facts(exit, "OSError: [Errno 28] No space left on device\n"), NoSpace, []string{"512MiB", "/work"}},
		"other case":            {facts(exit, "cat: /data/A.CSV: No such file or directory\n", withData), PathInside, []string{"no /data/A.CSV inside, but there is /data/a.csv"}},
		"bytes full":            {facts(outcome.ReasonWorkFull, "", func(f *Facts) { f.Ended.Report.Evidence.WorkBytes = 1 }), WorkLimit, []string{"--work-size"}},
		"R package":             {facts(exit, "Error in library(zoo) : there is no package called ‘zoo’\n"), ModuleMissing, []string{`R has no package "zoo"`}},
		"notebook":              {facts(exit, "a.ipynb: Python here cannot run notebooks (No module named 'nbclient'): x\n"), NotebookPackages, []string{"ENV/bin/pip install nbclient", "--runtime ENV"}},
		"notebook, environment": {facts(exit, "a.ipynb: Python here cannot run notebooks (No module named 'nbclient'): x\n", environment), NotebookPackages, []string{"'/home/ada/my env'/bin/pip install", "--runtime '/home/ada/my env'"}},
		"python":                {facts(outcome.ReasonNotFound, "", command("definitely-not-there")), ProgramMissing, []string{"no program definitely-not-there", "--runtime"}},
		"other name":            {facts(outcome.ReasonNotFound, "", command("awk-none"), func(f *Facts) { f.Ended.Command[0] = "python"; f.Ended.Root = tree(t, "usr/bin/python3") }), ProgramMissing, []string{"no program python", "there is /usr/bin/python3"}},
		"env":                   {facts(exit, "/usr/bin/env: ‘nosuch’: No such file or directory\n"), ProgramMissing, []string{"no program nosuch"}},
		"misspelled program":    {facts(outcome.ReasonNotFound, "", command("pyhton3"), root("usr/bin/python3", "bin/sh")), ProgramMissing, []string{"there is no program pyhton3 in the container; did you mean python3? Else add --runtime DIR"}},
		"misspelled, shell":     {facts(exit, "sh: 1: rscrpt: not found\n", root("usr/local/bin/Rscript")), ProgramMissing, []string{"did you mean Rscript?"}},
		"misspelled, runtime":   {facts(outcome.ReasonNotFound, "", command("samtols"), func(f *Facts) { f.Ended.Analysis.Runtime = tree(t, "bin/samtools") }), ProgramMissing, []string{"did you mean samtools?"}},
		"other short name":      {facts(outcome.ReasonNotFound, "", command("bwa"), root("usr/bin/bw")), ProgramMissing, []string{"no program bwa in the container: add --runtime"}},
		"no root filesystem":    {facts(outcome.ReasonNotFound, "", command("true"), root("etc/hosts"), func(f *Facts) { f.Ended.Analysis.Rootfs = dir + "/empty" }), ProgramMissing, []string{"empty has no programs in /usr/bin and /bin: choose a root filesystem with --rootfs"}},
		"cd":                    {facts(outcome.ReasonNotFound, "", command("cd", "/data")), ProgramMissing, []string{`no shell reads the command, and cd is no program: run it with -- sh -c 'cd /data'`}},
		"source of bash":        {facts(outcome.ReasonNotFound, "", command("source", "env")), ProgramMissing, []string{"run it with -- bash -c 'source env'"}},
		"a command of any text": {facts(outcome.ReasonNotFound, "", command("ls | wc\n\x1b[2J"+strings.Repeat("x", 1000))), ProgramMissing, []string{"-- sh -c 'ls | wc " + strings.Repeat("x", 190) + "…"}},
		"cd of any text":        {facts(outcome.ReasonNotFound, "", command("cd", "\n\x1b[2J"+strings.Repeat("x", 1000))), ProgramMissing, []string{"xx…"}},
		"cd in one word":        {facts(outcome.ReasonNotFound, "", command("cd /data")), ProgramMissing, []string{"run it with -- sh -c 'cd /data'"}},
		"a variable":            {facts(outcome.ReasonNotFound, "", command("N=1", "python3")), ProgramMissing, []string{"set a variable with --env N=1"}},
		"sudo as command":       {facts(outcome.ReasonNotFound, "", command("sudo", "ls")), NoPrivileges, []string{"gain privileges: leave out sudo"}},
		"sudo of subprocess":    {facts(exit, trace+", in _execute_child\nFileNotFoundError: [Errno 2] No such file or directory: '/usr/bin/sudo'\n"), NoPrivileges, []string{"gain privileges: leave out sudo"}},
		"conda as command":      {facts(outcome.ReasonNotFound, "", command("conda", "install", "x")), NoPrivileges, []string{"install packages"}},
		"shell":                 {facts(exit, "/work/a.sh: 3: nosuch: not found\n"), ProgramMissing, []string{"no program nosuch"}},
		"[[ of bash":            {facts(exit, "/analysis/a.sh: 3: [[: not found\n", sh, script("if [[ 1 ]]; then :; fi\n")), BashNeeded, []string{"the script is run by sh, and uses bash", "#!/bin/bash in its first line"}},
		"source, complete":      {facts(exit, "/analysis/a.sh: 1: source: not found\n", sh, script("#!/bin/sh\nsource x\n"), state(outcome.Complete)), BashNeeded, []string{"#!/bin/bash"}},
		"function of bash":      {facts(exit, "sh: 1: Syntax error: Bad function name\n", command("sh", "-c", "my-f() { :; }")), BashNeeded, []string{"write bash instead of sh"}},
		"array of bash":         {facts(exit, "/analysis/a.sh: 1: Syntax error: \"(\" unexpected\n", sh, script("foo=(1 2)\n")), BashNeeded, []string{"the script is run by sh: if it is written for bash, write #!/bin/bash in its first line"}},
		"array, busybox":        {facts(exit, "sh: syntax error: unexpected \"(\"\n", command("sh", "-c", "foo=(1 2)")), BashNeeded, []string{"the command is run by sh: if it is written for bash, write bash instead of sh"}},
		"array, line, busybox":  {facts(exit, "/analysis/a.sh: line 1: syntax error: unexpected \"(\"\n", sh, script("foo=(1 2)\n")), BashNeeded, []string{"the script is run by sh: if"}},
		"function, braces":      {facts(exit, "sh: 1: function: not found\nsh: 1: Syntax error: \"}\" unexpected\n", command("sh", "-c", "function f {\n:\n}")), BashNeeded, []string{"the command is run by sh, and uses bash: write bash"}},
		"syntax of bash":        {facts(exit, "/analysis/a.sh: line 1: syntax error near unexpected token `('\n", script("echo (x)\n")), "", nil},
		"system of Python":      {facts(exit, "sh: 1: source: not found\n"), BashNeeded, []string{"run it with bash"}},
		"subprocess":            {facts(exit, trace+"  File \"/usr/lib/python3.11/subprocess.py\", line 1950, in _execute_child\n    raise child_exception_type(errno_num, err_msg, err_filename)\nFileNotFoundError: [Errno 2] No such file or directory: 'ffmpeg-none'\n", withData), ProgramMissing, []string{"neither a program nor a directory ffmpeg-none", "--runtime"}},
		"nvidia-smi":            {facts(exit, "sh: 1: nvidia-smi: not found\n"), NoGPU, []string{"no GPU"}},
		"nvidia-smi alone":      {facts(outcome.ReasonNotFound, "", command("nvidia-smi")), NoGPU, []string{"no GPU"}},
		"nvidia-smi of Python":  {facts(exit, trace+", in _execute_child\nFileNotFoundError: [Errno 2] No such file or directory: 'nvidia-smi'\n"), NoGPU, []string{"no GPU"}},
		"own script":            {facts(exit, "python3: can't open file '/work/a.py': [Errno 2] No such file or directory\n", command("python3", "a.py")), LocalFile, []string{"--script a.py", "/analysis/a.py"}},
		"own program":           {facts(outcome.ReasonNotFound, "", command("./tool")), LocalFile, []string{"--script ./tool", "/analysis/tool"}},
		"own script's path":     {facts(exit, "python3: can't open file '"+dir+"/a.py': [Errno 2] No such file or directory\n", command("python3", dir+"/a.py")), LocalFile, []string{"is on the host", "--script " + dir + "/a.py", "--project " + dir + " as /analysis/a.py"}},
		"named, not missing":    {facts(exit, "cat: write error\n", command("cat", "local.csv")), "", nil},
		"own file in the data":  {facts(exit, missing("deep/d.csv"), command("python3"), func(f *Facts) { f.Ended.Analysis.Data, f.Ended.HasData = dir+"/deep", true }), PathInside, []string{"deep/d.csv is /data/d.csv inside"}},
		"own file, project":     {facts(exit, "cat: ./local.csv: No such file or directory\n", command("cat"), func(f *Facts) { f.Ended.Analysis.Project = dir }), PathInside, []string{"local.csv is /analysis/local.csv inside"}},
		"own file's path":       {facts(exit, "cat: "+dir+"/local.csv: No such file or directory\n", command("cat")), LocalFile, []string{"--input " + dir + "/local.csv", "/inputs/local.csv"}},
		"own directory":         {facts(exit, "ls: cannot access 'deep': No such file or directory\n", command("ls", "deep")), LocalFile, []string{"in your directory", "--input deep", "/inputs/deep"}},
		"own directory's path":  {facts(exit, "ls: cannot access '"+dir+"/deep': No such file or directory\n", command("ls")), LocalFile, []string{"on the host", "--input " + dir + "/deep", "/inputs/deep"}},
		"own file by stderr":    {facts(exit, "FileNotFoundError: [Errno 2] No such file or directory: 'local.csv'\n", command("python3")), LocalFile, []string{"--input local.csv"}},
		"host's path":           {facts(exit, "FileNotFoundError: [Errno 2] No such file or directory: '"+data+"/a.csv'\n", withData), PathInside, []string{"is /data/a.csv inside"}},
		"below data":            {facts(exit, "cat: deep/b.csv: No such file or directory\n", withData), PathInside, []string{"no deep/b.csv inside, but there is /data/deep/b.csv"}},
		"by name":               {facts(exit, "cannot open file 'b.csv': No such file or directory\n", withData), PathInside, []string{"no b.csv inside, but there is /data/deep/b.csv"}},
		"nowhere":               {facts(exit, "cat: nowhere.csv: No such file or directory\n", withData), NoSuchFile, []string{"no nowhere.csv in /work, which is empty at the start", "--input FILE, and open /inputs/nowhere.csv"}},
		"in an empty directory": {facts(exit, missing("/data/x"), func(f *Facts) { f.Ended.Analysis.Data, f.Ended.HasData = empty, true }), NoSuchFile, []string{"/data is " + empty + " on the host, which is empty"}},
		"nowhere, Node.js":      {facts(exit, "Error: ENOENT: no such file or directory, open 'nowhere.csv'\n"), NoSuchFile, []string{"no nowhere.csv in /work"}},
		"nowhere, staged":       {facts(exit, "cat: nowhere.csv: No such file or directory\n", func(f *Facts) { f.Ended.Analysis.Stage = "/x" }), NoSuchFile, []string{"no nowhere.csv in /work: pass"}},
		"of another sandbox":    {facts(exit, missing("/mnt/data/none.csv"), withData), NoSuchFile, []string{"no /mnt/data/none.csv in the container: /data is " + data + " on the host, which has a.csv, deep, but no none.csv"}},
		"of the system":         {facts(exit, "cat: /etc/none.conf: No such file or directory\n", withData), NoSuchFile, []string{"no /etc/none.conf in the container: of the host's /etc and /var"}},
		"of the system, there":  {facts(exit, "dpkg: /var/lib/dpkg/status: No such file or directory\n", func(f *Facts) { f.Caller.Dir = dir }), LocalFile, []string{"add --input /var/lib/dpkg/status and open /inputs/status; of the host's /etc and /var", "--rootfs"}},
		"of Windows":            {facts(exit, missing(`C:\\Users\\ada\\none.csv`), withData), NoSuchFile, []string{"no C:/Users/ada/none.csv in the container: /data is "}},
		"of Windows, no data":   {facts(exit, missing(`C:\\Users\\ada\\a.csv`)), NoSuchFile, []string{"no C:/Users/ada/a.csv in the container: pass what is to be read"}},
		"of Windows, found":     {facts(exit, missing(`C:\\Users\\ada\\a.csv`), withData), PathInside, []string{"there is /data/a.csv"}},
		"input file":            {facts(exit, "cat: a.csv: No such file or directory\n", func(f *Facts) { f.Ended.Analysis.Inputs = []string{data + ":/inputs/mine"} }), PathInside, []string{"/inputs/mine/a.csv"}},
		"read or written":       {facts(exit, missing("results/a/x.csv")), NoSuchFile, []string{"there is no results/a/x.csv in /work, which is empty at the start: to write it", `os.makedirs("results/a", exist_ok=True)`}},
		"in /work":              {facts(exit, missing("/work/results/c.csv")), NoSuchFile, []string{"no results/c.csv in /work", `("results",`}},
		"in a workdir":          {facts(exit, missing("/job/results/x.csv"), workdir), NoSuchFile, []string{"no results/x.csv in /job, which is empty"}},
		"of staged files":       {facts(exit, missing("results/x.csv"), func(f *Facts) { f.Ended.Analysis.Stage = "/s" }), NoSuchFile, []string{"no results/x.csv: to write it"}},
		"elsewhere":             {facts(exit, missing("/home/ada/c.csv")), NoSuchFile, []string{"no /home/ada/c.csv in the container", "--data DIR", "write to the current directory, /work"}},
		"below no data":         {facts(exit, missing("data/c.csv")), NoData, []string{"this run has no /data: pass a directory with --data DIR", `to write data/c.csv, first create its directory, with os.makedirs("data"`}},
		"new in the data":       {facts(exit, missing("data/new/c.csv"), withData), NoSuchFile, []string{"/data is " + data + " on the host, which has a.csv, deep, but no new"}},
		"README":                {facts(exit, trace+"    for line in open(\"/data/all.txt\"):\nFileNotFoundError: [Errno 2] No such file or directory: '/data/all.txt'\n", script("open('/data/all.txt')\nopen('x.csv', 'w').write('')\n")), NoData, []string{"this run has no /data: pass a directory with --data DIR"}},
		"bash":                  {facts(exit, "bash: line 1: results/x: No such file or directory\n"), NoSuchFile, []string{"no results/x in /work", "mkdir -p results"}},
		"dash":                  {facts(exit, "sh: 1: cannot open results/y: No such file\n"), NoSuchFile, []string{"no results/y in /work", "mkdir -p results"}},
		"head":                  {facts(exit, "head: cannot open '/data/none' for reading: No such file or directory\n"), NoData, []string{"--data DIR"}},
		"awk":                   {facts(exit, "awk: cannot open /data/none (No such file or directory)\n"), NoData, []string{"--data DIR"}},
		"R":                     {facts(exit, "Error in file(file, ifelse(append, \"a\", \"w\")) : \n  cannot open the connection\nIn addition: Warning message:\n  cannot open file 'results/x': No such file or directory\nExecution halted\n"), NoSuchFile, []string{"no results/x in /work", `dir.create("results", recursive = TRUE)`}},
		"R without a reason":    {facts(exit, "Error in plot.new() : could not open file 'results/x.png'\nExecution halted\n"), "", nil},
		"written by pandas":     {facts(exit, trace+"OSError: Cannot save file into a non-existent directory: 'results'\n"), NoDirectory, []string{`os.makedirs("results"`}},
		"written by sh":         {facts(exit, "sh: 1: cannot create results/x: Directory nonexistent\n"), NoDirectory, []string{"mkdir -p results"}},
		"written by cp":         {facts(exit, "cp: cannot create regular file 'my results/x': No such file or directory\n"), NoDirectory, []string{"mkdir -p 'my results'"}},
		"mkdir":                 {facts(exit, "mkdir: cannot create directory ‘a/b’: No such file or directory\n"), NoDirectory, []string{"mkdir -p a/b"}},
		"sys.argv":              {facts(exit, trace+"  File \"/analysis/a.py\", line 1, in <module>\n    print(sys.argv[1])\n          ~~~~~~~~^^^\nIndexError: list index out of range\n", script("")), ArgumentsMissing, []string{"the script got no arguments", "after --, as in --script FILE -- ARG", "args: [ARG]"}},
		"sys.argv, some":        {facts(exit, trace+"    a = sys.argv[2]\nIndexError: list index out of range\n", script(""), func(f *Facts) { f.Ended.Analysis.Args = []string{"a b"} }), ArgumentsMissing, []string{"got only the argument 'a b', and wants more: add them at the end"}},
		"another list":          {facts(exit, trace+"    a = values[2]\nIndexError: list index out of range\n", script("")), "", nil},
		"a list by argv":        {facts(exit, trace+"    a = values[int(sys.argv[1])]\nIndexError: list index out of range\n", script(""), func(f *Facts) { f.Ended.Analysis.Args = []string{"9"} }), "", nil},
		"argparse":              {facts(exit, "usage: a.py [-h] file\na.py: error: the following arguments are required: file\n", command("python3", "/analysis/b.py")), ArgumentsMissing, []string{"end of the command, after --"}},
		"$1 of bash":            {facts(exit, "/analysis/a.sh: line 2: $1: unbound variable\n", script("")), ArgumentsMissing, []string{"after --"}},
		"$1 of sh":              {facts(exit, "/analysis/a.sh: 2: 1: parameter not set\n", script("")), ArgumentsMissing, []string{"after --"}},
		"commandArgs of R":      {facts(exit, "Error in args[[1]] : subscript out of bounds\nExecution halted\n", script("")), ArgumentsMissing, []string{"after --"}},
		"chdir to the data":     {facts(exit, missing(data+"/deep"), withData), PathInside, []string{data + "/deep is /data/deep inside"}},
		"setwd":                 {facts(exit, "Error in setwd(\"/home/ada/\") : cannot change working directory\nExecution halted\n"), ChangesDirectory, []string{"no directory /home/ada in", "/work"}},
		"setwd of a variable":   {facts(exit, "Error in setwd(base) : cannot change working directory\nExecution halted\n"), ChangesDirectory, []string{"directory of setwd()", "/work"}},
		"cd of sh":              {facts(exit, "sh: 1: cd: can't cd to /home/ada\n"), ChangesDirectory, []string{"no directory /home/ada in"}},
		"cd of bash":            {facts(exit, "bash: line 1: cd: /home/ada: No such file or directory\n"), ChangesDirectory, []string{"no directory /home/ada in"}},
		"install.packages":      {facts(exit, "Error in install.packages(\"zoo\") : \n  unable to install packages\nExecution halted\n"), NoPrivileges, []string{"install packages"}},
		"not available":         {facts(exit, "Warning message:\npackage ‘zoo’ is not available for this version of R\nError in library(zoo) : there is no package called ‘zoo’\nExecution halted\n"), NoPrivileges, []string{"install packages"}},
		"no mirror":             {facts(exit, "Error in contrib.url(repos, type) : \n  trying to use CRAN without setting a mirror\nExecution halted\n"), NoPrivileges, []string{"install packages"}},
		"TkAgg":                 {facts(exit, trace+"  File \"/usr/lib/python3/dist-packages/matplotlib/pyplot.py\", line 273\nImportError: Cannot load backend 'TkAgg' which requires the 'tk' interactive framework, as 'headless' is currently running\n"), NoDisplay, []string{"no display", `"Agg"`, `savefig("name.png")`}},
		"tkinter":               {facts(exit, "_tkinter.TclError: no display name and no $DISPLAY environment variable\n"), NoDisplay, []string{"no display: write figures to files"}},
		"X11 of R":              {facts(exit, "In X11() : unable to open connection to X11 display ''\nExecution halted\n"), NoDisplay, []string{"no display"}},
		"shown, warning":        {facts(exit, "a.py:3: UserWarning: FigureCanvasAgg is non-interactive, and thus cannot be shown\n", state(outcome.Complete)), NoDisplay, []string{"savefig"}},
		"shown, with outputs":   {facts(exit, "", state(outcome.Complete), script("plt.show()\n"), func(f *Facts) { f.Outputs = 1 }), "", nil},
		"pip":                   {facts(exit, "error: externally-managed-environment\nhint: See PEP 668 for the detailed specification.\n"), NoPrivileges, []string{"cannot install packages", "--runtime DIR", "--rootfs"}},
		"pip, no network":       {facts(exit, "WARNING: Retrying: Temporary failure in name resolution\nERROR: No matching distribution found for numpy\n"), NoPrivileges, []string{"--runtime DIR"}},
		"apt":                   {facts(exit, "E: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n"), NoPrivileges, []string{"install packages"}},
		"apt, its lock":         {facts(exit, "E: Could not open lock file /var/lib/dpkg/lock-frontend - open (2: No such file or directory)\nE: Unable to acquire the dpkg frontend lock (/var/lib/dpkg/lock-frontend), are you root?\n"), NoPrivileges, []string{"install packages"}},
		"apt, its lists":        {facts(exit, "E: List directory /var/lib/apt/lists/partial is missing. - Acquire (2: No such file or directory)\n"), NoPrivileges, []string{"install packages"}},
		"a sentence":            {facts(exit, "Warning: the file of yesterday: No such file or directory\n"), "", nil},
		"a sentence's file":     {facts(exit, "jq: error: Could not open file results/x: No such file or directory\n"), NoSuchFile, []string{"there is no results/x in /work"}},
		"sort":                  {facts(exit, "sort: cannot read: results/x: No such file or directory\n"), NoSuchFile, []string{"there is no results/x in /work"}},
		"sudo":                  {facts(exit, "sudo: The \"no new privileges\" flag is set, which prevents sudo from running as root.\n"), NoPrivileges, []string{"gain privileges: leave out sudo"}},
		"no sudo":               {facts(exit, "sh: 1: sudo: not found\n"), NoPrivileges, []string{"gain privileges: leave out sudo"}},
		"a file of root":        {facts(exit, "PermissionError: [Errno 13] Permission denied: '/etc/shadow'\n"), NoPrivileges, []string{"gain privileges: leave out sudo"}},
		"file of an image":      {facts(exit, "cat: /etc/none-of-it/policy.xml: No such file or directory\n", func(f *Facts) { f.Ended.Analysis.Rootfs = "bookworm" }), NoSuchFile, []string{"pass what is to be read with --data DIR"}},
		"no data":               {facts(exit, "FileNotFoundError: [Errno 2] No such file or directory: '/data/a.csv'\n"), NoData, []string{"this run has no /data", "--data DIR"}},
		"no docs":               {facts(exit, "cat: docs/a.txt: No such file or directory\n", withData), NoData, []string{"this run has no /docs", "--docs DIR"}},
		"not in the data":       {facts(exit, "cat: /data/none.csv: No such file or directory\n", withData), NoSuchFile, []string{"/data is " + data + " on the host, which has a.csv, deep, but no none.csv"}},
		"readRDS":               {facts(exit, "Error in gzfile(file, \"rb\") : cannot open the connection\n  cannot open compressed file '/data/none.rds', probable reason 'No such file or directory'\nExecution halted\n", withData), NoSuchFile, []string{"but no none.rds"}},
		"misspelled":            {facts(exit, "FileNotFoundError: [Errno 2] No such file or directory: 'data/deep/bb.csv'\n", withData, func(f *Facts) { f.Caller.Dir = filepath.Dir(data) }), NoSuchFile, []string{"/data/deep is " + filepath.Base(data) + "/deep on the host, which has b.csv, but no bb.csv"}},
		"in no directory":       {facts(exit, "cat: /data/raw/x/none.csv: No such file or directory\n", withData), NoSuchFile, []string{"/data is ", "has a.csv, deep, but no raw"}},
		"not among inputs":      {facts(exit, "cat: /inputs/none.csv: No such file or directory\n", func(f *Facts) { f.Ended.Analysis.Inputs = []string{data + ":/inputs/mine"} }), NoSuchFile, []string{"/inputs has mine, but no none.csv", "--input FILE"}},
		"not in an input":       {facts(exit, "cat: /inputs/mine/none.csv: No such file or directory\n", func(f *Facts) { f.Ended.Analysis.Inputs = []string{data + ":/inputs/mine"} }), NoSuchFile, []string{"/inputs/mine is " + data + " on the host"}},
		"no inputs":             {facts(exit, "cat: /inputs/none.csv: No such file or directory\n"), NoSuchFile, []string{"this run has no /inputs", "--input FILE"}},
		"out of the data":       {facts(exit, "cat: /data/out/x: No such file or directory\n", inLinked), NoSuchFile, []string{"/data/out is a link to " + data + ", which the analysis does not see: add --input " + data + " and open /inputs/" + filepath.Base(data) + "/x"}},
		"by a relative link":    {facts(exit, "cat: /data/rel/x: No such file or directory\n", inLinked), NoSuchFile, []string{"/data/rel is a link to " + data + ",", "add --input " + data + " "}},
		"by a dangling link":    {facts(exit, "cat: /data/none: No such file or directory\n", inLinked), NoSuchFile, []string{"/data/none is a link that leads nowhere on the host either"}},
		"by its whole path":     {facts(exit, "cat: /data/whole: No such file or directory\n", inLinked), NoSuchFile, []string{"which is /data/deep/f inside: open /data/deep/f"}},
		"permission":            {facts(exit, denied("/data/mine"), rights), Unreadable, []string{"/data/mine cannot be read by the analysis' user id", "chmod -R o+rX " + closed, "--ids self"}},
		"permission, R":         {facts(exit, "  cannot open file '/data/mine': Permission denied\nExecution halted\n", rights), Unreadable, []string{"/data/mine cannot be read"}},
		"permission, cat":       {facts(exit, "cat: /data/mine: Permission denied\n", rights), Unreadable, []string{"/data/mine cannot be read"}},
		"permission, directory": {facts(exit, "ls: cannot open directory '/data/dir': Permission denied\n", rights), Unreadable, []string{"/data/dir cannot be read"}},
		"permission as root":    {facts(exit, denied("data/mine"), rights, func(f *Facts) { f.Caller.Root = true }), Unreadable, []string{"chmod -R o+rX " + closed}},
		"permission as self":    {facts(exit, denied("/data/none"), rights, func(f *Facts) { f.Ended.Report.Sandbox.IDs = "self" }), Unreadable, []string{"/data/none cannot be read by "}},
		"not executable":        {facts(outcome.ReasonNotInvocable, "", rights, command("/data/open")), Unreadable, []string{"/data/open can only be read: to execute it, type chmod a+x " + closed + "/open"}},
		"not executable, sh":    {facts(exit, "sh: 1: /data/open: Permission denied\n", rights), Unreadable, []string{"chmod a+x " + closed + "/open"}},
		"written by netCDF":     {facts(exit, denied("/data/new.nc"), rights), ReadOnly, []string{"/data/new.nc cannot be written: write to the current directory, /work"}},
		"written by HDF5":       {facts(exit, "FileNotFoundError: [Errno 30] Unable to synchronously create file (unable to open file: name = '/data/x.h5', errno = 30, error message = 'Read-only file system', flags = 15)\n"), ReadOnly, []string{"/data/x.h5 cannot be written"}},
		"read-only, R":          {facts(exit, "  cannot open file '/data/out.csv': Read-only file system\nExecution halted\n"), ReadOnly, []string{"/data/out.csv cannot be written"}},
		"read-only, sh":         {facts(exit, "sh: 1: cannot create /data/y: Read-only file system\n"), ReadOnly, []string{"/data/y cannot be written"}},
		"read-only, cp":         {facts(exit, "cp: cannot create regular file '/data/y.csv': Read-only file system\n"), ReadOnly, []string{"/data/y.csv cannot be written"}},
		"permission elsewhere":  {facts(exit, "PermissionError: [Errno 13] Permission denied: '/proc/kcore'\n"), "", nil},
		"read-only":             {facts(exit, "OSError: [Errno 30] Read-only file system: '/data/out.csv'\n"), ReadOnly, []string{"/data/out.csv cannot be written", "/work"}},
		"read-only, workdir":    {facts(exit, "OSError: [Errno 30] Read-only file system: '/data/out.csv'\n", workdir), ReadOnly, []string{"current directory, /job,"}},
		"read-only, SQLite":     {facts(exit, "sqlite3.OperationalError: unable to open database file\n"), ReadOnly, []string{"SQLite needs a database", "the current one, /work", "immutable=1"}},
		"written, SQLite":       {facts(exit, "Error: stepping, attempt to write a readonly database (8)\n"), ReadOnly, []string{"SQLite"}},
		"pdf of R":              {facts(exit, "Error in pdf(\"/data/x.pdf\") : cannot open file '/data/x.pdf'\nExecution halted\n", withData), ReadOnly, []string{"/data/x.pdf cannot be written"}},
		"pdf of R, elsewhere":   {facts(exit, "Error in pdf(\"none/x.pdf\") : cannot open file 'none/x.pdf'\nExecution halted\n", withData), "", nil},
		"renamed":               {facts(exit, "OSError: [Errno 18] Invalid cross-device link: '/tmp/a' -> '/work/b.csv'\n"), CrossDevice, []string{"copy it", "shutil.move"}},
		"renamed, Node.js":      {facts(exit, "Error: EXDEV: cross-device link not permitted, rename '/tmp/x' -> '/work/x'\n"), CrossDevice, []string{"copy it"}},
		"crash":                 {facts(outcome.ReasonSignal, "", signal("SIGSEGV")), Crashed, []string{"crashed (SIGSEGV)", "--env PYTHONFAULTHANDLER=1"}},
		"crash in a shell":      {facts(exit, "Segmentation fault\n", func(f *Facts) { f.Outcome.ExitCode = 139 }), Crashed, []string{"crashed (SIGSEGV)"}},
		"wrong processor":       {facts(outcome.ReasonSignal, "", signal("SIGILL")), Crashed, []string{"instructions that this processor does not have"}},
		"killed":                {facts(outcome.ReasonSignal, "", signal("SIGKILL"), byItself), Crashed, []string{"no limit of the run", "perhaps a process of the analysis killed it"}},
		"killed, best effort":   {facts(outcome.ReasonSignal, "", signal("SIGKILL"), byItself, bestEffort), Crashed, []string{"the host may have been out of memory"}},
		"killed, outer limits":  {facts(outcome.ReasonSignal, "", signal("SIGKILL"), byItself, func(f *Facts) { f.Ended.Outer = true }), Crashed, []string{"the host may have been out of memory"}},
		"killed from outside":   {facts(outcome.ReasonSignal, "", signal("SIGKILL")), "", nil},
		"started by another":    {facts(exit, "timeout: failed to run command ‘samtools’: No such file or directory\n", func(f *Facts) { f.Outcome.ExitCode = 127 }), "", nil},
		"terminated":            {facts(outcome.ReasonSignal, "", signal("SIGTERM")), "", nil},
		"a code above signals":  {facts(exit, "", func(f *Facts) { f.Outcome.ExitCode = 255 }), "", nil},
		"kernel died":           {facts(exit, "a.ipynb: cell 1 of 1: Kernel died\n"), Crashed, []string{"the notebook's Python died in that cell"}},
		"input of a notebook":   {facts(exit, "StdinNotImplementedError: raw_input was called, but this frontend does not support input requests.\n"), NoInput, []string{"a notebook in a run has nobody to ask"}},
		"Parquet of pandas":     {facts(exit, "ImportError: Unable to find a usable engine; tried using: 'pyarrow', 'fastparquet'.\n"), ModuleMissing, []string{`no module "pyarrow": install it in a venv and add --runtime ./venv`}},
		"Excel of pandas":       {facts(exit, "ImportError: Missing optional dependency 'openpyxl'.  Use pip or conda to install openpyxl.\n"), ModuleMissing, []string{"apt install python3-openpyxl"}},
		"memory, Java":          {facts(exit, "# There is insufficient memory for the Java Runtime Environment to continue.\n", bestEffort), MemoryLimit, []string{"under best effort", "--memory"}},
		"memory, Node.js":       {facts(outcome.ReasonSignal, "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n", signal("SIGABRT")), MemoryLimit, []string{"--memory"}},
		"nothing written":       {facts(outcome.ReasonOutputMissing, ""), OutputMissing, []string{"wrote nothing"}},
		"other outputs":         {facts(outcome.ReasonOutputMissing, "", func(f *Facts) { f.Listed = []string{"a", "b", "c", "d"} }), OutputMissing, []string{"wrote a, b, c and 1 more"}},
		"nothing exported":      {facts(exit, "", state(outcome.Complete), export), NothingExported, []string{"left nothing to export in /work", "only scidex-result.json"}},
		"exported":              {facts(exit, "", state(outcome.Complete), export, func(f *Facts) { f.Outputs = 1 }), "", nil},
		"failed, not exported":  {facts(exit, "ValueError: x\n", export), "", nil},
		"files lost":            {facts(exit, "", state(outcome.Complete), scratch("/tmp/plot.png", "/home/analysis/out/a.csv")), FilesLost, []string{"/home/analysis/out/a.csv, /tmp/plot.png", "only what is written to /work"}},
		"temporary files":       {facts(exit, "", state(outcome.Complete), scratch("/tmp/tmpabc12345/x", "/tmp/Rtmp7s/x", "/tmp/tmp.Xy12Qw90ab")), "", nil},
		"log":                   {facts(exit, "", state(outcome.Complete), func(f *Facts) { f.Logs.Stdout = result.Log{Bytes: 5 << 20, Truncated: true} }), LogTruncated, []string{"the first 1MiB of 5MiB", "--log-size"}},
		"memory of the host":    {facts(exit, "", state(outcome.Complete), func(f *Facts) { f.Host.Memory = 1 << 29 }), AboveHost, []string{"--memory 1GiB", "512MiB"}},
		"CPUs of the host":      {facts(exit, "", state(outcome.Complete), func(f *Facts) { f.Host.CPUs, f.Ended.Analysis.CPUs = 2, 16 }), AboveHost, []string{"--cpus 16", "2"}},
	} {
		t.Run(name, func(t *testing.T) {
			covered[c.code] = true
			check(t, Of(c.facts), c.code, c.parts)
		})
	}
	for _, code := range codes() {
		if !covered[code] {
			t.Errorf("no case has %s", code)
		}
	}
}

// TestRefusals: the name is found in what each kind of program prints, whatever the error.
func TestRefusals(t *testing.T) {
	for _, r := range refusals {
		t.Run(r.programs, func(t *testing.T) {
			check(t, Of(facts(outcome.ReasonExit, r.example+"\n")), ReadOnly, []string{"/data/x cannot be written"})
			for _, words := range []string{"No such file or directory", "Permission denied"} {
				text := strings.NewReplacer("Read-only file system", words, "read-only file system", strings.ToLower(words)).Replace(r.example)
				f := facts(outcome.ReasonExit, text+"\n")
				if got := f.find(pattern(`(?m)` + failedWith(words))); got != "/data/x" {
					t.Errorf("%q names %q", text, got)
				}
			}
		})
	}
}

func codes() (codes []string) {
	for _, r := range rules {
		codes = append(codes, r.code)
	}
	return codes
}

// forOperators matches what only those can do who can set the flags of a run or change the host.
var forOperators = regexp.MustCompile(`--[a-z]|\b(?:apt|pip|chmod|scidex-oci)\b|on the host|your (?:directory|active)|its owner|a pipe|this processor|kernel log`)

func check(t *testing.T, got []result.Hint, code string, parts []string) {
	t.Helper()
	if code == "" && len(got) == 0 {
		return
	}
	if len(got) != 1 || got[0].Code != code {
		t.Fatalf("hints %q, want %q", got, code)
	}
	if named := forOperators.FindString(got[0].Message); named != "" && !NamesFlags(code) {
		t.Errorf("%q names %q", got[0].Message, named)
	}
	for _, part := range parts {
		if !strings.Contains(got[0].Message, part) {
			t.Errorf("%q lacks %q", got[0].Message, part)
		}
	}
}

// A search looks at a bounded number of entries, whatever the directory has.
func TestSearchIsBounded(t *testing.T) {
	var names []string
	for i := range 30 {
		names = append(names, fmt.Sprint(i))
	}
	b, found := shownDir{tree(t, names...), "/data"}, 0
	for _, name := range names {
		if _, ok := b.search(name, 20); ok {
			found++
		}
	}
	if found != 20 {
		t.Errorf("a search of 20 entries finds %d names", found)
	}
}

func TestOfRefusal(t *testing.T) {
	if got := OfRefusal(&request.Error{Err: &request.HostError{Err: errors.New("no group")}}); len(got) != 1 || got[0].Code != Doctor {
		t.Errorf("%v", got)
	}
	if got := OfRefusal(&request.Error{Err: errors.New("no flag")}); got != nil {
		t.Errorf("%v", got)
	}
}

// Each code has a row in docs/reference/hints.md, and no other has.
func TestCodesAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/hints.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if code, _, ok := strings.Cut(strings.TrimPrefix(line, "| `"), "`"); ok && strings.HasPrefix(line, "| `") {
			documented[code] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(documented)), slices.Sorted(slices.Values(codes())); !slices.Equal(got, want) {
		t.Errorf("docs/reference/hints.md has %q, want %q", got, want)
	}
}

// refusedHost is a run whose proxy has refused a request, after one that it passed on.
func refusedHost(f *Facts) {
	f.Ended.Report.Requests = &result.Requests{Total: 2, Refused: 1, List: []result.Request{
		{Host: "api.example.org", Verdict: result.RequestAllowed},
		{Host: "x.example.org", Verdict: result.RequestRefused, Why: "x.example.org:443 is not among the hosts"},
	}}
}
