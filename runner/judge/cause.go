package judge

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// causeMax bounds the part of a message that an analysis wrote, in characters.
const causeMax = 200

const traceback = "Traceback (most recent call last):"

var (
	notebookCell = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`: cell \d+ of \d+: `) })
	advice       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:hint|note): `) })
	errorLine    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:error|ERROR|Error): `) })
	compiled     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:error: compilation failed|\d+ errors?)$`) })
	errorOfJava  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\S+\.java:\d+: error: `) })
	errorOfR     = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Error( in .*)?:`) })
)

// aftermath are the lines that programs write after an error without saying which it was.
var aftermath = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`\d+\+\d+ records (?:in|out)`, `\d+ bytes? (?:\(.*\) )?copied, .*`, // dd
		`(?:real|user|sys)\s+[\d.,ms ]+`, `.* \d+% cpu [\d:.]+ total`, // time of shells
		`Command (?:exited with non-zero status|terminated by signal) \d+`, `[\d.]+user [\d.]+system .*`, `\d+inputs\+\d+outputs .*`,
		`\t(?:Command being timed|Percent of CPU|Elapsed|(?:User|System) time|(?:Average|Maximum) .* size|(?:Major|Minor) .* page faults|` +
			`(?:Voluntary|Involuntary) context switches|Swaps|File system (?:in|out)puts|Socket messages \w+|Signals delivered|Page size|Exit status)\b.*`, // GNU time
		`tar: (?:Error is not recoverable: exiting now|Exiting with failure status due to previous errors|Child returned status \d+)`,
		`xargs: .*: exited with status 255; aborting`,
		`make(?:\[\d+\])?: (?:\*\*\* \[.*\] Error \d+|Target .* not remade because of errors\.)`,
		`compilation terminated\.`, `collect2: error: ld returned \d+ exit status`, ` +\d* *\|.*`, // gcc; the last is of its excerpts
		`BEGIN failed--compilation aborted at .*`, `Execution of .* aborted due to compilation errors\.`, `.* had compilation errors\.`, // Perl
	}, "|") + `)$`)
})

// Cause returns the line of the end of standard error that says why an analysis failed: the exception of Python or Java, the
// error of R, Julia, Node.js or Perl, the cell of a notebook, else the last line that is not of an aftermath. It is printable and
// short; "" if nothing was written.
func Cause(stderr string) string {
	lines := withoutAftermath(nonEmptyLines(stderr))
	if len(lines) == 0 {
		return ""
	}
	last := len(lines) - 1
	if !notebookCell().MatchString(lines[last]) {
		for _, find := range []func([]string) int{exceptionOfPython, endOfR, endOfJulia, endOfNode, endOfJava, beforeTrace} {
			if i := find(lines); i >= 0 {
				return format.Line(withDetail(lines, i), causeMax)
			}
		}
	}
	if i := beforeAdvice(lines); i >= 0 {
		last = i
	}
	return format.Line(lines[last], causeMax)
}

// beforeAdvice is the last error before lines of advice, which pip and compilers end with; -1 without one.
func beforeAdvice(lines []string) int {
	if !advice().MatchString(lines[len(lines)-1]) {
		return -1
	}
	return lastThat(lines, errorLine().MatchString)
}

// nonEmptyLines splits text; a carriage return overwrites what is before it, as progress bars do.
func nonEmptyLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		line = line[strings.LastIndexByte(line, '\r')+1:]
		if format.Line(line, 1) != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// withoutAftermath leaves out the aftermath at the end, unless there is nothing else.
func withoutAftermath(lines []string) []string {
	if end := lastThat(lines, func(line string) bool { return !aftermath().MatchString(line) }); end >= 0 {
		return lines[:end+1]
	}
	return lines
}

// exceptionOfPython is the line with the exception of the last traceback; -1 without one.
func exceptionOfPython(lines []string) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if lines[i] == traceback {
			return firstNotIndented(lines, i+1)
		}
	}
	return -1
}

func firstNotIndented(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		if lines[i][0] != ' ' {
			return i
		}
	}
	return -1
}

// endOfR is the last error of an R script, which ends with a line of its own; -1 without one.
func endOfR(lines []string) int {
	if lines[len(lines)-1] != "Execution halted" {
		return -1
	}
	return lastThat(lines, errorOfR().MatchString)
}

// endOfJulia is the last error that is followed by where it happened; -1 without one.
func endOfJulia(lines []string) int {
	place := lastThat(lines, func(line string) bool {
		return line == "Stacktrace:" || strings.HasPrefix(line, "in expression starting at ")
	})
	return lastThat(lines[:max(0, place)], func(line string) bool { return strings.HasPrefix(line, "ERROR: ") })
}

// endOfNode is the error of Node.js, below the line that points at its place; -1 without one. Its version is the last line.
func endOfNode(lines []string) int {
	if !strings.HasPrefix(lines[len(lines)-1], "Node.js v") {
		return -1
	}
	pointer := lastThat(lines[:len(lines)-1], func(line string) bool { return strings.Trim(line, " \t^") == "" && strings.Contains(line, "^") })
	if pointer < 0 || pointer+1 == len(lines)-1 {
		return -1
	}
	return pointer + 1
}

// endOfJava is the first error of its compiler, which ends with how many there were; -1 without one.
func endOfJava(lines []string) int {
	if !compiled().MatchString(lines[len(lines)-1]) {
		return -1
	}
	return slices.IndexFunc(lines, errorOfJava().MatchString)
}

// beforeTrace is the last line before those of a stack of calls in Java and Perl, which begin with a tab; -1 without one.
// In Java that is what caused the rest.
func beforeTrace(lines []string) int {
	if !strings.HasPrefix(lines[len(lines)-1], "\t") {
		return -1
	}
	return lastThat(lines, func(line string) bool { return !strings.HasPrefix(line, "\t") })
}

func lastThat(lines []string, is func(string) bool) int {
	for i := len(lines) - 1; i >= 0; i-- {
		if is(lines[i]) {
			return i
		}
	}
	return -1
}

// withDetail is a line, with the next where R breaks after its colon, and with the file that R names only in a warning.
func withDetail(lines []string, i int) string {
	cause := lines[i]
	if strings.HasSuffix(strings.TrimSpace(cause), ":") && i+1 < len(lines) {
		i++
		cause += " " + lines[i]
	}
	if strings.HasSuffix(cause, "cannot open the connection") {
		return withWarning(cause, lines[i+1:])
	}
	return cause
}

// withWarning is an error of R with the warning that names the file.
func withWarning(cause string, lines []string) string {
	for _, line := range lines {
		if file := strings.Index(line, "cannot open "); file >= 0 {
			return cause + ": " + line[file:]
		}
	}
	return cause
}
