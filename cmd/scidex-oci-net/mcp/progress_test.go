package mcp

import (
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// TestPrinted: standard output comes with the next notification of what a run uses, its end alone and escaped, and once.
func TestPrinted(t *testing.T) {
	var f feed
	p := &progress{printed: tail(mostPrinted), texts: make(chan string, mostWaiting)}
	leave := f.join(p)
	log := func(stream, text string) {
		_ = f.Put(event.New(event.TypeLog, "a", event.NewLog(1, stream, 0, []byte(text))))
	}
	usage := func() { _ = f.Put(event.New(event.TypeUsage, "a", event.Usage{})) }
	log("stdout", "one\n")
	log("stderr", "other\n")
	log("stdout", "\x1b[2Jtwo\xff\n")
	usage()
	usage()
	log("stdout", strings.Repeat("x", mostPrinted)+"end")
	usage()
	leave()
	usage()
	const uses = "run a: 0s, 0s of processor time, 0B of memory"
	want := []string{uses + "; it printed:\none\n\\x1b[2Jtwo\\xff\n", uses, uses + "; it printed, at the end:\n" + strings.Repeat("x", mostPrinted-3) + "end"}
	close(p.texts)
	var got []string
	for text := range p.texts {
		got = append(got, text)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
