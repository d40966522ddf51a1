package markup

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// mathMax bounds a formula, in bytes, and with it the time that a text of dollars takes.
const mathMax = 2000

// mathParser leaves formulas as they are: $a_1$ on one line, $$a_1$$ and \begin{align}a_1\end{align} in one paragraph. In them
// Markdown would take underscores, stars and backslashes for its own.
type mathParser struct{}

// Trigger is goldmark's.
func (mathParser) Trigger() []byte { return []byte{'$', '\\'} }

// Parse is goldmark's. It returns nil if no formula begins there.
func (mathParser) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, _ := block.PeekLine()
	end, inside := delimiter(line)
	if end == nil {
		return nil
	}
	at, position := block.Position()
	var all []byte
	for skip := inside; line != nil && len(all) < mathMax; skip = 0 {
		from := min(skip, len(line))
		if n := closing(line[from:], end); n >= 0 {
			block.Advance(from + n + len(end))
			node := ast.NewString(append(all, line[:from+n+len(end)]...))
			node.SetRaw(true)
			return node
		}
		all = append(all, line...)
		if len(end) == 1 {
			break
		}
		block.AdvanceLine()
		line, _ = block.PeekLine()
	}
	block.SetPosition(at, position)
	return nil
}

// joinMath puts each formula of several lines on one, so that no line of it begins a list or a heading. A blank line ends a
// formula, and code is left as it is.
func joinMath(source string) string {
	lines := strings.SplitAfter(source, "\n")
	var b strings.Builder
	var end []byte // of the formula that goes on
	fence := ""
	for i, line := range lines {
		text := strings.TrimSpace(line)
		if mark := fenceOf(text); end == nil && mark != "" && (fence == "" || strings.HasPrefix(mark, fence)) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
		}
		last := i+1 == len(lines) || strings.TrimSpace(lines[i+1]) == ""
		if end = open(text, end, fence != ""); end != nil && !last {
			b.WriteString(strings.TrimRight(line, "\r\n") + " ")
			continue
		}
		end = nil
		b.WriteString(line)
	}
	return b.String()
}

// fenceOf is what begins or ends fenced code.
func fenceOf(text string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return ""
}

// open is what ends the formula that goes on after a line, nil if none does.
func open(text string, end []byte, code bool) []byte {
	if code {
		return nil
	}
	for rest := []byte(text); ; {
		if end == nil {
			at := bytes.Index(rest, []byte("$$"))
			if begin := bytes.Index(rest, []byte(`\begin{`)); begin >= 0 && (at < 0 || begin < at) {
				at = begin
			}
			if at < 0 {
				return nil
			}
			inside := 0
			if end, inside = delimiter(rest[at:]); end == nil {
				return nil
			}
			rest = rest[at+inside:]
		}
		at := bytes.Index(rest, end)
		if at < 0 {
			return end
		}
		rest, end = rest[at+len(end):], nil
	}
}

// delimiter is what ends the formula that a line begins with, and the length of what begins it.
func delimiter(line []byte) (end []byte, begin int) {
	switch {
	case bytes.HasPrefix(line, []byte("$$")):
		return []byte("$$"), 2
	case len(line) > 1 && line[0] == '$' && !blank(line[1]):
		return []byte("$"), 1
	case bytes.HasPrefix(line, []byte(`\begin{`)):
		if n := bytes.IndexByte(line, '}'); n > 0 && n < 40 {
			return append([]byte(`\end`), line[len(`\begin`):n+1]...), n + 1
		}
	}
	return nil, 0
}

// closing is where a formula ends. A dollar after a blank or before a digit is an amount of money.
func closing(line, end []byte) int {
	for from := 0; from < min(len(line), mathMax); {
		n := bytes.Index(line[from:], end)
		if n < 0 {
			return -1
		}
		n += from
		after := n + len(end)
		if len(end) > 1 || n > 0 && !blank(line[n-1]) && line[n-1] != '\\' && (after == len(line) || line[after] < '0' || line[after] > '9') {
			return n
		}
		from = after
	}
	return -1
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }
