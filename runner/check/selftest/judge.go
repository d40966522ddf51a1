package selftest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// probe is a try with what its outcome means.
type probe struct {
	check, target string
	try           try
	judge         judge
	// control is what happened outside, and controlled whether that proves that the try can succeed.
	control    string
	controlled bool
}

// judge says what an outcome proves.
type judge func(outcome) (Result, string)

// verdict judges an outcome; nil is one that never came, for the reason. Whatever is reached is a failure,
// also where the control came to nothing.
func (p probe) verdict(o *outcome, reason string) Check {
	c := Check{Check: p.check, Target: p.target, Result: Fail, Control: p.control}
	if o == nil {
		c.Detail = "the canary did not tell: " + reason
		return c
	}
	c.Result, c.Detail = p.judge(*o)
	if c.Result == Pass && !p.controlled {
		c.Result = Inconclusive
		c.Detail += "; but that proves nothing, because it was not reached outside either"
	}
	return c
}

// refused demands that each step ended with one of the words, and that there is no other step.
func refused(steps []string, words ...string) judge {
	return func(o outcome) (Result, string) {
		result := Pass
		if !slices.Equal(sorted(o.Got), slices.Sorted(slices.Values(steps))) {
			return Fail, "the canary answered something else: " + o.String()
		}
		for _, step := range steps {
			result = worse(result, resultOf(o.Got[step], words))
		}
		if len(steps) == 1 {
			return result, o.Got[steps[0]]
		}
		return result, o.String()
	}
}

// resultOf is what one word proves where only some prove that something is out of reach.
func resultOf(word string, words []string) Result {
	switch {
	case slices.Contains(words, word):
		return Pass
	case slices.Contains([]string{"timeout", "ETIMEDOUT", "EAGAIN", "ENOENT", "error", "unresolved"}, word):
		return Inconclusive // it may be slow, or far, or gone by now
	}
	return Fail // it was reached, or something answered
}

// worse returns the result that weighs more.
func worse(a, b Result) Result {
	order := []Result{Pass, Accepted, Inconclusive, Fail}
	return order[max(slices.Index(order, a), slices.Index(order, b))]
}

// String lists what there is, in order: "create EROFS, mkdir EROFS".
func (o outcome) String() string {
	var list []string
	for _, name := range sorted(o.Got) {
		list = append(list, strings.TrimSpace(name+" "+o.Got[name]))
	}
	const most = 400 // bytes
	text := strings.Join(list, ", ")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}

func sorted(got map[string]string) []string { return slices.Sorted(maps.Keys(got)) }

// Words of connections that come to nothing. Nothing but the container's own loopback may refuse one: a
// refusal from elsewhere has come over a network.
var (
	closedLoopback = []string{"ECONNREFUSED", "EADDRNOTAVAIL", "ENETUNREACH", "EACCES", "EPERM"}
	closedNetwork  = []string{"ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL", "ENETDOWN", "EACCES", "EPERM"}
	closedZone     = append([]string{"EINVAL", "ENODEV"}, closedNetwork...) // an interface that is not there
	closedSocket   = []string{"ENOENT", "ENOTDIR", "ECONNREFUSED", "EACCES", "EPERM"}
	closedFile     = []string{"EROFS", "EACCES", "EPERM"}
)

// unplanted demands that nothing could be made anywhere.
func unplanted(o outcome) (Result, string) {
	switch {
	case len(o.Got) > 0:
		return Fail, o.String()
	case o.Count == 0:
		return Fail, "the canary looked at no directory"
	case o.Partial:
		return Inconclusive, fmt.Sprintf("read-only, but only the first %d directories were tried", o.Count)
	}
	return Pass, fmt.Sprintf("%d directories, all read-only", o.Count)
}

// sealed demands that no socket or FIFO leads anywhere. v tells the host's name of each, where a try from
// outside shows that there is somebody behind it.
func sealed(v view) judge {
	return func(o outcome) (Result, string) {
		result, details := Pass, []string{}
		for _, inside := range sorted(o.Got) {
			one, detail := v.through(inside, o.Got[inside])
			result, details = worse(result, one), append(details, detail)
		}
		switch {
		case o.Partial:
			result = worse(result, Inconclusive)
			details = append(details, fmt.Sprintf("only the first %d entries were looked at", o.Count))
		case len(details) == 0:
			details = append(details, fmt.Sprintf("no socket or FIFO among %d entries", o.Count))
		}
		return result, strings.Join(details, "; ")
	}
}

// through judges one socket or FIFO that the canary found.
func (v view) through(inside, said string) (Result, string) {
	kind, word, _ := strings.Cut(said, " ")
	outside := v.outside(inside)
	detail := fmt.Sprintf("%s %s", kind, inside)
	if outside != "" {
		detail += fmt.Sprintf(" (%s on the host)", outside)
	}
	detail += ": " + word
	words := closedSocket
	if kind == "fifo" {
		words = append([]string{"ENXIO"}, closedFile...)
	}
	result := resultOf(word, words)
	if result != Pass || kind != "socket" {
		return result, detail
	}
	if outside == "" || perform(try{Do: "socket", At: outside}).Got["connect"] != succeeded {
		return Inconclusive, detail + ", but nobody answers there on the host either"
	}
	return Pass, detail + ", while it answers on the host"
}
