package trials

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/view"
)

// judgeSockets requires that no socket or FIFO can be connected to. A refusing socket proves something only where it answers
// on the host.
func judgeSockets(v view.View) judge.Func {
	return func(o canary.Outcome) (judge.Result, string) { return socketsClosed(v, o) }
}

func socketsClosed(v view.View, o canary.Outcome) (judge.Result, string) {
	result, details := judge.Pass, []string{}
	for _, inside := range o.Steps() {
		one, detail := socketClosed(v, inside, o.Got[inside])
		result, details = judge.Worse(result, one), append(details, detail)
	}
	switch {
	case o.Partial:
		result = judge.Worse(result, judge.Inconclusive)
		details = append(details, fmt.Sprintf("only the first %d entries were looked at", o.Count))
	case len(details) == 0:
		details = append(details, fmt.Sprintf("no socket or FIFO among %d entries", o.Count))
	}
	return result, strings.Join(details, "; ")
}

func socketClosed(v view.View, inside, found string) (judge.Result, string) {
	kind, got, _ := strings.Cut(found, " ")
	outside := v.Outside(inside)
	detail := fmt.Sprintf("%s %s", kind, inside)
	if outside != "" {
		detail += fmt.Sprintf(" (%s on the host)", outside)
	}
	detail += ": " + got
	closed := judge.SocketClosed
	if kind == "fifo" {
		closed = judge.FIFOClosed
	}
	result := judge.Step(got, closed...)
	if result != judge.Pass || kind != "socket" {
		return result, detail
	}
	if outside == "" || canary.Perform(canary.Attempt{Do: "socket", At: outside}).Got["connect"] != canary.OK {
		return judge.Inconclusive, detail + ", but nothing answers there on the host either"
	}
	return judge.Pass, detail + ", while it answers on the host"
}
