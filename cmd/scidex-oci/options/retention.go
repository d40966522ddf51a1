package options

import (
	"fmt"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/recovery"
)

// Retention are the options of gc that a config file may set too.
type Retention struct {
	OlderThan             Moment
	KeepLast, OutputsOnly Text
}

// Flags are the flags of retention.
func (o *Retention) Flags() []*Flag {
	only := Given(&o.OutputsOnly, "outputs-only", "remove only what the outputs of those runs hold; their rows, digests and logs stay")
	only.line.toggle = true
	return []*Flag{
		Time(&o.OlderThan, "older-than", "remove runs that ended before `AGE`: how long ago, as 30d or 12h, a date, or RFC 3339"),
		Given(&o.KeepLast, "keep-last", "remove runs but the newest `N` that this root wrote, pinned ones and those that run counted; all for none at all"),
		only,
	}
}

// keepAll as --keep-last overrides a config file.
const keepAll = "all"

// At is the retention, with durations before now.
func (o *Retention) At(now time.Time) (r recovery.Retention, err error) {
	if o.KeepLast.Value == keepAll {
		return r, nil
	}
	if o.KeepLast.Given {
		if r.KeepLast, err = strconv.Atoi(o.KeepLast.Value); err != nil || r.KeepLast < 1 {
			return recovery.Retention{}, o.KeepLast.Refuse("give a number of runs from 1 on, or %s", keepAll)
		}
	}
	if r.Before, err = o.OlderThan.At(now); err != nil {
		return recovery.Retention{}, err
	}
	if r.OutputsOnly, err = o.OutputsOnly.Bool(); err != nil {
		return recovery.Retention{}, err
	}
	if r.OutputsOnly && !r.Asked() {
		return recovery.Retention{}, fmt.Errorf("%s does not say which runs; give --older-than AGE or --keep-last N too", o.OutputsOnly.Label)
	}
	return r, nil
}
