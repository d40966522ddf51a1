package options

import (
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func TestFilter(t *testing.T) {
	var o Filter
	line := []string{"--state=failed", "--reason=timeout", "--label=a=b", "--limit=0"}
	if err := parse(t, o.Flags("at most `N`", 50), line, nil, ""); err != nil {
		t.Fatal(err)
	}
	f, err := o.At(time.Now())
	if err != nil || f.Limit != 0 || f.States[0] != outcome.Failed || f.Reasons[0] != "timeout" || f.Labels["a"] != "b" {
		t.Errorf("got %+v, %v", f, err)
	}
	for flag, value := range map[string]string{"state": "faild", "reason": "timeot", "label": "a", "limit": "-1", "since": "x", "until": "y"} {
		var o Filter
		err := parse(t, o.Flags("at most `N`", 50), lineOf(map[string]string{flag: value}), nil, "")
		if err == nil {
			_, err = o.At(time.Now())
		}
		if err == nil || !strings.Contains(err.Error(), value) {
			t.Errorf("--%s %s: %v", flag, value, err)
		}
	}
}
