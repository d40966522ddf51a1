package result

import "time"

// PostProcess is how a hook ended. ExitCode is nil until it has, and remains so if the command was killed with the launcher
// or could not be started.
type PostProcess struct {
	Command   []string   `json:"command"`
	ExitCode  *int       `json:"exit_code"` // 128 plus the signal's number if one killed it
	Signal    *string    `json:"signal"`
	TimedOut  bool       `json:"timed_out"`
	StartedAt *time.Time `json:"started_at"`
	WallMS    int64      `json:"wall_ms"`
	Stderr    string     `json:"stderr"` // its last 64 KiB
}

// Pending reports whether the hook of an ended run has not succeeded.
func (p *PostProcess) Pending() bool {
	return p != nil && (p.ExitCode == nil || *p.ExitCode != 0 || p.TimedOut)
}
