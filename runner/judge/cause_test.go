package judge

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCause(t *testing.T) {
	const python = "Traceback (most recent call last):\n  File \"/work/a.py\", line 3, in <module>\n    f()\n    ^^^\n"
	for name, c := range map[string]struct{ stderr, want string }{
		"nothing":             {"", ""},
		"blank":               {"\n \n\x1b[0m\n", ""},
		"last line":           {"reading\ncat: x: No such file or directory\n", "cat: x: No such file or directory"},
		"no newline":          {"a\nb", "b"},
		"Python":              {python + "ValueError: bad\n", "ValueError: bad"},
		"Python, many lines":  {python + "ValueError: bad\nmore of it\nand more\n", "ValueError: bad"},
		"Python, chained":     {python + "KeyError: 1\n\nDuring handling of the above exception, another exception occurred:\n\n" + python + "ValueError: bad\n", "ValueError: bad"},
		"Python, then output": {python + "ValueError: bad\nsys:1: ResourceWarning: unclosed file\n", "ValueError: bad"},
		"Python, cut short":   {"Traceback (most recent call last):\n  File \"/work/a.py\"\n", "File \"/work/a.py\""},
		"Python, syntax":      {"  File \"/work/a.py\", line 1\n    x =\n       ^\nSyntaxError: invalid syntax\n", "SyntaxError: invalid syntax"},
		"R":                   {"Error in f(1) : no such thing\nCalls: f\nExecution halted\n", "Error in f(1) : no such thing"},
		"R, broken":           {"Error in library(zoo) :\n  there is no package called ‘zoo’\nExecution halted\n", "Error in library(zoo) : there is no package called ‘zoo’"},
		"R, file":             {"Error in file(file, \"rt\") : cannot open the connection\nCalls: read.csv -> read.table -> file\nIn addition: Warning message:\nIn file(file, \"rt\") :\n  cannot open file '/data/nope.csv': No such file or directory\nExecution halted\n", `Error in file(file, "rt") : cannot open the connection: cannot open file '/data/nope.csv': No such file or directory`},
		"R, file, broken":     {"Error in gzfile(file, \"rb\") : \n  cannot open the connection\nIn addition: Warning message:\nIn gzfile(file, \"rb\") :\n  cannot open compressed file 'x.rds', probable reason 'No such file or directory'\nExecution halted\n", `Error in gzfile(file, "rb") : cannot open the connection: cannot open compressed file 'x.rds', probable reason 'No such file or directory'`},
		"R, no file":          {"Error in file(x) : cannot open the connection\nExecution halted\n", "Error in file(x) : cannot open the connection"},
		"Julia":               {"ERROR: LoadError: DomainError\nStacktrace:\n [1] sqrt\nin expression starting at a.jl:1\n", "ERROR: LoadError: DomainError"},
		"no Julia":            {"ERROR: trying again\nfatal: gave up\n", "fatal: gave up"},
		"Node.js":             {"node:fs:573\n  return binding.open(\n         ^\n\nError: EROFS: read-only file system, open '/data/x'\n    at Object.openSync (node:fs:573:18) {\n  errno: -30,\n  path: '/data/x'\n}\n\nNode.js v20.20.2\n", "Error: EROFS: read-only file system, open '/data/x'"},
		"Node.js, a text":     {"[eval]:1\nthrow \"text\"\n^\ntext\n(Use `node --trace-uncaught ...` to show where the exception was thrown)\n\nNode.js v20.20.2\n", "text"},
		"Node.js, nothing":    {"^\nNode.js v20.20.2\n", "Node.js v20.20.2"},
		"Java":                {"Exception in thread \"main\" java.lang.IllegalStateException: bad thing\n\tat C.main(C.java:1)\n", `Exception in thread "main" java.lang.IllegalStateException: bad thing`},
		"Java, its cause":     {"Exception in thread \"main\" java.lang.RuntimeException: outer\n\tat D.main(D.java:1)\nCaused by: java.lang.IllegalStateException: inner\n\tat D.main(D.java:1)\n\t... 1 more\n", "Caused by: java.lang.IllegalStateException: inner"},
		"Java, compiled":      {"X.java:1: error: illegal start of expression\npublic class X { int a = ; }\n                         ^\n1 error\nerror: compilation failed\n", "X.java:1: error: illegal start of expression"},
		"Perl":                {"bad thing at a.pl line 1.\n\tmain::f(1) called at a.pl line 2\n", "bad thing at a.pl line 1."},
		"only a trace":        {"\tat C.main(C.java:1)\n", "at C.main(C.java:1)"},
		"pip":                 {"error: externally-managed-environment\n\nnote: x\nhint: See PEP 668\n", "error: externally-managed-environment"},
		"advice alone":        {"failed\nhint: try again\n", "hint: try again"},
		"notebook":            {python + "ValueError: bad\n\na.ipynb: cell 2 of 5: ValueError: bad\n", "a.ipynb: cell 2 of 5: ValueError: bad"},
		"dd":                  {"dd: error writing '/tmp/big': No space left on device\n1025+0 records in\n1024+0 records out\n1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.2 s, 487 MB/s\n", "dd: error writing '/tmp/big': No space left on device"},
		"dd of busybox":       {"dd: error writing '/dev/full': No space left on device\n1+0 records in\n0+0 records out\n0 bytes (0B) copied, 0.000059 seconds, 0B/s\n", "dd: error writing '/dev/full': No space left on device"},
		"dd that succeeded":   {"1+0 records in\n1+0 records out\n1 byte copied, 0.1 s, 0.0 kB/s\n", "1 byte copied, 0.1 s, 0.0 kB/s"},
		"time of bash":        {"ls: cannot access 'x': No such file or directory\n\nreal\t0m0.016s\nuser\t0m0.001s\nsys\t0m0.000s\n", "ls: cannot access 'x': No such file or directory"},
		"time of sh":          {"x: bad\nreal\t0m 0.00s\nuser\t0m 0.00s\nsys\t0m 0.00s\n", "x: bad"},
		"time -p":             {"x: bad\nreal 0.00\nuser 0.00\nsys 0.00\n", "x: bad"},
		"time of GNU":         {"x: bad\nCommand exited with non-zero status 2\n0.00user 0.00system 0:00.00elapsed 50%CPU (0avgtext+0avgdata 2304maxresident)k\n0inputs+0outputs (0major+98minor)pagefaults 0swaps\n", "x: bad"},
		"time -v of GNU":      {"x: bad\nCommand exited with non-zero status 2\n\tCommand being timed: \"ls x\"\n\tExit status: 2\n", "x: bad"},
		"time, killed":        {"x: bad\nCommand terminated by signal 9\n0.00user 0.00system 0:00.00elapsed 50%CPU (0avgtext+0avgdata 2304maxresident)k\n0inputs+0outputs (0major+98minor)pagefaults 0swaps\n", "x: bad"},
		"tar":                 {"tar: x: Cannot open: No such file or directory\ntar: Error is not recoverable: exiting now\n", "tar: x: Cannot open: No such file or directory"},
		"tar, some":           {"tar: x: Cannot stat: No such file or directory\ntar: Exiting with failure status due to previous errors\n", "tar: x: Cannot stat: No such file or directory"},
		"tar -z":              {"gzip: stdin: not in gzip format\ntar: Child returned status 1\ntar: Error is not recoverable: exiting now\n", "gzip: stdin: not in gzip format"},
		"make":                {"a.c:1:1: error: unknown type name 'x'\nmake: *** [Makefile:2: all] Error 1\nmake: *** [Makefile:1: sub] Error 2\n", "a.c:1:1: error: unknown type name 'x'"},
		"make, a silent rule": {"make: *** [Makefile:2: all] Error 1\n", "make: *** [Makefile:2: all] Error 1"},
		"xargs":               {"sh: bad\nxargs: sh: exited with status 255; aborting\n", "sh: bad"},
		"gcc":                 {"cc1: fatal error: x.c: No such file or directory\ncompilation terminated.\n", "cc1: fatal error: x.c: No such file or directory"},
		"gcc, an excerpt":     {"x.c: In function ‘main’:\nx.c:1:19: error: ‘y’ undeclared\n    1 | int main(){return y;}\n      |                   ^\nmake: *** [Makefile:2: all] Error 1\n", "x.c:1:19: error: ‘y’ undeclared"},
		"ld":                  {"/usr/bin/ld: cannot find -lx: No such file or directory\ncollect2: error: ld returned 1 exit status\n", "/usr/bin/ld: cannot find -lx: No such file or directory"},
		"Perl, a module":      {"Can't locate Foo.pm in @INC at -e line 1.\nBEGIN failed--compilation aborted at -e line 1.\n", "Can't locate Foo.pm in @INC at -e line 1."},
		"Perl, a script":      {"syntax error at a.pl line 1, near \"x\"\nExecution of a.pl aborted due to compilation errors.\n", "syntax error at a.pl line 1, near \"x\""},
		"figures of Python":   {"1+0 records in\n" + python + "ValueError: bad\nreal 0.1\n", "ValueError: bad"},
		"progress bar":        {"10%\r50%\r100% done\n", "100% done"},
		"colours":             {"\x1b[31mfatal\x1b[0m: x\n", "fatal: x"},
	} {
		if got := Cause(c.stderr); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// FuzzCause: whatever an analysis writes, a message gets one short printable line of it.
func FuzzCause(f *testing.F) {
	f.Add("Traceback (most recent call last):\n  x\nE: \x1b[31m\u202e\xff\r\n")
	f.Fuzz(func(t *testing.T, stderr string) {
		got := Cause(stderr)
		if utf8.RuneCountInString(got) > causeMax || strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("%q", got)
		}
	})
}
