package judge

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// asked are the requests of an analysis as events: one for each host and verdict.
func asked(r *result.Requests) (events []audit.Event) {
	if r == nil {
		return nil
	}
	places := map[string]int{}
	for _, one := range r.List {
		key := fmt.Sprintf("%s %s:%d", one.Method, one.Host, one.Port)
		i, known := places[key+one.Verdict]
		if !known {
			i = len(events)
			places[key+one.Verdict] = i
			events = append(events, requestEvent(one, key))
		}
		events[i].Count++
	}
	return events
}

func requestEvent(r result.Request, address string) audit.Event {
	e := audit.Event{At: r.At, Kind: audit.Request, Address: []byte(address), Severity: audit.Low, Allowed: true}
	if r.Verdict == result.RequestRefused {
		e.Severity, e.Allowed = audit.Medium, false
	}
	return e
}
