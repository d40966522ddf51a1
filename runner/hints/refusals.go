package hints

import "strings"

// refusals are the forms in which programs say that the kernel refused a file. ERROR stands for the kernel's words, NAME for
// the file in quotes, BARE and WORD for one that has none, SAYS for how a sentence before it begins. A WORD has no spaces: of
// other sentences, such as apt's, nothing is taken for a file. None says whether the file was to be read or written; only the
// error does. The examples are what the programs printed when they were to write to /data.
var refusals = []struct{ programs, form, example string }{
	{"Python", `ERROR: 'NAME'`, "OSError: [Errno 30] Read-only file system: '/data/x'"},
	{"HDF5", `name = 'NAME', errno = \d+, error message = 'ERROR'`, "OSError: [Errno 30] Unable to create file (unable to open file: name = '/data/x', errno = 30, error message = 'Read-only file system', flags = 13, o_flags = 242)"},
	{"Node.js", `(?i:ERROR), \w+ 'NAME'`, "Error: EROFS: read-only file system, open '/data/x'"},
	{"shells", `^[\w./-]+: (?:line )?\d+: (?:cannot \w+ )?BARE: ERROR`, "sh: 1: cannot create /data/x: Read-only file system"},
	{"cp, rm, gzip", `^[\w./-]+: (?:(?:fatal )?error: )?(?:SAYS[^:\n'‘"]*:? )?(?:['‘"]BARE['’"]|WORD)(?: for \w+)?(?:: | \()ERROR`, "cp: cannot create regular file '/data/x': Read-only file system"},
	{"sort", ``, "sort: open failed: /data/x: Read-only file system"},
	{"ld", ``, "/usr/bin/ld: cannot open output file /data/x: Read-only file system"},
	{"gcc", ``, "cc1: fatal error: cannot open ‘/data/x’ for writing: Read-only file system"},
	{"bzip2, sed", ``, "sed: can't read /data/x: Read-only file system"},
	{"mawk", ``, `mawk: cannot open "/data/x" for output (Read-only file system)`},
	{"tar", `^tar(?: \(child\))?: BARE: Cannot \w+: ERROR`, "tar (child): /data/x: Cannot open: Read-only file system"},
	{"sed", `temporary file BARE/sed\w+: ERROR`, "sed: couldn't open temporary file /data/x/sedUz0Z4Z: Read-only file system"},
	{"R, git, ln, mv", "[`'‘]NAME['’](?: for \\w+)?(?:: '?|, (?:probable )?reason ')(?:\\[Errno \\d+\\] )?ERROR", "fatal: could not create work tree dir '/data/x': Read-only file system"},
	{"gawk", ``, "gawk: cmd. line:1: (FILENAME=/data/a.csv FNR=1) fatal: cannot redirect to `/data/x': Read-only file system"},
	{"readRDS", ``, "  cannot open compressed file '/data/x', probable reason 'Read-only file system'"},
	{"Perl's autodie", ``, "Can't open '/data/x' for writing: 'Read-only file system' at a.pl line 1"},
	{"Perl", ` '?WORD'?: ERROR at \S+ line \d+`, "Cannot open /data/x: Read-only file system at a.pl line 1."},
}

// failedWith matches the refusals with one error, and groups the name of the file.
func failedWith(words string) string {
	var forms []string
	for _, r := range refusals {
		if r.form != "" { // else one before matches it
			forms = append(forms, r.form)
		}
	}
	all := strings.Join(forms, "|")
	return "(?:" + strings.NewReplacer("ERROR", words, "NAME", `([^'’\n]+)`, "BARE", `([^'’‘":\n]+?)`, "WORD", `([^\s'‘’"(:][^\s'‘’":]*)`,
		"SAYS", `(?:[Cc]an(?:not|['’]t)|[Cc]ould not|[Uu]nable to|[Ff]ailed to|[Ee]rror|opening|reading|open failed)`).Replace(all) + ")"
}
